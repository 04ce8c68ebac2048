/* SPDX-License-Identifier: MIT */
/* deep_sleep.c -- a process with a thread that sleeps where nothing wakes it, and one that notices when it stands
 * still itself.
 *
 *	deep_sleep MILLISECONDS
 *
 * The thread has made a child with vfork, and waits for it in the kernel for so long. "ready" is said meanwhile.
 * At the end of its input the process says how long its first thread has stood still at most, in ms:
 * `gap N`. */
/* cflags: -O1 -g -pthread */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static unsigned ms;

static double
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1000 + (double)ts.tv_nsec / 1e6;
}

static void *
sleep_deep(void *arg)
{
	pid_t child = vfork();

	if (child == 0) {
		usleep(ms * 1000);
		_exit(0);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	struct pollfd in = {.fd = 0, .events = POLLIN};
	double last, most = 0;
	pthread_t t;

	ms = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
	pthread_create(&t, NULL, sleep_deep, NULL);
	usleep(50000);
	puts("ready");
	fflush(stdout);
	last = now_ms();
	while (poll(&in, 1, 1) == 0) {
		double now = now_ms();

		free(malloc(61));
		if (now - last > most)
			most = now - last;
		last = now;
	}
	pthread_join(t, NULL);
	printf("gap %.0f\n", most);
	return 0;
}
