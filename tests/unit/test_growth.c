/* SPDX-License-Identifier: MIT */
/* test_growth.c -- growth of one site judged, and in words: figures worked out by hand.
 * test_growth_sim.c says how often the rules are right, test_growth_places.c asks about
 * profiles. */
#include "t.h"

#include <math.h>

#include "tool/analyze/growth/growth.h"
#include "tool/render/growth_text.h"
#include "tool/util/buf.h"

#define NEAR(a, b) T_CHECK(fabs((a) - (double)(b)) <= 1e-6 * (fabs((double)(b)) + 1))

/* ---- one site ---- */

/* A site that is watched for `seconds`, a snapshot each second. In second i, counted from
 * 0, it keeps kept[i % len] blocks of 100 bytes, and frees `freed` others after 80 ms. */
struct site {
	struct growth g;
	struct growth_point at;
	int64_t freed;
};

static struct site
begin(int64_t freed)
{
	struct site s = {.freed = freed};

	growth_begin(&s.g, 0);
	return s;
}

/* 30 blocks or more come all at once. */
static void
second(struct site *s, unsigned blocks)
{
	for (unsigned k = 0; k < blocks; k++)
		growth_add_birth(
			&s->g,
			s->at.ms + (blocks >= 30 ? 500 : 500 * (2 * k + 1) / blocks),
			100);
	s->at.ms += 1000;
	s->at.bytes += 100 * blocks;
	s->at.allocs += blocks + s->freed;
	s->at.frees += s->freed;
	for (unsigned i = 0; i <= 7; i++) /* freed[7]: 64 ms and older */
		s->g.freed[i] += (uint64_t)s->freed;
	growth_add(&s->g, &s->at);
}

static struct growth_verdict
end(struct site *s)
{
	struct growth_verdict v;

	s->g.left_bytes = s->at.bytes;
	v = growth_judge(&s->g);
	growth_done(&s->g);
	return v;
}

static struct growth_verdict
judge_seconds(int64_t freed, const unsigned *kept, unsigned len, unsigned seconds)
{
	struct site s = begin(freed);

	for (unsigned i = 0; i < seconds; i++)
		second(&s, kept[i % len]);
	return end(&s);
}

#define JUDGE(freed, seconds, ...)                                                       \
	judge_seconds((freed), (const unsigned[]){__VA_ARGS__},                          \
		      sizeof((const unsigned[]){__VA_ARGS__}) / sizeof(unsigned),        \
		      (seconds))

/* One block a second stays, ten are freed after 80 ms. */
T_TEST(leak)
{
	struct growth_verdict v = JUDGE(10, 60, 1);

	T_EQ(v.word, GROWTH_LEAK);
	T_EQ(v.why, GROWTH_WHY_NONE);
	T_EQ(v.mature_ms, 128);
	T_EQ(v.mature_live, 60); /* the last one is 500 ms old */
	T_EQ(v.mature_freed, 0);
	T_EQ(v.most_ms, 128);
	T_EQ(v.samples, 60);
	NEAR(v.slope, 6000 / 59.872); /* in the time up to 128 ms ago */
	NEAR(v.error, sqrt(60) * 100 / 59.872);
	T_EQ(v.allocs, 660);
	T_EQ(v.frees, 600);
	T_EQ(v.bytes, 6000);
	T_EQ(v.more_ms, 0);
	/* ten blocks do, nine do not */
	T_EQ(JUDGE(10, 10, 1).word, GROWTH_LEAK);
	T_EQ(JUDGE(10, 12, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1).why, GROWTH_WHY_FEW);
}

/* Of the older ones one in 20 may be freed. */
T_TEST(one_in_twenty)
{
	for (unsigned old = 3; old <= 4; old++) {
		struct site s = begin(10);

		for (unsigned i = 0; i < 60; i++)
			second(&s, 1);
		for (unsigned i = 0; i < GROWTH_AGES; i++)
			s.g.freed[i] += old;
		T_EQ(end(&s).word, old == 3 ? GROWTH_LEAK : GROWTH_GROWING);
	}
}

