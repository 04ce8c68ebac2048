/* SPDX-License-Identifier: MIT */
/* report_losses.c -- what of the memory left is lost, and how: the verdict's words, a place's, and the line
 * about the rest. */
#include "model/loss_kinds.h"
#include "render/figure.h"
#include "render/report_impl.h"
#include "util/fmt.h"

/* How much is lost, and how. */
static void
report_loss_kinds(struct report *r, const int64_t *bytes, const int64_t *blocks)
{
	static const char *const words[] = {[PROF_LOSS_DEFINITE] = "definitely",
					    [PROF_LOSS_INDIRECT] = "indirectly",
					    [PROF_LOSS_POSSIBLE] = "possibly"};
	const char *comma = ", ";

	for (unsigned i = 0; i < PROF_LOSS_REACHABLE; i++) {
		if (blocks[i] == 0)
			continue;
		buf_printf(r->out, "%s%s %s", comma,
			   figure_bytes(bytes[i], 0, r->o->bytes).s, words[i]);
	}
	buf_add_str(r->out, " lost");
}

void
report_leak(struct report *r)
{
	const struct verdict_figures *f = &r->v.all;
	const int64_t *blocks = f->loss_blocks;
	int64_t lost = verdict_lost(blocks);
	bool maybe = blocks[PROF_LOSS_POSSIBLE] == lost;

	buf_printf(r->out, "%s in %s %slost at %s",
		   figure_bytes(verdict_lost(f->loss_bytes), 0, r->o->bytes).s,
		   figure_things(lost, 0, "block").s, maybe ? "possibly " : "",
		   figure_things(f->places, 0, "place").s);
	if (blocks[PROF_LOSS_DEFINITE] == lost)
		buf_add_str(r->out, ", all of it definitely lost");
	else if (!maybe)
		report_loss_kinds(r, f->loss_bytes, blocks);
}

/* "16 B in 1 block", or "0". */
static void
report_some(struct report *r, int64_t bytes, int64_t blocks)
{
	if (blocks == 0)
		buf_add_char(r->out, '0');
	else
		buf_printf(r->out, "%s in %s", figure_bytes(bytes, 0, r->o->bytes).s,
			   figure_things(blocks, 0, "block").s);
}

bool
report_losses(struct report *r)
{
	int64_t possible[2] = {0, 0}, reachable[2] = {0, 0}, suppressed[2] = {0, 0};
	uint32_t looked = 0, refused = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct verdict_figures *f = &r->v.each[i];
		const struct prof_check *c = prof_check_of(r->p, i);

		if (!report_chose(r, i) || c == NULL)
			continue;
		if (!f->checked) {
			refused = i;
			continue;
		}
		looked++;
		possible[0] += f->loss_bytes[PROF_LOSS_POSSIBLE];
		possible[1] += f->loss_blocks[PROF_LOSS_POSSIBLE];
		reachable[0] += f->loss_bytes[PROF_LOSS_REACHABLE];
		reachable[1] += f->loss_blocks[PROF_LOSS_REACHABLE];
		suppressed[0] += f->loss_bytes[PROF_LOSS_SUPPRESSED];
		suppressed[1] += f->loss_blocks[PROF_LOSS_SUPPRESSED];
	}
	if (looked > 0) {
		buf_add_str(r->out, "possibly lost ");
		report_some(r, possible[0], possible[1]);
		buf_add_str(r->out, REPORT_DOT "still reachable ");
		report_some(r, reachable[0], reachable[1]);
		buf_add_str(r->out, REPORT_DOT);
		if (suppressed[1] > 0) {
			buf_add_str(r->out, "suppressed ");
			report_some(r, suppressed[0], suppressed[1]);
			buf_add_str(r->out, REPORT_DOT);
		}
	}
	if (refused != 0 && r->one != 0) {
		buf_add_str(r->out, "lost or not is not known: ");
		if (prof_check_of(r->p, refused)->done)
			buf_add_str(r->out, "not all of its blocks are known");
		else
			figure_text(r->out,
				    prof_text(r->p, prof_check_of(r->p, refused)->why));
		buf_add_char(r->out, '\n');
	}
	return looked > 0;
}

void
report_beside_lost(struct report *r, const struct sites_total *t, const char *freed)
{
	unsigned kinds = r->o->leak_kinds != 0 ? r->o->leak_kinds : SITES_LOSS_KINDS;

	buf_printf(r->out, "%s, %s freed", figure_things(t->lost_blocks, 0, "block").s,
		   freed);
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
		if (t->loss_blocks[i] > 0 && (kinds & 1u << i) == 0)
			buf_printf(r->out, ", %s more %s",
				   fmt_count((uint64_t)t->loss_blocks[i]).s,
				   loss_kind_words[i]);
	}
}
