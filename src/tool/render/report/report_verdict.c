/* SPDX-License-Identifier: MIT */
/* report_verdict.c -- the first lines of a report: what the verdict is, in one line, and
 * a line for each further word that matches. */
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/process/outgrowth.h"
#include "tool/model/complete.h"
#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/render/report/report_impl.h"
#include "tool/render/verdict_colour.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum verdict_word
report_lead(const struct report *r)
{
	unsigned about = 1u << VERDICT_WRONG | 1u << VERDICT_KILLED;
	unsigned others = r->v.all.answer.also & ~about;
	enum verdict_word word = r->v.all.answer.word;

	if ((about >> word & 1) == 0 || others == 0)
		return word;
	word = VERDICT_OK;
	while (others >> (word + 1) != 0)
		word++;
	return word;
}

bool
report_all_reachable(const struct report *r)
{
	return r->v.all.checked && r->v.all.answer.word < VERDICT_LEAK_LIKELY &&
	       r->p->processes[r->v.main].end != PROF_END_RUNNING;
}

/* The largest site at the highest peak. */
static void
report_peak_place(struct report *r)
{
	const struct verdict_peak *peak = &r->v.focus_peak;

	if (peak->bytes <= 0)
		return;
	buf_printf(r->out, "; peak %s%s", r->sampled && peak->var == 0 ? "about " : "",
		   figure_bytes(peak->bytes, peak->var, r->o->bytes).s);
	if (peak->row == UINT32_MAX)
		return;
	if (r->sites.rows[peak->row].kept != NULL) {
		buf_printf(r->out, ", most of it kept by libc itself: %s",
			   r->sites.rows[peak->row].kept);
		return;
	}
	buf_add_str(r->out, " in ");
	report_place(r, &r->sites.rows[peak->row]);
}

/* In which of several processes that was. */
static void
report_where(struct report *r)
{
	uint32_t first = 0, whole = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		first = r->found[i] && first == 0 ? i : first;
		whole += report_chose(r, i) && r->v.state[i] != VERDICT_REPLACED;
	}
	if (whole < 2 || r->v.nrecorded < 2 || first == 0)
		return;
	if (r->v.nfocus < r->v.nchosen && r->v.nfound == 1) {
		buf_add_str(r->out, ", in ");
		report_process(r, first);
	} else if (r->v.all.answer.word != VERDICT_OK || r->v.nfound < whole) {
		buf_printf(r->out, ", in %u of %u processes", r->v.nfound,
			   whole + (uint32_t)report_quiet(r));
	}
}

/* What an all-clear by samples cannot exclude. */
static void
report_loss_limit(struct report *r)
{
	uint64_t limit = r->v.all.loss_limit_bytes;

	if (limit > 0)
		buf_printf(r->out, "; a loss under %s may not show",
			   figure_bytes((int64_t)limit, 0, r->o->bytes).s);
}

static void
report_ok(struct report *r)
{
	const struct verdict_figures *f = &r->v.all;

	if (f->allocs == 0 && f->frees == 0) {
		buf_add_str(r->out, "nothing was allocated");
		return;
	}
	if (prof_is_walked(r->p)) {
		buf_add_str(r->out, "no leak: ");
		report_amount(r, f, false);
		return;
	}
	if (r->sampled && f->bytes > 0)
		buf_printf(r->out, "no growth; about %s left at the end",
			   figure_bytes(f->bytes, f->var_bytes, r->o->bytes).s);
	else if (r->sampled)
		buf_printf(r->out, "nothing of %s is left%s",
			   figure_things((int64_t)f->samples, 0, "sample").s,
			   f->kept_bytes > 0 ? " but what libc keeps" : "");
	else {
		buf_printf(r->out, "%s%s%s%s: ",
			   !f->checked	    ? "everything freed"
			   : r->o->baseline ? "no new leak"
					    : "no leak",
			   f->managed != NULL ? " outside " : "",
			   f->managed != NULL ? f->managed->name : "",
			   f->managed != NULL		      ? "'s own code"
			   : f->kept_bytes > 0 && !f->checked ? " but what libc keeps"
							      : "");
		if (f->checked && r->o->baseline) {
			report_known(r);
			buf_add_str(r->out, "; ");
		}
		buf_printf(r->out, "%s, %s",
			   figure_things((int64_t)f->allocs, 0, "alloc").s,
			   figure_things((int64_t)f->frees, 0, "free").s);
	}
	report_loss_limit(r);
	report_peak_place(r);
}

