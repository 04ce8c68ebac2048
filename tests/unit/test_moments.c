/* SPDX-License-Identifier: MIT */
/* test_moments.c -- live bytes of every site over time, against an account kept the slow
 * way.
 *
 * Before each event the model's figures are put aside; if the event takes a moment, they
 * are what the recording must say of it, site by site, when it is read in the end. */
/* tsan */
#include "t.h"

#include "guest/record/cells.h"
#include "guest/record/inherit.h"
#include "guest/record/sample.h"
#include "tool/format/live/live_load.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/err.h"

#include "recorder_harness.h"
#include "recorder_model.h"

#define DEPTH 5
#define SITES (1u << DEPTH)

static const uintptr_t heap = UINT64_C(0x7f5500000000);
static struct rm model;
static int64_t account[REC_MOMENT_LAST + 1][SITES]; /* by number of the moment */
static uint64_t account_ms[REC_MOMENT_LAST + 1];
static unsigned taken;

static void
reset(void)
{
	memset(account, 0, sizeof account);
	taken = 0;
	rm_reset(&model, DEPTH);
}

/* What the sites of `n` models have, before an event; and after it: was it a moment? */
static void
put_aside(const struct rm *m, unsigned n, int64_t *now)
{
	memset(now, 0, SITES * sizeof *now);
	for (unsigned k = 0; k < n; k++)
		for (unsigned i = 0; i < SITES; i++)
			now[i] += (int64_t)(m[k].sites[i].alloc_bytes -
					    m[k].sites[i].free_bytes);
}

static void
note(const int64_t *now)
{
	unsigned number = rec_stamp_moment(rh.head->stamp);

	if (number == taken)
		return;
	T_EQ(number, taken + 1);
	taken = number;
	memcpy(account[taken], now, sizeof account[taken]);
	account_ms[taken] = model.now_ms;
}

static void
some_event(struct rm *m, struct thread *t, uintptr_t base, uint64_t *random)
{
	uintptr_t addr = base + rh_random(random) % 512 * 16;
	/* few events at most sites, so that many have nothing new at a moment */
	unsigned site = (unsigned)rh_random(random) % SITES & (unsigned)rh_random(random);
	uint64_t bytes = rh_random(random) % 307;

	if (rm_block(m, addr) == NULL)
		rm_alloc(m, t, addr, bytes, site);
	else if (rh_random(random) % 4 == 0)
		rm_resize(m, t, addr, addr, bytes, site);
	else
		rm_free(m, t, addr);
}

static struct prof *
read_back(void)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_EQ(live_load(rh.base, rh.bytes, true, p, &e), 0);
	T_EQ(p->ndamages, 0);
	return p;
}

/* Live bytes of a site at a moment, as the profile has it. */
static int64_t
at(const struct prof *p, unsigned site, uint32_t moment)
{
	int64_t bytes = 0;

	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct prof_step *s = &p->steps[i];

		if (p->sites[s->site].origin == rm_refs[site] && s->moment <= moment)
			bytes = s->live_bytes;
	}
	return bytes;
}

/* Number of the moment that was taken then. */
static unsigned
number_at(uint64_t ms)
{
	unsigned n = taken;

	while (n > 0 && account_ms[n] != ms)
		n--;
	return n;
}

static void
compare(const struct prof *p, int64_t live)
{
	unsigned wrong = 0, sums_wrong = 0;

	for (uint32_t i = 0; i + 1 < p->nticks; i++) {
		const int64_t *should = account[number_at(p->ticks[i].ms)];
		int64_t sum = 0;

		T_CHECK(number_at(p->ticks[i].ms) != 0);
		for (unsigned s = 0; s < SITES; s++) {
			if (rm_refs[s] != 0)
				wrong += at(p, s, i) != should[s];
			sum += should[s];
		}
		sums_wrong += p->ticks[i].live_bytes != sum;
	}
	T_EQ(wrong, 0);
	T_EQ(sums_wrong, 0);
	T_CHECK(p->nticks > 1);
	T_EQ(p->ticks[p->nticks - 1].live_bytes, live);
	T_EQ(rh_lost(), 0);
	T_EQ(rm_mixed, 0);
}

