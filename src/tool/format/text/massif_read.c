/* SPDX-License-Identifier: MIT */
/* massif_read.c -- massif.out files, as valgrind's massif and heaptrack write them.
 *
 *	desc: --time-unit=B                     options, lines of their own or one
 *	cmd: ./prog
 *	time_unit: i                            or ms, B; heaptrack: s, with fractions
 *	#-----------                            comments and empty lines mean nothing
 *	snapshot=3
 *	time=135189
 *	mem_heap_B=2125                         what the program asked for
 *	mem_heap_extra_B=363                    the allocator's own, and rounding
 *	mem_stacks_B=0
 *	heap_tree=detailed                      or peak; empty: no tree follows
 *	n1: 2125 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.
 *	 n1: 2125 0x109161: inner (a.c:3)       innermost first; n: lines one level below
 *	  n0: 2025 0x109172: keep (a.c:5)
 *	  n0: 100 in 2 places, all below massif's threshold (1.00%)
 *
 * Every snapshot is a mark with its number and a row with its sums; what the profile
 * shows without a mark is the peak. The three kinds of memory stay apart: the second and
 * the third are sites of their own, and so is the heap of a snapshot without a tree.
 * Frames are known by name (named.h): the addresses are those of one run. Memory of a
 * frame that no line below it accounts for is a site of that frame. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/fmt.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum {
	MASSIF_DEPTH_MAX =
		1024,	       /* levels: massif has at most 200, and those of inlined */
	MASSIF_SHOWN_MAX = 40, /* bytes of a line in a message */
};

enum massif_bad { MASSIF_BAD_LINE, MASSIF_BAD_SNAPSHOT, MASSIF_BAD_TREE, MASSIF_BADS };

/* A line of the tree whose children are being read. */
struct massif_level {
	uint32_t loc;
	uint64_t left; /* children that are still to come */
	int64_t bytes, below;
};

struct massif {
	struct prof *p;
	struct input *in;
	struct lines lines;
	uint32_t process, unit;
	bool seconds;  /* times are seconds with fractions */
	bool skipping; /* up to the next snapshot, because something before it is bad */
	struct map sites;   /* node -> site */
	VEC(uint32_t) rows; /* of a site -> its last row in mark_rows + 1 */
	VEC(struct massif_level) levels;
	uint32_t stackless, extra, stacks; /* locations */
	uint64_t bad[MASSIF_BADS], bad_first[MASSIF_BADS];
};

/* ---- lines ---- */

/* The next line that means something. */
static bool
massif_line(struct massif *m, struct line *ret)
{
	while (lines_next(&m->lines, ret)) {
		input_release(m->in, (size_t)(ret->at - (const char *)m->in->data));
		scan_trim(ret);
		if (ret->at < ret->end && *ret->at != '#')
			return true;
	}
	return false;
}

static void
massif_count_bad(struct massif *m, enum massif_bad kind)
{
	if (m->bad[kind]++ == 0)
		m->bad_first[kind] = m->lines.number;
}

/* ---- sites ---- */

static uint32_t
massif_named(struct massif *m, uint32_t module, uint32_t function, uint32_t file,
	     uint32_t line)
{
	struct prof_frame f = {.function = function, .file = file, .line = line};

	return named_loc(m->p, module, &f, 1);
}

/* Adds to what the current mark has for the stack at a node. */
static void
massif_add(struct massif *m, uint32_t node, int64_t bytes)
{
	struct prof_mark *mark = &m->p->marks[m->p->nmarks - 1];
	uint64_t *site = map_add(&m->sites, node);
	uint32_t row;

	if (*site == 0) {
		*site = prof_add_site(m->p);
		m->p->sites[*site].process = m->process;
		m->p->sites[*site].node = node;
	}
	while (m->rows.len <= *site)
		vec_push(&m->rows, 0);
	row = m->rows.data[*site];
	if (row <= mark->rows) {
		uint32_t added = prof_add_mark_row(m->p);

		m->rows.data[*site] = row = added + 1;
		m->p->mark_rows[added].site = (uint32_t)*site;
		mark->nrows++;
	}
	line_sum(&m->p->mark_rows[row - 1].live_bytes, bytes);
}

