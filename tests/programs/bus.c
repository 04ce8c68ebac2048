/* SPDX-License-Identifier: MIT */
/* bus.c -- SIGBUS belongs to the program: what it asks, sets and suffers is as without us.
 *
 *	bus FILE dies     faults in a mapping of its own, by default action: killed by SIGBUS
 *	bus FILE sent     sends itself one: the same
 *	bus FILE handles  handles seven faults by siglongjmp, then goes back to the default
 *	bus FILE ignores  ignores one that is sent
 * It allocates all the while, and prints what it sees. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile int faults;
static void *volatile keep;

static void
on_fault(int sig)
{
	faults += sig == SIGBUS;
	siglongjmp(back, 1);
}

static const char *
what_is_set(void)
{
	struct sigaction sa;

	if (sigaction(SIGBUS, NULL, &sa) < 0)
		return "?";
	return sa.sa_handler == SIG_DFL			       ? "default"
	       : sa.sa_handler == SIG_IGN		       ? "ignored"
	       : sa.sa_handler == on_fault && sa.sa_flags != 0 ? "ours with flags"
	       : sa.sa_handler == on_fault		       ? "ours"
							       : "a stranger's";
}

static volatile char *
cut_off(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *p;

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		exit(1);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED || ftruncate(fd, 0) < 0)
		exit(1);
	close(fd);
	return p;
}

static void
handle(volatile char *p)
{
	struct sigaction sa, old;

	memset(&sa, 0, sizeof sa);
	sa.sa_handler = on_fault;
	sigaction(SIGBUS, &sa, &old);
	printf("before: %s\n", old.sa_handler == SIG_DFL ? "default" : "another");
	printf("now: %s\n", what_is_set());
	while (faults < 7) {
		if (sigsetjmp(back, 1) == 0)
			p[4096] = 1;
		keep = malloc(113);
	}
	printf("faults: %d\n", faults);
	printf("was ours: %d\n", signal(SIGBUS, SIG_DFL) == on_fault);
	printf("now: %s\n", what_is_set());
	printf("was default: %d\n", signal(SIGBUS, SIG_IGN) == SIG_DFL);
	printf("now: %s\n", what_is_set());
	printf("was ignored: %d\n", signal(SIGBUS, SIG_DFL) == SIG_IGN);
}

int
main(int argc, char **argv)
{
	volatile char *p;

	if (argc < 3)
		return 2;
	p = cut_off(argv[1]);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 101; i++)
		keep = malloc(109);
	printf("at first: %s\n", what_is_set());
	if (strcmp(argv[2], "handles") == 0) {
		handle(p);
		return 37;
	}
	if (strcmp(argv[2], "ignores") == 0) {
		signal(SIGBUS, SIG_IGN);
		raise(SIGBUS);
		puts("ignored");
		return 41;
	}
	if (strcmp(argv[2], "sent") == 0)
		kill(getpid(), SIGBUS);
	p[4096] = 1;
	puts("not reached");
	return 1;
}