/* Events of one thread; the clock goes on by `ms` after every seventh. */
static void
run(struct thread *t, unsigned events, uint64_t ms, uint64_t *random)
{
	int64_t now[SITES];

	for (unsigned i = 0; i < events; i++) {
		if (i % 7 == 6)
			rm_tick(&model, ms);
		put_aside(&model, 1, now);
		some_event(&model, t, heap, random);
		note(now);
	}
}

T_TEST(as_the_account_says)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	uint64_t random = 15485863;
	struct prof *p;

	reset();
	run(t, 800, 11, &random);
	T_CHECK(taken > 100 && taken <= REC_MOMENTS_MAX);
	p = read_back();
	T_EQ(p->nticks, taken + 1);
	compare(p, model.live);
	prof_free(p);
}

/* The distance doubles; the first is kept, and the last is the one that was taken last
 * or the one before. Sixty times as many moments as there is room for: series are made
 * anew all the time. */
T_TEST(thinned)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	uint64_t random = 32452843, first;
	struct prof *p;

	reset();
	run(t, 1000, 10, &random);
	first = account_ms[1];
	for (unsigned doubled = 1; doubled <= 6; doubled++) {
		run(t, 7 * 64 << doubled, 10, &random);
		p = read_back();
		compare(p, model.live);
		T_CHECK(p->nticks > 64 && p->nticks <= 128);
		T_EQ(p->ticks[0].ms, first);
		for (uint32_t i = 2; i + 1 < p->nticks; i++)
			T_EQ(p->ticks[i].ms - p->ticks[i - 1].ms,
			     rh.head->moment_every_ms);
		prof_free(p);
	}
	T_CHECK(rh.head->moment_every_ms >= 320);
	/* at most 18 pieces a site, and what is being made */
	T_CHECK(rh.head->series <= SITES * 18 + 18);
	printf("    %u moments taken, %u pieces for %u sites\n", taken, rh.head->series,
	       SITES);
}

/* What one thread allocates another frees; threads end and begin, so that their cells are
 * added up. */
T_TEST(threads)
{
	static struct rm models[3];
	struct thread *t[3];
	uint64_t random = 49979687;
	int64_t now[SITES], live = 0;
	struct prof *p;

	t[0] = rh_start(REC_MODE_EXACT, 32 << 20, 0, false);
	t[1] = threads_attach(&rh, false);
	t[2] = threads_attach(&rh, false);
	reset();
	memset(models, 0, sizeof models);
	for (unsigned k = 0; k < 3; k++)
		models[k].depth = DEPTH;
	for (unsigned i = 0; i < 60000; i++) {
		unsigned k = (unsigned)rh_random(&random) % 3, of = k;

		if (i % 37 == 36) {
			rm_tick(&model, 10);
			for (unsigned m = 0; m < 3; m++)
				models[m].now_ms = model.now_ms;
		}
		if (i % 1009 == 1008) { /* no event */
			threads_detach(&rh, t[k]);
			t[k] = threads_attach(&rh, false);
			models[k].recent[0] = models[k].recent[1] = 0;
		}
		if (rh_random(&random) % 5 == 0)
			of = (k + 1) % 3;
		put_aside(models, 3, now);
		some_event(&models[of], t[k], heap + of * 512 * 16, &random);
		note(now);
		rm_mixed = 0; /* the last site is the thread's, whosever block it is */
	}
	for (unsigned k = 0; k < 3; k++)
		live += models[k].live;
	p = read_back();
	compare(p, live);
	T_CHECK(taken > 300);
	prof_free(p);
	for (unsigned k = 0; k < 3; k++)
		threads_detach(&rh, t[k]);
	p = read_back();
	compare(p, live);
	prof_free(p);
}

/* Ten thousand threads, each with a moment or without one in its life: the pieces are
 * given back. */