static void
massif_add_kind(struct massif *m, uint32_t *loc, const char *name, int64_t bytes)
{
	if (bytes <= 0)
		return;
	if (*loc == 0)
		*loc = massif_named(m, 0, prof_str(m->p, name), 0, 0);
	massif_add(m, prof_node(m->p, 0, *loc), bytes);
}

/* ---- labels ---- */

/* ` (in OBJECT)` or ` (FILE:LINE)` at the end of a label, which is cut off. */
static void
massif_where(struct massif *m, struct line *l, uint32_t *ret_module, uint32_t *ret_file,
	     uint32_t *ret_line)
{
	struct line in = {l->at, l->end - 1}, number;
	const char *open = NULL, *colon;
	uint64_t n;

	if (l->at == l->end || l->end[-1] != ')')
		return;
	for (const char *at = l->at; (size_t)(l->end - at) > 2; at++) {
		if (at[0] == ' ' && at[1] == '(')
			open = at;
		if (open == at && (size_t)(l->end - at) > 5 &&
		    memcmp(at, " (in ", 5) == 0) {
			in.at = at + 5;
			*ret_module = prof_module(
				m->p,
				prof_text(m->p, prof_strn(m->p, in.at, line_len(&in))),
				NULL, 0);
			l->end = at;
			return;
		}
	}
	if (open == NULL)
		return;
	in.at = open + 2;
	colon = memrchr(in.at, ':', line_len(&in));
	number = (struct line){colon != NULL ? colon + 1 : in.end, in.end};
	if (!scan_u64(&number, &n) || number.at != number.end || n > UINT32_MAX)
		return;
	*ret_file = prof_strn(m->p, in.at, (size_t)(colon - in.at));
	*ret_line = (uint32_t)n;
	l->end = open;
}

/* What stands behind the figure of a line. */
static uint32_t
massif_label(struct massif *m, struct line l)
{
	static const char below[] = "below massif's threshold";
	uint32_t module = 0, file = 0, line = 0;
	struct line rest = l, address;
	uint64_t number;

	if (scan_text(&rest, "in ") && scan_u64(&rest, &number) &&
	    memmem(rest.at, line_len(&rest), below, strlen(below)) != NULL)
		return massif_named(m, 0, prof_str(m->p, "[below massif's threshold]"), 0,
				    0);
	rest = address = l;
	if (scan_text(&rest, "0x") && scan_hex(&rest, &number) && scan_text(&rest, ":")) {
		address.end = rest.at - 1;
		scan_blanks(&rest);
		l = rest;
	} else {
		address.end = address.at;
	}
	massif_where(m, &l, &module, &file, &line);
	if (address.end > address.at && line_len(&l) == 3 && memcmp(l.at, "???", 3) == 0)
		l = address;
	return massif_named(m, module, prof_strn(m->p, l.at, line_len(&l)), file, line);
}

/* ---- trees ---- */

/* The innermost lines that are complete: what nothing below them accounts for is
 * theirs. */
static void
massif_pop(struct massif *m, bool all)
{
	while (m->levels.len > 0) {
		const struct massif_level *top = &m->levels.data[m->levels.len - 1];
		int64_t own = top->bytes - top->below;
		uint32_t node = 0;

		if (top->left > 0 && !all)
			return;
		if (own < 0)
			massif_count_bad(m, MASSIF_BAD_TREE);
		for (size_t i = m->levels.len; i-- > 1 && own > 0;)
			node = prof_node(m->p, node, m->levels.data[i].loc);
		if (own > 0 && node != 0)
			massif_add(m, node, own);
		else
			massif_add_kind(m, &m->stackless, "[heap without stacks]", own);
		m->levels.len--;
	}
}

