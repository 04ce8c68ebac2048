/* SPDX-License-Identifier: MIT */
/* test_cells.c -- cells of threads that come, count and go: nothing may be lost on the
 * way.
 *
 * Ended threads are folded into one cell a site; cells, records and private states are
 * used again. Threads run at once with a model each, free each other's blocks and end;
 * the sums over all cells must be the sums over all models. */
/* tsan */
#include "t.h"

#include "guest/record/cells.h"
#include "guest/record/livetable.h"

#include "recorder_harness.h"
#include "recorder_model.h"

#define THREADS 4

static uint64_t seed = 999983;
static const uintptr_t heap = UINT64_C(0x7f5500000000);

/* An event of a thread that has the 512 addresses from `base` on to itself. */
static void
some_event(struct rm *m, struct thread *t, uintptr_t base, uint64_t *random)
{
	uintptr_t addr = base + rh_random(random) % 512 * 16;
	unsigned site = (unsigned)rh_random(random) % (1u << m->depth);
	uint64_t bytes = rh_random(random) % 307;
	bool there = rm_block(m, addr) != NULL;

	if (!there)
		rm_alloc(m, t, addr, bytes, site);
	else if (rh_random(random) % 4 == 0)
		rm_resize(m, t, addr, addr, bytes, site);
	else
		rm_free(m, t, addr);
}

static uint32_t
chunks_of(enum rec_chunk_kind kind)
{
	uint32_t n = 0, index = rh.head->chunk_lists[kind];

	for (; index != 0; n++) {
		const struct rec_chunk *c =
			(const void *)(rh.base + REC_CHUNKS_OFF +
				       (uint64_t)(index - 1) * REC_CHUNK_BYTES);

		index = c->next;
	}
	return n;
}

/* What the cells of all sites hold now. */
static int64_t
live_in_cells(unsigned sites, int64_t *ret_at_peak)
{
	int64_t live = 0;

	*ret_at_peak = 0;
	for (unsigned i = 0; i < sites; i++) {
		struct rm_site is;

		rm_read(i, &is);
		live += (int64_t)(is.alloc_bytes - is.free_bytes);
		*ret_at_peak += is.at_peak_bytes;
	}
	return live;
}

/* Ends and begins again every 50 events: as if it had been one thread all along. */
T_TEST(folding_changes_nothing)
{
	static struct rm m;
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, false);
	uint32_t chunks = 0;
	unsigned wrong = 0, cells = 0;
	int64_t at_peak, live = 0;

	rm_reset(&m, 5);
	for (unsigned i = 0; i < 60000; i++) {
		some_event(&m, t, heap, &seed);
		if (i % 50 != 49)
			continue;
		threads_detach(&rh, t);
		t = threads_attach(&rh, false);
		m.recent[0] = m.recent[1] = 0; /* another thread's blocks by now */
		if (i == 9999)
			chunks = chunks_of(REC_CHUNK_CELL) + chunks_of(REC_CHUNK_THREAD);
	}
	threads_detach(&rh, t);
	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is;

		cells += rm_read(i, &is);
		wrong += rm_counters_differ(&is, &m.sites[i]);
	}
	live = live_in_cells(32, &at_peak);
	T_EQ(wrong, 0);
	T_EQ(cells, 0);
	T_EQ(live, m.live);
	T_EQ(rh.head->live_bytes, m.live);
	T_CHECK(m.peak - rh.head->peak_bytes <= STEP_FLUSH_BYTES);
	T_CHECK(rh.head->peak_bytes <= m.peak);
	T_CHECK(at_peak - rh.head->peak_bytes <= STEP_FLUSH_BYTES);
	T_CHECK(rh.head->peak_bytes - at_peak <= STEP_FLUSH_BYTES);
	/* nothing is left behind by 1,200 threads */
	T_EQ(chunks_of(REC_CHUNK_CELL) + chunks_of(REC_CHUNK_THREAD), chunks);
	T_EQ(rh.head->threads_seen, 1201);
	T_EQ(rh.head->threads_ended, 1201);
	T_EQ(rh_lost(), 0);
	T_EQ(rm_mixed, 0);
}

/* 1,009 threads leave 2 KiB each, other threads free it: none of them ever flushes on its
 * own. */
