/* SPDX-License-Identifier: MIT */
/* timeline.c -- live bytes and RSS over time. See timeline.h.
 *
 * The tool measures RSS while it is there. Without it the recorder does, at a point and
 * at most ten times a second, later once a second: /proc/self/statm, which takes some
 * microseconds (guest/life/statm.c). What the recorder itself holds is measured less and
 * less often, as it grows less and less.
 *
 * Starts with a point every 10 ms. 4,096 of them are 41 s; each time the table fills up
 * it is thinned to every second point, so an hour has one about every second. */
#include "guest/record/timeline.h"

#include "guest/record/cell_series.h"
#include "guest/record/file/space.h"
#include "guest/record/ticks.h"
#include "guest/rt/rt_map.h"

enum {
	LOCK_TIMELINE = 3,
	RSS_SHARE = 16, /* so much of its age may the last measured RSS be old */
	RSS_LEAST_MS = 100,
	RSS_MOST_MS = 1000,
	OWN_LEAST_MS = 1000,
	OWN_MOST_MS = 60000,
};

static void
thin_out(struct rec_head *h, struct rec_point *points, uint32_t *owns)
{
	for (uint32_t i = 0; i < REC_POINTS_MAX / 2; i++)
		points[i] = points[2 * i];
	for (uint32_t i = 0; i < REC_POINTS_MAX / REC_OWN_EVERY / 2; i++)
		owns[i] = owns[2 * i + 1];
	__atomic_store_n(&h->points, REC_POINTS_MAX / 2, __ATOMIC_RELEASE);
	h->point_every_ms *= 2;
}

static uint64_t
between(uint64_t least, uint64_t n, uint64_t most)
{
	return n < least ? least : n < most ? n : most;
}

/* The tool's business, unless there is none. */
static void
measure(struct recorder *r, const struct thread *t)
{
	struct rec_head *h = r->head;
	uint64_t rss;

	if (r->host->rss_kib == NULL || rt_sealed || t->now_ms < r->next_rss_ms)
		return;
	if (t->clock_seen != 0 && t->clock_same < CLOCK_UNMOVED)
		return;
	r->next_rss_ms =
		t->now_ms + between(RSS_LEAST_MS, t->now_ms / RSS_SHARE, RSS_MOST_MS);
	rss = r->host->rss_kib();
	__atomic_store_n(&h->rss_kib, rss, __ATOMIC_RELAXED); /* 0: no longer known */
	if (t->now_ms < r->next_own_ms)
		return;
	r->next_own_ms = t->now_ms + between(OWN_LEAST_MS, t->now_ms, OWN_MOST_MS);
	__atomic_store_n(&h->own_kib, rt_map_resident() >> 10, __ATOMIC_RELAXED);
}

void
timeline_point(struct recorder *r, struct thread *t)
{
	struct rec_head *h = r->head;
	struct rec_point *points = (struct rec_point *)(void *)(r->base + REC_POINTS_OFF);
	uint32_t *owns = (uint32_t *)(void *)(r->base + REC_POINT_OWN_OFF);
	uint32_t none = 0, n;

	if (!__atomic_compare_exchange_n(&h->locks[LOCK_TIMELINE], &none, t->me, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) &&
	    none != t->me) /* ours: left by longjmp */
		return;
	if (t->alone)
		timeline_show_live(r, t);
	if (t->now_ms >= r->next_point_ms) {
		if (h->points >= REC_POINTS_MAX)
			thin_out(h, points, owns);
		measure(r, t);
		n = __atomic_load_n(&h->points, __ATOMIC_RELAXED) % REC_POINTS_MAX;
		if (!space_points(r, n)) {
			r->next_point_ms = UINT64_MAX; /* it ends here */
			lock_drop(&h->locks[LOCK_TIMELINE]);
			return;
		}
		points[n] = (struct rec_point){
			.ms = (uint32_t)t->now_ms,
			.rss_kib = (uint32_t)h->rss_kib,
			.live_bytes = __atomic_load_n(&h->live_bytes, __ATOMIC_RELAXED),
		};
		owns[n / REC_OWN_EVERY] = (uint32_t)rec_held_kib(h);
		__atomic_store_n(&h->points, n + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&r->next_point_ms, t->now_ms + h->point_every_ms,
				 __ATOMIC_RELAXED);
		if (t->now_ms >= r->next_moment_ms)
			moments_take(r, t);
	}
	lock_drop(&h->locks[LOCK_TIMELINE]);
}
