/* SPDX-License-Identifier: MIT */
/* heapwalk.c -- glibc's heaps added up by what is resident; see heapwalk.h, and
 * walk_glibc_heap.c for the way from block to block.
 *
 * The process runs meanwhile. Its memory is read in windows of 1 MiB where it is gone
 * through in order, and page by page where pointers are followed; pages that are not
 * resident are never touched. */
#include "tool/target/heap/heapwalk.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/target/heap/walk_glibc_impl.h"
#include "tool/util/x.h"

enum {
	WINDOW_BYTES = 1 << 20,
	PAGES_MOST = WINDOW_BYTES / 4096,
};

/* ---- memory ---- */

struct window {
	const struct procmem *m;
	const struct memmap *map;
	unsigned char *data; /* WINDOW_BYTES */
	uint64_t bytes;	     /* read at a time */
};

/* Of [start, end), but no more than fit a window. */
static size_t
pages_of(const struct window *w, uint64_t start, uint64_t end)
{
	size_t pages = (size_t)((end - start + w->m->page_bytes - 1) / w->m->page_bytes);

	return pages < PAGES_MOST ? pages : PAGES_MOST;
}

/* As heapblocks_look: up to so many bytes of pages that are all there; or pages that are
 * all not. */
static const unsigned char *
window_look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	struct window *w = ctx;
	const struct memmap_area *a = memmap_find(w->map, addr);
	uint64_t page = w->m->page_bytes, start = ALIGN_DOWN(addr, page), end;
	uint8_t here[PAGES_MOST];
	size_t pages, run = 1;

	(void)bytes;
	*ret_bytes = page - (addr - start);
	if (a == NULL)
		return NULL;
	end = a->end - start < w->bytes ? a->end : start + w->bytes;
	pages = pages_of(w, start, end);
	procmem_present(w->m, start, pages, here);
	if (here[0] == 0) { /* most mappings have many of these, one after the other */
		pages = pages_of(w, start, a->end);
		procmem_present(w->m, start, pages, here);
	}
	while (run < pages && (here[run] != 0) == (here[0] != 0))
		run++;
	if (here[0] != 0 && start + run * page > end)
		run = pages_of(w, start, end);
	*ret_bytes = start + run * page - addr;
	if (here[0] == 0 || procmem_read(w->m, addr, w->data, (size_t)*ret_bytes) < 0)
		return NULL;
	return w->data;
}

/* ---- sums ---- */

struct sums {
	const struct heapwalk_opts *o;
	struct heapmap *heap;
	struct heapmap_range *r; /* that is walked */
	uint8_t *present;	 /* of it, page by page */
	uint64_t present_start;
	uint64_t page_bytes;
	uint64_t left_bytes; /* that may still be gone through */
};

/* Resident bytes of [start, end), which lies in the range that is walked. */
static uint64_t
resident(const struct sums *s, uint64_t start, uint64_t end)
{
	uint64_t page = s->page_bytes, sum = 0;
	uint64_t first = (start - s->present_start) / page;

	while (start < end) {
		uint64_t next = ALIGN_DOWN(start, page) + page;

		if (next > end)
			next = end;
		if (s->present[first++] != 0)
			sum += next - start;
		start = next;
	}
	return sum;
}

static uint64_t
take_present(struct sums *s, const struct procmem *m, uint64_t start, uint64_t end)
{
	size_t pages = (size_t)((end - start) / m->page_bytes) + 2;

	free(s->present);
	s->present = xmalloc(pages);
	s->present_start = ALIGN_DOWN(start, m->page_bytes);
	procmem_present(m, s->present_start, pages, s->present);
	return resident(s, start, end);
}

static void
tell(const struct sums *s, uint64_t addr, uint64_t size)
{
	if (s->o->used != NULL)
		s->o->used(s->o->ctx, addr, size);
}

static void
on_block(struct hb_walk *k, const struct hb_piece *p, uint64_t at, uint64_t size,
	 bool used)
{
	struct sums *s = k->to;

	(void)p;
	*(used ? &s->r->used_bytes : &s->r->free_bytes) += resident(s, at, at + size);
	s->r->blocks += used;
	if (used)
		tell(s, at + 2 * HW_WORD, size);
}

static void
on_top(struct hb_walk *k, const struct hb_piece *p, uint64_t size)
{
	struct sums *s = k->to;

	s->r->free_bytes += resident(s, p->top, p->top + size);
}

static void
on_gap(struct hb_walk *k, const struct hb_piece *p, uint64_t start, uint64_t end)
{
	struct sums *s = k->to;

	(void)p;
	s->r->unknown_bytes += resident(s, start, end);
}

static void
add_piece(struct hb_walk *k, const struct hb_piece *p)
{
	struct sums *s = k->to;
	struct heapmap_range r = {.kind = p->arena == 0 ? HEAPMAP_MAIN : HEAPMAP_ARENA,
				  .arena = p->arena,
				  .start = p->start,
				  .end = p->end};

	if (!s->o->ranges_only) {
		uint64_t bytes = take_present(s, k->m, r.start, r.end);

		if (bytes > s->left_bytes) {
			r.unknown_bytes = bytes;
		} else {
			s->left_bytes -= bytes;
			s->r = &r;
			hb_walk_piece(k, p);
			/* The rest is malloc's own. */
			r.used_bytes = bytes - r.free_bytes - r.unknown_bytes;
		}
	}
	vec_push(&s->heap->ranges, r);
}

