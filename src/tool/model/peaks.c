/* SPDX-License-Identifier: MIT */
/* peaks.c -- the peak of a sampled recording, corrected for being the highest of many
 * estimates (peaks.h).
 *
 * Live memory is estimated by samples, whose number goes up and down by chance. The
 * recorder notes the highest sum that it sees. If blocks come and go while live memory
 * stays flat, that is the highest of many draws: too high by several standard errors. If
 * memory rises to its peak once, it is a single draw and right on average. The recording
 * does not say which of the two it was, so the middle is taken, with an error that
 * reaches both ends.
 *
 * The lower end: live memory is flat, with L samples on average, and F samples were drawn
 * in all. Each finds n - 1 others with Poisson's probability of mean L, so n are seen
 * together about F * Pois(n - 1; L) times, in clumps, of which there are 1 - L/n as many.
 * L is where the median of the maximum is n. With few turnovers that has no solution;
 * then the maximum is up to two standard errors too high, by the share that was replaced.
 *
 * Sites are grouped by how often their blocks are replaced: memory that stays adds no
 * chances of its own. */
#include "tool/model/peaks.h"

#include <math.h>

enum {
	/* of sites: replaced fewer than 2 times, 16, 128, 1024 times, and more */
	GROUPS = 5,
	GROUP_FIRST = 2,
	GROUP_STEP = 8,
	HALVINGS = 60,
};

struct group {
	double samples, drawn, bytes; /* at the peak, in all, and bytes at the peak */
	double var;		      /* of these bytes */
	double high;		      /* bytes that the peak may be too high by */
};

/* How often n samples are seen together, as its logarithm; see above. Highest at n -
 * sqrt(n). */
static double
log_clumps(double samples, double drawn, double mean)
{
	int sign;

	return log(drawn) + log1p(-mean / samples) - mean + (samples - 1) * log(mean) -
	       lgamma_r(samples, &sign);
}

double
peaks_floor(double samples, double drawn)
{
	double root = sqrt(samples), low = 0, high = samples - root, part;

	if (samples < 1 || drawn <= samples)
		return samples;
	part = samples - 2 * root * (1 - samples / drawn);
	if (part < 0)
		part = 0;
	if (high <= 0) /* a single sample: any mean below it */
		return 0;
	if (log_clumps(samples, drawn, high) < log(M_LN2))
		return part;
	for (int i = 0; i < HALVINGS; i++) {
		double middle = (low + high) / 2;

		if (log_clumps(samples, drawn, middle) < log(M_LN2))
			low = middle;
		else
			high = middle;
	}
	return high < part ? high : part;
}

/* Samples behind `bytes` of a site. */
static double
samples_of(const struct prof_site *s, int64_t bytes)
{
	if (bytes <= 0 || s->alloc_bytes == 0)
		return 0;
	return (double)bytes * (double)s->samples / (double)s->alloc_bytes;
}

static unsigned
group_of(const struct prof_site *s)
{
	double times = (double)s->samples / (samples_of(s, s->at_peak_bytes) + 0.5);
	double limit = GROUP_FIRST;
	unsigned i = 0;

	for (; i < GROUPS - 1 && times >= limit; limit *= GROUP_STEP)
		i++;
	return i;
}

/* Blocks larger than the rate are nearly always caught, so that chance has less to do
 * with them. */
static double
too_high(const struct group *g)
{
	double each = g->bytes / g->samples, poisson = g->samples * each * each;
	double share = g->var > 0 ? g->var / poisson : 0;

	return g->bytes * (1 - peaks_floor(g->samples, g->drawn) / g->samples) *
	       sqrt(share < 1 ? share : 1);
}

void
peaks_are_now(struct prof *p, uint32_t process)
{
	struct prof_process *pr = &p->processes[process];

	pr->peak_bytes = pr->live_bytes;
	pr->peak_ms = pr->duration_ms;
	pr->inherited_at_peak_bytes =
		(int64_t)(pr->inherited_bytes - pr->inherited_free_bytes);
	pr->inherited_at_peak_blocks =
		(int64_t)(pr->inherited_blocks - pr->inherited_frees);
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];

		if (s->process != process)
			continue;
		s->at_peak_bytes = s->live_bytes;
		s->at_peak_blocks = s->live_blocks;
	}
}

/* A site's own peak is the highest of its own estimates only. */
static void
correct_own(struct prof_site *s, uint64_t end_ms)
{
	struct group g = {.samples = samples_of(s, s->peak_bytes),
			  .drawn = (double)s->samples,
			  .bytes = (double)s->peak_bytes};
	int64_t bytes;

	if (g.samples < 1)
		return;
	g.var = s->var_alloc_bytes * g.bytes / (double)s->alloc_bytes;
	bytes = (int64_t)(g.bytes - too_high(&g) / 2);
	s->peak_bytes = bytes > s->live_bytes ? bytes : s->live_bytes;
	if (bytes < s->live_bytes)
		s->peak_ms = end_ms;
}

/* Takes its part of what the peak is too high by from each site; returns how much that
 * was. */
static double
correct_sites(struct prof *p, uint32_t process, const struct group *groups, double high)
{
	double taken = 0;

	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];
		const struct group *g = &groups[group_of(s)];
		double keep;

		if (s->process != process || s->at_peak_bytes <= 0 || g->bytes <= 0)
			continue;
		/* High is the root of a sum of squares; each square has its part in
		 * it. */
		keep = 1 - g->high * g->high / high / 2 / g->bytes;
		taken += (double)s->at_peak_bytes * (1 - keep);
		s->at_peak_bytes = (int64_t)((double)s->at_peak_bytes * keep + 0.5);
		s->at_peak_blocks = (int64_t)((double)s->at_peak_blocks * keep + 0.5);
	}
	return taken;
}

void
peaks_correct(struct prof *p, uint32_t process)
{
	struct prof_process *pr = &p->processes[process];
	struct group groups[GROUPS] = {0};
	double high = 0, var = 0;

	if (pr->mode != PROF_SAMPLED || pr->peak_bytes <= 0)
		return;
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct prof_site *s = &p->sites[i];
		struct group *g = &groups[group_of(s)];

		if (s->process != process)
			continue;
		g->drawn += (double)s->samples;
		if (s->at_peak_bytes > 0 && s->alloc_bytes > 0) {
			g->samples += samples_of(s, s->at_peak_bytes);
			g->bytes += (double)s->at_peak_bytes;
			g->var += s->var_alloc_bytes * (double)s->at_peak_bytes /
				  (double)s->alloc_bytes;
		}
		correct_own(s, pr->duration_ms);
	}
	for (unsigned i = 0; i < GROUPS; i++) {
		struct group *g = &groups[i];

		if (g->samples >= 1)
			g->high = too_high(g);
		high += g->high * g->high;
		var += g->var;
	}
	high = sqrt(high);
	if (high > 0)
		pr->peak_bytes -= (int64_t)correct_sites(p, process, groups, high);
	/* What is live at the end is one estimate, not the highest of many. */
	if (pr->peak_bytes < pr->live_bytes)
		peaks_are_now(p, process);
	high = sqrt(high * high / 4 + (var > 0 ? var : 0));
	pr->peak_error_bytes = high < 9e18 ? (uint64_t)high : INT64_MAX;
}
