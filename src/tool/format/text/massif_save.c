/* SPDX-License-Identifier: MIT */
/* massif_save.c -- a recording as massif.out: snapshots over time, with trees where the
 * stacks are known (the format is drawn in massif_read.c).
 *
 * Snapshots are the moments at which it is known what each stack had, other points of the
 * timeline, the marks, the end and the peak. The last three have a tree, and every so
 * many of the moments; shot_figures() is the one place that knows where a tree comes
 * from. When there are more snapshots than asked for, points go and then moments, first
 * those whose neighbours are closest in time. Times are
 * milliseconds. Bytes are what the program asked for: mem_heap_extra_B and mem_stacks_B
 * are 0. One file is one process. */
#include "tool/format/text/massif_save.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/prof.h"
#include "tool/model/series.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	SHOTS_COMPARED = 1 << 13, /* snapshots that are compared with one another */
	LEVELS_MAX = 1000,	  /* of a tree: frames with what is inlined in them */
};

/* ---- snapshots ---- */

/* Where a snapshot comes from, in the order of those of one millisecond. */
enum shot_kind {
	SHOT_START,
	SHOT_POINT,
	SHOT_MOMENT,
	SHOT_PEAK,
	SHOT_MARK,
	SHOT_END,
};

struct shot {
	uint64_t ms;
	int64_t live_bytes;
	enum shot_kind kind;
	/* of SHOT_MARK: in prof.marks; of SHOT_MOMENT: which of its process's; else the
	 * order they came in */
	uint32_t row;
};

struct shots VEC_BODY(struct shot);

/* Live bytes of every site of the process at one of its moments: those of its last step
 * up to then. What the recorder had no room for is with no site. */
static void
moment_figures(const struct prof *p, uint32_t moment, int64_t *ret_bytes)
{
	memset(ret_bytes, 0, p->nsites * sizeof *ret_bytes);
	for (uint32_t i = 0; i < p->nsteps; i++) {
		const struct prof_step *x = &p->steps[i];

		if (x->moment <= moment)
			ret_bytes[x->site] =
				x->live_bytes != PROF_UNKNOWN ? x->live_bytes : 0;
	}
}

/* Live bytes of every site then; false when only their sum is known. Sites of other
 * processes have anything. */
static bool
shot_figures(const struct prof *p, const struct shot *s, int64_t *ret_bytes)
{
	const struct prof_mark *m;

	switch (s->kind) {
	case SHOT_PEAK:
		for (uint32_t i = 1; i < p->nsites; i++)
			ret_bytes[i] = p->sites[i].at_peak_bytes;
		return true;
	case SHOT_END:
		for (uint32_t i = 1; i < p->nsites; i++)
			ret_bytes[i] = p->sites[i].live_bytes;
		return true;
	case SHOT_MOMENT:
		moment_figures(p, s->row, ret_bytes);
		return true;
	case SHOT_MARK:
		m = &p->marks[s->row];
		memset(ret_bytes, 0, p->nsites * sizeof *ret_bytes);
		for (uint32_t i = m->rows; i < m->rows + m->nrows; i++)
			ret_bytes[p->mark_rows[i].site] = p->mark_rows[i].live_bytes;
		return true;
	default:
		return false;
	}
}

static int
shot_compare(const void *a, const void *b)
{
	const struct shot *x = a, *y = b;

	if (x->ms != y->ms)
		return x->ms < y->ms ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Leaves every second point, as long as there are so many that to compare all would take
 * long. */
static void
shots_halve(struct shots *shots, size_t most)
{
	while (shots->len > most) {
		size_t n = 1;

		for (size_t i = 1; i < shots->len; i++) {
			const struct shot *s = &shots->data[i];

			if (i + 1 == shots->len || s->kind == SHOT_PEAK ||
			    s->kind == SHOT_END || i % 2 == 0)
				shots->data[n++] = *s;
		}
		if (n == shots->len)
			return;
		shots->len = n;
	}
}

/* Removes what stands too close to its neighbours, until at most `most` are left: points
 * first, then marks. */
static void
shots_thin(struct shots *shots, size_t most)
{
	while (shots->len > most) {
		size_t best = 0;

		for (size_t i = 1; i + 1 < shots->len; i++) {
			const struct shot *s = &shots->data[i], *b = &shots->data[best];
			uint64_t gap = s[1].ms - s[-1].ms;

			if (s->kind == SHOT_PEAK || s->kind == SHOT_END)
				continue;
			if (best == 0 || s->kind < b->kind ||
			    (s->kind == b->kind && gap < b[1].ms - b[-1].ms))
				best = i;
		}
		if (best == 0)
			return;
		memmove(&shots->data[best], &shots->data[best + 1],
			(shots->len - best - 1) * sizeof *shots->data);
		shots->len--;
	}
}

/* A recording that only samples may estimate more at a point than its peak, which is
 * corrected; with threads the common figure is exact to some KiB. */
static void
shot_add(struct shots *shots, const struct prof_process *pr, struct shot s)
{
	if (pr->peak_bytes > 0 && s.live_bytes > pr->peak_bytes)
		s.live_bytes = pr->peak_bytes;
	if (s.live_bytes < 0)
		s.live_bytes = 0;
	vec_push(shots, s);
}

/* The last moment is the end, and a point of the same time says no more. */
static void
shots_add_moments(const struct prof *p, uint32_t process, struct shots *shots)
{
	const struct prof_process *pr = &p->processes[process];
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nticks; i++) {
		const struct prof_tick *x = &p->ticks[i];

		if (x->process != process)
			continue;
		if (i + 1 < p->nticks && x[1].process == process)
			shot_add(shots, pr,
				 (struct shot){x->ms, x->live_bytes, SHOT_MOMENT, n});
		n++;
	}
}