/* One line of a tree; false when it is none. */
static bool
massif_tree_line(struct massif *m, struct line l)
{
	struct massif_level level = {0};
	uint64_t bytes;

	if (!scan_char(&l, 'n') || !scan_u64(&l, &level.left) || !scan_char(&l, ':'))
		return false;
	scan_blanks(&l);
	/* Without a newline, digits or a half of the name may be missing. */
	if (!scan_u64(&l, &bytes) || bytes > INT64_MAX || m->lines.cut ||
	    m->levels.len >= MASSIF_DEPTH_MAX)
		return false;
	scan_blanks(&l);
	level.bytes = (int64_t)bytes;
	if (m->levels.len > 0) {
		struct massif_level *up = &m->levels.data[m->levels.len - 1];

		up->left--;
		line_sum(&up->below, level.bytes);
		level.loc = massif_label(m, l);
	}
	vec_push(&m->levels, level);
	return true;
}

/* The lines of a tree, whose root is worth `heap` bytes. A tree that breaks off has what
 * came before. */
static void
massif_tree(struct massif *m, int64_t heap)
{
	struct line l;
	bool good = true;
	int64_t root = 0;

	m->levels.len = 0;
	do {
		struct lines before = m->lines;

		good = massif_line(m, &l) && massif_tree_line(m, l);
		if (!good) {
			massif_count_bad(m, MASSIF_BAD_TREE);
			m->lines = before;
			m->skipping = true;
			break;
		}
		if (m->levels.len == 1)
			root = m->levels.data[0].bytes;
		massif_pop(m, false);
	} while (m->levels.len > 0);
	massif_pop(m, true);
	if (good && root > heap)
		massif_count_bad(m, MASSIF_BAD_TREE);
	massif_add_kind(m, &m->stackless, "[heap without stacks]", heap - root);
}

/* ---- snapshots ---- */

/* `name=`, and what stands behind it. */
static bool
massif_field(struct massif *m, const char *name, struct line *ret)
{
	return massif_line(m, ret) && scan_text(ret, name) && scan_char(ret, '=');
}

static bool
massif_bytes(struct massif *m, const char *name, int64_t *ret)
{
	struct line l;
	uint64_t v;

	if (!massif_field(m, name, &l) || !scan_u64(&l, &v) || l.at != l.end ||
	    v > INT64_MAX / 4)
		return false;
	*ret = (int64_t)v;
	return true;
}

/* A time; of seconds with a fraction, milliseconds. */
static bool
massif_time(struct massif *m, uint64_t *ret)
{
	uint64_t whole, thousandths = 0;
	struct line l;

	if (!massif_field(m, "time", &l) || !scan_u64(&l, &whole))
		return false;
	if (scan_char(&l, '.')) {
		for (unsigned worth = 100; l.at < l.end && *l.at >= '0' && *l.at <= '9';
		     worth /= 10)
			thousandths += (unsigned)(*l.at++ - '0') * worth;
	}
	*ret = m->seconds && whole < UINT64_MAX / 2000 ? whole * 1000 + thousandths
						       : whole;
	return l.at == l.end;
}

static bool
massif_kind(struct massif *m, uint8_t *ret)
{
	static const char *const kinds[] = {[PROF_TREE_NONE] = "empty",
					    [PROF_TREE_DETAILED] = "detailed",
					    [PROF_TREE_PEAK] = "peak"};
	struct line l;

	if (!massif_field(m, "heap_tree", &l))
		return false;
	for (uint8_t i = 0; i < 3; i++) {
		if (line_len(&l) == strlen(kinds[i]) &&
		    memcmp(l.at, kinds[i], line_len(&l)) == 0) {
			*ret = i;
			return true;
		}
	}
	return false;
}

