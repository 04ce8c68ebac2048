/* SPDX-License-Identifier: MIT */
/* gate.h -- the way from a hook into the recorder and out again.
 *
 * gate_enter gives the calling thread's state, or NULL when this call is not to be
 * recorded: switched off, re-entered from a signal handler, no room. In between the
 * thread is `busy`: what the recorder itself, or a handler on top of it, allocates passes
 * by and is counted. */
#ifndef SEEP_GATE_H
#define SEEP_GATE_H

#include "guest/misuse/wrong.h"
#include "guest/record/file/recorder.h"
#include "guest/record/hot.h"
#include "guest/record/sample.h"
#include "guest/rt/rt_tls.h"
#include "guest/unwind/arch.h"

/* tls.busy is the CFA of the hook that records. With this bit, libc or the real allocator
 * works for us meanwhile: what they allocate by calling our hooks in turn passes by,
 * uncounted. */
#define GATE_QUIET 1

/* CFA of the function it is used in: what its caller's stack pointer will be again. */
#define GATE_CFA() ((uintptr_t)__builtin_dwarf_cfa())

/* operator new on its way to malloc. */
struct forward {
	struct unw_start at; /* where new was called */
	size_t bytes;	     /* what it was asked for */
	size_t passed_on;    /* what malloc will be asked for then */
	size_t align;	     /* what it was asked for, too; 0 = nothing */
	enum rec_kind kind;
};

enum {
	SIGNAL_FRAME_LEAST = 1024,
	FORWARD_NEAR = 4096,
	FORWARD_FAR = 64 << 10,
};

/* Is it that of a frame right above `sp`, which is still there? Not looked at unless it
 * is. */
static ALWAYS_INLINE bool
forward_is_near(const struct forward *f, uintptr_t sp)
{
	if ((uintptr_t)f - sp >= FORWARD_NEAR || f->at.sp - (uintptr_t)f >= FORWARD_NEAR)
		return false;
#ifdef __x86_64__ /* where the return address is known to be */
	return *(const uintptr_t *)(f->at.sp - 8) == f->at.pc;
#else
	return true;
#endif
}

struct gate {
	/* Frees to look at: where samples may be, or all in exact mode, before it has
	 * begun, and when the boot arena was used. */
	const struct sample_filter *filter;
	bool mmap; /* mmap and brk are recorded too */
	/* A peer's profiler (peer.h) is told of allocations, of frees; sampled: of every
	 * call. */
	bool peer_looks, peer_frees, every;
};

extern SEEP_OWN struct gate gate;

/* Is this free of no interest to anybody? */
static ALWAYS_INLINE bool
gate_free_passes(const void *p)
{
	return sample_is_none(__atomic_load_n(&gate.filter, __ATOMIC_RELAXED),
			      (uintptr_t)p);
}

/* Bytes that may pass before somebody looks, read once and written once: a handler that
 * allocates in between must not make it wrap. */
static ALWAYS_INLINE uint64_t
gate_left(void)
{
	return __atomic_load_n(&tls.left, __ATOMIC_RELAXED);
}

static ALWAYS_INLINE void
gate_pass(uint64_t left)
{
	__atomic_store_n(&tls.left, left, __ATOMIC_RELAXED);
}

bool gate_enter_slow(uintptr_t cfa);

/* An allocation that gate_enter has let pass. True if the recording ended early: it is
 * counted. */
bool gate_missed(void);

/* The return address of a hook whose CFA that is; 0 where a call does not push it. */
static ALWAYS_INLINE uintptr_t
gate_ra(uintptr_t cfa)
{
	return ARCH_RA_FIXED ? *(const uintptr_t *)(cfa - sizeof(uintptr_t)) : 0;
}

/* `cfa` is the exported hook's. The return address is written again once we are busy: a
 * handler that came before that has written its own. */
static ALWAYS_INLINE void
gate_mark_busy(uintptr_t cfa)
{
	uintptr_t ra = gate_ra(cfa);

	tls.busy_ra = ra;
	COMPILER_BARRIER();
	tls.busy = cfa;
	COMPILER_BARRIER();
	tls.busy_ra = ra;
	COMPILER_BARRIER();
}

