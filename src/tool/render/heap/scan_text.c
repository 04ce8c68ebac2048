/* SPDX-License-Identifier: MIT */
/* scan_text.c -- a heap that nobody recorded as text: what is in it, who holds it, what
 * malloc keeps, what grew; see scan_report.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/heap/scan_report.h"
#include "tool/render/wrap.h"
#include "tool/util/x.h"

#define DOT " · "

enum {
	ARENAS_SHOWN = 8,
};

struct figure_str
scan_bytes(const struct scan_opts *o, uint64_t bytes)
{
	return figure_bytes((int64_t)bytes, 0, o->bytes);
}

struct fmt_str
scan_change(const struct scan_opts *o, int64_t bytes)
{
	return o->bytes ? fmt_count_signed(bytes) : fmt_size_signed(bytes);
}

static uint64_t
lost_blocks(const struct heapscan_sum *s)
{
	return s[HEAPSCAN_DEFINITE].blocks + s[HEAPSCAN_INDIRECT].blocks;
}

/* ---- blocks ---- */

static void
groups_text(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	size_t n, most = o->rows > 0 ? o->rows : SCAN_ROWS;
	uint32_t *order = scan_order(s, 15, &n);
	uint64_t whole = heapscan_total(s).bytes;

	buf_add_str(out, "blocks\n");
	for (size_t i = 0; i < n && (o->all || i < most); i++) {
		const struct heapscan_group *g = &s->groups.data[order[i]];
		struct heapscan_sum all = heapscan_group_total(g);

		buf_printf(out, "%2zu  %10s  %5s  %9s x ", i + 1,
			   scan_bytes(o, all.bytes).s, fmt_percent(all.bytes, whole).s,
			   fmt_count(all.blocks).s);
		heapscan_group_words(out, s, g);
		if (lost_blocks(g->sums) > 0)
			buf_printf(out, ", %s lost", fmt_count(lost_blocks(g->sums)).s);
		if (g->sums[HEAPSCAN_POSSIBLE].blocks > 0)
			buf_printf(out, ", %s possibly lost",
				   fmt_count(g->sums[HEAPSCAN_POSSIBLE].blocks).s);
		buf_add_char(out, '\n');
		if (g->holder != 0) {
			buf_add_str(out, "        held by ");
			clean_text(out, heapscan_text(s, g->holder));
			if (g->held > 0 && g->held < all.blocks)
				buf_printf(out, " (%s of them)", fmt_count(g->held).s);
			buf_add_char(out, '\n');
		}
	}
	if (n > most && !o->all)
		buf_printf(out, "    %s more kinds of blocks (--all)\n",
			   fmt_count(n - most).s);
	free(order);
}

static void
holders_text(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	size_t most = o->rows > 0 ? o->rows : SCAN_ROWS;
	uint64_t whole = heapscan_total(s).bytes;

	if (s->holders.len == 0)
		return;
	buf_add_str(out, "reachable only from: bytes, share, blocks\n");
	for (size_t i = 0; i < s->holders.len && (o->all || i < most); i++) {
		const struct heapscan_holder *h = &s->holders.data[i];

		buf_printf(out, "    %10s  %5s  %9s  ",
			   scan_bytes(o, h->retained.bytes).s,
			   fmt_percent(h->retained.bytes, whole).s,
			   fmt_count(h->retained.blocks).s);
		clean_text(out, heapscan_text(s, h->name));
		if (h->stacks > 0)
			buf_printf(out, " and %s stack%s", fmt_count(h->stacks).s,
				   h->stacks == 1 ? "" : "s");
		if (h->address != 0)
			buf_printf(out, ", by 0x%" PRIx64, h->address);
		buf_add_char(out, '\n');
	}
}

static void
growth_text(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	    const struct scan_opts *o)
{
	size_t most = o->rows > 0 ? o->rows : SCAN_ROWS, shown = 0;

	buf_add_str(out, "grew\n");
	for (size_t i = 0; i < g->rows.len && (o->all || shown < most); i++) {
		const struct scan_growth_row *r = &g->rows.data[i];
		const struct heapscan_group *group;

		if (r->bytes <= 0 || r->group == UINT32_MAX)
			continue;
		shown++;
		group = &s->groups.data[r->group];
		buf_printf(out, "%2zu  %11s  %s blocks of ", shown,
			   scan_change(o, r->bytes).s,
			   fmt_count_signed((int64_t)(r->after.blocks - r->before.blocks))
				   .s);
		heapscan_group_words(out, s, group);
		if (r->lost_blocks > 0)
			buf_printf(out, ", %s of them lost",
				   fmt_count_signed(r->lost_blocks).s);
		if (r->old_group == UINT32_MAX)
			buf_add_str(out, ", NEW");
		buf_add_char(out, '\n');
		if (group->holder != 0 &&
		    r->lost_blocks < (int64_t)(r->after.blocks - r->before.blocks)) {
			buf_add_str(out, "        held by ");
			clean_text(out, heapscan_text(s, group->holder));
			buf_add_char(out, '\n');
		}
	}
	if (shown == 0)
		buf_add_str(out, "    nothing\n");
}