/* The lines behind `snapshot=`; false when one of them is not what it must be. */
static bool
massif_snapshot(struct massif *m, struct line l)
{
	struct prof_snapshot x = {.process = m->process, .unit = m->unit};
	uint32_t mark, row, name;
	char text[24];

	if (!scan_u64(&l, &x.number) || l.at != l.end || x.number > UINT32_MAX ||
	    !massif_time(m, &x.time) || !massif_bytes(m, "mem_heap_B", &x.heap_bytes) ||
	    !massif_bytes(m, "mem_heap_extra_B", &x.extra_bytes) ||
	    !massif_bytes(m, "mem_stacks_B", &x.stacks_bytes) || !massif_kind(m, &x.tree))
		return false;
	snprintf(text, sizeof text, "%" PRIu64, x.number);
	name = prof_str(m->p, text);
	mark = prof_add_mark(m->p);
	m->p->marks[mark] = (struct prof_mark){
		.process = m->process,
		.number = (uint32_t)x.number,
		.name = name,
		.ms = strcmp(prof_text(m->p, m->unit), "ms") == 0 ? x.time : 0,
		.live_bytes = x.heap_bytes + x.extra_bytes + x.stacks_bytes,
		.rows = m->p->nmark_rows,
	};
	row = prof_add_snapshot(m->p);
	m->p->snapshots[row] = x;
	if (x.tree != PROF_TREE_NONE)
		massif_tree(m, x.heap_bytes);
	else
		massif_add_kind(m, &m->stackless, "[heap without stacks]", x.heap_bytes);
	massif_add_kind(m, &m->extra, "[extra heap]", x.extra_bytes);
	massif_add_kind(m, &m->stacks, "[stacks]", x.stacks_bytes);
	return true;
}

/* What is bad in a snapshot may be that the next one begins, so it is read again. */
static void
massif_snapshots(struct massif *m)
{
	struct line l;

	while (massif_line(m, &l)) {
		struct lines behind = m->lines;

		if (!scan_text(&l, "snapshot=")) {
			if (!m->skipping)
				massif_count_bad(m, MASSIF_BAD_LINE);
			continue;
		}
		m->skipping = false;
		if (!massif_snapshot(m, l)) {
			massif_count_bad(m, MASSIF_BAD_SNAPSHOT);
			m->lines = behind;
			m->skipping = true;
		}
	}
}

/* ---- head and end ---- */

static int
massif_wrong(const struct massif *m, const char *want, const struct line *got,
	     struct err *e)
{
	size_t n = got != NULL ? line_len(got) : 0;

	if (got == NULL)
		return err_set(e, -EINVAL,
			       "massif file: line %" PRIu64 ": \"%s\" is "
			       "missing: the file ends here",
			       m->lines.number, want);
	return err_set(e, -EINVAL,
		       "massif file: line %" PRIu64 ": want \"%s\", found \"%.*s\"",
		       m->lines.number, want,
		       (int)(n < MASSIF_SHOWN_MAX ? n : MASSIF_SHOWN_MAX), got->at);
}

static int
massif_head(struct massif *m, struct buf *remarks, const struct format_opts *o,
	    struct err *e)
{
	struct prof_process *pr = &m->p->processes[m->process];
	struct line l;
	bool more;

	while ((more = massif_line(m, &l)) && scan_text(&l, "desc:")) {
		scan_trim(&l);
		if (l.at < l.end)
			buf_printf(remarks, "massif options: %.*s\n", (int)line_len(&l),
				   l.at);
	}
	if (!more || !scan_text(&l, "cmd:"))
		return massif_wrong(m, "cmd:", more ? &l : NULL, e);
	scan_trim(&l);
	pr->cmdline = prof_strn(m->p, l.at, line_len(&l));
	pr->exe = prof_str(m->p, o->exe);
	buf_printf(remarks, "command: %.*s\n", (int)line_len(&l), l.at);
	more = massif_line(m, &l);
	if (!more || !scan_text(&l, "time_unit:"))
		return massif_wrong(m, "time_unit:", more ? &l : NULL, e);
	scan_trim(&l);
	m->seconds = line_len(&l) == 1 && *l.at == 's';
	m->unit = m->seconds ? prof_str(m->p, "ms") : prof_strn(m->p, l.at, line_len(&l));
	return 0;
}

/* The snapshot that stands for the file: the peak, else the largest with a tree, else the
 * largest. */
static uint32_t
massif_best(const struct prof *p)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < p->nmarks; i++) {
		uint8_t tree = p->snapshots[i].tree, had = p->snapshots[best].tree;

		if (tree > had ||
		    (tree == had && (tree == PROF_TREE_PEAK ||
				     p->marks[i].live_bytes > p->marks[best].live_bytes)))
			best = i;
	}
	return best;
}