/* Busy first, questions after: a signal handler that forks in between must find us so. */
static ALWAYS_INLINE struct thread *
gate_enter(uintptr_t cfa)
{
	do {
		if (LIKELY(tls.busy == 0)) {
			gate_mark_busy(cfa);
			if (LIKELY(tls.owner == recorder_now->id))
				return tls.self;
			tls.busy = 0;
		}
	} while (gate_enter_slow(cfa));
	return NULL;
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

/* Around a call of the real allocator that may call our hooks by name: they let it
 * pass. */
static ALWAYS_INLINE uintptr_t
gate_quiet(uintptr_t cfa)
{
	uintptr_t was = tls.busy;

	if (was == 0)
		gate_mark_busy(cfa);
	tls.busy = (was == 0 ? cfa : was) | GATE_QUIET;
	COMPILER_BARRIER();
	return was;
}

static ALWAYS_INLINE void
gate_unquiet(uintptr_t was)
{
	COMPILER_BARRIER();
	tls.busy = was;
}

/* Where the hook was called from, for the unwinder. In the hook's own, not inlined
 * function. */
#define GATE_HERE()                                                                      \
	{                                                                                \
		.pc = (uintptr_t)__builtin_return_address(0),                            \
		.sp = (uintptr_t)__builtin_dwarf_cfa(),                                  \
		.bp = *(const uintptr_t *)__builtin_frame_address(0),                    \
	}

/* The same from the CFA and the frame pointer of a hook, when it is needed after all. */
static ALWAYS_INLINE struct unw_start
gate_start(uintptr_t cfa, const uintptr_t *frame)
{
	return (struct unw_start){.pc = frame[1], .sp = cfa, .bp = frame[0]};
}

#define GATE_FRAME() ((const uintptr_t *)__builtin_frame_address(0))

/* Is a request of `n` bytes to be recorded? Exact: always. Sampled: if the countdown hits
 * it; counts down otherwise. *ret_passed: bytes that the thread has allocated since it
 * was so last. */
bool gate_its_turn(struct thread *t, struct recorder *r, size_t n, uint64_t *ret_passed);

/* Is nothing new recorded, at all or of this thread? */
static ALWAYS_INLINE bool
gate_is_silent(const struct recorder *r, const struct thread *t)
{
	return __atomic_load_n(&r->head->paused, __ATOMIC_RELAXED) == 1 || t->silent;
}

/* What a peer is told as a block's usable size: 0 if it does not want to know. */
size_t gate_usable(void *p);

/* After gate_leave, while gate.peer_looks: a peer hears of a new block. */
void gate_tell(void *p, size_t n, uint64_t passed, bool recorded);

/* What a peer will hear of a resized block. */
struct gate_resize {
	uint64_t passed;
	bool recorded;
};

/* What record_resize_begin was called for is now at `q`. Sampled: it is a block freed and
 * another allocated, with a fresh draw: a sample that was kept would be one too many, for
 * the new size has its own chance. */
static inline void
gate_resized(struct thread *t, void *q, size_t n, enum rec_kind kind,
	     const struct unw_start *at, struct gate_resize *told)
{
	struct recorder *r = recorder_now;

	told->recorded = gate_its_turn(t, r, n, &told->passed);
	if (UNLIKELY(gate_is_silent(r, t))) {
		record_resize_freed(r, t);
		__atomic_fetch_add(&r->head->paused_allocs, 1, __ATOMIC_RELAXED);
		told->recorded = false;
	} else if (r->head->mode == REC_MODE_EXACT) {
		record_resize_end(r, t, (uintptr_t)q, n, kind, at);
	} else {
		record_resize_freed(r, t);
		if (told->recorded)
			record_alloc(r, t, (uintptr_t)q, n, kind, at);
	}
}

/* A new block: record it if this thread's turn has come. `n` is what was asked for. */
void gate_allocated(void *p, size_t n, enum rec_kind kind, const struct unw_start *at);
/* A block is about to go, given back by `form` in the hook whose frame that is. False: it
 * is none, and is to be left alone. gate_forgetting: one that did not come from the
 * allocator underneath. */
bool gate_freeing(void *p, uintptr_t cfa, const uintptr_t *frame,
		  const struct wrong_form *form, uintptr_t second, uintptr_t third);
void gate_forgetting(void *p, uintptr_t cfa);

/* free() of what the table does not know, busy; leaves the gate. And of what came from
 * operator new, with its entry; the page may be locked. */
bool gate_free_unknown(void *p, uintptr_t cfa, const uintptr_t *frame);
void gate_free_new(void *p, uintptr_t cfa, const uintptr_t *frame, uint64_t a,
		   uint64_t b);

/* The same, inlined for malloc and free in exact mode: the hot path of all hot paths. */
static ALWAYS_INLINE void
gate_allocated_hot(void *p, size_t n, const struct unw_start *at)
{
	if (LIKELY(tls.busy == 0)) {
		struct recorder *r = recorder_now;

		gate_mark_busy(at->sp);
		if (LIKELY(tls.owner == r->id && r->hot && r->head->paused == 0)) {
			hot_alloc(r, tls.self, false, (uintptr_t)p, n, REC_KIND_MALLOC,
				  at);
			gate_leave();
			return;
		}
		tls.busy = 0;
	}
	gate_allocated(p, n, REC_KIND_MALLOC, at);
}

static ALWAYS_INLINE bool
gate_freeing_hot(void *p, uintptr_t cfa, const uintptr_t *frame)
{
	if (LIKELY(tls.busy == 0)) {
		struct recorder *r = recorder_now;

		gate_mark_busy(cfa);
		if (LIKELY(tls.owner == r->id && r->hot)) {
			struct hot_gone gone;

			if (UNLIKELY(!hot_free_find(r, tls.self, (uintptr_t)p, &gone)))
				return gate_free_unknown(p, cfa, frame);
			if (UNLIKELY((gone.a & WRONG_NEWS) != 0))
				gate_free_new(p, cfa, frame, gone.a, gone.b);
			hot_free_end(r, tls.self, false, (uintptr_t)p, &gone);
			live_freed_by(&gone.slot, (uintptr_t)p, tls.busy_ra);
			gate_leave();
			return true;
		}
		tls.busy = 0;
	}
	return gate_freeing(p, cfa, frame, &wrong_free, 0, 0);
}

#endif
