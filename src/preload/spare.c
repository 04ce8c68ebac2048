/* SPDX-License-Identifier: MIT */
/* spare.c -- see spare.h; by the names that LeakSanitizer has for it.
 *
 * A list of addresses in a mapping of our own, which the tool reads when it looks. An entry is not taken back when its
 * block is freed: it counts only as long as a block of the same size is there, and then for
 * that. So a leak may be spared by chance, but none is made up. */
#include "preload/spare.h"

#include "preload/gate.h"
#include "preload/hold.h"
#include "rt/rt_map.h"

#include <string.h>

enum { LEAST = 1024 };

static struct rec_spare *list;
static uint32_t used, most, lost;
static uint32_t list_lock;

/* How deep each thread is in __lsan_disable: few ever are. */
enum { THREADS = 64 };
static struct {
	uint32_t who, depth;
} off[THREADS];
static uint32_t offs; /* how many are */

void
spare_tell(struct rec_hold *d)
{
	d->spares = (uintptr_t)list;
	d->nspares = used;
	d->spares_lost = lost;
}

/* Locked. */
static bool
grow(void)
{
	uint32_t n = most > 0 ? 2 * most : LEAST;
	struct rec_spare *larger = rt_map(n * sizeof(*larger)), *old = list;

	if (larger == NULL)
		return false;
	if (old != NULL)
		memcpy(larger, old, used * sizeof(*old));
	list = larger;
	hold_tell();
	rt_unmap(old, most * sizeof(*old));
	most = n;
	return true;
}

static void
add(uint64_t start, uint64_t bytes)
{
	if (!lock_take(&list_lock, lock_id()))
		return;
	if (used < most || grow()) {
		list[used] = (struct rec_spare){start, bytes};
		used++;
	} else {
		lost++;
	}
	hold_tell();
	lock_drop(&list_lock);
}

static void
take_back(uint64_t start, uint64_t bytes)
{
	if (!lock_take(&list_lock, lock_id()))
		return;
	for (uint32_t i = 0; i < used; i++) {
		if (list[i].start == start && list[i].bytes == bytes) {
			list[i] = list[--used];
			break;
		}
	}
	hold_tell();
	lock_drop(&list_lock);
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

/* Values of head.paused: whether malloc takes its shortest way, on which nobody is told of anything. */
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
