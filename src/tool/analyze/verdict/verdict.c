/* SPDX-License-Identifier: MIT */
/* verdict.c -- see verdict.h. */
#include "tool/analyze/verdict/verdict.h"

#include <stdlib.h>

#include "tool/analyze/sites/choose.h"
#include "tool/analyze/verdict/verdict_births.h"
#include "tool/model/complete.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum {
	GROWTH_LITTLE_BYTES = 64 << 10,
	CUT_SHORT_PART = 1000, /* one event in so many missed, */
	CUT_SHORT_MIN_EVENTS =
		10,	     /* and more than these: the recording is not complete */
	LOSS_LIMIT_RATES = 3 /* -ln(0.05) */
};

int64_t
verdict_lost(const int64_t of_kinds[PROF_LOSS_KINDS])
{
	return of_kinds[PROF_LOSS_DEFINITE] + of_kinds[PROF_LOSS_INDIRECT];
}

uint64_t
verdict_loss_limit(uint64_t rate_bytes)
{
	return rate_bytes < UINT64_MAX / LOSS_LIMIT_RATES ? rate_bytes * LOSS_LIMIT_RATES
							  : UINT64_MAX;
}

bool
verdict_is_leak(enum verdict_word word)
{
	return word == VERDICT_LEAK || word == VERDICT_LEAK_MINOR;
}

/* What was found in the memory of those processes that were looked at. */
static void
verdict_add_losses(struct verdict *v, const struct prof *p, const struct sites *ss)
{
	bool *kept_roots = xcalloc(p->nprocesses, sizeof *kept_roots);

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		v->each[i].checked = c != NULL && c->done;
		v->each[i].past = complete_went_past(&p->processes[i]);
	}
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];
		uint32_t row = ss->row_of_site[l->site],
			 process = p->sites[l->site].process;
		struct verdict_figures *f = &v->each[process];

		if (row == UINT32_MAX || !f->checked)
			continue;
		if (ss->rows[row].kept != NULL) {
			kept_roots[process] |= l->kind == PROF_LOSS_DEFINITE;
			continue;
		}
		if (ss->managed[i] != NULL) {
			f->managed = ss->managed[i];
			f->managed_bytes += (int64_t)l->bytes;
			f->managed_blocks += (int64_t)l->blocks;
			continue;
		}
		if (l->known) {
			f->known_bytes += (int64_t)l->bytes;
			f->known_blocks += (int64_t)l->blocks;
			continue;
		}
		f->loss_bytes[l->kind] += (int64_t)l->bytes;
		f->loss_blocks[l->kind] += (int64_t)l->blocks;
		if (l->kind == PROF_LOSS_POSSIBLE) {
			f->leftover_bytes += (int64_t)l->leftover_bytes;
			f->leftover_blocks += (int64_t)l->leftover_blocks;
		}
	}
	/* Where libc alone has lost something, what hangs on it is libc's as well. */
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		struct verdict_figures *f = &v->each[i];

		if (!kept_roots[i] || f->loss_blocks[PROF_LOSS_DEFINITE] > 0 ||
		    f->known_blocks > 0)
			continue;
		f->kept_bytes += f->loss_bytes[PROF_LOSS_INDIRECT];
		f->kept_blocks += f->loss_blocks[PROF_LOSS_INDIRECT];
		f->loss_bytes[PROF_LOSS_INDIRECT] = f->loss_blocks[PROF_LOSS_INDIRECT] =
			0;
	}
	free(kept_roots);
}

/* Blocks that nobody knows of may be lost as well: then only what was found counts. */
static void
verdict_judge_checks(struct verdict *v, const struct prof *p)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		if (c != NULL && c->loose && verdict_lost(v->each[i].loss_blocks) == 0)
			v->each[i].checked = false;
		if (c != NULL && v->each[i].checked) {
			v->each[i].younger_bytes = (int64_t)c->younger_bytes;
			v->each[i].younger_blocks = (int64_t)c->younger_blocks;
		}
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

