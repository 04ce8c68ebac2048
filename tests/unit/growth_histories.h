/* SPDX-License-Identifier: MIT */
/* growth_histories.h -- block histories of one allocation site: 18 that leak, 37 that do
 * not.
 *
 * A history says of every block when it is born, when it dies and how large it is. Time
 * is counted in intervals. What a recorder would have seen of it becomes the figures of
 * growth.h: blocks from before the recording are not seen at all, and with sampling only
 * some of the others. Include it once, in the test's own .c. */
#ifndef SEEP_TESTS_GROWTH_HISTORIES_H
#define SEEP_TESTS_GROWTH_HISTORIES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/growth/growth.h"
#include "tool/util/x.h"

enum {
	GH_LOOKS_MAX = 40,
	GH_INTERVAL_MS = 1000,
	GH_SIZE = 64,
};

/* A history under way: random numbers, and the recorder that watches it. */
struct gh {
	uint64_t seed;
	double n;	/* length of the history, in its own intervals */
	double scale;	/* recorded intervals in one of these */
	double share;	/* of its blocks that are made at all */
	double sampled; /* probability that a block of GH_SIZE is taken; 1 = exact */
	unsigned intervals;
	double *bytes; /* by interval: how much comes, less what goes */
	int64_t *allocs, *frees;
	struct growth g;
	double var;
	uint64_t samples;
};

static double
gh_uniform(struct gh *h)
{
	h->seed ^= h->seed << 13;
	h->seed ^= h->seed >> 7;
	h->seed ^= h->seed << 17;
	return (double)((h->seed * UINT64_C(2685821657736338717)) >> 11) /
	       9007199254740992.0;
}

static double
gh_exp(struct gh *h, double mean)
{
	return -mean * log(1 - gh_uniform(h));
}

static double
gh_normal(struct gh *h, double mean, double sd)
{
	double r = sqrt(-2 * log(1 - gh_uniform(h)));

	return mean + sd * r * cos(2 * M_PI * gh_uniform(h));
}

/* ---- what the recorder sees ---- */

static void
gh_free_seen(struct gh *h, double born, double dies, double bytes)
{
	uint64_t ms = (uint64_t)((dies - born) * GH_INTERVAL_MS);
	unsigned at = (unsigned)dies, bucket = 0;

	if (ms > 0)
		bucket = 64 - (unsigned)__builtin_clzll(ms);
	h->g.freed[bucket < GROWTH_AGES ? bucket : GROWTH_AGES - 1]++;
	at = at < h->intervals ? at : h->intervals - 1;
	h->frees[at]++;
	h->bytes[at] -= bytes;
}

/* A block; dies = INFINITY: never. */
static void
gh_block(struct gh *h, double born, double dies, double size)
{
	double rate, taken = 1, end = h->intervals;
	uint64_t ms;

	born *= h->scale;
	dies *= h->scale;
	if (born < 0 || born >= end || gh_uniform(h) >= h->share)
		return;
	if (h->sampled < 1) {
		rate = -GH_SIZE / log(1 - h->sampled);
		taken = -expm1(-size / rate);
		if (gh_uniform(h) >= taken)
			return;
		h->samples++;
		h->var += size / taken * (size / taken) * (1 - taken);
	}
	ms = (uint64_t)(born * GH_INTERVAL_MS);
	if (ms < h->g.first_ms)
		h->g.first_ms = ms;
	h->allocs[(unsigned)born]++;
	h->bytes[(unsigned)born] += size / taken;
	if (dies <= end)
		gh_free_seen(h, born, dies, size / taken);
	else
		growth_add_birth(&h->g, ms, size / taken);
}

static int
gh_compare(const void *pa, const void *pb)
{
	const struct growth_birth *a = pa, *b = pb;

	return a->ms < b->ms ? -1 : a->ms > b->ms;
}

/* A snapshot an interval. Of several, as many as it takes to have at most GH_LOOKS_MAX,
 * the lowest is kept; but the last is the end. */
static void
gh_snapshots(struct gh *h)
{
	struct growth_point now = {0}, low = {0};
	unsigned every = 1;
	double bytes = 0;

	while (h->intervals / every > GH_LOOKS_MAX)
		every *= 2;
	for (unsigned i = 0; i < h->intervals; i++) {
		bytes += h->bytes[i];
		now.bytes = (int64_t)(bytes + 0.5);
		now.allocs += h->allocs[i];
		now.frees += h->frees[i];
		now.ms = (uint64_t)(i + 1) * GH_INTERVAL_MS;
		if (i % every == 0 || now.bytes < low.bytes || i + 1 == h->intervals)
			low = now;
		low.ms = now.ms;
		if (i % every == every - 1 || i + 1 == h->intervals)
			growth_add(&h->g, &low);
	}
}

