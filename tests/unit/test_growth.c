/* SPDX-License-Identifier: MIT */
/* test_growth.c -- growth judged: series worked out by hand, first alone, then as places of
 * a profile, then in words. */
#include "t.h"

#include <math.h>

#include "analyze/diff.h"
#include "analyze/growth.h"
#include "analyze/growth_places.h"
#include "render/growth_text.h"
#include "render/report.h"
#include "t_prof.h"
#include "util/buf.h"

#define NEAR(a, b) T_CHECK(fabs((a) - (double)(b)) <= 1e-6 * (fabs((double)(b)) + 1))

/* ---- series ---- */

/* A look every second; `steps[i]` is by how many bytes it grew since the one before, in blocks of
 * ten. */
static struct growth_verdict
judge_steps(const int *steps, unsigned n, int64_t frees)
{
	struct growth g;
	struct growth_point x = {.ms = 1000, .bytes = 70, .allocs = 7};
	struct growth_verdict v;

	growth_begin(&g, 0);
	growth_add(&g, &x);
	for (unsigned i = 0; i < n; i++) {
		x.ms += 1000;
		x.bytes += steps[i];
		if (steps[i] > 0)
			x.allocs += steps[i] / 10;
		else
			x.frees -= steps[i] / 10;
		if (i == n - 1) { /* of blocks that came in between */
			x.allocs += frees;
			x.frees += frees;
		}
		growth_add(&g, &x);
	}
	v = growth_judge(&g);
	growth_done(&g);
	return v;
}

#define JUDGE(frees, ...)                                                                \
	judge_steps((const int[]){__VA_ARGS__},                                          \
		    sizeof((const int[]){__VA_ARGS__}) / sizeof(int), (frees))

T_TEST(leak)
{
	struct growth_verdict v =
		JUDGE(0, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30);

	T_EQ(v.word, GROWTH_LEAK);
	T_EQ(v.why, GROWTH_WHY_NONE);
	NEAR(v.slope, 30);
	NEAR(v.error, 0);
	T_EQ(v.grew, 12);
	T_EQ(v.intervals, 12);
	T_EQ(v.samples, 36);
	T_EQ(v.allocs, 43);
	T_EQ(v.frees, 0);
	T_EQ(v.bytes, 430);
	T_EQ(v.from_ms, 1000);
	T_EQ(v.ms, 12000);
	T_EQ(v.more_ms, 0);
}

T_TEST(nine_intervals_of_ten)
{
	struct growth_verdict v;

	T_EQ(JUDGE(0, 30, 30, 0, 30, 30, 30, 30, 30, 30, 30, 30, 30).word, GROWTH_LEAK);
	T_EQ(JUDGE(0, 30, 30, 0, 30, 30, 30, 30, 30, 30, 30).word, GROWTH_LEAK);
	v = JUDGE(0, 30, 30, 0, 30, 30, 30, 0, 30, 30, 30);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_UNEVEN);
	T_EQ(v.grew, 8);
	/* 24 blocks in 10 s: 40 would be there after 16.67 s */
	T_EQ(v.more_ms, 6666);
	v = JUDGE(0, 30, 30, 0, 30, 30, 30, 0, 30, 30, 30, 30, 30);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.grew, 10);
	T_EQ(v.intervals, 12);
}

T_TEST(one_block_in_twenty)
{
	/* 7 + 10 x 3 blocks stay; 1 of 38 freed, then 2 of 39, then 2 of 40 */
	T_EQ(JUDGE(1, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30).word, GROWTH_LEAK);
	T_EQ(JUDGE(2, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30).word, GROWTH_GROWING);
	T_EQ(JUDGE(2, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30).why, GROWTH_WHY_FREED);
	T_EQ(JUDGE(2, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30).more_ms, 10000);
	T_EQ(JUDGE(2, 40, 40, 30, 30, 30, 30, 30, 30, 30, 30).word, GROWTH_LEAK);
}

