/* SPDX-License-Identifier: MIT */
/* mixed.c -- native frames and the frames of managed runtimes, put together. See mixed.h.
 *
 * The native unwinder knows nothing of this: its memo is sound only for words that native
 * unwinding reads. A stack is a pair instead, the node of its native half and the hash of
 * each runtime's chain. The same pair as last time is the same stack; else a hash of the
 * pair is looked up among all stacks (stacks.c), and what is not known there is put
 * together once.
 *
 * Putting together: from the outermost frame inwards, each native frame that runs a
 * runtime's frames is replaced by these, up to the next one for which native code was
 * called again. An innermost one without a frame of its own stays: it has not made it
 * yet. If there are more or fewer of the ones than of the others (code of the runtime
 * that we do not know as such, a chain or a stack that was cut), nobody can tell which
 * belong together. Then the whole chain stands where the innermost of the native frames
 * is that run it, or outermost if there is none, and that is counted (REC_LOST_MIXED). */
#include "guest/record/mixed/mixed.h"

#include "guest/record/stacks.h"
#include "guest/rt/rt_map.h"
#include "shared/hash.h"

#include <string.h>

enum {
	/* An elided stack has UNW_KEEP_INNER + UNW_KEEP_OUTER + 1 frames, others at most
	 * UNW_EXACT_MAX and a truncated root. */
	MIXED_NATIVE_MAX = UNW_EXACT_MAX + 2,
	MIXED_KIB = 16, /* of a thread's memory that is touched, about */
};

/* A thread's own, made when a runtime is there. */
struct mixed_thread {
	uint64_t key; /* of the pair before, 0 = none; and its node */
	uint32_t node;
	struct thread_place places[THREAD_PLACES];
	void *states[MIXED_SOURCES_MAX]; /* the sources' own */
	struct mixed_chain chains[MIXED_SOURCES_MAX];
	uint32_t
		native[MIXED_NATIVE_MAX]; /* frames of the native half, innermost first */
};

/* How one source's frames meet the native ones. */
struct mixed_meet {
	bool match;
	uint32_t innermost; /* of the native frames that run it; UINT32_MAX: none */
	uint32_t next;	    /* frame of the chain that comes next */
};

static struct mixed_thread *
mixed_of(struct thread *t)
{
	if (UNLIKELY(t->mixed == NULL)) {
		t->mixed = rt_map(sizeof(struct mixed_thread));
		if (t->mixed != NULL)
			__atomic_fetch_add(&t->recorder->head->own_kib, MIXED_KIB,
					   __ATOMIC_RELAXED);
	}
	return t->mixed;
}

struct thread_place *
mixed_places(struct thread *t)
{
	return t->mixed != NULL ? t->mixed->places : NULL;
}

void
mixed_forget(struct thread *t)
{
	struct mixed_thread *m = t->mixed;
	const struct mixed_sources *s = t->recorder->mixed;

	if (m == NULL || s == NULL)
		return;
	m->key = 0;
	memset(m->places, 0, sizeof(m->places));
	for (uint32_t i = 0; i < MIXED_SOURCES_MAX; i++)
		if (m->states[i] != NULL)
			s->of[i].forget(m->states[i]);
}

void
mixed_free(struct thread *t)
{
	struct mixed_thread *m = t->mixed;
	const struct mixed_sources *s = t->recorder->mixed;

	if (m == NULL || s == NULL)
		return;
	for (uint32_t i = 0; i < MIXED_SOURCES_MAX; i++)
		if (m->states[i] != NULL)
			s->of[i].free(m->states[i]);
	t->mixed = NULL;
	rt_unmap(m, sizeof(*m));
}

/* ---- putting together ---- */

/* The source that has frames now and whose code this node's is; `n` if there is none. */
static uint32_t
mixed_runs(const struct mixed_sources *s, const struct mixed_thread *m, uint32_t n,
	   const struct rec_node *node)
{
	uint32_t i = 0;

	if (node->module >> 24 != REC_NODE_PC)
		return n;
	while (i < n && (m->chains[i].n == 0 || !s->of[i].runs(&s->of[i], node->pc)))
		i++;
	return i;
}

/* Lists the native frames and decides which sources match them. How many frames; 0: there
 * are more than can be. */
static uint32_t
mixed_measure(struct recorder *r, struct mixed_thread *m, uint32_t n, uint32_t native,
	      struct mixed_meet *meets)
{
	uint32_t count[MIXED_SOURCES_MAX + 1] = {0}, depth = 0;
	bool whole = true;

