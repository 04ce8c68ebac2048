/* SPDX-License-Identifier: MIT */
/* errors.c -- wrong uses of the heap: written down, and what the address is that they are
 * about.
 *
 * All of it happens where something is wrong already, so it may take its time: records
 * are searched one by one, and the table of live blocks is walked page by page downwards
 * until one is met.
 *
 * A block that was freed leaves its size and site behind in its slot of the table
 * (hot.h), until the slot is used again. That is all that is known of it without being
 * asked for more. */
#include "guest/record/errors.h"

#include "guest/record/file/space.h"
#include "guest/record/livetable.h"
#include "guest/record/mixed/mixed.h"
#include "guest/record/modules.h"
#include "guest/record/stacks.h"
#include "guest/record/threads.h"
#include "guest/unwind/unwind_fast.h"

#include <string.h>

enum {
	SLACK_BYTES = 64,     /* "N bytes after a block" up to here */
	PAGES_BACK = 1 << 20, /* how far a block may begin before an address: 4 GiB */
};

/* ---- records ---- */

static bool
same(const struct rec_error *a, const struct rec_error *b)
{
	return a->kind == b->kind && a->func == b->func && a->at == b->at &&
	       a->alloc == b->alloc && a->freed == b->freed && a->where == b->where;
}

/* The record of an error like `e`; *ret_count: how many records there are. Lock held. */
static struct rec_error *
known(const struct recorder *r, const struct rec_error *e, unsigned *ret_count)
{
	uint32_t index =
		__atomic_load_n(&r->head->chunk_lists[REC_CHUNK_ERROR], __ATOMIC_ACQUIRE);
	unsigned n = 0;

	while (index != 0) {
		const struct rec_chunk *c = rec_chunk_at(r, index);
		struct rec_error *x = (struct rec_error *)(void *)(uintptr_t)(c + 1);
		const unsigned char *end =
			(const unsigned char *)c +
			(c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES);

		for (; (const unsigned char *)(x + 1) <= end; x++, n++)
			if (same(x, e))
				return x;
		index = c->next;
	}
	*ret_count = n;
	return NULL;
}

static bool
keep(struct recorder *r, struct thread *t, const struct rec_error *e)
{
	unsigned n = 0;
	struct rec_error *x = known(r, e, &n);

	if (x != NULL) {
		__atomic_fetch_add(&x->count, 1, __ATOMIC_RELAXED);
		return true;
	}
	if (n >= REC_ERRORS_MAX)
		return false;
	x = space_alloc(r, REC_CHUNK_ERROR, sizeof(*x), t->me);
	if (x == NULL)
		return false;
	*x = *e;
	x->kind = REC_ERROR_NONE;
	x->count = 1;
	x->ms = t->now_ms;
	x->thread = t->serial;
	__atomic_store_n(&x->kind, e->kind, __ATOMIC_RELEASE);
	return true;
}

void
errors_add(struct recorder *r, struct thread *t, const struct rec_error *e)
{
	bool kept = false;

	if (lock_once_take(&r->errors_lock, t->me)) {
		kept = keep(r, t, e);
		lock_once_drop(&r->errors_lock);
	}
	if (!kept)
		__atomic_fetch_add(&r->head->errors_more, 1, __ATOMIC_RELAXED);
}

uint32_t
errors_stack(struct recorder *r, struct thread *t, const struct unw_start *start)
{
	uint32_t node = unw_hit(t->unw, start);

	if (node == 0 && start->sp < t->stack_low)
		threads_stack_grew(t, start->sp);
	if (node == 0)
		node = unw_walk(t->unw, start);
	return r->mixed != NULL ? mixed_node(r, t, node, false) : node;
}

/* What a slot left behind need not be a site: an event that was abandoned leaves
 * anything. */
static bool
is_site(const struct recorder *r, uint32_t ref)
{
	uint64_t off = (uint64_t)ref * 8 - REC_CHUNKS_OFF;
	uint64_t chunk = off / REC_CHUNK_BYTES, in = off % REC_CHUNK_BYTES;

	return (uint64_t)ref * 8 >= REC_CHUNKS_OFF && chunk < r->head->chunks &&
	       rec_chunk_at(r, (uint32_t)chunk + 1)->kind == REC_CHUNK_SITE &&
	       in >= sizeof(struct rec_chunk) &&
	       (in - sizeof(struct rec_chunk)) % sizeof(struct rec_site) == 0;
}

