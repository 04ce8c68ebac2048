/* SPDX-License-Identifier: MIT */
/* events.c -- events out of line, and the rare turns of the hot path (hot.h): a new
 * place, a module that went, a second thread, a block that is already there or not
 * there. */
#include "guest/record/events.h"

#include "guest/record/hot.h"
#include "guest/record/mixed/mixed.h"
#include "guest/record/stacks.h"
#include "guest/record/timeline.h"

/* A second thread: from now on live bytes are shared words. They start with what this
 * thread, the only one so far, has; as additions, because the other may be adding
 * already. Left by a jump it is begun anew, and adds what is missing. */
void
record_no_longer_alone(struct recorder *r, struct thread *t)
{
	r->single = false;
	__atomic_fetch_or(&r->head->flags, REC_FLAG_THREADED, __ATOMIC_RELAXED);
	timeline_show_live(r, t);
	t->flushed = t->live_bytes;
	for (uint32_t ref = t->cells; ref != 0;) {
		struct rec_cell *c = rec_at(r, ref);
		struct rec_site *site = rec_at(r, c->site);
		int64_t live = (int64_t)(c->alloc_bytes - c->free_bytes);
		int64_t delta = live - c->shown_bytes;

		c->shown_bytes = live;
		__atomic_fetch_add(&site->live_bytes, delta, __ATOMIC_RELAXED);
		ref = c->thread_next;
	}
	t->alone = false;
}

void
record_flush(struct recorder *r, struct thread *t)
{
	for (uint32_t ref = t->cells; ref != 0;) {
		struct rec_cell *c = rec_at(r, ref);

		flush_site(r, t, c);
		ref = c->thread_next;
	}
	flush_live(r, t);
}

static const int stale = 1;

void
record_check_modules(struct recorder *r)
{
	r->loader_busy = &stale;
}

COLD void
hot_changes(struct recorder *r, struct thread *t)
{
	if (*r->host->loader_busy != 0) {
		record_check_modules(r); /* come here again when the loader is done */
	} else if (r->loader_busy == &stale) {
		r->loader_busy = (const int *)r->host->loader_busy;
		if (!modules_check(r, t))
			record_check_modules(r);
	}
	if (t->alone && *r->single_threaded == 0)
		record_no_longer_alone(r, t);
}

/* `places`: where the cell is remembered, NULL = nowhere. */
static COLD struct rec_cell *
hot_place_new(struct recorder *r, struct thread *t, uint32_t node, enum rec_kind kind,
	      struct thread_place *places)
{
	static const unsigned char classes[] = {[REC_KIND_MMAP] = REC_CLASS_MMAP,
						[REC_KIND_BRK] = REC_CLASS_BRK,
						[REC_KIND_CUSTOM] = REC_CLASS_CUSTOM,
						[REC_KIND_INHERITED] =
							REC_CLASS_INHERITED};
	unsigned class = classes[kind];
	struct rec_site *site;
	struct rec_cell *cell;

	if (class != REC_CLASS_HEAP)
		node = stacks_node(r, node, class, 0, REC_NODE_CLASS, t->me);
	site = stacks_site(r, node, t->now_ms, t->me);
	if (site == NULL)
		site = stacks_site(r, r->overflow_node, 0, t->me);
	cell = cells_get(r, t, rec_ref(r, site));
	if (cell == NULL)
		return NULL;
	if (class == REC_CLASS_HEAP && places != NULL)
		places[node % THREAD_PLACES] =
			(struct thread_place){node, rec_ref(r, cell)};
	return cell;
}

/* A managed runtime is there: the native node is half of the stack. It is not what the
 * thread remembers, or the next event there would not come by here. */
static struct rec_cell *
hot_place_mixed(struct recorder *r, struct thread *t, uint32_t node, enum rec_kind kind)
{
	struct thread_place *places, *place;
	struct rec_cell *cell;

	node = mixed_node(r, t, node, kind < REC_KIND_MMAP);
	places = mixed_places(t);
	place = places != NULL ? &places[node % THREAD_PLACES] : NULL;
	if (LIKELY(place != NULL && place->node == node && kind < REC_KIND_MMAP))
		cell = rec_at(r, place->cell);
	else
		cell = hot_place_new(r, t, node, kind, places);
	if (cell != NULL && kind < REC_KIND_MMAP)
		hot_was_at(t, 0, cell);
	return cell;
}