/* ---- arenas ---- */

static void
arena_text(struct buf *out, const struct scan_opts *o, const char *name,
	   const struct heapscan_arena *a)
{
	uint64_t kept = a->free_bytes + a->top_bytes + a->cached_bytes;

	buf_printf(out, "    %-9s live %s in %s blocks, free but kept %s", name,
		   scan_bytes(o, a->used_bytes).s, fmt_count(a->used_blocks).s,
		   scan_bytes(o, kept).s);
	if (kept > 0)
		buf_printf(out, " (%s between blocks, %s at the end, %s for reuse)",
			   scan_bytes(o, a->free_bytes).s, scan_bytes(o, a->top_bytes).s,
			   scan_bytes(o, a->cached_bytes).s);
	/* What is free in small pieces can serve no large block. */
	buf_printf(out, ", fragmentation %s",
		   fmt_percent(a->free_bytes, a->used_bytes + a->free_bytes).s);
	if (a->gap_bytes > 0)
		buf_printf(out, ", %s not understood", scan_bytes(o, a->gap_bytes).s);
	buf_add_char(out, '\n');
}

static void
add_arena(struct heapscan_arena *to, const struct heapscan_arena *a)
{
	to->used_bytes += a->used_bytes;
	to->used_blocks += a->used_blocks;
	to->free_bytes += a->free_bytes;
	to->top_bytes += a->top_bytes;
	to->cached_bytes += a->cached_bytes;
	to->gap_bytes += a->gap_bytes;
}

static void
arenas_text(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	struct heapscan_arena rest = {0};
	size_t n = s->arenas.len, most = o->all ? n : ARENAS_SHOWN;
	char name[32];

	buf_add_str(out, "malloc\n");
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, i == 0 ? "main" : "arena %zu", i);
		if (i < most)
			arena_text(out, o, name, &s->arenas.data[i]);
		else
			add_arena(&rest, &s->arenas.data[i]);
	}
	if (n > most) {
		snprintf(name, sizeof name, "%zu more", n - most);
		arena_text(out, o, name, &rest);
	}
	if (s->mapped.blocks > 0)
		buf_printf(out,
			   "    mapped    live %s in %s with mappings of their own\n",
			   scan_bytes(o, s->mapped.bytes).s,
			   figure_things((int64_t)s->mapped.blocks, 0, "block").s);
}

/* Commands that can be pasted: who holds the block that most hangs on, and, with `grows`,
 * what grows from now on. */
static void
next_text(struct buf *out, const struct heapscan *s, const char *target, bool grows)
{
	uint64_t address = 0;

	for (size_t i = 0; i < s->holders.len && address == 0; i++)
		address = s->holders.data[i].address;
	if (address == 0 && !grows)
		return;
	buf_add_str(out, "next: ");
	if (address != 0) {
		buf_printf(out, "seep scan --who 0x%" PRIx64 " ", address);
		clean_shell(out, target);
		buf_add_str(out, " (what keeps a block reachable)");
	}
	if (grows) {
		buf_printf(out, "%sseep scan --save heap.scan ", address != 0 ? DOT : "");
		clean_shell(out, target);
		buf_add_str(out, ", later: seep scan --since heap.scan ");
		clean_shell(out, target);
		buf_add_str(out, " (what grows)");
	}
	buf_add_char(out, '\n');
}

/* ---- all of it ---- */

void
scan_heap_text(struct buf *out, const struct heapscan *s, const struct scan_growth *g,
	       const struct scan_opts *o)
{
	size_t from = out->len;

	scan_verdict(out, s, g, o);
	if (g != NULL)
		growth_text(out, s, g, o);
	groups_text(out, s, o);
	holders_text(out, s, o);
	arenas_text(out, s, o);
	scan_sums(out, s, o);
	clean_text(out, heapscan_text(s, s->what));
	buf_printf(out, DOT "live %s, kept by malloc %s",
		   scan_bytes(o, scan_live_bytes(s)).s,
		   scan_bytes(o, scan_kept_bytes(s)).s);
	if (s->anon_bytes > 0)
		buf_printf(out, ", of %s resident anonymous memory",
			   scan_bytes(o, s->anon_bytes).s);
	buf_add_char(out, '\n');
	for (size_t i = 0; i < s->notes.len; i++) {
		buf_add_str(out, "note: ");
		clean_text(out, heapscan_text(s, s->notes.data[i]));
		buf_add_char(out, '\n');
	}
	if (s->threads > 0)
		scan_about(out, s);
	if (o->target != NULL)
		next_text(out, s, o->target, s->core == 0 && g == NULL);
	if (o->ascii)
		figure_to_ascii(out, from);
	wrap_term(out, from, o->term);
}
