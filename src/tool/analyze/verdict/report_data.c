/* SPDX-License-Identifier: MIT */
/* report_data.c -- see report_data.h. */
#include "tool/analyze/verdict/report_data.h"

#include "tool/analyze/verdict/focus.h"
#include "tool/util/x.h"

/* A process that lived for a moment, and was not looked at, has no trend. */
static bool
worth_judging(const struct prof *p, const bool *chosen)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) &&
		    (p->nlooks > 0 || p->processes[i].duration_ms >= GROWTH_BIRTHS_MS))
			return true;
	}
	return false;
}

void
report_data_init(struct report_data *ret_data, const struct prof *p, const struct skip *s,
		 const struct report_query *q)
{
	struct sites_query of = {.chosen = q->chosen, .depth = q->depth};
	struct report_data d = {.focus = xcalloc(p->nprocesses, sizeof *d.focus)};

	sites_init(&d.sites, p, s, &of);
	focus_of(p, q->chosen, d.focus);
	for (uint32_t i = 1; q->everyone && i < p->nprocesses; i++)
		d.focus[i] = q->chosen == NULL || q->chosen[i];
	if (!q->no_growth && worth_judging(p, q->chosen)) {
		of.chosen = d.focus;
		sites_init(&d.growth_sites, p, s, &of);
		growth_places_init(&d.growth, p, &d.growth_sites);
	}
	verdict_init(&d.v, p, &d.sites, q->chosen, d.focus, &d.growth, &d.growth_sites);
	*ret_data = d;
}

void
report_data_done(struct report_data *d)
{
	free(d->focus);
	verdict_done(&d->v);
	growth_places_done(&d->growth);
	sites_done(&d->growth_sites);
	sites_done(&d->sites);
	*d = (struct report_data){0};
}
