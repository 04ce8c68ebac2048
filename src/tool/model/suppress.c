/* SPDX-License-Identifier: MIT */
/* suppress.c -- see suppress.h: the set of suppressions and the order they are tried
 * in. */
#include "tool/model/suppress.h"

#include <stdlib.h>
#include <string.h>

struct suppress *
suppress_add(struct suppress_set *s)
{
	vec_push(&s->order, (uint32_t)s->all.len);
	return vec_add(&s->all);
}

struct suppress *
suppress_used(struct suppress_set *s, size_t at)
{
	uint32_t n = s->order.data[at];

	memmove(&s->order.data[at], &s->order.data[at + 1],
		(s->order.len - at - 1) * sizeof *s->order.data);
	s->order.data[s->order.len - 1] = n;
	s->all.data[n].count++;
	return &s->all.data[n];
}

static void
suppress_done_one(struct suppress *x)
{
	free(x->name);
	for (size_t i = 0; i < x->frames.len; i++)
		free(x->frames.data[i].pattern);
	vec_done(&x->frames);
}

void
suppress_done(struct suppress_set *s)
{
	for (size_t i = 0; i < s->all.len; i++)
		suppress_done_one(&s->all.data[i]);
	for (size_t i = 0; i < s->files.len; i++)
		free(s->files.data[i]);
	vec_done(&s->all);
	vec_done(&s->order);
	vec_done(&s->files);
}
