/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* ends.c -- the many ways in which a process can end.
 *
 *	ends [HOW]
 *
 * Seven blocks of 19 bytes are made, four of them freed; a second thread makes and
 * frees none. Then it ends: return (default), exit, _exit, quick_exit, abort, SIGTERM,
 * SIGKILL, SIGSEGV, SIGBUS, from a thread, in a destructor, in an exit handler; vfork-killed
 * and vfork-left after a child of vfork has called exit, the one by SIGKILL, the other by _exit
 * from a function whose frame alone holds blocks. What
 * handlers allocate and free is counted too and said before. */
#define _GNU_SOURCE
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

static struct tally made = {.name = "make_seven"};
static struct tally late = {.name = "make_late"};
static const char *how = "return";

static TRUTH_NOINLINE void *
make_seven(void)
{
	tally_alloc(&made, 19);
	return malloc(19);
}

static TRUTH_NOINLINE void *
make_late(void)
{
	return malloc(23);
}

static void
late_work(void)
{
	free(make_late());
	make_late();
}

static void
tell(unsigned lates)
{
	truth_tell(&made);
	while (lates-- > 0) {
		tally_alloc(&late, 23);
		tally_alloc(&late, 23);
		tally_free(&late, 23);
	}
	truth_tell(&late);
}

static void
exit_again(void)
{
	late_work();
	exit(37);
}

__attribute__((destructor)) static void
destroy(void)
{
	if (strcmp(how, "destructor") == 0) {
		late_work();
		_exit(41);
	}
}

static void *
thread(void *arg)
{
	(void)arg;
	exit(43);
}

/* A store behind the end of a file. */
static void
fault(void)
{
	FILE *f = tmpfile();
	char *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(f), 0);

	p[7] = 1;
}

static sigjmp_buf back;
static volatile int bus_at;

static void
on_bus(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	bus_at = (int)((uintptr_t)info->si_addr & 4095);
	siglongjmp(back, 1);
}

/* The signal is the program's own: what it asks and sets is as without seep. */
static void
handle_bus(void)
{
	struct sigaction sa = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO}, old;

	if (sigaction(SIGBUS, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
		truth_say("SIGBUS was not at its default\n");
	if (signal(SIGBUS, SIG_IGN) != SIG_DFL || signal(SIGBUS, SIG_DFL) != SIG_IGN)
		truth_say("signal gave something else back\n");
	if (sigaction(SIGBUS, &sa, &old) != 0 || old.sa_handler != SIG_DFL ||
	    old.sa_flags != 0)
		truth_say("SIGBUS was not back at its default\n");
	if (sigsetjmp(back, 1) == 0)
		fault();
	if (bus_at != 7)
		truth_say("the handler did not see the fault\n");
	if (sigaction(SIGBUS, &old, &sa) != 0 || sa.sa_sigaction != on_bus)
		truth_say("the handler was not there\n");
}

/* After an exec that failed, as some programs do. */
static TRUTH_NOINLINE void
child_exits(void)
{
	pid_t pid = vfork();

	if (pid == 0)
		exit(3);
	waitpid(pid, NULL, 0);
}

static TRUTH_NOINLINE void
leave_with_blocks(void)
{
	void *volatile only[53];

	for (unsigned i = 0; i < 53; i++)
		only[i] = make_late();
	_exit(only[52] == NULL);
}

static void
finish(void)
{
	pthread_t id;

	if (strcmp(how, "exit") == 0) {
		tell(1);
		atexit(late_work);
		exit(31);
	} else if (strcmp(how, "_exit") == 0) {
		tell(0);
		atexit(late_work);
		_exit(29);
	} else if (strcmp(how, "quick_exit") == 0) {
		tell(1);
		at_quick_exit(late_work);
		atexit(late_work); /* not run */
		quick_exit(23);
	} else if (strcmp(how, "thread") == 0) {
		tell(1);
		atexit(late_work);
		pthread_create(&id, NULL, thread, NULL);
		for (;;)
			pause();
	} else if (strcmp(how, "exit_again") == 0) {
		tell(2);
		atexit(late_work);
		atexit(exit_again);
		exit(1);
	} else if (strcmp(how, "destructor") == 0) {
		tell(1);
	} else if (strcmp(how, "abort") == 0) {
		tell(0);
		abort();
	} else if (strcmp(how, "SIGTERM") == 0) {
		tell(0);
		raise(SIGTERM);
	} else if (strcmp(how, "SIGKILL") == 0) {
		tell(0);
		raise(SIGKILL);
	} else if (strcmp(how, "vfork-killed") == 0) {
		tell(0);
		child_exits();
		raise(SIGKILL);
	} else if (strcmp(how, "vfork-left") == 0) {
		child_exits();
		leave_with_blocks();
	} else if (strcmp(how, "SIGSEGV") == 0) {
		tell(0);
		*(volatile int *)16 = 1;
	} else if (strcmp(how, "SIGBUS") == 0) {
		tell(0);
		raise(SIGBUS);
	} else if (strcmp(how, "SIGBUS-fault") == 0) {
		tell(0);
		fault();
	} else if (strcmp(how, "SIGBUS-handled") == 0) {
		handle_bus();
		tell(0);
	}
}

int
main(int argc, char **argv)
{
	void *mine[7];

	if (argc > 1)
		how = argv[1];
	for (unsigned i = 0; i < 7; i++)
		mine[i] = make_seven();
	for (unsigned i = 0; i < 4; i++) {
		free(mine[i]);
		tally_free(&made, 19);
	}
	finish();
	return 0;
}