T_TEST(ten_samples)
{
	struct growth_verdict v = JUDGE(0, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10);

	T_EQ(v.word, GROWTH_LEAK);
	T_EQ(v.samples, 10);
	v = JUDGE(0, 10, 10, 0, 10, 10, 10, 10, 10, 10, 10);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_FEW);
	T_EQ(v.samples, 9);
	T_EQ(v.grew, 9);
}

T_TEST(ten_intervals)
{
	struct growth_verdict v = JUDGE(0, 30, 30, 30, 30, 30, 30, 30, 30, 30);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_SHORT);
	T_EQ(v.more_ms, 1000);
	T_EQ(JUDGE(0, 30).word, GROWTH_UNKNOWN);
	T_EQ(JUDGE(0, 0, 0, 0).word, GROWTH_STEADY);
}

/* 30 looks are ten intervals: a block every third look is growth in each. */
T_TEST(looks_put_together)
{
	struct growth_verdict v =
		JUDGE(0, 0, 0, 10, 0, 0, 10, 0, 0, 10, 0, 0, 10, 0, 0, 10, 0, 0, 10, 0, 0,
		      10, 0, 0, 10, 0, 0, 10, 0, 0, 10);

	T_EQ(v.word, GROWTH_LEAK);
	T_EQ(v.intervals, 10);
	T_EQ(v.grew, 10);
	T_EQ(v.ms, 30000);
}

T_TEST(cache_that_fills)
{
	struct growth_verdict v =
		JUDGE(0, 80, 80, 80, 80, 40, 40, 40, 40, 20, 20, 20, 20);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_SLOWING);
	T_EQ(v.grew, 12);
	T_EQ(v.more_ms, 12000);
	/* exactly half is not yet slowing */
	T_EQ(JUDGE(0, 80, 80, 80, 80, 60, 60, 60, 60, 40, 40, 40, 40).word, GROWTH_LEAK);
	/* full after six tenths, and after nine: the looks in between tell */
	T_EQ(JUDGE(0, 50, 50, 50, 50, 50, 50, 0, 0, 0, 0).word, GROWTH_STEADY);
	T_EQ(JUDGE(0, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50,
		   50, 0, 0)
		     .word,
	     GROWTH_STEADY);
	/* an early end may be chance where steps without growth are usual */
	T_EQ(JUDGE(0, 50, 0, 50, 0, 50, 0, 50, 0, 50, 0, 50, 0, 50, 0, 50, 0, 50, 50, 0,
		   0)
		     .word,
	     GROWTH_LEAK);
}

/* Uneven steps say how far off a third may be: 90 against 30 is not enough here. */
T_TEST(chance_is_not_slowing)
{
	T_EQ(JUDGE(0, 10, 70, 10, 20, 50, 10, 10, 10, 10).why, GROWTH_WHY_SHORT);
	T_EQ(JUDGE(0, 10, 100, 10, 10, 20, 60, 10, 20, 10, 10, 10, 20).word, GROWTH_LEAK);
}

T_TEST(start_phase)
{
	struct growth_verdict v =
		JUDGE(0, 9000, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20, 20,
		      20, 20, 20, 20, 20, 20, 20, 20);

	T_EQ(v.word, GROWTH_LEAK);
	T_EQ(v.from_ms, 9000);
	T_EQ(v.ms, 16000);
	NEAR(v.slope, 20);
	/* nothing but the start phase */
	T_EQ(JUDGE(0, 90, 90, 90, 90, 90, 90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		   0, 0, 0)
		     .word,
	     GROWTH_STEADY);
	/* the leak begins with the work, after eight of 24 */
	T_EQ(JUDGE(0, 0, 0, 0, 0, 0, 0, 0, 0, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
		   30, 30, 30, 30, 30)
		     .word,
	     GROWTH_LEAK);
	/* and a fill gets no second chance */
	T_EQ(JUDGE(0, 90, 90, 80, 80, 70, 70, 60, 60, 50, 50, 50, 50, 40, 40, 40, 40, 30,
		   30, 30, 30, 20, 20, 20, 20)
		     .why,
	     GROWTH_WHY_SLOWING);
}

