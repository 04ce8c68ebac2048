/* SPDX-License-Identifier: MIT */
/* hot.h -- an allocation and a free from end to end, to be inlined into the hooks.
 *
 * An allocation: the stack (unwind_fast.h: usually the one before), the thread's cell
 * there, a slot of the block table which no reader sees yet; then one step (step.h) fills
 * it and counts it. A free is the same in reverse, with the page locked from the look-up
 * on, so that two frees of one address cannot both count. A block freed right after it
 * was allocated is found without a search.
 *
 * The `sampled` variants are the same code with weights instead of ones (sample.c). */
#ifndef SEEP_HOT_H
#define SEEP_HOT_H

#include "guest/record/cells.h"
#include "guest/record/events.h"
#include "guest/record/livetable.h"
#include "guest/record/modules.h"
#include "guest/record/step.h"
#include "guest/record/threads.h"
#include "guest/record/ticks.h"
#include "guest/unwind/unwind_fast.h"

/* events.c: the rare turns. */
struct rec_cell *hot_place(struct recorder *r, struct thread *t, uint32_t node,
			   enum rec_kind kind);
void hot_changes(struct recorder *r, struct thread *t);
bool hot_slot_failed(struct recorder *r, struct thread *t, uintptr_t addr,
		     enum live_result got, struct live_slot *slot);
void hot_free_unknown(struct recorder *r, enum live_result got);

/* Modules come and go; a second thread appears. */
static ALWAYS_INLINE void
hot_look_around(struct recorder *r, struct thread *t)
{
	if (UNLIKELY(*r->loader_busy != 0 || (t->alone && *r->single_threaded == 0)))
		hot_changes(r, t);
}

/* The next event is likely to be at the same place. */
static ALWAYS_INLINE void
hot_was_at(struct thread *t, uint32_t node, struct rec_cell *cell)
{
	t->last_node = node;
	t->last_cell = cell;
	t->last_site = cell->site;
}

static ALWAYS_INLINE struct rec_cell *
hot_cell(struct recorder *r, struct thread *t, enum rec_kind kind,
	 const struct unw_start *start)
{
	uint32_t node = unw_hit(t->unw, start);

	if (UNLIKELY(node == 0)) {
		if (UNLIKELY(start->sp < t->stack_low))
			threads_stack_grew(t, start->sp);
		node = unw_walk(t->unw, start);
	}
	if (kind >= REC_KIND_MMAP)
		return hot_place(r, t, node, kind);
	if (UNLIKELY(node != t->last_node)) {
		const struct thread_place *place = &t->places[node % THREAD_PLACES];

		if (UNLIKELY(place->node != node))
			return hot_place(r, t, node, kind);
		hot_was_at(t, node, rec_at(r, place->cell));
	}
	return t->last_cell;
}

static ALWAYS_INLINE struct rec_cell *
hot_cell_at(struct recorder *r, struct thread *t, uint32_t site_ref)
{
	if (LIKELY(site_ref == t->last_site))
		return t->last_cell;
	return cells_get(r, t, site_ref);
}

/* A sampled block: the number of its rate; and its thread, where nobody but us reads
 * it. */
static inline uint64_t
hot_sample_tag(const struct thread *t)
{
	const struct recorder *r = t->recorder;

	return r->rate_number | (r->tag_threads ? t->serial * REC_RATES_MAX & 0xffff : 0);
}

static ALWAYS_INLINE uint64_t
hot_word_a(struct thread *t, bool sampled, uintptr_t addr, uint64_t bytes,
	   enum rec_kind kind)
{
	uint64_t who = sampled ? hot_sample_tag(t) : t->serial & 0xffff;

	return (bytes & REC_BLOCK_SIZE_MASK) |
	       (uint64_t)(addr & 15) << REC_BLOCK_LOW_SHIFT |
	       (uint64_t)kind << REC_BLOCK_KIND_SHIFT | who << REC_BLOCK_THREAD_SHIFT;
}

