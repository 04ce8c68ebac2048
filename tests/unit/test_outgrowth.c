/* SPDX-License-Identifier: MIT */
/* test_outgrowth.c -- which kinds of memory grow beside what malloc has handed out. */
#include "tool/analyze/process/outgrowth.h"

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
	o->s.covered = live_mib * (1 << 20);
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
	T_EQ(find(&few), 1);
	T_CHECK(!few.found[0].grows);
	T_EQ(find(&little), 0);
	T_EQ(find(&start), 1);
	T_CHECK(!start.found[0].grows);
	T_EQ(find(&step), 1);
	T_CHECK(!step.found[0].grows);
}

/* Mappings count where they are most of the memory at the end or of its growth, at one
 * moment: malloc's peak was before. */
T_TEST(mappings_beside_malloc)
{
	struct one early = {0}, half = {0}, grown = {0}, kept = {0}, late = {0};
	struct one *from_start[] = {&early, &half, &grown, &kept};

	for (unsigned i = 0; i < 8; i++) {
		add(&early, REGION_MAPPING, i < 6 ? 0 : 150, i < 3 ? 200 : 0, 0);
		early.t.kinds[REGION_CHUNK].data[i] = i < 3 ? 200 << 10 : 0;
		add(&half, REGION_MAPPING, 20, 0, 0); /* as much as malloc has */
		half.t.kinds[REGION_HEAP].data[i] = 20 << 10;
		add(&grown, REGION_MAPPING, i < 6 ? 0 : 9, 300, 0);
		grown.t.kinds[REGION_HEAP].data[i] = 300 << 10;
		grown.s.covered = 300 << 20;
		add(&kept, REGION_MAPPING, 50, 0,
		    0); /* by an allocator that nobody knows */
		kept.s.covered = 43 << 20;
		add(&late, REGION_MAPPING, i < 6 ? 50 : 59, 0, 0); /* attached to */
		late.s.covered = 50 << 20;
	}
	for (unsigned i = 0; i < 4; i++)
		from_start[i]->s.from_start = true;
	T_EQ(find(&early), 1);
	T_CHECK(!early.found[0].grows);
	T_EQ((int)(early.found[0].fit.last_v - early.found[0].fit.first_v), 150 << 20);
	T_EQ(find(&half), 0);
	T_EQ(find(&grown), 1);
	T_EQ((int)(grown.found[0].fit.last_v - grown.found[0].fit.first_v), 9 << 20);
	T_EQ(find(&kept), 0);
	T_EQ(find(&late), 1);
	T_EQ((int)(late.found[0].fit.last_v - late.found[0].fit.first_v), 9 << 20);
}