T_TEST(short_threads)
{
	uint64_t random = 67867967;
	int64_t now[SITES];
	struct prof *p;

	rh_start(REC_MODE_EXACT, 32 << 20, 0, false);
	reset();
	for (unsigned i = 0; i < 10000; i++) {
		struct thread *t = threads_attach(&rh, false);

		for (unsigned k = 0; k < 7; k++) {
			if (k == 3)
				rm_tick(&model, rh_random(&random) % 13);
			put_aside(&model, 1, now);
			some_event(&model, t, heap, &random);
			note(now);
		}
		model.recent[0] = model.recent[1] = 0;
		threads_detach(&rh, t);
	}
	p = read_back();
	compare(p, model.live);
	T_CHECK(taken > 300);
	T_CHECK(rh.head->series <= SITES * 2 * 18 + 18);
	prof_free(p);
}

/* ---- at once ---- */

enum { PAIRS = 4, PAIR_EVENTS = 30000, PAIR_KEPT = 500 };

/* Two sites of its own, which always get and lose a block one right after the other. */
static void *
take_pairs(void *arg)
{
	unsigned k = *(unsigned *)arg;
	uintptr_t base = heap + k * (UINT64_C(64) << 20);
	struct thread *t = threads_attach(&rh, false);

	for (unsigned i = 0; i < PAIR_EVENTS; i++) {
		for (unsigned site = 0; site < 2; site++) {
			uintptr_t at = base + (i % PAIR_KEPT * 2 + site) * 128;

			if (i >= PAIR_KEPT && i / PAIR_KEPT % 2 == 1)
				record_free(&rh, t, at);
			else
				rm_at(t, RM_ALLOC, at, 100, DEPTH << 16 | (2 * k + site));
		}
		if (i % 10000 == 9999) { /* a new thread */
			threads_detach(&rh, t);
			t = threads_attach(&rh, false);
		}
		__atomic_fetch_add(&rh.head->clock_ms, i % 16 == 0, __ATOMIC_RELAXED);
	}
	threads_detach(&rh, t);
	return NULL;
}

/* A moment is one moment in all sites of a thread: what it gave to one of a pair it has
 * given to the other, but for the call under way. */
T_TEST(threads_at_once)
{
	static unsigned numbers[PAIRS];
	pthread_t threads[PAIRS];
	struct prof *p;

	rh_start(REC_MODE_EXACT, 64 << 20, 0, false);
	reset();
	rh.head->clock_ms = 1;
	for (unsigned k = 0; k < PAIRS; k++) {
		numbers[k] = k;
		pthread_create(&threads[k], NULL, take_pairs, &numbers[k]);
	}
	for (unsigned k = 0; k < PAIRS; k++)
		pthread_join(threads[k], NULL);
	T_EQ(rh_lost(), 0);
	T_EQ(rm_mixed, 0);
	p = read_back();
	T_CHECK(p->nticks > 20);
	for (uint32_t i = 0; i < p->nticks; i++) {
		int64_t sum = 0;

		for (unsigned k = 0; k < PAIRS; k++) {
			int64_t one = at(p, 2 * k, i), other = at(p, 2 * k + 1, i);

			if (one - other > 100 || other - one > 100)
				T_FAIL("moment %u: %ld and %ld", i, (long)one,
				       (long)other);
			T_CHECK(one >= 0 && one <= PAIR_KEPT * 100);
			sum += one + other;
		}
		T_EQ(p->ticks[i].live_bytes, sum);
	}
	prof_free(p);
}

/* A site that never changes again has one row, or none; one whose blocks come and go
 * between the moments, too. */
T_TEST(no_change_no_row)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	const struct rec_site *still, *busy;
	int64_t now[SITES];
	struct prof *p;

	reset();
	for (unsigned i = 0; i < 100; i++) {
		put_aside(&model, 1, now);
		if (i == 3)
			rm_alloc(&model, t, heap, 1009, 1);
		rm_alloc(&model, t, heap + 16, 2003, 2);
		rm_free(&model, t, heap + 16);
		note(now);
		rm_tick(&model, 10);
	}
	still = rec_at(&rh, rm_refs[1]);
	busy = rec_at(&rh, rm_refs[2]);
	T_EQ(still->own.series, 0);
	T_EQ(busy->own.series, 0);
	T_EQ(rh.head->series, 0);
	p = read_back();
	compare(p, model.live);
	T_EQ(p->nsteps, 1);
	T_EQ(p->steps[0].live_bytes, 1009);
	T_EQ(p->steps[0].moment, 4); /* the one before was taken by that event */
	prof_free(p);
}