static void
shots_unite(struct shots *shots)
{
	size_t n = 0;

	for (size_t i = 0; i < shots->len; i++) {
		const struct shot *s = &shots->data[i], *moment = s;

		while (moment + 1 <= vec_last(shots) && moment->kind == SHOT_POINT &&
		       moment[1].ms == s->ms)
			moment++;
		if (s->kind != SHOT_POINT || moment->kind != SHOT_MOMENT)
			shots->data[n++] = *s;
	}
	shots->len = n;
}

static void
shots_collect(const struct prof *p, uint32_t process, struct shots *shots)
{
	const struct prof_process *pr = &p->processes[process];
	uint64_t end = pr->duration_ms;

	vec_push(shots, (struct shot){.kind = SHOT_START});
	for (uint32_t i = 0; i < p->npoints; i++) {
		const struct prof_point *x = &p->points[i];

		if (x->process != process)
			continue;
		end = x->ms > end ? x->ms : end;
		if (x->ms > 0 || x->live_bytes > 0)
			shot_add(shots, pr,
				 (struct shot){x->ms, x->live_bytes, SHOT_POINT, i});
	}
	shots_add_moments(p, process, shots);
	for (uint32_t i = 0; i < p->nmarks; i++) {
		const struct prof_mark *m = &p->marks[i];

		if (m->process != process)
			continue;
		end = m->ms > end ? m->ms : end;
		shot_add(shots, pr, (struct shot){m->ms, m->live_bytes, SHOT_MARK, i});
	}
	if (prof_has_value(p, PROF_PEAK) && pr->peak_bytes > 0) {
		end = pr->peak_ms > end ? pr->peak_ms : end;
		vec_push(shots, (struct shot){pr->peak_ms, pr->peak_bytes, SHOT_PEAK, 0});
	}
	shot_add(shots, pr, (struct shot){end, pr->live_bytes, SHOT_END, 0});
	vec_sort(shots, shot_compare);
	shots_unite(shots);
	/* The last point is the end, which knows more. */
	if (shots->len > 2 && shots->data[shots->len - 2].kind == SHOT_POINT &&
	    shots->data[shots->len - 2].ms == end) {
		shots->data[shots->len - 2] = *vec_last(shots);
		shots->len--;
	}
}

/* ---- trees ---- */

/* A frame below its callee: a function at a location. */
struct tree_node {
	uint32_t loc, frame; /* frame: which of the functions there, from 0 = innermost */
	uint32_t child, next;
	int64_t bytes;
};

struct tree {
	const struct prof *p;
	const struct format_save_opts *o;
	const struct massif_opts *m;
	struct map found;	     /* parent and place among `frames` -> node */
	uint32_t *first;	     /* of each location: number of its first frame */
	VEC(struct tree_node) nodes; /* node 0 is the root */
	VEC(uint32_t) order;	     /* children that are being written */
	struct buf *out;
	int64_t least;	/* bytes from which a frame is shown */
	unsigned since; /* moments since one with a tree */
};

static uint32_t
tree_child(struct tree *t, uint32_t parent, uint32_t loc, uint32_t frame)
{
	uint64_t *at =
		map_add(&t->found, (uint64_t)parent << 32 | (t->first[loc] + frame));

	if (*at == 0) {
		*at = t->nodes.len;
		vec_push(&t->nodes,
			 (struct tree_node){.loc = loc,
					    .frame = frame,
					    .next = t->nodes.data[parent].child});
		t->nodes.data[parent].child = (uint32_t)*at;
	}
	return (uint32_t)*at;
}