/* ---- no verdict ---- */

static void
report_nothing(struct report *r)
{
	uint32_t first = 0, n = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!r->focus[i] || r->v.state[i] != VERDICT_NOT_RECORDED)
			continue;
		first = first != 0 ? first : i;
		n++;
	}
	if (r->v.nchosen == 0) {
		buf_add_str(r->out, "there is no process in this recording");
	} else if (n > 0) {
		report_process(r, first);
		if (n > 1)
			buf_printf(r->out, " and %s more were not recorded: ",
				   fmt_count(n - 1).s);
		else
			buf_add_str(r->out, " was not recorded: ");
		clean_text(r->out, prof_text(r->p, r->p->processes[first].not_recorded));
		if (r->v.main != 0)
			buf_add_str(r->out, "; no leak in what was recorded");
	} else if (r->v.main != 0) {
		uint64_t children = report_lost_children(r);

		buf_printf(r->out,
			   "%s forked %s not recorded; no leak in what was recorded",
			   fmt_count(children).s,
			   children == 1 ? "child was" : "children were");
	} else if (r->one == 0) {
		buf_printf(r->out, "none of %u processes was recorded", r->v.nchosen);
	} else {
		report_process(r, r->one);
		buf_add_str(r->out, " was replaced by exec; it had ");
		report_amount(r, &r->v.each[r->one], true);
	}
}

/* The first process that is undecided for the reason that the headline has. */
static uint32_t
undecided(const struct report *r)
{
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (r->found[i] && r->v.each[i].answer.why == r->v.all.answer.why)
			return i;
	}
	return r->v.main;
}

static void
report_went_past(struct report *r)
{
	uint64_t libcs, blocks = report_past(r, &libcs);

	if (blocks > 0)
		buf_printf(r->out,
			   "%s of the heap went past seep's hooks (a library loaded with "
			   "RTLD_DEEPBIND, or libc's malloc by its address)",
			   figure_things((int64_t)blocks, 0, "block").s);
	else if (libcs > 0)
		buf_add_str(r->out,
			    "dlmopen has loaded another libc, whose malloc is not "
			    "recorded");
	else
		buf_add_str(
			r->out,
			"some calls of malloc or free may have gone past seep's hooks "
			"(RTLD_DEEPBIND, dlmopen, or libc's malloc by its address)");
	if (blocks + libcs > 0)
		buf_add_str(r->out,
			    "; no leak in what was recorded; all of a heap, started "
			    "without seep run: seep leaks PID");
	else
		buf_add_str(r->out, "; record it exactly, with the leak check");
}

/* What grows steadily outside malloc, and how long it takes to be named. */
static void
report_little(struct report *r, const struct prof_process *pr)
{
	uint64_t rate = (uint64_t)pr->outside_little_kib << 10;
	uint64_t minutes = rate > 0 ? OUTGROWTH_BYTES * UINT64_C(3) / 2 / rate + 1 : 1;

	clean_text(r->out, prof_text(r->p, pr->outside_little));
	buf_printf(r->out,
		   " +%s/min, which is too little yet to call it growth; use seep attach "
		   "--for %llum %u",
		   fmt_size(rate).s, (unsigned long long)minutes, pr->pid);
}