static ALWAYS_INLINE void
hot_remember(struct thread *t, uintptr_t addr, const struct live_slot *slot, uint64_t a)
{
	struct recent *rec = &t->recent[t->turn];

	/* Word by word: copied as a vector it would wait for its halves to be stored. */
	rec->slot.first = slot->first;
	rec->slot.bucket = slot->bucket;
	rec->slot.block = slot->block;
	rec->slot.bit = slot->bit;
	rec->addr = addr;
	rec->a = a; /* the entry's; read back from there it might be waited for */
	t->turn ^= 1;
}

/* Count a block in cell `c`, whose slot has been reserved. */
static ALWAYS_INLINE void
hot_alloc_step(struct recorder *r, struct thread *t, struct rec_cell *c, bool sampled,
	       uint64_t bytes, struct live_slot *slot)
{
	struct amount n = amount_of(r, sampled, bytes, sampled ? r->rate_number : 0);
	struct cell_word size = cells_size(r, c, size_bucket(bytes), t->me);
	struct step s = step_begin(r, t);
	int64_t site_live = (int64_t)(c->alloc_bytes + n.bytes - c->free_bytes);
	bool stale = c->stamp != s.stamp;
	bool peak = false;

	jot_alloc(&s, c, slot->block, &size, sampled);
	if (UNLIKELY(stale))
		s.at = jot_stamp(s, c);
	if (LIKELY(t->alone)) {
		struct rec_site *site = rec_at(r, c->site);

		t->live_bytes += (int64_t)n.bytes;
		peak = t->live_bytes > r->head->peak_bytes ||
		       site_live > site->peak_bytes;
		if (UNLIKELY(peak))
			s.at = jot_peak(s, site);
	}
	publish(&s);
	if (UNLIKELY(stale))
		renew_stamp(r, s.stamp, c, t->me);
	do_alloc(c, slot->block, (uint64_t)c->site | t->now_ms << 32, &size, sampled, &n);
	if (UNLIKELY(peak))
		set_peak(r, t, c);
	commit(&s);
	if (!t->alone)
		add_shared(r, t, c, (int64_t)n.bytes);
}

static ALWAYS_INLINE void
hot_alloc_in(struct recorder *r, struct thread *t, struct rec_cell *c,
	     struct rec_bucket *first, bool sampled, uintptr_t addr, uint64_t bytes,
	     enum rec_kind kind)
{
	struct live_slot slot;
	enum live_result got = live_put_at(r, t, first, addr, &slot);
	uint64_t a;

	if (UNLIKELY(got != LIVE_OK) && !hot_slot_failed(r, t, addr, got, &slot))
		return;
	a = hot_word_a(t, sampled, addr, bytes, kind);
	__atomic_store_n(&slot.block->a, a, __ATOMIC_RELAXED);
	hot_alloc_step(r, t, c, sampled, bytes, &slot);
	hot_remember(t, addr, &slot, a);
	if (sampled)
		sample_filter_add(r->sample, addr);
}

static ALWAYS_INLINE void
hot_alloc(struct recorder *r, struct thread *t, bool sampled, uintptr_t addr,
	  uint64_t bytes, enum rec_kind kind, const struct unw_start *start)
{
	struct rec_bucket *first;
	struct rec_cell *c;

	hot_look_around(r, t);
	first = live_prefetch(r, t, addr);
	if (sampled)
		clock_sampled(r, t);
	else
		clock_now(r, t);
	c = hot_cell(r, t, kind, start);
	if (LIKELY(c != NULL))
		hot_alloc_in(r, t, c, first, sampled, addr, bytes, kind);
	else
		rec_lost(r, REC_LOST_SPACE);
}

/* The block at `addr`, locked. *ret_temporary: it is one of the thread's last two. */
static ALWAYS_INLINE enum live_result
hot_find(struct recorder *r, struct thread *t, uintptr_t addr, struct live_slot *ret,
	 bool *ret_temporary)
{
	struct recent *rec = &t->recent[t->turn ^ 1]; /* the newest */

	if (rec->addr != addr)
		rec = &t->recent[t->turn];
	if (LIKELY(rec->addr == addr)) {
		rec->addr = 0;
		ret->first = rec->slot.first;
		ret->bucket = rec->slot.bucket;
		ret->block = rec->slot.block;
		ret->bit = rec->slot.bit;
		if (!live_lock(t, ret->first))
			return LIVE_LOCK;
		/* Still this block? Another thread may have freed it, and the slot been
		 * used again. */
		*ret_temporary = ret->block->b != 0 && ret->block->a == rec->a &&
				 live_offs(ret->bucket)[__builtin_ctzll(ret->bit)] ==
					 (uint8_t)(addr >> 4);
		if (LIKELY(*ret_temporary))
			return LIVE_OK;
		live_unlock(t, ret);
	}
	*ret_temporary = false;
	return live_find(r, t, addr, ret);
}