T_TEST(peak_of_many_short_threads)
{
	static struct rm m;
	int64_t at_peak;

	threads_detach(&rh, rh_start(REC_MODE_EXACT, 32 << 20, 0, false));
	rm_reset(&m, 2);
	for (unsigned i = 0; i < 2 * 1009; i++) {
		struct thread *t = threads_attach(&rh, false);
		uintptr_t addr = heap + i % 1009 * 2064;

		if (i < 1009)
			rm_at(t, RM_ALLOC, addr, 2053, 2 << 16 | i % 4);
		else
			record_free(&rh, t, addr);
		threads_detach(&rh, t);
	}
	T_EQ(rh.head->live_bytes, 0);
	T_EQ(live_in_cells(4, &at_peak), 0);
	T_CHECK(rh.head->peak_bytes <= 1009 * 2053);
	T_CHECK(rh.head->peak_bytes >= 1009 * 2053 - STEP_FLUSH_BYTES);
	T_CHECK(at_peak >= 1009 * 2053 - 2 * STEP_FLUSH_BYTES);
	for (unsigned i = 0; i < 4; i++) {
		struct rm_site is;

		rm_read(i, &is);
		T_CHECK(is.peak_bytes >= 252 * 2053 - STEP_FLUSH_BYTES);
	}
}

/* What each site held at the peak survives the end of the thread that was alone then. */
T_TEST(peak_survives_the_fold)
{
	static struct rm m;
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	unsigned wrong = 0;

	rm_reset(&m, 5);
	for (unsigned i = 0; i < 20000; i++)
		some_event(&m, t, heap, &seed);
	for (unsigned i = 0; i < RM_BLOCKS; i += 2)
		if (m.blocks[i].addr != 0)
			rm_free(&m, t, m.blocks[i].addr);
	threads_detach(&rh, t);
	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is;

		rm_read(i, &is);
		wrong += rm_counters_differ(&is, &m.sites[i]);
		wrong += is.at_peak_bytes != m.sites[i].at_peak_bytes;
		wrong += is.at_peak_blocks != m.sites[i].at_peak_blocks;
		wrong += is.peak_bytes != m.sites[i].peak_bytes;
	}
	T_EQ(wrong, 0);
	T_EQ(rh.head->peak_bytes, m.peak);
}

/* The first thread ends without having noticed that there is another: what it holds still
 * counts towards the next peak. */
T_TEST(ends_while_alone)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	int64_t at_peak;
	static struct rm m;

	rm_reset(&m, 2);
	rm_at(t, RM_ALLOC, heap, 1000003, 2 << 16);
	rh_single = 0;
	threads_detach(&rh, t);
	T_EQ(rh.head->live_bytes, 1000003);
	t = threads_attach(&rh, false);
	rm_at(t, RM_ALLOC, heap + (1 << 20), 50021, 2 << 16 | 1);
	T_EQ(rh.head->peak_bytes, 1050024);
	record_free(&rh, t, heap);
	record_free(&rh, t, heap + (1 << 20));
	threads_detach(&rh, t);
	T_EQ(rh.head->live_bytes, 0);
	T_EQ(live_in_cells(4, &at_peak), 0);
	T_EQ(at_peak, 1050024);
}

/* More sites than a thread's first table of cells has room for. The first thread's cells
 * are inside of the sites, the second one has a cell for each outside. */
T_TEST(many_sites)
{
	struct thread *first = rh_start(REC_MODE_EXACT, 64 << 20, 0, false), *t;
	static struct rm m;
	unsigned wrong = 0;

	rm_reset(&m, 11);
	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < 2048; i++)
			rm_at(first, RM_ALLOC, heap + (round * 2048 + i) * 16, 17 + i,
			      11 << 16 | (i * 1009 + round) % 2048);
	T_EQ(first->cell_count, 0);
	T_EQ(chunks_of(REC_CHUNK_CELL), 0);
	T_EQ(chunks_of(REC_CHUNK_HIST), 0);
	T_EQ(chunks_of(REC_CHUNK_SITE), 7); /* 341 sites in each */
	t = threads_attach(&rh, false);
	for (unsigned i = 0; i < 2048; i++)
		rm_at(t, RM_ALLOC, heap + (3 * 2048 + i) * 16, 17 + i, 11 << 16 | i);
	T_EQ(t->cell_count, 2048);
	T_CHECK(t->cell_mask >= 2047);
	for (unsigned i = 0; i < 2048; i++) {
		struct rm_site is;

		wrong += rm_read(i, &is) != 2;
		wrong += is.allocs != 4;
	}
	T_EQ(wrong, 0);
	T_EQ(rm_mixed, 0);
	/* The one used last is found at the first slot looked at, and none is lost by
	 * that. */
	for (unsigned i = 0; i < 2 * 2048; i++) {
		uint32_t ref = rm_refs[i * 7 % 2048];
		const struct rec_cell *c = cells_get(&rh, t, ref);

		wrong += c == NULL || c->site != ref;
		wrong += t->cell_slots[cells_slot(t->cell_mask, ref)] >> 32 != ref;
	}
	T_EQ(wrong, 0);
	T_EQ(t->cell_count, 2048);
	threads_detach(&rh, t);
	threads_detach(&rh, first);
	for (unsigned i = 0; i < 2048; i++) {
		struct rm_site is;

		wrong += rm_read(i, &is) != 0;
		wrong += is.allocs != 4;
	}
	T_EQ(wrong, 0);
	T_EQ(chunks_of(REC_CHUNK_HIST), 0); /* the sums are few blocks too */
}

