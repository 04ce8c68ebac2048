/* SPDX-License-Identifier: MIT */
/* test_sample.c -- Poisson sampling: our own logarithm and exponential against libm's,
 * the distance between samples against its distribution, estimates against what was
 * allocated.
 *
 * Random states are fixed, so a run gives the same figures each time. Bounds are four
 * standard errors where one figure is looked at; where 200 sites are, their squared
 * errors as a whole. */
/* libs: m */
#include "t.h"

#include <math.h>
#include <stdint.h>

#include "guest/record/sample.h"

#define SITES 200

static double
relative(double is, double should)
{
	return fabs(is - should) / (should > 1e-300 ? should : 1);
}

T_TEST(neg_log_as_libm)
{
	double worst = 0;

	T_CHECK(sample_neg_log(1.0) == 0.0);
	for (unsigned i = 0; i < 1000000; i++) {
		double u = (i + 1) / 1000000.0;

		worst = fmax(worst, fabs(sample_neg_log(u) + log(u)));
	}
	for (int e = 0; e <= 53; e++) /* to the smallest that sample_next makes */
		for (double m = 0.5; m <= 1.0; m += 0x1p-10)
			worst = fmax(worst, fabs(sample_neg_log(ldexp(m, -e)) +
						 log(ldexp(m, -e))));
	printf("    worst by %.3g\n", worst);
	T_CHECK(worst < 1e-9);
	T_CHECK(worst > 0);
}

T_TEST(probability_as_libm)
{
	double worst = 0;

	T_CHECK(sample_probability(0.0) == 0.0);
	T_CHECK(sample_probability(41.0) == 1.0);
	for (double x = 1e-12; x < 100; x *= 1.00003)
		worst = fmax(worst, relative(sample_probability(x), -expm1(-x)));
	for (double x = 0; x < 45; x += 0x1p-14)
		worst = fmax(worst, relative(sample_probability(x), -expm1(-x)));
	printf("    worst by %.3g of it\n", worst);
	T_CHECK(worst < 1e-9);
	T_CHECK(worst > 0);
}

/* Rounded up, the distance is a geometric one: mean 1/p, variance (1-p)/p^2. */
static void
check_distances(uint64_t rate)
{
	enum { DRAWS = 1000000 };
	uint64_t state = UINT64_C(0x9e3779b97f4a7c15) ^ rate;
	double p = -expm1(-1.0 / (double)rate), mean = 1 / p, var = (1 - p) / (p * p);
	double sum = 0, squares = 0, got_mean, got_var;
	unsigned long least = UINT64_MAX, within = 0;

	for (unsigned i = 0; i < DRAWS; i++) {
		uint64_t d = sample_next(&state, rate);
		double off = (double)d - mean;

		sum += off;
		squares += off * off;
		least = d < least ? d : least;
		within += d <= rate;
	}
	got_mean = mean + sum / DRAWS;
	got_var = squares / DRAWS - sum / DRAWS * (sum / DRAWS);
	T_CHECK(least >= 1);
	T_CHECK(fabs(got_mean - mean) <= 4 * sqrt(var / DRAWS));
	/* the fourth central moment of an exponential is 9 var^2 (+ var for the
	 * rounding) */
	T_CHECK(fabs(got_var - var) <= 4 * sqrt((8 * var * var + var) / DRAWS));
	/* a block as large as the mean distance is caught with 1 - 1/e */
	p = -expm1(-1.0);
	T_CHECK(fabs((double)within - DRAWS * p) <= 4 * sqrt(DRAWS * p * (1 - p)));
}

T_TEST(distances_are_exponential)
{
	check_distances(1);
	check_distances(7);
	check_distances(1000);
	check_distances(512 << 10);
	check_distances(1 << 30);
}

