/* SPDX-License-Identifier: MIT */
/* report.c -- the text report: verdict, places, totals, notes, next step.
 *
 * One process has its figures in the lines themselves. Several are summed up, those
 * without a finding are folded into one line for each kind, and the others are named. */
#include "tool/render/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/choose.h"
#include "tool/render/about_line.h"
#include "tool/render/figure.h"
#include "tool/render/report/report_impl.h"
#include "tool/render/wrap.h"
#include "tool/util/fmt.h"

bool
report_locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *v = getenv(names[i]);

		if (v != NULL && v[0] != '\0')
			return strcasestr(v, "UTF-8") != NULL ||
			       strcasestr(v, "UTF8") != NULL;
	}
	return false;
}

bool
report_chose(const struct report *r, uint32_t i)
{
	return i > 0 && (r->o->chosen == NULL || r->o->chosen[i]);
}

void
report_coloured(struct report *r, const char *word, enum term_style style)
{
	const struct term *t = r->o->term;

	if (t == NULL)
		buf_add_str(r->out, word);
	else
		buf_printf(r->out, "%s%s%s%s", term_on(t, TERM_BOLD),
			   style == TERM_BOLD ? "" : term_on(t, style), word,
			   term_off(t));
}

/* What libc keeps in the processes that the verdict is about. */
static void
report_kept(struct report *r, const struct sites *ss)
{
	const char *told[8];
	size_t ntold = 0;
	int64_t bytes = 0;
	double var = 0;

	for (uint32_t i = 0; i < ss->nrows; i++) {
		const struct sites_row *row = &ss->rows[i];
		size_t k = 0;

		if (row->kept == NULL || row->t.live_bytes <= 0)
			continue;
		bytes += row->t.live_bytes;
		var += row->t.var_live_bytes;
		while (k < ntold && strcmp(told[k], row->kept) != 0)
			k++;
		if (k == ntold && ntold < sizeof told / sizeof told[0])
			told[ntold++] = row->kept;
	}
	if (bytes == 0)
		return;
	buf_printf(r->out, "%s kept by libc itself (",
		   figure_bytes(bytes, var, !r->sampled || r->o->bytes).s);
	for (size_t k = 0; k < ntold; k++)
		buf_printf(r->out, "%s%s", k > 0 ? ", " : "", told[k]);
	buf_add_str(r->out, ")\n");
}

/* Does one of the first lines say that most was not seen? */
static bool
report_is_partial(const struct report *r)
{
	unsigned words = r->v.all.answer.also | 1u << r->v.all.answer.word;

	return r->v.coverage.partial || (words & 1u << VERDICT_PARTIAL) != 0;
}

/* How far "exact" goes when no event of what was recorded is missing. */
static const char *
report_exact_words(const struct report *r)
{
	if (r->p->ndamages > 0)
		return "exact as far as the file could be read";
	if (report_is_partial(r) || r->v.nrecorded < r->v.nchosen ||
	    r->v.all.answer.why == VERDICT_WHY_UNHOOKED || report_unrecorded(r) > 0 ||
	    r->v.all.answer.why == VERDICT_WHY_PAST || report_past(r, NULL) > 0)
		return "exact, but not everything was recorded";
	return report_cut_stacks(r) > 0 ? "exact, but some stacks are cut short"
					: "exact, nothing missed";
}

void
report_exactness(struct report *r)
{
	uint64_t missed = report_missed(r), rate = 0;

	if (!r->sampled) {
		if (missed > 0)
			buf_printf(r->out, "exact but for %s missed, see below",
				   figure_things((int64_t)missed, 0, "event").s);
		else
			buf_add_str(r->out, report_exact_words(r));
		return;
	}
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i) && r->p->processes[i].rate_bytes > rate)
			rate = r->p->processes[i].rate_bytes;
	}
	buf_printf(r->out, "sampled, one per ~%s, %s", fmt_size(rate).s,
		   figure_things((int64_t)r->sites.total.samples, 0, "sample").s);
	if (missed > 0)
		buf_printf(r->out, ", %s events missed", fmt_count(missed).s);
}

