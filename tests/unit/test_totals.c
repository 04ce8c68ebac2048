/* SPDX-License-Identifier: MIT */
/* test_totals.c -- what one thread's events add up to, against a model that keeps every
 * block.
 *
 * 100,000 random events at 32 sites: allocations, frees, reallocs that stay, move and
 * fail, frees of unknown addresses, addresses handed out again whose free nobody saw.
 * Compared at the end and at moments between: every counter and histogram, each site's
 * peak, and what each site held at the peak of the whole process. Two threads are played
 * by turns where their order is the point. */
#include "t.h"

#include "guest/record/livetable.h"

#include "recorder_harness.h"
#include "recorder_model.h"

static struct rm model;
static uint64_t seed = 1000003;
static const uintptr_t heap = UINT64_C(0x7f1200000000);

static uint64_t
some_size(void)
{
	uint64_t r = rh_random(&seed);

	return r % 64 == 0  ? r / 64 % (3 << 20)
	       : r % 8 == 0 ? r / 8 % 9000
			    : r / 64 % 300;
}

/* 1,200 places 16 bytes apart and as many in a sparse range. */
static uintptr_t
some_address(void)
{
	uint64_t r = rh_random(&seed) % 2400;

	return r < 1200 ? heap + r * 16 : heap + (1 << 21) + r * 5008;
}

static uintptr_t
some_vacant(void)
{
	uintptr_t addr;

	do
		addr = some_address();
	while (rm_block(&model, addr) != NULL);
	return addr;
}

/* Grows and shrinks in waves, so that peaks come at all times. */
static void
some_event(struct thread *t, unsigned i)
{
	unsigned sites = 1u << model.depth, site = (unsigned)rh_random(&seed) % sites;
	unsigned growing = i / 5000 % 3 == 2 ? 20 : 36, what = rh_random(&seed) % 100;
	uintptr_t addr = some_address();

	if (rh_random(&seed) % 8 == 0)
		rm_tick(&model, rh_random(&seed) % 3 == 0 ? rh_random(&seed) % 5000 : 1);
	if (what < growing)
		rm_alloc(&model, t, rh_random(&seed) % 64 == 0 ? addr : some_vacant(),
			 some_size(), site);
	else if (what < 55 && model.recent[0] != 0)
		rm_free(&model, t,
			model.recent[rh_random(&seed) % 2 == 0 && model.recent[1] != 0]);
	else if (what < 85)
		rm_free(&model, t, addr);
	else if (what < 92)
		rm_resize(&model, t, addr, addr, some_size(), site);
	else if (what < 98)
		rm_resize(&model, t, addr, some_vacant(), some_size(), site);
	else
		rm_resize(&model, t, addr, 0, 0, site);
}

static unsigned
counters_differ(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 1u << model.depth; i++) {
		struct rm_site is;

		rm_read(i, &is);
		wrong += rm_counters_differ(&is, &model.sites[i]);
	}
	return wrong;
}

static unsigned
peaks_differ(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < 1u << model.depth; i++) {
		struct rm_site is;

		rm_read(i, &is);
		wrong += is.at_peak_bytes != model.sites[i].at_peak_bytes;
		wrong += is.at_peak_blocks != model.sites[i].at_peak_blocks;
		wrong += is.peak_bytes != model.sites[i].peak_bytes;
	}
	return wrong;
}

T_TEST(a_lone_threads_events)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	unsigned wrong = 0, peaks = 0;
	uint64_t temporary = 0;
	int64_t sum = 0;

	rm_reset(&model, 5);
	rm_tick(&model, 1);
	for (unsigned i = 0; i < 100000; i++) {
		int64_t before = model.peak;

		some_event(t, i);
		peaks += model.peak != before;
		if (i % 997 == 0)
			wrong += counters_differ() + peaks_differ() +
				 (t->live_bytes != model.live) +
				 (rh.head->peak_bytes != model.peak) +
				 (rh.head->peak_ms != model.peak_ms);
	}
	wrong += counters_differ() + peaks_differ();
	T_EQ(wrong, 0);
	T_EQ(rm_mixed, 0);
	T_EQ(rh_lost(), 0);
	T_EQ(t->live_bytes, model.live);
	T_EQ(rh.head->peak_bytes, model.peak);
	T_EQ(rh.head->frees_unknown, model.unknown);
	T_EQ(rh.head->frees_unseen, model.unseen);
	T_EQ(t->row->journal_count, 0);
	for (unsigned i = 0; i < 32; i++) {
		T_CHECK(rm_refs[i] != 0);
		for (unsigned k = 0; k < i; k++)
			T_CHECK(rm_refs[i] != rm_refs[k]);
		sum += model.sites[i].at_peak_bytes;
		temporary += model.sites[i].lifetimes[REC_LIFE_TEMPORARY];
	}
	T_EQ(sum, rh.head->peak_bytes);
	/* it tested what it claims to */
	T_CHECK(peaks > 100);
	T_CHECK(temporary > 1000);
	T_CHECK(model.unseen > 100);
	T_CHECK(model.unknown > 1000);
	printf("    %u new peaks, %lu temporary, %lu unseen, %lu unknown\n", peaks,
	       (unsigned long)temporary, (unsigned long)model.unseen,
	       (unsigned long)model.unknown);
}

