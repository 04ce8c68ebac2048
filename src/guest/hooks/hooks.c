/* SPDX-License-Identifier: MIT */
/* hooks.c -- malloc and its family, in front of whatever allocator is there.
 *
 * Each hook is two functions. The exported one only asks whether anybody looks:
 * `tls.left` is larger than the request when nothing is recorded or the next sample is
 * further away; then it jumps on. In exact mode `left` is 0 and everything goes to the
 * *_event function, which keeps a frame, so that the unwinder can start at the program's
 * call.
 *
 * Frees are recorded before, allocations after the real call. errno is not touched: what
 * we do is undone (gate.c, next.c), what the real functions do to it is theirs. A call
 * that was refused at first and succeeds after we gave memory back leaves it as it was
 * before the first. */
#include "guest/dropin/peer.h"
#include "guest/hooks/boot.h"
#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/misuse/under.h"
#include "guest/misuse/wrong_freed.h"
#include "guest/record/events.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* A call that operator new forwards is recorded as the program's call of new. */
static ALWAYS_INLINE void
allocated(void *p, size_t n, enum rec_kind kind, const struct unw_start *at)
{
	const struct forward *f = tls.forward;

	/* What the allocator asks itself for on the way is not what new is waiting
	 * for. */
	if (UNLIKELY(f != NULL) && !under_inside()) {
		/* For what it must be asking only. What is not above us was left behind
		 * by an exception. What is farther above than new and malloc are apart
		 * may wait below a handler, which asks for something of its own; nearer
		 * than that, new has asked for something else, with a header perhaps. */
		if (forward_is_near(f, at->sp) && (n == f->passed_on || n == f->bytes)) {
			tls.forward = NULL;
			at = &f->at;
			kind = f->kind;
			n = f->bytes;
		} else if ((uintptr_t)f - at->sp < SIGNAL_FRAME_LEAST ||
			   (uintptr_t)f - at->sp >= FORWARD_FAR) {
			tls.forward = NULL;
		}
	}
	if (LIKELY(p != NULL))
		gate_allocated(p, n, kind, at);
}

/* Under a limit on the address space a call may be made twice, and errno is to be as it
 * was before the first. By itself, because asking for errno costs as much as a good part
 * of the hook. A limit that came later makes one call of the program succeed with an
 * errno that is not what it was. */
static COLD NOINLINE void *
malloc_limited(size_t n)
{
	int before = errno;
	void *p = next.malloc(n);

	if (p == NULL && life_give_back(n)) {
		p = next.malloc(n);
		if (p != NULL)
			errno = before;
	}
	return p;
}

static NOINLINE void *
malloc_event(size_t n)
{
	const struct unw_start at = GATE_HERE();
	void *p;

	if (UNLIKELY(next.malloc == NULL) && !next_find())
		return boot_alloc(n, 16);
	if (UNLIKELY(recorder_now->space_limited)) {
		p = malloc_limited(n);
	} else {
		p = next.malloc(n);
		if (UNLIKELY(p == NULL) && life_give_back(n))
			p = next.malloc(n);
	}
	if (UNLIKELY(tls.forward != NULL))
		allocated(p, n, REC_KIND_MALLOC, &at);
	else if (LIKELY(p != NULL))
		gate_allocated_hot(p, n, &at);
	else if (n != 0)
		wrong_size(REC_FUNC_MALLOC, NULL, n, &at);
	return p;
}

SEEP_EXPORT void *
malloc(size_t n)
{
	uint64_t left = gate_left();

	if (LIKELY(left > n)) {
		gate_pass(left - n);
		return next.malloc(n);
	}
	return malloc_event(n);
}

static ALWAYS_INLINE void *
calloc_quiet(size_t count, size_t each, uintptr_t sp)
{
	uintptr_t was = gate_quiet(sp);
	void *p = next.calloc(count, each);

	gate_unquiet(was);
	return p;
}

static COLD NOINLINE void *
calloc_limited(size_t count, size_t each, size_t n, uintptr_t sp)
{
	int before = errno;
	void *p = calloc_quiet(count, each, sp);

	if (p == NULL && life_give_back(n)) {
		p = next.calloc(count, each);
		if (p != NULL)
			errno = before;
	}
	return p;
}

static NOINLINE void *
calloc_event(size_t count, size_t each)
{
	const struct unw_start at = GATE_HERE();
	size_t n;
	void *p;

	if (__builtin_mul_overflow(count, each, &n))
		n = SIZE_MAX; /* the real one refuses it, with its own errno */
	if (UNLIKELY(!next_find()))
		return n == SIZE_MAX ? NULL : boot_alloc(n, 16);
	if (UNLIKELY(recorder_now->space_limited)) {
		p = calloc_limited(count, each, n, at.sp);
	} else {
		p = calloc_quiet(count, each, at.sp);
		if (UNLIKELY(p == NULL) && life_give_back(n))
			p = next.calloc(count, each);
	}
	allocated(p, n, REC_KIND_MALLOC, &at);
	if (UNLIKELY(p == NULL) && n != 0)
		wrong_size(REC_FUNC_CALLOC, NULL, (ssize_t)count < 0 ? count : each, &at);
	return p;
}

