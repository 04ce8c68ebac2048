/* SPDX-License-Identifier: MIT */
/* sigbus.c -- see sigbus.h.
 *
 * The handler puts a page of zeros over the one that cannot be had and lets the
 * instruction try again. It makes one system call and touches nothing else. */
#include "tool/cli/term/sigbus.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static uintptr_t page_bytes;

static void
on_sigbus(int number, siginfo_t *info, void *context)
{
	uintptr_t page = (uintptr_t)info->si_addr & ~(page_bytes - 1);
	int saved = errno;

	(void)context;
	if (info->si_code != BUS_ADRERR ||
	    mmap((void *)page, page_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		signal(number, SIG_DFL); /* the next attempt ends us */
	errno = saved;
}

void
sigbus_survive(void)
{
	struct sigaction sa = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO}, was;

	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigemptyset(&sa.sa_mask);
	if (sigaction(SIGBUS, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
		sigaction(SIGBUS, &sa, NULL);
}
