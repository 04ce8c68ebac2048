/* SPDX-License-Identifier: MIT */
/* resize.c -- realloc: one block freed and one allocated, seen by a reader as one change.
 *
 * The old block leaves the table before the real call, because another thread may be
 * handed its address while that runs. But its removal stays in the journal, open, across
 * the call: a reader meanwhile puts it back and sees the state before. After the call the
 * rest of the step joins the same journal and one commit ends all of it. The old slot
 * stays reserved until then; a block that stayed where it was gets it again.
 *
 * Exact mode only: a sampled resize is a free and an allocation with a fresh draw, each a
 * step. */
#include "guest/record/events.h"
#include "guest/record/hot.h"

bool
record_resize_begin(struct recorder *r, struct thread *t, uintptr_t addr)
{
	enum live_result got;
	struct step s;

	t->pending_block = NULL;
	hot_look_around(r, t);
	got = hot_find(r, t, addr, &t->pending, &t->pending_temporary);
	if (got != LIVE_OK) {
		hot_free_unknown(r, got);
		return false;
	}
	t->pending_addr = addr;
	t->pending_b = t->pending.block->b;
	t->pending_block = t->pending.block;
	s = step_begin(r, t);
	jot(&s, &t->pending_block->b);
	publish(&s);
	__atomic_store_n(&t->pending_block->b, 0, __ATOMIC_RELAXED);
	live_unlock(t, &t->pending);
	return true;
}

/* The step is off: the block is where it was. */
static void
put_back(struct thread *t)
{
	__atomic_store_n(&t->pending_block->b, t->pending_b, __ATOMIC_RELAXED);
	COMPILER_BARRIER();
	*(volatile uint32_t *)&t->row->journal_count = 0;
	t->pending_block = NULL;
}

void
record_resize_fail(struct recorder *r, struct thread *t)
{
	(void)r;
	if (t->pending_block != NULL)
		put_back(t);
}

void
record_resize_freed(struct recorder *r, struct thread *t)
{
	if (t->pending_block == NULL)
		return;
	put_back(t);
	record_free(r, t, t->pending_addr);
}

/* Both halves in one step. `a` is the entry's word for the new block. */
static void
both_halves(struct recorder *r, struct thread *t, struct rec_cell *old,
	    struct rec_cell *new, uint64_t a, struct live_slot *slot)
{
	uint64_t bytes = a & REC_BLOCK_SIZE_MASK;
	uint64_t old_bytes = t->pending_block->a & REC_BLOCK_SIZE_MASK;
	int64_t gone = (int64_t)block_own(t->pending_block->a, old_bytes);
	struct amount minus = {.bytes = old_bytes}, plus = {.bytes = bytes};
	unsigned age = t->pending_temporary ? REC_LIFE_TEMPORARY
					    : life_bucket(t->now_ms, t->pending_b);
	struct rec_site *site = rec_at(r, new->site);
	struct step s = step_begin(r, t);
	struct cell_word life, size;

	/* First for both, which may be one and the same: the words stay where they are
	 * then. */
	cells_make_hist(r, old, t->me);
	cells_make_hist(r, new, t->me);
	life = cells_life(r, old, age, t->me);
	size = cells_size(r, new, size_bucket(bytes), t->me);
	s.at++; /* the old block's word b is in the journal already */
	jot(&s, &slot->block->a);
	jot_free(&s, old, age, &life, false);
	s.at = jot_stamp(s, old);
	/* Undone last to first, so words noted twice, in one cell, are harmless. */
	jot_alloc(&s, new, slot->block, &size, false);
	s.at = jot_stamp(s, new);
	if (t->alone)
		s.at = jot_peak(s, site);
	publish(&s);
	if (old->stamp != s.stamp)
		renew_stamp(r, s.stamp, old, t->me);
	do_free(old, age, &life, false, &minus);
	if (new->stamp != s.stamp)
		renew_stamp(r, s.stamp, new, t->me);
	__atomic_store_n(&slot->block->a, a, __ATOMIC_RELAXED);
	do_alloc(new, slot->block, (uint64_t) new->site | t->now_ms << 32, &size, false,
		 &plus);
	if (t->alone) {
		t->live_bytes += (int64_t)bytes - gone;
		set_peak(r, t, new);
	}
	commit(&s);
	if (!t->alone) {
		add_shared(r, t, old, -gone);
		add_shared(r, t, new, (int64_t)bytes);
	}
}

void
record_resize_end(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes,
		  enum rec_kind kind, const struct unw_start *start)
{
	struct rec_cell *old, *new;
	struct live_slot slot = t->pending;
	bool moved = addr != t->pending_addr;
	uint64_t a = hot_word_a(t, false, addr, bytes, kind);

	if (t->pending_block == NULL) { /* never seen, or its lock was held too long */
		record_alloc(r, t, addr, bytes, kind, start);
		return;
	}
	clock_now(r, t);
	new = hot_cell(r, t, kind, start);
	old = hot_cell_at(r, t, (uint32_t)t->pending_b);
	if (new == NULL || old == NULL) {
		rec_lost(r, REC_LOST_SPACE);
		record_resize_freed(r, t);
		return;
	}
	if (moved && live_put(r, t, addr, &slot) != LIVE_OK) {
		/* no room, or a stale block in the way: in two steps then */
		record_resize_freed(r, t);
		record_alloc(r, t, addr, bytes, kind, start);
		return;
	}
	both_halves(r, t, old, new, a, &slot);
	t->pending_block = NULL;
	if (moved) {
		t->pending.block->a = hot_grave(t->pending.block->a, t->pending_b);
		live_clear_late(r, t, &t->pending, t->pending_addr);
	}
	hot_remember(t, addr, &slot, a);
}
