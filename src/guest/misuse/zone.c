/* SPDX-License-Identifier: MIT */
/* zone.c -- room around blocks and freed blocks held back. See zone.h.
 *
 *	what the allocator gave | head | room | the program's block | room
 *
 * The head says how large the block is and where the allocator's begins; the room before
 * the block keeps small errors away from it. Room is filled with a byte that text and
 * small numbers rarely are, and that glibc takes for an impossible size if it meets it. A
 * block without a head was handed out before us, or by a function that is not one of
 * ours: it is passed on as it is.
 *
 * A freed block is filled with another byte and goes to the end of a queue
 * (zone_queue.c); when that is longer than allowed, the first leaves it, is looked at,
 * and goes to the allocator.
 *
 * Stacks come from the gate: it has left in the thread's state what is being freed
 * (struct freeing). */
#include "guest/misuse/zone.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/misuse/fence.h"
#include "guest/misuse/under.h"
#include "guest/misuse/zone_bytes.h"
#include "guest/misuse/zone_queue.h"
#include "guest/record/census/census_blocks.h"
#include "guest/record/errors.h"
#include "guest/record/livetable.h"
#include "shared/hash.h"

#include <errno.h>
#include <string.h>

enum {
	AROUND = ROOM_AROUND,
	PAGE = 4096,
};

#define LIVE_MAGIC UINT64_C(0x7365657001726561)
#define FREED_MAGIC UINT64_C(0x7365657064656164)

static struct zone_settings zone;
static struct next under; /* the real allocator */
static bool ended;

static unsigned char *
block_of(struct head *h)
{
	return (unsigned char *)(h + 1) + zone.around;
}

static struct head *
head_at(const void *p)
{
	return (struct head *)(void *)((unsigned char *)(uintptr_t)p - zone.around) - 1;
}

/* Is memory there? Asked only where it may not be. */
static bool
is_readable(const void *at, size_t bytes)
{
	return rt_sealed || room_can_read(at, bytes);
}

/* The block's head, NULL when it has none. */
static struct head *
head_of(const void *p, uint64_t magic)
{
	struct head *h = head_at(p);

	if (((uintptr_t)p & 15) != 0)
		return NULL;
	if ((uintptr_t)h / PAGE != (uintptr_t)p / PAGE && !is_readable(h, sizeof(*h)))
		return NULL;
	return h->magic == (hash_u64((uintptr_t)p) ^ magic) ? h : NULL;
}

/* ---- what was written where nothing may be ---- */

/* May the room before or behind a block be looked at? On the page that its head is on,
 * which was read already, yes; on another one the program may have closed it. */
static bool
is_open(const struct head *h, const unsigned char *at)
{
	if (ALIGN_DOWN((uintptr_t)h, (uintptr_t)PAGE) ==
	    ALIGN_DOWN((uintptr_t)at + zone.around - 1, (uintptr_t)PAGE))
		return true;
	return !rt_sealed && room_can_read(at, zone.around);
}

/* What is wrong with the room around a block; false: nothing. */
static bool
look_around(struct head *h, struct rec_error *e)
{
	unsigned char *p = block_of(h);
	const unsigned char *bad = NULL;
	size_t n = 0;

	if (h->told)
		return false;
	if (is_open(h, p + h->bytes))
		bad = room_find_other(p + h->bytes, zone.around, AROUND, &n);
	if (bad == NULL && is_open(h, p - zone.around))
		bad = room_find_other(p - zone.around, zone.around, AROUND, &n);
	if (bad == NULL)
		return false;
	*e = (struct rec_error){
		.kind = REC_ERROR_BOUNDS,
		.where = REC_WHERE_BLOCK,
		.addr = (uintptr_t)bad,
		.given = n,
		.block = (uintptr_t)p,
		.block_bytes = h->bytes,
	};
	/* Said once: it may be looked at again. */
	if (rt_sealed || room_can_write(&h->next))
		h->told = true;
	return true;
}

