/* SPDX-License-Identifier: MIT */
/* scan_leaks.c -- what is lost of a heap that nobody recorded, as text; see
 * scan_report.h. */
#include <inttypes.h>
#include <stdlib.h>

#include "tool/render/heap/scan_report.h"
#include "tool/render/moment_words.h"
#include "tool/render/wrap.h"
#include "tool/util/x.h"

#define DOT " · "

static const char *const kind_words[HEAPSCAN_KINDS] = {
	"definitely lost", "indirectly lost", "possibly lost", "still reachable"};

#define GLIBC_NAME "glibc's malloc" /* as its walker is called */

void
scan_about(struct buf *out, const struct heapscan *s)
{
	struct heapscan_sum all = heapscan_total(s);

	if (s->core == 0)
		buf_printf(out, "stopped %s + %s, ", fmt_duration(s->stop_ns).s,
			   fmt_duration(s->pause_ns).s);
	buf_printf(out, "%s, %s", figure_things(s->threads, 0, "thread").s,
		   figure_things((int64_t)all.blocks, 0, "block").s);
	if (s->allocators == 0 ||
	    strcmp(heapscan_text(s, s->allocators), GLIBC_NAME) == 0)
		buf_printf(out, ", %zu arena%s", s->arenas.len,
			   s->arenas.len == 1 ? "" : "s");
	else
		buf_printf(out, " of %s", heapscan_text(s, s->allocators));
	buf_printf(out, "%s\n", s->snapshot != 0 ? "; checked on a copy" : "");
}

/* ---- rows ---- */

struct row {
	const struct heapscan_group *g;
	uint64_t bytes, blocks; /* of the kinds that are listed */
};

static int
compare_rows(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->g->size != y->g->size)
		return x->g->size > y->g->size ? -1 : 1;
	return (x->g->example > y->g->example) - (x->g->example < y->g->example);
}

/* When its lost blocks were lost: those of the first kind that it has. */
static void
row_moments(struct buf *out, const struct heapscan *s, const struct heapscan_group *g)
{
	uint32_t group = (uint32_t)(g - s->groups.data);
	const struct prof_moment *m = s->moments.data;
	size_t first = 0, n = 0;

	while (first < s->moments.len && m[first].site != group)
		first++;
	while (first + n < s->moments.len && m[first + n].site == group &&
	       m[first + n].kind == m[first].kind)
		n++;
	if (n == 0)
		return;
	buf_add_str(out, "    lost ");
	moment_interval(out, &m[first]);
	moment_others(out, &m[first], n, g->sums[m[first].kind].blocks);
	buf_add_char(out, '\n');
}

/* The checks that found out. */
static void
rounds_text(struct buf *out, const struct heapscan *s)
{
	struct moments_sum sum = moments_sum(s->rounds.data, s->rounds.len, NULL);

	if (s->rounds.len == 0)
		return;
	moment_checks(out, &sum, heapscan_text(s, sum.failed_why));
	buf_add_str(out,
		    "times are since the first check; blocks are known by address and "
		    "size alone: one that was freed and allocated again in the same "
		    "place looks the same\n");
}

static void
row_text(struct buf *out, const struct heapscan *s, const struct scan_opts *o,
	 const struct row *r, size_t number, uint64_t whole)
{
	const char *comma = "";
	unsigned kinds = o->kinds;

	buf_printf(out, "%2zu  %s  %s   %s, ", number, scan_bytes(o, r->bytes).s,
		   fmt_percent(r->bytes, whole).s,
		   figure_things((int64_t)r->blocks, 0, "block").s);
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		if ((kinds & 1u << i) == 0 || r->g->sums[i].blocks == 0)
			continue;
		buf_add_str(out, comma);
		if (r->g->sums[i].blocks < r->blocks)
			buf_printf(out, "%s ", fmt_count(r->g->sums[i].blocks).s);
		buf_add_str(out, kind_words[i]);
		comma = ", ";
	}
	if (r->g->indirect_bytes > 0 && (kinds & 1u << HEAPSCAN_DEFINITE) != 0)
		buf_printf(out, ", and %s through them",
			   scan_bytes(o, r->g->indirect_bytes).s);
	buf_add_str(out, "\n    ");
	heapscan_group_words(out, s, r->g);
	buf_printf(out, DOT "for example at 0x%" PRIx64 "\n", r->g->example);
	if (r->g->holder != 0) {
		buf_add_str(out, "    held by ");
		clean_text(out, heapscan_text(s, r->g->holder));
		buf_add_char(out, '\n');
	}
	row_moments(out, s, r->g);
}