/* The same without any free: nobody can tell it from a cache. */
T_TEST(never_freed)
{
	struct growth_verdict v = JUDGE(0, 60, 1);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_NEVER_FREED);
	T_EQ(v.mature_ms, 0);
	T_EQ(v.mature_live, 60);
	NEAR(v.slope, 100);
	NEAR(v.error, 0);
	T_EQ(v.more_ms, 60000);
	T_EQ(v.intervals, 20);
	T_EQ(v.grew, 20);
	/* 20 blocks are needed then */
	T_EQ(JUDGE(0, 20, 1).why, GROWTH_WHY_NEVER_FREED);
	v = JUDGE(0, 19, 1);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_FEW);
	T_EQ(v.more_ms, 19000 * 40 / 19 - 19000);
}

/* 9 intervals are too few for anything but a floor that rises, and five for that. */
T_TEST(too_short)
{
	struct growth_verdict v = JUDGE(10, 9, 3);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_SHORT);
	T_EQ(v.more_ms, 1000);
	v = JUDGE(10, 5, 3);
	T_EQ(v.word, GROWTH_UNKNOWN);
	T_EQ(v.why, GROWTH_WHY_SHORT);
	T_EQ(v.intervals, 5);
	T_EQ(v.more_ms, 5000);
	T_EQ(JUDGE(10, 9, 0, 3, 0, 0, 0, 0, 0, 0, 0).word, GROWTH_UNKNOWN);
	T_EQ(JUDGE(10, 10, 3).word, GROWTH_LEAK);
}

/* 20 s in which a cache fills. */
T_TEST(cache_that_fills)
{
	struct growth_verdict v = JUDGE(5, 20, 40, 36, 32, 29, 26, 23, 20, 18, 16, 14, 12,
					11, 10, 9, 8, 8, 7, 7, 6, 6);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_SLOWING);
	T_EQ(v.more_ms, 20000);
	/* it is full after 6 of 10, or 16 of 20 */
	T_EQ(JUDGE(5, 20, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 0)
		     .word,
	     GROWTH_STEADY);
	T_EQ(JUDGE(0, 20, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 0)
		     .word,
	     GROWTH_STEADY);
}

/* Nearly all is kept: so it is by a cache that replaces some of its entries. */
T_TEST(keeps_most)
{
	T_EQ(JUDGE(3, 60, 9).word, GROWTH_LEAK);
	T_EQ(JUDGE(2, 60, 9).word, GROWTH_GROWING);
	T_EQ(JUDGE(2, 60, 9).why, GROWTH_WHY_NEVER_FREED);
}

/* A table is loaded, then a leak begins; or only the table. The table does not make it a
 * site that keeps most. */
T_TEST(start_phase)
{
	T_EQ(JUDGE(5, 30, 900, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 10, 10, 10, 10, 10, 10,
		   10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10)
		     .word,
	     GROWTH_LEAK);
	T_EQ(JUDGE(5, 20, 900, 900, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		     .word,
	     GROWTH_STEADY);
}

/* 30 blocks at once count as one. */
T_TEST(steps)
{
	struct growth_verdict v = JUDGE(5, 20, 0, 0, 0, 30, 0, 0, 0, 30, 0, 0, 0, 30, 0,
					0, 0, 30, 0, 0, 0, 30);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_STEPS);
	T_EQ(v.steps, 5);
	T_EQ(v.last_step_ms, 500);
	T_CHECK(v.step_ms > 3500 && v.step_ms < 4500);
	/* single blocks that happen to come like that are not steps */
	v = JUDGE(9, 40, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2, 0,
		  0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 1, 0);
	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_FEW);
	/* two are not enough, nor are some that ended */
	T_EQ(JUDGE(5, 20, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0)
		     .word,
	     GROWTH_STEADY);
	T_EQ(JUDGE(5, 20, 0, 30, 0, 0, 30, 0, 0, 0, 30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
		     .word,
	     GROWTH_STEADY);
}