struct thread *
zone_enter(uintptr_t cfa, bool *ret_entered)
{
	*ret_entered = tls.busy == 0;
	if (tls.busy == 0)
		return gate_enter(cfa);
	return (tls.busy & GATE_QUIET) != 0 && tls.owner == recorder_now->id ? tls.self
									     : NULL;
}

void
zone_leave(struct thread *t, bool entered)
{
	if (t != NULL && entered)
		gate_leave();
}

/* A block goes: the room around it, and what its head is to say from now on. */
static NOINLINE void
look_at_going(struct head *h)
{
	bool entered;
	struct thread *t = zone_enter(GATE_CFA(), &entered);
	struct recorder *r = recorder_now;
	struct rec_error e;

	h->site = h->freed = 0;
	h->of = 0;
	if (t != NULL && r->exact && t->freeing.addr == (uintptr_t)block_of(h)) {
		h->site = t->freeing.site;
		h->freed = t->freeing.node;
		h->of = recorder_number(r);
		h->func = t->freeing.func;
		h->kind = t->freeing.kind;
		if (look_around(h, &e)) {
			e.func = (uint32_t)t->freeing.func;
			e.at = h->freed;
			e.alloc = errors_site_stack(r, h->site);
			e.block_kind = h->kind;
			errors_add(r, t, &e);
		}
	}
	zone_leave(t, entered);
}

/* A freed block leaves the queue, or is looked at where it stands: was it written
 * since? */
static NOINLINE void
look_at_freed(struct head *h)
{
	unsigned char *p = block_of(h);
	struct recorder *r = recorder_now;
	const unsigned char *bad;
	struct thread *t;
	size_t n = 0;
	bool entered;
	struct rec_error e = {
		.kind = REC_ERROR_AFTER_FREE,
		.where = REC_WHERE_FREED,
		.block = (uintptr_t)p,
		.block_bytes = h->bytes,
	};

	bad = room_find_written(p, h->bytes, &h->filled, &n);
	if (bad == NULL)
		return;
	t = zone_enter(GATE_CFA(), &entered);
	if (t != NULL && r->exact) {
		e.addr = (uintptr_t)bad;
		e.given = n;
		if (h->of == recorder_number(r)) {
			e.alloc = errors_site_stack(r, h->site);
			e.freed = h->freed;
			e.freed_func = h->func;
			e.block_kind = h->kind;
		}
		errors_add(r, t, &e);
		h->filled = (struct room_filled){0}; /* said once */
	}
	zone_leave(t, entered);
}

/* ---- what is known of an address ---- */

bool
zone_owns(const void *p)
{
	return zone.on && head_of(p, LIVE_MAGIC) != NULL;
}

bool
zone_held_back(uintptr_t p, struct zone_freed *ret)
{
	struct head *h;

	if (!zone.on || zone.quarantine == 0 || p < PAGE)
		return false;
	/* Any address may come here. */
	if (!is_readable(head_at((const void *)p), sizeof(*h)))
		return false;
	h = head_of((const void *)p, FREED_MAGIC);
	if (h == NULL)
		return false;
	*ret = (struct zone_freed){.bytes = h->bytes, .func = h->func, .kind = h->kind};
	if (h->of == recorder_number(recorder_now)) {
		ret->site = h->site;
		ret->freed = h->freed;
	}
	return true;
}

/* ---- the allocator that the hooks see ---- */

static size_t
front_for(size_t align)
{
	return ALIGN_UP(sizeof(struct head) + zone.around, align);
}

/* What to ask for, for `n` bytes; SIZE_MAX when that is too much. */
static size_t
total(size_t n, size_t front)
{
	size_t more = front + zone.around;

	return n > SIZE_MAX - more ? SIZE_MAX : n + more;
}

