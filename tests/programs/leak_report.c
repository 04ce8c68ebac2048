/* SPDX-License-Identifier: MIT */
/* leak_report.c -- leaks of every kind, from every allocating function, for reports that other tools
 * must agree with: same records, same order, same stacks. */
/* cflags: -O0 -g */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	char rest[40];
};

static void *kept[8];
static char *inside;

static void
lose(size_t bytes)
{
	void *volatile p = malloc(bytes);

	memset(p, 0, bytes);
	p = NULL;
}

static void
lose_deep(unsigned depth, size_t bytes)
{
	if (depth > 0)
		lose_deep(depth - 1, bytes);
	else
		lose(bytes);
}

static void
lose_list(void)
{
	struct node *volatile first = NULL;

	for (int i = 0; i < 7; i++) {
		struct node *n = calloc(1, sizeof *n);

		n->next = first;
		first = n;
	}
	first = NULL;
}

static void
lose_ring(void)
{
	struct node *volatile a = calloc(3, sizeof *a);
	struct node *volatile b = malloc(97);

	a->next = b;
	b->next = a;
	a = b = NULL;
}

static void
lose_resized(void)
{
	void *volatile p = malloc(11);

	p = realloc(p, 211);
	p = NULL;
}

static void
lose_others(void)
{
	void *p = NULL;
	char *volatile text;

	text = strdup("thirteen more");
	if (posix_memalign(&p, 64, 1009) != 0)
		abort();
	p = memalign(128, 503);
	p = aligned_alloc(32, 352);
	p = valloc(809);
	memset(p, 0, 809);
	p = NULL;
	text = NULL;
}

/* What calls have left on the stack. */
__attribute__((noinline)) static void
wipe(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

int
main(int argc, char **argv)
{
	for (int i = 0; i < 5; i++)
		lose(23);
	lose(61);
	lose_deep(3, 47);
	lose_deep(20, 53);
	lose_deep(21, 53);
	lose_list();
	lose_ring();
	lose_resized();
	lose_others();
	for (int i = 0; i < 3; i++)
		kept[i] = malloc(100 + (size_t)i);
	inside = (char *)malloc(307) + 100;
	kept[3] = fopen("/dev/null", "r");
	free(malloc(1201));
	wipe();
	if (argc > 1)
		fputs(argv[1], stdout);
	return argc > 2 ? atoi(argv[2]) : 0;
}
