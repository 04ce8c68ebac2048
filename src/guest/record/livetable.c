/* SPDX-License-Identifier: MIT */
/* livetable.c -- which blocks are allocated now, by address: site, size, age, thread.
 *
 * Neighbours in the heap are neighbours in the table, so a program that walks its memory
 * in order walks ours in order too. The way to a block: three steps of a radix tree over
 * the address lead to its 4 KiB page; the last leaves used are remembered per thread. A
 * page has a chain of buckets: one byte of address per slot in front, compared 16 at a
 * time, 16-byte entries behind. The first is made as large as the page made before would
 * have needed (7, 15 or 48 slots), so that most pages need no other and a block is found
 * in three cache lines; then come 14, then 48 at a time. With 46 blocks a page, as for
 * sizes of 16 to 128 bytes, that is 21 bytes a block. In front of the first bucket are
 * notes: which addresses are taken, so that a new one need not be searched for, and where
 * there is a free slot. The tree costs 4 bytes a page; a hashed directory, tried first,
 * needed probing and a fixed size.
 *
 * Nothing moves when it grows, so the tool can read while the program runs. An entry
 * appears and disappears with one store, of its word `b`; `used` is only our own note of
 * free slots. The lock is the first bucket's and guards the page. Out of room: the caller
 * counts the block as lost. */
#include "guest/record/livetable.h"

#include "guest/record/file/space.h"

/* Capacities. With them nothing is wasted in making all that is allocated begin a cache
 * line. */
enum { CAP_FEW = 7, CAP_SOME = 15, CAP_EXTRA = 14 };
enum { PAGES_JUDGED = 256 };

/* With `notes` bytes in front. */
static uint32_t
bucket_bytes(uint32_t notes, unsigned cap)
{
	return ALIGN_UP(notes + (uint32_t)sizeof(struct rec_bucket) + ALIGN_UP(cap, 16u) +
				cap * (uint32_t)sizeof(struct rec_block),
			64u);
}

static struct rec_bucket *
bucket_new(struct recorder *r, unsigned cap, uint32_t me)
{
	struct rec_bucket *b = space_alloc(r, REC_CHUNK_BUCKET, bucket_bytes(0, cap), me);

	if (b != NULL)
		b->used = (uint64_t)cap << REC_BUCKET_CAP_SHIFT;
	return b;
}

RACY static unsigned
blocks_in(const struct rec_bucket *b)
{
	uint64_t used = __atomic_load_n(&b->used, __ATOMIC_RELAXED);

	return (unsigned)__builtin_popcountll(used << (64 - REC_BUCKET_CAP_SHIFT));
}

/* How many slots the first bucket of a page gets, whose place in its leaf is `slot`:
 * about as many as the page below has blocks, else the page that this thread made before,
 * because a heap grows upwards page by page and the sizes stay much the same. Where that
 * was often too few, as with pages that were first part of a large block, all that it
 * can. */
static unsigned
first_cap(struct recorder *r, const struct thread *t, const uint32_t *slot,
	  uintptr_t addr)
{
	const struct rec_bucket *like = t->page_before;
	unsigned blocks = 0;
	uint32_t ref;

	if ((addr >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1)) != 0 &&
	    (ref = __atomic_load_n(slot - 1, __ATOMIC_ACQUIRE)) != 0)
		like = rec_at(r, ref);
	if (t->pages_grown > t->pages_made / 4)
		return REC_BUCKET_CAP_MAX;
	if (like != NULL) {
		blocks = blocks_in(like);
		ref = __atomic_load_n(&like->next, __ATOMIC_ACQUIRE);
		if (ref != 0)
			blocks += blocks_in(rec_at(r, ref));
	}
	return blocks > CAP_SOME + 5 ? REC_BUCKET_CAP_MAX
	       : blocks > CAP_FEW    ? CAP_SOME
				     : CAP_FEW;
}