uint32_t
errors_site_stack(const struct recorder *r, uint32_t site)
{
	return is_site(r, site) ? ((const struct rec_site *)rec_at(r, site))->node : 0;
}

/* ---- what an address is ---- */

/* The slots of one page: the block with the highest start at or below `addr`, live and
 * freed. */
static void
look_at_page(const struct recorder *r, uint32_t ref, uintptr_t page, uintptr_t addr,
	     struct errors_block found[2])
{
	for (; ref != 0; ref = ((const struct rec_bucket *)rec_at(r, ref))->next) {
		struct rec_bucket *b = rec_at(r, ref);
		const struct rec_block *blocks = live_blocks(b);

		for (unsigned i = 0; i < live_cap(b); i++) {
			uint64_t word_a = __atomic_load_n(&blocks[i].a, __ATOMIC_RELAXED);
			uint64_t word_b = __atomic_load_n(&blocks[i].b, __ATOMIC_ACQUIRE);
			bool freed = word_b == 0;
			struct errors_block x = {
				.addr = page | (uintptr_t)live_offs(b)[i] << 4,
				.freed = freed,
			};

			if (word_a == 0)
				continue;
			if (freed) {
				x.site = (uint32_t)word_a;
				x.bytes = word_a >> 32;
				x.kind = REC_KIND_MALLOC;
			} else {
				x.addr |= word_a >> REC_BLOCK_LOW_SHIFT & 15;
				x.site = (uint32_t)word_b;
				x.bytes = word_a & REC_BLOCK_SIZE_MASK;
				x.kind = word_a >> REC_BLOCK_KIND_SHIFT & 15;
			}
			/* Mappings and what a program hands out itself may hold other
			 * blocks. */
			if (x.addr > addr || x.addr < found[freed].addr ||
			    !is_site(r, x.site) ||
			    (x.kind >= REC_KIND_MMAP && x.kind != REC_KIND_INHERITED))
				continue;
			found[freed] = x;
		}
	}
}

/* First bucket of the page, or of the next one below that has any; *page becomes that
 * one. 0: none down to `least`. */
static uint32_t
page_below(const struct recorder *r, uintptr_t *page, uintptr_t least)
{
	const uint32_t *root = (const uint32_t *)(const void *)(r->base + REC_ROOT_OFF);
	uintptr_t at = *page;

	while (at >= least) {
		uint32_t mid =
			__atomic_load_n(&root[at >> REC_ROOT_SHIFT], __ATOMIC_ACQUIRE);
		uint32_t leaf = 0, ref;

		if (mid != 0)
			leaf = ((const uint32_t *)rec_at(
				r, mid))[at >> REC_MID_SHIFT & (REC_MID_SLOTS - 1)];
		if (leaf == 0) {
			unsigned shift = mid == 0 ? REC_ROOT_SHIFT : REC_MID_SHIFT;
			uintptr_t start = at >> shift << shift;

			if (start <= least)
				return 0;
			at = start - REC_PAGE_BYTES;
			continue;
		}
		ref = __atomic_load_n(
			&((const uint32_t *)rec_at(
				r, leaf))[at >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1)],
			__ATOMIC_ACQUIRE);
		if (ref != 0) {
			*page = at;
			return ref;
		}
		at -= REC_PAGE_BYTES;
	}
	return 0;
}

static bool
covers(const struct errors_block *b, uintptr_t addr, uint64_t slack)
{
	return b->addr != 0 && addr - b->addr < (b->bytes > 0 ? b->bytes : 1) + slack;
}

bool
errors_near(const struct recorder *r, uintptr_t addr, uint64_t slack,
	    struct errors_block *ret)
{
	struct errors_block found[2] = {0};
	uintptr_t page = ALIGN_DOWN(addr, (uintptr_t)REC_PAGE_BYTES);
	uintptr_t least = page > (uintptr_t)PAGES_BACK * REC_PAGE_BYTES
				  ? page - (uintptr_t)PAGES_BACK * REC_PAGE_BYTES
				  : REC_PAGE_BYTES;
	uint32_t ref;

