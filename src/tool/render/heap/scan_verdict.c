/* SPDX-License-Identifier: MIT */
/* scan_verdict.c -- the verdict on a heap that nobody recorded, and its summary; see
 * scan_report.h. */
#include "tool/render/heap/scan_report.h"

#define DOT " · "

enum { KEPT_MUCH = 2 }; /* malloc keeps at least live / this: worth a word */

/* ---- one look ---- */

static void
add_leak(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	const struct heapscan_sum *d = &s->sums[HEAPSCAN_DEFINITE];
	const struct heapscan_sum *i = &s->sums[HEAPSCAN_INDIRECT];

	buf_printf(out, "%s in %s lost, ", scan_bytes(o, d->bytes + i->bytes).s,
		   figure_things((int64_t)(d->blocks + i->blocks), 0, "block").s);
	if (d->blocks <= 1)
		buf_add_str(out, "once");
	else
		buf_printf(out, "%s times", fmt_count(d->blocks).s);
}

static void
add_partial(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	uint64_t have = scan_seen_bytes(s);

	buf_printf(out,
		   "malloc has %s of %s anonymous memory (%s)%s: ", scan_bytes(o, have).s,
		   scan_bytes(o, s->anon_bytes).s, fmt_percent(have, s->anon_bytes).s,
		   s->sums[HEAPSCAN_DEFINITE].blocks == 0 ? ", nothing of it lost" : "");
	if (s->hides != 0)
		clean_text(out, heapscan_text(s, s->hides));
	else
		buf_add_str(out, "the rest was not asked of malloc");
}

/* What malloc keeps, if it is much. */
static void
add_kept(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	uint64_t kept = scan_kept_bytes(s);

	if (kept > scan_live_bytes(s) / KEPT_MUCH)
		buf_printf(out, "; malloc keeps %s that was freed or never used",
			   scan_bytes(o, kept).s);
}

static void
add_ok(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	struct heapscan_sum all = heapscan_total(s);

	buf_printf(out, "no leak: %s in %s", scan_bytes(o, all.bytes).s,
		   figure_things((int64_t)all.blocks, 0, "block").s);
	add_kept(out, s, o);
}

/* The command that would decide it. It may be under way already. */
static void
add_decides(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	if (s->core != 0)
		return;
	if (o->attached)
		buf_printf(out, "; seep is attached to it: use seep report %d", s->pid);
	else
		buf_printf(out, "; use seep attach --for 10m %d", s->pid);
}

/* Something of the heap was not understood. */
static void
add_undecided(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	const struct heapscan_sum *d = &s->sums[HEAPSCAN_DEFINITE];

	if (s->unreadable != 0) {
		clean_text(out, heapscan_text(s, s->unreadable));
		add_decides(out, s, o);
		return;
	}
	if (s->managed != 0 && d->blocks > 0) {
		buf_printf(out,
			   "%s in %s without a reference, but %s's collector frees its "
			   "objects",
			   scan_bytes(o, d->bytes).s,
			   figure_things((int64_t)d->blocks, 0, "block").s,
			   heapscan_text(s, s->managed));
		add_decides(out, s, o);
		return;
	}
	if ((s->managed != 0 || s->objects != 0) && scan_unread_bytes(s) == 0 &&
	    s->missed.blocks == 0) {
		buf_printf(out,
			   "nothing is lost, but one scan does not show which of %s's "
			   "objects live too long",
			   heapscan_text(s, s->managed != 0 ? s->managed : s->objects));
		/* Objects that malloc does not see: attaching would not either. */
		if (s->objects != 0 && s->hides != 0) {
			buf_add_str(out, "; ");
			clean_text(out, heapscan_text(s, s->hides));
		} else {
			add_decides(out, s, o);
		}
		return;
	}
	if (s->missing_bytes > 0) {
		buf_printf(
			out,
			"the core is cut off: %s of its memory is missing; use a whole core",
			scan_bytes(o, s->missing_bytes).s);
		return;
	}
	if (s->missed.blocks > 0)
		buf_printf(out,
			   "nothing found to be lost, but %s that malloc mapped could "
			   "not be found",
			   figure_things((int64_t)s->missed.blocks, 0, "block").s);
	else
		buf_printf(
			out,
			"nothing found to be lost, but %s of malloc's heap could not be read",
			scan_bytes(o, scan_unread_bytes(s)).s);
	add_decides(out, s, o);
}

/* ---- since an earlier look ---- */

