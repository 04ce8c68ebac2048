/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* daemon.c -- becomes a daemon as the book says: forks twice, a session of its own, /
 * as its folder, every descriptor closed. Then it works, says so in the FIFO given,
 * and waits.
 *
 *	daemon FIFO [late]
 *
 * SIGUSR1: frees half of its blocks and says so again; SIGTERM ends it. With `late` the
 * first SIGUSR1 is what it waits for before its first allocation. */
#define _GNU_SOURCE
#include "truth.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

static void *blocks[46];

static TRUTH_NOINLINE void *
make_as_daemon(void)
{
	return malloc(1009);
}

static void
say(const char *fifo, const char *word)
{
	int fd = open(fifo, O_WRONLY);

	dprintf(fd, "%s %d\n", word, (int)getpid());
	close(fd);
}

int
main(int argc, char **argv)
{
	sigset_t set;
	int sig;

	if (argc < 2)
		return 2;
	malloc(17);
	if (fork() != 0)
		return 0;
	setsid();
	if (fork() != 0)
		_exit(0);
	if (chdir("/") != 0)
		return 1;
	close_range(0, ~0u, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (argc > 2) {
		say(argv[1], "ready");
		sigwait(&set, &sig);
	}
	for (unsigned i = 0; i < 46; i++)
		blocks[i] = make_as_daemon();
	say(argv[1], argc > 2 ? "made" : "ready");
	while (sigwait(&set, &sig) == 0) {
		for (unsigned i = 0; i < 23; i++) {
			free(blocks[i]);
			blocks[i] = NULL;
		}
		say(argv[1], "freed");
	}
	return 0;
}
