/* SPDX-License-Identifier: MIT */
/* blob_hooks.c -- hooks that take the place of an allocator's functions in a running
 * process.
 *
 * There are two dozen of each shape, and which function stands behind which is written
 * into the config from outside: so any number of allocators, under any names, can be
 * hooked with the same code. A hook first asks whether anybody looks: `left` is larger
 * than the request when the next sample is further away, and then it jumps on. Nothing of
 * ours is on the stack meanwhile, which is what lets the code be taken away again. The
 * *_event functions keep a frame, from which the unwinder starts; while one of them waits
 * for the real function, tls.busy says so.
 *
 * Frees are recorded before, allocations after the real call. There is no errno here:
 * nothing of ours touches it. */
#include "guest/blob/blob_gate.h"
#include "guest/record/events.h"

typedef void *alloc_fn(size_t n, uintptr_t x, uintptr_t y);
typedef void *calloc_fn(size_t count, size_t each);
typedef void *realloc_fn(void *p, size_t n, uintptr_t x);
typedef void *aligned_fn(size_t align, size_t n);
typedef int posix_fn(void **out, size_t align, size_t n);
typedef void free_fn(void *p, uintptr_t x, uintptr_t y);

/* Written from outside before anything comes here: never what the compiler sees. */
#define NEXT(type, at) ((type *)__atomic_load_n(&(at)->fn, __ATOMIC_RELAXED))

/* ---- events ---- */

static NOINLINE void *
alloc_event(size_t n, uintptr_t x, uintptr_t y, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	void *p;

	if (t == NULL)
		return NEXT(alloc_fn, next)(n, x, y);
	was = gate_quiet(t, at.sp);
	p = NEXT(alloc_fn, next)(n, x, y);
	gate_unquiet(t, was);
	if (p != NULL)
		gate_allocated(t, p, n, next->kind, &at);
	return p;
}

/* What new_event calls: NULL when there is no memory. `ra` is where the hook returns
 * to. */
__attribute__((used)) static NOINLINE void *
new_try(size_t n, uintptr_t x, const struct blob_next *next, const uintptr_t *ra)
{
	static const char tag; /* std::nothrow: never looked at */
	const struct unw_start at = {
		.pc = *ra,
		.sp = (uintptr_t)(ra + 1),
		.bp = *(const uintptr_t *)__builtin_frame_address(0),
	};
	alloc_fn *nothrow = (alloc_fn *)next->nothrow;
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	void *p;

	if (t == NULL)
		return NULL;
	was = gate_quiet(t, at.sp);
	p = nothrow(n, next->aligned ? x : (uintptr_t)&tag, (uintptr_t)&tag);
	gate_unquiet(t, was);
	if (p != NULL)
		gate_allocated(t, p, n, next->kind, &at);
	return p;
}

/* An operator new that throws must do so with nothing of ours on the stack: nobody finds
 * the unwind table of injected code, and the program would end. So it is entered by a
 * jump, and only if there is no memory (or no slot). */
void *new_event(size_t n, uintptr_t x, uintptr_t y, const struct blob_next *next);
__asm__(".text\n"
	".type new_event, @function\n"
	"new_event:\n"
	".cfi_startproc\n"
	"push %rcx\n .cfi_adjust_cfa_offset 8\n"
	"push %rdx\n .cfi_adjust_cfa_offset 8\n"
	"push %rsi\n .cfi_adjust_cfa_offset 8\n"
	"push %rdi\n .cfi_adjust_cfa_offset 8\n"
	"sub $8, %rsp\n .cfi_adjust_cfa_offset 8\n"
	"mov %rcx, %rdx\n"
	"lea 40(%rsp), %rcx\n"
	"call new_try\n"
	"add $8, %rsp\n .cfi_adjust_cfa_offset -8\n"
	"pop %rdi\n .cfi_adjust_cfa_offset -8\n"
	"pop %rsi\n .cfi_adjust_cfa_offset -8\n"
	"pop %rdx\n .cfi_adjust_cfa_offset -8\n"
	"pop %rcx\n .cfi_adjust_cfa_offset -8\n"
	"test %rax, %rax\n"
	"jz 1f\n"
	"ret\n"
	"1: jmp *(%rcx)\n"
	".cfi_endproc\n"
	".size new_event, . - new_event\n");

_Static_assert(offsetof(struct blob_next, fn) == 0, "new_event jumps there");

static NOINLINE void *
calloc_event(size_t count, size_t each, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	void *p;

	if (t == NULL)
		return NEXT(calloc_fn, next)(count, each);
	was = gate_quiet(t, at.sp);
	p = NEXT(calloc_fn, next)(count, each);
	gate_unquiet(t, was);
	if (p != NULL) /* so the product did not overflow */
		gate_allocated(t, p, count * each, next->kind, &at);
	return p;
}

