/* SPDX-License-Identifier: MIT */
/* stacks.c -- the prefix tree of stacks.
 *
 * Nodes are in the recording, the hash heads over them in private memory: a reader needs
 * only the parents. A chain is a list through rec_node.next, newest first; insertion is
 * one compare-and-swap of the head. Two threads that insert the same frame at once: the
 * loser looks at what came in front since, finds the winner's node, and its own stays
 * behind unlinked (pc 0, which readers skip). A node's children are hashed to heads that
 * lie near each other, and those of nodes made after one another likewise: what is
 * touched of the heads grows with the tree. Nodes are never removed: code that is gone
 * has another module number than what is loaded at its address later, so the two never
 * meet.
 *
 * Whole stacks are found faster, by a hash over all frames: one probe instead of one a
 * frame. That index is a cache, and grows where it is: four times as many places come
 * into use, and the grower moves there what belongs there. */
#include "guest/record/stacks.h"

#include "guest/record/file/space.h"

/* Two heads for each node that there could be in its place of the file, and its children
 * within the next 512: some have one, some have hundreds. */
static uint32_t *
head_of(struct recorder *r, uint32_t parent, uint64_t pc)
{
	uint64_t h =
		(pc ^ (uint64_t)parent << 32 ^ parent) * UINT64_C(0x9E3779B97F4A7C15);
	uint32_t near = parent / (sizeof(struct rec_node) / 8) * 2;

	return &r->node_heads[(near + (h >> (64 - 9))) & (RECORDER_NODE_HEADS - 1)];
}

static uint32_t
find(struct recorder *r, uint32_t ref, uint32_t until, uint32_t parent, uint64_t pc,
     uint32_t module)
{
	while (ref != until && ref != 0) {
		const struct rec_node *n = rec_at(r, ref);

		if (n->pc == pc && n->parent == parent && n->module == module)
			return ref;
		ref = n->next;
	}
	return 0;
}

uint32_t
stacks_node(struct recorder *r, uint32_t parent, uint64_t pc, uint32_t module,
	    unsigned kind, uint32_t me)
{
	uint32_t *head = head_of(r, parent, pc);
	uint32_t mk = (module & 0xffffff) | (uint32_t)kind << 24;
	uint32_t first = __atomic_load_n(head, __ATOMIC_ACQUIRE);
	uint32_t ref = find(r, first, 0, parent, pc, mk);
	uint32_t until;
	struct rec_node *n;

	if (LIKELY(ref != 0))
		return ref;
	n = space_alloc(r, REC_CHUNK_NODE, sizeof(*n), me);
	if (n == NULL) {
		rec_lost(r, REC_LOST_TRUNCATED);
		return r->overflow_node;
	}
	ref = rec_ref(r, n);
	n->parent = parent;
	n->module = mk;
	n->pc = pc;
	for (;;) {
		n->next = first;
		until = first;
		if (__atomic_compare_exchange_n(head, &first, ref, false,
						__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
			return ref;
		uint32_t other = find(r, first, until, parent, pc, mk);

		if (other != 0) {
			n->pc = 0;
			return other;
		}
	}
}

enum {
	INDEX_PROBES = 16,
	/* In the place of a hash: */
	INDEX_BUSY = 1, /* being written */
	INDEX_GONE = 2, /* moved away; may be taken again */
};

static ALWAYS_INLINE uint64_t
index_place(const struct recorder *r, uint64_t hash)
{
	return hash >> (64 - STACKS_INDEX_BITS) &
	       __atomic_load_n(&r->index_mask, __ATOMIC_RELAXED);
}

uint32_t
stacks_recall(struct recorder *r, uint64_t hash)
{
	uint64_t at = index_place(r, hash);

	for (unsigned i = 0; i < INDEX_PROBES; i++, at++) {
		const struct stacks_index *e = &r->stack_index[at];
		uint64_t found = __atomic_load_n(&e->hash, __ATOMIC_ACQUIRE);

		if (LIKELY(found == hash)) {
			uint64_t node = __atomic_load_n(&e->node, __ATOMIC_ACQUIRE);

			/* It may have been moved, and another taken its place. */
			return __atomic_load_n(&e->hash, __ATOMIC_RELAXED) == hash
				       ? (uint32_t)node
				       : 0;
		}
		if (found == 0)
			return 0;
	}
	return 0;
}

static void
index_put(struct recorder *r, uint64_t hash, uint64_t node)
{
	uint64_t at = index_place(r, hash);

	for (unsigned i = 0; i < INDEX_PROBES; i++, at++) {
		struct stacks_index *e = &r->stack_index[at];
		uint64_t free = __atomic_load_n(&e->hash, __ATOMIC_RELAXED);

		if ((free != 0 && free != INDEX_GONE) ||
		    !__atomic_compare_exchange_n(&e->hash, &free, (uint64_t)INDEX_BUSY,
						 false, __ATOMIC_ACQ_REL,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&e->node, node, __ATOMIC_RELAXED);
		__atomic_store_n(&e->hash, hash, __ATOMIC_RELEASE);
		__atomic_fetch_add(&r->index_used, 1, __ATOMIC_RELAXED);
		return;
	}
}

/* Four times as many places when a quarter of them are taken. One thread gets to do it;
 * what others learn meanwhile by the old size they will learn again. */
static void
index_grow(struct recorder *r)
{
	uint64_t mask = __atomic_load_n(&r->index_mask, __ATOMIC_RELAXED);

	if (mask == (UINT64_C(1) << STACKS_INDEX_BITS) - 1 ||
	    __atomic_load_n(&r->index_used, __ATOMIC_RELAXED) <= mask / 4 ||
	    !__atomic_compare_exchange_n(&r->index_mask, &mask, mask * 4 + 3, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	for (uint64_t i = 0; i <= mask; i++) {
		struct stacks_index *e = &r->stack_index[i];
		uint64_t hash = __atomic_load_n(&e->hash, __ATOMIC_ACQUIRE);
		uint64_t node = __atomic_load_n(&e->node, __ATOMIC_ACQUIRE);

		if (hash <= INDEX_GONE || index_place(r, hash) <= mask ||
		    __atomic_load_n(&e->hash, __ATOMIC_ACQUIRE) != hash)
			continue;
		index_put(r, hash, node);
		/* Unless another, who made it grow once more, did so already. */
		if (__atomic_compare_exchange_n(&e->hash, &hash, (uint64_t)INDEX_GONE,
						false, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			__atomic_fetch_sub(&r->index_used, 1, __ATOMIC_RELAXED);
	}
}

void
stacks_learn(struct recorder *r, uint64_t hash, uint32_t node)
{
	if (hash <= INDEX_GONE || node == r->overflow_node)
		return;
	index_grow(r);
	index_put(r, hash, node);
}

struct rec_site *
stacks_site(struct recorder *r, uint32_t node, uint64_t now_ms, uint32_t me)
{
	struct rec_node *n = rec_at(r, node);
	uint32_t ref = __atomic_load_n(&n->site, __ATOMIC_ACQUIRE);
	struct rec_site *s;

	if (LIKELY(ref != 0))
		return rec_at(r, ref);
	s = space_alloc(r, REC_CHUNK_SITE, sizeof(*s), me);
	if (s == NULL)
		return NULL;
	s->first_ms = now_ms;
	s->node = node;
	if (__atomic_compare_exchange_n(&n->site, &ref, rec_ref(r, s), false,
					__ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		return s;
	s->node = 0; /* another thread was first; readers skip ours */
	return rec_at(r, ref);
}