static void
report_totals(struct report *r)
{
	const struct sites_total *t = &r->sites.total;
	const struct prof_process *pk = &r->p->processes[r->v.peak.process];
	double share, var_peak = r->v.peak.var;

	uint64_t unseen; /* a peak below this may have left no sample */

	if (r->v.nrecorded == 0)
		return;
	unseen = r->v.peak.bytes <= 0 && pk->mode == PROF_SAMPLED
			 ? verdict_loss_limit(pk->rate_bytes)
			 : 0;
	if (prof_is_walked(r->p)) {
		buf_add_str(r->out,
			    "blocks from malloc's own heaps, not from a recording\n");
		return;
	}
	if (t->alloc_bytes > 0 && var_peak == 0) {
		share = (double)r->v.peak.bytes / (double)t->alloc_bytes;
		var_peak = t->var_alloc_bytes * (share > 0 ? share : 0);
	}
	report_ends(r);
	buf_add_str(r->out, REPORT_DOT);
	report_exactness(r);
	buf_printf(
		r->out, REPORT_DOT "%s, %s, %s",
		figure_things((int64_t)t->allocs, sites_variance(t, SITES_COUNT), "alloc")
			.s,
		figure_things((int64_t)t->frees, sites_count_variance(t, t->frees),
			      "free")
			.s,
		figure_bytes((int64_t)t->alloc_bytes, t->var_alloc_bytes,
			     !r->sampled || r->o->bytes)
			.s);
	buf_printf(r->out, REPORT_DOT "%s %s%s", r->one != 0 ? "peak" : "highest peak",
		   unseen > 0 ? "under " : "",
		   figure_bytes(unseen > 0 ? (int64_t)unseen : r->v.peak.bytes, var_peak,
				r->o->bytes)
			   .s);
	report_peak_error(r, pk);
	if (r->v.peak.bytes > 0)
		buf_printf(r->out, " at %s", figure_ms(pk->peak_ms).s);
	if (r->one == 0 && r->v.peak.process != 0) {
		buf_add_str(r->out, " in ");
		report_process(r, r->v.peak.process);
	}
	buf_add_char(r->out, '\n');
}

static void
report_held(struct report *r, const char *dot, int64_t held)
{
	buf_printf(r->out, "%sfreed only at exit %s", dot,
		   held > 0 ? figure_bytes(held, 0, r->o->bytes).s : "0");
}

/* Temporary allocations, and what was only freed on the way out. */
static void
report_habits(struct report *r)
{
	const struct sites_total *t = &r->sites.total;
	const char *dot = "";
	int64_t held = 0;
	bool exited = false, looked;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!r->focus[i])
			continue;
		held += r->v.each[i].held_bytes;
		exited = exited || r->p->processes[i].exit_ms != 0;
	}
	looked = report_losses(r);
	if (looked)
		dot = REPORT_DOT;
	if (exited && looked)
		report_held(r, dot, held);
	if (t->allocs > 0 && !prof_is_walked(r->p)) {
		buf_printf(r->out, "%stemporary %s of allocations", dot,
			   fmt_percent(t->temps, t->allocs).s);
		dot = REPORT_DOT;
	}
	if (exited && !looked)
		report_held(r, dot, held);
	if (looked || t->allocs > 0 || exited)
		buf_add_char(r->out, '\n');
	report_rounds(r);
}

/* From here on the places are those of the processes in focus. */
static void
report_narrow(struct report *r)
{
	struct sites_query q = {.chosen = r->focus,
				.point = r->o->point,
				.by = r->o->by_given ? r->o->by : SITES_LIVE,
				.depth = r->depth};

	if (r->v.nfocus == r->v.nchosen)
		return;
	sites_done(&r->sites);
	sites_init(&r->sites, r->p, r->skip, &q);
	r->same = r->v.nfocus == 1;
}

static const char *const report_heads[SITES_BY_MAX] = {
	[SITES_LIVE] = "live",
	[SITES_PEAK] = "at the peak",
	[SITES_COUNT] = "most allocations",
	[SITES_ALLOCATED] = "most bytes allocated",
	[SITES_TEMPORARY] = "most temporary allocations",
	[SITES_LOST] = "lost",
};

/* The short tables of `seep report`, with at most so many rows each. */
static void
report_tables(struct report *r, uint32_t most)
{
	static const enum sites_by by[] = {SITES_PEAK, SITES_COUNT, SITES_TEMPORARY};

	for (size_t i = 0; i < ARRAY_LEN(by); i++)
		report_table(r, by[i], report_heads[by[i]], most);
}

/* Lines that short tables are to have at least, when the rest of the report but for sites
 * has so many. */
static size_t
report_table_lines(const struct report *r, size_t other_lines)
{
	size_t left = REPORT_SCREEN - REPORT_SITE_LINES;

	if (!r->o->tables || r->o->by_given)
		return 0;
	if (left <= other_lines)
		return 1;
	return left - other_lines < REPORT_TABLE_LINES ? left - other_lines
						       : REPORT_TABLE_LINES;
}

