/* SPDX-License-Identifier: MIT */
/* interrupt.c -- see interrupt.h. */
#include "tool/cli/term/interrupt.h"

#include <signal.h>
#include <stddef.h>

#include "tool/target/trace/freeze.h"

static void
stop_looking(int sig)
{
	(void)sig;
	freeze_interrupt();
}

void
interrupt_begin(void)
{
	struct sigaction sa = {.sa_handler = stop_looking,
			       .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
	struct sigaction old;

	if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(SIGINT, &sa, NULL);
}

void
interrupt_end(void)
{
	struct sigaction old;

	if (sigaction(SIGINT, NULL, &old) == 0 && old.sa_handler == stop_looking)
		signal(SIGINT, SIG_DFL);
}