static void
add_growth(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	   const struct scan_opts *o)
{
	int64_t blocks = g->blocks - (g->lost_blocks > 0 ? g->lost_blocks : 0);
	const struct heapscan_group *held = NULL;

	if (scan_keeps_more(s, g)) {
		buf_printf(out,
			   "malloc keeps %s more, live %s: freed memory that is "
			   "not given back",
			   scan_change(o, g->kept_bytes).s, scan_change(o, g->bytes).s);
		return;
	}
	buf_printf(out, "live %s in %s blocks%s", scan_change(o, scan_held_bytes(g)).s,
		   fmt_count_signed(blocks).s,
		   g->lost_blocks > 0 ? " that are not lost" : ", none of it lost");
	/* The holder of what grew most and is not lost. */
	for (size_t i = 0; i < g->rows.len && held == NULL; i++) {
		const struct scan_growth_row *r = &g->rows.data[i];
		int64_t more = (int64_t)(r->after.blocks - r->before.blocks);

		if (r->bytes > 0 && r->group != UINT32_MAX && more > r->lost_blocks)
			held = &s->groups.data[r->group];
	}
	if (held != NULL && held->holder != 0) {
		buf_add_str(out, ": held by ");
		clean_text(out, heapscan_text(s, held->holder));
	}
}

static void
add_since(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	  const struct scan_opts *o, enum verdict_word word)
{
	if (word == VERDICT_LEAK || word == VERDICT_LEAK_MINOR)
		buf_printf(out, "%s in %s blocks lost since then, of %s that came",
			   scan_change(o, g->lost_bytes).s,
			   fmt_count_signed(g->lost_blocks).s,
			   scan_change(o, g->bytes).s);
	else if (word == VERDICT_GROWING)
		add_growth(out, s, g, o);
	else
		buf_printf(out, "live %s in %s blocks", scan_change(o, g->bytes).s,
			   fmt_count_signed(g->blocks).s);
	if (g->seconds > 0)
		buf_printf(out, ", in %s", fmt_duration(g->seconds * 1000000000).s);
}

/* ---- all of it ---- */

static void
add_word(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	 const struct scan_opts *o, enum verdict_word word)
{
	buf_printf(out, "%s  ", verdict_word_name(word));
	if (word == VERDICT_PARTIAL)
		add_partial(out, s, o);
	else if (g != NULL && word != VERDICT_NO_VERDICT)
		add_since(out, s, g, o, word);
	else if (word == VERDICT_LEAK || word == VERDICT_LEAK_MINOR)
		add_leak(out, s, o);
	else if (word == VERDICT_NO_VERDICT)
		add_undecided(out, s, o);
	else
		add_ok(out, s, o);
	buf_add_char(out, '\n');
}

void
scan_unreadable(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	scan_verdict(out, s, NULL, o);
	if (s->core == 0)
		buf_printf(out, "next: seep watch %d (which regions grow)\n", s->pid);
}

void
scan_verdict(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	     const struct scan_opts *o)
{
	struct verdict_answer a = scan_decide(s, g);
	unsigned words = a.also | 1u << a.word;

	for (int i = VERDICT_WORDS - 1; i >= 0; i--) {
		if ((words >> i & 1) != 0)
			add_word(out, s, g, o, (enum verdict_word)i);
	}
}

static void
add_sum(struct buf *out, const struct scan_opts *o, const struct heapscan_sum *s)
{
	if (s->blocks == 0)
		buf_add_char(out, '0');
	else
		buf_printf(out, "%s in %s", scan_bytes(o, s->bytes).s,
			   figure_things((int64_t)s->blocks, 0, "block").s);
}

void
scan_sums(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	buf_add_str(out, "definitely lost ");
	add_sum(out, o, &s->sums[HEAPSCAN_DEFINITE]);
	if (s->sums[HEAPSCAN_INDIRECT].blocks > 0) {
		buf_add_str(out, DOT "indirectly lost ");
		add_sum(out, o, &s->sums[HEAPSCAN_INDIRECT]);
	}
	buf_add_str(out, DOT "possibly lost ");
	add_sum(out, o, &s->sums[HEAPSCAN_POSSIBLE]);
	figure_leftover(out, (int64_t)s->sums[HEAPSCAN_POSSIBLE].blocks,
			(int64_t)s->leftover.blocks);
	buf_add_str(out, DOT "still reachable ");
	add_sum(out, o, &s->sums[HEAPSCAN_REACHABLE]);
	buf_add_char(out, '\n');
}
