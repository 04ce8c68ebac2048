/* SPDX-License-Identifier: MIT */
/* gate.c -- the way from a hook into the recorder. See gate.h.
 *
 * The slow way in: recording has not begun (life.c), this is a forked child (its recorder
 * page was wiped: begin anew), the thread is new (attach), or the thread is busy. Busy
 * means one of three things, told apart by where the new call stands:
 * - a signal handler runs on top of the recorder: then the kernel's signal frame is
 *   between, at
 *   least a kilobyte. Let the call pass, count it;
 * - the real allocator, called by us, calls another of its functions by name: right
 *   below. Let it
 *   pass; what the program asked for is recorded when the outer call returns;
 * - a handler left the recorder by longjmp, and it will never come back: the call is not
 *   below
 *   it, or its frame was written over since. What it had begun is undone (threads.h), and
 *   we go on. */
#include "guest/hooks/gate.h"

#include "guest/dropin/peer.h"
#include "guest/hooks/boot.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/life/spare.h"
#include "guest/misuse/wrong_freed.h"
#include "guest/record/events.h"
#include "guest/record/threads.h"

#include <errno.h>
#include <signal.h>

enum { SAME_STACK = 1 << 20 };

static struct recorder nobody = {.id = UINT64_MAX};
struct recorder *recorder_now = &nobody;

struct gate gate = {.filter = &sample_all};

enum busy_with { BUSY_HANDLER, BUSY_NESTED, BUSY_ABANDONED };

static enum busy_with
busy_with(uintptr_t cfa)
{
	uintptr_t at = tls.busy & ~(uintptr_t)GATE_QUIET;
	bool quiet = (tls.busy & GATE_QUIET) != 0;
	stack_t ss = {0};

	if (at == 0)
		return BUSY_NESTED; /* libc works for us */
	if (cfa < at && at - cfa >= SIGNAL_FRAME_LEAST &&
	    (at - cfa > SAME_STACK || gate_ra(at) == tls.busy_ra))
		return BUSY_HANDLER;
	if (quiet && cfa < at && gate_ra(at) == tls.busy_ra)
		return BUSY_NESTED;
	/* On the alternate stack all of this means nothing. */
	if (!rt_sealed && SYS2(SYS_sigaltstack, 0, &ss) == 0 &&
	    (ss.ss_flags & SS_ONSTACK) != 0)
		return BUSY_HANDLER;
	return BUSY_ABANDONED;
}

static bool
attach(struct recorder *r)
{
	struct thread *t = threads_attach(r, tls.ended != 0);

	if (t == NULL)
		return false;
	t->left = t->drawn = 0;
	t->silent = false;
	if (r->head->mode == REC_MODE_SAMPLE && !gate.every)
		tls.left = t->drawn = sample_next(&t->random, r->head->rate_bytes);
	tls.self = t;
	tls.owner = r->id;
	life_thread_began();
	if (UNLIKELY(peer != NULL) && peer->thread != NULL)
		peer->thread(t);
	return true;
}

/* A runtime was registered since (guest/lang): the thread is attached, but what it
 * remembers was found without it. */
static bool
renewed(struct recorder *r)
{
	uint64_t id = __atomic_load_n(&r->id, __ATOMIC_ACQUIRE);

	if (tls.self == NULL || tls.owner == id || (uint32_t)tls.owner != (uint32_t)id)
		return false;
	threads_forget(tls.self);
	tls.owner = id;
	return true;
}

/* true: try again, the thread is not busy and attached. */
COLD bool
gate_enter_slow(uintptr_t cfa)
{
	bool abandoned = false, ready;
	int saved;

	if (tls.busy != 0) {
		enum busy_with what = busy_with(cfa);

		if (what == BUSY_HANDLER && recorder_now->base != NULL)
			rec_lost(recorder_now, REC_LOST_REENTRY);
		if (what != BUSY_ABANDONED)
			return false;
		abandoned = true;
	}
	gate_mark_busy(cfa);
	tls.busy = cfa | GATE_QUIET;
	COMPILER_BARRIER();
	if (abandoned && tls.owner == recorder_now->id && tls.self != NULL)
		threads_jumped(recorder_now, tls.self);
	saved = errno; /* keys of pthreads are libc's work */
	ready = life_begun() && (tls.owner == recorder_now->id || renewed(recorder_now) ||
				 attach(recorder_now));
	errno = saved;
	tls.busy = 0;
	return ready;
}

/* The thread's destructors have run: give its state back after each late event. */
COLD void
gate_leave_ended(void)
{
	struct thread *t = tls.self;
	uintptr_t was = gate_quiet(GATE_CFA());

	tls.self = NULL;
	tls.owner = TLS_NOBODY;
	if (t != NULL && recorder_now->base != NULL)
		threads_detach(recorder_now, t);
	gate_unquiet(was);
}

bool
gate_missed(void)
{
	struct rec_head *h = recorder_now->ended;

	if (h == NULL)
		return false;
	if (tls.busy == 0)
		__atomic_fetch_add(&h->lost[REC_LOST_SPACE], 1, __ATOMIC_RELAXED);
	return true;
}