T_TEST(what_comes_and_goes)
{
	/* a job every four looks */
	T_EQ(JUDGE(0, 50, 50, 50, -150, 50, 50, 50, -150, 50, 50, 50, -150, 50, 50, 50)
		     .word,
	     GROWTH_STEADY);
	/* a fifth up and down */
	T_EQ(JUDGE(0, 10, -20, 20, 0, -10, 20, -10, -10, 20, -20, 10, 0).word,
	     GROWTH_STEADY);
	/* and a fifth up and down while it grows all the same */
	T_EQ(JUDGE(0, 60, -20, 50, 40, -30, 60, 60, -20, 50, 40, -30, 60, 50, -10, 60)
		     .word,
	     GROWTH_GROWING);
	/* all gone */
	T_EQ(JUDGE(0, 50, 50, 50, 50, 50, 50, 50, 50, 50, 50, -570).word, GROWTH_OK);
}

/* A text that realloc makes longer has one block all the time. */
T_TEST(one_block_grows)
{
	struct growth_verdict v;
	struct growth g;

	growth_begin(&g, 0);
	for (int64_t i = 1; i <= 13; i++)
		growth_add(&g, &(struct growth_point){.ms = 100 * (uint64_t)i,
						      .bytes = 101 * i,
						      .allocs = 5 * i,
						      .frees = 5 * i - 1});
	v = growth_judge(&g);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_FREED);
	NEAR(v.slope, 1010);
	growth_done(&g);
}

/* Three samples of one in 32 KiB in each of twelve intervals of five seconds. */
T_TEST(sampled_error)
{
	struct growth_verdict v;
	struct growth g;

	growth_begin(&g, 32768.0 * 32768.0);
	for (int64_t i = 0; i <= 12; i++)
		growth_add(&g, &(struct growth_point){.ms = 5000 * (uint64_t)(i + 1),
						      .bytes = 32768 * 3 * i,
						      .allocs = 3 * i});
	v = growth_judge(&g);
	T_EQ(v.word, GROWTH_LEAK);
	NEAR(v.slope, 32768 * 3 / 5.0);
	NEAR(v.error, 6 * 32768 / 60.0); /* of 36 samples, in 60 s */
	growth_done(&g);
	NEAR(growth_limit(32768, 60000), 13 * 32768 / 60.0);
	NEAR(growth_limit(0, 60000), 0);
	NEAR(growth_limit(32768, 0), 0);
}

T_TEST(begin_and_order)
{
	struct growth g;

	growth_begin(&g, 0);
	T_EQ(growth_judge(&g).word, GROWTH_UNKNOWN);
	growth_add(&g, &(struct growth_point){.ms = 50});
	growth_add(&g, &(struct growth_point){.ms = 50, .bytes = 9});
	growth_add(&g, &(struct growth_point){.ms = 40, .bytes = 9});
	T_EQ(g.points.len, 1);
	/* looks before the first block do not count as intervals without growth */
	for (int64_t i = 1; i <= 30; i++)
		growth_add(&g, &(struct growth_point){.ms = 50 + 50 * (uint64_t)i,
						      .bytes = i > 18 ? (i - 18) * 8 : 0,
						      .allocs = i > 18 ? i - 18 : 0});
	T_EQ(growth_judge(&g).word, GROWTH_LEAK);
	T_EQ(growth_judge(&g).from_ms, 50 + 50 * 18);
	T_EQ(growth_judge(&g).intervals, 12);
	growth_done(&g);
	growth_done(&(struct growth){0});
}

/* ---- places ---- */

static void
look(struct prof *p, uint32_t process, uint64_t ms)
{
	uint32_t row = prof_add_look(p);

	p->looks[row] =
		(struct prof_look){.process = process, .rows = p->nlook_rows, .ms = ms};
}