/* Two seeds of the kernel's give two sequences, and never the state 0. */
T_TEST(states_seed_themselves)
{
	uint64_t a = 0, b = 0;
	unsigned same = 0;

	for (unsigned i = 0; i < 64; i++)
		same += sample_next(&a, 1 << 20) == sample_next(&b, 1 << 20);
	T_CHECK(a != 0 && b != 0 && a != b);
	T_CHECK(same < 4);
}

T_TEST(weights_of_the_extremes)
{
	struct sample_weight w = sample_weigh(1009, 1);

	T_EQ(w.bytes, 1009); /* every block is a sample */
	T_EQ(w.count, SAMPLE_COUNT_ONE);
	T_EQ(w.var, 0);
	w = sample_weigh(0, 512 << 10);
	T_EQ(w.bytes, 0);
	T_EQ(w.count, (uint64_t)(SAMPLE_COUNT_ONE * (524288 + 0.5) + 0.5));
	w = sample_weigh(UINT64_C(1) << 39, 4096); /* always caught */
	T_EQ(w.bytes, UINT64_C(1) << 39);
	T_EQ(w.count, SAMPLE_COUNT_ONE);
	T_EQ(w.var, 0);
	w = sample_weigh(1 << 20, 1 << 20); /* 1 / (1 - 1/e) = 1.5819767068693265 */
	T_EQ(w.bytes, 1658823);
	T_EQ(w.count, 1620);
	T_EQ(w.var, 247141436); /* (1658823 / 64)^2 / e */
}

/* One site: blocks of its sizes through one thread's countdown, as the hooks do it. */
struct site {
	uint64_t bytes, allocs; /* the truth */
	uint64_t est_bytes, est_allocs, var, samples;
};

static void
allocate(struct site *s, uint64_t bytes, uint64_t rate, uint64_t *left, uint64_t *state)
{
	struct sample_weight w;

	s->bytes += bytes;
	s->allocs++;
	if (bytes < *left) {
		*left -= bytes;
		return;
	}
	*left = sample_next(state, rate);
	w = sample_weigh(bytes, rate);
	s->est_bytes += w.bytes;
	s->est_allocs += w.count;
	s->var += w.var;
	s->samples++;
}

/* Sizes from 16 bytes to 1 MiB, of each site another mixture; sites take turns at
 * random. */
static uint64_t
size_at(unsigned site, uint64_t random)
{
	return 16 + random % ((UINT64_C(16) << site % 14) + site * 8);
}

static void
simulate(struct site *sites, uint64_t rate, unsigned long blocks)
{
	uint64_t state = 6700417 + rate, random = 2147483647;
	uint64_t left = sample_next(&state, rate);

	for (unsigned long i = 0; i < blocks; i++) {
		unsigned at;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		at = (unsigned)(random >> 40) % SITES;
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		allocate(&sites[at], size_at(at, random >> 24), rate, &left, &state);
	}
}

/* Errors in standard deviations: in total below 4; over the sites with enough samples
 * their mean below 4 of its own, and their mean square near 1. */
static void
check_unbiased(uint64_t rate, unsigned long blocks, unsigned least)
{
	static struct site sites[SITES];
	double total = 0, total_var = 0, sum = 0, squares = 0, counts = 0;
	unsigned used = 0;

	memset(sites, 0, sizeof sites);
	simulate(sites, rate, blocks);
	for (unsigned i = 0; i < SITES; i++) {
		const struct site *s = &sites[i];
		double off = (double)s->est_bytes - (double)s->bytes, z;

		total += off;
		total_var += (double)s->var * SAMPLE_VAR_UNIT * SAMPLE_VAR_UNIT;
		if (s->samples < least)
			continue;
		used++;
		z = off / (SAMPLE_VAR_UNIT * sqrt((double)s->var));
		sum += z;
		squares += z * z;
		/* as many calls, within a few of their own errors */
		counts += fabs((double)s->est_allocs / SAMPLE_COUNT_ONE -
			       (double)s->allocs) /
			  (double)s->allocs * sqrt((double)s->samples);
	}
	printf("    rate %lu: %u sites, error in total %.2f, mean %.3f, mean square %.3f, "
	       "counts %.2f\n",
	       (unsigned long)rate, used, total / sqrt(total_var), sum / used,
	       squares / used, counts / used);
	T_CHECK(used >= SITES / 2);
	T_CHECK(fabs(total) < 4 * sqrt(total_var));
	T_CHECK(fabs(sum / used) < 4 / sqrt(used));
	T_CHECK(fabs(squares / used - 1) < 4 * sqrt(2.0 / used));
	T_CHECK(counts / used < 1.5);
}

