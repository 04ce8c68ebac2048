/* SPDX-License-Identifier: MIT */
/* diff_verdict.c -- the verdict on a comparison, and the words of its places.
 *
 * A comparison asks what came between two moments or two runs, so only losses and growth
 * since the old side count. Without a leak check at the new side's end nothing is called
 * lost: a place that grows like a leak by the growth snapshots is likely one, and one
 * that only grew is growing. */
#include <math.h>

#include "tool/analyze/diff/diff_impl.h"
#include "tool/analyze/verdict/verdict.h"

enum {
	GROWING_BLOCKS = 10, /* a place of fewer gets no word */
	GROWING_FREED = 20,  /* nor does one that frees one block in so many */
	STEADY_PART = 1000,  /* a change by less than one part in so many is none */
	PEAK_PART = 32,	     /* the same of peaks, which are never quite the same twice */
};

const char *
diff_mark_name(enum diff_mark mark)
{
	switch (mark) {
	case DIFF_GROWING:
		return verdict_word_name(VERDICT_GROWING);
	case DIFF_LIKELY:
		return verdict_word_name(VERDICT_LEAK_LIKELY);
	case DIFF_LEAK:
		return verdict_word_name(VERDICT_LEAK);
	case DIFF_IS_NEW:
		return "NEW";
	case DIFF_GONE:
		return "GONE";
	case DIFF_PLAIN:
		break;
	}
	return "";
}

bool
diff_is_noise(int64_t old, int64_t new, double var)
{
	double by = (double)new - (double)old;

	return var > 0 && by * by <= 4 * var;
}

/* ---- places ---- */

bool
diff_checked(const struct diff_make *m, unsigned side)
{
	const struct prof *p = m->p[side];
	bool some = false;

	if (m->q->side[side].point.at != SITES_AT_END || m->q->by != SITES_LIVE ||
	    m->q->normalize)
		return false;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		if (!diff_chosen(m, side, i))
			continue;
		if (c == NULL || !c->done)
			return false;
		some = true;
	}
	return some;
}

static int64_t
diff_more(int64_t a, int64_t b)
{
	return a > b ? a - b : 0;
}

static int64_t
diff_least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

void
diff_set_losses(const struct diff_make *m, struct diff_place *x,
		const struct sites_total *old, const struct sites_total *new)
{
	int64_t bytes = verdict_lost(new->loss_bytes);
	int64_t blocks = verdict_lost(new->loss_blocks);

	if (x->kept != NULL || !m->checked[DIFF_NEW])
		return;
	/* If it is not known what was lost before: no more than what came since. */
	if (m->d.apart) { /* none of its blocks were there for the old side */
		x->lost_bytes = bytes;
		x->lost_blocks = blocks;
	} else if (m->checked[DIFF_OLD]) {
		x->lost_bytes = diff_more(bytes, verdict_lost(old->loss_bytes));
		x->lost_blocks = diff_more(blocks, verdict_lost(old->loss_blocks));
	} else {
		x->lost_bytes = diff_least(
			bytes, diff_more(x->value[DIFF_NEW], x->value[DIFF_OLD]));
		x->lost_blocks = diff_least(
			blocks, diff_more(x->beside[DIFF_NEW], x->beside[DIFF_OLD]));
	}
	/* As many blocks, but larger ones: so many of them are new as have the bytes that
	 * are more. */
	if (x->lost_blocks == 0 && x->lost_bytes > 0 && m->checked[DIFF_OLD] &&
	    !m->d.sampled)
		x->lost_blocks = (int64_t)ceil((double)blocks * (double)x->lost_bytes /
					       (double)bytes);
	if (x->lost_blocks == 0)
		x->lost_bytes = 0;
}

/* Grew, and hardly any of its blocks are ever freed? What was seen while it ran weighs
 * more than two moments do: a cache that has been full for long does not grow. */
static bool
diff_is_growing(const struct diff_make *m, const struct diff_place *x)
{
	int64_t blocks = x->beside[DIFF_NEW] - x->beside[DIFF_OLD];

	if (x->growth != GROWTH_UNKNOWN && x->growth < GROWTH_GROWING)
		return false;
	if (m->q->by != SITES_LIVE || x->kept != NULL || x->allocs == 0 ||
	    x->value[DIFF_NEW] <= x->value[DIFF_OLD] ||
	    x->frees >= (x->allocs + GROWING_FREED - 1) / GROWING_FREED)
		return false;
	return m->d.sampled ? x->samples >= GROWING_BLOCKS : blocks >= GROWING_BLOCKS;
}

/* By what the new side alone says: the figures of the two cannot be compared. */
static enum diff_mark
diff_mark_apart(const struct diff_make *m, const struct diff_place *x)
{
	if (x->lost_blocks > 0)
		return DIFF_LEAK;
	if (x->growth == GROWTH_LEAK && !m->checked[DIFF_NEW])
		return DIFF_LIKELY;
	return x->growth == GROWTH_LEAK || x->growth == GROWTH_GROWING ? DIFF_GROWING
								       : DIFF_PLAIN;
}

enum diff_mark
diff_mark_of(const struct diff_make *m, const struct diff_place *x)
{
	bool none[2];

	if (m->d.apart && m->q->by == SITES_LIVE)
		return diff_mark_apart(m, x);
	for (unsigned s = 0; s < 2; s++)
		none[s] = x->value[s] == 0 && x->beside[s] == 0;
	if (x->noise)
		return DIFF_PLAIN;
	if (x->lost_blocks > 0)
		return DIFF_LEAK;
	if (m->q->by == SITES_LIVE && x->growth == GROWTH_LEAK && !none[DIFF_NEW] &&
	    x->value[DIFF_NEW] > x->value[DIFF_OLD])
		return m->checked[DIFF_NEW] ? DIFF_GROWING : DIFF_LIKELY;
	if (none[DIFF_OLD] != none[DIFF_NEW])
		return none[DIFF_OLD] ? DIFF_IS_NEW : DIFF_GONE;
	return diff_is_growing(m, x) ? DIFF_GROWING : DIFF_PLAIN;
}