/* Adds the stack of a site, innermost frame first. */
static void
tree_add(struct tree *t, uint32_t site, int64_t bytes)
{
	struct emit_start at = emit_start_of(t->p, t->o, site);
	uint32_t to = 0, inl = at.inl, node = at.node;
	unsigned levels = 0;

	t->nodes.data[0].bytes = emit_sum(t->nodes.data[0].bytes, bytes);
	for (unsigned depth = 0; node != 0 && depth < t->m->depth; depth++) {
		uint32_t loc = t->p->nodes[node].loc, n = t->p->locs[loc].nframes;

		for (; (inl < n || inl == 0) && levels < LEVELS_MAX; inl++, levels++) {
			to = tree_child(t, to, loc, inl);
			t->nodes.data[to].bytes =
				emit_sum(t->nodes.data[to].bytes, bytes);
		}
		inl = 0;
		node = emit_caller(t->p, t->o, node);
	}
}

static void
tree_init(struct tree *t)
{
	uint32_t n = 0;

	t->first = xcalloc(t->p->nlocs, sizeof *t->first);
	for (uint32_t i = 0; i < t->p->nlocs; i++) {
		t->first[i] = n;
		n += t->p->locs[i].nframes > 0 ? t->p->locs[i].nframes : 1;
	}
}

static void
tree_clear(struct tree *t)
{
	map_done(&t->found);
	t->found = (struct map){0};
	t->nodes.len = t->order.len = 0;
	vec_push(&t->nodes, (struct tree_node){0});
}

static void
tree_done(struct tree *t)
{
	map_done(&t->found);
	vec_done(&t->nodes);
	vec_done(&t->order);
	free(t->first);
}

/* ---- writing a tree ---- */

static void
text(struct buf *out, const char *s)
{
	for (; *s != '\0'; s++)
		buf_add_char(out, (unsigned char)*s < ' ' ? ' ' : *s);
}

/* `0x1161: inner (a.c:3)` */
static void
write_label(const struct tree *t, const struct tree_node *n)
{
	const struct prof_loc *l = &t->p->locs[n->loc];
	const struct prof_frame *f =
		n->frame < l->nframes ? &t->p->frames[l->frames + n->frame] : NULL;
	const char *module = prof_text(t->p, t->p->modules[l->module].path);
	bool code = l->kind == PROF_LOC_CODE;

	buf_printf(t->out, "0x%" PRIX64 ": ", code ? prof_loc_address(l) : 0);
	if (f != NULL && f->function != 0)
		text(t->out, prof_text(t->p, f->function));
	else if (code)
		buf_add_str(t->out, "???");
	else
		emit_frame_unnamed(t->p, l, t->out);
	if (f != NULL && f->file != 0) {
		buf_add_str(t->out, " (");
		text(t->out, file_base(prof_text(t->p, f->file)));
		buf_printf(t->out, ":%" PRIu32 ")", f->line);
	} else if (code && module[0] != '\0') {
		buf_add_str(t->out, " (in ");
		text(t->out, module);
		buf_add_char(t->out, ')');
	}
	buf_add_char(t->out, '\n');
}

static void
indent(struct buf *out, unsigned depth)
{
	while (depth-- > 0)
		buf_add_char(out, ' ');
}

/* Larger ones first; of equal ones, in the order of their places. */
static int
compare_children(const void *a, const void *b, void *ctx)
{
	const struct tree *t = ctx;
	const struct tree_node *x = &t->nodes.data[*(const uint32_t *)a];
	const struct tree_node *y = &t->nodes.data[*(const uint32_t *)b];
	uint32_t at = t->first[x->loc] + x->frame, other = t->first[y->loc] + y->frame;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return at < other ? -1 : at > other;
}

/* The children that are shown go to `order`, the largest first; what is left out is
 * summed up. */
static uint32_t
sort_children(struct tree *t, uint32_t node, uint32_t *ret_left_out, int64_t *ret_bytes)
{
	uint32_t from = (uint32_t)t->order.len;

	*ret_left_out = 0;
	*ret_bytes = 0;
	for (uint32_t c = t->nodes.data[node].child; c != 0; c = t->nodes.data[c].next) {
		if (t->nodes.data[c].bytes >= t->least) {
			vec_push(&t->order, c);
			continue;
		}
		++*ret_left_out;
		*ret_bytes = emit_sum(*ret_bytes, t->nodes.data[c].bytes);
	}
	if (t->order.len > from + 1)
		qsort_r(&t->order.data[from], t->order.len - from, sizeof *t->order.data,
			compare_children, t);
	return from;
}

