/* SPDX-License-Identifier: MIT */
/* tagframes.c -- see tagframes.h.
 *
 * Each site's stack is built again, from the root: its labels, its frames, its labels.
 * Stacks that were one in the old tree are so in the new one as far as their labels
 * agree. The old nodes stay where they are, without a site. */
#include "tool/analyze/graph/tagframes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shared/hash.h"
#include "tool/analyze/graph/filter.h"
#include "tool/util/fmt.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct tag_keys VEC_BODY(uint32_t); /* strings of the profile */

struct tag_work {
	struct prof *p;
	const struct tagframes *t;
	struct tag_keys keys[2]; /* root, leaf */
	bool met[2];
	uint32_t *first; /* for every site, and one more: its rows in `labels` */
	uint32_t *labels;
	struct filter_run drops;
	uint32_t *slots;
	struct skip_stack stack;
	VEC(uint32_t) locs; /* of a stack, innermost first */
};

/* ---- labels ---- */

static void
tag_take_keys(struct prof *p, const char *text, struct tag_keys *ret)
{
	while (text != NULL && *text != '\0') {
		size_t n = strcspn(text, ",");

		if (n > 0)
			vec_push(ret, prof_strn(p, text, n));
		text += n + (text[n] == ',');
	}
}

static void
tag_index_labels(struct tag_work *w)
{
	const struct prof *p = w->p;
	uint32_t *at;

	w->first = xcalloc((size_t)p->nsites + 1, sizeof *w->first);
	w->labels = xcalloc((size_t)p->nlabels + 1, sizeof *w->labels);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		if (p->labels[i].site < p->nsites)
			w->first[p->labels[i].site + 1]++;
	}
	for (uint32_t i = 0; i < p->nsites; i++)
		w->first[i + 1] += w->first[i];
	at = xcalloc((size_t)p->nsites + 1, sizeof *at);
	memcpy(at, w->first, ((size_t)p->nsites + 1) * sizeof *at);
	for (uint32_t i = 0; i < p->nlabels; i++) {
		if (p->labels[i].site < p->nsites)
			w->labels[at[p->labels[i].site]++] = i;
	}
	free(at);
}

static void
tag_value(struct buf *out, const struct prof *p, const struct prof_label *l)
{
	const char *unit = prof_text(p, l->unit);

	if (l->text != 0)
		buf_add_str(out, prof_text(p, l->text));
	else if (strcmp(unit, "bytes") == 0 && l->number >= 0)
		buf_add_str(out, fmt_size((uint64_t)l->number).s);
	else
		buf_printf(out, "%" PRId64 "%s%s", l->number, unit[0] != '\0' ? " " : "",
			   unit);
}

/* What the labels of this name say, all of them. False: there is none. */
static bool
tag_values(const struct tag_work *w, uint32_t site, uint32_t key, struct buf *out)
{
	bool any = false;

	/* Text before numbers, as pprof has it. */
	for (unsigned numbers = 0; numbers < 2; numbers++) {
		for (uint32_t i = w->first[site]; i < w->first[site + 1]; i++) {
			const struct prof_label *l = &w->p->labels[w->labels[i]];

			if (l->key != key || (l->text == 0) != (numbers != 0))
				continue;
			if (any)
				buf_add_char(out, ',');
			any = true;
			(w->t->text != NULL ? w->t->text : tag_value)(out, w->p, l);
		}
	}
	return any;
}

/* ---- frames ---- */

/* A location that stands for a word. Offsets with the top bit set are no addresses. */
static uint32_t
tag_loc(struct prof *p, uint32_t function, uint32_t file)
{
	const char *text = prof_text(p, function), *key = prof_text(p, file);
	/* Of the words, not of their numbers: the same in every profile. */
	uint64_t at = hash_bytes(key, strlen(key), hash_bytes(text, strlen(text), 0)) |
		      UINT64_C(1) << 63;
	uint32_t loc = prof_loc(p, 0, at, PROF_LOC_CODE, true), row;

	if (p->locs[loc].nframes != 0)
		return loc;
	row = prof_add_frame(p);
	p->frames[row].function = function;
	p->frames[row].file = file;
	p->locs[loc].frames = row;
	p->locs[loc].nframes = 1;
	return loc;
}

/* The label's frame below `node`. */
static uint32_t
tag_frame(struct tag_work *w, uint32_t node, uint32_t site, uint32_t key, bool *met)
{
	struct prof *p = w->p;
	bool plain = w->t->text != NULL;
	const char *name = prof_text(p, key);
	struct buf b = {0};
	uint32_t loc;

	if (!plain)
		buf_printf(&b, "%s=", name);
	if (tag_values(w, site, key, &b)) {
		*met = true;
	} else if (!plain) {
		buf_clear(&b);
		buf_printf(&b, "(no %s)", name);
	}
	loc = tag_loc(p, prof_strn(p, buf_str(&b), b.len), plain ? key : 0);
	buf_done(&b);
	return prof_node(p, node, loc);
}