/* A cell has a histogram from its 17th allocation or free on, and lists what came before;
 * with or without one, and in the sums of threads that ended, every block is counted by
 * size and age. */
T_TEST(histogram_when_needed)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	const struct rec_site *s;
	static struct rm m;
	struct rm_site is;

	rm_reset(&m, 2);
	for (unsigned i = 0; i < 16; i++)
		rm_alloc(&m, t, heap + i * 16, UINT64_C(1) << i, 1);
	s = rec_at(&rh, rm_refs[1]);
	T_EQ(s->cells, rm_refs[1]);
	T_EQ(s->own.hist, 0);
	T_EQ(rm_read(1, &is), 1);
	T_EQ(rm_counters_differ(&is, &m.sites[1]), 0);
	rm_alloc(&m, t, heap + 16 * 16, 7, 1);
	T_CHECK(s->own.hist != 0);
	rm_read(1, &is);
	T_EQ(rm_counters_differ(&is, &m.sites[1]), 0);

	/* 20 blocks of another thread, freed by this one */
	for (unsigned i = 0; i < 20; i++) {
		struct thread *other = threads_attach(&rh, false);

		rh_single = 0;
		rm_alloc(&m, other, heap + (32 + i) * 16, 100, 2);
		m.recent[0] = m.recent[1] = 0;
		threads_detach(&rh, other);
		rm_read(2, &is);
		T_EQ(rm_counters_differ(&is, &m.sites[2]), 0);
		s = rec_at(&rh, rm_refs[2]);
		T_EQ(((struct rec_cell *)rec_at(&rh, s->ended))->hist != 0, i >= 16);
	}
	for (unsigned i = 0; i < 20; i++) {
		rm_tick(&m, UINT64_C(1) << i);
		rm_free(&m, t, heap + (32 + i) * 16);
		T_EQ(s->own.hist != 0, i >= 16);
		T_EQ(rm_read(2, &is), 1);
		T_EQ(rm_counters_differ(&is, &m.sites[2]), 0);
	}
	threads_detach(&rh, t);
	T_EQ(rm_read(2, &is), 0);
	T_EQ(rm_counters_differ(&is, &m.sites[2]), 0);
	rm_read(1, &is);
	T_EQ(rm_counters_differ(&is, &m.sites[1]), 0);
}

/* No room for the sums: the cells stay as they are, and are counted all the same. */
T_TEST(no_room_to_fold)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 2 << 20, 0, false);
	static struct rm m;
	uint64_t allocs = 0, before;

	rm_reset(&m, 11);
	for (unsigned i = 0; i < 40000; i++)
		rm_at(t, RM_ALLOC, heap + i * 48, 13, 11 << 16 | i % 2048);
	T_CHECK((rh.head->flags & REC_FLAG_FULL) != 0);
	T_CHECK(rh.head->lost[REC_LOST_SPACE] > 1000);
	before = 40000 - rh.head->lost[REC_LOST_SPACE];
	threads_detach(&rh, t);
	for (uint32_t index = rh.head->chunk_lists[REC_CHUNK_SITE]; index != 0;) {
		const struct rec_chunk *c =
			(const void *)(rh.base + REC_CHUNKS_OFF +
				       (uint64_t)(index - 1) * REC_CHUNK_BYTES);
		const struct rec_site *s = (const void *)(c + 1);

		for (; (const char *)(s + 1) <= (const char *)c + REC_CHUNK_BYTES; s++) {
			struct rm_site is;

			if (s->node == 0)
				continue;
			rm_refs[0] = rec_ref(&rh, s);
			rm_read(0, &is);
			allocs += is.allocs;
		}
		index = c->next;
	}
	T_EQ(allocs, before);
}