/* The block at `p` becomes one of `n` bytes. Sampled: it is freed, and another
 * allocated. */
static void *
realloc_recorded(struct tls *t, struct thread *self, void *p, size_t n, uintptr_t x,
		 const struct blob_next *next, const struct unw_start *at)
{
	struct recorder *r = recorder_now;
	struct gate_quiet was;
	bool mine;
	void *q;

	record_resize_begin(r, self, (uintptr_t)p);
	was = gate_quiet(t, at->sp);
	q = NEXT(realloc_fn, next)(p, n, x);
	gate_unquiet(t, was);
	if (q == NULL) {
		if (n != 0)
			record_resize_fail(r, self);
		else
			record_resize_freed(r, self);
		return NULL;
	}
	mine = gate_its_turn(t, r, n) &&
	       __atomic_load_n(&r->head->paused, __ATOMIC_RELAXED) != 1;
	if (r->exact && mine) {
		record_resize_end(r, self, (uintptr_t)q, n, next->kind, at);
	} else {
		record_resize_freed(r, self);
		if (mine)
			record_alloc(r, self, (uintptr_t)q, n, next->kind, at);
	}
	return q;
}

static NOINLINE void *
realloc_event(void *p, size_t n, uintptr_t x, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct thread *self;
	struct gate_quiet was;
	void *q;

	if (t == NULL)
		return NEXT(realloc_fn, next)(p, n, x);
	if (p == NULL) {
		was = gate_quiet(t, at.sp);
		q = NEXT(realloc_fn, next)(p, n, x);
		gate_unquiet(t, was);
		if (q != NULL)
			gate_allocated(t, q, n, next->kind, &at);
		return q;
	}
	if (gate_is_old(p))
		gate_old_died(
			p); /* another block has its place, also if it stays there */
	self = gate_enter(t, at.sp);
	if (self == NULL) {
		/* Not recorded, but it comes back to us: nothing may be unmapped
		 * meanwhile. */
		was = gate_quiet(t, at.sp);
		q = NEXT(realloc_fn, next)(p, n, x);
		gate_unquiet(t, was);
		return q;
	}
	q = realloc_recorded(t, self, p, n, x, next, &at);
	gate_leave(t);
	return q;
}

static NOINLINE void *
aligned_event(size_t align, size_t n, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	void *p;

	if (t == NULL)
		return NEXT(aligned_fn, next)(align, n);
	was = gate_quiet(t, at.sp);
	p = NEXT(aligned_fn, next)(align, n);
	gate_unquiet(t, was);
	if (p != NULL)
		gate_allocated(t, p, n, next->kind, &at);
	return p;
}

static NOINLINE int
posix_event(void **out, size_t align, size_t n, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	int r;

	if (t == NULL)
		return NEXT(posix_fn, next)(out, align, n);
	was = gate_quiet(t, at.sp);
	r = NEXT(posix_fn, next)(out, align, n);
	gate_unquiet(t, was);
	if (r == 0)
		gate_allocated(t, *out, n, next->kind, &at);
	return r;
}

static NOINLINE void *
pages_event(size_t n, const struct blob_next *next)
{
	const struct unw_start at = GATE_HERE();
	struct tls *t = tls_slot(tls_key());
	struct gate_quiet was;
	void *p;

	if (t == NULL)
		return NEXT(alloc_fn, next)(n, 0, 0);
	was = gate_quiet(t, at.sp);
	p = NEXT(alloc_fn, next)(n, 0, 0);
	gate_unquiet(t, was);
	if (p != NULL)
		gate_allocated(t, p, n, next->kind, &at);
	return p;
}

static NOINLINE void
free_event(void *p, uintptr_t x, uintptr_t y, const struct blob_next *next)
{
	uintptr_t cfa = (uintptr_t)__builtin_dwarf_cfa();
	struct tls *t = tls_slot(tls_key());

	if (gate_is_old(p))
		gate_old_died(p);
	if (t != NULL && p != NULL && !gate_free_passes(p))
		gate_freeing(t, p, cfa);
	NEXT(free_fn, next)(p, x, y);
}

/* ---- the hooks themselves ---- */

/* Does the thread let `n` bytes pass without a look? */
static ALWAYS_INLINE bool
passes(size_t n)
{
	uintptr_t key = tls_key();
	struct tls *t = tls_home(key);

	if (UNLIKELY(t->key != key || t->left <= n))
		return false;
	t->left -= n;
	return true;
}