static void
gh_begin(struct gh *h, unsigned intervals, double sampled, uint64_t seed)
{
	*h = (struct gh){.seed = seed * UINT64_C(0x9e3779b97f4a7c15) | 1,
			 .intervals = intervals,
			 .sampled = sampled};
	for (unsigned i = 0; i < 20; i++)
		gh_uniform(h);
	h->n = floor(intervals * exp(log(0.4) + gh_uniform(h) * log(2.5 / 0.4)));
	h->n = h->n > 4 ? h->n : 4;
	h->scale = intervals / h->n;
	h->share = 0.3 + 0.7 * gh_uniform(h);
	h->bytes = xcalloc(intervals, sizeof *h->bytes);
	h->allocs = xcalloc(intervals, sizeof *h->allocs);
	h->frees = xcalloc(intervals, sizeof *h->frees);
	growth_begin(&h->g, 0);
	h->g.first_ms = UINT64_MAX;
}

/* The verdict, once all blocks are told. */
static struct growth_verdict
gh_judge(struct gh *h)
{
	struct growth_verdict v;

	for (unsigned i = GROWTH_AGES - 1; i > 0; i--)
		h->g.freed[i - 1] += h->g.freed[i];
	gh_snapshots(h);
	if (h->samples > 0)
		h->g.sample_var = h->var / (double)h->samples;
	if (h->g.births.len > 1)
		qsort(h->g.births.data, h->g.births.len, sizeof *h->g.births.data,
		      gh_compare);
	v = growth_judge(&h->g);
	growth_done(&h->g);
	free(h->bytes);
	free(h->allocs);
	free(h->frees);
	return v;
}

/* ---- building blocks ---- */

/* Blocks that come at random and live for about `life`, but for a share that is lost. */
static void
gh_churn(struct gh *h, double rate, double from, double to, double life, double lost)
{
	for (double t = from + gh_exp(h, 1 / rate); t < to; t += gh_exp(h, 1 / rate)) {
		double dies = gh_uniform(h) < lost ? INFINITY : t + gh_exp(h, life);

		gh_block(h, t, dies, GH_SIZE);
	}
}

static void
gh_keep(struct gh *h, double rate, double from, double to)
{
	gh_churn(h, rate, from, to, 1, 1);
}

static void
gh_burst(struct gh *h, double at, unsigned blocks, double within, double life)
{
	for (unsigned i = 0; i < blocks; i++) {
		double t = at + gh_uniform(h) * within;

		gh_block(h, t, t + life, GH_SIZE);
	}
}

/* ---- leaks ---- */

static void
gh_leak_steady(struct gh *h, double rate)
{
	gh_keep(h, rate, 0, h->n);
}

static void
gh_leak_tenth(struct gh *h, double a)
{
	gh_churn(h, a, 0, h->n, 0.3, 0.1);
}

static void
gh_leak_hundredth(struct gh *h, double life)
{
	gh_churn(h, 1000, life > 1 ? -15 : 0, h->n, life, 0.01);
}

static void
gh_leak_thousandth(struct gh *h, double life)
{
	gh_churn(h, 1000, 0, h->n, life, 0.001);
}

static void
gh_leak_bursts(struct gh *h, double every)
{
	gh_churn(h, 100, 0, h->n, 0.3, 0);
	for (double t = gh_exp(h, every); t < h->n; t += gh_exp(h, every))
		gh_burst(h, t, 30, 0.02, INFINITY);
}

static void
gh_leak_rare(struct gh *h, double every)
{
	gh_churn(h, 100, 0, h->n, 0.3, 0);
	gh_keep(h, 1 / every, 0, h->n);
}

static void
gh_leak_after_start(struct gh *h, double lost)
{
	gh_keep(h, 200, 0, 0.1 * h->n);
	gh_churn(h, 300, 0.3 * h->n, h->n, 0.3, lost);
}

/* Load that changes: `least` and `most` blocks an interval, as `shape` says from 0 to
 * 1. */
static void
gh_load(struct gh *h, double least, double most, double life, double lost,
	double (*shape)(double t, double n))
{
	for (double t = gh_exp(h, 1 / most); t < h->n; t += gh_exp(h, 1 / most)) {
		double load = least + (most - least) * shape(t, h->n);

		if (gh_uniform(h) * most < load)
			gh_block(h, t,
				 gh_uniform(h) < lost ? INFINITY : t + gh_exp(h, life),
				 GH_SIZE);
	}
}

