/* SPDX-License-Identifier: MIT */
/* report_losses.c -- lost memory: the words of the headline, of a site, and of the
 * summary. */
#include <inttypes.h>

#include "shared/compiler.h"
#include "tool/model/complete.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/render/report/report_impl.h"
#include "tool/util/fmt.h"

/* Losses that the baseline has too, of all processes chosen. */
static void
report_sum_known(const struct report *r, int64_t *ret_bytes, int64_t *ret_blocks)
{
	*ret_bytes = *ret_blocks = 0;
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (!report_chose(r, i))
			continue;
		*ret_bytes += r->v.each[i].known_bytes;
		*ret_blocks += r->v.each[i].known_blocks;
	}
}

void
report_known(struct report *r)
{
	int64_t bytes, blocks, lost = verdict_lost(r->v.all.loss_bytes);

	report_sum_known(r, &bytes, &blocks);
	buf_printf(r->out, "known %s, new %s",
		   bytes > 0 ? figure_bytes(bytes, 0, r->o->bytes).s : "0",
		   lost > 0 ? figure_bytes(lost, 0, r->o->bytes).s : "0");
}

struct report_rate
report_leak_rate(const struct report *r)
{
	struct report_rate sum = {0};

	if (r->v.all.lost_rate <= 0)
		return sum;
	sum = report_growth_rate(r, VERDICT_LEAK);
	if (sum.sites < r->v.all.places || !growth_text_has_rate(sum.slope))
		sum = (struct report_rate){.slope = r->v.all.lost_rate};
	return sum;
}

void
report_leak(struct report *r)
{
	const struct verdict_figures *f = &r->v.all;
	struct report_rate rate = report_leak_rate(r);
	int64_t roots = f->loss_blocks[PROF_LOSS_DEFINITE];

	buf_printf(r->out, "%s%s in %s lost at %s, ", r->sampled ? "about " : "",
		   figure_bytes(verdict_lost(f->loss_bytes), 0, r->o->bytes).s,
		   figure_things(verdict_lost(f->loss_blocks), 0, "block").s,
		   figure_things(f->places, 0, "site").s);
	/* What hangs on a lost block was lost with it, at the same time. */
	if (rate.slope > 0)
		buf_add_str(r->out,
			    growth_text_rate(rate.slope, rate.error, r->o->bytes).s);
	else if (roots <= 1)
		buf_add_str(r->out, "once");
	else
		buf_printf(r->out, "%s times", fmt_count((uint64_t)roots).s);
	if (r->o->baseline) {
		buf_add_str(r->out, "; ");
		report_known(r);
	}
}

/* "16 B in 1 block", or "0". */
static void
report_some(struct report *r, int64_t bytes, int64_t blocks)
{
	if (blocks == 0)
		buf_add_char(r->out, '0');
	else
		buf_printf(r->out, "%s%s in %s", r->sampled ? "about " : "",
			   figure_bytes(bytes, 0, r->o->bytes).s,
			   figure_things(blocks, 0, "block").s);
}

/* The kinds of the summary, in their order. Indirect losses and suppressed ones are
 * rare. */
static const struct {
	enum prof_loss_kind kind;
	const char *words;
	bool always;
} loss_line[] = {
	{PROF_LOSS_DEFINITE, "definitely lost ", true},
	{PROF_LOSS_INDIRECT, "indirectly lost ", false},
	{PROF_LOSS_POSSIBLE, "possibly lost ", true},
	{PROF_LOSS_REACHABLE, "still reachable ", true},
	{PROF_LOSS_SUPPRESSED, "suppressed ", false},
};

/* Sampled, and growing like a leak: an exact recording would decide it. */
static bool
report_undecided_growth(const struct report *r)
{
	enum verdict_word lead = report_lead(r);

	return r->sampled && (lead == VERDICT_LEAK_LIKELY || lead == VERDICT_GROWING) &&
	       report_growth_rate(r, lead).slope > 0;
}

/* The process that the report is about, if it was not searched because it was killed, not
 * recorded to its end or sampled; else 0. */
static uint32_t
report_gone(const struct report *r)
{
	uint32_t i = r->one != 0 ? r->one : r->v.main;
	const struct prof_process *pr = &r->p->processes[i];
	bool exact = pr->mode == PROF_EXACT;

	if (prof_check_of(r->p, i) != NULL)
		return 0;
	if (exact && (pr->end == PROF_END_SIGNAL || complete_ended_early(pr)))
		return i;
	return pr->end == PROF_END_EXITED && report_undecided_growth(r) ? i : 0;
}

static void
report_no_check(struct report *r, uint32_t process)
{
	buf_add_str(r->out, "no leak check");
	/* Of none that was sampled there is one. */
	if (r->one == 0 && r->p->processes[process].mode != PROF_SAMPLED) {
		buf_add_str(r->out, " of ");
		report_process(r, process);
	}
	buf_add_str(r->out, ": ");
	report_why_unchecked(r, process);
	buf_add_char(r->out, '\n');
}

