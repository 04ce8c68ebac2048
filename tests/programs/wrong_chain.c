/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -w -pthread */
/* wrong_chain.c -- programs that handle SIGSEGV themselves, with blocks on fenced pages.
 *
 *	wrong_chain handler|plain|jump|reset|onstack|default|ignored|asked
 *
 * Prints what its own handler saw. Each also reads behind a block, which is none of its handler's business. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile char *page; /* nobody may touch it, but for the handler that opens it */
static volatile int seen, wrong;
static sigjmp_buf back;
static char alternate[65536];

static __attribute__((noinline)) int
overread(void)
{
	char *p = malloc(48);
	int c;

	memset(p, 1, 48);
	c = ((volatile char *)p)[48];
	free(p);
	return c;
}

static void
with_info(int sig, siginfo_t *info, void *context)
{
	sigset_t now;

	seen++;
	if (sig != SIGSEGV || info->si_addr != (void *)page || context == NULL)
		wrong++;
	sigprocmask(SIG_BLOCK, NULL, &now);
	if (!sigismember(&now, SIGUSR1) || !sigismember(&now, SIGSEGV))
		wrong++;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void
plain(int sig)
{
	seen++;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void
jumps(int sig)
{
	seen++;
	siglongjmp(back, 1);
}

static void
on_alternate(int sig, siginfo_t *info, void *context)
{
	char here;

	seen++;
	if (&here < alternate || &here >= alternate + sizeof alternate)
		wrong++;
	mprotect((void *)page, 4096, PROT_READ | PROT_WRITE);
}

static void
install(const char *how)
{
	struct sigaction sa, old;

	memset(&sa, 0, sizeof sa);
	if (strcmp(how, "plain") == 0) {
		if (signal(SIGSEGV, plain) != SIG_DFL || signal(SIGSEGV, plain) != plain)
			wrong++;
		return;
	}
	sa.sa_sigaction = with_info;
	sa.sa_flags = SA_SIGINFO;
	sigaddset(&sa.sa_mask, SIGUSR1);
	if (strcmp(how, "jump") == 0) {
		sa.sa_handler = jumps;
		sa.sa_flags = 0;
	} else if (strcmp(how, "reset") == 0) {
		sa.sa_flags |= SA_RESETHAND;
	} else if (strcmp(how, "onstack") == 0) {
		stack_t ss = {.ss_sp = alternate, .ss_size = sizeof alternate};

		sigaltstack(&ss, NULL);
		sa.sa_sigaction = on_alternate;
		sa.sa_flags |= SA_ONSTACK;
	} else if (strcmp(how, "default") == 0) {
		return;
	} else if (strcmp(how, "ignored") == 0) {
		signal(SIGSEGV, SIG_IGN);
		return;
	}
	if (sigaction(SIGSEGV, &sa, &old) != 0 || old.sa_handler != SIG_DFL)
		wrong++;
	if (sigaction(SIGSEGV, NULL, &old) != 0 || old.sa_sigaction != sa.sa_sigaction ||
	    (old.sa_flags & SA_SIGINFO) != (sa.sa_flags & SA_SIGINFO))
		wrong++;
}

int
main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "handler";
	struct sigaction old;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	install(how);
	overread();
	printf("%s: handler called %d times before\n", how, seen);
	fflush(stdout);
	if (sigsetjmp(back, 1) == 0)
		page[0] = 'x';
	overread();
	if (strcmp(how, "reset") == 0 &&
	    (sigaction(SIGSEGV, NULL, &old) != 0 || old.sa_handler != SIG_DFL))
		wrong++;
	printf("%s: handler called %d times, %d wrong\n", how, seen, wrong);
	return wrong != 0;
}
