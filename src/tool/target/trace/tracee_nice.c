/* SPDX-License-Identifier: MIT */
/* tracee_nice.c -- see tracee_nice.h.
 *
 * The record is a file of one line, /run/seep-nice.PID or /dev/shm/seep-nice.PID: who
 * raised it and since when he runs, the thread and since when that runs, its nice value.
 * It is written before the thread is raised and is gone when the stop is over. Only one
 * of root's or our own is believed, and only as long as the thread still has the value
 * that we gave it.
 *
 * Who is woken waits until the one that runs has had its turn, 3 to 4 ms, unless it has
 * asked for a shorter turn itself (Linux 6.12). We do during a stop, in which we are
 * woken dozens of times. It takes no right, and the thread that we raise is none of ours
 * to ask for. */
#include "tool/target/trace/tracee_nice.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool/target/proc/procfs.h"
#include "tool/target/trace/tracee_impl.h"
#include "tool/util/clock.h"

#define NAME_BYTES 64
#define TURN_NS 100000 /* the shortest turn that the kernel gives */

static const char *const places[] = {"/run", "/dev/shm"};

enum {
	SCARCE_MS = 10000, /* processors that were scarce are taken to be for so long */
	REST_NAPS = 20,
	REST_NS = 500000,
};

static uint64_t scarce_until_ms;

static struct {
	int pid;     /* of the process that stands still; 0 = none */
	bool may;    /* raise others */
	bool scarce; /* a thread had to wait for a processor in this stop */
	int fd;	     /* the record; valid if `path` is not empty */
	char path[NAME_BYTES];
	int tid, before; /* the thread that is raised; 0 = none */
} now;

struct record {
	int seep, tid, nice;
	uint64_t seep_ticks, ticks;
};

static uint64_t
ticks_of(int tid)
{
	struct procfs_stat st = {0};

	return procfs_stat(tid, &st, NULL) == 0 ? st.start_ticks : 0;
}

static bool
get_nice(int tid, int *ret_nice)
{
	errno = 0;
	*ret_nice = getpriority(PRIO_PROCESS, (id_t)tid);
	return errno == 0;
}

/* ---- the record ---- */

/* Opens the record of a process, if there is one that can be believed. */
static bool
read_record(int pid, size_t place, char path[NAME_BYTES], struct record *ret)
{
	char text[160] = "";
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, NAME_BYTES, "%s/seep-nice.%d", places[place], pid);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			    (st.st_uid == 0 || st.st_uid == geteuid())
		    ? read(fd, text, sizeof text - 1)
		    : -1;
	close(fd);
	return n > 0 && sscanf(text, "%d %" SCNu64 " %d %" SCNu64 " %d", &ret->seep,
			       &ret->seep_ticks, &ret->tid, &ret->ticks, &ret->nice) == 5;
}

static bool
make_record(void)
{
	for (size_t i = 0; now.path[0] == '\0' && i < sizeof places / sizeof *places;
	     i++) {
		snprintf(now.path, sizeof now.path, "%s/seep-nice.%d", places[i],
			 now.pid);
		now.fd = open(now.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (now.fd < 0)
			now.path[0] = '\0';
	}
	return now.path[0] != '\0';
}

static bool
write_record(int tid, int nice)
{
	char text[160];
	int n = snprintf(text, sizeof text,
			 "%d %" PRIu64 " %d %" PRIu64 " %d                    \n",
			 (int)getpid(), ticks_of((int)getpid()), tid, ticks_of(tid),
			 nice);

	return make_record() && pwrite(now.fd, text, (size_t)n, 0) == n;
}

bool
tracee_nice_left(int pid, struct tracee_nice_left *ret)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct record r;
		char path[NAME_BYTES];
		int nice;

		if (!read_record(pid, i, path, &r) ||
		    (ticks_of(r.seep) == r.seep_ticks && r.seep_ticks != 0))
			continue; /* none, or who wrote it is still at work */
		*ret = (struct tracee_nice_left){.tid = r.tid, .nice = r.nice};
		snprintf(ret->path, sizeof ret->path, "%s", path);
		if (ticks_of(r.tid) == r.ticks && get_nice(r.tid, &nice) &&
		    nice == TRACEE_NICE_MOST && r.nice != TRACEE_NICE_MOST)
			return true;
		unlink(path); /* nothing is to be put back any more */
	}
	return false;
}

