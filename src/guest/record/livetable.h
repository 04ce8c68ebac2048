/* SPDX-License-Identifier: MIT */
/* livetable.h -- which blocks are allocated now, by address. How it is built:
 * livetable.c. */
#ifndef SEEP_LIVETABLE_H
#define SEEP_LIVETABLE_H

#include "guest/record/file/recorder.h"
#include "shared/match.h"

enum live_result {
	LIVE_OK,
	LIVE_STALE, /* put: the address is in there already; its free was not seen */
	LIVE_NONE,  /* find: not in the table */
	LIVE_ROOM,  /* put: no room for it */
	LIVE_LOCK,  /* the page's lock stayed taken */
	LIVE_RANGE, /* put: above the addresses the table covers */
};

static ALWAYS_INLINE unsigned
live_cap(const struct rec_bucket *b)
{
	return (unsigned)(b->used >> REC_BUCKET_CAP_SHIFT);
}

static ALWAYS_INLINE uint8_t *
live_offs(struct rec_bucket *b)
{
	return (uint8_t *)(b + 1);
}

static ALWAYS_INLINE struct rec_block *
live_blocks(struct rec_bucket *b)
{
	return (struct rec_block *)(void *)(live_offs(b) + ALIGN_UP(live_cap(b), 16u));
}

/* A page is locked by its first bucket; a lone thread has nobody to lock out. */
static ALWAYS_INLINE bool
live_lock(struct thread *t, struct rec_bucket *first)
{
	return t->alone || lock_take(&first->lock, t->me);
}

static ALWAYS_INLINE void
live_unlock(struct thread *t, struct live_slot *s)
{
	if (!t->alone)
		lock_drop(&s->first->lock);
}

/* The slot holding `addr` in one bucket, or -1. */
static ALWAYS_INLINE int
live_look(struct rec_bucket *b, uintptr_t addr)
{
	unsigned cap = live_cap(b);
	const uint8_t *offs = live_offs(b);
	const struct rec_block *blocks = live_blocks(b);

	for (unsigned i = 0; i < cap; i += 16) {
		/* Most slots that look alike are vacant: the same address, freed
		 * before. */
		uint32_t hits = match16(offs + i, (uint8_t)(addr >> 4)) &
				(uint32_t)(b->used >> i);

		for (; hits != 0; hits &= hits - 1) {
			unsigned k = i + (unsigned)__builtin_ctz(hits);

			/* Another thread's block may be on its way in: not under the
			 * lock. */
			if (__atomic_load_n(&blocks[k].b, __ATOMIC_RELAXED) != 0 &&
			    (__atomic_load_n(&blocks[k].a, __ATOMIC_RELAXED) >>
				     REC_BLOCK_LOW_SHIFT &
			     15) == (addr & 15))
				return (int)k;
		}
	}
	return -1;
}

static ALWAYS_INLINE int
live_vacant(const struct rec_bucket *b)
{
	uint64_t taken = b->used | ~((UINT64_C(1) << live_cap(b)) - 1);

	return ~taken == 0 ? -1 : __builtin_ctzll(~taken);
}

static ALWAYS_INLINE void
live_occupy(struct live_slot *ret, struct rec_bucket *b, unsigned index, uintptr_t addr)
{
	ret->bit = UINT64_C(1) << index;
	ret->bucket = b;
	ret->block = &live_blocks(b)[index];
	b->used |= ret->bit;
	live_offs(b)[index] = (uint8_t)(addr >> 4);
}

static ALWAYS_INLINE struct live_leaf *
live_leaf(struct thread *t, uintptr_t addr)
{
	return &t->leaves[addr >> REC_MID_SHIFT & (LIVE_LEAVES - 1)];
}

/* The first bucket of addr's page, if its region is one of those used last; else NULL. */
static ALWAYS_INLINE struct rec_bucket *
live_near(struct recorder *r, struct thread *t, uintptr_t addr)
{
	const struct live_leaf *l = live_leaf(t, addr);
	uint32_t ref;

	if (UNLIKELY(l->region != (addr >> REC_MID_SHIFT) + 1))
		return NULL;
	ref = __atomic_load_n(&l->leaf[addr >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1)],
			      __ATOMIC_ACQUIRE);
	return LIKELY(ref != 0) ? rec_at(r, ref) : NULL;
}

static ALWAYS_INLINE struct rec_page *
live_page(struct rec_bucket *first)
{
	return (struct rec_page *)(void *)first - 1;
}

/* Asks for the cache lines that live_put() will need, which may be far away; there is a
 * stack to be looked at meanwhile. Returns what live_put_at() wants to know. */
