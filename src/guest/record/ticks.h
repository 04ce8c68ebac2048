/* SPDX-License-Identifier: MIT */
/* ticks.h -- what time it is, without asking: a word that the tool advances.
 *
 * A thread that has seen the word unmoved for 4,096 events (no tool, or a stopped one)
 * reads the coarse clock itself, at every 64th event. A sample is rare, and the next one
 * may be far away: without a tool each one reads the clock. */
#ifndef SEEP_TICKS_H
#define SEEP_TICKS_H

#include "guest/record/file/recorder.h"
#include "guest/record/timeline.h"

enum { CLOCK_UNMOVED = 4096, CLOCK_EVERY = 64 };

static COLD void
clock_read(struct recorder *r, struct thread *t)
{
	uint64_t ns = r->host->clock_ns();
	uint64_t start = r->head->start_mono_ns;
	uint64_t ms = ns > start ? (ns - start) / 1000000 : 0;

	if (ms > t->now_ms)
		t->now_ms = ms;
	if (t->now_ms >= __atomic_load_n(&r->next_point_ms, __ATOMIC_RELAXED))
		timeline_point(r, t);
}

static COLD void
clock_moved(struct recorder *r, struct thread *t, uint64_t seen)
{
	t->clock_seen = seen;
	t->clock_same = seen == 0 ? CLOCK_UNMOVED : 0;
	if (seen == 0) /* whoever advanced it has left */
		clock_read(r, t);
	if (t->alone) /* for whoever looks on */
		timeline_show_live(r, t);
	/* A wild value from outside must not wreck ages: never back, at most a day at
	 * once. */
	if (seen > t->now_ms && seen - t->now_ms < 86400000)
		t->now_ms = seen;
	if (t->now_ms >= __atomic_load_n(&r->next_point_ms, __ATOMIC_RELAXED))
		timeline_point(r, t);
}

/* Milliseconds since recording began. */
static ALWAYS_INLINE uint64_t
clock_now(struct recorder *r, struct thread *t)
{
	uint64_t seen = __atomic_load_n(&r->head->clock_ms, __ATOMIC_RELAXED);

	if (UNLIKELY(seen != t->clock_seen))
		clock_moved(r, t, seen);
	else if (UNLIKELY(++t->clock_same > CLOCK_UNMOVED &&
			  t->clock_same % CLOCK_EVERY == 0))
		clock_read(r, t);
	return t->now_ms;
}

/* The same at a sample, be it allocated or freed. */
static ALWAYS_INLINE void
clock_sampled(struct recorder *r, struct thread *t)
{
	if (UNLIKELY(__atomic_load_n(&r->head->clock_ms, __ATOMIC_RELAXED) == 0 &&
		     t->clock_seen == 0))
		clock_read(r, t);
	else
		clock_now(r, t);
}

/* The same where being late by a few events does no harm: nothing is counted. */
static ALWAYS_INLINE void
clock_glance(struct recorder *r, struct thread *t)
{
	uint64_t seen = __atomic_load_n(&r->head->clock_ms, __ATOMIC_RELAXED);

	if (UNLIKELY(seen != t->clock_seen))
		clock_moved(r, t, seen);
}

#endif
