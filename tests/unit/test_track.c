/* SPDX-License-Identifier: MIT */
/* test_track.c -- regions found again in the next snapshot, and what is said of their
 * growth. */
#include <math.h>

#include "t.h"
#include "tool/analyze/process/track.h"

#define MIB (UINT64_C(1) << 20)

/* A snapshot made by hand: regions by address. */
struct shot {
	struct regions rs;
};

static void
put(struct shot *s, enum region_kind kind, const char *name, uint64_t start, uint64_t end,
    uint64_t rss_kib)
{
	struct region *r = vec_add(&s->rs.list);

	r->kind = kind;
	r->name = name;
	r->start = start;
	r->end = end;
	r->kib[MEMMAP_RSS] = rss_kib;
}

static void
take(struct track *t, double seconds, struct shot *s)
{
	track_add(t, seconds, &s->rs);
	regions_done(&s->rs);
}

/* KiB of the row that `name` was last called, at a snapshot; 99999 = no such row. */
static uint64_t
kib(const struct track *t, const char *name, size_t snapshot)
{
	for (size_t i = 0; i < t->rows.len; i++) {
		const struct track_row *r = &t->rows.data[i];

		if (r->kib.len > 0 && strcmp(r->last.name, name) == 0)
			return snapshot < r->kib.len ? r->kib.data[snapshot] : 0;
	}
	return 99999;
}

T_TEST(found_by_overlap)
{
	struct track t = {0};
	struct shot s = {0};

	put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, 10);
	put(&s, REGION_MAPPING, "mapping@20000", 0x20000, 0x30000, 30);
	put(&s, REGION_MAPPING, "mapping@40000", 0x40000, 0x50000, 7);
	take(&t, 0, &s);
	put(&s, REGION_HEAP, "heap", 0x1000, 0xb000, 13);
	/* Grew downwards: another name, the same region. The other one is gone, a third
	 * came. */
	put(&s, REGION_MAPPING, "mapping@1f000", 0x1f000, 0x30000, 34);
	put(&s, REGION_CHUNK, "chunk@60000", 0x60000, 0x61000, 4);
	take(&t, 5, &s);
	T_EQ(t.rows.len, 4);
	T_EQ(kib(&t, "heap", 0), 10);
	T_EQ(kib(&t, "heap", 1), 13);
	T_EQ(kib(&t, "mapping@1f000", 0), 30);
	T_EQ(kib(&t, "mapping@1f000", 1), 34);
	T_EQ(kib(&t, "mapping@40000", 0), 7);
	T_EQ(kib(&t, "mapping@40000", 1), 0);
	T_EQ(kib(&t, "chunk@60000", 0), 0);
	T_EQ(kib(&t, "chunk@60000", 1), 4);
	T_EQ(t.total.data[0], 47);
	T_EQ(t.total.data[1], 51);
	T_EQ(t.kinds[REGION_MAPPING].data[1], 34);
	track_done(&t);
}

T_TEST(joined_and_split)
{
	struct track t = {0};
	struct shot s = {0};

	put(&s, REGION_MAPPING, "mapping@20000", 0x20000, 0x30000, 30);
	put(&s, REGION_MAPPING, "mapping@30000", 0x30000, 0x38000, 8);
	take(&t, 0, &s);
	/* The kernel made one of the two: nothing grew. */
	put(&s, REGION_MAPPING, "mapping@20000", 0x20000, 0x38000, 38);
	take(&t, 1, &s);
	T_EQ(kib(&t, "mapping@20000", 0), 38);
	T_EQ(kib(&t, "mapping@20000", 1), 38);
	T_EQ(kib(&t, "mapping@30000", 0), 99999);
	/* A page in the middle changed its rights: three parts go on as one. */
	put(&s, REGION_MAPPING, "mapping@20000", 0x20000, 0x28000, 20);
	put(&s, REGION_RESERVE, "reserve@28000", 0x28000, 0x29000, 0);
	put(&s, REGION_MAPPING, "mapping@29000", 0x29000, 0x38000, 19);
	take(&t, 2, &s);
	T_EQ(t.total.data[2], 39);
	T_EQ(t.kinds[REGION_MAPPING].data[2] + t.kinds[REGION_RESERVE].data[2], 39);
	T_EQ(t.rows.data[0].kib.data[2], 39);
	track_done(&t);
}

