/* SPDX-License-Identifier: MIT */
/* wrong_freed.c -- see wrong_freed.h.
 *
 * One place for each address by hash; who comes later takes it. Threads write without a
 * lock: a note that two of them wrote at once is told by its check word and ignored. */
#include "guest/misuse/wrong_freed.h"

#include "guest/misuse/zone.h"
#include "guest/record/errors.h"
#include "guest/rt/rt_map.h"
#include "shared/hash.h"

enum { NOTES = 1 << 15 };

struct note {
	uint64_t addr, bytes;
	uint32_t site, node;
	uint32_t func, kind;
	uint64_t check; /* of all of it, and of the recording that the refs are of */
};

static struct note *notes;

static uint64_t
check_of(const struct recorder *r, const struct note *n)
{
	return hash_pair(hash_pair(n->addr ^ recorder_number(r), n->bytes),
			 ((uint64_t)n->site << 32 | n->node) ^ n->func << 8 ^ n->kind);
}

static struct note *
place_of(uintptr_t p)
{
	struct note *had = __atomic_load_n(&notes, __ATOMIC_ACQUIRE), *made;

	if (had == NULL) {
		made = rt_map(NOTES * sizeof(*made));
		if (made == NULL)
			return NULL;
		if (__atomic_compare_exchange_n(&notes, &had, made, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			had = made;
		else
			rt_unmap(made, NOTES * sizeof(*made));
	}
	return &had[hash_u64(p) % NOTES];
}

void
wrong_freed_note(struct thread *t, uintptr_t p, struct rec_block gone, enum rec_func func,
		 const struct unw_start *at)
{
	struct recorder *r = t->recorder;
	struct note *to = place_of(p);
	struct note n = {
		.addr = p,
		.bytes = gone.a & REC_BLOCK_SIZE_MASK,
		.site = (uint32_t)gone.b,
		.node = errors_stack(r, t, at),
		.func = func,
		.kind = gone.a >> REC_BLOCK_KIND_SHIFT & 15,
	};

	n.check = check_of(r, &n);
	t->freeing = (struct freeing){p, n.site, n.node, func, n.kind};
	if (to != NULL)
		*to = n;
}

void
wrong_freed_find(const struct recorder *r, struct rec_error *e)
{
	struct zone_freed held;
	struct note n = {0};

	if (e->where == REC_WHERE_BLOCK && e->addr - e->block < e->block_bytes)
		return; /* part of a block that lives */
	if (zone_held_back((uintptr_t)e->addr, &held))
		n = (struct note){e->addr,   held.bytes, held.site, held.freed,
				  held.func, held.kind,	 0};
	else if (notes != NULL)
		n = notes[hash_u64(e->addr) % NOTES];
	if (n.addr != e->addr || e->addr == 0 ||
	    (n.check != 0 && n.check != check_of(r, &n)))
		return;
	e->where = REC_WHERE_FREED;
	e->block = n.addr;
	e->block_bytes = n.bytes;
	e->block_kind = n.kind;
	e->freed_func = n.func;
	e->alloc = errors_site_stack(r, n.site);
	e->freed = n.node;
}
