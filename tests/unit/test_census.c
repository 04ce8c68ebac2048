/* SPDX-License-Identifier: MIT */
/* test_census.c -- what the recorder holds, added up: by site, by thread, since a base,
 * and while threads count, end and are folded under the walk. */
#include "t.h"

#include "guest/record/census/census.h"
#include "guest/record/census/census_blocks.h"
#include "guest/record/events.h"

#include "recorder_harness.h"

enum { CHURNERS = 3, ROUNDS = 40, EVENTS = 600, KEPT = 7 };

static const uintptr_t heap = UINT64_C(0x7f6600000000);

static NOINLINE void
alloc_here(struct thread *t, uintptr_t addr, uint64_t bytes)
{
	struct unw_start at = RH_START();

	record_alloc(&rh, t, addr, bytes, REC_KIND_MALLOC, &at);
}

/* Two places. What they say to the assembler keeps them from being merged into one. */
static NOINLINE void
first(struct thread *t, uintptr_t addr, uint64_t bytes)
{
	alloc_here(t, addr, bytes);
	__asm__ volatile("# first");
}

static NOINLINE void
second(struct thread *t, uintptr_t addr, uint64_t bytes)
{
	alloc_here(t, addr, bytes);
	__asm__ volatile("# second");
}

/* Whoever calls: stacks end here. */
RH_ROOT static void
one(struct thread *t, uintptr_t addr, uint64_t bytes)
{
	first(t, addr, bytes);
	__asm__ volatile("# one");
}

RH_ROOT static void
two(struct thread *t, uintptr_t addr, uint64_t bytes)
{
	second(t, addr, bytes);
	__asm__ volatile("# two");
}

static const struct census_site *
largest(const struct census *c)
{
	const struct census_site *best = &c->sites[0];

	for (uint32_t i = 1; i < c->nsites; i++)
		if (c->sites[i].n.live_bytes > best->n.live_bytes)
			best = &c->sites[i];
	return best;
}

T_TEST(by_site)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	struct census c;
	unsigned used = 0;

	for (uintptr_t i = 0; i < 13; i++)
		one(t, heap + i * 64, 101);
	for (uintptr_t i = 0; i < 17; i++)
		two(t, heap + 65536 + i * 64, 1009);
	for (uintptr_t i = 0; i < 5; i++)
		record_free(&rh, t, heap + 65536 + i * 64);
	T_EQ(census_take(&rh, 0, NULL, &c), 0);
	for (uint32_t i = 0; i < c.nsites; i++)
		used += c.sites[i].n.allocs != 0;
	T_EQ(used, 2);
	T_EQ(c.n.live_blocks, 13 + 12);
	T_EQ(c.n.live_bytes, 13 * 101 + 12 * 1009);
	T_EQ(c.n.allocs, 30);
	T_EQ(c.n.alloc_bytes, 13 * 101 + 17 * 1009);
	T_EQ(c.n.live_est, 25 * CENSUS_ONE);
	T_EQ(largest(&c)->n.live_bytes, 12 * 1009);
	T_EQ(c.nshares, 0);
	census_done(&c);
	T_EQ(c.nsites, 0);
	census_done(&c); /* an empty one is fine */
}

T_TEST(since_a_base)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	struct census base, c;

	for (uintptr_t i = 0; i < 19; i++)
		one(t, heap + i * 64, 211);
	census_forget_live(&rh, t);
	T_EQ(census_take(&rh, CENSUS_THREADS, NULL, &base), 0);
	T_EQ(base.n.live_blocks, 0);
	T_EQ(base.n.allocs, 19);
	record_free(&rh, t, heap); /* forgotten: of no account */
	one(t, heap, 307);
	two(t, heap + 65536, 401);
	record_free(&rh, t, heap + 65536);
	T_EQ(census_take(&rh, CENSUS_THREADS, &base, &c), 0);
	T_EQ(c.n.live_blocks, 1);
	T_EQ(c.n.live_bytes, 307);
	T_EQ(c.n.allocs, 2);
	T_EQ(c.n.alloc_bytes, 307 + 401);
	T_EQ(c.nthreads, 1);
	T_EQ(c.threads[0].n.allocs, 2);
	T_EQ(c.threads[0].shares, 2);
	census_done(&c);
	census_done(&base);
}

