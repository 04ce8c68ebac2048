/* SPDX-License-Identifier: MIT */
/* Names 400,000 addresses that are to be spared while a signal handler names others: the list of them is made larger
 * many times, and a handler may come in the middle of that. Prints `done`. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/time.h>

enum { ADDRESSES = 400000, IN_HANDLER = 3 };

__attribute__((weak)) void __lsan_ignore_object(const void *p);

static uintptr_t next_own = 1 << 30;

static void
on_alarm(int sig)
{
	(void)sig;
	for (int i = 0; i < IN_HANDLER; i++)
		__lsan_ignore_object((const void *)(next_own += 16));
}

int
main(void)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};

	if (__lsan_ignore_object == NULL)
		return 77;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	for (uintptr_t i = 1; i <= ADDRESSES; i++)
		__lsan_ignore_object((const void *)(i * 16));
	setitimer(ITIMER_REAL, &never, NULL);
	puts("done");
	return 0;
}
