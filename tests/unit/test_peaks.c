/* SPDX-License-Identifier: MIT */
/* test_peaks.c -- peaks of sampled recordings, simulated: how often the true peak is
 * within two of the stated errors, and how far off the figure is on average.
 *
 * Every block is sampled by itself, as the recorder does it. A history is a number of
 * sites; each fills a ring of blocks and then replaces the oldest one again and again,
 * `turns` times over. All have their highest level at the same time, so the true peak is
 * the sum of the rings. The seed is fixed: the test gives the same figures every time. */
#include <math.h>
#include <stdlib.h>

#include "t.h"
#include "tool/model/peaks.h"

enum { RATE = 512 << 10, SITES_MAX = 64, RUNS = 200 };

struct history {
	const char *name;
	struct ring {
		unsigned sites, blocks, bytes; /* so many sites with such a ring */
		double turns;		       /* 0: filled once */
	} rings[2];
	/* the recorder's own figure is too high by this many errors of a single
	 * estimate */
	double raw_at_least;
	double within; /* share of the runs that must be within two stated errors */
};

static uint64_t state;

static double
uniform(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return ((double)(state * UINT64_C(0x2545F4914F6CDD1D) >> 11) + 1) * 0x1p-53;
}

struct sim_site {
	const struct ring *ring;
	bool *sampled;
	uint64_t done, all; /* allocations */
	uint64_t samples;
	int64_t live, at_peak, own_peak; /* in samples */
};

/* One site allocates one block. */
static void
step(struct sim_site *s, double p, int64_t *live)
{
	bool *slot = &s->sampled[s->done++ % s->ring->blocks];

	s->live -= *slot;
	*live -= *slot;
	*slot = uniform() < p;
	s->live += *slot;
	*live += *slot;
	s->samples += *slot;
	if (s->live > s->own_peak)
		s->own_peak = s->live;
}

/* All sites go on at a pace by which they end together. Returns the peak in bytes that
 * the recorder would note; blocks of one history that are of one size stand for the same
 * number of bytes. */
static void
simulate(struct sim_site *sites, unsigned n, double p, int64_t *ret_peak)
{
	uint64_t steps = 0;
	int64_t live = 0, peak = 0;

	for (unsigned i = 0; i < n; i++)
		steps = sites[i].all > steps ? sites[i].all : steps;
	for (uint64_t t = 1; t <= steps; t++) {
		for (unsigned i = 0; i < n; i++) {
			struct sim_site *s = &sites[i];

			while (s->done < s->all && s->done * steps < t * s->all)
				step(s, p, &live);
		}
		if (live <= peak)
			continue;
		peak = live;
		for (unsigned i = 0; i < n; i++)
			sites[i].at_peak = sites[i].live;
	}
	*ret_peak = peak;
}

/* One run: what is stated, as errors off the truth; and as the recorder noted it, in
 * errors of one estimate. */
static void
run(const struct history *h, double *ret_off, double *ret_raw)
{
	struct sim_site sites[SITES_MAX] = {0};
	struct prof *p = prof_new();
	uint32_t process = prof_add_process(p);
	double truth = 0, weight, chance;
	unsigned n = 0;
	int64_t peak;

	chance = -expm1(-(double)h->rings[0].bytes / RATE);
	weight = h->rings[0].bytes / chance;
	for (unsigned k = 0; k < 2; k++) {
		const struct ring *r = &h->rings[k];

		for (unsigned i = 0; i < r->sites; i++, n++) {
			sites[n] = (struct sim_site){
				.ring = r,
				.sampled = calloc(r->blocks, sizeof(bool)),
				.all = (uint64_t)((1 + r->turns) * r->blocks)};
			truth += (double)r->blocks * r->bytes;
		}
	}
	simulate(sites, n, chance, &peak);
	p->processes[process].mode = PROF_SAMPLED;
	p->processes[process].rate_bytes = RATE;
	p->processes[process].peak_bytes = (int64_t)((double)peak * weight);
	for (unsigned i = 0; i < n; i++) {
		uint32_t row = prof_add_site(p);
		struct prof_site *s = &p->sites[row];

		s->process = process;
		s->samples = sites[i].samples;
		s->allocs = (uint64_t)((double)s->samples / chance);
		s->alloc_bytes = (uint64_t)((double)s->samples * weight);
		s->frees = s->allocs;
		s->free_bytes = s->alloc_bytes;
		s->var_alloc_bytes = (double)s->samples * weight * weight * (1 - chance);
		s->at_peak_bytes = (int64_t)((double)sites[i].at_peak * weight);
		s->at_peak_blocks = (int64_t)((double)sites[i].at_peak / chance);
		s->peak_bytes = (int64_t)((double)sites[i].own_peak * weight);
		free(sites[i].sampled);
	}
	*ret_raw =
		((double)p->processes[process].peak_bytes - truth) / sqrt(truth * weight);
	peaks_correct(p, process);
	*ret_off = ((double)p->processes[process].peak_bytes - truth) /
		   (double)p->processes[process].peak_error_bytes;
	prof_free(p);
}