/* ---- all of it ---- */

static bool
diff_grew(const struct diff *d)
{
	int64_t old = d->value[DIFF_OLD], new = d->value[DIFF_NEW];

	if (d->apart || new <= old || diff_is_noise(old, new, d->var))
		return false;
	return old <= 0 || (uint64_t) new - (uint64_t)old >= (uint64_t)old / STEADY_PART;
}

/* Does the place matter beside all the rest? */
static bool
diff_counts(const struct diff *d, const struct diff_place *x)
{
	int64_t by = x->value[DIFF_NEW] - x->value[DIFF_OLD];

	return d->apart || by >= d->value[DIFF_OLD] / STEADY_PART;
}

static void
diff_find(struct diff *d)
{
	enum diff_mark mark = verdict_is_leak(d->answer.word)	      ? DIFF_LEAK
			      : d->answer.word == VERDICT_LEAK_LIKELY ? DIFF_LIKELY
								      : DIFF_GROWING;

	for (uint32_t i = 0; i < d->nplaces; i++) {
		const struct diff_place *x = &d->places[i];

		if (x->mark != mark)
			continue;
		d->nfound++;
		d->found_bytes += x->value[DIFF_NEW] - x->value[DIFF_OLD];
		d->lost_bytes += x->lost_bytes;
		d->lost_blocks += x->lost_blocks;
	}
}

/* As for one recording (verdict_loss_limit), and at least what diff_is_noise passes
 * over. */
static double
diff_limit(const struct diff_make *m)
{
	double rate = m->rate[DIFF_OLD] > m->rate[DIFF_NEW] ? m->rate[DIFF_OLD]
							    : m->rate[DIFF_NEW];
	double least = (double)verdict_loss_limit((uint64_t)rate);

	if (!m->d.sampled || !m->d.in_bytes || rate <= 0)
		return 0;
	return m->d.var * 4 > least * least ? 2 * sqrt(m->d.var) : least;
}

/* The process with the highest peak on a side; 0 if one has not ended, or peaks are not
 * known. */
static uint32_t
diff_highest(const struct diff_make *m, unsigned side)
{
	const struct prof *p = m->p[side];
	uint32_t highest = 0;

	if (p->format != 0 || p->columns != PROF_HAS_ALL || prof_is_walked(p) ||
	    m->q->side[side].point.at != SITES_AT_END)
		return 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (!diff_chosen(m, side, i) || p->processes[i].not_recorded != 0)
			continue;
		if (p->processes[i].end == PROF_END_RUNNING)
			return 0;
		if (highest == 0 ||
		    p->processes[i].peak_bytes > p->processes[highest].peak_bytes)
			highest = i;
	}
	return highest;
}

/* What was freed before the end shows in the peaks only. */
static void
diff_find_peaks(struct diff_make *m)
{
	struct diff *d = &m->d;
	double var = 0;
	int64_t more;

	if (m->q->by != SITES_LIVE || m->q->normalize || d->same_process || d->apart)
		return;
	for (unsigned s = 0; s < 2; s++) {
		uint32_t i = diff_highest(m, s);
		double error;

		if (i == 0)
			return;
		d->peak[s] = m->p[s]->processes[i].peak_bytes;
		error = (double)m->p[s]->processes[i].peak_error_bytes;
		var += error * error;
	}
	d->has_peaks = true;
	/* Not what is live at the end as well: that is said anyway. */
	more = d->peak[DIFF_NEW] - d->peak[DIFF_OLD] -
	       diff_more(d->value[DIFF_NEW], d->value[DIFF_OLD]);
	d->peak_grew = more > VERDICT_MINOR_BYTES &&
		       more > d->peak[DIFF_OLD] / PEAK_PART &&
		       !diff_is_noise(0, more, var);
}

void
diff_decide(struct diff_make *m)
{
	struct diff *d = &m->d;
	struct verdict_facts f = {.recorded = true,
				  .growth_judged = !d->apart, /* by two moments */
				  .late = d->apart,
				  .checked = m->checked[DIFF_NEW],
				  .sampled = d->sampled};

	d->grew = diff_grew(d);
	d->limit = diff_limit(m);
	diff_find_peaks(m);
	f.growth = d->grew || d->peak_grew ? GROWTH_GROWING : GROWTH_STEADY;
	for (uint32_t i = 0; i < d->nplaces; i++) {
		const struct diff_place *x = &d->places[i];

		f.samples += x->samples;
		f.lost_bytes += x->mark == DIFF_LEAK ? x->lost_bytes : 0;
		f.lost_blocks += x->mark == DIFF_LEAK ? x->lost_blocks : 0;
		if (x->mark == DIFF_LIKELY)
			f.growth = GROWTH_LEAK;
		else if (x->mark == DIFF_GROWING && f.growth < GROWTH_GROWING &&
			 diff_counts(d, x))
			f.growth = GROWTH_GROWING;
	}
	/* Profiles of other tools do not say how many samples there were; then errors
	 * decide. */
	if (f.samples == 0)
		f.sampled = false;
	d->answer = verdict_decide(&f);
	diff_find(d);
}
