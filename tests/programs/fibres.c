/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* fibres.c -- allocations on several stacks in turn, which then go away.
 *
 *	fibres ROUNDS
 *
 * In each round seven fibres are made on mapped stacks of their own. They allocate,
 * change over to one another in the middle, and leave a block that the main stack
 * frees. Then their stacks are unmapped and something else, unreadable, is mapped in
 * their place. */
#define _GNU_SOURCE
#include "truth.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum {
	FIBRES = 7,
	STACK_BYTES = 64 << 10,
	STEPS = 11,
};

static struct tally in_fibre = {.name = "make_in_fibre"};
static struct tally in_main = {.name = "make_in_main"};
static struct tally by_root = {.name = "fibre_main"};

static ucontext_t main_context, contexts[FIBRES];
static void *left[FIBRES];
static unsigned now;

static TRUTH_NOINLINE void *
make_in_fibre(size_t n)
{
	tally_alloc(&in_fibre, n);
	tally_alloc(&by_root, n);
	return malloc(n);
}

static TRUTH_NOINLINE void
make_in_main(size_t n)
{
	void *p = malloc(n);

	tally_alloc(&in_main, n);
	free(p);
	tally_free(&in_main, n);
}

static void
drop(void *p, size_t n)
{
	free(p);
	tally_free(&in_fibre, n);
	tally_free(&by_root, n);
}

static TRUTH_NOINLINE void
descend(unsigned depth)
{
	volatile char room[80];

	room[0] = 1;
	if (depth > 0) {
		descend(depth - 1);
		room[1] = room[0];
		return;
	}
	void *p = make_in_fibre(37);

	unsigned me = now;

	swapcontext(&contexts[me], &main_context);
	now = me;
	drop(p, 37);
	room[2] = room[0];
}

static void
fibre_main(void)
{
	unsigned me = now;

	for (unsigned i = 0; i < STEPS; i++)
		descend(i % 4 + me);
	left[me] = make_in_fibre(41);
}

static void
run_round(void)
{
	void *stacks[FIBRES];

	for (unsigned i = 0; i < FIBRES; i++) {
		stacks[i] = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK_BYTES;
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], fibre_main, 0);
	}
	for (unsigned step = 0; step <= STEPS; step++) {
		for (now = 0; now < FIBRES; now++) {
			unsigned me = now;

			swapcontext(&main_context, &contexts[me]);
			now = me;
			make_in_main(43);
		}
	}
	for (unsigned i = 0; i < FIBRES; i++) {
		if (i % 2 == 0)
			munmap(stacks[i], STACK_BYTES);
		else
			mmap(stacks[i], STACK_BYTES, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		make_in_main(47);
		drop(left[i], 41);
	}
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;

	for (unsigned i = 0; i < rounds; i++)
		run_round();
	truth_tell(&in_fibre);
	truth_tell(&by_root);
	truth_tell(&in_main);
	return 0;
}
