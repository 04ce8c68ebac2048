/* SPDX-License-Identifier: MIT */
/* report_growth.c -- growth in the report of a recording.
 *
 * If the first line is about growth, the sites that grow come next, because a slow leak
 * is rarely among the largest sites. A site that is in the list of live memory anyway has
 * a line there; others that grow follow that list. A recording with too few snapshots
 * says nothing of growth. */
#include <stdlib.h>

#include "tool/analyze/growth/forecast.h"
#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/render/report/report_impl.h"
#include "tool/render/verdict_colour.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum {
	TURNING_ROWS = 5,
	/* 1 / of the growth of its sites, or less: the process does not grow */
	FLAT_PART = 8,
	FLAT_BYTES = 256 << 10, /* of growth that would show in its resident memory */
};

#define DIFFERS 1.2 /* rates further apart than this factor are both told */

void
report_growth_done(struct report *r)
{
	growth_places_done(&r->growth);
	sites_done(&r->growth_sites);
	free(r->growth_told);
	r->growth_told = NULL;
}

void
report_growth_rows(struct report *r, const struct sites *ss, uint32_t rows,
		   uint32_t *ret_rows)
{
	for (uint32_t i = 0; i < rows; i++)
		ret_rows[i] = UINT32_MAX;
	for (uint32_t i = 1; i < r->p->nsites && r->growth.nranked > 0; i++) {
		uint32_t row = ss->row_of_site[i], g = r->growth_sites.row_of_site[i];

		if (row < rows && g != UINT32_MAX &&
		    r->growth.rows[g].v.word >= GROWTH_GROWING)
			ret_rows[row] = g;
	}
}

static enum verdict_word
word_of(const struct report *r, uint32_t row)
{
	return verdict_of_site(&r->v, &r->growth.rows[row], &r->growth_sites.rows[row]);
}

/* Who holds the blocks of a site, as far as a leak check has found out; or NULL. */
static const struct prof_holder *
holder_of(const struct report *r, uint32_t row)
{
	const struct prof_holder *most = NULL;

	for (uint32_t i = 0; i < r->p->nholders; i++) {
		const struct prof_holder *h = &r->p->holders[i];

		if (r->growth_sites.row_of_site[h->site] == row &&
		    (most == NULL || h->blocks > most->blocks))
			most = h;
	}
	return most;
}

static void
held_by(struct report *r, const struct prof_holder *h)
{
	buf_add_str(r->out, "; held by ");
	clean_text(r->out, prof_text(r->p, h->name));
	if (h->blocks < h->of)
		buf_printf(r->out, " (%s of %s)", fmt_count(h->blocks).s,
			   fmt_count(h->of).s);
}

/* The word and its evidence, after the rate. Where reachability is known, what a longer
 * look would tell does not matter any more. */
static void
evidence(struct report *r, uint32_t row)
{
	const struct growth_place *x = &r->growth.rows[row];
	const struct sites_total *t = &r->growth_sites.rows[row].t;
	const struct prof_holder *h = holder_of(r, row);
	const char *kept = r->growth_sites.rows[row].kept;
	bool checked = r->v.each[x->process].checked;

	growth_text_evidence(r->out, &x->v,
			     r->p->processes[x->process].mode == PROF_SAMPLED);
	if (x->processes > 1)
		buf_printf(r->out, ", in %u processes", x->processes);
	if (x->v.older > 0) {
		buf_add_str(r->out, "; ");
		growth_text_older(r->out, &x->v);
	}
	if (word_of(r, row) != VERDICT_GROWING)
		return;
	if (kept != NULL && x->v.why != GROWTH_WHY_FREED_AT_EXIT) {
		buf_printf(r->out, "; kept by libc: %s", kept);
	} else if (x->v.why == GROWTH_WHY_FREED_AT_EXIT || !checked) {
		buf_add_str(r->out, "; ");
		growth_text_needs(r->out, &x->v);
	} else if (h != NULL) {
		held_by(r, h);
	} else if (t->loss_blocks[PROF_LOSS_POSSIBLE] == 0 &&
		   t->loss_blocks[PROF_LOSS_REACHABLE] == 0) {
		buf_add_str(r->out, "; younger than the leak check");
	} else {
		buf_add_str(r->out,
			    2 * t->loss_blocks[PROF_LOSS_POSSIBLE] > t->live_blocks
				    ? "; possibly lost"
				    : "; still reachable");
	}
}

void
report_growth_mark(struct report *r, uint32_t row)
{
	const struct growth_place *x;

	if (row == UINT32_MAX)
		return;
	x = &r->growth.rows[row];
	buf_add_str(r->out, "    ");
	verdict_colour(r->out, word_of(r, row), r->o->term);
	buf_add_str(r->out, "  ");
	if (growth_text_has_rate(x->slope))
		buf_printf(r->out, "%s, ",
			   growth_text_rate(x->slope, x->error, r->o->bytes).s);
	evidence(r, row);
	buf_add_char(r->out, '\n');
	r->growth_told[row] = true;
}