/* When the births are not known, the floor still rises; so with a site that has only just
 * begun. */
T_TEST(births_not_known)
{
	struct site s = begin(10);

	for (unsigned i = 0; i < 60; i++)
		second(&s, 2);
	s.g.listed = 0;
	T_EQ(end(&s).word, GROWTH_GROWING);
	/* of one in ten of them it is known */
	s = begin(10);
	for (unsigned i = 0; i < 60; i++)
		second(&s, 1);
	s.g.listed = 0.1;
	T_EQ(end(&s).mature_live, 600);
	s = begin(10);
	for (unsigned i = 0; i < 60; i++)
		second(&s, i < 55 ? 0 : 20);
	s.g.first_ms = 55000;
	T_EQ(end(&s).word, GROWTH_STEADY);
}

/* Snapshots of a total alone. */
static struct growth_verdict
judge_totals(const int64_t *bytes, unsigned n, int64_t blocks, int64_t left)
{
	struct growth_verdict v;
	struct growth g;

	growth_begin(&g, 0);
	for (unsigned i = 0; i < n; i++)
		growth_add(&g, &(struct growth_point){.ms = 100 * (uint64_t)(i + 1),
						      .bytes = bytes[i],
						      .allocs = blocks + 5 * i,
						      .frees = 5 * i});
	g.ended = left >= 0;
	g.left_bytes = left;
	v = growth_judge(&g);
	growth_done(&g);
	return v;
}

#define TOTALS(blocks, left, ...)                                                        \
	judge_totals((const int64_t[]){__VA_ARGS__},                                     \
		     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (blocks), \
		     (left))

T_TEST(what_comes_and_goes)
{
	/* a job every four snapshots */
	T_EQ(TOTALS(9, -1, 50, 100, 150, 0, 50, 100, 150, 0, 50, 100, 150, 0, 50, 100,
		    150, 10)
		     .word,
	     GROWTH_STEADY);
	/* a fifth up and down */
	T_EQ(TOTALS(9, -1, 110, 90, 100, 105, 92, 108, 96, 90, 110, 95, 108, 100).word,
	     GROWTH_STEADY);
	/* nothing left, and it never was much */
	T_EQ(TOTALS(9, -1, 50, 100, 150, 0, 50, 100, 150, 0, 50, 100, 150, 0).word,
	     GROWTH_OK);
}

/* Texts that realloc makes longer: as many blocks all the time. */
T_TEST(blocks_get_larger)
{
	struct growth_verdict v = TOTALS(3, -1, 101, 202, 303, 404, 505, 606, 707, 808,
					 909, 1010, 1111, 1212, 1313);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_LARGER);
	T_EQ(v.blocks, 3);
	NEAR(v.slope, 1010);
}

enum { M = 1 << 20 };

