/* SPDX-License-Identifier: MIT */
/* verdict.c -- the one word at the top of a report. */
#include "analyze/verdict.h"

#include <stdlib.h>

#include "analyze/choose.h"
#include "util/map.h"
#include "util/x.h"

static const char *const verdict_names[] = {
	[VERDICT_NONE] = "NOTHING RECORDED",
	[VERDICT_OK] = "OK",
	[VERDICT_HELD] = "HELD",
	[VERDICT_REPLACED] = "LIVE",
	[VERDICT_LIVE] = "LIVE",
	[VERDICT_NOT_FREED] = "NOT FREED",
	[VERDICT_LEAK] = "LEAK",
	[VERDICT_PARTIAL] = "PARTIAL",
};

const char *
verdict_word_name(enum verdict_word word)
{
	return verdict_names[word];
}

int64_t
verdict_lost(const int64_t of_kinds[PROF_LOSS_KINDS])
{
	return of_kinds[PROF_LOSS_DEFINITE] + of_kinds[PROF_LOSS_INDIRECT] +
	       of_kinds[PROF_LOSS_POSSIBLE];
}

/* What was found in the memory of those processes that were looked at. */
static void
verdict_add_losses(struct verdict *v, const struct prof *p, const struct sites *ss)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		v->each[i].checked = c != NULL && c->done;
	}
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];
		uint32_t row = ss->row_of_site[l->site];
		struct verdict_figures *f = &v->each[p->sites[l->site].process];

		if (row == UINT32_MAX || ss->rows[row].kept != NULL || !f->checked)
			continue;
		f->loss_bytes[l->kind] += (int64_t)l->bytes;
		f->loss_blocks[l->kind] += (int64_t)l->blocks;
	}
}

/* Blocks that nobody knows of may be lost as well: then only what was found counts. */
static void
verdict_judge_checks(struct verdict *v, const struct prof *p)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		if (c != NULL && c->loose && verdict_lost(v->each[i].loss_blocks) == 0)
			v->each[i].checked = false;
	}
}

/* What the process left at one site. */
static void
verdict_add_site(struct verdict_figures *f, const struct prof_process *pr,
		 const struct prof_site *s, bool kept)
{
	f->allocs += s->allocs;
	f->frees += s->frees;
	f->alloc_bytes += s->alloc_bytes;
	f->temps += s->temps;
	f->samples += s->samples;
	if (kept) {
		f->kept_bytes += s->live_bytes;
		f->kept_blocks += s->live_blocks;
	} else {
		f->bytes += s->live_bytes;
		f->blocks += s->live_blocks;
		f->var_bytes += s->var_live_bytes;
		f->var_blocks += sites_blocks_variance(s->live_blocks, s->live_bytes,
						       s->var_live_bytes);
		f->live_samples += s->live_samples;
	}
	if (pr->exit_ms != 0 && s->at_exit_bytes > s->live_bytes)
		f->held_bytes += s->at_exit_bytes - s->live_bytes;
	if (pr->exit_ms != 0 && s->at_exit_blocks > s->live_blocks)
		f->held_blocks += s->at_exit_blocks - s->live_blocks;
}

static enum verdict_word
verdict_of(const struct prof *p, uint32_t process, const struct verdict_figures *f)
{
	const struct prof_process *pr = &p->processes[process];
	bool exited = pr->end == PROF_END_EXITED ||
		      (pr->end == PROF_END_UNKNOWN && pr->exit_ms != 0);

	if (pr->not_recorded != 0)
		return VERDICT_NONE;
	if (choose_is_replaced(p, process))
		return VERDICT_REPLACED;
	if (f->checked && verdict_lost(f->loss_blocks) > 0)
		return VERDICT_LEAK;
	if (!exited)
		return VERDICT_LIVE;
	if (!f->checked && (f->blocks > 0 || f->bytes > 0))
		return VERDICT_NOT_FREED;
	if (f->held_bytes >= VERDICT_HELD_MIN_BYTES && pr->peak_bytes > 0 &&
	    f->held_bytes >= pr->peak_bytes / 100 * VERDICT_HELD_PERCENT)
		return VERDICT_HELD;
	return VERDICT_OK;
}

static void
verdict_sum(struct verdict_figures *to, const struct verdict_figures *f)
{
	to->bytes += f->bytes;
	to->blocks += f->blocks;
	to->held_bytes += f->held_bytes;
	to->held_blocks += f->held_blocks;
	to->kept_bytes += f->kept_bytes;
	to->kept_blocks += f->kept_blocks;
	to->var_bytes += f->var_bytes;
	to->var_blocks += f->var_blocks;
	to->live_samples += f->live_samples;
	to->allocs += f->allocs;
	to->frees += f->frees;
	to->alloc_bytes += f->alloc_bytes;
	to->temps += f->temps;
	to->samples += f->samples;
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		to->loss_bytes[i] += f->loss_bytes[i];
		to->loss_blocks[i] += f->loss_blocks[i];
	}
}