bool
tracee_nice_undo(int pid, struct err *e)
{
	struct tracee_nice_left left;

	if (!tracee_nice_left(pid, &left))
		return false;
	if (setpriority(PRIO_PROCESS, (id_t)left.tid, left.nice) < 0) {
		err_sys(e, -errno, "%d: cannot give its thread %d its nice value of %d",
			pid, left.tid, left.nice);
		return false;
	}
	unlink(left.path);
	return true;
}

/* ---- turns ---- */

/* struct sched_attr of the kernel, which C libraries declare only since glibc 2.41. */
struct turn {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

/* Other classes use runtime_ns for something else. */
static bool
get_turn(struct turn *ret)
{
	return syscall(SYS_sched_getattr, 0, ret, sizeof *ret, 0) == 0 &&
	       (ret->policy == SCHED_OTHER || ret->policy == SCHED_BATCH);
}

static void
set_turn(uint64_t ns)
{
	struct turn t = {0};

	if (get_turn(&t)) {
		t.runtime_ns = ns;
		syscall(SYS_sched_setattr, 0, &t, 0);
	}
}

/* What we have run so far counts against us until others have run, too, and more so with
 * a nice value of -20. That is waited for before anybody stands still: until a nap ends
 * in time. */
static void
rest(void)
{
	for (unsigned i = 0; i < REST_NAPS; i++) {
		uint64_t began = clock_ns(CLOCK_MONOTONIC);

		clock_nap(REST_NS);
		if (clock_ns(CLOCK_MONOTONIC) - began < UINT64_C(2) * REST_NS)
			break;
		now.scarce = true;
	}
}

/* ---- a stop ---- */

void
tracee_nice_begin(int pid, bool may)
{
	tracee_nice_end();
	set_turn(TURN_NS);
	now.pid = pid;
	now.may = may;
	now.scarce = getenv("SEEP_TEST_SCARCE") != NULL || clock_ms() < scarce_until_ms;
	if (may) {
		tracee_nice_undo(pid, NULL);
		rest();
	}
}

bool
tracee_nice_scarce(void)
{
	return now.may && now.scarce;
}

/* Only threads of the ordinary classes, whose turn the nice value decides. */
void
tracee_nice_raise(int tid)
{
	int policy, nice;

	if (!now.may || now.tid == tid)
		return;
	tracee_nice_lower();
	policy = sched_getscheduler(tid) & ~SCHED_RESET_ON_FORK;
	if ((policy != SCHED_OTHER && policy != SCHED_BATCH) || !get_nice(tid, &nice) ||
	    nice == TRACEE_NICE_MOST || !write_record(tid, nice))
		return;
	if (setpriority(PRIO_PROCESS, (id_t)tid, TRACEE_NICE_MOST) < 0) {
		now.may = false;
		return;
	}
	if (!now.scarce)
		scarce_until_ms = clock_ms() + SCARCE_MS;
	now.scarce = true;
	now.tid = tid;
	now.before = nice;
	tracee_point(TRACEE_RAISED);
}

void
tracee_nice_lower(void)
{
	if (now.tid != 0)
		setpriority(PRIO_PROCESS, (id_t)now.tid, now.before);
	now.tid = 0;
}

void
tracee_nice_end(void)
{
	tracee_nice_lower();
	if (now.path[0] != '\0') {
		unlink(now.path);
		close(now.fd);
	}
	if (now.pid != 0)
		set_turn(0); /* what the kernel gives everybody */
	memset(&now, 0, sizeof now);
}