/* Blocks lost in these ways (bits 1 << enum prof_loss_kind) and judged, for every
 * site. */
static int64_t *
verdict_lost_by_site(const struct prof *p, const struct sites *ss, unsigned kinds)
{
	int64_t *lost = xcalloc(p->nsites, sizeof *lost);

	for (uint32_t i = 0; i < p->nlosses; i++) {
		if ((kinds & 1u << p->losses[i].kind) != 0 && ss->managed[i] == NULL)
			lost[p->losses[i].site] += (int64_t)p->losses[i].blocks;
	}
	return lost;
}

/* ---- facts ---- */

/* Did the recording end early, or miss so many events that an all-clear would mean
 * nothing? One block that found no room may be the one that leaks; estimates do not
 * depend on a few. */
static bool
is_cut_short(const struct prof_process *pr, const struct verdict_figures *f)
{
	uint64_t missed = pr->lost[REC_LOST_SPACE];
	uint64_t seen = f->samples > 0 ? f->samples : f->allocs;

	if (complete_ended_early(pr))
		return true;
	if (pr->mode != PROF_SAMPLED)
		return missed > 0;
	return missed > CUT_SHORT_MIN_EVENTS && missed > (seen + missed) / CUT_SHORT_PART;
}

static struct verdict_facts
facts_of(const struct verdict *v, const struct prof *p, uint32_t process)
{
	const struct prof_process *pr = &p->processes[process];
	const struct verdict_figures *f = &v->each[process];

	return (struct verdict_facts){
		.recorded = true,
		.late = coverage_is_late(p, process),
		.ended = pr->end != PROF_END_RUNNING,
		.grows_little = pr->outside_little != 0,
		.signal = pr->end == PROF_END_SIGNAL ? pr->status : 0,
		.checked = f->checked,
		.lost_bytes = verdict_lost(f->loss_bytes),
		.lost_blocks = verdict_lost(f->loss_blocks),
		.lost_intervals = f->lost_intervals,
		.left_bytes = f->bytes,
		.left_blocks = f->blocks,
		.cut_short = is_cut_short(pr, f),
		.unhooked = complete_hooks_partial(pr) != NULL,
		.past = f->past,
		.sampled = pr->mode == PROF_SAMPLED,
		.samples = f->samples,
		.late_samples = f->late_samples,
	};
}

static void
facts_add_errors(struct verdict_facts *facts, const struct prof *p)
{
	for (uint32_t i = 0; i < p->nerrors; i++) {
		if (!p->errors[i].suppressed)
			facts[p->errors[i].process].wrong += p->errors[i].count;
	}
}

/* Is what grows here lost anyway? Some of it is, and most of the rest may be. */
static bool
is_lost(const struct sites_row *row)
{
	int64_t lost = verdict_lost(row->t.loss_blocks);

	return lost > 0 && row->kept == NULL &&
	       lost + row->t.loss_blocks[PROF_LOSS_POSSIBLE] > row->t.live_blocks / 2;
}

/* Is most of it lost, but suppressed or known? Then its growth is no news either. */
static bool
is_hidden(const struct sites_row *row)
{
	int64_t hidden = row->t.known_blocks + row->t.loss_blocks[PROF_LOSS_SUPPRESSED];

	return hidden > 0 && hidden > row->t.live_blocks / 2;
}

enum verdict_word
verdict_of_site(const struct verdict *v, const struct growth_place *x,
		const struct sites_row *row)
{
	if (is_lost(row))
		return VERDICT_LEAK;
	if (is_hidden(row))
		return VERDICT_OK;
	switch (x->v.word) {
	case GROWTH_LEAK:
		return v->each[x->process].checked || v->each[x->process].past
			       ? VERDICT_GROWING
			       : VERDICT_LEAK_LIKELY;
	case GROWTH_GROWING:
		return VERDICT_GROWING;
	case GROWTH_STEADY:
		return VERDICT_STEADY;
	case GROWTH_OK:
		return VERDICT_OK;
	default:
		return VERDICT_NO_VERDICT;
	}
}

