/* SPDX-License-Identifier: MIT */
/* unwind_stacks.h -- builds stacks of every shape that unwinders get wrong, at random.
 *
 * A stack is a list of choices, one a level. Between two stacks some inner levels are
 * chosen anew, so they share their outer part as real ones do. At the bottom
 * stacks_leaf() is called from one of two places. Include unwind_harness.h first. */
#ifndef SEEP_TESTS_UNWIND_STACKS_H
#define SEEP_TESTS_UNWIND_STACKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "shared/compiler.h"

#define STACKS_LEVELS 64
#define STACKS_FIBRES 3
#define STACKS_LARGE 3

enum stacks_shape {
	STACKS_PLAIN,
	STACKS_BUFFER,
	STACKS_ALLOCA,
	STACKS_ALIGNED,
	STACKS_DRAP,
	STACKS_FP,
	STACKS_BP,   /* bp is a plain register */
	STACKS_LOOP, /* goes down twice, with other registers */
	STACKS_TAIL,
	STACKS_QSORT,
	STACKS_LARGE_FRAME,
	/* from here on rare, because they are slow */
	STACKS_SIGNAL,
	STACKS_ALTSTACK,
	STACKS_FIBRE,
	STACKS_SHAPES,
};

static uint64_t stacks_seed = 88172645463325252u;
static unsigned char stacks_choice[STACKS_LEVELS + 1];
static volatile unsigned long stacks_sink;
static unsigned stacks_signals, stacks_alts, stacks_fibres, stacks_large; /* nested now */
static unsigned stacks_down; /* passed to callbacks */
static unsigned stacks_met[STACKS_SHAPES];
static bool stacks_no_drap;
static void stacks_leaf(void);
static void stacks_descend(unsigned d);

static unsigned
stacks_random(void)
{
	stacks_seed ^= stacks_seed << 13;
	stacks_seed ^= stacks_seed >> 7;
	stacks_seed ^= stacks_seed << 17;
	return (unsigned)(stacks_seed >> 33);
}

static NOINLINE void
stacks_plain(unsigned d)
{
	stacks_descend(d);
	stacks_sink++;
}

static NOINLINE void
stacks_buffer(unsigned d)
{
	volatile char buffer[40];

	buffer[0] = (char)d;
	stacks_descend(d);
	stacks_sink += (unsigned char)buffer[0];
}

static NOINLINE void
stacks_alloca(unsigned d)
{
	volatile char *room = __builtin_alloca(16 + (stacks_choice[d + 1] & 7) * 16);

	room[0] = (char)d;
	stacks_descend(d);
	stacks_sink += (unsigned char)room[0];
}

static NOINLINE void
stacks_aligned(unsigned d)
{
	volatile char buffer[64] __attribute__((aligned(64)));

	buffer[0] = (char)d;
	stacks_descend(d);
	stacks_sink += (unsigned char)buffer[0];
}

/* Arguments on the stack, a realigned frame of unknown size: the CFA must be kept in
 * memory. */
static NOINLINE void
stacks_drap(unsigned d, long b, long c, long e, long f, long g, long on_stack)
{
	volatile char buffer[64] __attribute__((aligned(64)));
	volatile char *room = __builtin_alloca(16 + (unsigned)on_stack % 64);

	buffer[0] = room[0] = (char)d;
	stacks_descend(d);
	stacks_sink +=
		(unsigned char)buffer[0] + (unsigned long)(b + c + e + f + g + on_stack);
}

static NOINLINE void
stacks_fp(unsigned d)
{
	volatile uintptr_t fp = (uintptr_t)__builtin_frame_address(0);

	stacks_descend(d);
	stacks_sink += fp & 1;
}

static NOINLINE void
stacks_bp(unsigned d)
{
	h_call_with_bp(d, (uintptr_t)stacks_random() << 3, (uintptr_t)stacks_descend);
	stacks_sink++;
}

static NOINLINE void
stacks_loop(unsigned d)
{
	for (volatile int i = 0; i < 2; i++) {
		h_call_with_bp(d, stacks_random(), (uintptr_t)stacks_descend);
		stacks_sink++;
	}
}

static NOINLINE void
stacks_tail(unsigned d)
{
	stacks_sink++;
	stacks_descend(d);
}

static int
stacks_compare(const void *a, const void *b)
{
	if (stacks_down != 0) {
		unsigned d = stacks_down - 1;

		stacks_down = 0;
		stacks_descend(d);
	}
	return *(const int *)a - *(const int *)b;
}

static NOINLINE void
stacks_qsort(unsigned d)
{
	int numbers[7] = {5, 3, 11, 2, 7, 13, 1};

	stacks_down = d + 1;
	qsort(numbers, 7, sizeof numbers[0], stacks_compare);
	stacks_sink += (unsigned)numbers[3];
}

static NOINLINE void
stacks_large_frame(unsigned d)
{
	volatile char large[300 * 1024];

	large[0] = (char)d;
	stacks_large++;
	stacks_descend(d);
	stacks_large--;
	stacks_sink += (unsigned char)large[0];
}

static void
stacks_handler(int sig)
{
	unsigned d = stacks_down - 1;

	stacks_down = 0;
	stacks_signals++;
	stacks_alts += sig == SIGUSR2;
	stacks_descend(d);
	stacks_alts -= sig == SIGUSR2;
	stacks_signals--;
}

