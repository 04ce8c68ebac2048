/* SPDX-License-Identifier: MIT */
/* live_errors.c -- wrong uses of the heap, out of a live recording.
 *
 * A record whose kind is 0 was never finished. One with a kind, function or place that
 * does not exist keeps what can be read of it and is counted as damaged. */
#include "live_impl.h"

static uint8_t
live_bounded(struct live *l, uint32_t value, uint32_t limit)
{
	if (value < limit)
		return (uint8_t)value;
	l->bad[LIVE_BAD_ERROR]++;
	return 0;
}

static void
live_read_error(struct live *l, const struct rec_error *e)
{
	uint32_t at = live_node(l, e->at), alloc = live_node(l, e->alloc);
	uint32_t freed = live_node(l, e->freed), row = prof_add_error(l->p);
	struct prof_error *x = &l->p->errors[row];

	x->process = l->process;
	x->kind = live_bounded(l, e->kind, REC_ERROR_MORE);
	x->func = live_bounded(l, e->func, REC_FUNCS);
	x->where = live_bounded(l, e->where, REC_WHERES);
	x->block_kind = live_bounded(l, e->block_kind, REC_KIND_INHERITED + 1);
	x->freed_func = live_bounded(l, e->freed_func, REC_FUNCS);
	x->at = at;
	x->alloc = alloc;
	x->freed = freed;
	x->thread = e->thread;
	x->count = e->count;
	x->addr = e->addr;
	x->given = e->given;
	x->source = e->source;
	x->block = e->block;
	x->block_bytes = e->block_bytes;
	x->ms = e->ms;
	live_saw_ms(l, e->ms);
	if (x->where == REC_WHERE_STACK)
		x->where_thread = e->where_number;
	if (x->where == REC_WHERE_MODULE && e->where_number != 0 &&
	    e->where_number <= l->room[REC_CHUNK_MODULE]) {
		x->where_module = l->module_rows[e->where_number];
		x->where_off = e->addr - l->module_bias[e->where_number];
	}
}

void
live_read_errors(struct live *l)
{
	for (uint32_t i = 0; i < l->nchunks; i++) {
		const struct rec_error *e;

		if (l->chunks[i].kind != REC_CHUNK_ERROR)
			continue;
		for (uint32_t slot = 0; (e = live_slot(l, i, slot)) != NULL; slot++) {
			if (e->kind != REC_ERROR_NONE)
				live_read_error(l, e);
		}
	}
	if (l->head->errors_more > 0) {
		uint32_t row = prof_add_error(l->p);

		l->p->errors[row].process = l->process;
		l->p->errors[row].kind = REC_ERROR_MORE;
		l->p->errors[row].count = l->head->errors_more;
	}
}