T_TEST(evidence_that_comes_late)
{
	struct track t = {0};
	struct shot s = {0};

	put(&s, REGION_MAPPING, "mapping@20000", 0x20000, 0x30000, 30);
	take(&t, 0, &s);
	put(&s, REGION_THREAD_STACK, "thread@20000", 0x20000, 0x30000, 31);
	take(&t, 1, &s);
	/* It was a stack all the time. */
	T_EQ(t.kinds[REGION_MAPPING].data[0], 0);
	T_EQ(t.kinds[REGION_THREAD_STACK].data[0], 30);
	T_EQ(t.kinds[REGION_THREAD_STACK].data[1], 31);
	track_done(&t);
}

T_TEST(growing_is_named)
{
	struct track t = {0};
	struct track_verdict v;

	for (int i = 0; i < 12; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, 2000000 + 20 * (uint64_t)i);
		put(&s, REGION_FILE, "/lib/x", 0x20000, 0x30000, 500 + (i % 2));
		put(&s, REGION_MAPPING, "mapping@40000", 0x40000, 0x50000, 700);
		take(&t, 5.0 * i, &s);
	}
	track_judge(&t, &v);
	T_EQ(v.word, TRACK_GROWING);
	T_EQ(v.kind, REGION_HEAP);
	T_STR(t.rows.data[v.row].last.name, "heap");
	T_EQ(v.fit.grown, 11);
	T_CHECK(fabs(fit_slope(&v.fit, NULL) - 4096) < 1e-6); /* 20 KiB in 5 s */
	T_EQ(v.regions, 1);
	T_CHECK(!v.stopped);
	track_done(&t);
}

T_TEST(many_regions_that_grow_together)
{
	struct track t = {0};
	struct track_verdict v;

	for (int i = 0; i < 8; i++) {
		struct shot s = {0};

		for (int k = 0; k <= i; k++)
			put(&s, REGION_CHUNK, "chunk", 0x100000 * (uint64_t)(k + 1),
			    0x100000 * (uint64_t)(k + 1) + 0x1000, 256);
		take(&t, i, &s);
	}
	track_judge(&t, &v);
	T_EQ(v.word, TRACK_GROWING);
	T_EQ(v.kind, REGION_CHUNK);
	T_CHECK(v.row == SIZE_MAX);
	T_EQ(v.regions, 8);
	T_CHECK(fabs(fit_slope(&v.fit, NULL) - 256 * 1024) < 1e-6);
	track_done(&t);
}

T_TEST(noise_and_ends_are_not_growth)
{
	static const uint64_t noise[] = {700, 760, 690, 720, 705,
					 750, 695, 740, 702, 715};
	static const uint64_t ramp[] = {100, 200, 300, 400, 500, 600, 600, 600, 600, 600};
	struct track t = {0};
	struct track_verdict v;

	for (int i = 0; i < 10; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, noise[i]);
		take(&t, i, &s);
		track_judge(&t, &v);
		T_EQ(v.word, i < 2 ? TRACK_TOO_SHORT : TRACK_STEADY);
	}
	T_CHECK(!v.stopped);
	T_CHECK(v.limit >
		1024); /* with that noise, a slow leak does not show, and it says so */
	track_done(&t);
	for (int i = 0; i < 10; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, ramp[i]);
		take(&t, i, &s);
	}
	track_judge(&t, &v);
	T_EQ(v.word, TRACK_STEADY);
	T_CHECK(v.stopped);
	track_done(&t);
}

/* Two steps of a page each in ten intervals are chance; of more than a few pages they are
 * not. */
T_TEST(two_steps)
{
	static const struct {
		uint64_t step;
		enum track_word word;
	} rows[] = {{4, TRACK_STEADY}, {12, TRACK_STEADY}, {400, TRACK_GROWING}};

	for (unsigned k = 0; k < 3; k++) {
		struct track t = {0};
		struct track_verdict v;

		for (int i = 0; i < 11; i++) {
			struct shot s = {0};

			put(&s, REGION_HEAP, "heap", 0x1000, 0x9000,
			    1000 + rows[k].step * ((i > 3) + (i > 7)));
			take(&t, 0.4 * i, &s);
		}
		track_judge(&t, &v);
		T_EQ(v.word, rows[k].word);
		/* What was seen is not more than what would not have shown. */
		if (v.word == TRACK_STEADY)
			T_CHECK(v.limit >= fit_slope(&v.fit, NULL));
		track_done(&t);
	}
}

/* Two intervals, and it grew in both: that is neither growth yet nor "no region
 * grows". */
