/* SPDX-License-Identifier: MIT */
/* growth_old.c -- see growth_old.h.
 *
 * Places that keep blocks of one size share what went of that size, each by what it kept.
 * So a leak is told from a cache of other sizes. If its own has the same, one of both
 * grows, and both are called GROWING. */
#include "tool/analyze/growth/growth_old.h"

#include <math.h>
#include <stdlib.h>

#include "tool/model/sizeclass.h"
#include "tool/util/x.h"

enum {
	OLD_DIED_LEAST = 2, /* watched ones, so that it is no chance */
	OLD_SHARE = 4,	    /* 1 / part of what is kept that must have gone elsewhere */
	/* resident memory is flat if it grows by at most 1 / part of what is kept */
	OLD_FLAT = 8,
};

struct growth_old_process {
	bool late, watched;
	uint64_t ms;
	double rss_bytes; /* that it grew by in the later half */
	double kept;	  /* by all places */
	double kept_blocks;
	bool exact;
	double frees; /* exact: of blocks from before the recording */
};

/* What all places of a process kept of one class, and what of it went. */
struct growth_old_kept {
	double bytes, var, died_bytes, died;
};

struct growth_old_gain {
	uint32_t place,
		row; /* of `kept`; UINT32_MAX: of a process that was not watched */
	double bytes;
};

static uint64_t
key(uint32_t process, unsigned class)
{
	return (uint64_t)process << 32 | class;
}

static double
later_half(const uint64_t parts[PROF_OLD_PARTS])
{
	double sum = 0;

	for (unsigned i = PROF_OLD_PARTS / 2; i < PROF_OLD_PARTS; i++)
		sum += (double)parts[i];
	return sum;
}

static void
add_row(struct growth_old *o, const struct prof_old *row)
{
	struct growth_old_process *pr = &o->processes[row->process];
	struct growth_old_kept *k;
	uint64_t *at;

	if (row->size_class == 0) {
		pr->late = true;
		pr->watched = row->watched > 0;
		return;
	}
	at = map_add(&o->sums, key(row->process, row->size_class));
	if (*at == 0) {
		vec_add(&o->kept);
		*at = o->kept.len;
	}
	k = &o->kept.data[*at - 1];
	k->died += later_half(row->died);
	k->died_bytes += later_half(row->died_bytes);
}

/* How much resident memory came in the later half: between the middles of its first and
 * its last part, so that a moment counts little. */
static void
find_rss(struct growth_old *o)
{
	for (uint32_t i = 1; i < o->p->nprocesses; i++) {
		struct growth_old_process *pr = &o->processes[i];
		double sum[2] = {0}, n[2] = {0};

		for (uint32_t k = 0; pr->late && k < o->p->npoints; k++) {
			const struct prof_point *x = &o->p->points[k];
			uint64_t part = pr->ms > 0 ? (uint64_t)x->ms * 10 / pr->ms : 0;

			if (x->process != i || (part != 5 && part != 9))
				continue;
			sum[part == 9] += (double)x->rss_kib * 1024;
			n[part == 9]++;
		}
		/* From 55 % to 95 % of the time: eight tenths of a half. */
		pr->rss_bytes = n[0] > 0 && n[1] > 0
					? (sum[1] / n[1] - sum[0] / n[0]) / 0.8
					: INFINITY;
	}
}

void
growth_old_init(struct growth_old *o, const struct prof *p)
{
	*o = (struct growth_old){.p = p};
	o->processes = xcalloc(p->nprocesses, sizeof *o->processes);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		o->processes[i].ms = p->processes[i].duration_ms;
		o->processes[i].exact = p->processes[i].mode == PROF_EXACT;
		o->processes[i].frees = (double)p->processes[i].frees_unknown;
	}
	for (uint32_t i = 0; i < p->nolds; i++) {
		if (p->olds[i].process != 0 && p->olds[i].process < p->nprocesses)
			add_row(o, &p->olds[i]);
	}
	if (p->nolds > 0)
		find_rss(o);
}

void
growth_old_done(struct growth_old *o)
{
	free(o->processes);
	map_done(&o->sums);
	map_done(&o->known);
	vec_done(&o->kept);
	vec_done(&o->gains);
	*o = (struct growth_old){0};
}

bool
growth_old_is_late(const struct growth_old *o, uint32_t process)
{
	return o->processes[process].late;
}

uint64_t
growth_old_from_ms(const struct growth_old *o, uint32_t process)
{
	return o->processes[process].ms / 2;
}

