/* SPDX-License-Identifier: MIT */
/* timeline.c -- live bytes and RSS over time. See timeline.h.
 *
 * Starts with a point every 10 ms. 4,096 of them are 41 s; each time the table fills up it is
 * thinned to every second point, so an hour has one about every second. */
#include "record/timeline.h"

enum { LOCK_TIMELINE = 3 };

static void
thin_out(struct rec_head *h, struct rec_point *points)
{
	for (uint32_t i = 0; i < REC_POINTS_MAX / 2; i++)
		points[i] = points[2 * i];
	__atomic_store_n(&h->points, REC_POINTS_MAX / 2, __ATOMIC_RELEASE);
	h->point_every_ms *= 2;
}

void
timeline_point(struct recorder *r, struct thread *t)
{
	struct rec_head *h = r->head;
	struct rec_point *points = (struct rec_point *)(void *)(r->base + REC_POINTS_OFF);
	uint32_t none = 0;

	if (!__atomic_compare_exchange_n(&h->locks[LOCK_TIMELINE], &none, t->me, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
	    none != t->me) /* ours: left by longjmp */
		return;
	if (t->alone)
		timeline_show_live(r, t);
	if (t->now_ms >= r->next_point_ms) {
		if (h->points >= REC_POINTS_MAX)
			thin_out(h, points);
		points[h->points] = (struct rec_point){
			.ms = (uint32_t)t->now_ms,
			.rss_kib = (uint32_t)h->rss_kib,
			.live_bytes = __atomic_load_n(&h->live_bytes, __ATOMIC_RELAXED),
		};
		__atomic_store_n(&h->points, h->points + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&r->next_point_ms, t->now_ms + h->point_every_ms,
				 __ATOMIC_RELAXED);
	}
	lock_drop(&h->locks[LOCK_TIMELINE]);
}
