/* SPDX-License-Identifier: MIT */
/* scan_growth.c -- see scan_growth.h. */
#include "tool/analyze/process/scan_growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/process/coverage.h"
#include "tool/util/x.h"

enum {
	KEPT_LEAST = 1 << 20,	 /* of what malloc keeps: less is not worth a word */
	UNREAD_LEAST = 64 << 10, /* and of heaps that were not understood, */
	UNREAD_PART = 100, /* unless it is less than one part in so many of live memory */
	KEPT_MORE = 10,	   /* so many times as much as grew, then that is the growth */
};

static struct heapscan_sum
lost_of(const struct heapscan_sum *sums)
{
	return (struct heapscan_sum){
		.blocks = sums[HEAPSCAN_DEFINITE].blocks + sums[HEAPSCAN_INDIRECT].blocks,
		.bytes = sums[HEAPSCAN_DEFINITE].bytes + sums[HEAPSCAN_INDIRECT].bytes};
}

uint64_t
scan_kept_bytes(const struct heapscan *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->arenas.len; i++) {
		const struct heapscan_arena *a = &s->arenas.data[i];

		sum += a->free_bytes + a->top_bytes + a->cached_bytes;
	}
	return sum;
}

uint64_t
scan_seen_bytes(const struct heapscan *s)
{
	uint64_t seen = scan_live_bytes(s) + scan_kept_bytes(s);

	return seen > s->extent_bytes ? seen : s->extent_bytes;
}

bool
scan_is_partial(const struct heapscan *s)
{
	uint64_t seen = scan_seen_bytes(s);

	return seen < s->anon_bytes / 2 && s->anon_bytes - seen > COVERAGE_MIN_BYTES;
}

uint64_t
scan_unread_bytes(const struct heapscan *s)
{
	uint64_t sum = s->missed.bytes;

	for (size_t i = 0; i < s->arenas.len; i++)
		sum += s->arenas.data[i].gap_bytes;
	return sum;
}

bool
scan_keeps_more(const struct heapscan *after, const struct scan_growth *g)
{
	return g->kept_bytes > KEPT_LEAST && g->kept_bytes / KEPT_MORE >= g->bytes &&
	       (uint64_t)g->kept_bytes > scan_live_bytes(after) / KEPT_MORE;
}

int64_t
scan_held_bytes(const struct scan_growth *g)
{
	return g->bytes - (g->lost_bytes > 0 ? g->lost_bytes : 0);
}

struct verdict_answer
scan_decide(const struct heapscan *s, const struct scan_growth *g)
{
	struct heapscan_sum lost = lost_of(s->sums);
	struct verdict_facts f = {.recorded = true,
				  .checked = true,
				  .ended = s->core != 0,
				  .partial = scan_is_partial(s) && s->unreadable == 0};

	/* A block that was not found is a root and cannot be lost: any one may be. */
	f.unread = s->missing_bytes > 0 || s->unreadable != 0 || s->missed.blocks > 0 ||
		   (scan_unread_bytes(s) > UNREAD_LEAST &&
		    scan_unread_bytes(s) > scan_live_bytes(s) / UNREAD_PART);
	f.lost_bytes = g != NULL ? g->lost_bytes : (int64_t)lost.bytes;
	f.lost_blocks = g != NULL ? g->lost_blocks : (int64_t)lost.blocks;
	if (s->managed != 0 && s->unreadable == 0) {
		/* One look cannot tell objects that are held for too long from those in
		 * use. */
		f.managed = f.lost_blocks > 0 || (g == NULL && s->core == 0);
		f.lost_bytes = f.lost_blocks = 0;
	}
	/* Nor does it show which of a runtime's objects are garbage that waits for its
	 * collector. */
	if (s->objects != 0 && s->unreadable == 0 && f.lost_blocks == 0)
		f.managed = f.managed || (g == NULL && s->core == 0);
	if (g != NULL) {
		f.ended = false;
		f.growth_judged = true;
		f.grows_outside = scan_keeps_more(s, g);
		f.growth = scan_held_bytes(g) > g->kept_bytes / KEPT_MORE &&
					   scan_held_bytes(g) > 0
				   ? GROWTH_GROWING
				   : GROWTH_STEADY;
	}
	return verdict_decide(&f);
}

