/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* api.c -- what a program may say to seep (include/seep/seep.h), and a program to be
 * asked from outside.
 *
 *	api          pauses, resumes, marks, tells of blocks of its own; says what must come out
 *	api serve    reads `make N`, `free N` and `quit` from stdin, answers when it is done */
#include "truth.h"

#include <errno.h>
#include <seep/seep.h>
#include <stdlib.h>
#include <string.h>

static struct tally seen = {.name = "make_seen"};
static struct tally custom = {.name = "make_custom"};
static char pool[64][101];

static TRUTH_NOINLINE void *
make_seen(size_t n)
{
	tally_alloc(&seen, n);
	return malloc(n);
}

static TRUTH_NOINLINE void *
make_paused(size_t n)
{
	return malloc(n);
}

static TRUTH_NOINLINE void
make_custom(unsigned i)
{
	SEEP_MALLOC_LIKE(pool[i], 101);
	tally_alloc(&custom, 101);
	__asm__ volatile("");
}

static TRUTH_NOINLINE void *
make_served(size_t n)
{
	return malloc(n);
}

static void
check_errno(const char *what)
{
	if (errno != 4711)
		truth_say("%s changed errno\n", what);
}

static int
speak(void)
{
	void *recorded[23], *unseen[13];

	truth_say(seep_mark ? "seep is here\n" : "seep is not here\n");
	errno = 4711;
	for (unsigned i = 0; i < 23; i++) {
		recorded[i] = make_seen(59);
		if (i == 4)
			SEEP_MARK("five");
		if (i == 11)
			SEEP_MARK(
				"a name that is much longer than the thirty-nine bytes there are");
	}
	check_errno("mark");
	SEEP_PAUSE();
	for (unsigned i = 0; i < 13; i++)
		unseen[i] = make_paused(61);
	for (unsigned i = 0; i < 7; i++) {
		free(recorded[i]);
		tally_free(&seen, 59);
	}
	recorded[7] =
		realloc(recorded[7], 67); /* the old one goes, the new one is not seen */
	tally_free(&seen, 59);
	SEEP_RESUME();
	check_errno("pause");
	for (unsigned i = 0; i < 11; i++)
		free(unseen[i]);
	make_seen(71);
	for (unsigned i = 0; i < 17; i++)
		make_custom(i);
	for (unsigned i = 0; i < 11; i++) {
		SEEP_FREE_LIKE(pool[i]);
		tally_free(&custom, 101);
	}
	SEEP_MALLOC_LIKE(NULL, 5);
	SEEP_FREE_LIKE(NULL);
	SEEP_MARK(NULL);
	check_errno("malloc_like");
	truth_tell(&seen);
	truth_tell(&custom);
	truth_say("expect in=make_paused allocs=0 frees=0\n");
	return 0;
}

static int
serve(void)
{
	static void *made[1000];
	char line[64];
	unsigned n, have = 0;
	ssize_t got;

	truth_say("ready %d\n", (int)getpid());
	while ((got = read(0, line, sizeof(line) - 1)) > 0) {
		line[got] = '\0';
		n = (unsigned)atoi(line + 5);
		if (strncmp(line, "make ", 5) == 0)
			while (n-- > 0)
				made[have++] = make_served(103);
		else if (strncmp(line, "free ", 5) == 0)
			while (n-- > 0)
				free(made[--have]);
		else
			break;
		truth_say("done\n");
	}
	return 0;
}

int
main(int argc, char **argv)
{
	return argc > 1 && strcmp(argv[1], "serve") == 0 ? serve() : speak();
}
