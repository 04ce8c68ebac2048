/* SPDX-License-Identifier: MIT */
/* fence.c -- blocks on fenced pages. See fence.h.
 *
 * A pool of slots, each of a closed page and 16 more, of which as many as the block needs
 * are opened. Of two blocks one ends where the next slot's closed page begins, less what
 * its alignment leaves, and the other one begins behind its own slot's closed page. The
 * rest of the open pages is filled, and looked at when the block is freed and at the end.
 * A freed slot is closed and used again as late as possible. Its contents stay as they
 * are: should it be touched, the program finds what it would have found.
 *
 * Blocks larger than 64 KiB, aligned to more than a page, or that find all slots in use
 * are the allocator's. So are all once system calls may not be made.
 *
 * The handler is in fence_signal.c. */
#include "guest/misuse/fence.h"

#include "guest/hooks/gate.h"
#include "guest/hooks/next.h"
#include "guest/life/life.h"
#include "guest/misuse/access.h"
#include "guest/misuse/fence_signal.h"
#include "guest/misuse/under.h"
#include "guest/misuse/zone.h"
#include "guest/misuse/zone_bytes.h"
#include "guest/record/errors.h"
#include "guest/rt/lock_once.h"
#include "guest/rt/rt_map.h"
#include "shared/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	PAGES = 16, /* of a block, at most */
	STRIDE = (PAGES + 1) * PAGE,
	SLOTS = 2048,
};

enum state { SLOT_UNUSED, SLOT_LIVE, SLOT_FREED };

struct slot {
	unsigned char *block;
	size_t bytes;
	uint32_t next; /* in the list of those to use, by number + 1; 0 = last */
	uint32_t site, freed,
		of; /* of a freed one: refs, and which recording they are of */
	uint8_t state;
	uint8_t func, kind; /* what freed it; where it came from */
	uint8_t pages;	    /* open ones, from `open` on */
	bool opened;	    /* a page of it that was to be closed */
	bool told;	    /* a write beside it has been reported */
	unsigned char *open;
};

static uint64_t every;
static unsigned char *pool; /* NULL: not in use */
static struct slot *slots;
static struct {
	struct lock_once lock;
	uint32_t first, last; /* to use next, and last of all; number + 1 */
} idle;
static uint64_t countdown; /* allocations until the next one */
static uint64_t drawn;	   /* random numbers; threads that draw at once draw the same */
static struct next under;
static bool ended;

void
fence_wanted(uint64_t n)
{
	every = n;
}

bool
fence_owns(const void *p)
{
	return pool != NULL && (uintptr_t)p - (uintptr_t)pool < (uintptr_t)SLOTS * STRIDE;
}

static unsigned
number_of(const void *p)
{
	return (unsigned)(((uintptr_t)p - (uintptr_t)pool) / STRIDE);
}

/* First byte behind the last page of a slot. */
static unsigned char *
end_of(unsigned number)
{
	return pool + ((size_t)number + 1) * STRIDE;
}

static bool
set_pages(unsigned char *at, size_t bytes, int prot)
{
	return SYS3(SYS_mprotect, at, bytes, prot) == 0;
}

/* ---- slots ---- */

static bool
idle_take(void)
{
	return lock_once_enter(&idle.lock, lock_id());
}

/* Number + 1 of the slot that has been out of use for longest; 0: none. */
static uint32_t
idle_pop(void)
{
	uint32_t n = 0;

	if (!idle_take())
		return 0;
	n = idle.first;
	if (n != 0) {
		idle.first = slots[n - 1].next;
		if (idle.first == 0)
			idle.last = 0;
	}
	lock_once_drop(&idle.lock);
	return n;
}

static void
idle_push(uint32_t n)
{
	if (!idle_take())
		return; /* one slot less */
	slots[n - 1].next = 0;
	if (idle.last != 0)
		slots[idle.last - 1].next = n;
	else
		idle.first = n;
	idle.last = n;
	lock_once_drop(&idle.lock);
}