/* Series may have an eighth of the file. Behind that figures are unknown, and counted;
 * those of the last moments, and all totals, are there. */
T_TEST(no_room)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 2 << 20, 0, true);
	static struct rm m;
	unsigned unknown = 0;
	int64_t sum = 0;
	struct prof *p;

	reset();
	rm_reset(&m, 11);
	for (unsigned round = 0; round < 5; round++) {
		rm_tick(&m, 10);
		for (unsigned i = 0; i < 700; i++)
			rm_at(t, RM_ALLOC, heap + (round % 6 * 700 + i) * 48, 13,
			      11 << 16 | i);
	}
	T_EQ(rh.head->lost[REC_LOST_SPACE], 0);
	/* There are 4,096 pieces: five for a site, which has eight rows in each. */
	T_EQ(rh.head->lost[REC_LOST_MOMENT], 0);
	for (unsigned round = 5; round < 60; round++) {
		rm_tick(&m, 10);
		for (unsigned i = 0; i < 700; i++) {
			record_free(&rh, t, heap + ((round - 5) % 6 * 700 + i) * 48);
			rm_at(t, RM_ALLOC, heap + (round % 6 * 700 + i) * 48, 13 + round,
			      11 << 16 | i);
		}
	}
	T_CHECK(rh.head->lost[REC_LOST_MOMENT] > 700);
	T_CHECK(rh.head->series * sizeof(struct rec_series) <= rh.bytes / 8);
	p = read_back();
	T_EQ(p->processes[1].lost[REC_LOST_MOMENT], rh.head->lost[REC_LOST_MOMENT]);
	for (uint32_t i = 0; i < p->nsteps; i++) {
		unknown += p->steps[i].live_bytes == PROF_UNKNOWN;
		if (i + 1 == p->nsteps || p->steps[i + 1].site != p->steps[i].site)
			sum += p->steps[i].live_bytes;
	}
	T_CHECK(unknown > 0);
	T_EQ(sum, p->ticks[p->nticks - 1].live_bytes);
	T_EQ(sum, p->processes[1].live_bytes);
	for (uint32_t i = 1; i < p->nticks; i++)
		T_CHECK(p->ticks[i].live_bytes > 0);
	prof_free(p);
}

/* The same steps, and the estimates of each moment. */
T_TEST(sampled)
{
	struct thread *t = rh_start(REC_MODE_SAMPLE, 32 << 20, 1024, true);
	int64_t now[SITES] = {0};
	struct sample_weight w = sample_weigh(1009, 1024);
	struct prof *p;

	reset();
	for (unsigned i = 0; i < 90; i++) {
		now[3] = (int64_t)(i * w.bytes);
		rm_at(t, RM_ALLOC, heap + i * 1024, 1009, DEPTH << 16 | 3);
		note(now);
		rm_tick(&model, 10);
	}
	p = read_back();
	compare(p, (int64_t)(90 * w.bytes));
	T_CHECK(w.bytes > 1009);
	T_CHECK(p->nticks > 80);
	prof_free(p);
}

/* Whoever is killed in the middle of an event has what it had before, at all moments. */
T_TEST(undone)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 32 << 20, 0, true);
	uint64_t random = 86028121;
	struct rec_cell *c;
	struct prof *p;
	uint64_t stamp;

	reset();
	run(t, 700, 10, &random);
	rm_tick(&model, 10);
	put_aside(&model, 1, account[taken + 1]);
	rh.head->clock_ms = model.now_ms;
	rm_alloc(&model, t, heap + (1 << 20), 5003, 0);
	note(account[taken + 1]);
	c = &((struct rec_site *)rec_at(&rh, rm_refs[1]))->own;
	stamp = rh.head->stamp;
	T_CHECK(c->stamp != stamp);
	series_note(&rh, c, stamp, t->me); /* and the stamp stays as it was */
	p = read_back();
	compare(p, model.live);
	prof_free(p);
	rm_alloc(&model, t, heap + (2 << 20), 7001, 1);
	rm_alloc(&model, t, heap + (3 << 20), 7013, 1);
	p = read_back();
	compare(p, model.live);
	prof_free(p);
}

T_MAIN()
