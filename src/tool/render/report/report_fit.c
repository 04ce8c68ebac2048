/* SPDX-License-Identifier: MIT */
/* report_fit.c -- the listed sites, as many and as deep as fit on a screen.
 *
 * Everything else in the report is written first. The sites get the lines that are left
 * of a screen: their lists are tried from the longest to the shortest until they fit. The
 * first site is always there. The limit is off where the user asks for more or for a
 * certain list. */
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/contrast.h"
#include "tool/analyze/sites/hidden.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/render/wrap.h"

enum { FIT_MINOR = 2 }; /* the first plan where nothing much is lost */

/* From the longest to the shortest. The first is the usual list; then more sites are
 * better than deeper stacks, as long as each has its caller. */
static const struct report_plan fit_plans[] = {
	{REPORT_ROWS, 0, 0, REPORT_ROWS, false},
	{REPORT_ROWS, REPORT_FRAMES, 3, 3, false},
	{REPORT_ROWS, 5, 3, 3, false},
	{REPORT_ROWS, 5, 2, 3, false},
	{5, REPORT_FRAMES, 3, 3, false},
	{5, 5, 2, 3, false},
	{4, 5, 2, 2, false},
	{3, REPORT_FRAMES, 3, 2, false},
	{3, 5, 3, 2, false},
	{3, 5, 2, 1, false},
	{2, 5, 3, 1, false},
	{2, 4, 2, 1, false},
	{2, 4, 2, 0, false},
	{1, 6, 2, 0, false},
	{1, 4, 2, 0, true},
	{1, 2, 2, 0, true},
};

const struct report_plan *const report_usual = fit_plans;

bool
report_must_fit(const struct report *r)
{
	unsigned words = r->v.all.answer.also | 1u << r->v.all.answer.word;

	return r->o->point.at == SITES_AT_END && !r->o->all && r->o->rows == 0 &&
	       !r->o->by_given && r->o->leak_kinds == 0 &&
	       (words >> VERDICT_WRONG & 1) == 0;
}

size_t
report_lines(const struct report *r, const struct buf *text, size_t from)
{
	unsigned columns = r->o->term != NULL ? r->o->term->columns : 0;
	struct buf b = {0};
	size_t lines;

	buf_add(&b, buf_str(text) + from, text->len - from);
	if (r->o->ascii)
		figure_to_ascii(&b, 0);
	wrap_text(&b, 0, columns);
	lines = wrap_lines(buf_str(&b), columns);
	buf_done(&b);
	return lines;
}

/* Which sites are listed; false: none. */
static bool
fit_query(const struct report *r, struct sites_query *q)
{
	enum verdict_word lead = report_lead(r);
	bool at_end = r->o->point.at == SITES_AT_END && !r->o->by_given;

	*q = (struct sites_query){.chosen = r->v.nchosen == 1 ? r->o->chosen : r->found,
				  .point = r->o->point,
				  .by = SITES_LIVE,
				  .depth = r->depth};
	if (r->o->by_given && r->o->by != SITES_LIVE)
		return false;
	if (at_end && (verdict_is_leak(lead) || r->o->leak_kinds != 0)) {
		q->chosen = r->found;
		q->by = SITES_LOST;
		q->loss_kinds = r->o->leak_kinds;
		return true;
	}
	/* else what is left is still reachable */
	return !at_end || (lead != VERDICT_OK && !report_all_reachable(r));
}

/* The sites by one plan; `ss` may be NULL. */
static void
fit_print(struct report *r, const struct sites *ss, enum sites_by by)
{
	report_growth_first(r);
	if (ss != NULL) {
		r->same = r->v.nfocus < r->v.nchosen && r->v.nfound == 1;
		report_list(r, ss, by);
		r->same = false;
	}
	r->list_head = NULL;
	report_growth(r);
}

/* The sites by the first plan that has at most `most` lines, else by the last. */
static void
fit_sites(struct report *r, const struct sites *ss, enum sites_by by, size_t most)
{
	enum verdict_word lead = report_lead(r);
	bool minor = lead == VERDICT_LEAK_MINOR || lead == VERDICT_GROWING;
	size_t from = r->out->len;
	char *told;

	if (r->told == NULL)
		r->told = xcalloc(r->p->nmodules, sizeof *r->told);
	told = xmemdup0(r->told, r->p->nmodules * sizeof *r->told);
	for (size_t i = minor ? FIT_MINOR : 0; i < ARRAY_LEN(fit_plans); i++) {
		r->fit = fit_plans[i];
		if (minor && r->fit.rows > REPORT_MINOR_ROWS)
			r->fit.rows = REPORT_MINOR_ROWS;
		r->plan = &r->fit;
		/* nothing of the last try has been said */
		r->out->len = from;
		memcpy(r->told, told, r->p->nmodules * sizeof *r->told);
		if (r->growth_told != NULL)
			memset(r->growth_told, 0,
			       r->growth_sites.nrows * sizeof *r->growth_told);
		fit_print(r, ss, by);
		if (report_lines(r, r->out, from) <= most)
			break;
	}
	r->plan = report_usual;
	free(told);
}

void
report_sites(struct report *r, size_t other_lines)
{
	size_t most = other_lines < REPORT_SCREEN ? REPORT_SCREEN - other_lines : 0;
	struct sites_query q;
	struct sites ss = {0};
	bool list = fit_query(r, &q);

	if (list)
		sites_init(&ss, r->p, r->skip, &q);
	if (list && q.by == SITES_LOST) {
		r->contrast = contrast_new(r->p, r->skip, &ss);
		r->hidden = hidden_find(r->p, &ss);
	}
	fit_sites(r, list ? &ss : NULL, q.by, report_must_fit(r) ? most : SIZE_MAX);
	contrast_free(r->contrast);
	r->contrast = NULL;
	free(r->hidden);
	r->hidden = NULL;
	sites_done(&ss);
}
