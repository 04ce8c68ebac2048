/* SPDX-License-Identifier: MIT */
/* gate.h -- the way from a hook into the recorder and out again.
 *
 * gate_enter gives the calling thread's state, or NULL when this call is not to be recorded:
 * switched off, re-entered from a signal handler, no room. In between the thread is `busy`:
 * what the recorder itself, or a handler on top of it, allocates passes by and is counted. */
#ifndef SEEP_GATE_H
#define SEEP_GATE_H

#include "record/hot.h"
#include "record/recorder.h"
#include "record/sample.h"
#include "rt/rt_tls.h"

/* tls.busy while libc, or the real allocator, works for us: what they allocate by calling our
 * hooks in turn passes by, uncounted. */
#define GATE_QUIET 1

/* operator new on its way to malloc. */
struct forward {
	struct unw_start at; /* where new was called */
	size_t bytes;        /* what it was asked for */
	size_t passed_on;    /* what malloc will be asked for then */
	enum rec_kind kind;
};

struct gate {
	bool look;             /* look at every free: exact mode, or not yet begun */
	bool mmap;             /* mmap and brk are recorded too */
	const uint8_t *filter; /* sampled: addresses that may be samples */
};

extern struct gate gate;

struct thread *gate_enter_slow(uintptr_t frame);

/* Mark the thread busy, from the function it is inlined into. */
static ALWAYS_INLINE void
gate_mark_busy(void)
{
	tls.busy_ra = (uintptr_t)__builtin_return_address(0);
	tls.busy = (uintptr_t)__builtin_frame_address(0);
	COMPILER_BARRIER();
}

static ALWAYS_INLINE struct thread *
gate_enter(void)
{
	if (UNLIKELY(tls.busy != 0 || tls.owner != recorder_now->id) &&
	    gate_enter_slow((uintptr_t)__builtin_frame_address(0)) == NULL)
		return NULL;
	gate_mark_busy();
	return tls.self;
}

void gate_leave_ended(void);

static ALWAYS_INLINE void
gate_leave(void)
{
	COMPILER_BARRIER();
	tls.busy = 0;
	if (UNLIKELY(tls.ended))
		gate_leave_ended();
}

/* Around a call of the real allocator that may call our hooks by name: they let it pass. */
static ALWAYS_INLINE uintptr_t
gate_quiet(void)
{
	uintptr_t was = tls.busy;

	tls.busy = GATE_QUIET;
	COMPILER_BARRIER();
	return was;
}

static ALWAYS_INLINE void
gate_unquiet(uintptr_t was)
{
	COMPILER_BARRIER();
	tls.busy = was;
}

/* Where the hook was called from, for the unwinder. In the hook's own, not inlined function. */
#define GATE_HERE()                                                                      \
	{                                                                                \
		.pc = (uintptr_t)__builtin_return_address(0),                            \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                  \
		.bp = *(const uintptr_t *)__builtin_frame_address(0),                    \
	}

/* A new block: record it if this thread's turn has come. `n` is what was asked for. */
void gate_allocated(void *p, size_t n, enum rec_kind kind, const struct unw_start *at);
/* A block is about to go. */
void gate_freeing(void *p);

/* The same, inlined for malloc and free in exact mode: the hot path of all hot paths. */
static ALWAYS_INLINE void
gate_allocated_hot(void *p, size_t n, const struct unw_start *at)
{
	struct recorder *r = recorder_now;

	if (UNLIKELY(tls.busy != 0 || tls.owner != r->id || !r->exact ||
	             r->head->paused != 0)) {
		gate_allocated(p, n, REC_KIND_MALLOC, at);
		return;
	}
	gate_mark_busy();
	hot_alloc(r, tls.self, false, (uintptr_t)p, n, REC_KIND_MALLOC, at);
	gate_leave();
}

static ALWAYS_INLINE void
gate_freeing_hot(void *p)
{
	struct recorder *r = recorder_now;

	if (UNLIKELY(tls.busy != 0 || tls.owner != r->id || !r->exact)) {
		gate_freeing(p);
		return;
	}
	gate_mark_busy();
	hot_free(r, tls.self, false, (uintptr_t)p);
	gate_leave();
}

#endif
