/* SPDX-License-Identifier: MIT */
/* report_growth.c -- what grew, in the report of a recording.
 *
 * A place that is listed anyway gets a line there; those that are not follow with their stacks,
 * since a slow leak is rarely among the largest places. One line is for all of it: under the first
 * one when something grows, else after the list, where it says what would not have been seen. A
 * recording that was looked at too few times says nothing of growth at all. */
#include <stdlib.h>

#include "render/figure.h"
#include "render/growth_text.h"
#include "render/report_impl.h"
#include "util/fmt.h"
#include "util/x.h"

enum { TURNING_ROWS = 5 };

static bool
worth_judging(const struct report *r)
{
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i) &&
		    (r->p->nlooks > 0 ||
		     r->p->processes[i].duration_ms >= GROWTH_BIRTHS_MS))
			return true;
	}
	return false;
}

void
report_growth_init(struct report *r)
{
	struct sites_query q = {.chosen = r->focus, .depth = r->depth};

	if (r->o->point.at != SITES_AT_END || !worth_judging(r))
		return;
	sites_init(&r->growth_sites, r->p, r->skip, &q);
	growth_places_init(&r->growth, r->p, &r->growth_sites);
	r->growth_told = xcalloc(r->growth_sites.nrows, sizeof *r->growth_told);
}

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

/* The word and its evidence, after the rate. */
static void
evidence(struct report *r, const struct growth_place *x)
{
	growth_text_evidence(r->out, &x->v,
			     r->p->processes[x->process].mode == PROF_SAMPLED);
	if (x->processes > 1)
		buf_printf(r->out, ", in %u processes", x->processes);
	if (x->v.older > 0) {
		buf_add_str(r->out, "; ");
		growth_text_older(r->out, &x->v);
	}
	if (x->v.word == GROWTH_GROWING) {
		buf_add_str(r->out, "; ");
		growth_text_needs(r->out, &x->v);
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
	report_coloured(r, growth_word_name(x->v.word),
			x->v.word == GROWTH_LEAK ? TERM_BAD : TERM_WARN);
	buf_printf(r->out, "  %s, ", growth_text_rate(x->slope, x->error, r->o->bytes).s);
	evidence(r, x);
	buf_add_char(r->out, '\n');
	r->growth_told[row] = true;
}

static void
one_place(struct report *r, uint32_t number, uint32_t row)
{
	const struct growth_place *x = &r->growth.rows[row];

	buf_printf(r->out, "%2u  %s   %s\n    ", number,
		   growth_text_rate(x->slope, x->error, r->o->bytes).s,
		   growth_word_name(x->v.word));
	evidence(r, x);
	buf_add_char(r->out, '\n');
	report_stack_of(r, r->growth_sites.rows[row].node);
	r->growth_told[row] = true;
}

/* What the first line speaks of, before anything else: the largest place is rarely one that leaks. */
static void
leaking_places(struct report *r)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : REPORT_ROWS, shown = 0;
	uint32_t first = UINT32_MAX;

	if (r->sites.nrows > 0)
		report_growth_rows(r, &r->sites, 1, &first);
	if (first != UINT32_MAX && r->growth.rows[first].v.word == GROWTH_LEAK)
		return; /* the list begins with it anyway */
	for (uint32_t i = 0; i < r->growth.nranked && (shown < max || r->o->all); i++) {
		if (r->growth.rows[r->growth.ranked[i]].v.word == GROWTH_LEAK)
			one_place(r, ++shown, r->growth.ranked[i]);
	}
	buf_add_str(r->out, "live, largest first:\n");
}

/* Places that grow and are in no list above. */
static void
other_places(struct report *r)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : REPORT_ROWS, shown = 0, more = 0;

	for (uint32_t i = 0; i < r->growth.nranked; i++) {
		uint32_t row = r->growth.ranked[i];

		if (r->growth_told[row])
			continue;
		if (shown >= max && !r->o->all) {
			more++;
			continue;
		}
		if (shown == 0)
			buf_add_str(r->out, "also growing:\n");
		one_place(r, ++shown, row);
	}
	if (more > 0)
		buf_printf(r->out, "    %s more place%s that grow%s (--all)\n",
			   fmt_count(more).s, more == 1 ? "" : "s", more == 1 ? "s" : "");
}

/* Places that would grow if nothing went that the recorder did not see come. */
static void
turning_places(struct report *r)
{
	uint32_t max = r->o->rows > 0 ? r->o->rows : TURNING_ROWS;

	for (uint32_t i = 0; i < r->growth.nturning; i++) {
		uint32_t row = r->growth.turning[i];

		if (i == max && !r->o->all) {
			buf_printf(r->out, "    %s more (--all)\n",
				   fmt_count(r->growth.nturning - i).s);
			break;
		}
		if (i == 0)
			buf_add_str(r->out,
				    "no leak, as far as can be seen: what is older "
				    "goes as fast, as in a cache or a queue:\n");
		buf_printf(r->out, "%2u  ", i + 1);
		growth_text_older(r->out, &r->growth.rows[row].v);
		buf_add_char(r->out, '\n');
		report_stack_of(r, r->growth_sites.rows[row].node);
	}
}

void
report_growth_amount(struct report *r)
{
	const struct growth_places *g = &r->growth;

	buf_printf(r->out, "%s: %s", figure_things(g->count[g->word], 0, "site").s,
		   growth_text_rate(g->slope, g->error, r->o->bytes).s);
}

/* What would not have been found. */
static void
limit_line(struct report *r)
{
	const struct growth_places *g = &r->growth;

	if (!growth_places_judged(g))
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
		leaking_places(r);
}

void
report_growth(struct report *r)
{
	if (r->growth_told == NULL)
		return;
	if (is_verdict(r))
		other_places(r);
	turning_places(r);
	if (r->v.all.answer.word == VERDICT_OK && r->sampled)
		limit_line(r);
}