/* Whether so little grew that nobody needs to hear of it: of a program that has ended,
 * and known to be reachable. */
static bool
is_little(const struct prof *p, const struct growth_places *g, uint32_t process)
{
	double bytes = 0;

	if (p->processes[process].end == PROF_END_RUNNING)
		return false;
	for (uint32_t i = 0; i < g->nparts; i++) {
		const struct growth_part *x = &g->parts[i];

		if (x->word == GROWTH_LEAK && x->process == process)
			return false;
		if (x->process == process)
			bytes += x->slope * (double)x->ms / 1000;
	}
	return bytes < GROWTH_LITTLE_BYTES;
}

static void
facts_add_growth(struct verdict_facts *facts, const struct prof *p,
		 const struct growth_places *g, const struct sites *ss)
{
	bool judged = growth_places_judged(g);

	for (uint32_t i = 1; i < p->nprocesses; i++)
		facts[i].growth_judged = judged;
	for (uint32_t i = 0; i < g->nparts; i++) {
		const struct growth_part *x = &g->parts[i];
		struct verdict_facts *f = &facts[x->process];

		if (x->word > f->growth && !is_lost(&ss->rows[x->row]) &&
		    !is_hidden(&ss->rows[x->row]) &&
		    !(f->checked && is_little(p, g, x->process)))
			f->growth = x->word;
	}
}

/* ---- several processes ---- */

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
	if (f->loss_limit_bytes > to->loss_limit_bytes)
		to->loss_limit_bytes = f->loss_limit_bytes;
	to->lost_rate += f->lost_rate;
	to->known_bytes += f->known_bytes;
	to->known_blocks += f->known_blocks;
	to->managed_bytes += f->managed_bytes;
	to->managed_blocks += f->managed_blocks;
	to->managed = f->managed != NULL ? f->managed : to->managed;
	to->leftover_bytes += f->leftover_bytes;
	to->leftover_blocks += f->leftover_blocks;
	to->younger_bytes += f->younger_bytes;
	to->younger_blocks += f->younger_blocks;
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		to->loss_bytes[i] += f->loss_bytes[i];
		to->loss_blocks[i] += f->loss_blocks[i];
	}
}

/* Different sites with losses, or with something left, for each process and, in `all`,
 * for those behind it. */
static void
verdict_count_places(struct verdict *v, const struct prof *p, const struct sites *ss,
		     const bool *focus, const int64_t *lost)
{
	struct map seen = {0};

	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = &p->sites[i];
		struct verdict_figures *f = &v->each[s->process];
		uint32_t row = ss->row_of_site[i];
		bool some = verdict_lost(f->loss_blocks) > 0
				    ? lost[i] > 0
				    : s->live_blocks > 0 || s->live_bytes > 0;
		uint64_t *n;

		if (row == UINT32_MAX || ss->rows[row].kept != NULL || !some)
			continue;
		n = map_add(&seen, (uint64_t)s->process << 32 | row);
		f->places += (*n)++ == 0;
		if (!verdict_is_found(v, s->process, focus))
			continue;
		n = map_add(&seen, row); /* no process has the number 0 */
		v->all.places += (*n)++ == 0;
	}
	map_done(&seen);
}

bool
verdict_is_found(const struct verdict *v, uint32_t i, const bool *focus)
{
	const struct verdict_figures *f = &v->each[i];
	unsigned words = 1u << f->answer.word | f->answer.also;

	if (i == 0 || (focus != NULL && !focus[i]) || v->state[i] != VERDICT_JUDGED)
		return false;
	if (verdict_is_leak(v->all.answer.word))
		return verdict_lost(f->loss_blocks) > 0;
	/* The few samples of one were enough together with those of others. */
	if (v->all.answer.word <= VERDICT_STEADY &&
	    f->answer.why == VERDICT_WHY_FEW_SAMPLES)
		return true;
	return (words >> v->all.answer.word & 1) != 0;
}