/* ---- stacks ---- */

/* The location without its innermost `inl` functions. */
static uint32_t
tag_part(struct prof *p, uint32_t loc, uint32_t inl)
{
	struct prof_loc was = p->locs[loc];
	uint64_t at = hash_pair(was.offset, inl) | UINT64_C(1) << 63;
	uint32_t part;

	if (inl == 0 || inl >= was.nframes)
		return loc;
	part = prof_loc(p, was.module, at, PROF_LOC_CODE, true);
	p->locs[part].frames = was.frames + inl;
	p->locs[part].nframes = was.nframes - inl;
	return part;
}

static void
tag_locs_shown(struct tag_work *w, uint32_t node)
{
	skip_stack(w->t->skip, node, &w->stack);
	for (size_t i = 0; i < w->stack.len; i++) {
		struct skip_pos at = w->stack.data[i];

		if (i == 0 || w->stack.data[i - 1].node != at.node)
			vec_push(&w->locs,
				 tag_part(w->p, w->p->nodes[at.node].loc, at.inl));
	}
}

/* How many of w->locs, from the outermost on, are left: one that is to be dropped ends
 * the stack, but not above the first that is not. */
static size_t
tag_kept(const struct tag_work *w)
{
	bool user = false;

	for (size_t i = w->locs.len; i-- > 0;) {
		uint32_t from = w->slots[w->locs.data[i]];
		uint32_t to = w->slots[w->locs.data[i] + 1];
		uint8_t any = 0;

		for (uint32_t s = from; s < to; s++)
			any |= w->drops.slots[s];
		if ((any & FILTER_IS_DROPPED) == 0)
			user = true;
		else if (user)
			return w->locs.len - i -
			       ((w->drops.slots[to - 1] & FILTER_IS_DROPPED) != 0);
	}
	return w->locs.len;
}

static void
tag_locs(struct tag_work *w, uint32_t node)
{
	const struct prof *p = w->p;
	size_t kept;

	w->locs.len = 0;
	if (node == 0 || node >= p->nnodes)
		return;
	if (w->t->skip != NULL) {
		tag_locs_shown(w, node);
		return;
	}
	while (node != 0) {
		vec_push(&w->locs, p->nodes[node].loc);
		/* A parent comes before its children; a file that says otherwise ends
		 * here. */
		node = p->nodes[node].parent < node ? p->nodes[node].parent : 0;
	}
	if (!w->drops.drops)
		return;
	kept = tag_kept(w);
	memmove(w->locs.data, w->locs.data + w->locs.len - kept,
		kept * sizeof *w->locs.data);
	w->locs.len = kept;
}

static uint32_t
tag_stack(struct tag_work *w, uint32_t site)
{
	uint32_t node = 0;

	tag_locs(w, w->p->sites[site].node);
	for (size_t i = 0; i < w->keys[0].len; i++)
		node = tag_frame(w, node, site, w->keys[0].data[i], &w->met[0]);
	for (size_t i = w->locs.len; i-- > 0;)
		node = prof_node(w->p, node, w->locs.data[i]);
	for (size_t i = 0; i < w->keys[1].len; i++)
		node = tag_frame(w, node, site, w->keys[1].data[i], &w->met[1]);
	return node;
}

unsigned
tagframes_add(struct prof *p, const struct tagframes *t)
{
	struct tag_work w = {.p = p, .t = t};
	unsigned unmatched = 0;

	tag_take_keys(p, t->root, &w.keys[0]);
	tag_take_keys(p, t->leaf, &w.keys[1]);
	if (w.keys[0].len + w.keys[1].len > 0) {
		tag_index_labels(&w);
		if (t->drop) {
			w.slots = filter_slots(p);
			filter_run_init(&w.drops, NULL, p, w.slots, true);
		}
		for (uint32_t i = 1; i < p->nsites; i++) {
			uint32_t node = tag_stack(&w, i);

			p->sites[i].node = node;
		}
		if (t->drop)
			p->drop_frames = p->keep_frames = 0;
	}
	if (w.keys[0].len > 0 && !w.met[0])
		unmatched |= TAGFRAMES_NO_ROOT;
	if (w.keys[1].len > 0 && !w.met[1])
		unmatched |= TAGFRAMES_NO_LEAF;
	filter_run_done(&w.drops);
	free(w.slots);
	free(w.first);
	free(w.labels);
	vec_done(&w.keys[0]);
	vec_done(&w.keys[1]);
	vec_done(&w.stack);
	vec_done(&w.locs);
	return unmatched;
}
