/* SPDX-License-Identifier: MIT */
/* inherit.c -- a forked child is told which blocks its parent had.
 *
 * Before the fork the parent walks its block table and lists address and size of what
 * malloc and its kin gave out, in private memory: the child has a copy for nothing. Each
 * is two varints, how far from the one before and how large: about 3 bytes, so that few
 * pages have to be made for children that mostly never look. At its first event the child
 * enters the list into its own table. All of it hangs at one site, whose stack is the
 * single node "inherited": so a free or resize of such a block needs no code of its own
 * and the block is journaled like any other, one step each. A reader tells the site by
 * its node and keeps it out of what the child itself did.
 *
 * For the same reason inherited blocks are not in the live bytes of the process, neither
 * here nor when they go (block_own in step.h): peak and timeline are of what the child
 * allocated.
 *
 * Not listed: mappings and the break, whose ends are looked for by kind. Nothing here
 * waits: table entries are read as they are, without locks. */
#include "guest/record/inherit.h"

#include "guest/record/cells.h"
#include "guest/record/livetable.h"
#include "guest/record/stacks.h"
#include "guest/record/step.h"
#include "guest/rt/rt_map.h"
#include "shared/varint.h"

enum {
	TABLE_CHUNKS = INHERIT_TABLE_BYTES / REC_CHUNK_BYTES,
	ENTERED_BYTES = 32, /* about what a block takes in the child's table */
};

/* How many chunks there are of a kind, at most `most` + 1. */
static uint32_t
chunks_of(const struct recorder *r, enum rec_chunk_kind kind, uint32_t most)
{
	uint32_t index = __atomic_load_n(&r->head->chunk_lists[kind], __ATOMIC_ACQUIRE);
	uint32_t n = 0;

	while (index != 0 && n <= most) {
		const struct rec_chunk *c =
			(const void *)(r->base + REC_CHUNKS_OFF +
				       (uint64_t)(index - 1) * REC_CHUNK_BYTES);

		index = c->next;
		n++;
	}
	return n;
}

/* ---- the parent lists ---- */

/* Addresses are mostly multiples of 16; the difference of two, shorter. */
static uint64_t
fold_address(uint64_t difference)
{
	return varint_fold((int64_t)(difference >> 4 | difference << 60));
}

static uint64_t
unfold_address(uint64_t folded)
{
	uint64_t v = (uint64_t)varint_unfold(folded);

	return v << 4 | v >> 60;
}

struct lister {
	const struct recorder *r;
	unsigned char *at,
		*end; /* where the list goes on, and its last room for a block */
	uint64_t last, count;
};

static void
list_block(struct lister *l, uint64_t addr, uint64_t a)
{
	unsigned kind = a >> REC_BLOCK_KIND_SHIFT & 15;

	if (kind == REC_KIND_MMAP || kind == REC_KIND_BRK || l->at >= l->end)
		return;
	l->at += varint_put(l->at, fold_address(addr - l->last));
	l->at += varint_put(l->at, a & REC_BLOCK_SIZE_MASK);
	l->last = addr;
	l->count++;
}

/* Another thread has freed it since `b` was read: then `a` may be what a free leaves
 * there (hot_grave), whose lower half is the site. It may even have been allocated again,
 * by the same site in the same millisecond. */
static bool
freed_meanwhile(const struct recorder *r, const struct rec_block *block, uint64_t a,
		uint64_t b)
{
	return __atomic_load_n(&block->b, __ATOMIC_RELAXED) != b ||
	       (!r->single && (uint32_t)a == (uint32_t)b);
}

static void
list_page(struct lister *l, uint32_t ref, uintptr_t page)
{
	while (ref != 0) {
		struct rec_bucket *b = rec_at(l->r, ref);
		uint64_t used = __atomic_load_n(&b->used, __ATOMIC_RELAXED);
		unsigned cap = (unsigned)(used >> REC_BUCKET_CAP_SHIFT);
		const uint8_t *offs = live_offs(b);
		const struct rec_block *blocks =
			(const void *)(offs + ALIGN_UP(cap, 16u));

		for (used &= (UINT64_C(1) << cap) - 1; used != 0; used &= used - 1) {
			unsigned i = (unsigned)__builtin_ctzll(used);
			uint64_t w = __atomic_load_n(&blocks[i].b, __ATOMIC_ACQUIRE);
			uint64_t off = __atomic_load_n(&offs[i], __ATOMIC_RELAXED);
			uint64_t a = __atomic_load_n(&blocks[i].a, __ATOMIC_ACQUIRE);

			if (w == 0 || freed_meanwhile(l->r, &blocks[i], a, w))
				continue;
			list_block(l, page | off << 4 | (a >> REC_BLOCK_LOW_SHIFT & 15),
				   a);
		}
		ref = __atomic_load_n(&b->next, __ATOMIC_ACQUIRE);
	}
}

/* Are 8 slots from a multiple of 8 on all empty? As most are. */
static bool
none_of_8(const uint32_t *slots)
{
	const uint64_t *two = (const uint64_t *)(const void *)slots;

	return (__atomic_load_n(&two[0], __ATOMIC_RELAXED) |
		__atomic_load_n(&two[1], __ATOMIC_RELAXED) |
		__atomic_load_n(&two[2], __ATOMIC_RELAXED) |
		__atomic_load_n(&two[3], __ATOMIC_RELAXED)) == 0;
}