static ALWAYS_INLINE struct rec_bucket *
live_prefetch(struct recorder *r, struct thread *t, uintptr_t addr)
{
	struct rec_bucket *first = live_near(r, t, addr);

	if (LIKELY(first != NULL)) {
		uint32_t room =
			__atomic_load_n(&live_page(first)->room, __ATOMIC_RELAXED);

		__builtin_prefetch(live_offs(first), 1);
		__builtin_prefetch(rec_at(r, room), 1); /* 0: the head; no harm */
	}
	return first;
}

enum live_result live_put_far(struct recorder *r, struct thread *t, uintptr_t addr,
			      struct live_slot *ret);
enum live_result live_find_far(struct recorder *r, struct thread *t, uintptr_t addr,
			       struct live_slot *ret);
/* For a lone thread: in the buckets that come after the first. */
enum live_result live_find_behind(struct recorder *r, struct rec_bucket *first,
				  uintptr_t addr, struct live_slot *ret);

/* Which word and bit of rec_page.present stand for an address. */
static ALWAYS_INLINE uint64_t *
live_present(struct rec_page *page, uintptr_t addr, uint64_t *ret_bit)
{
	*ret_bit = UINT64_C(1) << (addr >> 4 & 63);
	return &page->present[addr >> 10 & 3];
}

/* Reserve a slot for `addr`: it is the caller's, but no reader sees it until `block->b`
 * is set (write `block->a` first). `first` is the page's first bucket if that is known.
 * The page is not locked on return. */
static ALWAYS_INLINE enum live_result
live_put_at(struct recorder *r, struct thread *t, struct rec_bucket *first,
	    uintptr_t addr, struct live_slot *ret)
{
	/* Inline only what a lone thread needs, for an address that is surely new. */
	if (LIKELY(first != NULL && t->alone)) {
		struct rec_page *page = live_page(first);
		struct rec_bucket *b = page->room == 0 ? first : rec_at(r, page->room);
		uint64_t bit, *present = live_present(page, addr, &bit);
		int k = live_vacant(b);

		if (LIKELY(k >= 0 && ((*present & bit) | (addr & 15)) == 0)) {
			*present |= bit;
			ret->first = first;
			live_occupy(ret, b, (unsigned)k, addr);
			return LIVE_OK;
		}
	}
	return live_put_far(r, t, addr, ret);
}

static inline enum live_result
live_put(struct recorder *r, struct thread *t, uintptr_t addr, struct live_slot *ret)
{
	return live_put_at(r, t, live_near(r, t, addr), addr, ret);
}

/* Find the live block at `addr`. On LIVE_OK the page is locked: end with
 * live_clear_unlock, or with live_unlock to leave the block as it is. */
static ALWAYS_INLINE enum live_result
live_find(struct recorder *r, struct thread *t, uintptr_t addr, struct live_slot *ret)
{
	struct rec_bucket *first = live_near(r, t, addr);
	int k;

	if (UNLIKELY(first == NULL || !t->alone))
		return live_find_far(r, t, addr, ret);
	k = live_look(first, addr);
	if (UNLIKELY(k < 0))
		return live_find_behind(r, first, addr, ret);
	ret->first = ret->bucket = first;
	ret->block = &live_blocks(first)[k];
	ret->bit = UINT64_C(1) << k;
	return LIVE_OK;
}

/* Hand back a slot whose block was taken out some time ago; meanwhile the address may
 * have been given out again. Locks the page itself. */
void live_clear_late(struct recorder *r, struct thread *t, struct live_slot *s,
		     uintptr_t addr);

/* Who called free for it, kept as long as no other block of the page is freed. */
static ALWAYS_INLINE void
live_freed_by(const struct live_slot *s, uintptr_t addr, uintptr_t pc)
{
	live_page(s->first)->freed = (uint64_t)addr << REC_PAGE_FREED_SHIFT | pc;
}

/* The slot is empty now (the caller has set block->b to 0): hand it back. Page locked. */
static ALWAYS_INLINE void
live_clear_unlock(struct thread *t, struct live_slot *s, uintptr_t addr)
{
	struct rec_page *page = live_page(s->first);
	uint64_t bit, *present = live_present(page, addr, &bit);

	if (LIKELY(page->odd == 0))
		*present &= ~bit;
	__atomic_store_n(&page->room, rec_ref(t->recorder, s->bucket), __ATOMIC_RELAXED);
	s->bucket->used &= ~s->bit;
	live_unlock(t, s);
}

#endif