/* A page's first bucket, with the page's notes in front. */
static struct rec_bucket *
bucket_first(struct recorder *r, struct thread *t, const uint32_t *slot, uintptr_t addr)
{
	unsigned cap = first_cap(r, t, slot, addr);
	struct rec_page *page =
		space_alloc(r, REC_CHUNK_BUCKET, bucket_bytes(sizeof(*page), cap), t->me);
	struct rec_bucket *b;

	if (page == NULL)
		return NULL;
	b = (struct rec_bucket *)(void *)(page + 1);
	b->used = (uint64_t)cap << REC_BUCKET_CAP_SHIFT;
	t->page_before = b;
	if (++t->pages_made == PAGES_JUDGED) { /* what was long ago counts less */
		t->pages_made /= 2;
		t->pages_grown /= 2;
	}
	return b;
}

/* What `slot` (of root, mid or leaf) points to, made when it is empty. NULL: no room. */
static void *
step(struct recorder *r, uint32_t *slot, enum rec_chunk_kind kind, uint32_t bytes,
     uint32_t me)
{
	uint32_t ref = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
	void *made;

	if (LIKELY(ref != 0))
		return rec_at(r, ref);
	made = space_alloc(r, kind, bytes, me);
	if (made == NULL)
		return NULL;
	if (__atomic_compare_exchange_n(slot, &ref, rec_ref(r, made), false,
					__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	return rec_at(r, ref); /* another thread was first; ours stays unused */
}

/* The leaf of addr's 2 MiB region; NULL when there is none (make = false) or no room. */
static COLD uint32_t *
leaf_walk(struct recorder *r, struct thread *t, uintptr_t addr, bool make)
{
	uint32_t *root = (uint32_t *)(void *)(r->base + REC_ROOT_OFF);
	uint32_t *slot = &root[addr >> REC_ROOT_SHIFT];
	uint32_t *mid, *leaf;

	if (!make && __atomic_load_n(slot, __ATOMIC_RELAXED) == 0)
		return NULL;
	mid = step(r, slot, REC_CHUNK_MID, REC_MID_SLOTS * sizeof(*mid), t->me);
	if (mid == NULL)
		return NULL;
	slot = &mid[addr >> REC_MID_SHIFT & (REC_MID_SLOTS - 1)];
	if (!make && __atomic_load_n(slot, __ATOMIC_RELAXED) == 0)
		return NULL;
	leaf = step(r, slot, REC_CHUNK_LEAF, REC_LEAF_SLOTS * sizeof(*leaf), t->me);
	if (leaf == NULL)
		return NULL;
	*live_leaf(t, addr) = (struct live_leaf){(addr >> REC_MID_SHIFT) + 1, leaf};
	return leaf;
}

static ALWAYS_INLINE uint32_t *
leaf_slot(struct recorder *r, struct thread *t, uintptr_t addr, bool make)
{
	const struct live_leaf *l = live_leaf(t, addr);
	uint32_t *leaf = l->leaf;

	if (UNLIKELY(l->region != (addr >> REC_MID_SHIFT) + 1)) {
		leaf = leaf_walk(r, t, addr, make);
		if (leaf == NULL)
			return NULL;
	}
	return &leaf[addr >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1)];
}

/* One more bucket for a page, right behind the first: the newest is the largest and
 * likeliest. */
static COLD struct rec_bucket *
extend(struct recorder *r, struct thread *t, struct rec_bucket *first)
{
	struct rec_bucket *b =
		bucket_new(r, first->next == 0 ? CAP_EXTRA : REC_BUCKET_CAP_MAX, t->me);

	t->pages_grown += first->next == 0;

	if (b == NULL)
		return NULL;
	b->next = first->next;
	__atomic_store_n(&first->next, rec_ref(r, b), __ATOMIC_RELEASE);
	return b;
}

/* A bucket of the page with a free slot: the one noted, else any, else a new one. NULL:
 * no room. */
static struct rec_bucket *
room_in(struct recorder *r, struct thread *t, struct rec_bucket *first,
	unsigned *ret_index)
{
	struct rec_page *page = live_page(first);
	struct rec_bucket *b = page->room == 0 ? first : rec_at(r, page->room);
	int k = live_vacant(b);

	for (b = k >= 0 ? b : first; k < 0 && (k = live_vacant(b)) < 0 && b->next != 0;)
		b = rec_at(r, b->next);
	if (k < 0) {
		b = extend(r, t, first);
		k = 0;
	}
	if (b != NULL)
		__atomic_store_n(&page->room, rec_ref(r, b), __ATOMIC_RELAXED);
	*ret_index = (unsigned)k;
	return b;
}

/* Is the address in the page already? `present` may only be wrong in saying yes: two
 * blocks of 8 bytes share a bit. */
static bool
stale(struct recorder *r, struct rec_bucket *first, uintptr_t addr)
{
	struct rec_bucket *b = first;

	while (live_look(b, addr) < 0) {
		if (b->next == 0)
			return false;
		b = rec_at(r, b->next);
	}
	return true;
}

/* The first bucket of addr's page, made when there is none. NULL: no room. */
static struct rec_bucket *
first_of(struct recorder *r, struct thread *t, uintptr_t addr)
{
	uint32_t *slot = leaf_slot(r, t, addr, true);
	uint32_t none = 0;
	struct rec_bucket *b;

	if (slot == NULL)
		return NULL;
	if (UNLIKELY(__atomic_load_n(slot, __ATOMIC_RELAXED) == 0)) {
		b = bucket_first(r, t, slot, addr);
		if (b == NULL)
			return NULL;
		__atomic_compare_exchange_n(slot, &none, rec_ref(r, b), false,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	}
	return rec_at(r, __atomic_load_n(slot, __ATOMIC_ACQUIRE));
}

enum live_result
live_put_far(struct recorder *r, struct thread *t, uintptr_t addr, struct live_slot *ret)
{
	struct rec_bucket *first, *b;
	uint64_t bit, *present;
	unsigned k;

	if (UNLIKELY(addr >> REC_ADDRESS_BITS != 0))
		return LIVE_RANGE;
	first = first_of(r, t, addr);
	if (first == NULL)
		return LIVE_ROOM;
	if (!live_lock(t, first))
		return LIVE_LOCK;
	ret->first = first;
	present = live_present(live_page(first), addr, &bit);
	if (UNLIKELY((*present & bit) != 0) && stale(r, first, addr)) {
		live_unlock(t, ret);
		return LIVE_STALE;
	}
	b = room_in(r, t, first, &k);
	if (LIKELY(b != NULL)) {
		*present |= bit;
		if ((addr & 15) != 0)
			live_page(first)->odd = 1;
		live_occupy(ret, b, k, addr);
	}
	live_unlock(t, ret);
	return b != NULL ? LIVE_OK : LIVE_ROOM;
}

enum live_result
live_find_behind(struct recorder *r, struct rec_bucket *first, uintptr_t addr,
		 struct live_slot *ret)
{
	struct rec_bucket *b = first;
	int k;

	do {
		if (b->next == 0)
			return LIVE_NONE;
		b = rec_at(r, b->next);
		k = live_look(b, addr);
	} while (k < 0);
	ret->first = first;
	ret->bucket = b;
	ret->bit = UINT64_C(1) << k;
	ret->block = &live_blocks(b)[k];
	return LIVE_OK;
}

enum live_result
live_find_far(struct recorder *r, struct thread *t, uintptr_t addr, struct live_slot *ret)
{
	struct rec_bucket *first, *b;
	uint32_t *slot, ref;

	if (UNLIKELY(addr >> REC_ADDRESS_BITS != 0))
		return LIVE_NONE;
	slot = leaf_slot(r, t, addr, false);
	if (slot == NULL || (ref = __atomic_load_n(slot, __ATOMIC_ACQUIRE)) == 0)
		return LIVE_NONE;
	first = rec_at(r, ref);
	if (!live_lock(t, first))
		return LIVE_LOCK;
	ret->first = first;
	for (b = first;; b = rec_at(r, b->next)) {
		int k = live_look(b, addr);

		if (k >= 0) {
			ret->bucket = b;
			ret->bit = UINT64_C(1) << k;
			ret->block = &live_blocks(b)[k];
			return LIVE_OK;
		}
		if (b->next == 0)
			break;
	}
	live_unlock(t, ret);
	return LIVE_NONE;
}

void
live_clear_late(struct recorder *r, struct thread *t, struct live_slot *s, uintptr_t addr)
{
	struct rec_page *page = live_page(s->first);
	uint64_t bit, *present = live_present(page, addr, &bit);

	if (!live_lock(t, s->first))
		return; /* a slot is lost, nothing else */
	s->bucket->used &= ~s->bit;
	if (page->odd == 0 && !stale(r, s->first, addr))
		*present &= ~bit;
	live_unlock(t, s);
}