/* The process that was started: the first of those in focus. */
static uint32_t
verdict_find_main(const struct verdict *v, const struct prof *p, const bool *focus)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((focus == NULL || focus[i]) && v->state[i] == VERDICT_JUDGED &&
		    (first == 0 ||
		     p->processes[i].start_ns < p->processes[first].start_ns))
			first = i;
	}
	return first;
}

/* Of processes that are judged together. */
static uint64_t
samples_of_all(const struct verdict *v, const struct prof *p, const bool *focus)
{
	uint64_t sum = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((focus == NULL || focus[i]) && v->state[i] == VERDICT_JUDGED)
			sum += v->each[i].samples;
	}
	return sum;
}

/* Can this process not be decided, and so not the whole? One that hardly allocates has
 * few samples, but what it may lose without a sample is the limit that is stated for the
 * others. */
static bool
is_undecided(const struct verdict_answer *a, uint64_t samples)
{
	return a->word == VERDICT_NO_VERDICT &&
	       (a->why != VERDICT_WHY_FEW_SAMPLES || samples < VERDICT_MIN_SAMPLES);
}

/* One word for all processes in focus. Findings of any of them count, and losses add up;
 * what could not be decided of one cannot be decided of all. */
static struct verdict_answer
verdict_of_all(const struct verdict *v, const struct prof *p, const bool *focus,
	       const struct verdict_facts *facts)
{
	struct verdict_facts sum = facts[v->main];
	struct verdict_answer a, undecided = {0};
	unsigned found = 0;

	if (v->main == 0)
		return verdict_decide(&(struct verdict_facts){0});
	sum.lost_bytes = sum.lost_blocks = 0;
	sum.samples = samples_of_all(v, p, focus);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct verdict_facts *f = &facts[i];

		if (focus != NULL && !focus[i])
			continue;
		/* A forked child is the same program. */
		if ((v->state[i] == VERDICT_NOT_RECORDED ||
		     p->processes[i].lost[REC_LOST_CHILD] > 0) &&
		    undecided.why == 0)
			undecided = verdict_decide(&(struct verdict_facts){0});
		if (v->state[i] != VERDICT_JUDGED)
			continue;
		found |= 1u << v->each[i].answer.word | v->each[i].answer.also;
		if (is_undecided(&v->each[i].answer, sum.samples))
			undecided = v->each[i].answer;
		sum.wrong += i == v->main ? 0 : f->wrong;
		sum.lost_bytes += f->lost_bytes;
		sum.lost_blocks += f->lost_blocks;
		if (f->lost_intervals > sum.lost_intervals)
			sum.lost_intervals = f->lost_intervals;
		sum.partial = sum.partial || f->partial;
		sum.grows_outside = sum.grows_outside || f->grows_outside;
	}
	/* Whose reachability is known and whose is not was decided process by process. */
	sum.growth = GROWTH_UNKNOWN;
	if (found >> VERDICT_LEAK_LIKELY & 1) {
		sum.growth = GROWTH_LEAK;
		sum.checked = false;
	} else if (found >> VERDICT_GROWING & 1) {
		sum.growth = GROWTH_GROWING;
		sum.growth_judged = true;
	}
	a = verdict_decide(&sum);
	return a.word < undecided.word ? undecided : a;
}

static void
verdict_decide_each(struct verdict *v, const struct prof *p, const bool *chosen,
		    const bool *focus, struct verdict_facts *facts)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		v->state[i] = p->processes[i].not_recorded != 0 ? VERDICT_NOT_RECORDED
			      : choose_is_replaced(p, i)	? VERDICT_REPLACED
								: VERDICT_JUDGED;
	}
	v->main = verdict_find_main(v, p, focus);
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (chosen != NULL && !chosen[i])
			continue;
		if (i != v->main) /* children are killed on purpose every day */
			facts[i].signal = 0;
		if (v->state[i] == VERDICT_JUDGED)
			v->each[i].answer = verdict_decide(&facts[i]);
		v->nchosen++;
		v->nrecorded += p->processes[i].not_recorded == 0;
		v->nfocus += focus == NULL || focus[i];
	}
}