static double
gh_wave_50(double t, double n)
{
	(void)n;
	return 0.5 + 0.5 * sin(t * 2 * M_PI / 50);
}

static double
gh_ramp(double t, double n)
{
	return t / n;
}

static double
gh_fall(double t, double n)
{
	return 1 - t / n;
}

static void
gh_leak_cycles(struct gh *h, double lost)
{
	gh_load(h, 60, 540, 0.5, lost, gh_wave_50);
}

static void
gh_leak_doubles(struct gh *h, double lost)
{
	gh_load(h, 200, 400, 0.3, lost, gh_ramp);
}

static void
gh_leak_halves(struct gh *h, double lost)
{
	gh_load(h, 200, 400, 0.3, lost, gh_fall);
}

/* Freed when their batch ends. */
static void
gh_batches(struct gh *h, double rate, double per, double lost)
{
	for (double t = gh_exp(h, 1 / rate); t < h->n; t += gh_exp(h, 1 / rate))
		gh_block(h, t,
			 gh_uniform(h) < lost ? INFINITY : (floor(t / per) + 1) * per,
			 GH_SIZE);
}

static void
gh_leak_batches(struct gh *h, double per)
{
	gh_batches(h, 100, per, 0.02);
}

/* Freed by age, as in a queue of fixed length: after `life`, give or take `sd`. */
static void
gh_queue(struct gh *h, double rate, double from, double life, double sd, double lost)
{
	for (double t = from + gh_exp(h, 1 / rate); t < h->n; t += gh_exp(h, 1 / rate))
		gh_block(h, t,
			 gh_uniform(h) < lost ? INFINITY
					      : t + fabs(gh_normal(h, life, sd)),
			 GH_SIZE);
}

static void
gh_leak_lru(struct gh *h, double life)
{
	gh_queue(h, 200, -10, life, 0.3, 0.01);
}

static void
gh_leak_sizes(struct gh *h, double lost)
{
	for (double t = gh_exp(h, 1 / 300.0); t < h->n; t += gh_exp(h, 1 / 300.0))
		gh_block(h, t, gh_uniform(h) < lost ? INFINITY : t + gh_exp(h, 0.3),
			 ceil(GH_SIZE * exp(gh_normal(h, 0, 2))));
}

static void
gh_leak_second_phase(struct gh *h, double lost)
{
	gh_churn(h, 100, 0, 0.4 * h->n, 0.3, 0);
	gh_churn(h, 100, 0.4 * h->n, h->n, 0.3, lost);
}

static void
gh_leak_sessions(struct gh *h, double life)
{
	gh_churn(h, 50, -40, h->n, life, 0.05);
}

static void
gh_leak_long(struct gh *h, double life)
{
	gh_churn(h, 500, 0, h->n, life, 0.01);
}

/* ---- no leaks ---- */

static void
gh_cache(struct gh *h, double tau)
{
	double full = 1 - exp(-h->n / tau);

	for (double u = gh_exp(h, 1 / 2000.0); u < full; u += gh_exp(h, 1 / 2000.0))
		gh_block(h, -tau * log(1 - u), INFINITY, GH_SIZE);
}

static void
gh_lru(struct gh *h, double life)
{
	gh_queue(h, 50, 0, life, life * 0.03, 0);
}

static void
gh_lru_drifts(struct gh *h, double life)
{
	for (double t = -20 + gh_exp(h, 0.02); t < h->n; t += gh_exp(h, 0.02))
		gh_block(h, t, t + gh_normal(h, life, 0.3),
			 ceil(GH_SIZE * (1 + 0.2 * (t > 0 ? t : 0) / h->n) *
			      exp(gh_normal(h, 0, 0.3))));
}

static void
gh_warm_up(struct gh *h, double until)
{
	gh_keep(h, 100, 0, until);
	gh_churn(h, 50, 0, h->n, 0.5, 0);
}

static void
gh_cycle(struct gh *h, double per)
{
	for (double t = gh_exp(h, 1 / 180.0); t < h->n; t += gh_exp(h, 1 / 180.0)) {
		if (gh_uniform(h) * 180 < 100 * (1 + 0.8 * sin(t * 2 * M_PI / per - 1.5)))
			gh_block(h, t, t + gh_exp(h, 1), GH_SIZE);
	}
}