	for (uint32_t i = 0; i < n; i++)
		meets[i] = (struct mixed_meet){.innermost = UINT32_MAX};
	for (uint32_t ref = native; ref != 0; depth++) {
		const struct rec_node *node = rec_at(r, ref);
		uint32_t i = mixed_runs(r->mixed, m, n, node);

		if (depth == MIXED_NATIVE_MAX)
			return 0;
		m->native[depth] = ref;
		whole = whole && node->module >> 24 != REC_NODE_ELIDED;
		count[i]++;
		if (i < n && meets[i].innermost == UINT32_MAX)
			meets[i].innermost = depth;
		ref = node->parent;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct mixed_chain *c = &m->chains[i];
		uint32_t entries = 0;

		for (uint32_t k = 0; k < c->n; k++)
			entries += c->frames[k].entry;
		/* One activation more: it has not made its frame yet. */
		meets[i].match =
			c->n == 0 || (whole && !c->cut && c->frames[0].entry &&
				      (entries == count[i] || entries + 1 == count[i]));
	}
	return depth;
}

static uint32_t
mixed_add_named(struct recorder *r, struct thread *t, uint32_t parent,
		const struct mixed_frame *f)
{
	return stacks_node(r, parent, f->name, 0, REC_NODE_NAMED, t->me);
}

static uint32_t
mixed_add_chain(struct recorder *r, struct thread *t, uint32_t parent,
		const struct mixed_chain *c)
{
	if (c->cut)
		parent = stacks_node(r, parent, 0, 0, REC_NODE_TRUNCATED, t->me);
	for (uint32_t i = 0; i < c->n; i++)
		parent = mixed_add_named(r, t, parent, &c->frames[i]);
	return parent;
}

/* Native frame number `k`, or what takes its place. */
static uint32_t
mixed_add_native(struct recorder *r, struct thread *t, uint32_t parent, uint32_t n,
		 uint32_t k, struct mixed_meet *meets)
{
	struct mixed_thread *m = t->mixed;
	const struct rec_node *node = rec_at(r, m->native[k]);
	uint32_t i = mixed_runs(r->mixed, m, n, node);
	const struct mixed_chain *c = &m->chains[i < n ? i : 0];

	if (i < n && meets[i].match && meets[i].next < c->n) {
		do
			parent = mixed_add_named(r, t, parent,
						 &c->frames[meets[i].next++]);
		while (meets[i].next < c->n && !c->frames[meets[i].next].entry);
		return parent;
	}
	if (i < n && !meets[i].match && meets[i].innermost == k)
		return mixed_add_chain(r, t, parent, c);
	return stacks_node(r, parent, node->pc, node->module & 0xffffff,
			   node->module >> 24, t->me);
}

static NOINLINE uint32_t
mixed_merge(struct recorder *r, struct thread *t, uint32_t native, uint32_t n,
	    uint32_t type)
{
	struct mixed_thread *m = t->mixed;
	struct mixed_meet meets[MIXED_SOURCES_MAX];
	uint32_t depth = mixed_measure(r, m, n, native, meets), node = 0;
	bool guessed = depth == 0;

	for (uint32_t i = 0; i < n; i++) {
		guessed = guessed || !meets[i].match;
		if (depth != 0 && !meets[i].match && m->chains[i].n > 0 &&
		    meets[i].innermost == UINT32_MAX)
			node = mixed_add_chain(r, t, node, &m->chains[i]);
	}
	if (guessed)
		rec_lost(r, REC_LOST_MIXED);
	for (uint32_t k = depth; k-- > 0;)
		node = mixed_add_native(r, t, node, n, k, meets);
	if (depth == 0)
		node = native;
	return type != 0 ? stacks_node(r, node, type, 0, REC_NODE_TYPE, t->me) : node;
}

uint32_t
mixed_node(struct recorder *r, struct thread *t, uint32_t native, bool typed)
{
	const struct mixed_sources *s = r->mixed;
	uint32_t n = __atomic_load_n(&s->n, __ATOMIC_ACQUIRE), type = 0, node;
	struct mixed_thread *m = mixed_of(t);
	uint64_t key = native;
	bool any = false;

	if (UNLIKELY(m == NULL)) {
		rec_lost(r, REC_LOST_MIXED);
		return native;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct mixed_chain *c = &m->chains[i];

		s->of[i].read(&s->of[i], r, t, &m->states[i], c);
		any = any || c->n > 0;
		if (c->n > 0)
			key = hash_pair(key, c->hash + i);
		if (typed && type == 0)
			type = c->type;
	}
	if (!any)
		return native;
	key = hash_pair(key, type) | 4; /* never 0, which says none */
	if (LIKELY(key == m->key))
		return m->node;
	node = stacks_recall(r, key);
	if (node == 0) {
		node = mixed_merge(r, t, native, n, type);
		stacks_learn(r, key, node);
	}
	m->key = 0;
	COMPILER_BARRIER();
	m->node = node;
	COMPILER_BARRIER();
	m->key = key;
	return node;
}