/* With a second thread about, the peak may be missed by what one thread keeps to
 * itself. */
T_TEST(no_longer_alone)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	unsigned wrong = 0;
	int64_t sum = 0;

	rm_reset(&model, 5);
	rm_tick(&model, 1);
	for (unsigned i = 0; i < 7001; i++)
		some_event(t, i);
	rh_single = 0;
	for (unsigned i = 7001; i < 30000; i++) {
		some_event(t, i);
		wrong += model.peak - rh.head->peak_bytes > STEP_FLUSH_BYTES;
		wrong += rh.head->peak_bytes > model.peak;
		wrong += rh.head->live_bytes + t->row->unflushed != model.live;
	}
	T_EQ(t->alone, false);
	T_EQ(wrong, 0);
	T_EQ(counters_differ(), 0);
	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is;

		rm_read(i, &is);
		sum += is.at_peak_bytes;
		T_CHECK(is.peak_bytes <= model.sites[i].peak_bytes);
		T_CHECK(model.sites[i].peak_bytes - is.peak_bytes <= STEP_FLUSH_BYTES);
	}
	T_CHECK(sum >= rh.head->peak_bytes - STEP_FLUSH_BYTES);
	T_CHECK(sum <= rh.head->peak_bytes + STEP_FLUSH_BYTES);
	T_CHECK((rh.head->flags & REC_FLAG_THREADED) != 0);
}

/* Exit begins: what each site held then is kept, whatever is freed afterwards. */
T_TEST(held_at_exit)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	int64_t bytes[32], blocks[32];
	unsigned wrong = 0;

	rm_reset(&model, 5);
	rm_tick(&model, 1);
	for (unsigned i = 0; i < 9001; i++)
		some_event(t, i);
	for (unsigned i = 0; i < 32; i++) {
		const struct rm_site *s = &model.sites[i];

		bytes[i] = (int64_t)(s->alloc_bytes - s->free_bytes);
		blocks[i] = (int64_t)(s->allocs - s->frees);
	}
	__atomic_fetch_or(&rh.head->stamp, REC_STAMP_EXIT, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 9001; i++)
		some_event(t, i);
	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is;

		rm_read(i, &is);
		wrong += is.at_exit_bytes != bytes[i] || is.at_exit_blocks != blocks[i];
	}
	T_EQ(wrong, 0);
	T_EQ(counters_differ() + peaks_differ(), 0);
}

T_TEST(histogram_limits)
{
	static const struct {
		uint64_t value;
		unsigned bucket;
	} sizes[] = {{0, 0},	   {1, 0},	 {16, 0},      {17, 1},
		     {32, 1},	   {33, 2},	 {4096, 8},    {4097, 9},
		     {262144, 14}, {262145, 15}, {524288, 15}, {UINT64_C(1) << 39, 15}},
	  lives[] = {{0, 0},	      {1, 1},	     {2, 2},	     {3, 2},
		     {4, 3},	      {15, 4},	     {16, 5},	     {65535, 16},
		     {65536, 17},     {1048576, 21}, {67108863, 26}, {67108864, 27},
		     {UINT32_MAX, 27}};

	for (unsigned i = 0; i < ARRAY_LEN(sizes); i++)
		T_EQ(size_bucket(sizes[i].value), sizes[i].bucket);
	for (unsigned i = 0; i < ARRAY_LEN(lives); i++)
		T_EQ(life_bucket(lives[i].value + 5, UINT64_C(5) << 32), lives[i].bucket);
	T_EQ(life_bucket(3, UINT64_C(9) << 32), 0); /* another thread's clock was ahead */
}