static NOINLINE void
stacks_signal(unsigned d, int sig)
{
	stacks_down = d + 1;
	raise(sig);
	stacks_sink++;
}

static ucontext_t stacks_back[STACKS_FIBRES], stacks_there[STACKS_FIBRES];

static void
stacks_fibre_main(void)
{
	unsigned d = stacks_down - 1, me = stacks_fibres - 1;

	stacks_down = 0;
	stacks_descend(d);
	swapcontext(&stacks_there[me], &stacks_back[me]);
}

/* Every stack is a new mapping that is gone afterwards, often smaller than the one before
 * at the same place: a memo that reads where none is now would crash. */
static NOINLINE void
stacks_fibre(unsigned d)
{
	unsigned me = stacks_fibres++;
	size_t bytes = (size_t)(2048 + 64 * (stacks_random() & 3)) << 10;
	void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (stack == MAP_FAILED)
		abort();
	getcontext(&stacks_there[me]);
	stacks_there[me].uc_stack.ss_sp = stack;
	stacks_there[me].uc_stack.ss_size = bytes;
	stacks_there[me].uc_link = NULL;
	makecontext(&stacks_there[me], stacks_fibre_main, 0);
	stacks_down = d + 1;
	swapcontext(&stacks_back[me], &stacks_there[me]);
	munmap(stack, bytes);
	stacks_fibres--;
}

static NOINLINE void
stacks_bottom(void)
{
	if (stacks_choice[1] & 1)
		stacks_leaf();
	else
		stacks_leaf();
	stacks_sink++;
}

static void
stacks_descend(unsigned d)
{
	enum stacks_shape shape;

	if (d == 0) {
		stacks_bottom();
		stacks_sink++;
		return;
	}
	shape = stacks_choice[d] % STACKS_SHAPES;
	if (shape == STACKS_DRAP && stacks_no_drap)
		shape = STACKS_ALIGNED;
	/* From a fibre above the alternate stack, that would be entered at its top
	 * again. */
	if (shape == STACKS_FIBRE && (stacks_fibres >= STACKS_FIBRES || stacks_alts > 0))
		shape = STACKS_PLAIN;
	if (shape == STACKS_LARGE_FRAME && stacks_large >= STACKS_LARGE)
		shape = STACKS_BUFFER;
	stacks_met[shape]++;
	switch (shape) {
	case STACKS_BUFFER:
		stacks_buffer(d - 1);
		break;
	case STACKS_ALLOCA:
		stacks_alloca(d - 1);
		break;
	case STACKS_ALIGNED:
		stacks_aligned(d - 1);
		break;
	case STACKS_DRAP:
		stacks_drap(d - 1, 1, 2, 3, 4, 5, (long)d);
		break;
	case STACKS_FP:
		stacks_fp(d - 1);
		break;
	case STACKS_BP:
		stacks_bp(d - 1);
		break;
	case STACKS_LOOP:
		stacks_loop(d - 1);
		break;
	case STACKS_TAIL:
		stacks_tail(d - 1);
		break;
	case STACKS_QSORT:
		stacks_qsort(d - 1);
		break;
	case STACKS_LARGE_FRAME:
		stacks_large_frame(d - 1);
		break;
	case STACKS_SIGNAL:
		stacks_signal(d - 1, SIGUSR1);
		break;
	case STACKS_ALTSTACK:
		stacks_signal(d - 1, SIGUSR2);
		break;
	case STACKS_FIBRE:
		stacks_fibre(d - 1);
		break;
	default:
		stacks_plain(d - 1);
	}
	stacks_sink++;
}

/* A level's shape: mostly ordinary, `rare` in 4096 of the slow ones, few that
 * multiply. */
static unsigned char
stacks_choose(unsigned rare)
{
	unsigned r = stacks_random(), shape;

	if ((r & 4095) < rare)
		return (unsigned char)(STACKS_SIGNAL + (r >> 12) % 3);
	shape = (r >> 12) % STACKS_SIGNAL;
	/* a loop doubles the number of leaves, and qsort and large frames are slow */
	if ((shape == STACKS_LOOP || shape == STACKS_QSORT ||
	     shape == STACKS_LARGE_FRAME) &&
	    (r >> 20) % 16 != 0)
		shape = STACKS_PLAIN;
	return (unsigned char)(shape + STACKS_SHAPES * ((r >> 24) % 8));
}

/* Handlers and the alternate stack; once. */
static void
stacks_init(void)
{
	size_t bytes = (size_t)4 << 20;
	stack_t alt = {.ss_size = bytes};
	struct sigaction sa = {.sa_handler = stacks_handler, .sa_flags = SA_NODEFER};

	alt.ss_sp = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	sigaltstack(&alt, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sa.sa_flags |= SA_ONSTACK;
	sigaction(SIGUSR2, &sa, NULL);
	for (unsigned i = 0; i <= STACKS_LEVELS; i++)
		stacks_choice[i] = stacks_choose(0);
}

/* One more stack: some inner levels are new, sometimes all, and it goes down once. */
static void
stacks_next(unsigned rare)
{
	unsigned levels = 30 + stacks_random() % 12, fresh;

	fresh = stacks_random() % 16 == 0 ? STACKS_LEVELS : stacks_random() % 7;
	for (unsigned i = 1; i <= fresh; i++)
		stacks_choice[i] = stacks_choose(rare);
	if (stacks_random() % 8 != 0)
		levels = 36;
	stacks_descend(levels);
}

#endif
