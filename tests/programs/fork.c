/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* fork.c -- processes that make processes. Each says `at PID expect …` for itself.
 *
 *	fork tree          a child that frees inherited blocks, and a grandchild
 *	fork threads N     N forks while four threads allocate without pause
 *	fork first         a thread that does nothing before it forks, and one that does so at its end
 *	fork handler N     about N forks from a signal handler that interrupts malloc; the child
 *	                   returns from the handler and goes on with what was interrupted
 *	fork spawn PROG    vfork and exec, posix_spawn, system, each of PROG
 *	fork exec N        replaces itself by itself N times
 *	fork idle N        N children that never allocate
 *	fork raw           a child made by the bare system call
 *
 * Nobody waits for ever: an alarm ends what hangs, and then the status is not 0. */
#define _GNU_SOURCE
#include "truth.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

extern char **environ;

static struct tally parents = {.name = "make_parents"};
static struct tally childs = {.name = "make_childs"};
static struct tally loops = {.name = "make_loops"};

static void
tell(const struct tally *t)
{
	truth_say(
		"at %d expect in=%s allocs=%lu frees=%lu allocated_bytes=%lu freed_bytes=%lu\n",
		(int)getpid(), t->name, t->allocs, t->frees, t->alloc_bytes,
		t->free_bytes);
}

static void
tell_inherited(unsigned n)
{
	truth_say("at %d inherited %u\n", (int)getpid(), n);
}

static void
forget(struct tally *t)
{
	*t = (struct tally){.name = t->name};
}

static TRUTH_NOINLINE void *
make_parents(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&parents, n);
	return p;
}

static TRUTH_NOINLINE void *
make_childs(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&childs, n);
	return p;
}

/* The only place where the interrupted loop allocates and frees. */
static TRUTH_NOINLINE void
make_loops(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&loops, n);
	p = realloc(p, n + 1);
	tally_free(&loops, n);
	tally_alloc(&loops, n + 1);
	free(p);
	tally_free(&loops, n + 1);
}

static bool
waited_for(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* ---- tree ---- */

static int
grandchild(void **of_parent, void **of_child)
{
	void *mine[17];

	alarm(20);
	forget(&childs);
	for (unsigned i = 0; i < 17; i++)
		mine[i] = make_childs(107);
	free(of_parent[7]);
	free(of_parent[8]);
	of_child[5] = realloc(of_child[5],
			      211); /* an inherited block ends, one of ours begins */
	free(of_child[6]);
	for (unsigned i = 0; i < 17; i++) {
		free(mine[i]);
		tally_free(&childs, 107);
	}
	tell(&childs);
	tell_inherited(4);
	truth_say("at %d expect in=make_parents allocs=0\n", (int)getpid());
	free(of_child[5]);
	return 0;
}

static int
child(void **of_parent)
{
	void *mine[7];
	bool ok;
	pid_t pid;

	alarm(20);
	for (unsigned i = 0; i < 7; i++)
		mine[i] = make_childs(103);
	for (unsigned i = 0; i < 5; i++)
		free(of_parent[i]);
	pid = fork();
	if (pid == 0)
		exit(grandchild(of_parent, mine));
	ok = waited_for(pid);
	for (unsigned i = 0; i < 3; i++) {
		free(mine[i]);
		tally_free(&childs, 103);
	}
	tell(&childs);
	tell_inherited(5);
	truth_say("at %d expect in=make_parents allocs=0\n", (int)getpid());
	return ok ? 0 : 1;
}

static int
run_tree(void)
{
	void *mine[11];
	pid_t pid;
	bool ok;

	for (unsigned i = 0; i < 11; i++)
		mine[i] = make_parents(101);
	pid = fork();
	if (pid == 0)
		exit(child(mine));
	ok = waited_for(pid);
	for (unsigned i = 0; i < 9; i++) {
		free(mine[i]);
		tally_free(&parents, 101);
	}
	tell(&parents);
	tell_inherited(0);
	truth_say("at %d expect in=make_childs allocs=0\n", (int)getpid());
	return ok ? 0 : 1;
}

/* ---- threads ---- */

static bool stop;

static void *
busy_thread(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		make_loops(67);
		make_loops(90001);
	}
	return NULL;
}

static int
run_threads(unsigned n)
{
	pthread_t ids[4];
	bool ok = true;

	for (unsigned i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, busy_thread, NULL);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			alarm(20);
			for (unsigned k = 0; k < 19; k++) {
				free(make_childs(59 + k));
				tally_free(&childs, 59 + k);
			}
			tell(&childs);
			_exit(0);
		}
		ok = waited_for(pid) && ok;
		free(make_parents(71));
		tally_free(&parents, 71);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
	tell(&parents);
	tell(&loops);
	return ok ? 0 : 1;
}

/* ---- first ---- */

static bool first_ok = true;
static pthread_key_t at_end;

static void
fork_here(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20);
		forget(&childs);
		for (unsigned i = 0; i < 13; i++)
			make_childs(61);
		tell(&childs);
		_exit(0);
	}
	first_ok = waited_for(pid) && first_ok;
}