/* For every site: blocks lost there. */
static int64_t *
verdict_lost_by_site(const struct prof *p)
{
	int64_t *lost = xcalloc(p->nsites, sizeof *lost);

	for (uint32_t i = 0; i < p->nlosses; i++) {
		if (p->losses[i].kind < PROF_LOSS_REACHABLE)
			lost[p->losses[i].site] += (int64_t)p->losses[i].blocks;
	}
	return lost;
}

/* Different places with something left, for each process and, in `all`, for those found. */
static void
verdict_count_places(struct verdict *v, const struct prof *p, const struct sites *ss,
		     const bool *focus)
{
	int64_t *lost = verdict_lost_by_site(p);
	struct map seen = {0};

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		uint32_t row = ss->row_of_site[i];
		bool some = v->each[s->process].word == VERDICT_LEAK
				    ? lost[i] > 0
				    : s->live_blocks > 0 || s->live_bytes > 0;
		uint64_t *n;

		if (row == UINT32_MAX || ss->rows[row].kept != NULL || !some)
			continue;
		n = map_add(&seen, (uint64_t)s->process << 32 | row);
		v->each[s->process].places += (*n)++ == 0;
		if (v->each[s->process].word != v->all.word ||
		    (focus != NULL && !focus[s->process]))
			continue;
		n = map_add(&seen, row); /* process 0 is nobody's */
		v->all.places += (*n)++ == 0;
	}
	map_done(&seen);
	free(lost);
}

/* The highest peak of a single process, and what was largest then. */
static struct verdict_peak
verdict_find_peak(const struct prof *p, const struct sites *ss, const bool *chosen)
{
	int64_t *bytes = xcalloc(ss->nrows, sizeof *bytes), most = 0;
	struct verdict_peak peak = {.row = UINT32_MAX};

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) &&
		    (peak.process == 0 || p->processes[i].peak_bytes > peak.bytes)) {
			peak.bytes = p->processes[i].peak_bytes;
			peak.process = i;
		}
	}
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == peak.process &&
		    ss->row_of_site[i] != UINT32_MAX)
			bytes[ss->row_of_site[i]] += p->sites[i].at_peak_bytes;
	}
	for (uint32_t i = 0; i < ss->nrows; i++) {
		if (bytes[i] > most) {
			most = bytes[i];
			peak.row = i;
		}
	}
	free(bytes);
	return peak;
}

void
verdict_init(struct verdict *ret_verdict, const struct prof *p, const struct sites *ss,
	     const bool *chosen, const bool *focus)
{
	struct verdict v = {.each = xcalloc(p->nprocesses, sizeof *v.each)};

	if (focus == NULL)
		focus = chosen;
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row = ss->row_of_site[i], process = p->sites[i].process;

		if (row != UINT32_MAX)
			verdict_add_site(&v.each[process], &p->processes[process],
					 &p->sites[i], ss->rows[row].kept != NULL);
	}
	verdict_add_losses(&v, p, ss);
	verdict_judge_checks(&v, p);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen != NULL && !chosen[i])
			continue;
		v.each[i].word = verdict_of(p, i, &v.each[i]);
		v.count[v.each[i].word]++;
		v.nchosen++;
		v.nrecorded += p->processes[i].not_recorded == 0;
		if (focus != NULL && !focus[i])
			continue;
		v.nfocus++;
		if (v.each[i].word > v.all.word)
			v.all.word = v.each[i].word;
	}
	v.all.checked = true;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((focus == NULL || focus[i]) && v.each[i].word == v.all.word) {
			v.nfound++;
			v.all.checked = v.all.checked && v.each[i].checked;
			verdict_sum(&v.all, &v.each[i]);
		}
	}
	verdict_count_places(&v, p, ss, focus);
	v.peak = verdict_find_peak(p, ss, chosen);
	v.focus_peak = verdict_find_peak(p, ss, focus);
	v.all.checked = v.all.checked && v.nfound > 0;
	v.coverage = coverage_of(p, focus);
	if (v.coverage.partial)
		v.all.word = VERDICT_PARTIAL;
	*ret_verdict = v;
}

void
verdict_done(struct verdict *v)
{
	free(v->each);
	*v = (struct verdict){0};
}
