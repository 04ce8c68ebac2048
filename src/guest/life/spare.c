/* SPDX-License-Identifier: MIT */
/* spare.c -- see spare.h; by the names that LeakSanitizer has for it.
 *
 * A table of addresses in a mapping of our own, which the tool reads when it looks,
 * vacant entries and all. An entry is not taken back when its block is freed: it counts
 * only as long as a block of the same size is there, and then for that. So a leak may be
 * spared by chance, but none is made up. The next block at the address has the same
 * entry, so the table does not grow with the number of calls. */
#include "guest/life/spare.h"

#include "guest/hooks/gate.h"
#include "guest/life/hold.h"
#include "guest/rt/lock_once.h"
#include "guest/rt/rt_map.h"
#include "shared/hash.h"

#include <string.h>

enum { LEAST = 1024, MOST = 1 << 22 };

#define WAS_TAKEN_BACK 1 /* rec_spare.start: no address of anything */

static struct rec_spare *table;
static uint32_t used, slots, lost;
static struct lock_once table_lock;

/* How deep each thread is in __lsan_disable: few ever are. */
enum { THREADS = 64 };
static struct {
	uint32_t who, depth;
} off[THREADS];
static uint32_t offs; /* how many are */

void
spare_tell(struct rec_hold *d)
{
	/* In this order: there are never more than the table has. */
	d->nspares = __atomic_load_n(&slots, __ATOMIC_ACQUIRE);
	d->spares = (uintptr_t)__atomic_load_n(&table, __ATOMIC_RELAXED);
	d->spares_lost = lost;
}

/* The entry for it, or the first vacant one on the way there. */
static struct rec_spare *
entry_of(struct rec_spare *in, uint32_t n, uint64_t start, uint64_t bytes)
{
	uint32_t at = (uint32_t)hash_u64(start) & (n - 1);
	struct rec_spare *e;

	for (;; at = (at + 1) & (n - 1)) {
		e = &in[at];
		if (e->start == 0 ||
		    (e->start == start && ((e->bytes ^ bytes) & REC_SPARE_REGION) == 0))
			return e;
	}
}

/* Locked. Half of it stays vacant, and `used` is never less than it is: whoever looks for
 * an entry finds an end even where a handler has left this for good. */
static bool
grow(void)
{
	uint32_t n = slots > 0 ? 2 * slots : LEAST, kept = 0, before = slots;
	struct rec_spare *larger = n <= MOST ? rt_map(n * sizeof(*larger)) : NULL;
	struct rec_spare *old = table;

	if (larger == NULL)
		return false;
	for (uint32_t i = 0; i < slots; i++) {
		if (old[i].start > WAS_TAKEN_BACK) {
			*entry_of(larger, n, old[i].start, old[i].bytes) = old[i];
			kept++;
		}
	}
	__atomic_store_n(&table, larger, __ATOMIC_RELAXED);
	__atomic_store_n(&slots, n, __ATOMIC_RELEASE);
	COMPILER_BARRIER();
	used = kept;
	hold_tell();
	rt_unmap(old, before * sizeof(*old));
	return true;
}

/* Quiet already; `was` is what tls.busy had been. A busy thread that holds the lock is a
 * handler on top of ourselves, and must not touch anything. One that has left us by
 * longjmp is busy no longer, once it has allocated something. */
static bool
table_take(uintptr_t was)
{
	uint32_t me = lock_id();

	return (was == 0 || __atomic_load_n(&table_lock.word, __ATOMIC_RELAXED) != me) &&
	       lock_once_take(&table_lock, me);
}

static void
add_locked(uint64_t start, uint64_t bytes)
{
	struct rec_spare *e;

	if (used < slots / 2 || grow()) {
		e = entry_of(table, slots, start, bytes);
		used += e->start == 0;
		COMPILER_BARRIER();
		*e = (struct rec_spare){start, bytes};
	} else {
		lost++;
	}
	hold_tell();
}

