/* SPDX-License-Identifier: MIT */
/* peer_callgrind.c -- calls and stacks as lists: callgrind's format, and --stacks of
 * google-pprof. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/render/figure.h"
#include "tool/util/x.h"

/* A cost: of a place itself, or of a call from it. Places are file, line and function. */
struct peer_call {
	uint32_t file, line, function;
	uint32_t to_file, to_line, to_function; /* to_function 0: its own cost */
	double value;
};

struct peer_calls {
	const struct jeprof_frames *f;
	struct peer_call *places; /* of every entry */
	VEC(struct peer_call) calls;
	struct strtab keys;
	struct map files, functions; /* text -> number it was given */
};

/* What tells places apart: see peer_call_place. */
static void
peer_call_frame(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out)
{
	const struct jeprof_frames *f = ctx;
	const struct jeprof_sym *y = jeprof_function(f, loc);

	(void)inl, (void)leaf;
	buf_printf(out, "%x %x %x %" PRIx64, y->file, y->line, y->func,
		   y->func == 0 ? f->locs[loc].address : 0);
}

static void
peer_call_place(struct peer_calls *c, const char *frame, struct peer_call *ret)
{
	unsigned file = 0, line = 0, function = 0;
	uint64_t address = 0;
	char hex[24];

	sscanf(frame, "%x %x %x %" SCNx64, &file, &line, &function, &address);
	snprintf(hex, sizeof hex, "0x%016" PRIx64, address);
	ret->line = line;
	ret->file =
		strtab_add(&c->keys, file != 0 ? strtab_str(&c->f->text, file) : "??");
	ret->function = strtab_add(
		&c->keys, function != 0 ? strtab_str(&c->f->text, function) : hex);
}

/* Places get their numbers as stacks meet them. */
static void
peer_call_places(struct peer_calls *c, const struct jeprof_stacks *s)
{
	uint32_t *number = jeprof_number(s);
	uint32_t *order = xcalloc((size_t)s->g.nentries + 1, sizeof *order);

	c->places = xcalloc(s->g.nentries, sizeof *c->places);
	for (uint32_t i = 1; i < s->g.nentries; i++)
		order[number[i]] = i;
	for (uint32_t i = 1; i < s->g.nentries; i++) {
		if (order[i] != 0)
			peer_call_place(c, jeprof_text(s, order[i]),
					&c->places[order[i]]);
	}
	free(number);
	free(order);
}

static int
peer_call_key(const struct peer_call *x, const struct peer_call *y)
{
	return memcmp(x, y, offsetof(struct peer_call, value));
}

static int
peer_call_order(const void *a, const void *b)
{
	return peer_call_key(a, b);
}

/* Own costs, and calls as often as they come. */
static void
peer_call_add(struct peer_calls *c, const struct graph *g)
{
	for (uint32_t i = 1; i < g->nnodes; i++) {
		const struct graph_node *n = &g->nodes[i];
		struct peer_call x = c->places[n->entry], to = x;

		x.value = n->self;
		if (x.value != 0)
			vec_push(&c->calls, x);
		if (n->parent == 0)
			continue;
		x = c->places[g->nodes[n->parent].entry];
		x.to_file = to.file;
		x.to_line = to.line;
		x.to_function = to.function;
		x.value = n->total;
		vec_push(&c->calls, x);
	}
}

/* "fn=(3) name" the first time, "fn=(3)" afterwards; short ones as they are. */
static void
peer_call_name(struct peer_calls *c, struct buf *out, const char *key,
	       struct map *numbers, uint32_t id)
{
	uint64_t *number = map_find(numbers, id);

	buf_printf(out, "%s=", key);
	if (strtab_len(&c->keys, id) <= 3) {
		clean_text(out, strtab_str(&c->keys, id));
	} else if (number != NULL) {
		buf_printf(out, "(%" PRIu64 ")", *number);
	} else {
		number = map_add(numbers, id);
		*number = numbers->len;
		buf_printf(out, "(%" PRIu64 ") ", *number);
		clean_text(out, strtab_str(&c->keys, id));
	}
	buf_add_char(out, '\n');
}

void
peer_callgrind(struct buf *out, struct jeprof_frames *f, const double *figures)
{
	struct jeprof_naming how = {
		.name = peer_call_frame, .ctx = f, .no_inlines = true};
	struct peer_calls c = {.f = f};
	struct jeprof_stacks s;

	jeprof_stacks_init(&s, f, figures, &how);
	peer_call_places(&c, &s);
	peer_call_add(&c, &s.g);
	jeprof_stacks_done(&s);
	vec_sort(&c.calls, peer_call_order);
	buf_add_str(out, "events: Hits\n\n");
	for (size_t i = 0; i < c.calls.len;) {
		const struct peer_call *x = &c.calls.data[i];
		double sum = 0;

		for (; i < c.calls.len && peer_call_key(x, &c.calls.data[i]) == 0; i++)
			sum += c.calls.data[i].value;
		peer_call_name(&c, out, "fl", &c.files, x->file);
		peer_call_name(&c, out, "fn", &c.functions, x->function);
		if (x->to_function != 0) {
			peer_call_name(&c, out, "cfl", &c.files, x->to_file);
			peer_call_name(&c, out, "cfn", &c.functions, x->to_function);
			buf_printf(out, "calls=%.0f %" PRIu32 "\n", trunc(sum) + 0.0,
				   x->to_line);
		}
		buf_printf(out, "%" PRIu32 " %.0f\n\n", x->line, trunc(sum) + 0.0);
	}
	free(c.places);
	strtab_done(&c.keys);
	map_done(&c.files);
	map_done(&c.functions);
	vec_done(&c.calls);
}

/* "(ADDRESS) FILE:LINE:FUNCTION" */
static void
peer_stack_frame(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out)
{
	const struct jeprof_frames *f = ctx;
	const struct jeprof_sym *y = jeprof_function(f, loc);

	(void)inl;
	buf_printf(out, "(%016" PRIx64 ") ", f->locs[loc].address + leaf);
	jeprof_file_line(f, y, out);
	buf_add_char(out, ':');
	clean_text(out, y->func != 0 ? strtab_str(&f->text, y->func) : "unknown");
}

void
peer_stack_list(struct buf *out, struct jeprof_frames *f, const double *figures)
{
	struct jeprof_naming how = {
		.name = peer_stack_frame, .ctx = f, .no_inlines = true, .leaves = true};
	struct jeprof_stacks s;

	jeprof_stacks_init(&s, f, figures, &how);
	buf_add_str(out, "Stacks:\n\n");
	for (size_t i = 0; i < s.list.len; i++) {
		uint32_t first = s.list.data[i].node;

		buf_printf(out, "%-8.0f ", trunc(s.list.data[i].value) + 0.0);
		for (uint32_t n = first; n != 0; n = s.g.nodes[n].parent)
			buf_printf(out, "%s%s", n != first ? "\n         " : "",
				   jeprof_text(&s, s.g.nodes[n].entry));
		buf_add_str(out, "\n\n");
	}
	jeprof_stacks_done(&s);
}
