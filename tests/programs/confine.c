/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* confine.c -- programs that give up rights in the middle of their work, and must
 * survive it.
 *
 *	confine chroot DIR        changes its root to an empty folder; forks there
 *	confine setuid            becomes nobody at once, before its first allocation
 *	confine setuid-late       after it; a child forks then
 *	confine close             closes every descriptor but stdout
 *	confine seccomp HOW N     a filter that kills on nearly every system call: HOW is prctl
 *	                          or syscall (with all threads). N different stacks allocate
 *	                          afterwards, and threads that had not allocated before
 *	confine probe [SIGTERM]   asks the kernel for filters in ways that install none; ends by
 *	                          that signal
 *	confine seccomp-fork      such a filter; children work, end, and fail to start something
 *	confine seccomp-exec      a filter that kills for what a recorder would ask for when it
 *	                          begins; starts `confine said` under it
 *	confine seccomp-refused   a filter that kills for munmap; then is refused a block that is
 *	                          larger than any limit on its address space
 *	confine seccomp-fault     the first filter; then ends by SIGSEGV
 *	confine limits            no new descriptors, and files of 1 MiB at most
 *
 * Says what it did before (`expect`) and how many blocks it made afterwards in all
 * (`after N`). */
#define _GNU_SOURCE
#include "truth.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { NOBODY = 65534 };

static struct tally before = {.name = "make_before"};
static struct tally after = {.name = "make_after"};
static struct tally childs = {.name = "make_childs"};

static TRUTH_NOINLINE void *
make_before(size_t n)
{
	tally_alloc(&before, n);
	return malloc(n);
}

static TRUTH_NOINLINE void *
make_after(size_t n)
{
	tally_alloc(&after, n);
	return malloc(n);
}

static TRUTH_NOINLINE void *
make_childs(size_t n)
{
	tally_alloc(&childs, n);
	return malloc(n);
}

static void
work_before(void)
{
	for (unsigned i = 0; i < 23; i++) {
		void *p = make_before(101 + i);

		if (i % 2 == 0)
			continue;
		free(p);
		tally_free(&before, 101 + i);
	}
}

static void
work_after(void)
{
	for (unsigned i = 0; i < 29; i++) {
		void *p = make_after(211 + i);

		if (i % 3 == 0)
			continue;
		free(p);
		tally_free(&after, 211 + i);
	}
}

static bool
fork_and_work(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		for (unsigned i = 0; i < 13; i++)
			make_childs(307);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

/* ---- seccomp ---- */

#define ALLOW(nr)                                                                        \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

#define KILL(nr)                                                                         \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                 \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static struct sock_filter filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_write),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_exit),
	ALLOW(SYS_brk),
	ALLOW(SYS_mmap),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_futex),
	ALLOW(SYS_rt_sigreturn),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* The same and what libc needs for children. */
static struct sock_filter fork_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	ALLOW(SYS_write),
	ALLOW(SYS_exit_group),
	ALLOW(SYS_brk),
	ALLOW(SYS_mmap),
	ALLOW(SYS_munmap),
	ALLOW(SYS_mremap),
	ALLOW(SYS_futex),
	ALLOW(SYS_rt_sigprocmask),
	ALLOW(SYS_set_robust_list),
	ALLOW(SYS_clone),
#ifdef SYS_vfork
	ALLOW(SYS_vfork),
#endif
	ALLOW(SYS_execve),
	ALLOW(SYS_wait4),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* The loader and libc can live without these. */
static struct sock_filter exec_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(SYS_getpid),
	KILL(SYS_getppid),
	KILL(SYS_gettid),
	KILL(SYS_ftruncate),
	KILL(SYS_flock),
	KILL(SYS_madvise),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static struct sock_filter unmap_filter[] = {
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	KILL(SYS_munmap),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

#define PROGRAM(f)                                                                       \
	{                                                                                \
		sizeof(f) / sizeof((f)[0]), f                                            \
	}

static struct sock_fprog program = PROGRAM(filter);
static struct sock_fprog fork_program = PROGRAM(fork_filter);
static struct sock_fprog exec_program = PROGRAM(exec_filter);
static struct sock_fprog unmap_program = PROGRAM(unmap_filter);

static pthread_barrier_t go;

/* Attaches to seep, if at all, under the filter. */
static void *
late_thread(void *arg)
{
	pthread_barrier_wait(&go); /* starting takes more calls than are allowed later, */
	pthread_barrier_wait(&go);
	for (unsigned i = 0; i < 11; i++)
		make_after(17);
	pthread_barrier_wait(&go);
	pthread_barrier_wait(&go); /* and so does ending: they end with the process */
	return arg;
}

/* A different stack for each path: depth bits choose the call. */
static TRUTH_NOINLINE void
paths(unsigned bits, unsigned depth)
{
	if (depth == 0)
		make_after(41);
	else if (bits & 1)
		paths(bits >> 1, depth - 1);
	else
		paths(bits >> 1, depth - 1);
	__asm__ volatile("");
}

static int
install(const char *how)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -1;
	if (strcmp(how, "prctl") == 0)
		return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			    SECCOMP_FILTER_FLAG_TSYNC, &program);
}