/* Quiet, as is take_back: what a handler allocates meanwhile must not come here. */
static NOINLINE void
add(uint64_t start, uint64_t bytes)
{
	uintptr_t was = gate_quiet(GATE_CFA());

	if (table_take(was)) {
		add_locked(start, bytes);
		lock_once_drop(&table_lock);
	} else {
		__atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
	}
	gate_unquiet(was);
}

static NOINLINE void
take_back(uint64_t start, uint64_t bytes)
{
	uintptr_t was = gate_quiet(GATE_CFA());
	struct rec_spare *e;

	if (table_take(was)) {
		e = slots > 0 ? entry_of(table, slots, start, bytes) : NULL;
		if (e != NULL && e->start == start && e->bytes == bytes)
			*e = (struct rec_spare){WAS_TAKEN_BACK, 0};
		lock_once_drop(&table_lock);
	}
	gate_unquiet(was);
}

void
spare_forked(void)
{
	lock_once_forked(&table_lock, lock_id());
}

/* ---- threads that want theirs spared ---- */

/* The slot of this thread, or a free one for it; THREADS: there is none. */
static unsigned
slot_of(uint32_t me, bool take)
{
	for (unsigned i = 0; i < THREADS; i++) {
		if (__atomic_load_n(&off[i].who, __ATOMIC_RELAXED) == me)
			return i;
	}
	for (unsigned i = 0; take && i < THREADS; i++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(&off[i].who, &none, me, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			return i;
	}
	return THREADS;
}

void
spare_allocated(const void *p, size_t bytes)
{
	if (__atomic_load_n(&offs, __ATOMIC_RELAXED) > 0 && p != NULL &&
	    slot_of(lock_id(), false) < THREADS)
		add((uintptr_t)p, bytes);
}

/* Values of head.paused: whether malloc takes its shortest way, on which nobody is told
 * of anything. */
enum heed { HEED_NONE = 0, HEED_ALL = 2 };

static void
switch_heed(uint32_t from, uint32_t to)
{
	struct recorder *r = recorder_now;

	if (r->base != NULL)
		__atomic_compare_exchange_n(&r->head->paused, &from, to, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

SEEP_EXPORT void __lsan_disable(void);
SEEP_EXPORT void
__lsan_disable(void)
{
	unsigned i = slot_of(lock_id(), true);

	if (i == THREADS)
		return;
	off[i].depth++;
	if (off[i].depth > 1)
		return;
	__atomic_fetch_add(&offs, 1, __ATOMIC_RELAXED);
	gate.peer_looks = true; /* from now on we are told of allocations (gate_tell) */
	switch_heed(HEED_NONE, HEED_ALL);
}

SEEP_EXPORT void __lsan_enable(void);
SEEP_EXPORT void
__lsan_enable(void)
{
	unsigned i = slot_of(lock_id(), false);

	if (i == THREADS || --off[i].depth > 0)
		return;
	if (__atomic_sub_fetch(&offs, 1, __ATOMIC_RELAXED) == 0)
		switch_heed(HEED_ALL, HEED_NONE);
	__atomic_store_n(&off[i].who, 0, __ATOMIC_RELAXED);
}

/* ---- the rest of LeakSanitizer's names ---- */

SEEP_EXPORT void __lsan_ignore_object(const void *p);
SEEP_EXPORT void
__lsan_ignore_object(const void *p)
{
	if (p != NULL)
		add((uintptr_t)p, REC_SPARE_ANY_SIZE);
}

SEEP_EXPORT void __lsan_register_root_region(const void *p, size_t bytes);
SEEP_EXPORT void
__lsan_register_root_region(const void *p, size_t bytes)
{
	if (p != NULL && bytes > 0)
		add((uintptr_t)p, bytes | REC_SPARE_REGION);
}

SEEP_EXPORT void __lsan_unregister_root_region(const void *p, size_t bytes);
SEEP_EXPORT void
__lsan_unregister_root_region(const void *p, size_t bytes)
{
	take_back((uintptr_t)p, bytes | REC_SPARE_REGION);
}
