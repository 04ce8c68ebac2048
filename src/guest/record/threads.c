/* SPDX-License-Identifier: MIT */
/* threads.c -- threads come and go.
 *
 * A thread attaches at its first event and detaches when it ends. What a live thread
 * holds: a record in the recording (1 KiB, with the journal), a private mapping (caches,
 * memo), and a cell at each site it touched. All three are used again by later threads,
 * so the number of threads that ever lived does not matter, only how many live at
 * once. */
#include "guest/record/threads.h"

#include "guest/record/cells.h"
#include "guest/record/events.h"
#include "guest/record/file/space.h"
#include "guest/record/mixed/mixed.h"
#include "guest/record/ticks.h"
#include "guest/rt/rt_map.h"

#include <string.h>
#include <sys/prctl.h>

enum { LOCK_THREADS = 2 };

/* A record: one that an ended thread left, or a new one. */
static struct rec_thread *
row_take(struct recorder *r, uint32_t me)
{
	struct rec_head *h = r->head;
	struct rec_thread *row = NULL;

	if (lock_take(&h->locks[LOCK_THREADS], me)) {
		if (h->free_threads != 0) {
			row = rec_checked(r, h->free_threads, sizeof(*row));
			/* One that is in use, or none at all: the list is given up. */
			if (row != NULL &&
			    (((uint64_t)h->free_threads * 8) % sizeof(*row) != 0 ||
			     row->state != REC_THREAD_FREE || row->serial == 0))
				row = NULL;
			h->free_threads = row != NULL ? row->next_free : 0;
		}
		lock_drop(&h->locks[LOCK_THREADS]);
	}
	if (row == NULL)
		row = space_alloc(r, REC_CHUNK_THREAD, sizeof(*row), me);
	return row;
}

static struct thread *
state_take(struct recorder *r, uint32_t me)
{
	size_t own = ALIGN_UP(sizeof(struct thread), 4096ul);
	size_t bytes = own + unw_thread_bytes();
	struct thread *t = NULL;

	if (__atomic_load_n(&r->idle, __ATOMIC_RELAXED) != NULL &&
	    lock_take(&r->idle_lock, me)) {
		t = r->idle;
		if (t != NULL)
			__atomic_store_n(&r->idle, t->next_idle, __ATOMIC_RELAXED);
		lock_drop(&r->idle_lock);
	}
	if (t != NULL)
		return t;
	t = rt_map(bytes);
	if (t == NULL)
		return NULL;
	t->mapped_bytes = bytes;
	t->unw = (struct unw_thread *)(void *)((unsigned char *)t + own);
	__atomic_fetch_add(&r->head->own_kib, 16, __ATOMIC_RELAXED);
	return t;
}

static void
state_give(struct recorder *r, struct thread *t, uint32_t me)
{
	if (!lock_take(&r->idle_lock, me))
		return;
	t->next_idle = r->idle;
	__atomic_store_n(&r->idle, t, __ATOMIC_RELAXED);
	lock_drop(&r->idle_lock);
}

/* How far down the stack reaches is not known without asking libc; but what lies less
 * than a megabyte below what was seen of it is taken for the same stack. */
void
threads_stack_grew(struct thread *t, uintptr_t sp)
{
	if (t->stack_low != UINTPTR_MAX && t->stack_low - sp > 1 << 20)
		return;
	t->stack_low = sp - (64 << 10);
	t->row->stack_low = t->stack_low;
	t->row->stack_top = t->stack_top;
	unw_thread_bounds(t->unw, t->stack_low, t->stack_top);
}

void
threads_forget(struct thread *t)
{
	for (unsigned i = 0; i < LIVE_LEAVES; i++)
		t->leaves[i].region = 0;
	t->page_before = NULL;
	memset(t->places, 0, sizeof(t->places));
	t->last_node = 0;
	t->last_site = 0;
	t->last_cell = NULL;
	t->recent[0].addr = t->recent[1].addr = 0;
	t->pending_block = NULL;
	t->freeing.addr = 0;
	mixed_forget(t);
}

/* Live bytes by the thread's cells, without what was inherited. */
static int64_t
recount(const struct recorder *r, const struct thread *t)
{
	int64_t live = 0;

	for (uint32_t ref = t->cells; ref != 0;) {
		const struct rec_cell *c = rec_at(r, ref);
		const struct rec_site *site = rec_at(r, c->site);
		const struct rec_node *n = rec_at(r, site->node);

		if (n->module >> 24 != REC_NODE_CLASS || n->pc != REC_CLASS_INHERITED)
			live += (int64_t)(c->alloc_bytes - c->free_bytes);
		ref = c->thread_next;
	}
	return live;
}

