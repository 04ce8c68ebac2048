/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* inherit.c -- what forked children are handed. No process allocates anything but what it counts
 * here, and a parent neither allocates nor frees after its fork, so that what it has at its end is
 * what it had then.
 *
 *	inherit one        a child that frees, resizes and keeps some of 1,009 blocks
 *	inherit daemon     the grandchild is the first to allocate
 *	inherit tree       a child with blocks of its own has a child
 *	inherit loop N     N children, each frees one block
 *	inherit large      more blocks than are handed on
 *	inherit thread     the parent has another thread, which waits
 *	inherit atfork     a handler of fork's frees and allocates first
 *	inherit exec N P   N children that execute P at once
 *
 * `at PID handed BLOCKS BYTES FREED FREED_BYTES` is what a process should be told to have
 * inherited, `at PID handed none` that it is told nothing. */
#include "truth.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { MANY = 1009, LARGE = 250007 };

static struct tally parents = {.name = "make_parents"};
static struct tally childs = {.name = "make_childs"};
static void *blocks[LARGE];

static TRUTH_NOINLINE void *
make_parents(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&parents, n);
	return p;
}

static TRUTH_NOINLINE void *
make_childs(void *old, size_t n)
{
	void *p = realloc(old, n);

	tally_alloc(&childs, n);
	return p;
}

static void
tell(const struct tally *t)
{
	truth_say(
		"at %d expect in=%s allocs=%lu frees=%lu allocated_bytes=%lu freed_bytes=%lu\n",
		(int)getpid(), t->name, t->allocs, t->frees, t->alloc_bytes,
		t->free_bytes);
}

/* `had` is what was live before the fork, `freed` what has gone of that. */
static void
tell_handed(const struct tally *had, const struct tally *freed)
{
	truth_say("at %d handed %lu %lu %lu %lu\n", (int)getpid(),
		  had->allocs - had->frees, had->alloc_bytes - had->free_bytes,
		  freed->frees, freed->free_bytes);
	truth_say("at %d inherited %lu\n", (int)getpid(), freed->frees);
}

static size_t
size_of(unsigned i)
{
	return 16 + i % 113 * 7;
}

static void
make_all(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		blocks[i] = make_parents(size_of(i));
	for (unsigned i = 0; i < n; i += 5) {
		free(blocks[i]);
		tally_free(&parents, size_of(i));
	}
}

static bool
waited_for(pid_t pid)
{
	int status = -1;

	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 0;
}

/* Of each five blocks the first has gone before; frees the second ones of some. */
static void
free_some(unsigned from, unsigned to, struct tally *freed)
{
	for (unsigned i = from; i < to; i += 5) {
		free(blocks[i + 1]);
		tally_free(freed, size_of(i + 1));
	}
}

static void
resize_some(unsigned from, unsigned to, struct tally *freed)
{
	for (unsigned i = from; i < to; i += 5) {
		blocks[i + 2] = make_childs(blocks[i + 2], size_of(i + 2) + i * 50);
		tally_free(freed, size_of(i + 2));
	}
}

static void
work(void)
{
	struct tally freed = {0};

	alarm(20);
	free_some(0, 500, &freed);
	resize_some(0, 100, &freed);
	for (unsigned i = 0; i < 7; i++)
		make_childs(NULL, 4099);
	free(make_childs(NULL, 61));
	tally_free(&childs, 61);
	tell(&childs);
	tell_handed(&parents, &freed);
}

static int
run_one(void)
{
	pid_t pid;

	make_all(MANY);
	pid = fork();
	if (pid == 0) {
		work();
		_exit(0);
	}
	tell(&parents);
	return waited_for(pid) ? 0 : 1;
}

static int
run_daemon(void)
{
	pid_t pid;

	make_all(MANY);
	pid = fork();
	if (pid == 0) {
		pid = fork(); /* has not allocated anything, nor freed */
		if (pid == 0) {
			work();
			_exit(0);
		}
		_exit(waited_for(pid) ? 0 : 1);
	}
	tell(&parents);
	return waited_for(pid) ? 0 : 1;
}

