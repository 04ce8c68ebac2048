/* SPDX-License-Identifier: MIT */
/* emit_frame.c -- frames and stacks by name: see emit_frame.h.
 *
 * Every location is named once and every node of the profile's tree is looked up once,
 * below the node of its parent, so that the cost does not grow with the depth of the
 * stacks. */
#include "emit_frame.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/model/prof.h"
#include "tool/util/x.h"

void
emit_frame_unnamed(const struct prof *p, const struct prof_loc *l, struct buf *out)
{
	const char *path = prof_text(p, p->modules[l->module].path);
	const char *slash = strrchr(path, '/');

	switch (l->kind) {
	case PROF_LOC_TRUNCATED:
		buf_add_str(out, "(could not be followed further)");
		return;
	case PROF_LOC_ELIDED:
		buf_add_str(out, "(frames left out)");
		return;
	case PROF_LOC_CLASS:
		buf_add_str(out, prof_class_name(l->offset));
		return;
	}
	if (l->module != 0)
		buf_printf(out, "%s+", slash != NULL ? slash + 1 : path);
	buf_printf(out, "0x%" PRIx64, l->offset);
}

struct emit_frame
emit_stacks_frame(const struct emit_stacks *s, uint32_t frame)
{
	struct emit_frame f = {0};

	/* Strings are not aligned. */
	if (strtab_len(&s->keys, frame) == sizeof f)
		memcpy(&f, strtab_str(&s->keys, frame), sizeof f);
	return f;
}

void
emit_stacks_path(const struct emit_stacks *s, uint32_t node, struct emit_path *ret_path)
{
	ret_path->len = 0;
	for (; node != 0; node = s->nodes.data[node].parent)
		vec_push(ret_path, s->nodes.data[node].frame);
	for (size_t i = 0, k = ret_path->len; i + 1 < k; i++) {
		uint32_t frame = ret_path->data[--k];

		ret_path->data[k] = ret_path->data[i];
		ret_path->data[i] = frame;
	}
}

static uint32_t
emit_frame_add(struct emit_stacks *s, struct emit_frame *f)
{
	if (s->detail < EMIT_BY_FILE)
		f->file = f->module = 0;
	if (s->detail < EMIT_BY_LINE)
		f->line = 0;
	return strtab_addn(&s->keys, f, sizeof *f);
}

/* Names a location: the rows of its frames go to the end of loc_frames. */
static void
emit_name_loc(struct emit_stacks *s, const struct prof_loc *l)
{
	const struct prof *p = s->p;
	struct buf text = {0};

	for (uint32_t i = 0; i < l->nframes || i == 0; i++) {
		const struct prof_frame *x =
			l->nframes > 0 ? &p->frames[l->frames + i] : NULL;
		struct emit_frame f = {.module = p->modules[l->module].path};

		if (x != NULL && x->function != 0) {
			f.name = strtab_add(&s->names, prof_text(p, x->function));
		} else {
			buf_clear(&text);
			emit_frame_unnamed(p, l, &text);
			f.name = strtab_addn(&s->names, text.data, text.len);
		}
		if (x != NULL) {
			f.file = x->file;
			f.line = x->line;
		}
		vec_push(&s->loc_frames, emit_frame_add(s, &f));
	}
	buf_done(&text);
}

static uint32_t
emit_child(struct emit_stacks *s, uint32_t parent, uint32_t frame)
{
	uint64_t *at = map_add(&s->children, (uint64_t)parent << 32 | frame);

	if (*at == 0) {
		*at = s->nodes.len;
		vec_push(&s->nodes, (struct emit_node){parent, frame});
	}
	return (uint32_t)*at;
}

/* The stack below `node` with the frames of a location, but for the `inl` innermost. */
static uint32_t
emit_below(struct emit_stacks *s, uint32_t node, uint32_t loc, uint32_t inl)
{
	uint32_t first = s->loc_first[loc] + inl;

	for (uint32_t i = s->loc_first[loc + 1]; i > first; i--)
		node = emit_child(s, node, s->loc_frames.data[i - 1]);
	return node;
}

/* Names only what is part of a stack that is written. */
static void
emit_take_nodes(struct emit_stacks *s, const struct format_save_opts *o, const bool *used)
{
	const struct prof *p = s->p;
	bool *locs = xcalloc(p->nlocs, sizeof *locs);

	for (uint32_t i = 1; i < p->nnodes; i++) {
		if (used[i])
			locs[p->nodes[i].loc] = true;
	}
	for (uint32_t i = 0; i < p->nlocs; i++) {
		s->loc_first[i] = (uint32_t)s->loc_frames.len;
		if (locs[i])
			emit_name_loc(s, &p->locs[i]);
	}
	s->loc_first[p->nlocs] = (uint32_t)s->loc_frames.len;
	for (uint32_t i = 1; i < p->nnodes; i++) {
		if (used[i])
			s->of_node[i] = emit_below(s, s->of_node[emit_caller(p, o, i)],
						   p->nodes[i].loc, 0);
	}
	free(locs);
}

void
emit_stacks_init(struct emit_stacks *s, const struct prof *p,
		 const struct format_save_opts *o, enum emit_detail detail)
{
	bool *used = xcalloc(p->nnodes, sizeof *used);

	*s = (struct emit_stacks){.p = p, .detail = detail};
	vec_push(&s->nodes, (struct emit_node){0, 0});
	s->loc_first = xcalloc((size_t)p->nlocs + 1, sizeof *s->loc_first);
	s->of_node = xcalloc(p->nnodes, sizeof *s->of_node);
	s->of_site = xcalloc(p->nsites, sizeof *s->of_site);
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = emit_start_of(p, o, i).node;

		for (; node != 0 && !used[node]; node = emit_caller(p, o, node))
			used[node] = true;
	}
	emit_take_nodes(s, o, used);
	for (uint32_t i = 1; i < p->nsites; i++) {
		struct emit_start at = emit_start_of(p, o, i);

		s->of_site[i] = s->of_node[at.node];
		if (at.inl > 0 && at.node != 0)
			s->of_site[i] =
				emit_below(s, s->of_node[emit_caller(p, o, at.node)],
					   p->nodes[at.node].loc, at.inl);
	}
	free(used);
}

void
emit_stacks_done(struct emit_stacks *s)
{
	strtab_done(&s->names);
	strtab_done(&s->keys);
	vec_done(&s->nodes);
	map_done(&s->children);
	vec_done(&s->loc_frames);
	free(s->loc_first);
	free(s->of_node);
	free(s->of_site);
}