bool
report_losses(struct report *r)
{
	int64_t bytes[PROF_LOSS_KINDS] = {0}, blocks[PROF_LOSS_KINDS] = {0};
	struct verdict_figures managed = {0};
	int64_t leftover = 0, younger_bytes = 0, younger_blocks = 0;
	uint32_t looked = 0, refused = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct verdict_figures *f = &r->v.each[i];

		if (!r->focus[i] || prof_check_of(r->p, i) == NULL)
			continue;
		looked += f->checked;
		refused = f->checked ? refused : i;
		for (unsigned k = 0; f->checked && k < PROF_LOSS_KINDS; k++) {
			bytes[k] += f->loss_bytes[k];
			blocks[k] += f->loss_blocks[k];
		}
		leftover += f->checked ? f->leftover_blocks : 0;
		younger_bytes += f->checked ? f->younger_bytes : 0;
		younger_blocks += f->checked ? f->younger_blocks : 0;
		if (f->checked && f->managed != NULL) {
			managed.managed = f->managed;
			managed.managed_bytes += f->managed_bytes;
			managed.managed_blocks += f->managed_blocks;
		}
	}
	if (report_gone(r) != 0)
		report_no_check(r, report_gone(r));
	else if (refused != 0 && r->one != 0)
		report_no_check(r, refused);
	for (size_t i = 0; looked > 0 && i < ARRAY_LEN(loss_line); i++) {
		enum prof_loss_kind k = loss_line[i].kind;

		if (!loss_line[i].always && blocks[k] == 0)
			continue;
		buf_printf(r->out, "%s%s", i > 0 ? REPORT_DOT : "", loss_line[i].words);
		report_some(r, bytes[k], blocks[k]);
		if (k == PROF_LOSS_POSSIBLE)
			figure_leftover(r->out, blocks[k], leftover);
	}
	if (looked > 0 && r->o->baseline) {
		int64_t known_bytes, known_blocks;

		report_sum_known(r, &known_bytes, &known_blocks);
		buf_add_str(r->out, REPORT_DOT "known ");
		report_some(r, known_bytes, known_blocks);
	}
	if (younger_blocks > 0) {
		buf_add_str(r->out, REPORT_DOT "younger than the leak check ");
		report_some(r, younger_bytes, younger_blocks);
	}
	if (looked > 0 && managed.managed_blocks > 0) {
		buf_printf(r->out, REPORT_DOT "not judged, %s's own ",
			   managed.managed->name);
		report_some(r, managed.managed_bytes, managed.managed_blocks);
	}
	return looked > 0;
}

void
report_why_unchecked(struct report *r, uint32_t process)
{
	const struct prof_check *c = prof_check_of(r->p, process);
	const struct prof_process *pr = &r->p->processes[process];

	if (c != NULL && !c->done) {
		clean_text(r->out, prof_text(r->p, c->why));
		return;
	}
	if (pr->replaced_by != 0) {
		buf_add_str(r->out, "exec replaced the program with ");
		clean_text(r->out, prof_text(r->p, pr->replaced_by));
		buf_printf(r->out, "; record that one: seep attach %" PRIu32, pr->pid);
		return;
	}
	buf_add_str(
		r->out,
		c != NULL || complete_ended_early(pr)
			? "not all of the program's blocks are known"
		: pr->end == PROF_END_SIGNAL || pr->end == PROF_END_UNKNOWN
			? "the process was gone before its memory could be searched"
		: pr->mode == PROF_SAMPLED
			? "it needs an exact recording (seep run --exact)"
			: "no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs");
}

void
report_beside_lost(struct report *r, const struct sites_total *t, const char *freed)
{
	unsigned roots = sites_root_kinds(r->p);
	unsigned kinds = r->o->leak_kinds != 0 ? r->o->leak_kinds : roots;
	/* what is lost through these blocks is said already */
	unsigned more = r->o->leak_kinds != 0 ? 0 : SITES_LOSS_KINDS & ~roots;

	buf_add_str(r->out, figure_things(t->lost_blocks, 0, "block").s);
	if (!prof_is_walked(r->p))
		buf_printf(r->out, ", %s freed", freed);
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		int64_t n = t->loss_blocks[i];

		if (n == 0 || (kinds & 1u << i) == 0)
			continue;
		if (n < t->lost_blocks)
			buf_printf(r->out, ", %s %s", fmt_count((uint64_t)n).s,
				   loss_kind_words[i]);
		else if (i != PROF_LOSS_DEFINITE)
			buf_printf(r->out, ", %s", loss_kind_words[i]);
	}
	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		if (t->loss_blocks[i] > 0 && ((kinds | more) & 1u << i) == 0)
			buf_printf(r->out, ", %s more %s",
				   fmt_count((uint64_t)t->loss_blocks[i]).s,
				   loss_kind_words[i]);
	}
}