/* The lines below a node. As deep as --depth says, at most. */
static void
write_children(struct tree *t, uint32_t node, unsigned depth)
{
	uint32_t left_out, from, n, i;
	int64_t small;

	from = sort_children(t, node, &left_out, &small);
	n = (uint32_t)t->order.len - from;
	buf_printf(t->out, "n%" PRIu32 ": %" PRId64 " ", n + (left_out > 0),
		   t->nodes.data[node].bytes);
	if (node == 0)
		buf_add_str(t->out, "(heap allocation functions) malloc/new/new[], "
				    "--alloc-fns, etc.\n");
	else
		write_label(t, &t->nodes.data[node]);
	for (i = from; i < from + n; i++) {
		indent(t->out, depth + 1);
		write_children(t, t->order.data[i], depth + 1);
	}
	t->order.len = from;
	if (left_out == 0)
		return;
	indent(t->out, depth + 1);
	buf_printf(t->out,
		   "n0: %" PRId64 " in %" PRIu32
		   " place%s, %sbelow massif's threshold (%.2f%%)\n",
		   small, left_out, left_out == 1 ? "" : "s", left_out == 1 ? "" : "all ",
		   t->m->threshold);
}

/* ---- all of it ---- */

/* Does this snapshot have a tree? Of moments, each so-many-th. */
static bool
has_tree(struct tree *t, const struct shot *s)
{
	if (s->kind < SHOT_MOMENT)
		return false;
	if (s->kind == SHOT_MOMENT && ++t->since < t->m->detailed_freq)
		return false;
	t->since = 0;
	return true;
}

/* One snapshot. With a tree, its sum is what the stacks add up to: in a process with
 * threads the common figure may be some KiB off, and sampled stacks are estimates. */
static void
write_shot(struct tree *t, uint32_t process, const struct shot *s, uint32_t number,
	   int64_t *bytes)
{
	bool tree = has_tree(t, s) && shot_figures(t->p, s, bytes);
	int64_t heap = s->live_bytes;

	if (tree) {
		tree_clear(t);
		for (uint32_t i = 1; i < t->p->nsites; i++) {
			if (t->p->sites[i].process == process && bytes[i] > 0)
				tree_add(t, i, bytes[i]);
		}
		if (t->nodes.data[0].bytes > heap)
			heap = t->nodes.data[0].bytes;
		t->nodes.data[0].bytes = heap;
		t->least = (int64_t)((double)heap * t->m->threshold / 100);
	}
	buf_printf(t->out,
		   "#-----------\nsnapshot=%" PRIu32 "\n#-----------\ntime=%" PRIu64
		   "\nmem_heap_B=%" PRId64
		   "\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   number, s->ms, heap,
		   !tree		  ? "empty"
		   : s->kind == SHOT_PEAK ? "peak"
					  : "detailed");
	if (tree)
		write_children(t, 0, 0);
}

uint32_t
massif_process(const struct prof *p)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		if (pr->not_recorded == 0 &&
		    (best == 0 || pr->peak_bytes > p->processes[best].peak_bytes))
			best = i;
	}
	return best;
}

static void
write_head(const struct prof *p, uint32_t process, const struct massif_opts *m,
	   struct buf *out)
{
	const struct prof_process *pr = &p->processes[process];

	buf_add_str(out, "desc: ");
	text(out, m->desc != NULL ? m->desc : "(none)");
	if (pr->mode == PROF_SAMPLED)
		buf_printf(out, "\ndesc: estimates: one sample for %" PRIu64 " bytes",
			   pr->rate_bytes);
	buf_add_str(out, "\ncmd: ");
	text(out, prof_text(p, pr->cmdline != 0 ? pr->cmdline : pr->exe));
	buf_add_str(out, "\ntime_unit: ms\n");
}

static int
massif_save(const struct prof *p, const struct format_save_opts *o, struct emit_out *out,
	    struct err *e)
{
	static const struct massif_opts usual = MASSIF_OPTS_NONE;
	const struct massif_opts *m = o->massif != NULL ? o->massif : &usual;
	struct tree t = {.p = p, .o = o, .m = m, .out = out->buf};
	uint32_t process = m->process != 0 ? m->process : massif_process(p);
	struct shots shots = {0};
	int64_t *bytes;
	int r = 0;

	if (process == 0 || p->nsnapshots > 0 || !prof_has_value(p, PROF_LIVE))
		return err_set(e, -ENODATA,
			       p->nsnapshots > 0
				       ? "it is a massif file already"
				       : "massif's format needs a process and its live "
					 "memory, which this profile does not have");
	bytes = xcalloc(p->nsites, sizeof *bytes);
	shots_collect(p, process, &shots);
	shots_halve(&shots, SHOTS_COMPARED);
	shots_thin(&shots, m->max_snapshots);
	tree_init(&t);
	write_head(p, process, m, out->buf);
	for (uint32_t i = 0; i < shots.len && r == 0; i++) {
		write_shot(&t, process, &shots.data[i], i, bytes);
		r = emit_flush(out, false, e);
	}
	tree_done(&t);
	vec_done(&shots);
	free(bytes);
	return r;
}

const struct format_writer emit_massif = {
	.name = "massif",
	.what = "snapshots for ms_print and massif-visualizer",
	.endings = ".massif",
	.write = massif_save,
};
