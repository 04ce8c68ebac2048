/* SPDX-License-Identifier: MIT */
/* A timer every 10 ms; its handler makes a report and throws away the one before, which it frees only
 * if it was read. The program sleeps in between, so the handler never meets a malloc under way. */
#include "matrix.h"

#include <signal.h>
#include <sys/time.h>

static char *report;
static volatile sig_atomic_t over;

SITE static void
make_report(void)
{
	if (report != NULL && chance(3) != 0)
		free(report);
	report = fill(malloc(6000), 6000);
}

static void
on_alarm(int signal)
{
	(void)signal;
	make_report();
	over = passed() >= 1;
}

int
main(int argc, char **argv)
{
	struct itimerval every = {{0, 10000}, {0, 10000}};
	struct sigaction action;
	sigset_t block, before;

	matrix_begin(argc, argv, "make_report", "LEAK");
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_alarm;
	sigemptyset(&block);
	sigaddset(&block, SIGALRM);
	sigprocmask(SIG_BLOCK, &block, &before);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (!over)
		sigsuspend(&before);
	return 0;
}