/* The last look is at a program that has tidied up: growth until then is growth. */
T_TEST(freed_at_the_end)
{
	struct one o = {0};

	for (unsigned i = 0; i <= 20; i++)
		add(&o, REGION_THREAD_STACK, i < 20 ? i * 2.4 : 0, 1, 0);
	o.s.ended = true;
	T_EQ(find(&o), 1);
	T_CHECK(o.found[0].grows);
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

/* In steps, and smaller after each collection: not seen rather than growing. Less than 8
 * MiB is neither, nor is what malloc's live blocks explain. */
T_TEST(heap_of_a_runtime)
{
	struct one even = {0}, larger = {0}, little = {0}, live = {0};

	for (unsigned i = 0; i < 20; i++) {
		double mib = 10 + i / 7 * 6 - (i == 18);

		add(&even, REGION_V8, 10 + i, 1, 0);
		add(&larger, REGION_V8, mib, 1, 0);
		add(&little, REGION_V8, 10 + i / 7 * 3, 1, 0);
		add(&live, REGION_RUBY, mib, mib, 0);
	}
	T_EQ(find(&even), 1);
	T_CHECK(even.found[0].grows);
	T_EQ(find(&larger), 1);
	T_CHECK(!larger.found[0].grows);
	T_EQ(larger.found[0].kind, REGION_V8);
	T_EQ((int)(larger.found[0].fit.last_v - larger.found[0].fit.first_v), 12 << 20);
	T_EQ(find(&little), 0);
	T_EQ(find(&live), 0);
}

/* Where malloc's regions are a guess, its own tables decide whether it keeps what
 * grows. */
T_TEST(kept_or_mapped)
{
	static const struct {
		double kept_mib;
		const char *name;
	} rows[] = {
		{18, "memory kept by malloc"}, {2, "mappings"}, {-1, "anonymous memory"}};

	for (unsigned k = 0; k < 3; k++) {
		struct one o = {0};

		for (unsigned i = 0; i < 20; i++)
			add(&o, REGION_JEMALLOC, 10 + i, 1, 0);
		o.s.kept = rows[k].kept_mib * (1 << 20);
		T_CHECK(outgrowth_must_ask(&o.t, &o.s));
		T_EQ(find(&o), 1);
		T_STR(o.found[0].name, rows[k].name);
		T_EQ(o.found[0].remedy == NULL, k > 0);
		T_CHECK(o.found[0].grows);
	}
	/* Nothing to ask about: glibc's regions are its own, and what is live explains
	 * itself. */
	for (unsigned k = 0; k < 2; k++) {
		struct one o = {0};

		o.s.from_start = true;
		for (unsigned i = 0; i < 20; i++)
			add(&o, k == 0 ? REGION_HEAP : REGION_JEMALLOC, 10 + i,
			    k == 0 ? 1 : 8 + i, 0);
		T_CHECK(!outgrowth_must_ask(&o.t, &o.s));
		T_EQ(find(&o), k == 0);
	}
}

T_TEST(kept_by_malloc)
{
	struct one kept = {0}, live = {0};

	for (unsigned i = 0; i < 20; i++) {
		add(&kept, REGION_HEAP, 10 + i, 8 + (i & 1), 0);
		add(&live, REGION_HEAP, 10 + i, 8 + i, 0);
	}
	kept.s.from_start = live.s.from_start = true;
	T_EQ(find(&kept), 1);
	T_STR(kept.found[0].name, "memory kept by malloc");
	T_STR(kept.found[0].remedy,
	      "live memory is flat, so it is fragmentation: try malloc_trim(0), "
	      "MALLOC_ARENA_MAX=2 or jemalloc");
	T_EQ(find(&live), 0);
}

/* Blocks that were allocated at once and are filled little by little: malloc keeps
 * nothing. Of a process that was attached to they are not recorded, and malloc's own
 * tables say what it keeps. */
T_TEST(filled)
{
	struct one block = {0}, headers = {0};

	for (unsigned i = 0; i < 20; i++) {
		add(&block, REGION_CHUNK, 10 * i, 200, 0);
		/* what malloc and the kernel add comes at the end, on top of it */
		add(&headers, REGION_CHUNK, 10.2 * i, 190, 0);
	}
	block.s.from_start = headers.s.from_start = true;
	T_CHECK(!outgrowth_must_ask(&block.t, &block.s));
	T_EQ(find(&block), 0);
	T_EQ(find(&headers), 0);
	for (unsigned k = 0; k < 3; k++) {
		static const double kept_mib[] = {1, 180, -1};
		struct one before = {0};

		for (unsigned i = 0; i < 20; i++)
			add(&before, REGION_CHUNK, 10 + 10 * i, i * 0.1, 0);
		before.s.kept = kept_mib[k] * (1 << 20);
		T_CHECK(outgrowth_must_ask(&before.t, &before.s));
		T_EQ(find(&before), k > 0);
		T_STR(k == 0 ? "" : before.found[0].name, k == 0   ? ""
							  : k == 1 ? OUTGROWTH_KEPT
								   : OUTGROWTH_UNKNOWN);
	}
}

/* Steady, but less than what is named: it must be watched for longer. A step, or a file
 * that is read page by page, is not that. */
T_TEST(little)
{
	struct one steady = {0}, step = {0}, file = {0}, tiny = {0}, live = {0};
	struct one *all[] = {&steady, &step, &file, &tiny, &live};
	struct outgrowth g;

	for (unsigned i = 0; i < 40; i++) {
		add(&steady, REGION_MAPPING, 1 + i * 0.04, 1, 0);
		add(&step, REGION_MAPPING, i < 20 ? 1 : 2, 1, 0);
		add(&file, REGION_FILE, 1 + i * 0.04, 1, 0);
		add(&tiny, REGION_THREAD_STACK, 1 + i * 0.006, 1, 0);
		add(&live, REGION_MAPPING, 1 + i * 0.04, 1 + i * 0.04, 0);
	}
	for (unsigned i = 0; i < 5; i++)
		T_EQ(outgrowth_little(&all[i]->t, &all[i]->s, &g), i == 0);
	T_CHECK(outgrowth_little(&steady.t, &steady.s, &g));
	T_STR(g.name, "mappings");
	T_EQ((int)(fit_slope(&g.fit, NULL) * 1000 / (1 << 20) + 0.5), 40);
	T_EQ((int)outgrowth_seconds(&steady.t, &steady.s), 39);
	for (unsigned i = 0; i < 5; i++)
		T_EQ(find(all[i]), 0);
}

T_MAIN()
