/* SPDX-License-Identifier: MIT */
/* report_moments.c -- under a listed site: when its blocks were lost; and the line about
 * the leak checks that found out. Times are since the start of the process's
 * recording. */
#include "tool/analyze/sites/moments.h"
#include "tool/render/figure.h"
#include "tool/render/moment_words.h"
#include "tool/render/report/report_impl.h"

/* The mark that was set last before it, and one that was set during it. */
static void
moment_marks(struct report *r, const struct prof_moment *m)
{
	uint32_t process = r->p->sites[m->site].process;
	const struct prof_mark *before = moments_mark(r->p, process, 0, m->from_ms);
	const struct prof_mark *during =
		moments_mark(r->p, process, m->from_ms + 1, m->to_ms);

	if (before != NULL) {
		buf_add_str(r->out, ", after mark \"");
		clean_text(r->out, prof_text(r->p, before->name));
		buf_add_char(r->out, '"');
	}
	if (during != NULL) {
		buf_add_str(r->out, before != NULL ? "; mark \"" : ", mark \"");
		clean_text(r->out, prof_text(r->p, during->name));
		buf_printf(r->out, "\" was set at %s", figure_ms(during->ms).s);
	}
}

void
report_moments(struct report *r, const struct sites *ss, uint32_t row)
{
	const struct sites_total *t = &ss->rows[row].t;
	const struct prof_moment *m;
	struct moments all;
	size_t n = 0;

	if (r->p->nmoments == 0)
		return;
	moments_of(r->p, ss, row, &all);
	m = all.data;
	/* Of the first process and kind: definitely lost, if there are such blocks. */
	while (n < all.len && m[n].kind == m->kind && m[n].site == m->site)
		n++;
	if (n > 0) {
		int64_t blocks = t->loss_blocks[m->kind];

		buf_printf(r->out, "%*slost ", REPORT_INDENT, "");
		moment_interval(r->out, m);
		moment_marks(r, m);
		moment_others(r->out, m, n, blocks > 0 ? (uint64_t)blocks : 0);
		if (ss->rows[row].processes > 1) {
			buf_add_str(r->out, ", in ");
			report_process(r, r->p->sites[m->site].process);
		}
		buf_add_char(r->out, '\n');
	}
	vec_done(&all);
}

void
report_rounds(struct report *r)
{
	struct moments_sum s = moments_sum(r->p->rounds, r->p->nrounds, r->focus);

	if (s.made + s.failed > 0)
		moment_checks(r->out, &s, prof_text(r->p, s.failed_why));
}