static void
report_undecided(struct report *r)
{
	const struct verdict_figures *f = &r->v.all;

	switch (f->answer.why) {
	case VERDICT_WHY_NOT_RECORDED:
		report_nothing(r);
		return;
	case VERDICT_WHY_CUT_SHORT:
		report_cut_short(r);
		return;
	case VERDICT_WHY_UNHOOKED:
		buf_add_str(r->out,
			    complete_hooks_partial(&r->p->processes[undecided(r)]));
		return;
	case VERDICT_WHY_PAST:
		report_went_past(r);
		return;
	case VERDICT_WHY_FEW_SAMPLES:
		buf_printf(r->out,
			   "only %s, %d are needed; record it for longer, with a smaller "
			   "--sample or with --exact",
			   figure_things((int64_t)f->samples, 0, "sample").s,
			   VERDICT_MIN_SAMPLES);
		return;
	case VERDICT_WHY_NO_CHECK:
		report_amount(r, f, true);
		buf_add_str(r->out, " not freed");
		report_where(r);
		buf_add_str(r->out, "; no leak check: ");
		report_why_unchecked(r, undecided(r));
		return;
	default:
		if (r->v.going_on > 0) {
			buf_printf(
				r->out,
				"nothing is lost so far, but %u process%s of the run %s "
				"on (seep ps)",
				r->v.going_on, r->v.going_on == 1 ? "" : "es",
				r->v.going_on == 1 ? "goes" : "go");
			return;
		}
		if (r->p->processes[undecided(r)].outside_little != 0) {
			report_little(r, &r->p->processes[undecided(r)]);
			return;
		}
		buf_add_str(r->out, "live ");
		report_amount(r, f, true);
		report_where(r);
		buf_add_str(r->out,
			    r->growth.rose
				    ? "; it grew, but there are too few figures yet to "
				      "distinguish a leak from a cache that fills"
				    : "; too early to judge growth");
		if (r->v.all.checked)
			buf_add_str(r->out, ", but nothing is lost so far");
		else if (prof_check_of(r->p, undecided(r)) != NULL)
			buf_add_str(r->out, ", and not all of its blocks are known");
		else
			buf_printf(r->out, "; what is lost already: seep leaks %u",
				   r->p->processes[undecided(r)].pid);
	}
}

/* ---- one line a word ---- */

/* Which site of a process has most of what is live, in rows of the report, and how much.
 * NULL: none. */
static const struct sites_row *
report_largest(struct report *r, uint32_t process, int64_t *ret_bytes)
{
	int64_t *bytes = xcalloc(r->sites.nrows, sizeof *bytes);
	const struct sites_row *most = NULL;

	*ret_bytes = 0;
	for (uint32_t i = 1; i < r->p->nsites; i++) {
		const struct prof_site *s = &r->p->sites[i];
		uint32_t row = r->sites.row_of_site[i];

		if (s->process != process || row == UINT32_MAX ||
		    r->sites.rows[row].kept != NULL)
			continue;
		bytes[row] += s->live_bytes;
		if (bytes[row] > *ret_bytes) {
			*ret_bytes = bytes[row];
			most = &r->sites.rows[row];
		}
	}
	free(bytes);
	return most;
}

/* Who has most of what is live in the process that the verdict is about. */
static void
report_most(struct report *r, int64_t whole)
{
	int64_t bytes;
	const struct sites_row *most = report_largest(r, r->v.main, &bytes);

	if (most == NULL || whole <= 0)
		return;
	buf_printf(r->out, ", %s from ", fmt_percent((uint64_t)bytes, (uint64_t)whole).s);
	report_place(r, most);
}

/* "by OOM at 3.98 of 4.00 GiB", or the signal. */
static void
report_killer(struct report *r, const struct prof_process *pr)
{
	buf_printf(r->out, "by %s%s",
		   pr->oom == PROF_OOM_SURE ? "OOM" : figure_signal(pr->status).s,
		   pr->oom == PROF_OOM_LIKELY ? ", most likely for lack of memory," : "");
	if (pr->oom == PROF_OOM_NO || pr->limit_bytes == 0)
		return;
	/* Usage was looked at some time before; fast growth leaves it behind. */
	if (pr->usage_bytes > pr->limit_bytes / 10 * 9)
		buf_printf(r->out, " at %s of %s", fmt_size(pr->usage_bytes).s,
			   fmt_size(pr->limit_bytes).s);
	else
		buf_printf(r->out, " at its limit of %s", fmt_size(pr->limit_bytes).s);
}