/* Will a block that passes by unrecorded never be recorded either? Not so where the real
 * allocator calls another of its functions by name: the outer call is. */
static bool
gate_is_stray(uintptr_t cfa)
{
	uintptr_t at = tls.busy & ~(uintptr_t)GATE_QUIET;

	return (tls.busy & GATE_QUIET) == 0 || at == 0 || busy_with(cfa) == BUSY_HANDLER;
}

bool
gate_its_turn(struct thread *t, struct recorder *r, size_t n, uint64_t *ret_passed)
{
	uint64_t *left = gate.every ? &t->left : &tls.left;

	*ret_passed = n;
	if (r->head->mode == REC_MODE_EXACT) {
		tls.left = 0;
		return true;
	}
	if (UNLIKELY(gate.every))
		tls.left = 0;
	if (UNLIKELY(*left == 0)) /* none was drawn yet */
		*left = t->drawn = sample_next(&t->random, r->head->rate_bytes);
	if (*left > n) {
		*left -= n;
		*ret_passed = 0;
		return false;
	}
	*ret_passed = t->drawn > *left ? t->drawn - *left + n : n;
	*left = t->drawn = sample_next(&t->random, r->head->rate_bytes);
	return true;
}

/* Quiet, because tcmalloc's allocates at its first call. */
NOINLINE size_t
gate_usable(void *p)
{
	uintptr_t was;
	size_t n;

	if (!peer->wants_usable)
		return 0;
	was = gate_quiet(GATE_CFA());
	n = next.malloc_usable_size(p);
	gate_unquiet(was);
	return n;
}

COLD void
gate_tell(void *p, size_t n, uint64_t passed, bool recorded)
{
	int saved = errno;

	if (peer != NULL)
		peer->allocated(gate_usable(p), n, passed, recorded);
	if (recorded)
		spare_allocated(p, n);
	errno = saved;
}

void
gate_allocated(void *p, size_t n, enum rec_kind kind, const struct unw_start *at)
{
	struct thread *t = gate_enter(at->sp);
	struct recorder *r = recorder_now;
	uint64_t passed;
	bool recorded;

	if (UNLIKELY(t == NULL)) {
		if (!gate_missed() && gate_is_stray(at->sp))
			wrong_stray(p);
		return;
	}
	recorded = gate_its_turn(t, r, n, &passed);
	if (UNLIKELY(gate_is_silent(r, t))) {
		__atomic_fetch_add(&r->head->paused_allocs, 1, __ATOMIC_RELAXED);
		recorded = false;
	}
	if (recorded)
		record_alloc(r, t, (uintptr_t)p, n, kind, at);
	gate_leave();
	if (UNLIKELY(gate.peer_looks) && kind < REC_KIND_MMAP)
		gate_tell(p, n, passed, recorded);
}

void
gate_forgetting(void *p, uintptr_t cfa)
{
	struct thread *t = gate_enter(cfa);

	if (UNLIKELY(t == NULL))
		return;
	record_free(recorder_now, t, (uintptr_t)p);
	gate_leave();
}

COLD bool
gate_free_unknown(void *p, uintptr_t cfa, const uintptr_t *frame)
{
	const struct wrong_call call = {.form = &wrong_free};
	const struct unw_start at = gate_start(cfa, frame);
	bool right = wrong_unknown(tls.self, (uintptr_t)p, &call, &at);

	gate_leave();
	return right;
}

COLD void
gate_free_new(void *p, uintptr_t cfa, const uintptr_t *frame, uint64_t a, uint64_t b)
{
	const struct wrong_call call = {.form = &wrong_free};
	const struct unw_start at = gate_start(cfa, frame);

	wrong_known(tls.self, (uintptr_t)p, (struct rec_block){a, b}, &call, &at);
}

bool
gate_freeing(void *p, uintptr_t cfa, const uintptr_t *frame,
	     const struct wrong_form *form, uintptr_t second, uintptr_t third)
{
	struct thread *t = gate_enter(cfa);
	struct hot_gone gone;
	bool right = true;

	if (LIKELY(t != NULL)) {
		bool known = record_free_block(recorder_now, t, (uintptr_t)p, &gone);

		if (UNLIKELY(!known || wrong_at_all(gone.a, form, second))) {
			const struct wrong_call call = {form, {second, third}};
			const struct unw_start at = gate_start(cfa, frame);

			if (known)
				wrong_known(t, (uintptr_t)p,
					    (struct rec_block){gone.a, gone.b}, &call,
					    &at);
			else
				right = wrong_unknown(t, (uintptr_t)p, &call, &at);
		}
		if (known)
			live_freed_by(&gone.slot, (uintptr_t)p, frame[1]);
		if (UNLIKELY(wrong_freed_wanted(p))) {
			const struct unw_start at = gate_start(cfa, frame);

			t->freeing.addr = 0;
			if (known)
				wrong_freed_note(t, (uintptr_t)p,
						 (struct rec_block){gone.a, gone.b},
						 form->func, &at);
		}
		gate_leave();
	}
	if (UNLIKELY(gate.peer_frees))
		peer->freed(gate_usable(p));
	return right;
}