static void
gh_batch(struct gh *h, double per)
{
	gh_batches(h, 60, per, 0);
}

static void
gh_pool_highest(struct gh *h, double mean)
{
	double pooled = 0;

	for (unsigned i = 0; i < h->n; i++) {
		double load = floor(fabs(gh_normal(h, mean, 12))), at = i + gh_uniform(h);

		for (; pooled < load; pooled++)
			gh_block(h, at, INFINITY, GH_SIZE);
	}
}

static void
gh_pool_ramp(struct gh *h, double until)
{
	gh_keep(h, 10, 0, until < h->n ? until : h->n);
	gh_churn(h, 50, 0, h->n, 0.3, 0);
}

static void
gh_flat(struct gh *h, double life)
{
	gh_churn(h, 100, -8, h->n, life, 0);
}

static void
gh_long_lives(struct gh *h, double life)
{
	gh_churn(h, 20, 0, h->n, life, 0);
}

static void
gh_ttl(struct gh *h, double life)
{
	gh_queue(h, 30, 0, life, 0, 0);
}

/* A cache whose site also makes what is replaced soon: one block in six. */
static void
gh_ttl_replaces(struct gh *h, double life)
{
	gh_queue(h, 30, 0, life, 0, 0);
	gh_churn(h, 6, 0, h->n, 0.3, 0);
}

static void
gh_two_levels(struct gh *h, double at)
{
	gh_keep(h, 400, 0, 1);
	gh_keep(h, 400, at * h->n, at * h->n + 1);
	gh_churn(h, 50, 0, h->n, 0.3, 0);
}

static void
gh_five_steps(struct gh *h, double blocks)
{
	static const double at[] = {0.1, 0.25, 0.5, 0.6, 0.85};

	for (unsigned i = 0; i < 5; i++)
		gh_burst(h, at[i] * h->n, (unsigned)blocks, 0.05, INFINITY);
	gh_churn(h, 50, 0, h->n, 0.3, 0);
}

/* One array that doubles; or chunks that double and are all kept. */
static void
gh_doubling(struct gh *h, double kept)
{
	double size = GH_SIZE;

	for (double t = 0.01; t < h->n; t *= 2, size *= 2)
		gh_block(h, t, kept > 0 || 2 * t >= h->n ? INFINITY : 2 * t, size);
}

static void
gh_shards(struct gh *h, double shards)
{
	for (unsigned i = 0; i < shards; i++) {
		double size = 256, t = gh_exp(h, 0.5), next;

		for (; t < h->n; t = next, size *= 2) {
			next = t * (1.6 + 0.8 * gh_uniform(h));
			gh_block(h, t, next < h->n ? next : INFINITY, size);
		}
	}
}

static void
gh_log_buffer(struct gh *h, double per)
{
	for (double t = gh_exp(h, 1 / 40.0); t < h->n; t += gh_exp(h, 1 / 40.0))
		gh_block(h, t, ceil(t / per + 0.02 * gh_uniform(h)) * per, GH_SIZE);
}

/* A server that is busy for most of the time. */
static void
gh_saturated(struct gh *h, double busy)
{
	double last = 0;

	for (double t = gh_exp(h, 0.025); t < h->n; t += gh_exp(h, 0.025)) {
		last = (t > last ? t : last) + gh_exp(h, 0.025 * busy);
		gh_block(h, t, last, GH_SIZE);
	}
}

static void
gh_spikes(struct gh *h, double every)
{
	gh_churn(h, 100, -5, h->n, 0.5, 0);
	for (double t = gh_exp(h, every); t < h->n; t += gh_exp(h, every))
		gh_burst(h, t, 300, 0, 0.7);
}

static void
gh_intern(struct gh *h, double power)
{
	double rate = 60 * pow(h->n, power);

	for (double u = gh_exp(h, 1 / rate); u < 1; u += gh_exp(h, 1 / rate))
		gh_block(h, h->n * pow(u, 1 / power), INFINITY, GH_SIZE);
}

static void
gh_worker(struct gh *h, double per)
{
	gh_batches(h, 20, per, 0);
}

static void
gh_pareto(struct gh *h, double shape)
{
	double from = shape > 1.3 ? -20 : 0;

	for (double t = from + gh_exp(h, 0.01); t < h->n; t += gh_exp(h, 0.01))
		gh_block(h, t, t + 0.1 * pow(1 - gh_uniform(h), -1 / shape), GH_SIZE);
}

static void
gh_fill_linear(struct gh *h, double until)
{
	gh_keep(h, 30, 0, until * h->n);
}

#endif