SEEP_EXPORT void *
calloc(size_t count, size_t each)
{
	uint64_t left = gate_left();
	size_t n;

	if (LIKELY(!__builtin_mul_overflow(count, each, &n) && left > n)) {
		gate_pass(left - n);
		return next.calloc(count, each);
	}
	return calloc_event(count, each);
}

static NOINLINE void
free_event(void *p)
{
	if (UNLIKELY(p == NULL || boot_owns(p)))
		return;
	if (UNLIKELY(tls.forward_free == (uintptr_t)p))
		tls.forward_free = 0; /* operator delete has recorded it */
	else if (!gate_freeing_hot(p, GATE_CFA(), GATE_FRAME()))
		return;
	if (LIKELY(next.free != NULL || next_find()))
		next.free(p);
}

SEEP_EXPORT void
free(void *p)
{
	if (LIKELY(gate_free_passes(p))) {
		next.free(p);
		return;
	}
	free_event(p);
}

SEEP_EXPORT void free_sized(void *p, size_t n);
SEEP_EXPORT void free_aligned_sized(void *p, size_t align, size_t n);

static void
free_told(void *p, uintptr_t cfa, const uintptr_t *frame, size_t n, size_t align)
{
	static const struct wrong_form form = {REC_FUNC_FREE_SIZED, WRONG_MALLOCS, 1, 2};

	if (p == NULL || boot_owns(p))
		return;
	if ((gate_free_passes(p) || gate_freeing(p, cfa, frame, &form, n, align)) &&
	    next_find())
		next.free(p);
}

SEEP_EXPORT void
free_sized(void *p, size_t n)
{
	free_told(p, GATE_CFA(), GATE_FRAME(), n, 0);
}

SEEP_EXPORT void
free_aligned_sized(void *p, size_t align, size_t n)
{
	free_told(p, GATE_CFA(), GATE_FRAME(), n, align);
}

/* Something from the boot arena grows: move it to the real heap. */
static COLD void *
leave_boot(void *p, size_t n)
{
	size_t old = boot_size(p);
	void *q = malloc(n);

	if (q != NULL)
		memcpy(q, p, old < n ? old : n);
	return q;
}

static void *
realloc_recorded(struct thread *t, void *p, size_t n, const struct unw_start *at,
		 struct gate_resize *told)
{
	const struct wrong_call call = {.form = &wrong_realloc};
	uintptr_t was;
	void *q;

	if (UNLIKELY(!record_resize_begin(recorder_now, t, (uintptr_t)p))) {
		if (!wrong_unknown(t, (uintptr_t)p, &call, at)) {
			errno = ENOMEM;
			return NULL;
		}
	} else if (UNLIKELY((t->pending_block->a & WRONG_NEWS) != 0)) {
		wrong_known(t, (uintptr_t)p,
			    (struct rec_block){t->pending_block->a, t->pending_b}, &call,
			    at);
	}
	if (UNLIKELY(wrong_freed_wanted(p)) && t->pending_block != NULL)
		wrong_freed_note(t, (uintptr_t)p,
				 (struct rec_block){t->pending_block->a, t->pending_b},
				 REC_FUNC_REALLOC, at);
	was = gate_quiet(at->sp);
	q = next.realloc(p, n);
	gate_unquiet(was);
	if (q != NULL)
		gate_resized(t, q, n, REC_KIND_MALLOC, at, told);
	else if (n != 0)
		record_resize_fail(recorder_now, t);
	else
		record_resize_freed(recorder_now, t);
	return q;
}

static ALWAYS_INLINE void *
realloc_at(void *p, size_t n, const struct unw_start *at)
{
	struct gate_resize told = {0};
	struct thread *t;
	uintptr_t was;
	size_t old;
	void *q;

	if (UNLIKELY(!next_find()))
		return p == NULL ? boot_alloc(n, 16) : leave_boot(p, n);
	if (p == NULL) {
		was = gate_quiet(at->sp);
		q = next.realloc(NULL, n);
		gate_unquiet(was);
		allocated(q, n, REC_KIND_MALLOC, at);
		return q;
	}
	if (UNLIKELY(boot_owns(p)))
		return leave_boot(p, n);
	if (UNLIKELY(n == 0))
		wrong_size(REC_FUNC_REALLOC, p, 0, at);
	t = gate_enter(at->sp);
	if (UNLIKELY(t == NULL)) {
		q = next.realloc(p, n);
		if (q != NULL && !gate_missed())
			wrong_stray(q);
		return q;
	}
	old = UNLIKELY(gate.peer_frees) ? gate_usable(p) : 0;
	q = realloc_recorded(t, p, n, at, &told);
	gate_leave();
	if (UNLIKELY(gate.peer_frees) && (q != NULL || n == 0))
		peer->freed(old);
	if (UNLIKELY(gate.peer_looks) && q != NULL)
		gate_tell(q, n, told.passed, told.recorded);
	if (UNLIKELY(q == NULL) && n != 0)
		wrong_size(REC_FUNC_REALLOC, p, n, at);
	return q;
}