static void
look_row(struct prof *p, uint32_t site, int64_t allocs, int64_t bytes, int64_t frees,
	 int64_t freed)
{
	uint32_t row = prof_add_look_row(p);

	p->look_rows[row] = (struct prof_look_row){.site = site,
						   .allocs = allocs,
						   .alloc_bytes = bytes,
						   .frees = frees,
						   .free_bytes = freed};
	p->looks[p->nlooks - 1].nrows++;
}

static void
born(struct prof *p, uint32_t site, uint32_t ms, uint64_t bytes)
{
	uint32_t row = prof_add_block(p);

	p->blocks[row] = (struct prof_block){.site = site,
					     .ms = ms,
					     .bytes = bytes,
					     .process = p->sites[site].process};
}

static void
judge_places(const struct prof *p, struct growth_places *g, struct sites *ss)
{
	struct skip *s = skip_new(p, NULL);
	struct sites_query q = {0};

	sites_init(ss, p, s, &q);
	growth_places_init(g, p, ss);
	skip_free(s);
}

/* Two processes: in one a place leaks and one is steady, in the other the first leaks faster. */
T_TEST(places_of_two_processes)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 13000), b = tp_process(p, "b", 13, 6500);
	uint32_t node = TP_STACK(p, "leak x.c:3 x", "main x.c:9 x");
	struct growth_places g;
	struct sites ss;

	tp_site(p, a, node, 26, 0, 2600, 0);
	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50000, 0);
	tp_site(p, b, node, 39, 0, 3900, 0);
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, a, 1000 * i);
		look_row(p, 1, 2, 200, 0, 0);
		if (i == 1)
			look_row(p, 2, 5, 50000, 0, 0);
	}
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, b, 500 * i);
		look_row(p, 3, 3, 300, 0, 0);
	}
	born(p, 1, 40, 100);
	born(p, 3, 50, 100);
	judge_places(p, &g, &ss);
	T_EQ(g.word, GROWTH_LEAK);
	T_EQ(g.count[GROWTH_LEAK], 1);
	T_EQ(g.count[GROWTH_STEADY], 1);
	T_EQ(g.nranked, 1);
	T_EQ(g.ranked[0], 1); /* the smaller place */
	T_EQ(g.rows[1].processes, 2);
	T_EQ(g.rows[1].process, b); /* grows faster there */
	NEAR(g.rows[1].slope, 200 + 600);
	NEAR(g.slope, 800);
	T_EQ(g.rows[1].v.intervals, 12);
	T_EQ(g.rows[1].v.samples, 36);
	T_EQ(g.rows[1].v.oldest_ms, 6450);
	T_EQ(g.rows[0].v.word, GROWTH_STEADY);
	T_EQ(g.ms, 12000);
	T_EQ(g.intervals, 12);
	T_EQ(g.rate_bytes, 0);
	T_CHECK(growth_places_judged(&g));
	growth_places_done(&g);
	sites_done(&ss);
	prof_free(p);
}

/* Rows of looks that name a site of another process, or two looks that share rows: neither counts
 * twice. */
T_TEST(places_of_bent_looks)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 3000), b = tp_process(p, "b", 13, 3000);
	struct growth_places g;
	struct sites ss;

	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50, 0);
	look(p, b, 1000);
	look_row(p, 1, 5, 50, 0, 0);
	look(p, a, 1000);
	look_row(p, 1, 5, 50, 0, 0);
	look(p, a, 2000);
	p->looks[2].rows = 1;
	p->looks[2].nrows = 1;
	judge_places(p, &g, &ss);
	T_EQ(g.rows[0].v.word, GROWTH_STEADY);
	NEAR(g.rows[0].slope, 0);
	growth_places_done(&g);
	sites_done(&ss);
	prof_free(p);
}