static const struct history histories[] = {
	{"filled once", {{1, 20480, 1024, 0}}, -0.5, 0.93},
	{"replaced once", {{1, 20480, 1024, 1}}, 0.5, 0.95},
	{"replaced 20 times", {{1, 20480, 1024, 20}}, 2, 0.99},
	{"small and replaced 500 times", {{1, 2048, 1024, 500}}, 3, 0.99},
	{"less than one sample", {{1, 128, 1024, 4000}}, 4, 0.99},
	{"blocks larger than the rate", {{1, 20, 2 << 20, 200}}, -0.5, 0.95},
	{"many sites", {{60, 512, 1024, 50}}, 2, 0.99},
	{"stays, and something comes and goes",
	 {{8, 4096, 1024, 0}, {1, 64, 1024, 2000}},
	 -0.5,
	 0.93},
};

T_TEST(simulated_peaks)
{
	state = 7;
	for (unsigned i = 0; i < sizeof histories / sizeof histories[0]; i++) {
		const struct history *h = &histories[i];
		double off, raw, mean = 0, mean_raw = 0;
		unsigned within = 0;

		for (unsigned k = 0; k < RUNS; k++) {
			run(h, &off, &raw);
			within += fabs(off) <= 2;
			mean += off / RUNS;
			mean_raw += raw / RUNS;
		}
		if (getenv("SEEP_TEST_VERBOSE") != NULL)
			printf("%-36s noted %+.2f errors too high, stated %+.2f; within two: %.3f\n",
			       h->name, mean_raw, mean, within / (double)RUNS);
		if (within < h->within * RUNS || fabs(mean) > 1 ||
		    mean_raw < h->raw_at_least)
			T_FAIL("%s: noted %+.2f, stated %+.2f, within two errors %.3f",
			       h->name, mean_raw, mean, within / (double)RUNS);
	}
}

T_TEST(floors)
{
	T_CHECK(peaks_floor(0, 0) == 0);
	T_CHECK(peaks_floor(40, 40) == 40); /* nothing was replaced */
	T_CHECK(peaks_floor(1, 100) == 0);
	T_CHECK(peaks_floor(100, 10000) > 60 && peaks_floor(100, 10000) < 75);
	for (double n = 1; n < 1e6; n *= 3) {
		double last = n;

		for (double drawn = n; drawn < 1e12; drawn *= 3) {
			double floor = peaks_floor(n, drawn);

			T_CHECK(floor >= 0 && floor <= last * (1 + 1e-9));
			last = floor;
		}
	}
}

/* 40 samples at the peak, most of them replaced often, and 38 at the end, which is more
 * than what is left of the peak: so the peak is at the end, for the process, its site and
 * the site's share. */
T_TEST(highest_at_the_end)
{
	struct prof *p = prof_new();
	uint32_t process = prof_add_process(p), row = prof_add_site(p);
	struct prof_process *pr = &p->processes[process];
	struct prof_site *s = &p->sites[row];

	pr->mode = PROF_SAMPLED;
	pr->rate_bytes = RATE;
	pr->duration_ms = 54800;
	pr->peak_ms = s->peak_ms = 46400;
	s->process = process;
	s->samples = 4000;
	s->allocs = 4000;
	s->alloc_bytes = 4000 * (uint64_t)RATE;
	s->var_alloc_bytes = 4000.0 * RATE * RATE;
	pr->peak_bytes = s->at_peak_bytes = s->peak_bytes = 40 * (int64_t)RATE;
	pr->live_bytes = s->live_bytes = 38 * (int64_t)RATE;
	s->at_peak_blocks = 40;
	s->live_blocks = 38;
	peaks_correct(p, process);
	T_EQ(pr->peak_bytes, 38 * (int64_t)RATE);
	T_EQ(pr->peak_ms, 54800);
	T_EQ(s->peak_ms, 54800);
	T_EQ(s->at_peak_bytes, 38 * (int64_t)RATE);
	T_EQ(s->at_peak_blocks, 38);
	prof_free(p);
}

T_TEST(what_it_leaves_alone)
{
	struct prof *p = prof_new();
	uint32_t process = prof_add_process(p);

	p->processes[process].mode = PROF_EXACT;
	p->processes[process].peak_bytes = 4711;
	peaks_correct(p, process);
	T_EQ(p->processes[process].peak_bytes, 4711);
	T_EQ(p->processes[process].peak_error_bytes, 0);
	/* A damaged file: a peak, and no site behind it. */
	p->processes[process].mode = PROF_SAMPLED;
	p->processes[process].live_bytes = INT64_MIN;
	peaks_correct(p, process);
	T_EQ(p->processes[process].peak_bytes, 4711);
	prof_free(p);
}

T_MAIN()