static struct verdict_facts *
verdict_facts(const struct verdict *v, const struct prof *p,
	      const struct growth_places *growth, const struct sites *growth_sites)
{
	struct verdict_facts *facts = xcalloc(p->nprocesses, sizeof *facts);

	for (uint32_t i = 1; i < p->nprocesses; i++)
		facts[i] = facts_of(v, p, i);
	facts_add_errors(facts, p);
	for (uint32_t i = 0; i < p->nmemories; i++) {
		struct verdict_facts *f = &facts[p->memories[i].process];

		/* A heap that only became larger: most of the growth was not seen. */
		if (p->memories[i].kind != 0 && p->memories[i].grows)
			f->grows_outside = true;
		else if (p->memories[i].kind != 0)
			f->partial = true;
	}
	if (growth != NULL && growth->rows != NULL)
		facts_add_growth(facts, p, growth, growth_sites);
	if (v->coverage.partial)
		facts[v->coverage.process].partial = true;
	return facts;
}

/* Processes of the run go on that may not have recorded anything yet: no all-clear. */
static void
verdict_goes_on(struct verdict *v, const struct prof *p)
{
	for (uint32_t i = 1; i < p->nprocesses; i++)
		v->going_on += p->processes[i].going_on;
	if (v->going_on > 0 && v->all.answer.word == VERDICT_OK)
		v->all.answer = (struct verdict_answer){.word = VERDICT_NO_VERDICT,
							.why = VERDICT_WHY_EARLY};
}

void
verdict_init(struct verdict *ret_verdict, const struct prof *p, const struct sites *ss,
	     const bool *chosen, const bool *focus, const struct growth_places *growth,
	     const struct sites *growth_sites)
{
	struct verdict v = {.each = xcalloc(p->nprocesses, sizeof *v.each),
			    .state = xcalloc(p->nprocesses, sizeof *v.state)};
	int64_t *lost = verdict_lost_by_site(p, ss, SITES_LOSS_KINDS);
	int64_t *roots = verdict_lost_by_site(p, ss, sites_root_kinds(p));
	struct verdict_facts *facts;

	if (focus == NULL)
		focus = chosen;
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row = ss->row_of_site[i], process = p->sites[i].process;

		if (row != UINT32_MAX)
			verdict_add_site(&v.each[process], &p->processes[process],
					 &p->sites[i], ss->rows[row].kept != NULL);
	}
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].mode == PROF_SAMPLED)
			v.each[i].loss_limit_bytes =
				verdict_loss_limit(p->processes[i].rate_bytes);
	}
	verdict_add_losses(&v, p, ss);
	verdict_judge_checks(&v, p);
	verdict_find_intervals(&v, p, ss, lost);
	verdict_find_late(&v, p, ss);
	v.coverage = coverage_of(p, focus);
	facts = verdict_facts(&v, p, growth, growth_sites);
	verdict_decide_each(&v, p, chosen, focus, facts);
	v.all.answer = verdict_of_all(&v, p, focus, facts);
	v.all.checked = true;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (verdict_is_found(&v, i, focus)) {
			v.nfound++;
			v.all.checked = v.all.checked && v.each[i].checked;
			verdict_sum(&v.all, &v.each[i]);
		}
	}
	v.all.checked = v.all.checked && v.nfound > 0;
	verdict_goes_on(&v, p);
	verdict_count_places(&v, p, ss, focus, roots);
	verdict_find_peaks(&v, p, ss, chosen, focus);
	free(facts);
	free(lost);
	free(roots);
	*ret_verdict = v;
}

void
verdict_done(struct verdict *v)
{
	free(v->each);
	free(v->state);
	*v = (struct verdict){0};
}