/* Rose for all of the run, and was freed at its end: before exit, or by exit itself. */
T_TEST(freed_at_exit)
{
	struct growth_verdict v = TOTALS(9, 0, 1 * M, 2 * M, 3 * M, 4 * M, 5 * M, 6 * M,
					 7 * M, 8 * M, 9 * M, 10 * M, 11 * M, 12 * M);

	T_EQ(v.word, GROWTH_GROWING);
	T_EQ(v.why, GROWTH_WHY_FREED_AT_EXIT);
	T_EQ(v.low_bytes, 1 * M);
	T_EQ(v.high_bytes, 12 * M);
	NEAR(v.slope, 10.0 * M);
	v = TOTALS(9, 0, 1 * M, 2 * M, 3 * M, 4 * M, 5 * M, 6 * M, 7 * M, 8 * M, 9 * M,
		   10 * M, 11 * M, 0);
	T_EQ(v.why, GROWTH_WHY_FREED_AT_EXIT);
	T_EQ(v.high_bytes, 11 * M);
	/* on a machine that stalls now and then */
	T_EQ(TOTALS(9, 0, 1 * M, 1 * M, 5 * M, 6 * M, 7 * M, 7 * M, 12 * M, 13 * M,
		    20 * M, 21 * M, 22 * M, 30 * M)
		     .why,
	     GROWTH_WHY_FREED_AT_EXIT);
	/* held all the time; freed long before the end */
	T_EQ(TOTALS(9, 0, 5 * M, 5 * M, 5 * M, 5 * M, 5 * M, 5 * M, 5 * M, 5 * M, 5 * M,
		    5 * M, 5 * M, 5 * M)
		     .word,
	     GROWTH_OK);
	T_EQ(TOTALS(9, 0, 1 * M, 2 * M, 3 * M, 4 * M, 5 * M, 6 * M, 7 * M, 8 * M, 9 * M,
		    10 * M, 0, 0, 0, 0)
		     .word,
	     GROWTH_OK);
	/* one byte in twenty may be left */
	T_EQ(TOTALS(9, M / 2, 1 * M, 2 * M, 3 * M, 4 * M, 5 * M, 6 * M, 7 * M, 8 * M,
		    9 * M, 10 * M, 11 * M, 12 * M)
		     .why,
	     GROWTH_WHY_FREED_AT_EXIT);
	T_EQ(TOTALS(9, M, 1 * M, 2 * M, 3 * M, 4 * M, 5 * M, 6 * M, 7 * M, 8 * M, 9 * M,
		    10 * M, 11 * M, 12 * M)
		     .why,
	     GROWTH_WHY_LARGER);
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
	for (uint64_t i = 0; i < 36; i++)
		growth_add_birth(&g, 5000 + i * 5000 / 3, 32768);
	v = growth_judge(&g);
	T_EQ(v.word, GROWTH_GROWING);
	NEAR(v.slope, 32768 * 3 / 5.0);
	NEAR(v.error, 6 * 32768 / 60.0); /* of 36 samples, in 60 s */
	growth_done(&g);
	NEAR(growth_limit(32768, 60000), 27 * 32768 / 60.0);
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
	/* snapshots before the first block are not in the slope */
	for (int64_t i = 1; i <= 30; i++)
		growth_add(&g, &(struct growth_point){.ms = 50 + 50 * (uint64_t)i,
						      .bytes = i > 18 ? (i - 18) * 8 : 0,
						      .allocs = i > 18 ? i - 18 : 0});
	T_EQ(growth_judge(&g).from_ms, 50 + 50 * 18);
	NEAR(growth_judge(&g).slope, 160);
	growth_done(&g);
	growth_done(&(struct growth){0});
}

/* ---- words ---- */

static const char *
evidence(const struct growth_verdict *v, bool sampled)
{
	static struct buf b;

	buf_clear(&b);
	growth_text_evidence(&b, v, sampled);
	return buf_str(&b);
}

static const char *
needs(const struct growth_verdict *v)
{
	static struct buf b;

	buf_clear(&b);
	growth_text_needs(&b, v);
	return buf_str(&b);
}

