/* SPDX-License-Identifier: MIT */
/* statm.c -- see statm.h.
 *
 * /proc/self/statm needs a descriptor. One that is opened for each look may be the number
 * that another thread of the program is about to get, or the last one that it may have.
 * So it is opened once, while there is only one thread, and kept: above RLIMIT_NOFILE,
 * where no call of the program is ever given a number, and the limit is raised for that
 * moment; where that is large, at a high number below it. A forked child opens one of its
 * own. Whoever closes all descriptors closes it as well, and may use the number: then it
 * is another file. Without it the file is opened for each look, but only if there is one
 * thread; else nothing is measured. Only without the tool, which measures from
 * outside. */
#include "guest/life/statm.h"

#include "guest/dropin/peer.h"
#include "guest/hooks/gate.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/sys.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
	LARGE = 4096, /* a limit above this has room for one more */
	HIGH = 4000,  /* the kernel's table has a slot for every number below */
};

static struct {
	int fd; /* 0: none */
	uint32_t pid;
	uint64_t dev, ino;
} held;

static bool
is_ours(int fd)
{
	struct stat st;

	return fd > 0 && SYS2(SYS_fstat, fd, &st) == 0 && st.st_dev == held.dev &&
	       st.st_ino == held.ino;
}

/* Out of the way, or -1. */
static int
move_up(int low)
{
	struct rlimit was, more;
	long fd;

	if (SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &was) < 0)
		return -1;
	if (was.rlim_cur > LARGE)
		return (int)SYS3(SYS_fcntl, low, F_DUPFD_CLOEXEC, HIGH);
	if (was.rlim_max <= was.rlim_cur)
		return -1;
	more = was;
	more.rlim_cur++;
	if (SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &more, 0) < 0)
		return -1;
	fd = SYS3(SYS_fcntl, low, F_DUPFD_CLOEXEC, was.rlim_cur);
	SYS4(SYS_prlimit64, 0, RLIMIT_NOFILE, &was, 0);
	return (int)fd;
}

/* The only thread's. */
static void
open_one(void)
{
	struct stat st;
	long low;

	if (is_ours(held.fd)) /* our parent's: it is about that process */
		sys_close(held.fd);
	held.fd = 0;
	held.pid = (uint32_t)sys_getpid();
	low = sys_open("/proc/self/statm", O_RDONLY | O_CLOEXEC, 0);
	if (low >= 0) {
		int fd = SYS2(SYS_fstat, low, &st) == 0 ? move_up((int)low) : -1;

		sys_close((int)low);
		held.dev = st.st_dev;
		held.ino = st.st_ino;
		held.fd = fd > 0 ? fd : 0;
	}
}

/* Calls `look` of the only thread while no handler can run, which would find a descriptor
 * taken. */
static void
alone(void (*look)(void))
{
	uint64_t all = UINT64_MAX, before = 0;

	if (SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, sizeof(all)) < 0)
		return;
	look();
	SYS4(SYS_rt_sigprocmask, SIG_SETMASK, &before, 0, sizeof(before));
}

static uint64_t looked_kib;

static void
look_once(void)
{
	looked_kib = recorder_rss_kib();
}

/* As soon as there is a recording: most programs have one thread then. */
__attribute__((constructor)) static void
statm_begin(void)
{
	struct recorder *r = recorder_now;

	if (r->base != NULL && r->head->run_id == 0 && peer == NULL && !rt_sealed &&
	    proc_one_thread())
		alone(open_one);
}

uint64_t
statm_rss_kib(void)
{
	uint64_t fields[2] = {0, 0};
	unsigned i = 0;
	char buf[128];
	long n;

	if (held.pid != (uint32_t)sys_getpid() && proc_one_thread())
		alone(open_one);
	if (held.pid != (uint32_t)sys_getpid() || !is_ours(held.fd)) {
		looked_kib = 0;
		if (proc_one_thread())
			alone(look_once);
		return looked_kib;
	}
	n = SYS4(SYS_pread64, held.fd, buf, sizeof(buf), 0);
	for (const char *s = buf; s < buf + n && i < 2; s++) {
		if (*s >= '0' && *s <= '9')
			fields[i] = fields[i] * 10 + (uint64_t)(*s - '0');
		else
			i++;
	}
	return i == 2 ? fields[1] * 4 : 0;
}