/* Without looks the births of what lives say it, if there was time enough. */
T_TEST(births)
{
	for (unsigned ms = 2000; ms <= 4000; ms += 2000) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, ms);
		struct growth_places g;
		struct sites ss;

		tp_site(p, a, TP_STACK(p, "leak x.c:3 x", "main x.c:9 x"), 40, 0, 4000,
			0);
		tp_site(p, a, TP_STACK(p, "start x.c:4 x", "main x.c:9 x"), 40, 0, 5000,
			0);
		tp_site(p, a, TP_STACK(p, "turns x.c:5 x", "main x.c:9 x"), 400, 360,
			40000, 36000);
		for (uint32_t i = 0; i < 40; i++) {
			born(p, 1, i * ms / 40 + 5, 100);
			born(p, 2, i, 125);
			born(p, 3, i * ms / 40 + 5, 100);
		}
		judge_places(p, &g, &ss);
		T_EQ(g.count[GROWTH_LEAK], ms == 4000);
		T_EQ(g.count[GROWTH_UNKNOWN], ms == 4000 ? 2 : 3);
		if (ms == 4000) {
			T_EQ(p->sites[1].node, ss.rows[g.ranked[0]].node);
			NEAR(g.slope, 1000);
			T_EQ(g.rows[g.ranked[0]].v.oldest_ms, 3995);
		}
		T_CHECK(!growth_places_judged(&g));
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Five of six blocks are freed at once, every sixth never: it is the old ones that leak. If one
 * in ten of those that got old is freed, it is none. */
T_TEST(rare_path)
{
	for (unsigned freed_old = 0; freed_old <= 5; freed_old += 5) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 4100);
		struct growth_places g;
		struct prof_site *s;
		struct sites ss;

		s = tp_site(p, a, TP_STACK(p, "leak x.c:3 x", "main x.c:9 x"), 246, 205,
			    24600, 20500);
		s->lifetimes[0] = 205 - freed_old;
		s->lifetimes[11] = freed_old; /* 1 s and older */
		for (uint32_t i = 0; i < 41; i++) {
			look(p, a, 100 * i + 50);
			look_row(p, 1, 6, 600, 5, 500);
			born(p, 1, 100 * i + 20, 100);
		}
		judge_places(p, &g, &ss);
		T_EQ(g.rows[0].v.word, freed_old == 0 ? GROWTH_LEAK : GROWTH_GROWING);
		T_EQ(g.rows[0].v.mature_ms, freed_old == 0 ? 1 : 0);
		T_EQ(g.rows[0].v.frees, freed_old == 0 ? 0 : 205);
		T_EQ(lround(g.rows[0].slope / 10),
		     100); /* the end is off by half a look */
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

T_TEST(held)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 12500);
	struct growth_places g;
	struct prof_site *s;
	struct sites ss;

	s = tp_site(p, a, TP_STACK(p, "hold x.c:3 x", "main x.c:9 x"), 24, 24, 2400,
		    2400);
	s->at_exit_blocks = 24;
	s->at_exit_bytes = 2400;
	p->processes[a].exit_ms = 12400;
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, a, 1000 * i);
		look_row(p, 1, 2, 200, 0, 0);
	}
	judge_places(p, &g, &ss);
	T_EQ(g.word, GROWTH_HELD);
	T_EQ(g.nranked, 0);
	growth_places_done(&g);
	sites_done(&ss);
	/* one byte in twenty left is still held, more is a leak */
	p->sites[1].live_bytes = 119;
	judge_places(p, &g, &ss);
	T_EQ(g.word, GROWTH_HELD);
	growth_places_done(&g);
	sites_done(&ss);
	p->sites[1].live_bytes = 121;
	judge_places(p, &g, &ss);
	T_EQ(g.word, GROWTH_LEAK);
	growth_places_done(&g);
	sites_done(&ss);
	prof_free(p);
}

/* Three places that all grew by 24 blocks from one recording to the next and freed none. While the
 * second ran, one grew all the time, one was full early on, and one was not looked at. */
