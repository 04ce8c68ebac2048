/* SPDX-License-Identifier: MIT */
/* speedscope.c -- a profile as speedscope's JSON:
 * https://www.speedscope.app/file-format-schema.json
 *
 * One profile for each figure there is, live bytes first unless another was asked for,
 * and one list of frames for all of them. Profiles are of the type "evented": the tree of
 * stacks is walked once, so a prefix that many stacks share is written once. Of each
 * figure the SPEED_STACKS largest stacks are written, unless all were asked for; the
 * others are summed up in a frame "(smaller stacks)" where they leave these. Figures
 * below 0 are left out: speedscope refuses them. */
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/json.h"
#include "tool/util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

enum { SPEED_STACKS = 1000 };

struct speed_view {
	const char *name;
	enum prof_value value;
	bool objects;
};

static const struct speed_view speed_views[] = {
	{"live bytes", PROF_LIVE, false},
	{"live blocks", PROF_LIVE, true},
	{"bytes at the peak", PROF_PEAK, false},
	{"blocks at the peak", PROF_PEAK, true},
	{"allocated bytes", PROF_ALLOCATED, false},
	{"allocations", PROF_ALLOCATED, true},
	{"temporary bytes", PROF_TEMPORARY, false},
	{"temporary allocations", PROF_TEMPORARY, true},
};

struct speed_links {
	uint32_t child, sibling; /* the first and the next one; 0 = none */
};

struct speed_out {
	const struct prof *p;
	const struct format_save_opts *o;
	struct emit_out *out;
	struct err *e;
	struct emit_stacks s;
	struct speed_links *links; /* the tree from the top; nodes lead upwards */
	int64_t *sums;		   /* of the stack that ends at a node, */
	int64_t *rest;		   /* and of those below it that are not written */
	bool *used;		   /* the node is part of a stack that is written */
	size_t most;		   /* stacks of a figure that are written; 0 = all */
	struct json j;
	int r;
};

static void
speed_frames(struct speed_out *w)
{
	json_member_obj(&w->j, "shared");
	json_member_arr(&w->j, "frames");
	/* Frame 0 here is row 1 there. */
	for (uint32_t i = 1; i < strtab_count(&w->s.keys); i++) {
		struct emit_frame f = emit_stacks_frame(&w->s, i);

		json_obj(&w->j);
		json_member_str(&w->j, "name", strtab_str(&w->s.names, f.name));
		if (f.file != 0 || f.module != 0) {
			json_member_str(&w->j, "file",
					prof_text(w->p, f.file != 0 ? f.file : f.module));
		}
		json_obj_end(&w->j);
	}
	if (w->most > 0) {
		json_obj(&w->j);
		json_member_str(&w->j, "name", "(smaller stacks)");
		json_obj_end(&w->j);
	}
	json_arr_end(&w->j);
	json_obj_end(&w->j);
}

/* A node has a larger number than its parent. */
static void
speed_link(struct speed_out *w)
{
	w->links = xcalloc(w->s.nodes.len, sizeof *w->links);
	for (uint32_t i = (uint32_t)w->s.nodes.len; i-- > 1;) {
		struct speed_links *parent = &w->links[w->s.nodes.data[i].parent];

		w->links[i].sibling = parent->child;
		parent->child = i;
	}
}

/* Sums of all stacks; returns that of what is written. */
static int64_t
speed_sum(struct speed_out *w, const struct speed_view *v)
{
	const struct prof *p = w->p;
	int64_t total = 0;

	memset(w->sums, 0, w->s.nodes.len * sizeof *w->sums);
	for (uint32_t i = 1; i < p->nsites; i++) {
		int64_t *sum = &w->sums[w->s.of_site[i]];

		*sum = emit_sum(*sum, prof_figure(&p->sites[i], v->value, v->objects));
	}
	for (uint32_t i = 0; i < w->s.nodes.len; i++) {
		if (w->sums[i] > 0) {
			total = emit_sum(total, w->sums[i]);
		} else if (w->sums[i] < 0) {
			emit_left_out(w->o);
			w->sums[i] = 0;
		}
	}
	return total;
}

