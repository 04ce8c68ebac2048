/* SPDX-License-Identifier: MIT */
/* test_series.c -- live bytes of the sites of several processes, put on one axis. */
#include "t.h"

#include "shared/compiler.h"
#include "tool/model/series.h"

static uint32_t
process(struct prof *p, uint64_t start_ms, enum prof_end end)
{
	uint32_t row = prof_add_process(p);

	p->processes[row].start_ns = UINT64_C(1700000000000000003) + start_ms * 1000000;
	p->processes[row].end = (uint8_t)end;
	return row;
}

static void
moment(struct prof *p, uint32_t of, uint64_t ms, int64_t live_bytes)
{
	uint32_t row = prof_add_tick(p);

	p->ticks[row] = (struct prof_tick){of, ms, live_bytes};
}

static uint32_t
site(struct prof *p, uint32_t of)
{
	uint32_t row = prof_add_site(p);

	p->sites[row].process = of;
	return row;
}

static void
step(struct prof *p, uint32_t of, uint32_t at, int64_t live_bytes)
{
	uint32_t row = prof_add_step(p);

	p->steps[row] = (struct prof_step){of, at, live_bytes};
}

/* The first from 0 to 100 ms; the second from 40 to 70; the third runs, from 90 on.
 * Sites: 1 and 2 of the first, 3 of the second, 4 of the third, which is not known in
 * between. */
static struct prof *
sample(void)
{
	struct prof *p = prof_new();
	uint32_t a = process(p, 0, PROF_END_EXITED), b = process(p, 40, PROF_END_SIGNAL);
	uint32_t c = process(p, 90, PROF_END_RUNNING), s;

	moment(p, a, 10, 101);
	moment(p, a, 50, 211);
	moment(p, a, 100, 7);
	moment(p, b, 0, 13);
	moment(p, b, 30, 17);
	moment(p, c, 5, 1009);
	moment(p, c, 20, 1013);
	moment(p, c, 30, 1019);
	s = site(p, a);
	step(p, s, 0, 101);
	step(p, s, 1, 200);
	step(p, s, 2, 0);
	s = site(p, a);
	step(p, s, 1, 11);
	step(p, s, 2, 7);
	s = site(p, b);
	step(p, s, 0, 13);
	step(p, s, 1, 17);
	s = site(p, c);
	step(p, s, 0, 1009);
	step(p, s, 1, PROF_UNKNOWN);
	step(p, s, 2, 1019);
	return p;
}

T_TEST(one_site)
{
	struct prof *p = sample();
	struct prof_series s = prof_series(p, 2);

	T_EQ(s.nticks, 3);
	T_EQ(s.ticks[1].ms, 50);
	T_EQ(s.nsteps, 2);
	T_EQ(s.steps[1].live_bytes, 7);
	s = prof_series(p, 4);
	T_EQ(s.nticks, 3);
	T_EQ(s.ticks[0].live_bytes, 1009);
	T_EQ(s.nsteps, 3);
	T_CHECK(s.steps == p->steps + 7);
	prof_free(p);
}

static bool
same(const int64_t *is, const int64_t *should, uint32_t n)
{
	bool ok = true;

	for (uint32_t i = 0; i < n; i++)
		ok = ok && is[i] == should[i];
	return ok;
}

T_TEST(one_axis)
{
	static const uint64_t ms[] = {10, 40, 50, 70, 95, 100, 110, 120};
	static const int64_t all[] = {101, 114, 224, 228, 1220, 1016, 1013, 1019};
	static const int64_t first[] = {101, 101, 200, 200, 200, 0, 0, 0};
	static const int64_t second[] = {0, 13, 13, 17, 0, 0, 0, 0};
	static const int64_t third[] = {0, 0, 0, 0, 1009, 1009, PROF_UNKNOWN, 1019};
	struct prof *p = sample(), *q = prof_new();

	for (int merged = 0; merged < 2; merged++) {
		const struct prof *of = merged ? q : p;
		int64_t sums[SERIES_MAX] = {0}, x[SERIES_MAX] = {0}, y[SERIES_MAX] = {0},
			z[SERIES_MAX] = {0};
		struct series_axis a;

		series_axis_init(&a, of, NULL);
		T_EQ(a.n, ARRAY_LEN(ms));
		for (uint32_t i = 0; i < a.n; i++)
			T_EQ(a.ms[i], ms[i]);
		series_add_all(&a, of, sums);
		T_CHECK(same(sums, all, a.n));
		series_add(&a, of, 1, x);
		T_CHECK(same(x, first, a.n));
		series_add(&a, of, 3, y);
		T_CHECK(same(y, second, a.n));
		series_add(&a, of, 4, z);
		T_CHECK(same(z, third, a.n));
		series_axis_done(&a);
		if (!merged)
			prof_merge(q, p);
	}
	prof_free(p);
	prof_free(q);
}

/* One of them alone; and after another has stayed behind. */
T_TEST(chosen)
{
	static const bool only[] = {false, false, true, false};
	static const bool without[] = {false, true, false, false};
	struct prof *p = sample(), *q = prof_new();
	int64_t sums[SERIES_MAX] = {0};
	struct series_axis a;

	series_axis_init(&a, p, only);
	T_EQ(a.n, 2);
	T_EQ(a.ms[0], 0);
	T_EQ(a.ms[1], 30);
	series_add_all(&a, p, sums);
	T_EQ(sums[0], 13);
	T_EQ(sums[1], 17);
	series_axis_done(&a);
	prof_merge_without(q, p, without);
	T_EQ(q->nsites, 3);
	T_EQ(q->nticks, 5);
	T_EQ(prof_series(q, 1).steps[1].live_bytes, 17);
	T_EQ(prof_series(q, 2).ticks[2].ms, 30);
	prof_free(p);
	prof_free(q);
}

/* 4,000 points of 40 processes become 128: first and last are kept, no two are the
 * same. */
T_TEST(thinned)
{
	struct prof *p = prof_new();
	struct series_axis a;

	for (uint64_t i = 0; i < 40; i++) {
		uint32_t of = process(p, i * 3, PROF_END_EXITED);

		for (uint64_t k = 0; k < 100; k++)
			moment(p, of, k * 41, 1);
	}
	series_axis_init(&a, p, NULL);
	T_EQ(a.n, SERIES_MAX);
	T_EQ(a.ms[0], 0);
	T_EQ(a.ms[a.n - 1], 39 * 3 + 99 * 41);
	for (uint32_t i = 1; i < a.n; i++)
		T_CHECK(a.ms[i] > a.ms[i - 1] && a.ms[i] < a.ms[i - 1] + 80);
	series_axis_done(&a);
	prof_free(p);
	p = prof_new();
	series_axis_init(&a, p, NULL);
	T_EQ(a.n, 0);
	series_axis_done(&a);
	prof_free(p);
}

T_MAIN()