static void
report_killed(struct report *r)
{
	const struct verdict_figures *f = &r->v.each[r->v.main];
	const struct prof_process *pr = &r->p->processes[r->v.main];

	report_killer(r, pr);
	if (f->blocks == 0 && f->bytes == 0) {
		buf_add_str(r->out, ": nothing");
		if (pr->mode == PROF_SAMPLED)
			buf_printf(r->out, " of %s",
				   figure_things((int64_t)f->samples, 0, "sample").s);
		buf_add_str(r->out, f->kept_bytes > 0 ? " was live but what libc keeps"
						      : " was live");
		return;
	}
	buf_add_str(r->out, ": ");
	report_amount(r, f, false);
	buf_add_str(r->out, " live");
	report_most(r, f->bytes);
}

/* Bytes per second from which on growth outside malloc is named, in all processes that
 * the headline is about; 0: not known. */
static double
outside_limit(const struct report *r)
{
	double limit = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		uint64_t ms = r->p->processes[i].outside_ms;

		if (r->focus[i] && ms > 0 &&
		    limit < OUTGROWTH_BYTES * 1000.0 / (double)ms)
			limit = OUTGROWTH_BYTES * 1000.0 / (double)ms;
	}
	return limit;
}

static void
report_steady(struct report *r)
{
	if (r->v.main != 0 && r->p->processes[r->v.main].end != PROF_END_RUNNING) {
		report_amount(r, &r->v.all, true);
		buf_add_str(r->out,
			    " left, which did not grow at the end; seep run --exact "
			    "shows whether it is lost");
		report_loss_limit(r);
		return;
	}
	buf_add_str(r->out, "live ");
	report_amount(r, &r->v.all, true);
	if (growth_places_judged(&r->growth)) {
		buf_add_str(r->out, "; ");
		growth_text_limits(r->out, r->growth.rate_bytes, r->growth.ms,
				   outside_limit(r));
	}
}

/* Memory beside live blocks that grows faster than that, or the rest of it; false if
 * there is none. A runtime's heap that only became larger counts if that outweighs the
 * sites. */
static bool
report_grows_outside(struct report *r, double slope, bool faster, const char *between)
{
	bool any = false;

	for (uint32_t i = 0; i < r->p->nmemories; i++) {
		const struct prof_memory *m = &r->p->memories[i];

		if (m->kind == 0 || (!m->grows && !faster) || !r->focus[m->process] ||
		    (m->slope > slope) != faster)
			continue;
		buf_printf(r->out, "%s%s ", any ? "; " : between,
			   prof_text(r->p, m->kind));
		if (m->grows)
			buf_add_str(r->out,
				    growth_text_rate(m->slope, m->error, r->o->bytes).s);
		else
			buf_printf(r->out, "grew by %s",
				   fmt_size((m->last_kib - m->first_kib) << 10).s);
		if (m->remedy != 0)
			buf_printf(r->out, " (%s)", prof_text(r->p, m->remedy));
		any = true;
	}
	return any;
}

/* What grows faster comes first. */
static void
report_grows(struct report *r, enum verdict_word word)
{
	double slope = report_growth_rate(r, word).slope;
	bool outside = word == VERDICT_GROWING, any;

	any = outside && report_grows_outside(r, slope, true, "");
	any = report_growth_amount(r, word, any ? "; " : "") || any;
	if (outside)
		any = report_grows_outside(r, slope, false, any ? "; " : "") || any;
	if (!any)
		buf_add_str(r->out, "memory outside malloc");
}