/* What the site has now, in place of a row in the list of live memory. */
static void
live_of(struct report *r, uint32_t row)
{
	const struct sites_total *t = &r->growth_sites.rows[row].t;

	if (t->live_blocks > 0)
		buf_printf(r->out, "   live %s in %s",
			   figure_bytes(t->live_bytes, t->var_live_bytes, r->o->bytes).s,
			   figure_things(t->live_blocks, t->var_live_blocks, "block").s);
}

static void
one_place(struct report *r, uint32_t number, uint32_t frames, uint32_t row)
{
	const struct growth_place *x = &r->growth.rows[row];

	buf_printf(r->out, "%2u  ", number);
	if (growth_text_has_rate(x->slope))
		buf_printf(r->out, "%s   ",
			   growth_text_rate(x->slope, x->error, r->o->bytes).s);
	verdict_colour(r->out, word_of(r, row), r->o->term);
	live_of(r, row);
	buf_add_str(r->out, "\n    ");
	evidence(r, row);
	buf_add_char(r->out, '\n');
	r->most_frames = frames;
	report_stack_of(r, r->growth_sites.rows[row].node);
	r->most_frames = 0;
	r->growth_told[row] = true;
}

/* The sites that the first line is about. */
static void
leading_places(struct report *r, enum verdict_word word)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : r->plan->rows, shown = 0;

	for (uint32_t i = 0; i < r->growth.nranked && (shown < max || r->o->all); i++) {
		if (word_of(r, r->growth.ranked[i]) != word)
			continue;
		shown++;
		one_place(r, shown, shown == 1 ? r->plan->first : r->plan->rest,
			  r->growth.ranked[i]);
	}
	if (shown > 0)
		r->list_head = "other live memory, largest first:\n";
}

/* Sites that grow and are in no list above; those like the leading ones are only
 * counted. */
static void
other_places(struct report *r)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : r->plan->growing;
	uint32_t shown = 0, more = 0;

	for (uint32_t i = 0; i < r->growth.nranked; i++) {
		uint32_t row = r->growth.ranked[i];

		if (r->growth_told[row] || word_of(r, row) == VERDICT_LEAK)
			continue;
		if ((shown >= max && !r->o->all) || word_of(r, row) == report_lead(r)) {
			more++;
			continue;
		}
		if (shown == 0)
			buf_add_str(r->out, "also growing:\n");
		one_place(r, ++shown, r->plan->rest, row);
	}
	if (more > 0)
		buf_printf(r->out, "    %s more that grow%s (--all)\n",
			   figure_things(more, 0, "site").s, more == 1 ? "s" : "");
}

/* Sites that keep what they allocate, while as many older blocks are freed. */
static void
turning_places(struct report *r)
{
	uint32_t usual =
		r->plan->growing < TURNING_ROWS ? r->plan->growing : TURNING_ROWS;
	uint32_t max = r->o->rows > 0 ? r->o->rows : usual;

	for (uint32_t i = 0; i < r->growth.nturning; i++) {
		uint32_t row = r->growth.turning[i];

		if (i == 0)
			buf_add_str(
				r->out,
				"steady, because older blocks are freed as fast, as in "
				"a cache or a queue:\n");
		if (i == max && !r->o->all) {
			buf_printf(r->out, "    %s more (--all)\n",
				   fmt_count(r->growth.nturning - i).s);
			break;
		}
		buf_printf(r->out, "%2u  ", i + 1);
		growth_text_older(r->out, &r->growth.rows[row].v);
		buf_add_char(r->out, '\n');
		r->most_frames = r->plan->rest;
		report_stack_of(r, r->growth_sites.rows[row].node);
		r->most_frames = 0;
	}
}

/* Whether all that grew was freed at the end; and the sums from and up to which it
 * did. */
static bool
freed_at_exit(const struct growth_places *g, uint64_t *ret_low, uint64_t *ret_high)
{
	*ret_low = *ret_high = 0;
	for (uint32_t i = 0; i < g->nranked; i++) {
		const struct growth_verdict *v = &g->rows[g->ranked[i]].v;

		if (v->why != GROWTH_WHY_FREED_AT_EXIT)
			return false;
		*ret_low += v->low_bytes > 0 ? (uint64_t)v->low_bytes : 0;
		*ret_high += v->high_bytes > 0 ? (uint64_t)v->high_bytes : 0;
	}
	return g->nranked > 0;
}