static void *
place(unsigned char *real, size_t n, size_t front)
{
	unsigned char *p = real + front;
	struct head *h;

	h = head_at(p);
	*h = (struct head){
		.magic = hash_u64((uintptr_t)p) ^ LIVE_MAGIC,
		.bytes = n,
		.front = (uint32_t)front,
	};
	memset(p - zone.around, AROUND, zone.around);
	memset(p + n, AROUND, zone.around);
	return p;
}

static void
release(struct head *h)
{
	void *real = block_of(h) - h->front;

	h->magic = 0;
	under.free(real);
}

/* What is more than `most` goes to the allocator. False: nothing did. */
static bool
shorten(size_t most)
{
	struct head *h;
	bool any = false;

	while ((h = queue_pop(most)) != NULL) {
		look_at_freed(h);
		release(h);
		any = true;
	}
	return any;
}

enum how { BY_MALLOC, BY_CALLOC, BY_MEMALIGN, BY_ALIGNED_ALLOC, BY_POSIX_MEMALIGN };

static void *
ask(enum how how, size_t align, size_t bytes)
{
	void *p = NULL;

	switch (how) {
	case BY_CALLOC:
		return under.calloc(1, bytes);
	case BY_MEMALIGN:
		return under.memalign(align, bytes);
	case BY_ALIGNED_ALLOC: /* some want a size that is a multiple of the alignment */
		return under.aligned_alloc(align, ALIGN_UP(bytes, align));
	case BY_POSIX_MEMALIGN:
		return under.posix_memalign(&p, align, bytes) == 0 ? p : NULL;
	default:
		return under.malloc(bytes);
	}
}

/* A block with room around it. Where there is not enough, what is held back is given up
 * first. NULL: the block goes without, or fails as it would have; errno is as it was. */
static void *
obtain(enum how how, size_t align, size_t n)
{
	size_t front = front_for(align < 16 ? 16 : align), bytes = total(n, front);
	int saved = errno;
	void *real;

	if (under_inside() || bytes > SIZE_MAX / 2)
		return NULL;
	real = ask(how, align, bytes);
	if (UNLIKELY(real == NULL)) {
		if (shorten(0))
			real = ask(how, align, bytes);
		errno = saved;
	}
	return real != NULL ? place(real, n, front) : NULL;
}

static void *
zone_malloc(size_t n)
{
	void *p = obtain(BY_MALLOC, 16, n);

	return LIKELY(p != NULL) ? p : under.malloc(n);
}

static void *
zone_calloc(size_t count, size_t each)
{
	void *p = NULL;
	size_t n;

	if (!__builtin_mul_overflow(count, each, &n))
		p = obtain(BY_CALLOC, 16, n);
	return p != NULL ? p : under.calloc(count, each);
}

static bool
is_usual(size_t align)
{
	return align != 0 && (align & (align - 1)) == 0 && align <= UINT32_MAX / 2;
}

static void *
zone_memalign(size_t align, size_t n)
{
	void *p = is_usual(align) ? obtain(BY_MEMALIGN, align, n) : NULL;

	return p != NULL ? p : under.memalign(align, n);
}

static void *
zone_aligned_alloc(size_t align, size_t n)
{
	void *p = is_usual(align) ? obtain(BY_ALIGNED_ALLOC, align, n) : NULL;

	return p != NULL ? p : under.aligned_alloc(align, n);
}

static int
zone_posix_memalign(void **out, size_t align, size_t n)
{
	void *p = is_usual(align) && align % sizeof(void *) == 0
			  ? obtain(BY_POSIX_MEMALIGN, align, n)
			  : NULL;

	if (p == NULL)
		return under.posix_memalign(out, align, n);
	*out = p;
	return 0;
}

static void *
zone_valloc(size_t n)
{
	return zone_memalign(PAGE, n);
}

static void *
zone_pvalloc(size_t n)
{
	return zone_memalign(PAGE,
			     n > SIZE_MAX - PAGE ? SIZE_MAX : ALIGN_UP(n, (size_t)PAGE));
}