/* What stays in the slot of a block that was freed, until it is used again: site and
 * size, for whoever frees it twice (errors.c). No reader looks at the word while `b` is
 * 0. */
static ALWAYS_INLINE uint64_t
hot_grave(uint64_t a, uint64_t b)
{
	return (uint32_t)b | a << 32;
}

/* Leaves it there. Both words come from memory, where the step has them still: held in
 * registers until here they would cost more than all the rest of it. The first note is of
 * the word `b`. */
static ALWAYS_INLINE void
hot_bury(struct thread *t, struct rec_block *block)
{
	uint64_t a = *(volatile uint64_t *)&block->a;
	uint64_t b = *(volatile uint64_t *)&t->row->journal[0].old;

	block->a = hot_grave(a, b);
}

/* The block that is being freed: found, its page locked. */
struct hot_gone {
	struct live_slot slot;
	uint64_t a, b; /* its entry */
	bool temporary;
};

/* First half of a free. False: there is no such block, and that was counted. */
static ALWAYS_INLINE bool
hot_free_find(struct recorder *r, struct thread *t, uintptr_t addr, struct hot_gone *ret)
{
	enum live_result got;

	hot_look_around(r, t);
	got = hot_find(r, t, addr, &ret->slot, &ret->temporary);
	if (UNLIKELY(got != LIVE_OK)) {
		hot_free_unknown(r, got);
		return false;
	}
	ret->a = ret->slot.block->a;
	ret->b = ret->slot.block->b;
	return true;
}

/* Second half: it is taken out. */
static ALWAYS_INLINE void
hot_free_end(struct recorder *r, struct thread *t, bool sampled, uintptr_t addr,
	     struct hot_gone *gone)
{
	uint64_t a = gone->a, b = gone->b;
	struct rec_cell *c;
	struct cell_word life;
	struct amount n;
	struct step s;
	unsigned bucket;
	bool stale;

	if (sampled)
		clock_sampled(r, t);
	else
		clock_glance(r, t);
	c = hot_cell_at(r, t, (uint32_t)b);
	if (UNLIKELY(c ==
		     NULL)) { /* no room to count it: the block stays, and that is said */
		live_unlock(t, &gone->slot);
		rec_lost(r, REC_LOST_SPACE);
		return;
	}
	n = amount_of(r, sampled, a & REC_BLOCK_SIZE_MASK, a >> REC_BLOCK_THREAD_SHIFT);
	bucket = gone->temporary ? REC_LIFE_TEMPORARY : life_bucket(t->now_ms, b);
	life = cells_life(r, c, bucket, t->me);
	s = step_begin(r, t);
	stale = c->stamp != s.stamp;
	jot(&s, &gone->slot.block->b);
	jot_free(&s, c, bucket, &life, sampled);
	if (UNLIKELY(stale))
		s.at = jot_stamp(s, c);
	publish(&s);
	if (UNLIKELY(stale))
		renew_stamp(r, s.stamp, c, t->me);
	__atomic_store_n(&gone->slot.block->b, 0, __ATOMIC_RELAXED);
	do_free(c, bucket, &life, sampled, &n);
	commit(&s);
	if (!sampled)
		hot_bury(t, gone->slot.block);
	live_clear_unlock(t, &gone->slot, addr);
	if (!sampled)
		n.bytes = block_own(a, n.bytes);
	if (LIKELY(t->alone))
		t->live_bytes -= (int64_t)n.bytes;
	else
		add_shared(r, t, c, -(int64_t)n.bytes);
	if (sampled)
		sample_filter_del(r->sample, addr);
}

#endif