static struct row *
sorted_rows(const struct heapscan *s, unsigned kinds, size_t *ret_n)
{
	struct row *rows = xcalloc(s->groups.len, sizeof *rows);
	size_t n = 0;

	for (size_t i = 0; i < s->groups.len; i++) {
		struct row r = {.g = &s->groups.data[i]};

		for (unsigned k = 0; k < HEAPSCAN_KINDS; k++) {
			if ((kinds & 1u << k) == 0)
				continue;
			r.bytes += r.g->sums[k].bytes;
			r.blocks += r.g->sums[k].blocks;
		}
		if (r.blocks > 0)
			rows[n++] = r;
	}
	if (n > 1)
		qsort(rows, n, sizeof *rows, compare_rows);
	*ret_n = n;
	return rows;
}

uint32_t *
scan_order(const struct heapscan *s, unsigned kinds, size_t *ret_n)
{
	struct row *rows = sorted_rows(s, kinds, ret_n);
	uint32_t *order = xcalloc(*ret_n, sizeof *order);

	for (size_t i = 0; i < *ret_n; i++)
		order[i] = (uint32_t)(rows[i].g - s->groups.data);
	free(rows);
	return order;
}

static void
rows_text(struct buf *out, const struct heapscan *s, const struct scan_opts *o)
{
	size_t n, most = o->rows;
	struct row *rows = sorted_rows(s, o->kinds, &n);
	uint64_t whole = 0;

	for (size_t i = 0; i < n; i++)
		whole += rows[i].bytes;
	for (size_t i = 0; i < n && (o->all || i < most); i++)
		row_text(out, s, o, &rows[i], i + 1, whole);
	if (n > most && !o->all)
		buf_printf(out, "    %s more kinds of blocks (--all)\n",
			   fmt_count(n - most).s);
	free(rows);
}

/* ---- all of it ---- */

void
scan_leaks_text(struct buf *out, const struct heapscan *s, const struct scan_opts *given)
{
	struct scan_opts o = *given;
	size_t from = out->len;

	if (o.kinds == 0)
		o.kinds = 1u << HEAPSCAN_DEFINITE;
	if (o.rows == 0)
		o.rows = scan_decide(s, NULL).word == VERDICT_LEAK_MINOR ? SCAN_MINOR_ROWS
									 : SCAN_LEAK_ROWS;
	scan_verdict(out, s, NULL, &o);
	rows_text(out, s, &o);
	scan_sums(out, s, &o);
	rounds_text(out, s);
	clean_text(out, heapscan_text(s, s->what));
	buf_add_str(
		out, DOT
		"blocks from malloc's own heaps, not from a recording: sizes as malloc "
		"rounds them, no stacks\n");
	for (size_t i = 0; i < s->notes.len; i++) {
		buf_add_str(out, "note: ");
		clean_text(out, heapscan_text(s, s->notes.data[i]));
		buf_add_char(out, '\n');
	}
	scan_about(out, s);
	if (o.target != NULL && o.attached) {
		buf_add_str(out, "next: seep report ");
		clean_shell(out, o.target);
		buf_add_str(out,
			    " (who allocated what since the attach)" DOT "seep detach ");
		clean_shell(out, o.target);
		buf_add_str(out, " (the same, and ends it)\n");
	} else if (o.target != NULL) {
		buf_add_str(out, "next: seep report ");
		clean_shell(out, o.target);
		buf_add_str(out, " (contents and owners of the heap)");
		if (s->core == 0) {
			buf_add_str(out, DOT "seep attach ");
			clean_shell(out, o.target);
			buf_add_str(out, " (which code allocates it)");
		}
		buf_add_char(out, '\n');
	}
	if (o.ascii)
		figure_to_ascii(out, from);
	wrap_term(out, from, o.term);
}