T_TEST(estimates)
{
	struct thread *t = rh_start(REC_MODE_SAMPLE, 64 << 20, 4096, true);
	struct census c;

	/* Caught with p = 1 - exp(-1/4): each stands for 4.52 blocks. */
	for (uintptr_t i = 0; i < 100; i++)
		one(t, heap + i * 2048, 1024);
	T_EQ(census_take(&rh, CENSUS_THREADS, NULL, &c), 0);
	T_EQ(c.n.live_blocks, 100);
	T_CHECK(c.n.live_est > 451 * CENSUS_ONE && c.n.live_est < 454 * CENSUS_ONE);
	T_CHECK(c.n.live_bytes > 451 * 1024 && c.n.live_bytes < 454 * 1024);
	census_done(&c);
}

/* ---- threads ---- */

static void *
keeps(void *arg)
{
	struct thread *t = threads_attach(&rh, false);
	uintptr_t from = (uintptr_t)arg;

	for (uintptr_t i = 0; i < KEPT; i++)
		one(t, heap + (from * 16 + i) * 64, 500 + from);
	threads_detach(&rh, t);
	return NULL;
}

/* A block belongs to who allocated it, though that thread has ended and another frees. */
T_TEST(whose_blocks)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, false);
	unsigned seen = 0;
	struct census c;
	pthread_t id;

	for (uintptr_t i = 0; i < 4; i++) {
		pthread_create(&id, NULL, keeps, (void *)i);
		pthread_join(id, NULL);
	}
	for (uintptr_t i = 0; i < 3; i++)
		record_free(&rh, t, heap + (2 * 16 + i) * 64);
	T_EQ(census_take(&rh, CENSUS_THREADS, NULL, &c), 0);
	for (uint32_t i = 0; i < c.nthreads; i++) {
		const struct census_thread *th = &c.threads[i];
		uint32_t from = th->serial - 2;

		if (th->serial == 1) {
			T_EQ(th->n.live_blocks, 0);
			continue;
		}
		T_EQ(th->tid, 0);
		T_EQ(th->n.live_blocks, from == 2 ? KEPT - 3 : KEPT);
		T_EQ(th->n.live_bytes, (from == 2 ? KEPT - 3 : KEPT) * (500 + from));
		seen++;
	}
	T_EQ(seen, 4);
	T_EQ(c.n.live_blocks, 4 * KEPT - 3);
	T_EQ(c.n.allocs, 4 * KEPT);
	census_done(&c);
}

static void *
churns(void *arg)
{
	uintptr_t base = heap + ((uintptr_t)arg << 24);

	for (int round = 0; round < ROUNDS; round++) {
		struct thread *t = threads_attach(&rh, false);

		for (uintptr_t i = 0; i < EVENTS; i++) {
			if (i % 2 == 0)
				one(t, base + i * 64, 100);
			else
				two(t, base + i * 64, 100);
			record_free(&rh, t, base + i * 64);
		}
		threads_detach(&rh, t);
	}
	return NULL;
}

/* Threads that allocate and free, one block at a time, end and come again. Whatever the
 * moment: no more is live than there are threads, nothing is counted twice, and nothing
 * is lost at the end. */
T_TEST(while_threads_end)
{
	const uint64_t all = (uint64_t)CHURNERS * ROUNDS * EVENTS;
	pthread_t id[CHURNERS];
	uint64_t before = 0;
	struct census c;

	rh_start(REC_MODE_EXACT, 256 << 20, 0, false);
	for (uintptr_t i = 0; i < CHURNERS; i++)
		pthread_create(&id[i], NULL, churns, (void *)(i + 1));
	do {
		T_EQ(census_take(&rh, CENSUS_THREADS, NULL, &c), 0);
		T_CHECK(c.n.live_blocks >= 0 && c.n.live_blocks <= CHURNERS);
		T_CHECK(c.n.allocs <= all);
		T_CHECK(c.n.allocs >= before);
		T_CHECK(c.n.alloc_bytes % 100 == 0);
		before = c.n.allocs;
		census_done(&c);
	} while (before < all * 9 / 10);
	for (unsigned i = 0; i < CHURNERS; i++)
		pthread_join(id[i], NULL);
	T_EQ(census_take(&rh, CENSUS_THREADS, NULL, &c), 0);
	T_EQ(c.n.allocs, all);
	T_EQ(c.n.alloc_bytes, all * 100);
	T_EQ(c.n.live_blocks, 0);
	T_EQ(rh_lost(), 0);
	census_done(&c);
}

T_MAIN()
