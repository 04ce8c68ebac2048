/* SPDX-License-Identifier: MIT */
/* gperf_timer.c -- profiles by the clock, also while the program allocates nothing.
 *
 * A signal or a timer of the program's would interrupt its system calls, and a thread of
 * libc's would be one that it sees; so this is a bare task, made only when
 * HEAP_PROFILE_TIME_INTERVAL asks for it. It has no TLS: nothing it calls may use any. It
 * takes no signals. It does not keep the process: when no thread but it is left, it ends.
 * And it follows the program when that changes its user, which libc does for its own
 * threads only. */
#include "guest/dropin/gperftools/gperf.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

enum {
	STACK_BYTES = 256 << 10,
	LOOK_NS = 250000000, /* how often it looks whether it is alone */
};

static struct {
	int64_t seconds;
	void (*tick)(void);
	char *stack;
} timer;

static int64_t
now_ns(void)
{
	struct timespec ts = {0, 0};

	SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* State of a task of this process; 'Z' also when it is gone. */
static char
state_of(const char *tid)
{
	char path[64], stat[256];
	struct text t = text_on(path, sizeof(path));
	long n;

	text_add(&t, "/proc/self/task/");
	text_add(&t, tid);
	text_add(&t, "/stat");
	n = proc_slurp(path, stat, sizeof(stat));
	while (n > 0 && stat[n - 1] != ')')
		n--;
	return n > 0 ? stat[n + 1] : 'Z';
}

/* Is any thread left but this task? The first one stays listed when it has ended. */
static bool
alone(void)
{
	char entries[2048];
	long dir = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	char self[24];
	struct text t = text_on(self, sizeof(self));
	bool others = dir < 0; /* cannot tell: stay */
	long got;

	text_dec(&t, (uint64_t)sys_gettid());
	while (!others &&
	       (got = SYS3(SYS_getdents64, dir, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < got && !others;) {
			const struct proc_dirent *e = (const void *)(entries + at);

			at += e->bytes;
			if (e->name[0] < '0' || e->name[0] > '9' ||
			    text_same(e->name, self))
				continue;
			others = state_of(e->name) != 'Z';
		}
	}
	if (dir >= 0)
		sys_close((int)dir);
	return !others;
}

/* Become whom the first thread is now. Only root can change more than once, and only then
 * it matters. */
static void
follow_user(void)
{
	char path[64], status[1024];
	struct text t = text_on(path, sizeof(path));
	uint32_t id[2] = {0, 0}; /* effective user, group */
	static const char *const keys[] = {"\nUid:", "\nGid:"};

	if (SYS0(SYS_geteuid) != 0)
		return;
	text_add(&t, "/proc/self/task/");
	text_dec(&t, (uint64_t)sys_getpid());
	text_add(&t, "/status");
	if (proc_slurp(path, status, sizeof(status)) <= 0)
		return;
	for (int k = 0; k < 2; k++) {
		const char *s = status;
		unsigned i;

		for (; *s != '\0'; s++) {
			for (i = 0; keys[k][i] != '\0' && s[i] == keys[k][i]; i++)
				;
			if (keys[k][i] == '\0')
				break;
		}
		if (*s == '\0')
			return;
		s += 5;
		for (int field = 0; field < 2; field++) { /* real, effective */
			id[k] = 0;
			while (*s == '\t' || *s == ' ')
				s++;
			for (; *s >= '0' && *s <= '9'; s++)
				id[k] = id[k] * 10 + (uint32_t)(*s - '0');
		}
	}
	if (id[0] == 0)
		return;
	SYS2(SYS_setgroups, 0, 0);
	SYS3(SYS_setresgid, id[1], id[1], id[1]);
	SYS3(SYS_setresuid, id[0], id[0], id[0]);
}

static int
task(void *arg)
{
	int64_t due = now_ns() + timer.seconds * 1000000000;

	(void)arg;
	for (;;) {
		int64_t left = due - now_ns();
		struct timespec ts = {0, LOOK_NS};

		if (left < LOOK_NS)
			ts.tv_nsec = left > 0 ? left : 0;
		if (left > 0)
			SYS2(SYS_nanosleep, &ts, 0);
		if (rt_sealed || alone())
			SYS1(SYS_exit, 0);
		follow_user();
		if (now_ns() < due)
			continue;
		timer.tick();
		due += timer.seconds * 1000000000;
		if (due < now_ns())
			due = now_ns() + timer.seconds * 1000000000;
	}
	return 0;
}

bool
gperf_timer_start(int64_t seconds, void (*tick)(void))
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM;
	uint64_t all = UINT64_MAX, before = 0;
	int tid;

	timer.seconds = seconds;
	timer.tick = tick;
	/* One that a fork left behind is used again: its task is the parent's. */
	if (rt_sealed ||
	    (timer.stack == NULL && (timer.stack = rt_map(STACK_BYTES)) == NULL))
		return false;
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all));
	tid = clone(task, timer.stack + STACK_BYTES, flags, NULL);
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
	return tid > 0;
}