static ALWAYS_INLINE void *
alloc_hook(size_t n, uintptr_t x, uintptr_t y, const struct blob_next *next)
{
	if (LIKELY(passes(n)))
		return NEXT(alloc_fn, next)(n, x, y);
	if (UNLIKELY(next->nothrow != 0))
		return new_event(n, x, y, next);
	return alloc_event(n, x, y, next);
}

static ALWAYS_INLINE void *
calloc_hook(size_t count, size_t each, const struct blob_next *next)
{
	size_t n;

	if (LIKELY(!__builtin_mul_overflow(count, each, &n) && !next->nests && passes(n)))
		return NEXT(calloc_fn, next)(count, each);
	return calloc_event(count, each, next);
}

static ALWAYS_INLINE void *
realloc_hook(void *p, size_t n, uintptr_t x, const struct blob_next *next)
{
	if (LIKELY(p != NULL && gate_free_passes(p) && !gate_is_old(p) && passes(n)))
		return NEXT(realloc_fn, next)(p, n, x);
	return realloc_event(p, n, x, next);
}

static ALWAYS_INLINE void
free_hook(void *p, uintptr_t x, uintptr_t y, const struct blob_next *next)
{
	if (LIKELY(gate_free_passes(p) && !gate_is_old(p)))
		NEXT(free_fn, next)(p, x, y);
	else
		free_event(p, x, y, next);
}

#define HOOKS(i)                                                                         \
	static void *hook_alloc_##i(size_t n, uintptr_t x, uintptr_t y)                  \
	{                                                                                \
		return alloc_hook(n, x, y, &blob.next[BLOB_ALLOC][i]);                   \
	}                                                                                \
	static void *hook_calloc_##i(size_t count, size_t each)                          \
	{                                                                                \
		return calloc_hook(count, each, &blob.next[BLOB_CALLOC][i]);             \
	}                                                                                \
	static void *hook_realloc_##i(void *p, size_t n, uintptr_t x)                    \
	{                                                                                \
		return realloc_hook(p, n, x, &blob.next[BLOB_REALLOC][i]);               \
	}                                                                                \
	static void *hook_aligned_##i(size_t align, size_t n)                            \
	{                                                                                \
		return aligned_event(align, n, &blob.next[BLOB_ALIGNED][i]);             \
	}                                                                                \
	static int hook_posix_##i(void **out, size_t align, size_t n)                    \
	{                                                                                \
		return posix_event(out, align, n, &blob.next[BLOB_POSIX][i]);            \
	}                                                                                \
	static void *hook_pages_##i(size_t n)                                            \
	{                                                                                \
		return pages_event(n, &blob.next[BLOB_PAGES][i]);                        \
	}                                                                                \
	static void hook_free_##i(void *p, uintptr_t x, uintptr_t y)                     \
	{                                                                                \
		free_hook(p, x, y, &blob.next[BLOB_FREE][i]);                            \
	}

#define EACH(x)                                                                          \
	x(0) x(1) x(2) x(3) x(4) x(5) x(6) x(7) x(8) x(9) x(10) x(11) x(12) x(13) x(14)  \
		x(15) x(16) x(17) x(18) x(19) x(20) x(21) x(22) x(23)

EACH(HOOKS)

#define NAME_ALLOC(i) (const void *)hook_alloc_##i,
#define NAME_CALLOC(i) (const void *)hook_calloc_##i,
#define NAME_REALLOC(i) (const void *)hook_realloc_##i,
#define NAME_ALIGNED(i) (const void *)hook_aligned_##i,
#define NAME_POSIX(i) (const void *)hook_posix_##i,
#define NAME_PAGES(i) (const void *)hook_pages_##i,
#define NAME_FREE(i) (const void *)hook_free_##i,

/* First in the data segment, where the attacher finds it (blob.ld). */
__attribute__((section(".blob_config"), used)) struct blob_config blob = {
	.magic = BLOB_MAGIC,
	.bytes = sizeof(struct blob_config),
	.hooks =
		{
			[BLOB_ALLOC] = {EACH(NAME_ALLOC)},
			[BLOB_CALLOC] = {EACH(NAME_CALLOC)},
			[BLOB_REALLOC] = {EACH(NAME_REALLOC)},
			[BLOB_ALIGNED] = {EACH(NAME_ALIGNED)},
			[BLOB_POSIX] = {EACH(NAME_POSIX)},
			[BLOB_PAGES] = {EACH(NAME_PAGES)},
			[BLOB_FREE] = {EACH(NAME_FREE)},
		},
	.slots = tls_table,
	.slot_count = ARRAY_LEN(tls_table),
	.slot_bytes = sizeof(struct tls),
	.slot_key_off = offsetof(struct tls, key),
	.slot_busy_off = offsetof(struct tls, busy),
	.old = gate_old,
	.old_bits = gate_old_bits,
};