T_TEST(words)
{
	struct growth_verdict v = {.word = GROWTH_LEAK,
				   .mature_ms = 23000,
				   .mature_live = 372,
				   .most_ms = 400,
				   .oldest_ms = 58000};
	struct growth_verdict w = {.word = GROWTH_GROWING,
				   .why = GROWTH_WHY_SLOWING,
				   .grew = 11,
				   .intervals = 12,
				   .samples = 33,
				   .allocs = 40,
				   .frees = 7,
				   .more_ms = 40000};

	T_STR(evidence(&v, false),
	      "most blocks are freed within 0.40 s; of 372 blocks that lived longer than "
	      "23 s none was freed (oldest: 58 s)");
	v.mature_freed = 1;
	v.most_ms = 0;
	T_STR(evidence(&v, true),
	      "most blocks are freed right away; of 373 samples that lived longer than "
	      "23 s 1 was freed (oldest: 58 s)");
	v.mature_freed = 3;
	v.oldest_ms = 0;
	T_STR(evidence(&v, true),
	      "most blocks are freed right away; of 375 samples that lived longer than "
	      "23 s 3 were freed");
	T_STR(needs(&v), "");
	T_STR(evidence(&w, true), "33 samples, 18 % freed, grew in 11 of 12 intervals");
	T_STR(needs(&w),
	      "slowing down, like a cache that fills; about 40 s more of recording would "
	      "distinguish a leak from a cache");
	w.frees = 0;
	w.why = GROWTH_WHY_NEVER_FREED;
	T_STR(evidence(&w, true), "33 samples, none freed, grew in 11 of 12 intervals");
	T_STR(needs(&w), "a cache that fills looks the same");
	w.samples = 0; /* there was nothing to compare with */
	w.intervals = 0;
	w.oldest_ms = 2970;
	T_STR(evidence(&w, true), "none freed, oldest 2.97 s");
	w.why = GROWTH_WHY_STEPS;
	w.steps = 5;
	w.last_step_ms = 20000;
	T_STR(needs(&w),
	      "grew in 5 steps, the last 20 s ago; about 40 s more of recording would "
	      "distinguish a leak from a cache");
	w.more_ms = 0;
	w.why = GROWTH_WHY_LARGER;
	w.blocks = 1;
	T_STR(needs(&w), "1 block gets larger");
	w.why = GROWTH_WHY_FREED_AT_EXIT;
	w.low_bytes = 102400;
	w.high_bytes = 5976883;
	w.intervals = 12;
	w.oldest_ms = 0;
	T_STR(evidence(&w, true), "grew in 11 of 12 intervals, from 100 KiB to 5.70 MiB");
	T_STR(needs(&w), "freed at exit");
	for (unsigned i = GROWTH_WHY_NONE + 1; i < GROWTH_WHYS; i++) {
		w.why = i;
		T_CHECK(growth_why_name(i) != NULL);
		T_CHECK(needs(&w)[0] != '\0');
	}
	T_STR(growth_word_name(GROWTH_LEAK), "LEAK likely");
	T_STR(growth_word_name(GROWTH_UNKNOWN), "NO VERDICT");
}

T_TEST(rates_and_limits)
{
	struct buf b = {0};

	T_STR(growth_text_rate(1.02 * 1048576 / 60, 0.18 * 1048576 / 60, false).s,
	      "+1.02 \xc2\xb1 0.18 MiB/min");
	T_STR(growth_text_rate(1.02 * 1048576 / 60, 0.001 * 1048576 / 60, false).s,
	      "+1.02 MiB/min");
	T_STR(growth_text_rate(-1024.0 / 60, 0, false).s, "\xe2\x88\x92"
							  "1.00 KiB/min");
	T_STR(growth_text_rate(100 / 60.0, 0, true).s, "+100 bytes/min");
	T_CHECK(!growth_text_has_rate(0));
	T_CHECK(!growth_text_has_rate(0.4 / 60));
	T_CHECK(growth_text_has_rate(1 / 60.0));
	T_CHECK(growth_text_has_rate(-1 / 60.0));
	growth_text_limit(&b, 32768, 60000);
	T_STR(buf_str(&b), "a leak slower than 864 KiB/min would not show in 60 s");
	buf_clear(&b);
	growth_text_limit(&b, 0, 8100);
	T_STR(buf_str(&b), "a leak of fewer than 20 blocks would not show in 8.10 s");
	buf_clear(&b);
	growth_text_limits(&b, 32768, 60000, 2 * 1048576 / 60.0);
	T_STR(buf_str(&b), "a leak slower than 864 KiB/min, or 2.00 MiB/min outside "
			   "malloc, would not show in 60 s");
	buf_clear(&b);
	growth_text_limits(&b, 32768, 60000, 800 * 1024 / 60.0);
	T_STR(buf_str(&b), "a leak slower than 864 KiB/min would not show in 60 s");
	buf_clear(&b);
	growth_text_limits(&b, 0, 10000, 2 * 1048576 / 10.0);
	T_STR(buf_str(&b), "a leak of fewer than 20 blocks, or slower than 12.0 MiB/min "
			   "outside malloc, would not show in 10 s");
	buf_done(&b);
}

T_MAIN()
