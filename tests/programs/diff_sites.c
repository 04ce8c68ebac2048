/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* diff_sites.c -- places to compare: most the same in every run, one that grows as it is told.
 *
 *	diff_sites GROW [serve]
 *
 * Always: 101 blocks of 59 bytes at `constant`, 31 of 83 and 37 of 89 on two neighbouring lines of
 * `neighbours`, and 11 and 13 of 97 at `shared`, from two lines of main. GROW blocks of 131 bytes at
 * `growing`, whose blocks are never freed, and of 73 at `passing`, which are all freed but one. With
 * -DANEW a place is new and another gone. The neighbours are two lines apart, so that two lines
 * in front make one look like the other. `serve` answers to `grow N`. */
#include "truth.h"

#include <stdlib.h>
#include <string.h>

static void *volatile kept;

static TRUTH_NOINLINE void
constant(void)
{
	kept = malloc(59);
}

static TRUTH_NOINLINE void
neighbours(int i)
{
	if (i < 31)
		kept = malloc(83);
	if (i < 37)
		kept = malloc(89);
}

static TRUTH_NOINLINE void
shared(void)
{
	kept = malloc(97);
}

static TRUTH_NOINLINE void
growing(void)
{
	kept = malloc(131);
}

static TRUTH_NOINLINE void
passing(int i, int n)
{
	void *volatile p = malloc(73);

	if (i + 1 < n)
		free(p);
	kept = p;
}

#ifdef ANEW
static TRUTH_NOINLINE void
anew(void)
{
	kept = malloc(17 * 1024);
}
#else
static TRUTH_NOINLINE void
removed(void)
{
	kept = malloc(19 * 1024);
}
#endif

static void
grow(int n)
{
	for (int i = 0; i < n; i++)
		growing();
	for (int i = 0; i < n; i++)
		passing(i, n);
}

static void
serve(void)
{
	char line[64];
	ssize_t got;

	truth_say("ready %d\n", (int)getpid());
	while ((got = read(0, line, sizeof line - 1)) > 0) {
		line[got] = '\0';
		if (strncmp(line, "grow ", 5) != 0)
			break;
		grow(atoi(line + 5));
		truth_say("done\n");
	}
}

int
main(int argc, char **argv)
{
	for (int i = 0; i < 101; i++)
		constant();
	for (int i = 0; i < 37; i++)
		neighbours(i);
	for (int i = 0; i < 11; i++)
		shared();
	for (int i = 0; i < 13; i++)
		shared();
#ifdef ANEW
	anew();
#else
	removed();
#endif
	grow(argc > 1 ? atoi(argv[1]) : 0);
	if (argc > 2)
		serve();
	return 0;
}
