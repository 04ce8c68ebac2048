/* SPDX-License-Identifier: MIT */
/* gate.c -- the way from a hook into the recorder. See gate.h.
 *
 * The slow way in: recording has not begun (life.c), this is a forked child (its recorder page
 * was wiped: begin anew), the thread is new (attach), or the thread is busy. Busy means one of
 * two things. A signal handler runs on top of the recorder: let the call pass, count it. Or a
 * handler left the recorder by longjmp and will never come back: then either we are not below
 * the recorder's frame, where a handler would be, or that frame has been written over since; and
 * we are not on the alternate stack. Take the thread's state anew. */
#include "preload/gate.h"

#include "preload/boot.h"
#include "preload/life.h"
#include "record/events.h"
#include "record/threads.h"

#include <signal.h>

enum {
	SIGNAL_FRAME_LEAST = 1024,
	SAME_STACK = 1 << 20,
};

static struct recorder nobody = { .id = UINT64_MAX };
struct recorder *recorder_now = &nobody;

struct gate gate = { .look = true };

/* Is the recorder's frame of this thread gone, thrown away by longjmp? */
static bool
abandoned(uintptr_t frame)
{
	stack_t ss = { 0 };

	/* A handler on the same stack has the kernel's signal frame between it and us. */
	if (frame + SIGNAL_FRAME_LEAST <= tls.busy &&
	    (tls.busy - frame > SAME_STACK || *(const uintptr_t *)(tls.busy + 8) == tls.busy_ra))
		return false;
	return SYS2(SYS_sigaltstack, 0, &ss) == 0 && (ss.ss_flags & SS_ONSTACK) == 0;
}

static bool
attach(struct recorder *r)
{
	struct thread *t = threads_attach(r, tls.ended != 0);

	if (t == NULL)
		return false;
	if (r->head->mode == REC_MODE_SAMPLE)
		tls.left = sample_next(&t->random, r->head->rate_bytes);
	tls.self = t;
	tls.owner = r->id;
	life_thread_began();
	return true;
}

/* Not NULL: go on, the thread is attached. */
COLD struct thread *
gate_enter_slow(uintptr_t frame)
{
	if (tls.busy == GATE_QUIET)
		return NULL;
	if (tls.busy != 0) {
		if (!abandoned(frame)) {
			if (recorder_now->base != NULL)
				rec_lost(recorder_now, REC_LOST_REENTRY);
			return NULL;
		}
		if (tls.owner == recorder_now->id && tls.self != NULL)
			tls.self->row->journal_count = 0; /* what it had begun stays as it is */
	}
	tls.busy = GATE_QUIET;
	if (!life_begun() || (tls.owner != recorder_now->id && !attach(recorder_now))) {
		tls.busy = 0;
		return NULL;
	}
	tls.busy = 0;
	return tls.self;
}

/* The thread's destructors have run: give its state back after each late event. */
COLD void
gate_leave_ended(void)
{
	struct thread *t = tls.self;

	tls.busy = GATE_QUIET;
	tls.self = NULL;
	tls.owner = 0;
	if (t != NULL && recorder_now->base != NULL)
		threads_detach(recorder_now, t);
	tls.busy = 0;
}

/* Sampled: is this the block that the countdown hits? Counts down otherwise. */
static bool
its_turn(struct thread *t, struct recorder *r, size_t n)
{
	if (tls.left > n) {
		tls.left -= n;
		return false;
	}
	tls.left = sample_next(&t->random, r->head->rate_bytes);
	return true;
}

void
gate_allocated(void *p, size_t n, enum rec_kind kind, const struct unw_start *at)
{
	struct thread *t = gate_enter();
	struct recorder *r = recorder_now;

	if (UNLIKELY(t == NULL))
		return;
	if (UNLIKELY(__atomic_load_n(&r->head->paused, __ATOMIC_RELAXED) == 1))
		__atomic_fetch_add(&r->head->paused_allocs, 1, __ATOMIC_RELAXED);
	else if (r->head->mode == REC_MODE_EXACT || its_turn(t, r, n))
		record_alloc(r, t, (uintptr_t)p, n, kind, at);
	gate_leave();
}

void
gate_freeing(void *p)
{
	struct thread *t = gate_enter();

	if (UNLIKELY(t == NULL))
		return;
	record_free(recorder_now, t, (uintptr_t)p);
	gate_leave();
}
