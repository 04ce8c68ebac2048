/* SPDX-License-Identifier: MIT */
/* test_growth_sim.c -- how often the rules of growth.h are right: 57 block histories,
 * stretched and thinned at random, at several lengths, recorded exactly and sampled. The
 * error rates are limits.
 *
 * `SEEP_TEST_VERBOSE=1` prints a line for each history. */
#include "t.h"

#include "growth_histories.h"
#include "shared/compiler.h"

/* ---- all of them ---- */

struct gh_history {
	const char *name;
	bool leaks;
	double from; /* no leak: from how many intervals on that can be known at all */
	void (*make)(struct gh *h, double a);
	double a;
};

static const struct gh_history gh_all[] = {
	{"steady leak", true, 0, gh_leak_steady, 20},
	{"slow steady leak", true, 0, gh_leak_steady, 0.5},
	{"loses 10 %", true, 0, gh_leak_tenth, 100},
	{"loses 1 %, short lives", true, 0, gh_leak_hundredth, 0.3},
	{"loses 1 %, long lives", true, 0, gh_leak_hundredth, 3},
	{"loses 0.1 %", true, 0, gh_leak_thousandth, 0.3},
	{"bursts of 30", true, 0, gh_leak_bursts, 8},
	{"one block now and then", true, 0, gh_leak_rare, 4},
	{"loses 2 % after its start", true, 0, gh_leak_after_start, 0.02},
	{"loses 2 %, load in cycles", true, 0, gh_leak_cycles, 0.02},
	{"loses 2 %, load doubles", true, 0, gh_leak_doubles, 0.02},
	{"loses 2 %, load halves", true, 0, gh_leak_halves, 0.02},
	{"batches lose 2 %", true, 0, gh_leak_batches, 5},
	{"LRU loses 1 %", true, 0, gh_leak_lru, 5},
	{"loses 2 %, of any size", true, 0, gh_leak_sizes, 0.02},
	{"second phase loses 5 %", true, 0, gh_leak_second_phase, 0.05},
	{"sessions lose 5 %", true, 0, gh_leak_sessions, 10},
	{"loses 1 %, lives 10 intervals", true, 0, gh_leak_long, 10},
	{"cache fills, tau 3", false, 3, gh_cache, 3},
	{"cache fills, tau 10", false, 10, gh_cache, 10},
	{"cache fills, tau 30", false, 30, gh_cache, 30},
	{"cache fills, tau 100", false, 100, gh_cache, 100},
	{"LRU full after 6", false, 7, gh_lru, 6},
	{"LRU full after 15", false, 18, gh_lru, 15},
	{"LRU full after 100", false, 115, gh_lru, 100},
	{"LRU whose entries get larger", false, 0, gh_lru_drifts, 6},
	{"warm-up, then flat", false, 0, gh_warm_up, 4},
	{"load cycle of 20", false, 20, gh_cycle, 20},
	{"load cycle of 50", false, 50, gh_cycle, 50},
	{"load cycle of 300", false, 300, gh_cycle, 300},
	{"batches of 3", false, 0, gh_batch, 3},
	{"batches of 12", false, 14, gh_batch, 12},
	{"batches of 40", false, 45, gh_batch, 40},
	{"pool of the highest load", false, 0, gh_pool_highest, 50},
	{"pool that ramps up", false, 40, gh_pool_ramp, 30},
	{"flat", false, 0, gh_flat, 1},
	{"lives of 10 intervals", false, 20, gh_long_lives, 10},
	{"TTL 5", false, 6, gh_ttl, 5},
	{"TTL 25", false, 29, gh_ttl, 25},
	{"TTL 100", false, 115, gh_ttl, 100},
	{"TTL 25, some replaced", false, 29, gh_ttl_replaces, 25},
	{"TTL 100, some replaced", false, 115, gh_ttl_replaces, 100},
	{"two levels", false, 0, gh_two_levels, 0.6},
	{"five steps", false, 0, gh_five_steps, 100},
	{"vector doubles", false, 0, gh_doubling, 0},
	{"64 shards double", false, 1e9, gh_shards, 64},
	{"arena chunks double", false, 1e9, gh_doubling, 1},
	{"log buffer", false, 11, gh_log_buffer, 10},
	{"queue near saturation", false, 0, gh_saturated, 0.95},
	{"flat with spikes", false, 0, gh_spikes, 10},
	{"intern table, root", false, 0, gh_intern, 0.5},
	{"intern table, t^0.8", false, 1e9, gh_intern, 0.8},
	{"worker frees all every 150", false, 170, gh_worker, 150},
	{"heavy tail 1.5", false, 0, gh_pareto, 1.5},
	{"heavy tail 1.1", false, 0, gh_pareto, 1.1},
	{"fills up to 60 %", false, 0, gh_fill_linear, 0.6},
	{"fills up to 85 %", false, 0, gh_fill_linear, 0.85},
};

/* ---- how often they are right ---- */

enum class { LEAKS, DECIDABLE, UNDECIDABLE, CLASSES };

