/* SPDX-License-Identifier: MIT */
/* under.c -- see under.h.
 *
 * A handler that leaves by longjmp leaves its thread inside; its blocks are then those of
 * the allocator, without anything around them, and a call of new counts twice. So
 * tls.resolving says where on the stack the allocator was called, too: the next call that
 * is not below has not been made by it, and the thread is outside again. One that is
 * below cannot be told from a call by the allocator itself. */
#include "guest/misuse/under.h"

#include "guest/hooks/next.h"

static struct next real;
static bool zero_frees = true;

enum { SAME_STACK = 1 << 20 };

/* Frames are aligned to 16 bytes; 32 bits of them do, for what is compared is near. */
#define FRAME_BITS (~UINT32_C(15))

/* What to be once the call at `frame` is over. On another stack it may be a handler's, on
 * top of one that goes on. */
static ALWAYS_INLINE uint32_t
outside_of(uint32_t frame)
{
	uint32_t was = tls.resolving;

	if (UNLIKELY((was & UNDER_INSIDE) != 0) &&
	    frame - (was & FRAME_BITS) < SAME_STACK)
		was &= ~(FRAME_BITS | UNDER_INSIDE);
	return was;
}

#define INSIDE(call)                                                                     \
	uint32_t frame = (uint32_t)(uintptr_t)__builtin_frame_address(0) & FRAME_BITS;   \
	uint32_t was = outside_of(frame);                                                \
                                                                                         \
	tls.resolving = (was & ~FRAME_BITS) | frame | UNDER_INSIDE;                      \
	COMPILER_BARRIER();                                                              \
	call;                                                                            \
	COMPILER_BARRIER();                                                              \
	tls.resolving = was

static void *
under_malloc(size_t n)
{
	void *p;
	INSIDE(p = real.malloc(n));
	return p;
}

static void *
under_calloc(size_t count, size_t each)
{
	void *p;
	INSIDE(p = real.calloc(count, each));
	return p;
}

static void *
under_realloc(void *p, size_t n)
{
	void *q;
	INSIDE(q = real.realloc(p, n));
	return q;
}

static void
under_free(void *p)
{
	INSIDE(real.free(p));
}

static void *
under_memalign(size_t align, size_t n)
{
	void *p;
	INSIDE(p = real.memalign(align, n));
	return p;
}

static void *
under_aligned_alloc(size_t align, size_t n)
{
	void *p;
	INSIDE(p = real.aligned_alloc(align, n));
	return p;
}

static int
under_posix_memalign(void **out, size_t align, size_t n)
{
	int r;
	INSIDE(r = real.posix_memalign(out, align, n));
	return r;
}

static void *
under_valloc(size_t n)
{
	void *p;
	INSIDE(p = real.valloc(n));
	return p;
}

static void *
under_pvalloc(size_t n)
{
	void *p;
	INSIDE(p = real.pvalloc(n));
	return p;
}

static size_t
under_usable_size(void *p)
{
	size_t n;
	INSIDE(n = real.malloc_usable_size(p));
	return n;
}

void
under_install(void)
{
	void *p;

	if (real.malloc != NULL)
		return;
	real = next;
	p = under_realloc(under_malloc(16), 0);
	zero_frees = p == NULL;
	if (p != NULL)
		under_free(p);
	next.calloc = under_calloc;
	next.realloc = under_realloc;
	next.free = under_free;
	next.memalign = under_memalign;
	next.aligned_alloc = under_aligned_alloc;
	next.posix_memalign = under_posix_memalign;
	next.malloc_usable_size = under_usable_size;
	if (next.valloc != NULL)
		next.valloc = under_valloc;
	if (next.pvalloc != NULL)
		next.pvalloc = under_pvalloc;
	__atomic_store_n(&next.malloc, under_malloc, __ATOMIC_RELEASE);
}

bool
under_zero_frees(void)
{
	return zero_frees;
}
