/* SPDX-License-Identifier: MIT */
/* moments.c -- see moments.h.
 *
 * Sites of one place share its checks, so their intervals that end together are one. */
#include "tool/analyze/sites/moments.h"

#include <stdlib.h>

static int
compare(const void *a, const void *b)
{
	const struct prof_moment *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->to_ms != y->to_ms)
		return x->to_ms < y->to_ms ? -1 : 1;
	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

void
moments_of(const struct prof *p, const struct sites *ss, uint32_t row,
	   struct moments *ret)
{
	struct moments all = {0};
	size_t n = 0;

	for (uint32_t i = 0; i < p->nmoments; i++) {
		struct prof_moment m = p->moments[i];

		if (m.site >= p->nsites || ss->row_of_site[m.site] != row)
			continue;
		vec_push(&all, m);
		/* Compared by process: the first site of it stands for the others. */
		for (size_t k = 0; k + 1 < all.len; k++) {
			if (p->sites[all.data[k].site].process ==
			    p->sites[m.site].process) {
				vec_last(&all)->site = all.data[k].site;
				break;
			}
		}
	}
	vec_sort(&all, compare);
	for (size_t i = 0; i < all.len; i++) {
		struct prof_moment *to = n > 0 ? &all.data[n - 1] : NULL,
				   *m = &all.data[i];

		if (to == NULL || to->site != m->site || to->kind != m->kind ||
		    to->to_ms != m->to_ms) {
			all.data[n++] = *m;
			continue;
		}
		if (m->from_ms < to->from_ms)
			to->from_ms = m->from_ms;
		to->blocks += m->blocks;
		to->bytes += m->bytes;
	}
	all.len = n;
	*ret = all;
}

const struct prof_mark *
moments_mark(const struct prof *p, uint32_t process, uint64_t from_ms, uint64_t to_ms)
{
	const struct prof_mark *last = NULL;

	for (uint32_t i = 0; i < p->nmarks; i++) {
		const struct prof_mark *m = &p->marks[i];

		if (m->process == process && m->number != 0 && m->ms >= from_ms &&
		    m->ms <= to_ms && (last == NULL || m->ms >= last->ms))
			last = m;
	}
	return last;
}

struct moments_sum
moments_sum(const struct prof_round *rounds, size_t n, const bool *chosen)
{
	struct moments_sum s = {0};

	for (size_t i = 0; i < n; i++) {
		const struct prof_round *x = &rounds[i];

		if (chosen != NULL && !chosen[x->process])
			continue;
		if (x->why != 0) {
			s.failed += x->checks;
			s.failed_ms = x->ms;
			s.failed_why = x->why;
			continue;
		}
		s.made += x->checks;
		s.last_ms = x->stop_ns > 0 ? x->ms : 0;
		s.late += x->late;
		s.again_blocks += x->again_blocks;
		s.again_bytes += x->again_bytes;
		if (s.unfollowed_blocks < x->unfollowed_blocks)
			s.unfollowed_blocks = x->unfollowed_blocks;
		if (s.longest_ns < x->stop_ns)
			s.longest_ns = x->stop_ns;
	}
	return s;
}

const struct prof_round *
moments_round_at(const struct prof *p, uint32_t process, uint64_t ms)
{
	const struct prof_round *last = NULL;

	for (uint32_t i = 0; i < p->nrounds; i++) {
		const struct prof_round *x = &p->rounds[i];

		if (x->process == process && x->why == 0 && x->ms <= ms)
			last = x;
	}
	return last;
}