static void
massif_fill_sites(struct massif *m, uint32_t best)
{
	struct prof *p = m->p;
	struct prof_process *pr = &p->processes[m->process];
	const struct prof_mark *at = &p->marks[best], *last = &p->marks[p->nmarks - 1];

	for (uint32_t i = 0; i < p->nmark_rows; i++) {
		const struct prof_mark_row *r = &p->mark_rows[i];
		struct prof_site *s = &p->sites[r->site];

		if (r->live_bytes > s->peak_bytes)
			s->peak_bytes = r->live_bytes;
		if (i >= at->rows && i - at->rows < at->nrows)
			s->live_bytes = s->at_peak_bytes = r->live_bytes;
		if (i >= last->rows && i - last->rows < last->nrows)
			s->at_exit_bytes = r->live_bytes;
	}
	pr->live_bytes = pr->peak_bytes = at->live_bytes;
	pr->peak_ms = at->ms;
	pr->duration_ms = last->ms;
}

static void
massif_damages(struct massif *m)
{
	static const char *const what[MASSIF_BADS] = {
		[MASSIF_BAD_LINE] = "lines that belong to no snapshot",
		[MASSIF_BAD_SNAPSHOT] = "snapshots that could not be read",
		[MASSIF_BAD_TREE] = "trees that break off or do not add up",
	};
	char text[96];

	for (unsigned i = 0; i < MASSIF_BADS; i++) {
		if (m->bad[i] == 0)
			continue;
		snprintf(text, sizeof text, "%s (%s line %" PRIu64 ")", what[i],
			 m->bad[i] > 1 ? "first is" : "it is", m->bad_first[i]);
		prof_add_damage(m->p, text, m->bad[i]);
	}
}

static void
massif_finish(struct massif *m, struct buf *remarks)
{
	static const char *const kinds[] = {[PROF_TREE_NONE] = "largest, without stacks",
					    [PROF_TREE_DETAILED] = "largest with stacks",
					    [PROF_TREE_PEAK] = "peak"};
	struct prof *p = m->p;
	uint32_t best = massif_best(p);
	const struct prof_snapshot *x = &p->snapshots[best];

	massif_fill_sites(m, best);
	buf_printf(remarks, "%s: snapshot %" PRIu64 " of %s", kinds[x->tree], x->number,
		   fmt_count(p->nmarks).s);
	buf_printf(remarks, ", at %s %s: heap %s", fmt_count(x->time).s,
		   prof_text(p, m->unit), fmt_count((uint64_t)x->heap_bytes).s);
	buf_printf(remarks, " + extra heap %s", fmt_count((uint64_t)x->extra_bytes).s);
	buf_printf(remarks, " + stacks %s bytes", fmt_count((uint64_t)x->stacks_bytes).s);
	p->comments = prof_strn(p, buf_str(remarks), remarks->len);
	p->format = prof_str(p, "massif");
	p->columns = PROF_HAS_LIVE | PROF_HAS_PEAK;
	p->has_names = true;
	p->processes[m->process].mode = PROF_EXACT;
	massif_damages(m);
}

static int
massif_parse(struct input *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	struct massif m = {.p = p,
			   .in = in,
			   .lines = lines_init(in->data, in->bytes),
			   .process = prof_add_process(p)};
	struct buf remarks = {0};
	int r = massif_head(&m, &remarks, o, e);

	if (r == 0) {
		massif_snapshots(&m);
		if (p->nmarks == 0)
			r = err_set(e, -EINVAL,
				    "massif file: no snapshot in %" PRIu64
				    " lines can be read",
				    m.lines.number);
	}
	if (r == 0)
		massif_finish(&m, &remarks);
	buf_done(&remarks);
	map_done(&m.sites);
	vec_done(&m.rows);
	vec_done(&m.levels);
	return r;
}

/* Options can be longer than the head; the command and the unit stand behind them. */
static bool
massif_detect(const void *head, size_t bytes)
{
	struct line l = {head, (const char *)head + bytes};

	return scan_text(&l, "desc:") &&
	       (memmem(head, bytes, "\ncmd:", 5) != NULL ||
		(bytes == FORMAT_HEAD_BYTES && memchr(head, 0, bytes) == NULL));
}

const struct format format_massif = {
	.name = "massif",
	.what = "snapshots of massif",
	.detect = massif_detect,
	.parse = massif_parse,
};