static void
add_mapped(struct hb_walk *k, const struct hb_mapped *b)
{
	struct sums *s = k->to;
	struct heapmap_range *r =
		s->heap->ranges.len > 0 ? vec_last(&s->heap->ranges) : NULL;

	/* Neighbours become one row: there may be thousands of them. */
	if (r == NULL || r->kind != HEAPMAP_CHUNK || r->end != b->start) {
		r = vec_add(&s->heap->ranges);
		r->kind = HEAPMAP_CHUNK;
		r->start = r->end = b->start;
	}
	if (!s->o->ranges_only)
		r->used_bytes += take_present(s, k->m, b->start, b->end);
	r->end = b->end;
	r->blocks++;
	tell(s, b->addr, b->bytes + 2 * HW_WORD);
}

/* ---- all of it ---- */

/* With everything that was found; k->to are the sums. */
static void
add_up(struct hb_walk *k, struct window *w)
{
	static const struct hb_limits near = {512, 2048, true},
				      far = {1 << 18, UINT32_MAX, true};
	struct sums *s = k->to;

	s->heap->known = true;
	s->heap->arenas = (unsigned)k->state.arenas.len;
	for (size_t i = 0; i < k->state.arenas.len; i++)
		s->heap->most_bytes +=
			hw_peek(k->m, k->state.arenas.data[i].state + k->state.bins_off +
					      HW_SYSTEM_MOST_ABOVE);
	w->bytes = WINDOW_BYTES;
	for (size_t i = 0; i < k->pieces.len; i++)
		add_piece(k, &k->pieces.data[i]);
	w->bytes = k->m->page_bytes;
	k->seen_end = 0;
	if (!s->o->ranges_only)
		hb_find_cached(k);
	for (size_t i = 0; i < k->cached.len; i++)
		s->heap->cached_bytes +=
			hb_word(k, k->cached.data[i] - HW_WORD) & HW_SIZE_MASK;
	hb_find_mapped(k, s->o->ranges_only ? &near : &far);
	for (size_t i = 0; i < k->mapped.len; i++)
		add_mapped(k, &k->mapped.data[i]);
	vec_sort(&s->heap->ranges, vec_compare_by(struct heapmap_range, start));
}

void
heapwalk(const struct procmem *m, const struct memmap *map, const struct heapwalk_opts *o,
	 struct heapmap *ret_heap)
{
	static const struct hb_visitor visitor = {on_block, on_top, on_gap};
	struct window w = {.m = m,
			   .map = map,
			   .data = xmalloc(WINDOW_BYTES),
			   .bytes = m->page_bytes};
	struct sums s = {.o = o,
			 .heap = ret_heap,
			 .page_bytes = m->page_bytes,
			 .left_bytes = o->max_bytes > 0 ? o->max_bytes : UINT64_MAX};
	struct hb_walk k = {.m = m,
			    .map = map,
			    .look = window_look,
			    .ctx = &w,
			    .visitor = &visitor,
			    .to = &s};

	*ret_heap = (struct heapmap){0};
	if (hb_begin(&k, ret_heap->why, sizeof ret_heap->why))
		add_up(&k, &w);
	hb_done(&k);
	free(w.data);
	free(s.present);
}

/* ---- blocks in bytes ---- */

struct bytes {
	const unsigned char *data;
	uint64_t start, end;
	heapwalk_visitor *each;
	void *ctx;
	size_t blocks;
};

static const unsigned char *
bytes_look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	const struct bytes *b = ctx;

	(void)bytes;
	*ret_bytes = addr < b->end ? b->end - addr : HW_WORD;
	return addr < b->end ? b->data + (addr - b->start) : NULL;
}

static void
bytes_block(struct hb_walk *k, const struct hb_piece *p, uint64_t at, uint64_t size,
	    bool used)
{
	struct bytes *b = k->to;

	/* Whether the last one is used is not in these bytes. */
	if (at + size + 2 * HW_WORD > p->end)
		return;
	b->each(b->ctx, (size_t)(at - b->start) + 16, (size_t)size - 8, used);
	b->blocks++;
}

static void
bytes_gap(struct hb_walk *k, const struct hb_piece *p, uint64_t start, uint64_t end)
{
	(void)k, (void)p, (void)start, (void)end;
}

size_t
heapwalk_blocks(const void *data, size_t bytes, uint64_t addr, heapwalk_visitor *each,
		void *ctx)
{
	static const struct hb_visitor visitor = {.block = bytes_block, .gap = bytes_gap};
	struct bytes b = {.data = data,
			  .start = addr,
			  .end = addr + bytes,
			  .each = each,
			  .ctx = ctx};
	struct hb_walk k = {.look = bytes_look, .ctx = &b, .visitor = &visitor, .to = &b};
	struct hb_piece p = {.end = b.end, .top = UINT64_MAX}; /* none */

	p.first = hb_resync(&k, addr, b.end, p.top);
	hb_walk_piece(&k, &p);
	hb_done(&k);
	return b.blocks;
}
