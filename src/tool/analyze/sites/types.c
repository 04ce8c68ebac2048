/* SPDX-License-Identifier: MIT */
/* types.c -- what the blocks of a place are: see types.h.
 *
 * The sites are sorted by their row once, so that a list of all rows costs no search. */
#include "tool/analyze/sites/types.h"

#include <stdlib.h>

#include "tool/util/x.h"

struct types {
	const struct prof *p;
	uint32_t *first; /* for every row of the sites, and behind the last: in `of` */
	uint32_t *of;	 /* sites in the order of their rows */
	uint32_t nrows;
};

static bool
types_any(const struct prof *p)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].type != 0)
			return true;
	}
	return false;
}

struct types *
types_new(const struct prof *p, const struct sites *ss)
{
	struct types *t;

	if (!types_any(p))
		return NULL;
	t = xcalloc(1, sizeof *t);
	*t = (struct types){
		.p = p,
		.nrows = ss->nrows,
		.first = xcalloc((size_t)ss->nrows + 2, sizeof *t->first),
		.of = xcalloc(p->nsites, sizeof *t->of),
	};
	/* Counted one place further on, so that filling them in moves each start into
	 * its own place. */
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (ss->row_of_site[i] < t->nrows)
			t->first[ss->row_of_site[i] + 2]++;
	}
	for (uint32_t i = 2; i < t->nrows + 2; i++)
		t->first[i] += t->first[i - 1];
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (ss->row_of_site[i] < t->nrows)
			t->of[t->first[ss->row_of_site[i] + 1]++] = i;
	}
	return t;
}

void
types_free(struct types *t)
{
	if (t == NULL)
		return;
	free(t->first);
	free(t->of);
	free(t);
}

static struct types_row *
types_get(struct types_list *list, uint32_t type)
{
	for (size_t i = 0; i < list->len; i++) {
		if (list->data[i].type == type)
			return &list->data[i];
	}
	vec_push(list, (struct types_row){.type = type});
	return vec_last(list);
}

static int
types_compare(const void *a, const void *b)
{
	const struct types_row *x = a, *y = b;

	if (x->live_bytes != y->live_bytes)
		return x->live_bytes > y->live_bytes ? -1 : 1;
	if (x->alloc_bytes != y->alloc_bytes)
		return x->alloc_bytes > y->alloc_bytes ? -1 : 1;
	return x->type < y->type ? -1 : x->type > y->type;
}

void
types_of(const struct types *t, uint32_t row, struct types_list *ret)
{
	bool known = false;

	ret->len = 0;
	if (t == NULL || row >= t->nrows)
		return;
	for (uint32_t i = t->first[row]; i < t->first[row + 1]; i++) {
		const struct prof_site *s = &t->p->sites[t->of[i]];
		struct types_row *x = types_get(ret, s->type);

		known = known || s->type != 0;
		x->live_blocks += s->live_blocks;
		x->live_bytes += s->live_bytes;
		x->allocs += s->allocs;
		x->alloc_bytes += s->alloc_bytes;
	}
	if (!known)
		ret->len = 0;
	if (ret->len > 1)
		qsort(ret->data, ret->len, sizeof *ret->data, types_compare);
}