void
fence_forked(void)
{
	/* Another thread was in the middle of it. At worst a slot is out of the list. */
	if (lock_once_forked(&idle.lock, lock_id()) && idle.first == 0)
		idle.last = 0;
	ended = false;
}

static bool
its_turn(void)
{
	uint64_t left = __atomic_fetch_sub(&countdown, 1, __ATOMIC_RELAXED);
	uint64_t draw = drawn;

	if (LIKELY(left > 1))
		return false;
	draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	drawn = draw;
	draw = 1 + hash_u64(draw) % (2 * every - 1);
	__atomic_store_n(&countdown, draw, __ATOMIC_RELAXED);
	return true;
}

/* Which side of the block touches a closed page? Of two in a row each side once; which
 * comes first is random, lest blocks that are made in pairs always have the same. */
static bool
begins_at_fence(void)
{
	static uint64_t turns;
	uint64_t turn = __atomic_fetch_add(&turns, 1, __ATOMIC_RELAXED);

	return ((turn ^ (turn < 2 ? 0 : hash_u64(turn / 2))) & 1) != 0;
}

static void *
slot_alloc(size_t align, size_t n)
{
	size_t room = n == 0 ? 1 : n;
	unsigned char *end, *first;
	struct slot *s;
	uint32_t number;

	if (rt_sealed || under_inside() || n > PAGES * PAGE || align > PAGE ||
	    !its_turn() || (number = idle_pop()) == 0)
		return NULL;
	s = &slots[number - 1];
	end = end_of(number - 1);
	if (s->state == SLOT_FREED || s->opened)
		set_pages(end - STRIDE, STRIDE, PROT_NONE);
	s->block = (unsigned char *)ALIGN_DOWN((uintptr_t)end - room, (uintptr_t)align);
	first = (unsigned char *)ALIGN_DOWN((uintptr_t)s->block, (uintptr_t)PAGE);
	if (begins_at_fence()) {
		s->block = first = end - PAGES * PAGE;
		end = first + ALIGN_UP(room, (size_t)PAGE);
	}
	if (first < end_of(number - 1) - PAGES * PAGE ||
	    !set_pages(first, (size_t)(end - first), PROT_READ | PROT_WRITE)) {
		idle_push(number);
		return NULL;
	}
	s->bytes = n;
	s->open = first;
	s->pages = (uint8_t)((size_t)(end - first) / PAGE);
	s->opened = s->told = false;
	memset(first, ROOM_AROUND, (size_t)(s->block - first));
	memset(s->block + n, ROOM_AROUND, (size_t)(end - (s->block + n)));
	s->state = SLOT_LIVE;
	return s->block;
}

/* ---- the rest of the open pages ---- */

static bool
same_page(const unsigned char *a, const unsigned char *b)
{
	return (uintptr_t)a / PAGE == (uintptr_t)b / PAGE;
}

/* Was it written to? The program may have closed the last page. */
static bool
slack_written(const struct slot *s, struct rec_error *e)
{
	const unsigned char *after = s->block + s->bytes, *bad = NULL;
	size_t count = 0, behind = (size_t)(s->open + (size_t)s->pages * PAGE - after);

	if (s->told)
		return false;
	if (behind > 0 &&
	    (same_page(s->block, after) || (!rt_sealed && room_can_read(after, behind))))
		bad = room_find_other(after, behind, ROOM_AROUND, &count);
	if (bad == NULL)
		bad = room_find_other(s->open, (size_t)(s->block - s->open), ROOM_AROUND,
				      &count);
	if (bad == NULL)
		return false;
	*e = (struct rec_error){
		.kind = REC_ERROR_BOUNDS,
		.where = REC_WHERE_BLOCK,
		.addr = (uintptr_t)bad,
		.given = count,
		.block = (uintptr_t)s->block,
		.block_bytes = s->bytes,
	};
	return true;
}

/* A block is freed. */
static NOINLINE void
slack_at_free(const struct slot *s)
{
	bool entered;
	struct thread *t = zone_enter(GATE_CFA(), &entered);
	struct recorder *r = recorder_now;
	struct rec_error e;

	if (t != NULL && r->exact && t->freeing.addr == (uintptr_t)s->block &&
	    slack_written(s, &e)) {
		e.func = (uint32_t)t->freeing.func;
		e.at = t->freeing.node;
		e.alloc = errors_site_stack(r, t->freeing.site);
		e.block_kind = t->freeing.kind;
		errors_add(r, t, &e);
	}
	zone_leave(t, entered);
}