static NOINLINE void *
realloc_event(void *p, size_t n)
{
	const struct unw_start at = GATE_HERE();

	return realloc_at(p, n, &at);
}

SEEP_EXPORT void *
realloc(void *p, size_t n)
{
	uint64_t left = gate_left();

	if (LIKELY(left > n && gate_free_passes(p))) {
		gate_pass(left - n);
		return next.realloc(p, n);
	}
	return realloc_event(p, n);
}

SEEP_EXPORT NOINLINE void *
reallocarray(void *p, size_t count, size_t each)
{
	const struct unw_start at = GATE_HERE();
	size_t n;

	if (__builtin_mul_overflow(count, each, &n)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc_at(p, n, &at);
}

SEEP_EXPORT NOINLINE int
posix_memalign(void **out, size_t align, size_t n)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t was;
	int r;

	if (UNLIKELY(!next_find())) {
		void *p = boot_alloc(n, align);

		if (p == NULL)
			return ENOMEM;
		*out = p;
		return 0;
	}
	was = gate_quiet(at.sp);
	r = next.posix_memalign(out, align, n);
	gate_unquiet(was);
	if (r == 0)
		allocated(*out, n, REC_KIND_ALIGNED, &at);
	else if (n != 0)
		wrong_size(REC_FUNC_POSIX_MEMALIGN, NULL, n, &at);
	return r;
}

static void
aligned_allocated(void *p, size_t n, enum rec_func func, const struct unw_start *at)
{
	allocated(p, n, REC_KIND_ALIGNED, at);
	if (UNLIKELY(p == NULL) && n != 0)
		wrong_size(func, NULL, n, at);
}

SEEP_EXPORT NOINLINE void *
aligned_alloc(size_t align, size_t n)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t was;
	void *p;

	if (UNLIKELY(!next_find()))
		return boot_alloc(n, align);
	was = gate_quiet(at.sp);
	p = next.aligned_alloc(align, n);
	gate_unquiet(was);
	aligned_allocated(p, n, REC_FUNC_ALIGNED_ALLOC, &at);
	return p;
}

SEEP_EXPORT NOINLINE void *
memalign(size_t align, size_t n)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t was;
	void *p;

	if (UNLIKELY(!next_find()))
		return boot_alloc(n, align);
	was = gate_quiet(at.sp);
	p = next.memalign(align, n);
	gate_unquiet(was);
	aligned_allocated(p, n, REC_FUNC_MEMALIGN, &at);
	return p;
}

SEEP_EXPORT NOINLINE void *
valloc(size_t n)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t was;
	void *p;

	if (UNLIKELY(!next_find()))
		return boot_alloc(n, 4096);
	was = gate_quiet(at.sp);
	p = next.valloc != NULL ? next.valloc(n) : next.memalign(4096, n);
	gate_unquiet(was);
	aligned_allocated(p, n, REC_FUNC_VALLOC, &at);
	return p;
}

SEEP_EXPORT NOINLINE void *
pvalloc(size_t n)
{
	const struct unw_start at = GATE_HERE();
	uintptr_t was;
	void *p;

	if (UNLIKELY(!next_find()))
		return boot_alloc(ALIGN_UP(n, (size_t)4096), 4096);
	was = gate_quiet(at.sp);
	p = next.pvalloc != NULL ? next.pvalloc(n)
				 : next.memalign(4096, ALIGN_UP(n, (size_t)4096));
	gate_unquiet(was);
	aligned_allocated(p, n, REC_FUNC_PVALLOC, &at);
	return p;
}

static NOINLINE size_t
usable_size_slow(void *p)
{
	if (p == NULL)
		return 0;
	if (boot_owns(p))
		return boot_size(p);
	return next_find() ? next.malloc_usable_size(p) : 0;
}

static bool usable_asked;

bool
hooks_usable_asked(void)
{
	return __atomic_load_n(&usable_asked, __ATOMIC_SEQ_CST);
}

static NOINLINE void
note_usable_asked(void)
{
	struct recorder *r = recorder_now;

	/* First here, for a recording that begins meanwhile. */
	__atomic_store_n(&usable_asked, true, __ATOMIC_SEQ_CST);
	if (r->base != NULL)
		__atomic_fetch_or(&r->head->flags, REC_FLAG_USABLE, __ATOMIC_SEQ_CST);
}

/* Some programs ask at every malloc and free (redis), so there is no frame on the way. */
SEEP_EXPORT size_t
malloc_usable_size(void *p)
{
	size_t (*ask)(void *) = next.malloc_usable_size;

	if (UNLIKELY(!__atomic_load_n(&usable_asked, __ATOMIC_RELAXED)))
		note_usable_asked();
	if (UNLIKELY(ask == NULL || boot_used))
		return usable_size_slow(p);
	return ask(p);
}
