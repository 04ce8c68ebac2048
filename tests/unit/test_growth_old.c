/* SPDX-License-Identifier: MIT */
/* test_growth_old.c -- what is older than a recording, set against what places keep:
 * figures by hand. */
#include "t.h"

#include <math.h>

#include "tool/analyze/growth/growth_old.h"
#include "tool/model/sizeclass.h"

#define NEAR(a, b) T_CHECK(fabs((a) - (double)(b)) <= 1e-6 * (fabs((double)(b)) + 1))

/* A process that was recorded for 40 s. */
static struct prof *
recorded(uint64_t watched)
{
	struct prof *p = prof_new();
	uint32_t process = prof_add_process(p), row;

	p->processes[process].duration_ms = 40000;
	row = prof_add_old(p);
	p->olds[row] = (struct prof_old){.process = process, .watched = watched};
	return p;
}

/* Of blocks for requests of `size`: so many watched ones died in each half, for so many
 * bytes. */
static void
died(struct prof *p, uint64_t size, uint64_t n, uint64_t bytes)
{
	uint32_t row = prof_add_old(p);

	p->olds[row] = (struct prof_old){.process = 1,
					 .size_class = sizeclass_of_request(size),
					 .watched = 100,
					 .died = {5000, 0, n / 2, n - n / 2},
					 .died_bytes = {900000, 0, bytes, 0}};
}

static struct growth_verdict
leak(double slope)
{
	return (struct growth_verdict){
		.word = GROWTH_LEAK, .slope = slope, .error = slope / 100};
}

T_TEST(size_classes)
{
	unsigned last = 0;

	T_EQ(sizeclass_of_request(1), sizeclass_of(32));
	T_EQ(sizeclass_of_request(24), sizeclass_of(32));
	T_EQ(sizeclass_of_request(25), sizeclass_of(48));
	T_EQ(sizeclass_of(1008) + 1, sizeclass_of(1024));
	T_EQ(sizeclass_of(1024), sizeclass_of(1136));
	T_EQ(sizeclass_of(1024) + 1, sizeclass_of(1152));
	T_EQ(sizeclass_of(2048), sizeclass_of(1024) + 8);
	for (uint64_t n = 32; n < 1 << 20; n += 16) {
		T_CHECK(sizeclass_of(n) == last || sizeclass_of(n) == last + 1 ||
			n == 32);
		last = sizeclass_of(n);
	}
	T_CHECK(sizeclass_of(UINT64_MAX) < SIZECLASS_MAX);
}

/* 64 watched ones stand for all that came: 2,000,000 bytes in the 20 s of the later
 * half. */
T_TEST(a_cache)
{
	struct prof *p = recorded(100);
	struct growth_verdict v = leak(100000);
	struct growth_old o;

	died(p, 500, 64, 2000000);
	growth_old_init(&o, p);
	T_CHECK(growth_old_is_late(&o, 1));
	T_EQ(growth_old_from_ms(&o, 1), 20000);
	for (unsigned i = 0; i < 100; i++)
		growth_old_add(&o, 7, 1, 500, 20000);
	growth_old_judge(&o, 7, 1, &v);
	T_EQ(v.word, GROWTH_STEADY);
	T_EQ(v.why, GROWTH_WHY_OLDER);
	NEAR(v.came, 100000);
	NEAR(v.older, 100000);
	NEAR(v.slope, 0);
	growth_old_done(&o);
	prof_free(p);
}

/* As much goes of another size: that is another's. */
T_TEST(a_leak_beside_it)
{
	struct prof *p = recorded(100);
	struct growth_verdict cache = leak(100000), lost = leak(50000);
	struct growth_old o;

	died(p, 500, 64, 2000000);
	died(p, 800, 0, 0);
	growth_old_init(&o, p);
	for (unsigned i = 0; i < 100; i++) {
		growth_old_add(&o, 1, 1, 500, 20000);
		growth_old_add(&o, 2, 1, 800, 10000);
	}
	growth_old_judge(&o, 1, 1, &cache);
	growth_old_judge(&o, 2, 1, &lost);
	T_EQ(cache.word, GROWTH_STEADY);
	T_EQ(lost.word, GROWTH_LEAK);
	T_EQ(lost.why, GROWTH_WHY_NONE);
	NEAR(lost.older, 0);
	growth_old_done(&o);
	prof_free(p);
}

/* Of one size: what goes is shared out, and both are growing since it does not explain
 * all. */
