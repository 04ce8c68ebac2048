/* SPDX-License-Identifier: MIT */
/* test_outgrowth.c -- which kinds of memory grow beside what malloc has handed out. */
#include "analyze/outgrowth.h"

#include "t.h"

struct one {
	struct track t;
	struct outgrowth_series s;
	struct outgrowth found[OUTGROWTH_MAX];
};

static void
add(struct one *o, enum region_kind kind, double mib, double live_mib, double own_mib)
{
	for (unsigned k = 0; k < REGION_KINDS; k++)
		vec_push(&o->t.kinds[k], k == kind ? (uint64_t)(mib * 1024) : 0);
	vec_push(&o->t.seconds, (double)o->s.live.len);
	vec_push(&o->s.live, live_mib * (1 << 20));
	vec_push(&o->s.own, own_mib * (1 << 20));
}

static unsigned
find(struct one *o)
{
	unsigned n = outgrowth_find(&o->t, &o->s, o->found);

	track_done(&o->t);
	vec_done(&o->s.live);
	vec_done(&o->s.own);
	return n;
}

T_TEST(stacks_grow)
{
	struct one o = {0};

	for (unsigned i = 0; i <= 10; i++)
		add(&o, REGION_THREAD_STACK, i * 2.4, 1, 0);
	T_EQ(find(&o), 1);
	T_STR(o.found[0].name, region_kind_plural(REGION_THREAD_STACK));
	T_CHECK(o.found[0].remedy == NULL);
	T_EQ((int)(fit_slope(&o.found[0].fit, NULL) * 60 / (1 << 20) + 0.5), 144);
}

T_TEST(too_short_too_little_or_only_at_first)
{
	struct one few = {0}, little = {0}, start = {0}, step = {0};

	for (unsigned i = 0; i < 10; i++) /* nine intervals */
		add(&few, REGION_MAPPING, i * 10, 0, 0);
	for (unsigned i = 0; i < 40; i++) {
		add(&little, REGION_MAPPING, i * 0.04, 0, 0);
		add(&start, REGION_MAPPING, i < 8 ? i * 10 : 80, 0, 0);
		add(&step, REGION_MAPPING, i < 20 ? 10 : 30, 0, 0);
	}
	T_EQ(find(&few), 0);
	T_EQ(find(&little), 0);
	T_EQ(find(&start), 0);
	T_EQ(find(&step), 0);
}

/* What malloc maps, and what the recorder does. */
T_TEST(explained)
{
	struct one live = {0}, own = {0};

	for (unsigned i = 0; i < 20; i++) {
		add(&live, REGION_MAPPING, i, i * 0.9, 0);
		add(&own, REGION_MAPPING, 5 + i, 0, i);
	}
	T_EQ(find(&live), 0);
	T_EQ(find(&own), 0);
}

/* In steps, and smaller after each collection: not seen rather than growing. Less than 8 MiB is neither, nor is memory
 * that is no runtime's, nor what malloc's live blocks explain. */
T_TEST(heap_of_a_runtime)
{
	struct one even = {0}, larger = {0}, little = {0}, mapping = {0}, live = {0};

	for (unsigned i = 0; i < 20; i++) {
		double mib = 10 + i / 7 * 6 - (i == 18);

		add(&even, REGION_V8, 10 + i, 1, 0);
		add(&larger, REGION_V8, mib, 1, 0);
		add(&little, REGION_V8, 10 + i / 7 * 3, 1, 0);
		add(&mapping, REGION_MAPPING, mib, 1, 0);
		add(&live, REGION_RUBY, mib, mib, 0);
	}
	T_EQ(find(&even), 1);
	T_CHECK(even.found[0].grows);
	T_EQ(find(&larger), 1);
	T_CHECK(!larger.found[0].grows);
	T_EQ(larger.found[0].kind, REGION_V8);
	T_EQ((int)(larger.found[0].fit.last_v - larger.found[0].fit.first_v), 12 << 20);
	T_EQ(find(&little), 0);
	T_EQ(find(&mapping), 0);
	T_EQ(find(&live), 0);
}

T_TEST(kept_by_malloc)
{
	struct one kept = {0}, live = {0};

	for (unsigned i = 0; i < 20; i++) {
		add(&kept, REGION_HEAP, 10 + i, 8 + (i & 1), 0);
		add(&live, REGION_HEAP, 10 + i, 8 + i, 0);
	}
	T_EQ(find(&kept), 1);
	T_STR(kept.found[0].name, "memory kept by malloc");
	T_STR(kept.found[0].remedy,
	      "live memory is flat, so it is fragmentation: try malloc_trim(0), "
	      "MALLOC_ARENA_MAX=2 or jemalloc");
	T_EQ(find(&live), 0);
}

T_MAIN()