struct report_rate
report_growth_rate(const struct report *r, enum verdict_word word)
{
	const struct growth_places *g = &r->growth;
	struct report_rate sum = {0};
	double var = 0;

	for (uint32_t i = 0; i < g->nranked; i++) {
		const struct growth_place *x = &g->rows[g->ranked[i]];

		if (word_of(r, g->ranked[i]) != word)
			continue;
		sum.sites++;
		sum.slope += x->slope;
		var += x->error * x->error;
	}
	sum.error = figure_sqrt(var);
	return sum;
}

bool
report_growth_amount(struct report *r, enum verdict_word word, const char *between)
{
	struct report_rate sum;
	uint64_t low, high;

	if (freed_at_exit(&r->growth, &low, &high)) {
		buf_printf(
			r->out,
			"%swhile it ran (%s \xe2\x86\x92 %s of live memory), freed at exit",
			between, fmt_size(low).s, fmt_size(high).s);
		return true;
	}
	sum = report_growth_rate(r, word);
	if (sum.sites == 0)
		return false;
	buf_printf(r->out, "%s%s", between,
		   figure_things((int64_t)sum.sites, 0, "site").s);
	if (growth_text_has_rate(sum.slope))
		buf_printf(r->out, ": %s",
			   growth_text_rate(sum.slope, sum.error, r->o->bytes).s);
	return true;
}

/* "96 % of the growth": at most all of it. */
static struct fmt_str
share_of(double sites, double process)
{
	double share = sites < process ? sites / process : 1;

	return fmt_percent((uint64_t)(share * 1000), 1000);
}

/* Is the process's own growth far below that of its sites, which is enough to show? */
static bool
is_flat(const struct report *r, const struct forecast *f, double slope)
{
	const struct prof_process *pr = &r->p->processes[r->v.main];

	return f->known && !f->grows && pr->end == PROF_END_RUNNING &&
	       f->slope < slope / FLAT_PART &&
	       slope * (double)pr->duration_ms / 1000 >= FLAT_BYTES;
}

void
report_growth_forecast(struct report *r, enum verdict_word word)
{
	uint32_t process = r->v.main;
	struct forecast f;
	double sites, slope;

	sites = word == VERDICT_LEAK ? report_leak_rate(r).slope
				     : report_growth_rate(r, word).slope;
	slope = sites;
	for (uint32_t i = 0; word == VERDICT_GROWING && i < r->p->nmemories; i++) {
		const struct prof_memory *m = &r->p->memories[i];

		if (r->focus[m->process] && m->kind != 0 &&
		    (m->grows || m->slope > sites))
			slope += m->slope;
	}
	f = forecast_of_all(r->p, r->focus, process, slope);
	if (word == VERDICT_GROWING && is_flat(r, &f, slope))
		buf_add_str(r->out, "; resident memory does not grow with it");
	if (!f.grows || f.seconds <= 0 ||
	    r->p->processes[process].end != PROF_END_RUNNING)
		return;
	buf_add_str(r->out, "; ");
	if (f.known && (slope > f.slope * DIFFERS || slope * DIFFERS < f.slope))
		buf_printf(r->out, "the process%s %s, ", f.processes > 1 ? "es" : "",
			   growth_text_rate(f.slope, f.error, r->o->bytes).s);
	buf_printf(r->out, "%s reached in about %s",
		   f.machine ? "the machine's memory" : "memory limit",
		   fmt_duration((uint64_t)(f.seconds * 1e9)).s);
	if (slope > 0 && f.known)
		buf_printf(r->out, " (%s of the growth)", share_of(slope, f.slope).s);
}

/* What would not have been found. */
static void
limit_line(struct report *r)
{
	const struct growth_places *g = &r->growth;

	if (!growth_places_judged(g) || r->v.all.checked)
		return;
	growth_text_limit(r->out, g->rate_bytes, g->ms);
	buf_add_char(r->out, '\n');
}

/* Does one of the first lines speak of growth? */
static bool
is_verdict(const struct report *r)
{
	unsigned words = r->v.all.answer.also | 1u << r->v.all.answer.word;

	return (words & (1u << VERDICT_LEAK_LIKELY | 1u << VERDICT_GROWING)) != 0;
}

void
report_growth_first(struct report *r)
{
	if (r->growth_told == NULL || !is_verdict(r))
		return;
	limit_line(r);
	if (report_lead(r) == VERDICT_LEAK_LIKELY)
		leading_places(r, VERDICT_LEAK_LIKELY);
	else if (report_lead(r) == VERDICT_GROWING)
		leading_places(r, VERDICT_GROWING);
}

void
report_growth(struct report *r)
{
	if (r->growth_told == NULL)
		return;
	if (is_verdict(r))
		other_places(r);
	turning_places(r);
	/* Where nothing is left, the headline's limit says it better. */
	if (r->v.all.answer.word == VERDICT_OK && r->sampled && r->v.all.bytes > 0)
		limit_line(r);
}