/* A runtime's heap that became larger while it was recorded; false if there is none. */
static bool
report_unseen_growth(struct report *r)
{
	for (uint32_t i = 0; i < r->p->nmemories && !r->v.coverage.partial; i++) {
		const struct prof_memory *m = &r->p->memories[i];
		int64_t more = (int64_t)(m->last_kib - m->first_kib) << 10;

		if (m->kind == 0 || m->grows || !r->focus[m->process])
			continue;
		clean_text(r->out, prof_text(r->p, m->kind));
		buf_printf(r->out, " grew by %s, which is not recorded",
			   figure_bytes(more, 0, r->o->bytes).s);
		if (m->remedy != 0)
			buf_printf(r->out, "; %s", prof_text(r->p, m->remedy));
		return true;
	}
	return false;
}

static void
report_words(struct report *r, enum verdict_word word)
{
	switch (word) {
	case VERDICT_OK:
		report_ok(r);
		break;
	case VERDICT_STEADY:
		report_steady(r);
		break;
	case VERDICT_NO_VERDICT:
		report_undecided(r);
		return;
	case VERDICT_PARTIAL:
		if (!report_unseen_growth(r))
			report_coverage(r);
		return;
	case VERDICT_GROWING:
	case VERDICT_LEAK_LIKELY:
		report_grows(r, word);
		if (word == report_lead(r))
			report_growth_forecast(r, word);
		break;
	case VERDICT_LEAK_MINOR:
	case VERDICT_LEAK:
		report_leak(r);
		if (word == VERDICT_LEAK)
			report_growth_forecast(r, word);
		break;
	case VERDICT_KILLED:
		report_killed(r);
		return;
	default:
		return;
	}
	if (word == report_lead(r))
		report_where(r);
}

/* The sum at another moment than the end. */
static void
report_moment(struct report *r)
{
	static const char *const moments[] = {
		[SITES_AT_PEAK] = "AT PEAK", [SITES_AT_EXIT] = "AT EXIT"};
	const struct sites_total *t = &r->sites.total;
	double var = t->var_live_bytes;
	uint32_t places = 0;
	char mark[80] = "AT MARK ";

	for (uint32_t i = 0; i < r->sites.nrows; i++)
		places += r->sites.rows[i].t.live_blocks > 0;
	strncat(mark, r->o->point.mark, sizeof mark - sizeof "AT MARK ");
	report_coloured(r,
			r->o->point.at == SITES_AT_MARK ? mark : moments[r->o->point.at],
			TERM_BOLD);
	if (r->o->point.at == SITES_AT_PEAK && r->one != 0 && r->v.peak.var > var)
		var = r->v.peak.var;
	buf_printf(r->out, "  %s%s in %s at %s\n", var > 0 ? "about " : "",
		   figure_bytes(t->live_bytes, var, r->o->bytes).s,
		   figure_things(t->live_blocks, t->var_live_blocks, "block").s,
		   figure_things(places, 0, "site").s);
}

void
report_verdict(struct report *r)
{
	const struct verdict_answer *a = &r->v.all.answer;
	unsigned words = a->also | 1u << a->word;
	bool nothing = a->why == VERDICT_WHY_NOT_RECORDED && r->v.main == 0;

	if (r->o->point.at != SITES_AT_END)
		words &= 1u << VERDICT_WRONG | 1u << VERDICT_PARTIAL |
			 (nothing ? 1u << VERDICT_NO_VERDICT : 0);
	for (int word = VERDICT_WORDS - 1; word >= 0; word--) {
		if ((words >> word & 1) == 0)
			continue;
		if (word == VERDICT_WRONG) {
			report_errors(r);
			continue;
		}
		verdict_colour(r->out, (enum verdict_word)word, r->o->term);
		buf_add_str(r->out, "  ");
		report_words(r, (enum verdict_word)word);
		buf_add_char(r->out, '\n');
	}
	if (r->o->point.at != SITES_AT_END && !nothing)
		report_moment(r);
}