T_TEST(estimates_are_unbiased)
{
	check_unbiased(64 << 10, 4000000, 40);
	check_unbiased(8 << 10, 1000000, 40);
	check_unbiased(1000, 300000, 40);
}

/* At small distances the error must not be rounded away. */
T_TEST(errors_of_small_distances)
{
	check_unbiased(600, 300000, 40);
	check_unbiased(128, 300000, 40);
}

static struct sample_filter *
new_filter(void)
{
	struct sample_filter *f = calloc(1, sample_filter_bytes());

	sample_filter_init(f);
	return f;
}

T_TEST(filter_counts)
{
	struct sample_filter *f = new_filter();
	uintptr_t at = UINT64_C(0x7f0012345670), other = at;
	size_t slot = sample_slot(f, at);

	while (sample_slot(f, other) != slot || other == at)
		other += 16;
	for (unsigned i = 0; i < 7; i++)
		sample_filter_add(f, i % 2 == 0 ? at : other);
	T_EQ(f->slots[slot], 7);
	T_CHECK(!sample_is_none(f, at));
	T_CHECK(sample_is_none(f, at + 1024));
	for (unsigned i = 0; i < 5; i++)
		sample_filter_del(f, at);
	T_EQ(f->slots[slot], 2);
	sample_filter_del(f, other);
	sample_filter_del(f, other);
	T_EQ(f->slots[slot], 0);
	for (unsigned i = 0; i < SAMPLE_FILTER_SLOTS; i++)
		T_CHECK(f->slots[i] == 0);
	free(f);
}

/* What reached 255 no longer knows how many there are: it stays, and nothing is
 * overlooked. */
T_TEST(filter_saturates)
{
	struct sample_filter *f = new_filter();
	uintptr_t at = UINT64_C(0x55550000abc0);
	size_t slot = sample_slot(f, at);

	for (unsigned i = 0; i < 254; i++)
		sample_filter_add(f, at);
	sample_filter_del(f, at);
	T_EQ(f->slots[slot], 253);
	for (unsigned i = 0; i < 47; i++)
		sample_filter_add(f, at);
	T_EQ(f->slots[slot], 255);
	for (unsigned i = 0; i < 300; i++)
		sample_filter_del(f, at);
	T_EQ(f->slots[slot], 255);
	free(f);
}

/* 64 MiB of a heap have a slot for each KiB, and neighbours share cache lines. */
T_TEST(filter_follows_the_heap)
{
	static unsigned char met[SAMPLE_FILTER_SLOTS];
	struct sample_filter *f = new_filter();
	const uintptr_t heap = UINT64_C(0x7f3000123400);

	for (unsigned i = 0; i < SAMPLE_FILTER_SLOTS; i++)
		met[sample_slot(f, heap + i * UINT64_C(1024))]++;
	for (unsigned i = 0; i < SAMPLE_FILTER_SLOTS; i++)
		T_EQ(met[i], 1);
	for (unsigned i = 0; i < 1024; i += 16)
		T_EQ(sample_slot(f, heap + i), sample_slot(f, heap));
	T_EQ(sample_slot(f, heap + 1024), sample_slot(f, heap) + 1);
	free(f);
}

T_TEST(filters_of_one_slot)
{
	for (uintptr_t at = 16; at != 0; at <<= 1) {
		T_CHECK(!sample_is_none(&sample_all, at));
		T_CHECK(sample_is_none(&sample_none, at));
	}
}

T_MAIN()