	if (addr >> REC_ADDRESS_BITS != 0 || addr < REC_PAGE_BYTES)
		return false;
	/* Pages with freed blocks only are passed on the way to a live one. */
	while (found[0].addr == 0 && (ref = page_below(r, &page, least)) != 0) {
		look_at_page(r, ref, page, addr, found);
		page -= REC_PAGE_BYTES;
	}
	if (covers(&found[0], addr, 0))
		*ret = found[0];
	else if (covers(&found[1], addr, 0))
		*ret = found[1];
	else if (covers(&found[0], addr, slack))
		*ret = found[0];
	else
		return false;
	return true;
}

/* Number of the module that `addr` is in; 0: none. Code made at run time is in none, and
 * comes with a copy of its table that waits to be given back. */
static uint32_t
module_at(const struct recorder *r, uintptr_t addr)
{
	struct unw_module m = {0};

	if (!modules_find(addr, &m))
		return 0;
	if (m.copy != NULL)
		r->host->table_done();
	return m.id;
}

/* The caller of the free of the block at `addr`, if its page remembers: a stack of one
 * frame that ends there. 0: it does not. */
static uint32_t
freed_by(struct recorder *r, struct thread *t, uintptr_t addr)
{
	uintptr_t page = ALIGN_DOWN(addr, (uintptr_t)REC_PAGE_BYTES);
	uint32_t ref = page_below(r, &page, page), root;
	uint64_t word;

	if (ref == 0)
		return 0;
	word = live_page(rec_at(r, ref))->freed;
	if (word >> REC_PAGE_FREED_SHIFT != (addr & (REC_PAGE_BYTES - 1)) || word == 0)
		return 0;
	word &= (UINT64_C(1) << REC_PAGE_FREED_SHIFT) - 1;
	root = stacks_node(r, 0, 0, 0, REC_NODE_TRUNCATED, t->me);
	return stacks_node(r, root, word, module_at(r, word), REC_NODE_PC, t->me);
}

/* Whose stack is it? Row of the thread, or NULL. */
static const struct rec_thread *
stack_owner(const struct recorder *r, const struct thread *t, uintptr_t addr)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uint32_t index = __atomic_load_n(&r->head->chunk_lists[REC_CHUNK_THREAD],
					 __ATOMIC_ACQUIRE);

	if (addr >= here && addr < t->stack_top)
		return t->row;
	while (index != 0) {
		const struct rec_chunk *c = rec_chunk_at(r, index);
		uint32_t used = c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES;
		const struct rec_thread *x =
			(const void *)((const unsigned char *)c + sizeof(*x));

		for (; (const unsigned char *)(x + 1) <= (const unsigned char *)c + used;
		     x++)
			if (x->state == REC_THREAD_LIVE && addr >= x->stack_low &&
			    addr < x->stack_top)
				return x;
		index = c->next;
	}
	return NULL;
}

bool
errors_on_stack(struct recorder *r, struct thread *t, struct rec_error *e)
{
	const struct rec_thread *owner = stack_owner(r, t, (uintptr_t)e->addr);

	if (owner == NULL)
		return false;
	e->where = REC_WHERE_STACK;
	e->where_number = owner->serial;
	return true;
}

void
errors_look_up(struct recorder *r, struct thread *t, struct rec_error *e)
{
	struct errors_block b;
	uint32_t module;

	if (errors_near(r, (uintptr_t)e->addr, SLACK_BYTES, &b)) {
		e->where = b.freed ? REC_WHERE_FREED : REC_WHERE_BLOCK;
		e->block = b.addr;
		e->block_bytes = b.bytes;
		e->block_kind = b.kind;
		e->alloc = errors_site_stack(r, b.site);
		if (b.freed)
			e->freed = freed_by(r, t, b.addr);
	} else if (!errors_on_stack(r, t, e) &&
		   (module = module_at(r, (uintptr_t)e->addr)) != 0) {
		e->where = REC_WHERE_MODULE;
		e->where_number = module;
	}
}