/* ---- at once ---- */

struct worker {
	pthread_t pthread;
	unsigned number;
	struct rm m;
};

static struct worker workers[THREADS];
static pthread_barrier_t barrier;

static uintptr_t
base_of(unsigned number)
{
	return heap + number * 16 * 521; /* pages at the borders are shared */
}

static void *
work(void *arg)
{
	struct worker *w = arg, *next = &workers[(w->number + 1) % THREADS];
	struct thread *t = threads_attach(&rh, false);
	uint64_t random = 104729 + w->number;

	for (unsigned i = 0; i < 12000; i++) {
		some_event(&w->m, t, base_of(w->number), &random);
		if (i % 1500 == 1499) { /* a new thread each time */
			threads_detach(&rh, t);
			t = threads_attach(&rh, false);
			w->m.recent[0] = w->m.recent[1] = 0;
		}
	}
	w->m.recent[0] = w->m.recent[1] = 0;
	pthread_barrier_wait(&barrier);
	/* the neighbour's blocks, every third one is left */
	for (unsigned i = 0; i < RM_BLOCKS; i++)
		if (next->m.blocks[i].addr != 0 && next->m.blocks[i].addr / 16 % 3 != 0)
			rm_free(&next->m, t, next->m.blocks[i].addr);
	threads_detach(&rh, t);
	return NULL;
}

static void
check_sums(void)
{
	unsigned wrong = 0, cells = 0;

	for (unsigned i = 0; i < 32; i++) {
		struct rm_site is, sum = {0};

		for (unsigned k = 0; k < THREADS; k++) {
			const struct rm_site *s = &workers[k].m.sites[i];

			sum.allocs += s->allocs;
			sum.frees += s->frees;
			sum.alloc_bytes += s->alloc_bytes;
			sum.free_bytes += s->free_bytes;
			sum.temp_bytes += s->temp_bytes;
			for (unsigned b = 0; b < REC_SIZE_BUCKETS; b++)
				sum.sizes[b] += s->sizes[b];
			for (unsigned b = 0; b < REC_LIFE_BUCKETS + 1; b++)
				sum.lifetimes[b] += s->lifetimes[b];
		}
		cells += rm_read(i, &is);
		wrong += rm_counters_differ(&is, &sum);
	}
	T_EQ(wrong, 0);
	T_EQ(cells, 0);
}

T_TEST(threads_at_once)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, false);
	int64_t live = 0, at_peak, off;

	rm_reset(&workers[0].m, 5);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (unsigned i = 0; i < THREADS; i++) {
		memset(&workers[i], 0, sizeof workers[i]);
		workers[i].number = i;
		workers[i].m.depth = 5;
		pthread_create(&workers[i].pthread, NULL, work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].pthread, NULL);
	pthread_barrier_destroy(&barrier);
	check_sums();
	for (unsigned i = 0; i < THREADS; i++) {
		live += workers[i].m.live;
		T_EQ(workers[i].m.unknown, 0);
	}
	T_EQ(live_in_cells(32, &at_peak), live);
	T_EQ(rh.head->live_bytes, live);
	T_CHECK(live > 1000);
	off = at_peak - rh.head->peak_bytes;
	printf("    peak %ld, sites at the peak %+ld\n", (long)rh.head->peak_bytes,
	       (long)off);
	T_CHECK(off <= THREADS * 2 * STEP_FLUSH_BYTES);
	T_CHECK(off >= -THREADS * 2 * STEP_FLUSH_BYTES);
	T_EQ(rh.head->frees_unknown, 0);
	T_EQ(rh.head->frees_unseen, 0);
	T_EQ(rh.head->threads_seen, 1 + THREADS * 9);
	T_EQ(rh.head->threads_ended, THREADS * 9);
	T_EQ(rh_lost(), 0);
	T_EQ(rm_mixed, 0);
	threads_detach(&rh, t);
}

T_MAIN()