T_TEST(marks_of_a_diff)
{
	static const char *const marks[] = {"LEAK likely", "", "GROWING"};
	struct prof *p[2];
	struct skip *s[2];
	struct diff_query q = {0};
	struct diff d;

	for (unsigned side = 0; side < 2; side++) {
		uint32_t a, b;

		p[side] = prof_new();
		a = tp_process(p[side], "a", 11, 13000);
		b = tp_process(p[side], "b", 13, 13000);
		tp_site(p[side], a, TP_STACK(p[side], "leak x.c:3 x", "main x.c:9 x"),
			2 + 24 * side, 0, 300 * (2 + 24 * side), 0);
		tp_site(p[side], a, TP_STACK(p[side], "fill x.c:4 x", "main x.c:9 x"),
			2 + 24 * side, 0, 200 * (2 + 24 * side), 0);
		tp_site(p[side], b, TP_STACK(p[side], "other x.c:5 x", "main x.c:9 x"),
			2 + 24 * side, 0, 100 * (2 + 24 * side), 0);
	}
	for (uint64_t i = 1; i <= 12; i++) {
		look(p[1], 1, 1000 * i);
		look_row(p[1], 1, 2, 600, 0, 0);
		if (i <= 4)
			look_row(p[1], 2, i == 1 ? 8 : 6, i == 1 ? 1600 : 1200, 0, 0);
	}
	for (unsigned side = 0; side < 2; side++)
		q.side[side].skip = s[side] = skip_new(p[side], NULL);
	diff_init(&d, p[0], p[1], &q);
	T_EQ(d.nplaces, 3);
	for (unsigned i = 0; i < 3; i++)
		T_STR(diff_mark_name(d.places[i].mark), marks[i]);
	T_EQ(d.places[0].growth, GROWTH_LEAK);
	T_EQ(d.places[1].growth, GROWTH_STEADY);
	T_EQ(d.places[2].growth, GROWTH_UNKNOWN);
	diff_done(&d);
	for (unsigned side = 0; side < 2; side++) {
		skip_free(s[side]);
		prof_free(p[side]);
	}
}

/* ---- reports ---- */

static struct prof *
leaking(enum prof_end end)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "/opt/a", 11, 13000);

	p->processes[a].end = end;
	p->processes[a].status = end == PROF_END_SIGNAL ? 15 : 0;
	if (end != PROF_END_EXITED)
		p->processes[a].exit_ms = 0;
	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50000, 0);
	tp_site(p, a, TP_STACK(p, "leak x.c:3 x", "main x.c:9 x"), 26, 0, 26624, 0);
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, a, 1000 * i);
		look_row(p, 2, 2, 2048, 0, 0);
		if (i == 1)
			look_row(p, 1, 5, 50000, 0, 0);
	}
	born(p, 2, 500, 1024);
	return p;
}

/* The first lines of a report, up to the one that says how the process ended. */
static void
expect_report(const struct prof *p, const struct report_opts *o, const char *lines)
{
	struct buf b = {0};

	report_text(&b, p, o);
	buf_add_char(&b, '\0');
	if (strncmp(b.data, lines, strlen(lines)) != 0)
		T_STR(b.data, lines);
	buf_done(&b);
}

