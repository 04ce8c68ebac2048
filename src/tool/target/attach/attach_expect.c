/* SPDX-License-Identifier: MIT */
/* attach_expect.c -- how long a process will be stopped to attach to it, estimated before
 * anything is touched.
 *
 * The speeds are those of a slow machine. Each thread costs some tenths of a millisecond:
 * it is seized, stopped, looked at and let go. Where more threads want to run than there
 * are processors, every step waits for its turn, with CAP_SYS_NICE for a shorter one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tool/target/attach/attach.h"
#include "tool/target/proc/procfs.h"

enum {
	BASE_US = 4000,	      /* calls, image and jumps */
	THREAD_US = 300,      /* each */
	CROWD_MOST = 30,      /* times longer in a crowd, */
	CROWD_MOST_FIRST = 4, /* and for those who may go first */
	CAP_SYS_NICE_BIT = 23,
};

/* Threads of the machine that want to run, for each processor. */
static unsigned
crowd(void)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned running = 0;
	FILE *f = fopen("/proc/loadavg", "re");

	if (f != NULL) {
		if (fscanf(f, "%*s %*s %*s %u/", &running) != 1)
			running = 0;
		fclose(f);
	}
	return cpus > 0 ? running / (unsigned)cpus : 0;
}

static bool
may_go_first(void)
{
	unsigned long long caps = 0;
	char line[128];
	FILE *f = fopen("/proc/self/status", "re");

	while (f != NULL && fgets(line, sizeof line, f) != NULL) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	}
	if (f != NULL)
		fclose(f);
	return (caps >> CAP_SYS_NICE_BIT & 1) != 0;
}

uint64_t
attach_expect_ns(int pid)
{
	const char *test = getenv("SEEP_TEST_EXPECT_NS");
	struct procfs_stat st = {0};
	unsigned times = crowd(), most = may_go_first() ? CROWD_MOST_FIRST : CROWD_MOST;

	if (test != NULL)
		return strtoull(test, NULL, 10);
	procfs_stat(pid, &st, NULL);
	if (times > most)
		times = most;
	return (BASE_US + (uint64_t)st.threads * THREAD_US) * 1000 *
	       (times > 0 ? times : 1);
}