void
fence_end(void)
{
	struct recorder *r = recorder_now;
	struct errors_block b;
	struct rec_error e;
	struct thread *t;

	if (pool == NULL || !life_is_ours() ||
	    __atomic_exchange_n(&ended, true, __ATOMIC_RELAXED))
		return;
	t = gate_enter(GATE_CFA());
	if (t == NULL)
		return;
	for (struct slot *s = slots; r->exact && s < slots + SLOTS; s++) {
		if (s->state != SLOT_LIVE || rt_sealed || !room_can_read(s->block, 1) ||
		    !slack_written(s, &e) ||
		    !errors_near(r, (uintptr_t)s->block, 0, &b) ||
		    b.addr != (uintptr_t)s->block || b.freed)
			continue;
		e.alloc = errors_site_stack(r, b.site);
		e.block_kind = b.kind;
		s->told = true;
		errors_add(r, t, &e);
	}
	gate_leave();
}

/* A wrong free of a fenced block comes this far only if the program is to meet its end by
 * it. */
static NOINLINE void
slot_free(void *p)
{
	unsigned number = number_of(p);
	struct slot *s = &slots[number];
	struct thread *t = tls.self;

	if (s->state != SLOT_LIVE || s->block != p)
		abort();
	slack_at_free(s);
	s->site = s->freed = s->of = 0;
	if (t != NULL && tls.owner == recorder_now->id &&
	    t->freeing.addr == (uintptr_t)p) {
		s->site = t->freeing.site;
		s->freed = t->freeing.node;
		s->of = recorder_number(recorder_now);
		s->func = (uint8_t)t->freeing.func;
		s->kind = (uint8_t)t->freeing.kind;
	}
	s->state = SLOT_FREED;
	if (!rt_sealed)
		set_pages(end_of(number) - STRIDE, STRIDE, PROT_NONE);
	idle_push(number + 1);
}

/* ---- the allocator that the hooks see ---- */

static void *
fence_malloc(size_t n)
{
	void *p = slot_alloc(16, n);

	return p != NULL ? p : under.malloc(n);
}

static void *
fence_calloc(size_t count, size_t each)
{
	size_t n;
	void *p = NULL;

	if (!__builtin_mul_overflow(count, each, &n))
		p = slot_alloc(16, n);
	return p != NULL ? memset(p, 0, n) : under.calloc(count, each);
}

static bool
is_power(size_t align)
{
	return align != 0 && (align & (align - 1)) == 0;
}

static void *
fence_memalign(size_t align, size_t n)
{
	void *p = is_power(align) ? slot_alloc(align < 16 ? 16 : align, n) : NULL;

	return p != NULL ? p : under.memalign(align, n);
}

static void *
fence_aligned_alloc(size_t align, size_t n)
{
	void *p = is_power(align) ? slot_alloc(align < 16 ? 16 : align, n) : NULL;

	return p != NULL ? p : under.aligned_alloc(align, n);
}

static int
fence_posix_memalign(void **out, size_t align, size_t n)
{
	void *p = NULL;

	if (is_power(align) && align % sizeof(void *) == 0)
		p = slot_alloc(align < 16 ? 16 : align, n);
	if (p == NULL)
		return under.posix_memalign(out, align, n);
	*out = p;
	return 0;
}

static void
fence_free(void *p)
{
	if (UNLIKELY(fence_owns(p)))
		slot_free(p);
	else
		under.free(p);
}