T_TEST(growing_every_time_is_not_steady)
{
	static const uint64_t sizes[][3] = {{1000, 1012, 1020}, {1000, 1012, 1012}};
	struct track t = {0};
	struct track_verdict v;

	for (int k = 0; k < 2; k++) {
		for (int i = 0; i < 3; i++) {
			struct shot s = {0};

			put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, sizes[k][i]);
			take(&t, 0.6 * i, &s);
		}
		track_judge(&t, &v);
		T_EQ(v.word, k == 0 ? TRACK_UNCLEAR : TRACK_STEADY);
		T_EQ(track_answer(&v).word, k == 0 ? VERDICT_NO_VERDICT : VERDICT_STEADY);
		if (k == 0) {
			T_CHECK(v.row != SIZE_MAX && v.kind == REGION_HEAP);
			T_EQ(v.fit.grown, 2);
			T_EQ(track_answer(&v).why, VERDICT_WHY_EARLY);
		}
		track_done(&t);
	}
}

/* A process that hardly ran in the second half, because the machine was busy, may grow
 * on: that is not "it grew at first, but not any more". */
T_TEST(growth_that_slows_down_has_not_stopped)
{
	static const uint64_t sizes[] = {1000, 3000, 5000, 7000, 9000,
					 9000, 9000, 9000, 9050, 10000};
	struct track t = {0};
	struct track_verdict v;

	for (int i = 0; i < 10; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, sizes[i]);
		take(&t, 0.5 * i, &s);
	}
	track_judge(&t, &v);
	T_EQ(v.word, TRACK_UNCLEAR);
	T_CHECK(!v.stopped);
	T_EQ(v.kind, REGION_HEAP);
	T_EQ(v.fit.grown, 6);
	T_EQ(track_answer(&v).word, VERDICT_NO_VERDICT);
	track_done(&t);
}

T_TEST(starting_up_is_not_the_rate)
{
	struct track t = {0};
	struct track_verdict v;

	/* 100 MiB a snapshot at first, then 20 KiB: that is what will go on. */
	for (uint64_t i = 0; i < 12; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000,
		    (i < 4 ? i : 4) * 102400 + 20 * i);
		take(&t, 5.0 * (double)i, &s);
	}
	track_judge(&t, &v);
	T_EQ(v.word, TRACK_GROWING);
	T_EQ(v.from, 6);
	T_EQ(v.fit.count, 6);
	T_CHECK(fabs(fit_slope(&v.fit, NULL) - 4096) < 1e-6);
	track_done(&t);
}

T_TEST(swapped_out_is_not_gone)
{
	struct track t = {0};

	for (int i = 0; i < 4; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, 1000 - 100 * (uint64_t)i);
		s.rs.list.data[0].kib[MEMMAP_SWAP] = 100 * (uint64_t)i;
		take(&t, i, &s);
	}
	for (size_t i = 0; i < 4; i++)
		T_EQ(kib(&t, "heap", i), 1000);
	track_done(&t);
}

T_TEST(a_day_is_bounded)
{
	struct track t = {0};
	struct fit f;

	for (uint64_t i = 0; i < 5000; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, 1000 + i);
		/* One that is another every time. */
		put(&s, REGION_MAPPING, "mapping", 0x100000 + 0x10000 * i,
		    0x101000 + 0x10000 * i, 4);
		take(&t, (double)i, &s);
	}
	T_CHECK(t.seconds.len <= TRACK_SNAPSHOTS_MAX);
	T_CHECK(t.rows.len < 2 * TRACK_SNAPSHOTS_MAX);
	f = track_fit_total(&t);
	T_CHECK(fabs(fit_slope(&f, NULL) - 1024) < 1e-6);
	f = track_fit_kind(&t, REGION_MAPPING);
	T_CHECK(fabs(fit_slope(&f, NULL)) < 1e-6);
	track_done(&t);
}

T_TEST(order_is_by_growth)
{
	struct track t = {0};
	size_t *order;

	for (int i = 0; i < 4; i++) {
		struct shot s = {0};

		put(&s, REGION_HEAP, "heap", 0x1000, 0x9000, 100 + (uint64_t)i);
		put(&s, REGION_FILE, "/a", 0x10000, 0x11000, 900);
		put(&s, REGION_FILE, "/b", 0x20000, 0x21000, 50 + 10 * (uint64_t)i);
		take(&t, i, &s);
	}
	order = track_order(&t);
	T_STR(t.rows.data[order[0]].last.name, "/b");
	T_STR(t.rows.data[order[1]].last.name, "heap");
	T_STR(t.rows.data[order[2]].last.name, "/a");
	free(order);
	track_done(&t);
}

T_MAIN()
