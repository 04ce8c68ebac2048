/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread */
/* spare_fork.c -- forks 20 times while another thread says without a pause what is no leak. Each child says so too, and
 * how long that took: prints `slow N`, those that waited for a lock that nobody holds there. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FORKS = 20, SLOW_MS = 50 };

__attribute__((weak)) void __lsan_ignore_object(const void *p);

static void *
talk(void *arg)
{
	for (uintptr_t i = 0;; i++)
		__lsan_ignore_object((const void *)(4096 + i % 1000 * 16));
	return arg;
}

/* Of the child's own processor time, which does not count what others took. */
static int64_t
cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int
main(void)
{
	int slow = 0, status = 0;
	pthread_t t;

	if (__lsan_ignore_object == NULL || pthread_create(&t, NULL, talk, NULL) != 0)
		return 77;
	for (int i = 0; i < FORKS; i++) {
		pid_t pid;

		usleep(1000);
		pid = fork();
		if (pid == 0) {
			int64_t before = cpu_ms();

			__lsan_ignore_object((const void *)4096);
			_exit(cpu_ms() - before > SLOW_MS);
		}
		waitpid(pid, &status, 0);
		slow += status != 0;
	}
	printf("slow %d\n", slow);
	return 0;
}