static void
zone_free(void *p)
{
	struct head *h;

	if (p == NULL)
		return;
	h = head_of(p, LIVE_MAGIC);
	if (h == NULL) {
		under.free(
			p); /* not ours, or wrong: what comes of it is the allocator's */
		return;
	}
	/* Its page is another block's too, and that one's owner may have closed it: then
	 * it stays. */
	if ((uintptr_t)h / PAGE != (uintptr_t)p / PAGE && !rt_sealed &&
	    !room_can_write(&h->next))
		return;
	look_at_going(h);
	if (zone.quarantine == 0 || h->bytes > zone.quarantine) {
		release(h);
		return;
	}
	h->magic = hash_u64((uintptr_t)p) ^ FREED_MAGIC;
	h->filled = room_fill(p, h->bytes);
	if (!queue_push(h))
		release(h);
	shorten(zone.quarantine);
}

static void *
zone_realloc(void *p, size_t n)
{
	struct head *h;
	void *q;

	if (p == NULL)
		return zone_malloc(n);
	h = head_of(p, LIVE_MAGIC);
	if (h == NULL)
		return under.realloc(p, n);
	if (n == 0 && under_zero_frees()) {
		zone_free(p);
		return NULL;
	}
	q = zone_malloc(n);
	if (q == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(q, p, h->bytes < n ? h->bytes : n);
	zone_free(p);
	return q;
}

static size_t
zone_usable_size(void *p)
{
	struct head *h = p == NULL ? NULL : head_of(p, LIVE_MAGIC);

	return h != NULL ? h->bytes : under.malloc_usable_size(p);
}

void
zone_install(const struct zone_settings *s)
{
	if (under.malloc != NULL || !s->on)
		return;
	zone = *s;
	under = next;
	next.calloc = zone_calloc;
	next.realloc = zone_realloc;
	next.free = zone_free;
	next.posix_memalign = zone_posix_memalign;
	next.aligned_alloc = zone_aligned_alloc;
	next.memalign = zone_memalign;
	next.valloc = zone_valloc;
	next.pvalloc = zone_pvalloc;
	next.malloc_usable_size = zone_usable_size;
	__atomic_store_n(&next.malloc, zone_malloc, __ATOMIC_RELEASE);
}

/* ---- the end ---- */

static void
look_at_live(void *arg, uintptr_t addr, uint64_t a, uint64_t b)
{
	struct thread *t = arg;
	struct recorder *r = t->recorder;
	struct live_slot slot;
	struct rec_error e;
	bool bad = false;
	struct head *h;

	if ((a >> REC_BLOCK_KIND_SHIFT & 15) >= REC_KIND_MMAP)
		return;
	/* While the page is locked nobody frees the block. */
	if (live_find(r, t, addr, &slot) != LIVE_OK)
		return;
	/* The program may have closed the page. */
	if (slot.block->a == a && slot.block->b == b &&
	    is_readable(head_at((const void *)addr), sizeof(*h) + zone.around + 1)) {
		h = head_of((const void *)addr, LIVE_MAGIC);
		bad = h != NULL && look_around(h, &e);
	}
	live_unlock(t, &slot);
	if (bad) {
		e.block_kind = a >> REC_BLOCK_KIND_SHIFT & 15;
		e.alloc = errors_site_stack(r, (uint32_t)b);
		errors_add(r, t, &e);
	}
}

void
zone_end(void)
{
	struct recorder *r = recorder_now;
	struct thread *t;

	fence_end();
	/* A child of fork that did nothing has no recording. */
	if (!zone.on || !life_is_ours() ||
	    __atomic_exchange_n(&ended, true, __ATOMIC_RELAXED))
		return;
	if (zone.quarantine != 0)
		queue_each(look_at_freed);
	t = gate_enter(GATE_CFA());
	if (t == NULL)
		return;
	if (r->exact)
		census_each_block(r, look_at_live, t);
	gate_leave();
}

void
zone_forked(void)
{
	ended = false;
	queue_forked();
}