/* In percent. */
struct rates {
	double leak, growing;
	unsigned runs;
};

static const char *const class_names[] = {"leaks", "decidable", "undecidable"};

static struct growth_verdict
judge(const struct gh_history *x, unsigned intervals, double sampled, uint64_t seed,
      enum class *ret_class)
{
	struct gh h;

	gh_begin(&h, intervals, sampled, seed);
	x->make(&h, x->a);
	*ret_class = x->leaks ? LEAKS : h.n >= x->from ? DECIDABLE : UNDECIDABLE;
	return gh_judge(&h);
}

static void
count(struct rates *r, const struct growth_verdict *v)
{
	r->leak += v->word == GROWTH_LEAK;
	r->growing += v->word == GROWTH_GROWING;
	r->runs++;
}

static void
percent(struct rates *r)
{
	r->leak = r->runs > 0 ? 100 * r->leak / r->runs : 0;
	r->growing = r->runs > 0 ? 100 * r->growing / r->runs : 0;
}

static void
simulate(unsigned intervals, double sampled, unsigned runs, struct rates rates[CLASSES])
{
	bool verbose = getenv("SEEP_TEST_VERBOSE") != NULL;

	memset(rates, 0, CLASSES * sizeof *rates);
	for (unsigned i = 0; i < ARRAY_LEN(gh_all); i++) {
		struct rates own[CLASSES] = {0};

		for (unsigned k = 0; k < runs; k++) {
			uint64_t seed =
				(uint64_t)(i + 1) * 1000003 + k * 7919 + intervals;
			enum class class;
			struct growth_verdict v =
				judge(&gh_all[i], intervals, sampled, seed, &class);

			count(&rates[class], &v);
			count(&own[class], &v);
		}
		for (unsigned c = 0; c < CLASSES && verbose; c++) {
			percent(&own[c]);
			if (own[c].runs > 0)
				printf("    %4u %4.1f %-32s %-11s %3.0f/%-3.0f of %u\n",
				       intervals, sampled, gh_all[i].name, class_names[c],
				       own[c].leak, own[c].growing, own[c].runs);
		}
	}
	for (unsigned c = 0; c < CLASSES; c++) {
		percent(&rates[c]);
		printf("    %4u intervals, %s, %s: LEAK %.1f, GROWING %.1f of %u\n",
		       intervals, sampled < 1 ? "1 in 10" : "exact", class_names[c],
		       rates[c].leak, rates[c].growing, rates[c].runs);
	}
}

/* What a simulation must show, in percent. */
struct limits {
	unsigned intervals, runs;
	double found;			    /* leaks, at least */
	double false_alarms, not_yet_known; /* no leaks called one, at most */
};

static void
check(const struct limits *l, double sampled)
{
	struct rates r[CLASSES];

	simulate(l->intervals, sampled, l->runs, r);
	T_CHECK(r[LEAKS].leak >= l->found);
	T_CHECK(r[DECIDABLE].leak <= l->false_alarms);
	T_CHECK(r[UNDECIDABLE].leak <= l->not_yet_known);
}

/* Two of the 18 leaks never free anything: they are GROWING at any length. */
T_TEST(exact)
{
	static const struct limits limits[] = {
		{10, 24, 28, 1, 6},
		{20, 24, 38, 1, 6},
		{60, 24, 53, 1, 6},
		{600, 6, 83, 1, 6},
	};

	for (unsigned i = 0; i < ARRAY_LEN(limits); i++)
		check(&limits[i], 1);
}

/* At 10 intervals a leak has brought some ten samples. */
T_TEST(sampled)
{
	static const struct limits limits[] = {
		{10, 24, 2, 1.5, 6},
		{20, 24, 11, 1.5, 6},
		{60, 12, 35, 1.5, 6},
		{600, 3, 75, 1.5, 6},
	};

	for (unsigned i = 0; i < ARRAY_LEN(limits); i++)
		check(&limits[i], 0.1);
}

/* A site that loses one block in 100, at full rate: 10 lost blocks an interval. Its
 * blocks live for 0.3 intervals, or for 3. A leak shows once about 15 lifetimes have
 * passed. */
T_TEST(one_in_a_hundred)
{
	static const struct {
		double life;
		unsigned intervals, least, most; /* of 12 runs */
	} rows[] = {{0.3, 10, 12, 12}, {0.3, 60, 12, 12}, {3, 10, 0, 0}, {3, 70, 11, 12}};

	for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
		unsigned found = 0;

		for (unsigned k = 0; k < 12; k++) {
			struct gh h;

			gh_begin(&h, rows[i].intervals, 1, 101 * (k + 1));
			h.n = rows[i].intervals;
			h.scale = h.share = 1;
			gh_leak_hundredth(&h, rows[i].life);
			found += gh_judge(&h).word == GROWTH_LEAK;
		}
		if (found < rows[i].least || found > rows[i].most)
			T_EQ(found, rows[i].least);
	}
}

T_MAIN()