static int
run_seccomp(const char *how, unsigned n)
{
	bool threads = strcmp(how, "prctl") != 0;
	pthread_t ids[3];

	mallopt(M_ARENA_MAX,
		1); /* else glibc counts the processors for a thread's arena */
	work_before();
	pthread_barrier_init(&go, NULL, 4);
	for (unsigned i = 0; i < 3 && threads; i++)
		pthread_create(&ids[i], NULL, late_thread, NULL);
	if (threads)
		pthread_barrier_wait(&go);
	truth_tell(&before);
	if (install(how) != 0) {
		truth_say("no filter here: %d\n", errno);
		return 77;
	}
	for (unsigned i = 0; i < n; i++)
		paths(i, 16);
	if (threads) {
		pthread_barrier_wait(&go);
		pthread_barrier_wait(&go);
	}
	for (unsigned i = 0; i < 10007; i++)
		make_after(19 + i % 5);
	truth_say("after %lu\n", after.allocs);
	return 0;
}

static bool
confine_by(struct sock_fprog *f)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, f, 0, 0) == 0;
}

/* Starts what is not there, in a child of vfork. */
static bool
spawn_nothing(void)
{
	int status = -1;
	pid_t pid = vfork();

	if (pid == 0) {
		execl("/nonexistent/program", "x", NULL);
		execlp("no-program-of-this-name", "x", NULL);
		_exit(0);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static int
run_seccomp_fork(void)
{
	bool ok;

	work_before();
	truth_tell(&before);
	if (!confine_by(&fork_program)) {
		truth_say("no filter here: %d\n", errno);
		return 77;
	}
	ok = fork_and_work();
	ok = spawn_nothing() && ok;
	truth_say("the children are %s\n", ok ? "well" : "dead");
	_exit(ok ? 0 : 1); /* the way out that asks who we are */
}

static int
run_seccomp_exec(char *self)
{
	char *argv[] = {self, "said", NULL};

	work_before();
	truth_tell(&before);
	if (!confine_by(&exec_program)) {
		truth_say("no filter here: %d\n", errno);
		return 77;
	}
	execv(self, argv);
	return 1;
}

static int
run_seccomp_refused(void)
{
	mallopt(M_ARENA_MAX, 1); /* else glibc tries another one, and unmaps it */
	work_before();
	truth_tell(&before);
	if (!confine_by(&unmap_program)) {
		truth_say("no filter here: %d\n", errno);
		return 77;
	}
	return malloc((size_t)1 << 46) == NULL ? 0 : 1;
}

static int
run_seccomp_fault(void)
{
	work_before();
	truth_tell(&before);
	if (!confine_by(&program)) {
		truth_say("no filter here: %d\n", errno);
		return 77;
	}
	*(volatile int *)16 = 1;
	return 1;
}

/* As libraries see whether there are filters: by calls that must fail. */
static bool
probe(void)
{
	unsigned action = SECCOMP_RET_ALLOW;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) != -1 ||
	    errno != EFAULT)
		return false;
	errno = 0;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 ||
	    errno != EFAULT)
		return false;
	return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

static int
run_other(const char *mode, const char *dir)
{
	struct rlimit none = {0, 0}, little = {1 << 20, 1 << 20};
	bool ok = true;

	if (strcmp(mode, "setuid") != 0)
		work_before();
	if (strcmp(mode, "chroot") == 0)
		ok = chroot(dir) == 0 && chdir("/") == 0;
	else if (strcmp(mode, "close") == 0)
		ok = close_range(3, ~0u, 0) == 0 && close(0) == 0 && close(2) == 0;
	else if (strcmp(mode, "probe") == 0)
		ok = probe();
	else if (strcmp(mode, "limits") == 0)
		ok = setrlimit(RLIMIT_NOFILE, &none) == 0 &&
		     setrlimit(RLIMIT_FSIZE, &little) == 0;
	else
		ok = setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
	if (!ok)
		return 1;
	work_after();
	ok = fork_and_work();
	truth_tell(&before);
	truth_tell(&after);
	if (strcmp(dir, "SIGTERM") == 0)
		raise(SIGTERM);
	return ok ? 0 : 1;
}

int
main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "seccomp") == 0)
		return argc < 4 ? 2 : run_seccomp(argv[2], (unsigned)atoi(argv[3]));
	if (strcmp(argv[1], "seccomp-fork") == 0)
		return run_seccomp_fork();
	if (strcmp(argv[1], "seccomp-exec") == 0)
		return run_seccomp_exec(argv[0]);
	if (strcmp(argv[1], "seccomp-fault") == 0)
		return run_seccomp_fault();
	if (strcmp(argv[1], "seccomp-refused") == 0)
		return run_seccomp_refused();
	if (strcmp(argv[1], "said") == 0) {
		truth_say("said %zu\n", malloc_usable_size(make_after(24)));
		return 0;
	}
	return run_other(argv[1], argc > 2 ? argv[2] : ".");
}