static void *
fence_realloc(void *p, size_t n)
{
	struct slot *s;
	void *q;

	if (LIKELY(!fence_owns(p)))
		return p == NULL ? fence_malloc(n) : under.realloc(p, n);
	s = &slots[number_of(p)];
	if (s->state != SLOT_LIVE || s->block != p)
		abort();
	if (n == 0 && under_zero_frees()) {
		slot_free(p);
		return NULL;
	}
	q = fence_malloc(n);
	if (q == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(q, p, s->bytes < n ? s->bytes : n);
	slot_free(p);
	return q;
}

static size_t
fence_usable_size(void *p)
{
	return fence_owns(p) ? slots[number_of(p)].bytes : under.malloc_usable_size(p);
}

/* ---- faults ---- */

static uint64_t
distance(const struct slot *s, const unsigned char *at)
{
	if (s->state == SLOT_UNUSED)
		return UINT64_MAX;
	if (at < s->block)
		return (uint64_t)(s->block - at);
	return at < s->block + s->bytes ? 0 : (uint64_t)(at - (s->block + s->bytes));
}

/* Whose block is it that was missed? */
static struct slot *
blame(const unsigned char *at)
{
	unsigned number = number_of(at);
	struct slot *s = &slots[number];

	if (number > 0 && distance(s - 1, at) < distance(s, at))
		s--;
	return s->state == SLOT_UNUSED ? NULL : s;
}

static void
tell(struct thread *t, const struct slot *s, const unsigned char *at,
     const struct access *access)
{
	struct recorder *r = t->recorder;
	struct errors_block b;
	struct rec_error e = {
		.kind = access->write ? REC_ERROR_WRITE : REC_ERROR_READ,
		.addr = (uintptr_t)at,
		.given = access->bytes,
		.block = (uintptr_t)s->block,
		.block_bytes = s->bytes,
		.where = s->state == SLOT_LIVE ? REC_WHERE_BLOCK : REC_WHERE_FREED,
	};

	if (s->state == SLOT_LIVE && errors_near(r, (uintptr_t)s->block, 0, &b) &&
	    b.addr == (uintptr_t)s->block && !b.freed) {
		e.alloc = errors_site_stack(r, b.site);
		e.block_kind = b.kind;
	} else if (s->state == SLOT_FREED && s->of == recorder_number(r)) {
		e.alloc = errors_site_stack(r, s->site);
		e.freed = s->freed;
		e.freed_func = s->func;
		e.block_kind = s->kind;
	}
	e.at = errors_stack(r, t, &access->at);
	errors_add(r, t, &e);
}

bool
fence_caught(unsigned char *at, const void *context)
{
	const struct access access = access_of(context);
	struct slot *s = blame(at);
	struct thread *t = s != NULL ? gate_enter(GATE_CFA()) : NULL;
	unsigned char *page = (unsigned char *)ALIGN_DOWN((uintptr_t)at, (uintptr_t)PAGE);

	if (t != NULL) {
		if (recorder_now->exact)
			tell(t, s, at, &access);
		s->told = s->told || access.write;
		gate_leave();
	}
	slots[number_of(at)].opened = true;
	return set_pages(page, PAGE, PROT_READ | PROT_WRITE);
}

/* ---- beginning ---- */

static bool
make_pool(void)
{
	long at = sys_mmap(NULL, (size_t)SLOTS * STRIDE + PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);

	if (at < 0 && at > -4096)
		return false;
	slots = rt_map(SLOTS * sizeof(*slots));
	if (slots == NULL) {
		sys_munmap((void *)at, (size_t)SLOTS * STRIDE + PAGE);
		return false;
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i].next = i + 1 < SLOTS ? i + 2 : 0;
	idle.first = 1;
	idle.last = SLOTS;
	pool = (unsigned char *)at;
	return true;
}

void
fence_install(void)
{
	if (every == 0 || pool != NULL || recorder_now->space_limited || rt_sealed ||
	    !make_pool())
		return;
	countdown = every;
	fence_take_signal();
	under = next;
	next.calloc = fence_calloc;
	next.realloc = fence_realloc;
	next.free = fence_free;
	next.posix_memalign = fence_posix_memalign;
	next.aligned_alloc = fence_aligned_alloc;
	next.memalign = fence_memalign;
	next.malloc_usable_size = fence_usable_size;
	__atomic_store_n(&next.malloc, fence_malloc, __ATOMIC_RELEASE);
}
