/* SPDX-License-Identifier: MIT */
/* A supervisor forks a worker and waits for it. The worker loses one job in five. The process to attach
 * to is the worker, named by the line `target PID`. */
#include "matrix.h"

#include <sys/wait.h>

static char *job;

SITE static char *
take_job(void)
{
	return fill(malloc(4000), 4000);
}

static void
work(void)
{
	char line[40];
	int n = snprintf(line, sizeof(line), "target %d\n", (int)getpid());

	if (write(1, line, (size_t)n) != n)
		_exit(99);
	while (tick(3)) {
		if (job != NULL && chance(5) != 0)
			free(job);
		job = take_job();
	}
	exit(0);
}

int
main(int argc, char **argv)
{
	pid_t worker;

	matrix_begin(argc, argv, "take_job", "LEAK");
	worker = fork();
	if (worker == 0)
		work();
	return waitpid(worker, NULL, 0) == worker ? 0 : 1;
}