T_TEST(text_reports)
{
	struct prof *p = leaking(PROF_END_EXITED);
	struct report_opts o = {.rows = 1};

	expect_report(
		p, &o,
		"LEAK likely  1 site: +120 KiB/min\n"
		"a leak of fewer than 10 blocks would not show in 12 s\n"
		" 1  +120 KiB/min   LEAK likely\n"
		"    24 blocks, none freed, grew in 12 of 12 intervals, oldest 12.5 s\n"
		"    leak   x.c:3\n"
		"    main   x.c:9\n"
		"live, largest first:\n"
		" 1  48.8 KiB  65 %   5 blocks, 0 freed\n"
		"    keep   x.c:5\n"
		"    main   x.c:9\n"
		"    1 more site, 26.0 KiB (--all)\n"
		"exited 0 after 13 s");
	prof_free(p);
	p = leaking(PROF_END_SIGNAL);
	expect_report(
		p, &o,
		"KILLED  by SIGTERM: 74.8 KiB in 31 blocks live, 65 % from keep x.c:5\n"
		"LEAK likely  1 site: +120 KiB/min\n"
		"a leak of fewer than 10 blocks would not show in 12 s\n"
		" 1  +120 KiB/min   LEAK likely\n"
		"    24 blocks, none freed, grew in 12 of 12 intervals, oldest 12.5 s\n"
		"    leak   x.c:3\n"
		"    main   x.c:9\n"
		"live, largest first:\n"
		" 1  48.8 KiB");
	/* the same without the leak */
	p->nsites = 2;
	p->nblocks = 0;
	expect_report(p, &o,
		      "KILLED  by SIGTERM: 48.8 KiB in 5 blocks live, 100 % from keep "
		      "x.c:5\n"
		      " 1  48.8 KiB  100 %   5 blocks, 0 freed\n"
		      "    keep   x.c:5\n"
		      "    main   x.c:9\n"
		      "killed by SIGTERM after 13 s");
	p->processes[1].end = PROF_END_RUNNING;
	expect_report(p, &o,
		      "STEADY  live 48.8 KiB in 5 blocks at 1 site; a leak of fewer than "
		      "10 blocks would not show in 12 s\n");
	/* and with too few looks to say anything */
	p->nlooks = 5;
	expect_report(p, &o,
		      "NO VERDICT  live 48.8 KiB in 5 blocks at 1 site; too early to "
		      "judge growth\n");
	prof_free(p);
}

/* ---- words ---- */

static const char *
evidence(const struct growth_verdict *v, bool sampled)
{
	static struct buf b;

	buf_clear(&b);
	growth_text_evidence(&b, v, sampled);
	if (v->word == GROWTH_GROWING) {
		buf_add_str(&b, "; ");
		growth_text_needs(&b, v);
	}
	return buf_str(&b);
}

T_TEST(words)
{
	struct growth_verdict v = {.word = GROWTH_LEAK,
				   .grew = 11,
				   .intervals = 12,
				   .samples = 33,
				   .allocs = 33,
				   .oldest_ms = 58000};
	struct buf b = {0};

	T_STR(evidence(&v, true),
	      "33 samples, none freed, grew in 11 of 12 intervals, oldest 58 s");
	v.frees = 1;
	v.mature_ms = 64;
	T_STR(evidence(&v, false),
	      "33 blocks, 3 % freed of those older than 0.06 s, grew in "
	      "11 of 12 intervals, oldest 58 s");
	v.word = GROWTH_GROWING;
	v.why = GROWTH_WHY_SLOWING;
	v.more_ms = 40000;
	v.mature_ms = v.oldest_ms = v.frees = 0;
	T_STR(evidence(&v, true),
	      "33 samples, none freed, grew in 11 of 12 intervals; slowing "
	      "down, as a cache that fills: needs about 40 s more");
	T_STR(growth_text_rate(1.02 * 1048576 / 60, 0.18 * 1048576 / 60, false).s,
	      "+1.02 \xc2\xb1 0.18 MiB/min");
	T_STR(growth_text_rate(1.02 * 1048576 / 60, 0.001 * 1048576 / 60, false).s,
	      "+1.02 MiB/min");
	T_STR(growth_text_rate(-1024.0 / 60, 0, false).s, "\xe2\x88\x92"
							  "1.00 KiB/min");
	T_STR(growth_text_rate(100 / 60.0, 0, true).s, "+100 bytes/min");
	growth_text_limit(&b, 32768, 60000);
	T_STR(buf_str(&b), "a leak slower than 416 KiB/min would not show in 60 s");
	buf_clear(&b);
	growth_text_limit(&b, 0, 8100);
	T_STR(buf_str(&b), "a leak of fewer than 10 blocks would not show in 8.10 s");
	buf_done(&b);
	T_STR(growth_word_name(GROWTH_LEAK), "LEAK likely");
	T_STR(growth_word_name(GROWTH_UNKNOWN), "");
}

T_MAIN()