T_TEST(a_leak_of_its_size)
{
	struct prof *p = recorded(100);
	struct growth_verdict cache = leak(100000), lost = leak(100000);
	struct growth_old o;

	died(p, 500, 100, 2000000);
	growth_old_init(&o, p);
	for (unsigned i = 0; i < 100; i++) {
		growth_old_add(&o, 1, 1, 500, 20000);
		growth_old_add(&o, 2, 1, 500, 20000);
	}
	growth_old_judge(&o, 1, 1, &cache);
	growth_old_judge(&o, 2, 1, &lost);
	T_EQ(cache.word, GROWTH_GROWING);
	T_EQ(lost.word, GROWTH_GROWING);
	NEAR(lost.older, 50000);
	NEAR(lost.slope, 50000);
	T_EQ(lost.more_ms, 80000);
	growth_old_done(&o);
	prof_free(p);
}

/* One that died may be chance, whatever it stands for; so may a small part. */
T_TEST(too_few)
{
	struct prof *p = recorded(100);
	struct growth_verdict one = leak(100000), part = leak(100000);
	struct growth_old o;

	died(p, 500, 1, 2000000);
	died(p, 800, 400, 400000);
	growth_old_init(&o, p);
	growth_old_add(&o, 1, 1, 500, 2000000);
	growth_old_add(&o, 2, 1, 800, 2000000);
	growth_old_judge(&o, 1, 1, &one);
	growth_old_judge(&o, 2, 1, &part);
	T_EQ(one.word, GROWTH_LEAK);
	T_EQ(part.word, GROWTH_LEAK);
	growth_old_done(&o);
	prof_free(p);
}

/* Nothing was watched. 100 places' blocks, 2,048 KiB in all, were kept in the later half;
 * resident memory grew by a share of that. */
static struct growth_verdict
by_rss(enum prof_mode mode, double share, uint64_t frees, struct growth_verdict v)
{
	struct prof *p = recorded(0);
	struct growth_old o;

	p->processes[1].mode = mode;
	p->processes[1].frees_unknown = frees;
	for (unsigned i = 0; i < 400; i++) {
		uint32_t row = prof_add_point(p);

		p->points[row] = (struct prof_point){
			.process = 1,
			.ms = i * 100,
			.rss_kib = 10000 + (uint32_t)(share * i * 2048 / 200)};
	}
	growth_old_init(&o, p);
	for (unsigned i = 0; i < 100; i++)
		growth_old_add(&o, 1, 1, 500, (2048 << 10) / 100.0);
	growth_old_judge(&o, 1, 1, &v);
	growth_old_done(&o);
	prof_free(p);
	return v;
}

T_TEST(by_resident_memory)
{
	struct growth_verdict grows = {
		.word = GROWTH_GROWING, .why = GROWTH_WHY_NEVER_FREED, .slope = 102400};
	struct growth_verdict v;

	/* it grows with them */
	T_EQ(by_rss(PROF_EXACT, 1, 300, leak(102400)).word, GROWTH_LEAK);
	/* flat, and as many older blocks were freed */
	v = by_rss(PROF_EXACT, 0, 300, leak(102400));
	T_EQ(v.word, GROWTH_STEADY);
	T_EQ(v.why, GROWTH_WHY_RSS);
	T_EQ(by_rss(PROF_EXACT, 0.1, 100, grows).word, GROWTH_STEADY);
	/* flat, but nothing was freed: memory that malloc had kept is filled */
	T_EQ(by_rss(PROF_EXACT, 0, 0, leak(102400)).word, GROWTH_LEAK);
	T_EQ(by_rss(PROF_EXACT, 0, 99, grows).why, GROWTH_WHY_NEVER_FREED);
	/* blocks of which only 30 % are touched */
	T_EQ(by_rss(PROF_EXACT, 0.3, 0, grows).word, GROWTH_GROWING);
	T_EQ(by_rss(PROF_EXACT, 0.3, 300, grows).why, GROWTH_WHY_NEVER_FREED);
	T_EQ(by_rss(PROF_SAMPLED, 0.3, 0, grows).why, GROWTH_WHY_NEVER_FREED);
	T_EQ(by_rss(PROF_SAMPLED, 0.3, 0, leak(102400)).word, GROWTH_LEAK);
	/* sampled, frees are not counted: it stays as it was, with another reason */
	T_EQ(by_rss(PROF_SAMPLED, 0, 0, grows).word, GROWTH_GROWING);
	T_EQ(by_rss(PROF_SAMPLED, 0, 0, grows).why, GROWTH_WHY_RSS);
	T_EQ(by_rss(PROF_SAMPLED, 0, 0, leak(102400)).word, GROWTH_LEAK);
}

/* Recorded from its start: nothing is older. */
T_TEST(not_late)
{
	struct prof *p = prof_new();
	struct growth_verdict v = leak(100000);
	struct growth_old o;

	p->processes[prof_add_process(p)].duration_ms = 40000;
	growth_old_init(&o, p);
	T_CHECK(!growth_old_is_late(&o, 1));
	growth_old_judge(&o, 0, 1, &v);
	T_EQ(v.word, GROWTH_LEAK);
	growth_old_done(&o);
	prof_free(p);
}

T_MAIN()