static int
speed_larger_first(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The smallest figure of a stack that is written. */
static int64_t
speed_least(const struct speed_out *w)
{
	size_t n = w->s.nodes.len;
	int64_t *all, least = 1;

	if (w->most == 0 || n <= w->most)
		return least;
	all = xcalloc(n, sizeof *all);
	memcpy(all, w->sums, n * sizeof *all);
	qsort(all, n, sizeof *all, speed_larger_first);
	if (all[w->most - 1] > 0)
		least = all[w->most - 1];
	free(all);
	return least;
}

/* Which nodes are written; what the others have goes to the next one above that is. */
static void
speed_choose(struct speed_out *w)
{
	int64_t least = speed_least(w);
	size_t left = w->most > 0 ? w->most : w->s.nodes.len;

	memset(w->used, 0, w->s.nodes.len * sizeof *w->used);
	memset(w->rest, 0, w->s.nodes.len * sizeof *w->rest);
	for (uint32_t i = (uint32_t)w->s.nodes.len; i-- > 1;) {
		uint32_t parent = w->s.nodes.data[i].parent;

		if (w->sums[i] >= least && left > 0) {
			w->used[i] = true;
			left--;
		}
		if (w->used[i]) {
			w->used[parent] = true;
			continue;
		}
		w->rest[parent] = emit_sum(w->rest[parent], w->rest[i]);
		w->rest[parent] = emit_sum(w->rest[parent], w->sums[i]);
	}
}

static void
speed_event(struct speed_out *w, const char *type, uint32_t frame, int64_t at)
{
	json_obj(&w->j);
	json_member_str(&w->j, "type", type);
	json_member_u64(&w->j, "frame", frame - 1);
	json_member_i64(&w->j, "at", at);
	json_obj_end(&w->j);
}

/* What is behind a node's own children; returns where it ends. */
static int64_t
speed_rest(struct speed_out *w, uint32_t node, int64_t at)
{
	uint32_t frame = strtab_count(&w->s.keys);
	int64_t end = emit_sum(at, w->rest[node]);

	if (w->rest[node] > 0) {
		speed_event(w, "O", frame, at);
		speed_event(w, "C", frame, end);
	}
	return end;
}

/* Opens every node that is used at what the stacks before it add up to, and closes it
 * behind its own and those below it. */
static void
speed_events(struct speed_out *w)
{
	const struct emit_node *nodes = w->s.nodes.data;
	uint32_t node = 0, next = w->links[0].child;
	int64_t at = w->sums[0];

	while (w->r == 0) {
		while (next != 0 && !w->used[next])
			next = w->links[next].sibling;
		if (next != 0) {
			node = next;
			speed_event(w, "O", nodes[node].frame, at);
			at = emit_sum(at, w->sums[node]);
			next = w->links[node].child;
			continue;
		}
		at = speed_rest(w, node, at);
		if (node == 0)
			break;
		speed_event(w, "C", nodes[node].frame, at);
		next = w->links[node].sibling;
		node = nodes[node].parent;
		w->r = emit_flush(w->out, false, w->e);
	}
}

static void
speed_profile(struct speed_out *w, const struct speed_view *v)
{
	int64_t total = speed_sum(w, v);
	struct json *j = &w->j;

	json_obj(j);
	json_member_str(j, "type", "evented");
	json_member_str(j, "name", v->name);
	json_member_str(j, "unit", v->objects ? "none" : "bytes");
	json_member_i64(j, "startValue", 0);
	json_member_i64(j, "endValue", total);
	json_member_arr(j, "events");
	speed_choose(w);
	speed_events(w);
	json_arr_end(j);
	json_obj_end(j);
}

static void
speed_profiles(struct speed_out *w)
{
	enum prof_value value = emit_choose(w->p, w->o);
	unsigned active = 0, n = 0;

	json_member_arr(&w->j, "profiles");
	for (size_t i = 0; i < ARRAY_LEN(speed_views); i++) {
		const struct speed_view *v = &speed_views[i];

		if (!prof_has_value(w->p, v->value))
			continue;
		if (v->value == value && v->objects == w->o->objects)
			active = n;
		n++;
		speed_profile(w, v);
	}
	json_arr_end(&w->j);
	json_member_u64(&w->j, "activeProfileIndex", active);
}

static int
speedscope_save(const struct prof *p, const struct format_save_opts *o,
		struct emit_out *out, struct err *e)
{
	struct speed_out w = {.p = p, .o = o, .out = out, .e = e};

	emit_stacks_init(&w.s, p, o, EMIT_BY_FILE);
	w.sums = xcalloc(w.s.nodes.len, sizeof *w.sums);
	w.rest = xcalloc(w.s.nodes.len, sizeof *w.rest);
	w.used = xcalloc(w.s.nodes.len, sizeof *w.used);
	if (!o->all && w.s.nodes.len > SPEED_STACKS)
		w.most = SPEED_STACKS;
	speed_link(&w);
	json_init(&w.j, out->buf);
	json_obj(&w.j);
	json_member_str(&w.j, "$schema",
			"https://www.speedscope.app/file-format-schema.json");
	json_member_str(&w.j, "exporter", "seep@" SEEP_VERSION);
	speed_frames(&w);
	speed_profiles(&w);
	json_obj_end(&w.j);
	buf_add_char(out->buf, '\n');
	free(w.links);
	free(w.used);
	free(w.rest);
	free(w.sums);
	emit_stacks_done(&w.s);
	return w.r;
}

const struct format_writer emit_speedscope = {
	.name = "speedscope",
	.what = "speedscope JSON",
	.endings = ".speedscope.json .speedscope",
	.write = speedscope_save,
};