/* One list, or short tables in what is left of a screen. */
static void
report_ranked(struct report *r, size_t other_lines)
{
	if (r->o->by_given && r->o->by != SITES_LIVE) {
		buf_printf(r->out, "%s:\n", report_heads[r->o->by]);
		report_list(r, &r->sites, r->o->by);
	}
	if (r->o->by_given || !r->o->tables)
		return;
	for (int rows = REPORT_TABLE_ROWS; rows > 0; rows -= 2) {
		buf_clear(r->out);
		report_tables(r, (uint32_t)rows);
		if (!report_must_fit(r) || r->out->len == 0 ||
		    other_lines + report_lines(r, r->out, 0) <= REPORT_SCREEN)
			return;
	}
	buf_clear(r->out);
	buf_add_str(r->out, "see also: --by peak, --by count, --by temporary\n");
}

static void
report_last_lines(struct report *r)
{
	if (r->o->saved != NULL) {
		buf_add_str(r->out, "saved ");
		clean_text(r->out, r->o->saved);
		buf_printf(r->out, " (%s)",
			   r->o->saved_names ? "names inside" : "without names");
	}
	if (r->o->next != NULL)
		buf_printf(r->out, "%snext: %s", r->o->saved != NULL ? "     " : "",
			   r->o->next);
	if (r->o->saved != NULL || r->o->next != NULL)
		buf_add_char(r->out, '\n');
}

/* What libc keeps; nothing in the report of a healthy program. */
static void
report_kept_line(struct report *r)
{
	enum verdict_word lead = report_lead(r);
	struct sites_query q = {.chosen = r->focus, .depth = r->depth};
	struct sites ss;

	if (r->o->point.at != SITES_AT_END ||
	    ((lead == VERDICT_LEAK_MINOR || lead == VERDICT_GROWING) && !r->o->tables &&
	     !r->o->all))
		return;
	if (r->v.nfocus == r->v.nchosen) {
		report_kept(r, &r->sites);
		return;
	}
	sites_init(&ss, r->p, r->skip, &q);
	report_kept(r, &ss);
	sites_done(&ss);
}

/* All that follows the sites but for tables; returns the offset of where they belong. */
static size_t
report_facts(struct report *r)
{
	size_t tables;

	report_processes(r);
	report_totals(r);
	report_habits(r);
	report_inherited(r);
	report_narrow(r);
	tables = r->out->len;
	if (r->v.coverage.say && !report_is_partial(r)) {
		report_coverage(r);
		buf_add_char(r->out, '\n');
	}
	report_rss(r);
	report_notes(r, "");
	report_last_lines(r);
	return tables;
}

static void
report_full(struct report *r)
{
	struct buf kept = {0}, facts = {0}, tables = {0}, *out = r->out;
	size_t lines, at;

	report_verdict(r);
	r->out = &kept;
	report_kept_line(r);
	r->out = &facts;
	at = report_facts(r);
	lines = report_lines(r, out, 0) + report_lines(r, &facts, 0);
	if (report_must_fit(r) &&
	    lines + report_lines(r, &kept, 0) + REPORT_SITE_LINES > REPORT_SCREEN)
		buf_clear(&kept);
	lines += report_lines(r, &kept, 0);
	r->out = out;
	report_sites(r, lines + report_table_lines(r, lines));
	r->out = &tables;
	report_ranked(r, report_lines(r, out, 0) + report_lines(r, &facts, 0) +
				 report_lines(r, &kept, 0));
	r->out = out;
	buf_add(out, kept.data, kept.len);
	buf_add(out, buf_str(&facts), at);
	buf_add(out, tables.data, tables.len);
	buf_add(out, buf_str(&facts) + at, facts.len - at);
	buf_done(&kept);
	buf_done(&facts);
	buf_done(&tables);
}

static void
report_full_top(struct report *r)
{
	size_t before = r->out->len;

	if (r->v.coverage.partial) {
		buf_add_str(r->out, "# ");
		report_coverage(r);
		buf_add_char(r->out, '\n');
	}
	before = r->out->len - before;
	report_top(r);
	if (r->out->len == before) {
		buf_add_str(r->out, "# ");
		report_verdict(r);
	}
	report_notes(r, "# ");
}

/* The lines of `text`, each with that label; nothing when it is empty. */
static void
report_labelled(struct report *r, const char *label, struct buf *text)
{
	for (const char *s = buf_str(text), *end; s[0] != '\0';
	     s = end + (end[0] != '\0')) {
		end = s + strcspn(s, "\n");
		buf_printf(r->out, "%s\t%.*s\n", label, (int)(end - s), s);
	}
	buf_clear(text);
}

