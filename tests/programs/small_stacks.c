/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* small_stacks.c -- allocations where there is hardly any stack left.
 *
 *	small_stacks thread PLUGIN    in threads of PTHREAD_STACK_MIN
 *	small_stacks signal PLUGIN    in handlers on an alternate stack of MINSIGSTKSZ and 4 KiB
 *	small_stacks fibre PLUGIN     on contexts with 6 KiB
 *
 * What such code calls for the first time is what takes seep the most room: a library
 * that it has not met (PLUGIN, see plugin.c), a forked child, an exec, a thread's
 * first and last call. Each stack ends in a guard page. */
#define _GNU_SOURCE
#include "truth.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
#	define AT_MINSIGSTKSZ 51
#endif

static struct tally made = {.name = "make_small"};
static void (*use)(unsigned);
static bool child_failed;

static TRUTH_NOINLINE void *
make_small(size_t n)
{
	tally_alloc(&made, n);
	return malloc(n);
}

static void
work(void)
{
	for (unsigned i = 0; i < 11; i++) {
		void *p = make_small(23 + i);

		p = realloc(p, 997);
		free(p);
		tally_free(&made, 23 + i);
	}
	use(7);
}

static void
work_forked(void)
{
	int status = -1;
	pid_t pid = _Fork();

	if (pid == 0) {
		make_small(5);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		child_failed = true;
	pid = _Fork();
	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	if (waitpid(pid, &status, 0) != pid || status != 0)
		child_failed = true;
}

/* A mapping of `bytes` rounded up to pages, its lower end unreadable. */
static char *
stack_with_guard(size_t bytes, size_t *ret_bytes)
{
	size_t whole = (bytes + 4095) / 4096 * 4096;
	char *p = mmap(NULL, whole + 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(p, 4096, PROT_NONE);
	*ret_bytes = bytes;
	return p + 4096 + (whole - bytes);
}

static void *
thread(void *arg)
{
	(void)arg;
	work();
	work_forked();
	return NULL;
}

static void
run_thread(void)
{
	pthread_attr_t attr;
	pthread_t id;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)sysconf(_SC_THREAD_STACK_MIN));
	for (unsigned i = 0; i < 3; i++) {
		if (pthread_create(&id, &attr, thread, NULL) != 0)
			abort();
		pthread_join(id, NULL);
	}
}

static void
on_signal(int sig)
{
	(void)sig;
	work();
	work_forked();
}

static void
run_signal(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	unsigned long least = getauxval(AT_MINSIGSTKSZ);
	stack_t ss = {0};

	ss.ss_sp = stack_with_guard((least > 2048 ? least : 2048) + 4096, &ss.ss_size);
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	for (unsigned i = 0; i < 3; i++)
		raise(SIGUSR1);
}

static ucontext_t main_context, fibre_context;

static void
fibre(void)
{
	work();
	work_forked();
}

static void
run_fibre(void)
{
	for (unsigned i = 0; i < 3; i++) {
		getcontext(&fibre_context);
		fibre_context.uc_stack.ss_sp =
			stack_with_guard(6 << 10, &fibre_context.uc_stack.ss_size);
		fibre_context.uc_link = &main_context;
		makecontext(&fibre_context, fibre, 0);
		swapcontext(&main_context, &fibre_context);
	}
}

int
main(int argc, char **argv)
{
	void *handle;

	if (argc < 3 || (handle = dlopen(argv[2], RTLD_NOW)) == NULL)
		return 2;
	use = (void (*)(unsigned))dlsym(handle, "plugin_use");
	if (strcmp(argv[1], "thread") == 0)
		run_thread();
	else if (strcmp(argv[1], "signal") == 0)
		run_signal();
	else
		run_fibre();
	/* Each turn: eleven here, eight in the library; one more in each child. */
	truth_say("expect in=make_small allocs=36 frees=33\n"
		  "expect in=alpha_make allocs=24 frees=21\n");
	return child_failed;
}