/* Messages go to and fro: the first thread's block is freed by the second, its slot taken
 * by another block of the same size, its address given to the second and freed by the
 * first. */
T_TEST(slot_used_again_by_another_block)
{
	struct thread *one = rh_start(REC_MODE_EXACT, 16 << 20, 0, false), *two;
	uintptr_t a = heap, b = heap + 64;
	struct live_slot s;

	rm_reset(&model, 2);
	two = threads_attach(&rh, false);
	T_CHECK(two != NULL && two != one && two->serial != one->serial);
	rm_at(one, RM_ALLOC, a, 53, 2 << 16 | 0);
	record_free(&rh, two, a);
	rm_at(one, RM_ALLOC, b, 53, 2 << 16 | 1);
	rm_at(two, RM_ALLOC, a, 53, 2 << 16 | 2);
	record_free(&rh, one, a);
	T_EQ(live_find(&rh, one, a, &s), LIVE_NONE);
	T_EQ(live_find(&rh, one, b, &s), LIVE_OK);
	T_EQ((uint32_t)s.block->b, rm_refs[1]);
	live_unlock(one, &s);
	record_free(&rh, one, b);
	for (unsigned i = 0; i < 3; i++) {
		struct rm_site is;

		rm_read(i, &is);
		T_EQ(is.allocs, 1);
		T_EQ(is.frees, 1);
	}
	T_EQ(rh.head->frees_unknown, 0);
	T_EQ(rh.head->frees_unseen, 0);
}

/* While a realloc runs, another thread is handed the old address. */
T_TEST(old_address_taken_during_resize)
{
	struct thread *one = rh_start(REC_MODE_EXACT, 16 << 20, 0, false);
	struct thread *two = threads_attach(&rh, false);
	struct rm_site is;

	rm_reset(&model, 2);
	rm_at(one, RM_ALLOC, heap, 101, 2 << 16 | 0);
	record_resize_begin(&rh, one, heap);
	rm_at(two, RM_ALLOC, heap, 103, 2 << 16 | 1);
	rm_at(one, RM_RESIZE, heap + 4096, 211, 2 << 16 | 2);
	rm_at(two, RM_ALLOC, heap, 107, 2 << 16 | 3); /* free unseen */
	T_EQ(rh.head->frees_unseen, 1);
	rm_read(1, &is);
	T_EQ(is.free_bytes, 103);
	record_free(&rh, one, heap);
	record_free(&rh, two, heap + 4096);
	record_free(&rh, two, heap);
	T_EQ(rh.head->frees_unknown, 1);
	rm_read(3, &is);
	T_EQ(is.free_bytes, 107);
	rm_read(2, &is);
	T_EQ(is.free_bytes, 211);
	rm_read(0, &is);
	T_EQ(is.free_bytes, 101);
}

/* Without a tool a thread reads the clock itself, and at its first event. */
T_TEST(first_event_has_a_time)
{
	struct thread *t;
	struct live_slot s;

	rh_start(REC_MODE_EXACT, 16 << 20, 0, false);
	rm_reset(&model, 2);
	rh_clock_ns = UINT64_C(61007) * 1000000;
	t = threads_attach(&rh, false);
	rm_at(t, RM_ALLOC, heap, 19, 2 << 16);
	T_EQ(live_find(&rh, t, heap, &s), LIVE_OK);
	T_EQ(s.block->b >> 32, 61007);
	live_unlock(t, &s);
}

/* A recording that is full goes on with what it has; what has no room is counted. */
T_TEST(full_recording)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 2 << 20, 0, true);
	uint64_t allocs = 0, frees = 0;
	const unsigned n = 200000;

	rm_reset(&model, 5);
	for (unsigned i = 0; i < n; i++)
		rm_at(t, RM_ALLOC, heap + (uintptr_t)i * 48, 31, 5 << 16 | i % 32);
	for (unsigned i = 0; i < n; i++)
		record_free(&rh, t, heap + (uintptr_t)i * 48);
	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is;

		rm_read(i, &is);
		allocs += is.allocs;
		frees += is.frees;
		T_EQ(is.alloc_bytes, is.allocs * 31);
	}
	T_CHECK(allocs > 10000);
	T_EQ(frees, allocs);
	T_EQ(rh.head->lost[REC_LOST_SPACE], n - allocs);
	T_EQ(rh.head->frees_unknown, n - allocs);
	T_EQ(t->live_bytes, 0);
	T_EQ(rh.head->peak_bytes, (int64_t)allocs * 31);
}

T_MAIN()