void
growth_old_add(struct growth_old *o, uint32_t place, uint32_t process, uint64_t size,
	       double bytes)
{
	struct growth_old_process *pr = &o->processes[process];
	const uint64_t *of = map_find(&o->sums, key(process, sizeclass_of_request(size)));
	uint32_t row = of != NULL ? (uint32_t)*of - 1 : UINT32_MAX;
	uint64_t *at = map_add(&o->known, (uint64_t)place << 32 | row);

	pr->kept += bytes;
	pr->kept_blocks++;
	if (of != NULL) {
		o->kept.data[row].bytes += bytes;
		o->kept.data[row].var += bytes * bytes;
	}
	if (*at == 0) {
		vec_push(&o->gains, (struct growth_old_gain){.place = place, .row = row});
		*at = o->gains.len;
	}
	o->gains.data[*at - 1].bytes += bytes;
}

/* Bytes that went while the place kept its own, and how many watched blocks tell so. */
struct older {
	double kept, gone, died;
	double rest,
		rest_var; /* that all places with its sizes kept and nothing explains */
};

static struct older
ask_watched(const struct growth_old *o, uint32_t place)
{
	struct older sum = {0};

	for (size_t i = 0; i < o->gains.len; i++) {
		const struct growth_old_gain *g = &o->gains.data[i];
		const struct growth_old_kept *k;
		double share;

		if (g->place != place)
			continue;
		sum.kept += g->bytes;
		if (g->row == UINT32_MAX) { /* a size that nothing older had */
			sum.rest += g->bytes;
			continue;
		}
		k = &o->kept.data[g->row];
		share = k->bytes > 0 ? g->bytes / k->bytes : 0;
		sum.gone += k->died_bytes * share;
		sum.died += k->died * share;
		sum.rest += (k->bytes - k->died_bytes) * share;
		sum.rest_var +=
			share * share *
			(k->var +
			 (k->died > 0 ? k->died_bytes * k->died_bytes / k->died : 0));
	}
	return sum;
}

/* Without that: what the places kept and the process did not become larger by. Resident
 * memory alone clears nothing: a leak may fill memory that malloc had kept free, or leave
 * most of its blocks untouched. So it must be flat, and older blocks must have been freed
 * in the meantime. */
static struct older
ask_rss(const struct growth_old *o, uint32_t place, const struct growth_old_process *pr)
{
	struct older sum = ask_watched(o, place);
	double grew = pr->rss_bytes > 0 ? pr->rss_bytes : 0;

	sum.gone = pr->kept > 0 ? sum.kept * (1 - grew / pr->kept) : 0;
	sum.died = pr->exact && pr->frees >= pr->kept_blocks ? INFINITY : 0;
	sum.rest = sum.kept - sum.gone;
	sum.rest_var = sum.kept * sum.kept / 16; /* a quarter of it is chance */
	return sum;
}

static bool
is_flat(const struct growth_old_process *pr)
{
	return pr->rss_bytes * OLD_FLAT <= pr->kept;
}

void
growth_old_judge(const struct growth_old *o, uint32_t place, uint32_t process,
		 struct growth_verdict *v)
{
	const struct growth_old_process *pr = &o->processes[process];
	double seconds = (double)pr->ms / 2000, rate, error;
	struct older x;

	if (!pr->late || pr->ms == 0 || v->word < GROWTH_GROWING)
		return;
	if (!pr->watched && !is_flat(pr))
		return;
	x = pr->watched ? ask_watched(o, place) : ask_rss(o, place, pr);
	/* Sampled, frees of older blocks are not counted. */
	if (!pr->watched && !pr->exact && v->word == GROWTH_GROWING)
		v->why = GROWTH_WHY_RSS;
	if (x.died < OLD_DIED_LEAST ||
	    x.gone * (1 - 1 / sqrt(x.died)) * OLD_SHARE < x.kept)
		return;
	rate = x.gone / seconds;
	error = rate / sqrt(x.died);
	v->older = rate;
	v->came = v->slope;
	v->why = pr->watched ? GROWTH_WHY_OLDER : GROWTH_WHY_RSS;
	v->error = sqrt(v->error * v->error + error * error);
	v->slope = v->slope > rate ? v->slope - rate : 0;
	v->word = x.rest > 2 * sqrt(x.rest_var) ? GROWTH_GROWING : GROWTH_STEADY;
	v->more_ms = v->word == GROWTH_GROWING ? pr->ms * 2 : 0;
}