static void
report_opening(struct report *r)
{
	struct sites_query q = {.chosen = r->focus, .depth = r->depth};
	struct buf text = {0}, date = {0}, *out = r->out;
	bool at_end = r->o->point.at == SITES_AT_END;
	struct sites ss;

	sites_init(&ss, r->p, r->skip, &q);
	for (int part = 0; part < (at_end ? 4 : 1); part++) {
		static const char *const labels[] = {"Verdict", "Leaks", "Exit", "libc"};

		r->out = &text;
		if (part == 0)
			report_verdict(r);
		else if (part == 1)
			report_losses(r);
		else if (part == 2)
			report_ends(r);
		else
			report_kept(r, &ss);
		r->out = out;
		report_labelled(r, labels[part], &text);
	}
	about_run(r->p, r->o->chosen, &text, &date);
	report_labelled(r, "Command", &text);
	report_labelled(r, "Date", &date);
	sites_done(&ss);
	buf_done(&text);
	buf_done(&date);
}

/* From here on all figures are those of programs that went on to their end: what a
 * process did before it became another by exec, or the same once more, is none of that
 * one's. Unless nothing is left, or all is asked for. */
static void
report_leave_replaced(struct report *r, struct sites_query *q, bool *ret_images)
{
	bool any = false, left = false;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		bool replaced = r->v.state[i] == VERDICT_REPLACED;

		ret_images[i] = report_chose(r, i) && !replaced;
		any = any || (report_chose(r, i) && replaced);
		left = left || (ret_images[i] && r->v.state[i] == VERDICT_JUDGED);
	}
	if (!any || !left || r->o->all || r->o->point.at != SITES_AT_END)
		return;
	for (uint32_t i = 1; i < r->p->nprocesses; i++)
		r->focus[i] = r->focus[i] && ret_images[i];
	q->chosen = ret_images;
	sites_done(&r->sites);
	sites_init(&r->sites, r->p, r->skip, q);
	verdict_find_peaks(&r->v, r->p, &r->sites, ret_images, r->focus);
}

void
report_take(struct report *r, const struct report_data *d)
{
	r->focus = d->focus;
	r->sites = d->sites;
	r->growth = d->growth;
	r->growth_sites = d->growth_sites;
	r->v = d->v;
	r->growth_told = xcalloc(d->growth_sites.nrows + 1, sizeof *r->growth_told);
}

void
report_find(struct report *r)
{
	r->found = xcalloc(r->p->nprocesses, sizeof *r->found);
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!report_chose(r, i))
			continue;
		r->one = r->v.nchosen == 1 ? i : 0;
		r->sampled = r->sampled || r->p->processes[i].mode == PROF_SAMPLED;
		r->found[i] = r->focus[i] && (r->o->point.at != SITES_AT_END ||
					      verdict_is_found(&r->v, i, r->focus));
	}
}

int
report_text(struct buf *out, const struct prof *p, const struct report_opts *o)
{
	struct report r = {.out = out, .p = p, .o = o, .plan = report_usual};
	struct sites_query q = {.chosen = o->chosen, .depth = o->all ? 0 : REPORT_FRAMES};
	struct skip_opts skip = o->skip != NULL ? *o->skip : (struct skip_opts){0};
	size_t from = out->len;
	struct report_data d;
	bool *images = xcalloc(p->nprocesses, sizeof *images);
	int found;

	r.depth = q.depth;
	skip.fold = !o->all;
	r.skip = skip_new(p, &skip);
	/* At another moment than the end there is no verdict, only sums over all. */
	report_data_init(&d, p, r.skip,
			 &(struct report_query){.chosen = o->chosen,
						.everyone = o->all || o->everyone ||
							    o->point.at != SITES_AT_END,
						.no_growth = o->point.at != SITES_AT_END,
						.depth = q.depth});
	report_take(&r, &d);
	report_leave_replaced(&r, &q, images);
	report_find(&r);
	if (o->by_given || o->point.at != SITES_AT_END) {
		sites_done(&r.sites);
		q.by = o->by_given ? o->by : SITES_LIVE;
		q.point = o->point;
		sites_init(&r.sites, p, r.skip, &q);
		r.v.focus_peak.row = UINT32_MAX; /* was a row of the other ranking */
	}
	if (o->opening)
		report_opening(&r);
	else if (o->top)
		report_full_top(&r);
	else
		report_full(&r);
	if (o->ascii)
		figure_to_ascii(out, from);
	if (!o->top)
		wrap_term(out, from, o->term);
	found = verdict_is_leak(report_lead(&r));
	free(r.found);
	free(r.focus);
	free(images);
	verdict_done(&r.v);
	report_growth_done(&r);
	sites_done(&r.sites);
	skip_free(r.skip);
	free(r.told);
	return found;
}