void
threads_jumped(struct recorder *r, struct thread *t)
{
	struct rec_thread *row = t->row;
	int64_t live;

	for (uint32_t i = row->journal_count; i-- > 0 && i < REC_JOURNAL_MAX;) {
		uint64_t off = row->journal[i].off;

		if (off <= r->bytes - sizeof(uint64_t) && off % sizeof(uint64_t) == 0)
			*(uint64_t *)(void *)(r->base + off) = row->journal[i].old;
	}
	row->journal_count = 0;
	for (unsigned i = 0; i < ARRAY_LEN(r->head->locks); i++)
		lock_drop_own(&r->head->locks[i], t->me);
	lock_drop_own(&r->idle_lock, t->me);
	threads_forget(t);
	record_check_modules(r);
	unw_thread_bounds(t->unw, t->stack_low, t->stack_top);
	live = recount(r, t);
	if (!t->alone) {
		row->unflushed = live - t->flushed;
		return;
	}
	t->live_bytes = live;
	if (r->single && *r->single_threaded != 0) {
		t->live_shown = live;
		__atomic_store_n(&r->head->live_bytes, live, __ATOMIC_RELAXED);
	}
}

/* How many there are at the same time: each may have a few KiB that are in no common
 * figure yet. */
static void
count_most(struct rec_head *h)
{
	uint64_t seen = __atomic_load_n(&h->threads_seen, __ATOMIC_RELAXED);
	uint64_t ended = __atomic_load_n(&h->threads_ended, __ATOMIC_RELAXED);
	uint32_t now = seen > ended ? (uint32_t)(seen - ended) : 0;
	uint32_t most = __atomic_load_n(&h->threads_most, __ATOMIC_RELAXED);

	while (now > most &&
	       !__atomic_compare_exchange_n(&h->threads_most, &most, now, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

void
threads_free(struct thread *t)
{
	mixed_free(t);
	rt_unmap(t->cell_slots, (t->cell_mask + 1) * sizeof(*t->cell_slots));
	rt_unmap(t, t->mapped_bytes);
}

struct thread *
threads_attach(struct recorder *r, bool late)
{
	struct rec_head *h = r->head;
	uint32_t me = lock_id();
	struct thread *t = state_take(r, me);
	struct rec_thread *row = t == NULL ? NULL : row_take(r, me);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (row == NULL) {
		if (t != NULL)
			state_give(r, t, me);
		rec_lost(r, REC_LOST_THREAD);
		return NULL;
	}
	t->row = row;
	t->row_ref = rec_ref(r, row);
	t->me = me;
	t->recorder = r;
	threads_forget(t);
	t->clock_seen = __atomic_load_n(&h->clock_ms, __ATOMIC_RELAXED);
	t->now_ms = t->clock_seen;
	/* No tool? Then the very first event reads the clock. */
	t->clock_same = CLOCK_UNMOVED + CLOCK_EVERY - 1;
	t->late = late;
	t->serial = late ? UINT32_MAX
			 : (uint32_t)__atomic_add_fetch(&h->threads_seen, 1,
							__ATOMIC_RELAXED);
	if (!late)
		count_most(h);
	row->tid = rt_sealed ? 0 : (uint32_t)sys_gettid();
	row->serial = t->serial;
	row->unflushed = 0;
	row->started_ms = t->now_ms;
	memset(row->name, 0, sizeof(row->name));
	if (!rt_sealed)
		SYS2(SYS_prctl, PR_GET_NAME, row->name);
	__atomic_store_n(&row->state, REC_THREAD_LIVE, __ATOMIC_RELEASE);
	unw_thread_init(t->unw, r->unw, t);
	t->stack_top = r->host->stack_top(here);
	t->stack_low = UINTPTR_MAX;
	threads_stack_grew(t, here);
	t->live_bytes = t->live_shown = t->flushed = 0;
	t->alone = t->serial == 1 && r->single;
	if (!t->alone && r->single) {
		static const char threads;

		r->single = false;
		r->single_threaded =
			&threads; /* the first thread sees it at its next event */
		__atomic_fetch_or(&h->flags, REC_FLAG_THREADED, __ATOMIC_RELAXED);
	}
	return t;
}

void
threads_detach(struct recorder *r, struct thread *t)
{
	struct rec_head *h = r->head;
	struct rec_thread *row = t->row;
	uint32_t me = lock_id();

	if (t->alone) /* the first thread ends, others go on */
		record_no_longer_alone(r, t);
	record_flush(r, t); /* many short threads make a peak too */
	cells_fold(r, t);
	row->journal_count = 0;
	__atomic_store_n(&row->state, REC_THREAD_FREE, __ATOMIC_RELEASE);
	if (!t->late)
		__atomic_fetch_add(&h->threads_ended, 1, __ATOMIC_RELAXED);
	if (lock_take(&h->locks[LOCK_THREADS], me)) {
		row->next_free = h->free_threads;
		h->free_threads = rec_ref(r, row);
		lock_drop(&h->locks[LOCK_THREADS]);
	}
	state_give(r, t, me);
}