uint64_t
scan_live_bytes(const struct heapscan *s)
{
	uint64_t sum = s->mapped.bytes;

	for (size_t i = 0; i < s->arenas.len; i++)
		sum += s->arenas.data[i].used_bytes;
	return sum;
}

/* A size, or the power of two that several are below. */
static uint64_t
class_of(const struct heapscan_group *g)
{
	return g->least == 0 || g->size < 2 ? g->size
					    : 64 - (uint64_t)__builtin_clzll(g->size - 1);
}

/* One id for groups that are the same, in a table of both. */
static uint32_t
key_of(struct strtab *keys, const struct heapscan *s, const struct heapscan_group *g)
{
	char *text = xasprintf("%u %llu\n%s\n%s", g->least != 0,
			       (unsigned long long)class_of(g), heapscan_text(s, g->type),
			       heapscan_text(s, g->pattern));
	uint32_t key = strtab_add(keys, text);

	free(text);
	return key;
}

static int
compare_rows(const void *a, const void *b)
{
	const struct scan_growth_row *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->group > y->group) - (x->group < y->group);
}

static void
add_groups(struct scan_growth *g, const struct heapscan *s, bool after, struct map *rows,
	   struct strtab *keys)
{
	for (uint32_t i = 0; i < s->groups.len; i++) {
		const struct heapscan_group *group = &s->groups.data[i];
		uint64_t *row = map_add(rows, key_of(keys, s, group));
		struct heapscan_sum all = heapscan_group_total(group);
		uint64_t lost = lost_of(group->sums).blocks;
		struct scan_growth_row *r;

		if (*row == 0) {
			vec_push(&g->rows,
				 (struct scan_growth_row){.group = UINT32_MAX,
							  .old_group = UINT32_MAX});
			*row = g->rows.len;
		}
		r = &g->rows.data[*row - 1];
		*(after ? &r->group : &r->old_group) = i;
		if (after)
			r->after = all;
		else
			r->before = all;
		/* Without a sign: a file may hold any number. */
		r->lost_blocks =
			(int64_t)((uint64_t)r->lost_blocks + (after ? lost : 0 - lost));
		r->bytes = (int64_t)((uint64_t)r->bytes +
				     (after ? all.bytes : 0 - all.bytes));
	}
}

void
scan_growth_init(struct scan_growth *ret, const struct heapscan *before,
		 const struct heapscan *after)
{
	struct heapscan_sum old = heapscan_total(before), new = heapscan_total(after);
	struct heapscan_sum old_lost = lost_of(before->sums),
			    new_lost = lost_of(after->sums);
	struct strtab keys = {0};
	struct map rows = {0};

	*ret = (struct scan_growth){
		.bytes = (int64_t)(new.bytes - old.bytes),
		.blocks = (int64_t)(new.blocks - old.blocks),
		.lost_bytes = (int64_t)(new_lost.bytes - old_lost.bytes),
		.lost_blocks = (int64_t)(new_lost.blocks - old_lost.blocks),
		.kept_bytes = (int64_t)(scan_kept_bytes(after) - scan_kept_bytes(before)),
	};
	if (before->time_ns != 0 && after->time_ns > before->time_ns)
		ret->seconds = (after->time_ns - before->time_ns) / 1000000000;
	add_groups(ret, before, false, &rows, &keys);
	add_groups(ret, after, true, &rows, &keys);
	vec_sort(&ret->rows, compare_rows);
	map_done(&rows);
	strtab_done(&keys);
}

void
scan_growth_done(struct scan_growth *g)
{
	vec_done(&g->rows);
}
