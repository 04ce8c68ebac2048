/* SPDX-License-Identifier: MIT */
/* peer_callgrind.c -- calls and stacks as lists: callgrind's format, and --stacks of google-pprof. */
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
	const struct peer_stacks *s;
	VEC(struct peer_call) calls;
	struct strtab keys;
	struct map files, functions; /* text -> number it was given */
};

static void
peer_call_place(const struct peer_stacks *s, uint32_t loc, uint32_t *file, uint32_t *line,
		uint32_t *function, struct strtab *text)
{
	const struct peer_loc *l = &s->locs[loc];
	const struct peer_sym *y = &s->syms.data[l->syms + l->nsyms - 1];
	char hex[24];

	*line = y->line;
	*file = strtab_add(text, y->file != 0 ? strtab_str(&s->text, y->file) : "??");
	snprintf(hex, sizeof hex, "0x%016" PRIx64, l->address);
	*function = strtab_add(text, y->func != 0 ? strtab_str(&s->text, y->func) : hex);
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

static void
peer_call_add(struct peer_calls *c, const struct peer_stack *k)
{
	struct peer_call x = {.value = k->value}, before = {0};

	for (uint32_t i = 0; i < k->nframes; i++, before = x) {
		peer_call_place(c->s, c->s->frames.data[k->frames + i], &x.file, &x.line,
				&x.function, &c->keys);
		x.to_file = before.file;
		x.to_line = before.line;
		x.to_function = before.function;
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
peer_callgrind(struct buf *out, const struct peer_stacks *s)
{
	struct peer_calls c = {.s = s};

	for (size_t i = 0; i < s->stacks.len; i++)
		peer_call_add(&c, &s->stacks.data[i]);
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
	strtab_done(&c.keys);
	map_done(&c.files);
	map_done(&c.functions);
	vec_done(&c.calls);
}

void
peer_stack_list(struct buf *out, const struct peer_stacks *s)
{
	buf_add_str(out, "Stacks:\n\n");
	for (size_t i = 0; i < s->stacks.len; i++) {
		const struct peer_stack *k = &s->stacks.data[i];

		buf_printf(out, "%-8.0f ", trunc(k->value) + 0.0);
		for (uint32_t f = 0; f < k->nframes; f++) {
			const struct peer_loc *l =
				&s->locs[s->frames.data[k->frames + f]];
			const struct peer_sym *y = &s->syms.data[l->syms + l->nsyms - 1];

			buf_printf(out, "%s(%016" PRIx64 ") ", f > 0 ? "\n         " : "",
				   l->address + (f == 0 && k->leaf));
			peer_file_line(s, y, out);
			buf_add_char(out, ':');
			clean_text(out, y->func != 0 ? strtab_str(&s->text, y->func)
						     : "unknown");
		}
		buf_add_str(out, "\n\n");
	}
}
