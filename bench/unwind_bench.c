/* SPDX-License-Identifier: MIT */
/* unwind_bench.c -- what one frame costs: nanoseconds, the best of many runs.
 *
 * At 17, 60 and 67 frames: the memo when nothing changed; when the last four levels were
 * left and entered again; when they were left and four others entered; rules without
 * memo; and libunwind's unw_backtrace (its cached trace). What the calls themselves cost
 * is taken off. Build without frame pointers, which is how most of the world's code is
 * built:
 *
 * gcc -O2 -Isrc bench/unwind_bench.c src/guest/unwind/[!a]*.c
 * src/guest/unwind/arch_x86_64.c -lunwind
 *
 * With -fno-omit-frame-pointer each frame has two words to compare instead of one. */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "guest/unwind/unwind_fast.h"
#include "shared/compiler.h"

#define BENCH_ROUNDS 31
#define BENCH_STACKS 4000
#define BENCH_AGAIN 4 /* levels left and entered again */

enum bench_way { BENCH_NOTHING, BENCH_HIT, BENCH_RULES, BENCH_LIBUNWIND };

static struct unw_thread *bench_thread;
static enum bench_way bench_way;
static volatile unsigned bench_sink;
static unsigned bench_frames;
static bool bench_alternate;
static double bench_best;

static bool
bench_find(uintptr_t pc, struct unw_module *ret_module)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)pc, &found) != 0)
		return false;
	ret_module->start = (uintptr_t)found.dlfo_map_start;
	ret_module->end = (uintptr_t)found.dlfo_map_end;
	ret_module->eh_hdr = found.dlfo_eh_frame;
	ret_module->id = 1;
	return true;
}

/* Ids by hash alone: what a tree costs is not the question here. */
static uint32_t
bench_node(void *arg, uint32_t parent, uintptr_t pc, uint32_t module, unsigned kind)
{
	(void)arg;
	(void)module;
	(void)kind;
	return (uint32_t)((parent ^ pc) * UINT64_C(0x9e3779b97f4a7c15) >> 32) | 1;
}

static double
bench_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The hook. */
static NOINLINE void
bench_leaf(void)
{
	static void *trace[256];
	struct unw_start start = {
		.pc = (uintptr_t)__builtin_return_address(0),
		.sp = (uintptr_t)__builtin_frame_address(0) + 16,
		.bp = *(uintptr_t *)__builtin_frame_address(0),
	};
	uint32_t id;

	switch (bench_way) {
	case BENCH_HIT:
		id = unw_hit(bench_thread, &start);
		if (UNLIKELY(id == 0))
			id = unw_walk(bench_thread, &start);
		bench_sink += id;
		break;
	case BENCH_RULES:
		bench_frames = unw_addresses(bench_thread, &start, (uintptr_t *)trace,
					     256, false);
		break;
	case BENCH_LIBUNWIND:
		bench_sink += (unsigned)unw_backtrace(trace, 256);
		break;
	default:
		bench_sink++;
	}
}

static NOINLINE void
bench_again(unsigned levels)
{
	if (levels > 0)
		bench_again(levels - 1);
	else
		bench_leaf();
	bench_sink++;
}

static NOINLINE void
bench_others(unsigned levels)
{
	if (levels > 0)
		bench_others(levels - 1);
	else
		bench_leaf();
	bench_sink += 2;
}

static NOINLINE void
bench_measure(unsigned levels)
{
	/* one call for both, so that only what is called differs */
	void (*go[])(unsigned) = {bench_again,
				  bench_alternate ? bench_others : bench_again};

	bench_best = 1e18;
	for (int round = 0; round < BENCH_ROUNDS; round++) {
		double from = bench_now_ns(), took;

		for (int i = 0; i < BENCH_STACKS; i++)
			go[i % 2](levels);
		took = (bench_now_ns() - from) / BENCH_STACKS;
		bench_best = took < bench_best ? took : bench_best;
	}
}

static void bench_odd(unsigned depth, unsigned levels);

static NOINLINE void
bench_even(unsigned depth, unsigned levels)
{
	if (depth > 0)
		bench_odd(depth - 1, levels);
	else
		bench_measure(levels);
	bench_sink++;
}

static NOINLINE void
bench_odd(unsigned depth, unsigned levels)
{
	volatile char buffer[24];

	buffer[0] = (char)depth;
	if (depth > 0)
		bench_even(depth - 1, levels);
	else
		bench_measure(levels);
	bench_sink += (unsigned char)buffer[0];
}

/* Nanoseconds a stack `depth` levels deep, of which `levels` are left and entered
 * again. */
static double
bench_run(enum bench_way way, unsigned depth, unsigned levels)
{
	double calls;

	bench_way = BENCH_NOTHING;
	bench_even(depth - levels, levels);
	calls = bench_best;
	bench_way = way;
	bench_even(depth - levels, levels);
	return bench_best - calls;
}

static void *
bench_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	return p;
}

int
main(void)
{
	static const struct unw_ops ops = {.find = bench_find, .node = bench_node};
	static const unsigned wanted[] = {17, 60, 67};
	struct unw_shared *shared = bench_map(unw_shared_bytes());

	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
	unw_shared_init(shared, &ops);
	bench_thread = bench_map(unw_thread_bytes());
	unw_thread_init(bench_thread, shared, NULL);
	printf("ns a frame   %10s %10s %10s %10s %10s\n", "same", "4 again", "4 others",
	       "rules", "libunwind");
	for (unsigned i = 0; i < ARRAY_LEN(wanted); i++) {
		unsigned depth = BENCH_AGAIN + 1;
		double ns[5];

		do { /* main and the frames of libc count as well */
			bench_run(BENCH_RULES, ++depth, 0);
		} while (bench_frames < wanted[i]);
		ns[0] = bench_run(BENCH_HIT, depth, 0);
		ns[1] = bench_run(BENCH_HIT, depth, BENCH_AGAIN);
		bench_alternate = true;
		ns[2] = bench_run(BENCH_HIT, depth, BENCH_AGAIN);
		bench_alternate = false;
		ns[3] = bench_run(BENCH_RULES, depth, 0);
		ns[4] = bench_run(BENCH_LIBUNWIND, depth, 0);
		printf("%2u frames    ", bench_frames);
		for (unsigned k = 0; k < ARRAY_LEN(ns); k++)
			printf("%10.2f ", ns[k] / bench_frames);
		putchar('\n');
	}
	return 0;
}