static int
run_tree(void)
{
	struct tally freed = {0}, all;
	pid_t pid;
	bool ok;

	make_all(MANY);
	pid = fork();
	if (pid > 0) {
		tell(&parents);
		return waited_for(pid) ? 0 : 1;
	}
	alarm(20);
	free_some(0, 500, &freed);
	resize_some(0, 100, &freed);
	pid = fork();
	if (pid > 0) {
		ok = waited_for(pid);
		tell(&childs);
		tell_handed(&parents, &freed);
		_exit(ok ? 0 : 1);
	}
	all = (struct tally){.allocs = parents.allocs + childs.allocs,
			     .frees = parents.frees + freed.frees,
			     .alloc_bytes = parents.alloc_bytes + childs.alloc_bytes,
			     .free_bytes = parents.free_bytes + freed.free_bytes};
	freed = (struct tally){0};
	childs = (struct tally){.name = childs.name};
	free_some(500, 750, &freed); /* the grandparent's */
	free(blocks[2]);	     /* the parent's */
	tally_free(&freed, size_of(2));
	free(make_childs(NULL, 67));
	tally_free(&childs, 67);
	tell(&childs);
	tell_handed(&all, &freed);
	_exit(0);
}

static int
run_loop(unsigned n)
{
	bool ok = true;

	make_all(101);
	for (unsigned i = 0; i < n; i++) {
		struct tally freed = {0};
		pid_t pid = fork();

		if (pid == 0) {
			free_some(i % 20 * 5, i % 20 * 5 + 1, &freed);
			if (i % 50 == 0) {
				tell(&childs);
				tell_handed(&parents, &freed);
			}
			_exit(0);
		}
		ok = waited_for(pid) && ok;
	}
	return ok ? 0 : 1;
}

static int
run_large(void)
{
	struct tally freed = {0};
	pid_t pid;

	make_all(LARGE);
	pid = fork();
	if (pid == 0) {
		free_some(0, 85, &freed);
		free(make_childs(NULL, 61));
		tally_free(&childs, 61);
		tell(&childs);
		truth_say("at %d inherited %lu\n", (int)getpid(), freed.frees);
		truth_say("at %d handed none\n", (int)getpid());
		_exit(0);
	}
	return waited_for(pid) ? 0 : 1;
}

static pthread_barrier_t ready;

static void *
waits(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 101; i++)
		blocks[MANY + i] = make_parents(31);
	pthread_barrier_wait(&ready);
	pause();
	return NULL;
}

static int
run_thread(void)
{
	pthread_t id;
	pid_t pid;

	make_all(MANY);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&id, NULL, waits, NULL);
	pthread_barrier_wait(&ready);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		for (unsigned i = 0; i < 101; i++)
			free(blocks[MANY + i]);
		free(make_childs(NULL, 61));
		tally_free(&childs, 61);
		tell(&childs);
		truth_say("at %d inherited 101\n", (int)getpid());
		_exit(0);
	}
	_exit(waited_for(pid) ? 0 : 1); /* what libc has for the thread is not freed */
}

static struct tally handler_freed;

static void
in_child(void)
{
	free_some(500, 600, &handler_freed);
	free(make_childs(NULL, 71));
	tally_free(&childs, 71);
}

static int
run_atfork(void)
{
	pid_t pid;

	make_all(MANY);
	pthread_atfork(NULL, NULL, in_child);
	pid = fork();
	if (pid == 0) {
		struct tally freed = handler_freed;

		free_some(0, 500, &freed);
		tell(&childs);
		truth_say("at %d inherited %lu\n", (int)getpid(), freed.frees);
		_exit(0);
	}
	_exit(waited_for(pid) ? 0 : 1);
}

static int
run_exec(unsigned n, char *program)
{
	char *argv[] = {program, NULL};
	bool ok = true;

	make_all(MANY);
	for (unsigned i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			execv(program, argv);
			_exit(1);
		}
		ok = waited_for(pid) && ok;
	}
	tell(&parents);
	return ok ? 0 : 1;
}

int
main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	alarm(60);
	if (strcmp(mode, "one") == 0)
		return run_one();
	if (strcmp(mode, "daemon") == 0)
		return run_daemon();
	if (strcmp(mode, "tree") == 0)
		return run_tree();
	if (strcmp(mode, "loop") == 0)
		return run_loop(n);
	if (strcmp(mode, "large") == 0)
		return run_large();
	if (strcmp(mode, "thread") == 0)
		return run_thread();
	if (strcmp(mode, "atfork") == 0)
		return run_atfork();
	if (strcmp(mode, "exec") == 0 && argc > 3)
		return run_exec(n, argv[3]);
	return 2;
}