NOINLINE struct rec_cell *
hot_place(struct recorder *r, struct thread *t, uint32_t node, enum rec_kind kind)
{
	struct rec_cell *cell;

	if (UNLIKELY(r->mixed != NULL))
		return hot_place_mixed(r, t, node, kind);
	cell = hot_place_new(r, t, node, kind, t->places);
	if (cell != NULL && kind < REC_KIND_MMAP)
		hot_was_at(t, node, cell);
	return cell;
}

/* Another thread of the parent may have freed the block while it was being listed. */
static bool
freed_by_parent(struct recorder *r, struct thread *t, uintptr_t addr)
{
	struct live_slot slot;
	unsigned kind;

	if ((r->head->flags & REC_FLAG_FORKED) == 0 || r->inherited_whole ||
	    live_find(r, t, addr, &slot) != LIVE_OK)
		return false;
	kind = slot.block->a >> REC_BLOCK_KIND_SHIFT & 15;
	live_unlock(t, &slot);
	return kind == REC_KIND_INHERITED;
}

/* An address that is still in the table was freed behind our back. */
COLD bool
hot_slot_failed(struct recorder *r, struct thread *t, uintptr_t addr,
		enum live_result got, struct live_slot *slot)
{
	if (got == LIVE_STALE) {
		if (!freed_by_parent(r, t, addr))
			__atomic_fetch_add(&r->head->frees_unseen, 1, __ATOMIC_RELAXED);
		record_free(r, t, addr);
		got = live_put(r, t, addr, slot);
		if (got == LIVE_OK)
			return true;
	}
	rec_lost(r, got == LIVE_LOCK	? REC_LOST_LOCK
		    : got == LIVE_RANGE ? REC_LOST_ADDRESS
					: REC_LOST_SPACE);
	return false;
}

COLD void
hot_free_unknown(struct recorder *r, enum live_result got)
{
	struct rec_head *h = r->head;
	bool inherited = (h->flags & REC_FLAG_FORKED) != 0 && !r->inherited_whole;

	if (got == LIVE_LOCK)
		rec_lost(r, REC_LOST_LOCK);
	else if (h->mode == REC_MODE_EXACT) /* sampled: nearly all blocks are unknown */
		__atomic_fetch_add(inherited ? &h->frees_inherited : &h->frees_unknown, 1,
				   __ATOMIC_RELAXED);
}

static bool
sampled(const struct recorder *r)
{
	return r->head->mode == REC_MODE_SAMPLE;
}

void
record_alloc_in(struct recorder *r, struct thread *t, struct rec_cell *c, uintptr_t addr,
		uint64_t bytes, enum rec_kind kind)
{
	if (sampled(r))
		hot_alloc_in(r, t, c, live_near(r, t, addr), true, addr, bytes, kind);
	else
		hot_alloc_in(r, t, c, live_near(r, t, addr), false, addr, bytes, kind);
}

void
record_alloc(struct recorder *r, struct thread *t, uintptr_t addr, uint64_t bytes,
	     enum rec_kind kind, const struct unw_start *start)
{
	if (sampled(r)) {
		if (UNLIKELY(r->modules_late))
			modules_check_late(r, t);
		hot_alloc(r, t, true, addr, bytes, kind, start);
	} else {
		hot_alloc(r, t, false, addr, bytes, kind, start);
	}
}

bool
record_free_block(struct recorder *r, struct thread *t, uintptr_t addr,
		  struct hot_gone *ret_gone)
{
	if (UNLIKELY(!hot_free_find(r, t, addr, ret_gone)))
		return false;
	if (sampled(r))
		hot_free_end(r, t, true, addr, ret_gone);
	else
		hot_free_end(r, t, false, addr, ret_gone);
	return true;
}

void
record_free(struct recorder *r, struct thread *t, uintptr_t addr)
{
	struct hot_gone gone;

	record_free_block(r, t, addr, &gone);
}