static void *
forking_thread(void *at_once)
{
	if (at_once != NULL)
		fork_here();
	else
		pthread_setspecific(at_end, (void *)1);
	return NULL;
}

/* Again until the last round, after which nothing of the thread is left. */
static void
fork_last(void *round)
{
	if ((uintptr_t)round < 4)
		pthread_setspecific(at_end, (void *)((uintptr_t)round + 1));
	else
		fork_here();
}

static int
run_first(void)
{
	static char yes;
	pthread_t id;

	make_parents(73);
	pthread_key_create(&at_end, fork_last);
	for (unsigned i = 0; i < 2; i++) {
		pthread_create(&id, NULL, forking_thread, i == 0 ? &yes : NULL);
		pthread_join(id, NULL);
	}
	tell(&parents);
	return first_ok ? 0 : 1;
}

/* ---- handler ---- */

static volatile sig_atomic_t forks_left, is_child;
static pid_t children[4096];
static volatile unsigned nchildren;

static void
on_alarm(int sig)
{
	struct itimerval off = {0};
	pid_t pid;

	(void)sig;
	if (forks_left == 0)
		return;
	forks_left--;
	pid = _Fork(); /* the one that may be called here */
	if (pid > 0) {
		children[nchildren++] = pid;
	} else if (pid == 0) {
		setitimer(ITIMER_REAL, &off, NULL);
		signal(SIGALRM, SIG_DFL);
		alarm(20);
		is_child = 1;
	}
}

static int
run_handler(unsigned n)
{
	struct itimerval every = {{0, 300}, {0, 300}}, off = {0};
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	bool ok = true;

	forks_left = (sig_atomic_t)(n < 4096 ? n : 4096);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (forks_left > 0 && !is_child)
		make_loops(41);
	if (is_child) {
		for (unsigned i = 0; i < 101; i++) {
			free(make_childs(43));
			tally_free(&childs, 43);
		}
		/* What the loop did before the fork is the parent's, after it ours, and the call
		 * in between either's: only what came for certain after is told. */
		tell(&childs);
		truth_say("at %d inherited any\n", (int)getpid());
		_exit(0);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	for (unsigned i = 0; i < nchildren; i++)
		ok = waited_for(children[i]) && ok;
	tell(&loops);
	return ok ? 0 : 1;
}

/* ---- exec ---- */

static int
run_spawn(char *program)
{
	char *argv[] = {program, NULL};
	char command[4096];
	pid_t pid;
	bool ok;

	snprintf(command, sizeof(command), "exec '%s'", program);
	free(make_parents(83));
	tally_free(&parents, 83);
	pid = vfork();
	if (pid == 0) {
		execv(program, argv);
		_exit(1);
	}
	ok = waited_for(pid);
	make_parents(89);
	pid = vfork();
	if (pid == 0) {
		execl("/nonexistent/program", "x", NULL);
		_exit(0);
	}
	ok = waited_for(pid) && ok;
	if (posix_spawn(&pid, program, NULL, NULL, argv, environ) == 0)
		ok = waited_for(pid) && ok;
	ok = system(command) == 0 && ok;
	make_parents(97);
	tell(&parents);
	return ok ? 0 : 1;
}

static int
run_exec(char **argv, unsigned n)
{
	char number[16];
	char *next[] = {argv[0], argv[1], number, NULL};

	for (unsigned i = 0; i <= n; i++)
		make_parents(10);
	for (unsigned i = 0; i < 3;
	     i++) /* never as many as there are: all images differ */
		if (i <= n)
			free(make_childs(n));
	if (n == 0)
		return 0;
	snprintf(number, sizeof(number), "%u", n - 1);
	execv("/proc/self/exe", next);
	return 1;
}

static int
run_idle(unsigned n)
{
	bool ok = true;

	make_parents(31);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		ok = waited_for(pid) && ok;
	}
	tell(&parents);
	return ok ? 0 : 1;
}

static int
run_raw(void)
{
	pid_t pid;
	bool ok;
	void *p = make_parents(37);

	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		alarm(20);
		free(p);
		for (unsigned i = 0; i < 11; i++)
			make_childs(47);
		tell(&childs);
		tell_inherited(1);
		_exit(0);
	}
	ok = waited_for(pid);
	make_parents(37);
	tell(&parents);
	return ok ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	if (strcmp(mode, "handler") != 0 && strcmp(mode, "exec") != 0)
		alarm(60);
	if (strcmp(mode, "tree") == 0)
		return run_tree();
	if (strcmp(mode, "threads") == 0)
		return run_threads(n);
	if (strcmp(mode, "first") == 0)
		return run_first();
	if (strcmp(mode, "handler") == 0)
		return run_handler(n);
	if (strcmp(mode, "spawn") == 0)
		return run_spawn(argv[2]);
	if (strcmp(mode, "exec") == 0)
		return run_exec(argv, n);
	if (strcmp(mode, "idle") == 0)
		return run_idle(n);
	if (strcmp(mode, "raw") == 0)
		return run_raw();
	return 2;
}
