/* SPDX-License-Identifier: MIT */
/* oom.c -- the out-of-memory killer: see oom.h.
 *
 * The group's count is of all its processes, so it says for sure only of one that is
 * known to have died by SIGKILL. The log names the process; reading it takes CAP_SYSLOG
 * on most machines. */
#include "tool/target/proc/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool/target/run/liveobjects.h"

enum {
	FULL_PERCENT = 95, /* of the limit: SIGKILL is likely the kernel's then */
	RECORDS_MAX = 100000,
};

void
oom_look(struct oom *o, int pid)
{
	struct cgroup_memory now;

	/* Processes are put into groups after they began, too. One that is gone is in
	 * none. */
	cgroup_memory(pid, &now);
	if (now.folder[0] == '\0')
		return;
	if (strcmp(now.folder, o->group.folder) != 0)
		o->kills_before = now.oom_kills;
	o->group = now;
}

void
oom_note(const struct oom *o, struct livefile *f)
{
	if (o->group.folder[0] == '\0')
		return;
	f->head->oom_before = (uint32_t)o->kills_before;
	__atomic_store_n(&f->head->limit_bytes, o->group.limit_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&f->head->usage_bytes, o->group.held_bytes, __ATOMIC_RELAXED);
}

/* When the process began, on the clock of the kernel's log. */
static uint64_t
began_us(const struct prof_process *pr)
{
	long hz = sysconf(_SC_CLK_TCK);

	return hz > 0 ? pr->process_ticks * UINT64_C(1000000) / (uint64_t)hz : 0;
}

/* One record of the log: "6,1234,5678901,-;Memory cgroup out of memory: Killed process
 * 4711 (x) …" */
static bool
says_killed(const char *record, const struct prof_process *pr)
{
	static const char words[] = "Killed process ";
	const char *text = strchr(record, ';'), *at;
	unsigned long long us;

	if (text == NULL || sscanf(record, "%*u,%*u,%llu", &us) != 1)
		return false;
	/* A second of grace: the two clocks are not quite the same. */
	if (us + 1000000 < began_us(pr))
		return false;
	at = strstr(text, words);
	return at != NULL && strtoull(at + sizeof words - 1, NULL, 10) == pr->pid;
}

static bool
is_logged(const struct prof_process *pr)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char record[8192];
	bool found = false;

	for (unsigned i = 0; fd >= 0 && !found && i < RECORDS_MAX; i++) {
		ssize_t n = read(fd, record, sizeof record - 1);

		if (n < 0 && (errno == EPIPE || errno == EINTR || errno == EINVAL))
			continue; /* overwritten meanwhile: the next one is there */
		if (n <= 0)
			break;
		record[n] = '\0';
		found = says_killed(record, pr);
	}
	if (fd >= 0)
		close(fd);
	return found;
}

void
oom_judge(struct oom *o, struct prof_process *pr)
{
	bool killed = pr->end == PROF_END_SIGNAL && pr->status == SIGKILL;
	bool counted = false;

	if (o != NULL && o->group.folder[0] != '\0') {
		cgroup_again(&o->group);
		counted = o->group.oom_kills > o->kills_before;
		pr->limit_bytes = o->group.limit_bytes;
		if (counted && o->group.most_bytes > pr->usage_bytes)
			pr->usage_bytes = o->group.most_bytes < pr->limit_bytes
						  ? o->group.most_bytes
						  : pr->limit_bytes;
	}
	if (!killed && pr->end != PROF_END_UNKNOWN)
		return;
	if ((killed && counted) || is_logged(pr))
		pr->oom = PROF_OOM_SURE;
	else if (counted || (pr->limit_bytes > 0 &&
			     pr->usage_bytes / FULL_PERCENT >= pr->limit_bytes / 100))
		pr->oom = PROF_OOM_LIKELY;
	if (pr->oom == PROF_OOM_NO)
		return;
	pr->end = PROF_END_SIGNAL;
	pr->status = SIGKILL;
}
