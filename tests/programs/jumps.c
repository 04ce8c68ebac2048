/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -pthread -fno-builtin */
/* jumps.c -- leaves malloc, realloc and free by siglongjmp after each of their instructions.
 *
 *	jumps FIRST STEP [threads]
 *
 * The trap flag makes every instruction a SIGTRAP; the handler counts, and jumps when its
 * turn has come: at instruction FIRST, FIRST + STEP … until a call comes to its end. Each
 * call is of two sorts: at a place and in a region of memory that are known, and at new
 * ones. After each jump ordinary calls are made, which are exact whatever was left half
 * done, and three more at the place that was left; it says how many such places there were.
 * At the end comes a block so large that the peak is then: that plus what is live. With
 * `threads` there is another one, which has allocated and waits. To be run over bump.so. */
#define _GNU_SOURCE
#include "truth.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

enum { FAR_BYTES = 2 << 20, PEAK_BYTES = 99 << 20 };

static struct tally after = {.name = "make_after"};
static sigjmp_buf back;
static volatile bool stepping;
static volatile unsigned places; /* left, and called again */
static volatile long left;	 /* instructions until the jump */
static volatile unsigned turn;	 /* which call it is */
static void *volatile held;	 /* what is to be freed or made larger */
static volatile unsigned jumps, whole;

static void
on_trap(int sig)
{
	(void)sig;
	if (--left == 0)
		siglongjmp(back, 1);
}

static inline void
trap(bool on)
{
#ifdef __x86_64__
	if (on)
		__asm__ volatile(
			"lea -128(%%rsp), %%rsp; pushfq; orq $0x100, (%%rsp); popfq;"
			"lea 128(%%rsp), %%rsp" ::
				: "memory", "cc");
	else
		__asm__ volatile(
			"lea -128(%%rsp), %%rsp; pushfq; andq $~0x100, (%%rsp); popfq;"
			"lea 128(%%rsp), %%rsp" ::
				: "memory", "cc");
#else
	(void)on;
#endif
}

static TRUTH_NOINLINE void
make_stepped(size_t n)
{
	trap(stepping);
	held = malloc(n);
	trap(false);
}

static TRUTH_NOINLINE void
resize_stepped(size_t n)
{
	trap(stepping);
	held = realloc(held, n);
	trap(false);
}

static TRUTH_NOINLINE void
free_stepped(size_t n)
{
	(void)n;
	trap(true);
	free(held);
	trap(false);
}

/* The bits of `path` are the way to `make`: other bits, another stack. */
static TRUTH_NOINLINE void go_left(unsigned path, void (*make)(size_t), size_t n);

static TRUTH_NOINLINE void
go_right(unsigned path, void (*make)(size_t), size_t n)
{
	volatile char room[40];

	room[0] = (char)n;
	if (path <= 1)
		make(n);
	else if (path & 1)
		go_right(path >> 1, make, n);
	else
		go_left(path >> 1, make, n);
	room[1] = room[0];
}

static TRUTH_NOINLINE void
go_left(unsigned path, void (*make)(size_t), size_t n)
{
	volatile char room[72];

	room[0] = (char)n;
	if (path <= 1)
		make(n);
	else if (path & 1)
		go_right(path >> 1, make, n);
	else
		go_left(path >> 1, make, n);
	room[1] = room[0];
}

static TRUTH_NOINLINE void
make_after(size_t n)
{
	void *p = malloc(n), *q = malloc(n + 1);

	p = realloc(p, n + 2);
	free(p);
	free(q);
	tally_alloc(&after, n);
	tally_alloc(&after, n + 1);
	tally_alloc(&after, n + 2);
	tally_free(&after, n);
	tally_free(&after, n + 1);
	tally_free(&after, n + 2);
}

/* Three calls at the place on that way, each to its end. */
static void
call_again(unsigned path, void (*make)(size_t), bool new_place)
{
	static bool known[2];
	bool *seen = &known[make == resize_stepped];

	if (make == free_stepped)
		return;
	stepping = false;
	for (unsigned i = 0; i < 3; i++) {
		held = make == resize_stepped ? malloc(40) : NULL;
		go_left(path, make, 48);
		free(held);
	}
	places += new_place || !*seen;
	*seen = *seen || !new_place;
}

/* One call that is left after `at` instructions. True: it came to its end before that. */
static bool
leave_after(long at, void (*make)(size_t), bool new_place)
{
	static volatile unsigned place;
	volatile unsigned path;

	place += new_place;
	path = new_place ? 4096 + place % 4096 : 4095;
	held = make == make_stepped		   ? NULL
	       : make == free_stepped && new_place ? malloc(FAR_BYTES)
						   : malloc(40);
	if (sigsetjmp(back, 1) != 0) {
		jumps++;
	} else {
		left = at;
		stepping = true;
		go_left(path, make, new_place ? FAR_BYTES : 48 + turn % 16);
		left = 0;
		whole++;
		return true;
	}
	/* From less deep, so that nobody takes it for a handler that runs on top of the call. */
	for (unsigned i = 0; i < 3; i++)
		go_left(2 + i % 2, make_after, 17 + turn % 5);
	if (place < 4096) /* then paths come again */
		call_again(path, make, new_place);
	return false;
}

static void *
other(void *arg)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	free(malloc(100));
	pthread_barrier_wait(arg);
	for (;;)
		pause();
	return NULL;
}

static void
start_other(void)
{
	static pthread_barrier_t ready;
	pthread_t t;

	pthread_barrier_init(&ready, NULL, 2);
	if (pthread_create(&t, NULL, other, &ready) != 0)
		_exit(3);
	pthread_barrier_wait(&ready);
}

int
main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = on_trap};
	void (*const calls[])(size_t) = {make_stepped, resize_stepped, free_stepped};
	void *large;

	if (argc < 3)
		return 2;
	if (argc > 3)
		start_other();
	sigaction(SIGTRAP, &sa, NULL);
	for (turn = 0; turn < 6; turn++)
		for (long at = atol(argv[1]);
		     !leave_after(at, calls[turn / 2], turn % 2 != 0);
		     at += atol(argv[2]))
			;
	large = malloc(PEAK_BYTES);
	free(large);
	truth_tell(&after);
	truth_say("whole %u jumps %u peak %d places %u\n", whole, jumps, PEAK_BYTES,
		  places);
	return 0;
}
