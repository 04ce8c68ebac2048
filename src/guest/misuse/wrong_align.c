/* SPDX-License-Identifier: MIT */
/* wrong_align.c -- see wrong_align.h.
 *
 * The table of live blocks has no room for it, and few programs need it: a table of its
 * own, made with the first such block, in sets of four. When a set is full, nothing is
 * said of alignments any more. */
#include "guest/misuse/wrong_align.h"

#include "guest/rt/lock.h"
#include "guest/rt/rt_map.h"
#include "shared/hash.h"

enum { SETS = 1 << 14, WAYS = 4 };

struct entry {
	uintptr_t addr; /* 0 = free */
	size_t align;
};

uint32_t wrong_aligned;

static struct entry *table;
static uint32_t table_lock;
static bool broken; /* not all are in it */

static struct entry *
set_of(uintptr_t addr)
{
	return table + hash_u64(addr) % SETS * WAYS;
}

static void
enter(uintptr_t p, size_t align)
{
	struct entry *e = NULL;

	if (table == NULL)
		table = rt_map(SETS * WAYS * sizeof(*table));
	for (unsigned i = 0; table != NULL && i < WAYS; i++) {
		struct entry *x = &set_of(p)[i];

		if (x->addr == p || (x->addr == 0 && e == NULL))
			e = x;
	}
	if (e == NULL) {
		broken = true;
		return;
	}
	if (e->addr == 0)
		__atomic_fetch_add(&wrong_aligned, 1, __ATOMIC_RELAXED);
	*e = (struct entry){p, align};
}

void
wrong_align_note(const void *p, size_t align)
{
	if (broken)
		return;
	if (!lock_take(&table_lock, lock_id())) {
		broken = true;
		return;
	}
	enter((uintptr_t)p, align);
	lock_drop(&table_lock);
}

bool
wrong_align_take(uintptr_t p, size_t *ret_align)
{
	*ret_align = 0;
	if (table == NULL || broken)
		return !broken;
	if (!lock_take(&table_lock, lock_id())) {
		broken = true;
		return false;
	}
	for (unsigned i = 0; i < WAYS; i++) {
		struct entry *x = &set_of(p)[i];

		if (x->addr == p) {
			*ret_align = x->align;
			x->addr = 0;
			__atomic_fetch_sub(&wrong_aligned, 1, __ATOMIC_RELAXED);
		}
	}
	lock_drop(&table_lock);
	return !broken;
}

void
wrong_align_forked(void)
{
	/* Another thread was in the middle of it, and is not here to end it. */
	if (table_lock == 0 || table_lock == lock_id())
		return;
	broken = true;
	table_lock = 0;
}