/* The next slot in use, from `i` on; `n` when there is none. */
static unsigned
next_slot(const uint32_t *slots, unsigned i, unsigned n)
{
	while (i < n) {
		if (i % 8 == 0 && none_of_8(slots + i))
			i += 8;
		else if (__atomic_load_n(&slots[i], __ATOMIC_ACQUIRE) != 0)
			return i;
		else
			i++;
	}
	return n;
}

static void
list_region(struct lister *l, uint32_t leaf_ref, uintptr_t region)
{
	const uint32_t *leaf = rec_at(l->r, leaf_ref);
	unsigned i = 0;

	while ((i = next_slot(leaf, i, REC_LEAF_SLOTS)) < REC_LEAF_SLOTS) {
		list_page(l, leaf[i], region | (uintptr_t)i << REC_LEAF_SHIFT);
		i++;
	}
}

static void
list_all(struct lister *l)
{
	const struct recorder *r = l->r;
	const uint32_t *root = (const uint32_t *)(const void *)(r->base + REC_ROOT_OFF);
	unsigned i = 0, k;

	while ((i = next_slot(root, i, REC_ROOT_SLOTS)) < REC_ROOT_SLOTS) {
		const uint32_t *mid = rec_at(r, root[i]);

		k = 0;
		while ((k = next_slot(mid, k, REC_MID_SLOTS)) < REC_MID_SLOTS) {
			list_region(l, mid[k],
				    (uintptr_t)i << REC_ROOT_SHIFT |
					    (uintptr_t)k << REC_MID_SHIFT);
			k++;
		}
		i++;
	}
}

struct inherit *
inherit_gather(const struct recorder *r)
{
	uint32_t buckets = chunks_of(r, REC_CHUNK_BUCKET, TABLE_CHUNKS);
	uint32_t others = chunks_of(r, REC_CHUNK_LEAF, TABLE_CHUNKS) +
			  chunks_of(r, REC_CHUNK_MID, TABLE_CHUNKS);
	/* A block takes no more of the list than of the table. One chunk more for threads
	 * that allocate meanwhile, and for the head. */
	uint64_t bytes = (uint64_t)(buckets + 1) * REC_CHUNK_BYTES;
	struct lister lister = {.r = r};
	struct inherit *l;

	if (!r->exact || r->space_limited || buckets + others > TABLE_CHUNKS)
		return NULL;
	l = rt_map(bytes);
	if (l == NULL)
		return NULL;
	lister.at = l->text;
	lister.end = (unsigned char *)l + bytes - 2 * VARINT_MAX_BYTES;
	list_all(&lister);
	l->of = recorder_number(r);
	l->mapped_bytes = bytes;
	l->count = lister.count;
	l->text_bytes = (uint64_t)(lister.at - l->text);
	l->whole = r->single && *r->single_threaded != 0 && lister.at < lister.end &&
		   ((r->head->flags & REC_FLAG_FORKED) == 0 || r->inherited_whole);
	return l;
}

void
inherit_forget(struct inherit *l)
{
	if (l != NULL)
		rt_unmap(l, l->mapped_bytes);
}

/* ---- the child enters ---- */

static struct rec_cell *
place(struct recorder *r, struct thread *t)
{
	uint32_t node = stacks_node(r, 0, REC_CLASS_INHERITED, 0, REC_NODE_CLASS, t->me);
	struct rec_site *site;

	if (node == r->overflow_node)
		return NULL;
	site = stacks_site(r, node, t->now_ms, t->me);
	return site != NULL ? cells_get(r, t, rec_ref(r, site)) : NULL;
}

/* One block, one step; the figures of the cell and the block are never apart. */
static void
enter(struct recorder *r, struct thread *t, struct rec_cell *c, uint64_t a,
      struct live_slot *slot)
{
	struct amount n = {.bytes = a & REC_BLOCK_SIZE_MASK};
	struct cell_word size = cells_size(r, c, size_bucket(n.bytes), t->me);
	struct step s = step_begin(r, t);

	slot->block->a = a;
	jot_alloc(&s, c, slot->block, &size, false);
	publish(&s);
	do_alloc(c, slot->block, (uint64_t)c->site | t->now_ms << 32, &size, false, &n);
	commit(&s);
}

void
inherit_enter(struct recorder *r, struct thread *t, const struct inherit *l)
{
	const unsigned char *at = l->text, *end = l->text + l->text_bytes;
	uint64_t addr = 0, folded = 0, bytes = 0;
	struct rec_cell *c;

	/* The child's own events come first. */
	if (l->count * ENTERED_BYTES > r->bytes / 4 || (c = place(r, t)) == NULL)
		return;
	while (at < end) {
		struct live_slot slot;
		enum live_result got;

		at += varint_get(at, (size_t)(end - at), &folded);
		at += varint_get(at, (size_t)(end - at), &bytes);
		addr += unfold_address(folded);
		got = live_put(r, t, addr, &slot);
		if (got == LIVE_OK)
			enter(r, t, c,
			      bytes | (addr & 15) << REC_BLOCK_LOW_SHIFT |
				      (uint64_t)REC_KIND_INHERITED
					      << REC_BLOCK_KIND_SHIFT,
			      &slot);
		else if (got != LIVE_STALE) /* listed twice: it moved while they listed */
			return;
	}
	r->inherited_whole = l->whole;
	__atomic_fetch_or(&r->head->flags, REC_FLAG_TABLE_COPIED, __ATOMIC_RELAXED);
}
