/* SPDX-License-Identifier: MIT */
/* walker.c -- see walker.h and walker_impl.h. */
#include "tool/target/heap/walker.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/mem.h"
#include "tool/target/heap/walker_impl.h"

/* More failed checks than this share of all: nothing is reported. */
enum { FAILED_SHARE = 100 };

/* ---- memory ---- */

static bool
see(struct walk *w, uint64_t addr, uint64_t *ret_bytes)
{
	uint64_t n = 0;
	const unsigned char *p;

	if (addr >= w->seen_start && addr < w->seen_end) {
		*ret_bytes = w->seen_end - addr;
		return true;
	}
	p = w->m->look(w->m->ctx, addr, WALK_WORD, &n);
	*ret_bytes = n > 0 ? n : WALK_WORD;
	if (p == NULL || n == 0)
		return false;
	w->seen = p;
	w->seen_start = addr;
	w->seen_end = addr + n;
	return true;
}

bool
walk_has_word(struct walk *w, uint64_t addr, uint64_t *ret_word)
{
	uint64_t n;

	*ret_word = 0;
	if (addr >> WALK_ADDRESS_BITS != 0 || !IS_ALIGNED(addr, WALK_WORD) ||
	    !see(w, addr, &n) || n < WALK_WORD)
		return false;
	*ret_word = mem_get_u64(w->seen + (addr - w->seen_start));
	return true;
}

uint64_t
walk_word(struct walk *w, uint64_t addr)
{
	uint64_t word;

	return walk_has_word(w, addr, &word) ? word : 0;
}

uint32_t
walk_u32(struct walk *w, uint64_t addr)
{
	return (uint32_t)(walk_word(w, ALIGN_DOWN(addr, UINT64_C(8))) >> (addr & 4) * 8);
}

uint16_t
walk_u16(struct walk *w, uint64_t addr)
{
	return (uint16_t)(walk_word(w, ALIGN_DOWN(addr, UINT64_C(8))) >> (addr & 6) * 8);
}

bool
walk_read(struct walk *w, uint64_t addr, void *to, size_t bytes)
{
	size_t done = 0;
	bool some = false;

	memset(to, 0, bytes);
	while (done < bytes && (addr + done) >> WALK_ADDRESS_BITS == 0) {
		uint64_t n = 0;
		bool there = see(w, addr + done, &n);

		n = n < bytes - done ? n : bytes - done;
		if (there)
			memcpy((char *)to + done, w->seen + (addr + done - w->seen_start),
			       (size_t)n);
		some |= there;
		done += (size_t)n;
	}
	return some;
}

uint64_t
walk_peek(const struct walk *w, uint64_t addr)
{
	uint64_t word;

	return procmem_read(w->m->mem, addr, &word, sizeof word) == 0 ? word : 0;
}

static bool
is_anonymous(const struct memmap_area *a)
{
	return a->inode == 0 && a->perms[0] == 'r' && a->perms[1] == 'w' &&
	       a->perms[3] != 's' &&
	       (a->name[0] == '\0' || strcmp(a->name, "[heap]") == 0 ||
		strncmp(a->name, "[anon", 5) == 0);
}

/* memmap_find, which remembers. */
static const struct memmap_area *
area_of(struct walk *w, uint64_t addr)
{
	if (w->area == NULL || addr < w->area->start || addr >= w->area->end)
		w->area = memmap_find(w->m->map, addr);
	return w->area;
}

bool
walk_is_anonymous(struct walk *w, uint64_t addr, uint64_t bytes)
{
	const struct memmap_area *a = area_of(w, addr);
	const struct memmap_area *end = w->m->map->areas.data + w->m->map->areas.len;

	while (a != NULL && is_anonymous(a)) {
		if (bytes <= a->end - addr)
			return true;
		bytes -= a->end - addr;
		addr = a->end;
		a = a + 1 < end && a[1].start == addr ? a + 1 : NULL;
	}
	return false;
}

bool
walk_is_writable(struct walk *w, uint64_t addr)
{
	const struct memmap_area *a = area_of(w, addr);

	return a != NULL && a->perms[0] == 'r' && a->perms[1] == 'w' &&
	       a->perms[3] != 's';
}

size_t
walk_next_words(struct walk *w, uint64_t at, uint64_t end, uint64_t *to, size_t max,
		uint64_t *ret_at)
{
	while (at + WALK_WORD <= end) {
		uint64_t n = 0;

		if (see(w, at, &n) && n >= WALK_WORD) {
			n = n < end - at ? n : end - at;
			n = n / WALK_WORD < max ? n / WALK_WORD : max;
			memcpy(to, w->seen + (at - w->seen_start), (size_t)n * WALK_WORD);
			*ret_at = at;
			return (size_t)n;
		}
		at += ALIGN_UP(n, (uint64_t)WALK_WORD);
	}
	return 0;
}

struct heapblocks_range
walk_data_around(const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *first = map->areas.data, *a = memmap_find(map, addr);
	const struct memmap_area *end = first + map->areas.len, *b = a;

	if (a == NULL)
		return (struct heapblocks_range){0};
	while (a > first && memmap_data_of(map, a - 1) != NULL && a[-1].end == a->start)
		a--;
	while (b + 1 < end && memmap_data_of(map, b + 1) != NULL && b[1].start == b->end)
		b++;
	return (struct heapblocks_range){a->start, b->end};
}

/* ---- result ---- */

static struct heapblocks_owner *
owner(const struct walk *w)
{
	return &w->to->owners.data[w->owner];
}

static struct heapblocks_arena *
account(const struct walk *w)
{
	return &w->to->arenas.data[owner(w)->arena];
}

void
walk_begin(struct walk *w, const struct walker_memory *m, struct heapblocks *to)
{
	*w = (struct walk){.m = m,
			   .to = to,
			   .owner = to->owners.len,
			   .first_block = to->blocks.len,
			   .first_range = to->heaps.len,
			   .first_gap = to->gaps.len};
	*vec_add(&to->owners) = (struct heapblocks_owner){
		.name = "", .arena = (uint16_t)to->arenas.len, .classes = true};
	vec_add(&to->arenas)->heaps = 1;
}

void
walk_name(struct walk *w, const char *name)
{
	owner(w)->name = name;
}

bool
walk_check(struct walk *w, bool held)
{
	owner(w)->checks++;
	owner(w)->failed += !held;
	return held;
}

void
walk_unread_cache(struct walk *w)
{
	owner(w)->unread_caches++;
}

bool
walk_block(struct walk *w, uint64_t addr, uint64_t bytes, bool inner)
{
	struct heapblocks *to = w->to;
	const struct heapblock *last =
		to->blocks.len > w->first_block ? vec_last(&to->blocks) : NULL;

	if (bytes == 0 || addr >> WALK_ADDRESS_BITS != 0 ||
	    bytes >> (WALK_ADDRESS_BITS - 1) != 0 ||
	    (last != NULL && last->addr + last->bytes > addr))
		return false;
	vec_push(&to->blocks, (struct heapblock){.addr = addr,
						 .bytes = bytes,
						 .inner = inner,
						 .arena = owner(w)->arena});
	account(w)->used_blocks++;
	account(w)->used_bytes += bytes;
	return true;
}

void
walk_free(struct walk *w, uint64_t blocks, uint64_t bytes)
{
	account(w)->free_blocks += blocks;
	account(w)->free_bytes += bytes;
	if (blocks > 0 && bytes / blocks > account(w)->largest_free)
		account(w)->largest_free = bytes / blocks;
}

void
walk_range(struct walk *w, uint64_t start, uint64_t end)
{
	struct heapblocks_ranges *r = &w->to->heaps;

	if (start >= end)
		return;
	if (r->len > w->first_range && vec_last(r)->end == start)
		vec_last(r)->end = end;
	else
		vec_push(r, (struct heapblocks_range){start, end});
}

void
walk_gap(struct walk *w, uint64_t start, uint64_t end)
{
	walk_check(w, false);
	if (start >= end)
		return;
	account(w)->gap_bytes += end - start;
	vec_push(&w->to->gaps, (struct heapblocks_range){start, end});
}

const struct heapblock *
walk_find(const struct walk *w, uint64_t addr)
{
	size_t low = w->first_block, high = w->to->blocks.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->to->blocks.data[middle].addr <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == w->first_block)
		return NULL;
	low--;
	return addr < w->to->blocks.data[low].addr + w->to->blocks.data[low].bytes
		       ? &w->to->blocks.data[low]
		       : NULL;
}

bool
walk_cached(struct walk *w, uint64_t addr, uint64_t bytes)
{
	const struct heapblock *b = walk_find(w, addr);

	if (b == NULL || b->addr != addr || (bytes != 0 && b->bytes != bytes))
		return false;
	vec_push(&w->cached, addr);
	return true;
}

static bool
is_listed(const struct walk_words *v, size_t *at, uint64_t addr)
{
	while (*at < v->len && v->data[*at] < addr)
		(*at)++;
	return *at < v->len && v->data[*at] == addr;
}

/* Takes out what is freed and kept in caches, and what is the allocator's own. */
static void
take_out(struct walk *w)
{
	struct heapblocks *to = w->to;
	size_t kept = w->first_block, c = 0, own = 0;

	vec_sort(&w->cached, vec_compare_u64);
	vec_sort(&w->own, vec_compare_u64);
	/* The same block in two caches, or twice in one. */
	for (size_t i = 1; i < w->cached.len; i++)
		owner(w)->failed += w->cached.data[i] == w->cached.data[i - 1];
	for (size_t i = w->first_block; i < to->blocks.len; i++) {
		struct heapblock b = to->blocks.data[i];
		bool cached = is_listed(&w->cached, &c, b.addr);

		if (cached || is_listed(&w->own, &own, b.addr)) {
			account(w)->used_blocks--;
			account(w)->used_bytes -= b.bytes;
			account(w)->cached_blocks += cached;
			account(w)->cached_bytes += cached ? b.bytes : 0;
			continue;
		}
		to->blocks.data[kept++] = b;
	}
	to->blocks.len = kept;
}

void
walk_refuse(struct walk *w, const char *why)
{
	w->to->refused = true;
	snprintf(w->to->why, sizeof w->to->why, "%s", why);
}

bool
walk_end(struct walk *w, bool found)
{
	struct heapblocks *to = w->to;
	const struct heapblocks_owner *o = owner(w);

	found = found && o->failed <= o->checks / FAILED_SHARE;
	if (found) {
		take_out(w);
		for (size_t i = w->first_range; i < to->heaps.len; i++)
			account(w)->system_bytes +=
				to->heaps.data[i].end - to->heaps.data[i].start;
	} else if (o->name[0] != '\0' && !to->refused) {
		snprintf(to->why, sizeof to->why,
			 "the tables of %s are not consistent (%" PRIu64 " of %" PRIu64
			 " checks failed)",
			 o->name, o->failed, o->checks);
	}
	if (!found) {
		to->inconsistent |= o->name[0] != '\0' && !to->refused;
		to->blocks.len = w->first_block;
		to->heaps.len = w->first_range;
		to->gaps.len = w->first_gap;
		to->arenas.len = o->arena;
		to->owners.len = w->owner;
	}
	vec_done(&w->cached);
	vec_done(&w->own);
	return found;
}

/* ---- all of them ---- */

/* In the order of addresses, without ranges that lie inside others. */
static void
tidy_ranges(struct heapblocks_ranges *r)
{
	size_t n = 0;

	vec_sort(r, vec_compare_by(struct heapblocks_range, start));
	for (size_t i = 0; i < r->len; i++) {
		if (n > 0 && r->data[i].start <= r->data[n - 1].end) {
			if (r->data[i].end > r->data[n - 1].end)
				r->data[n - 1].end = r->data[i].end;
		} else {
			r->data[n++] = r->data[i];
		}
	}
	r->len = n;
}

/* Blocks of several allocators in one order. Where two claim the same bytes, the first
 * one has them. */
static void
tidy_blocks(struct heapblocks *h)
{
	size_t n = 0;

	vec_sort(&h->blocks, vec_compare_by(struct heapblock, addr));
	for (size_t i = 0; i < h->blocks.len; i++) {
		const struct heapblock *last = n > 0 ? &h->blocks.data[n - 1] : NULL;

		if (last != NULL && last->addr + last->bytes > h->blocks.data[i].addr)
			continue;
		h->blocks.data[n++] = h->blocks.data[i];
	}
	h->blocks.len = n;
}

void
walker_find(const struct walker_memory *m, unsigned which, struct heapblocks *ret)
{
	static const struct {
		enum walker_which which;
		void (*walk)(const struct walker_memory *m, struct heapblocks *to);
	} walkers[] = {
		{WALKER_GLIBC,
		 walk_glibc}, /* first: its arenas have the lowest numbers */
		{WALKER_JEMALLOC, walk_jemalloc},
		{WALKER_TCMALLOC, walk_tcmalloc},
		{WALKER_MIMALLOC, walk_mimalloc},
	};

	*ret = (struct heapblocks){.mapped_expected = -1};
	for (size_t i = 0; i < ARRAY_LEN(walkers); i++) {
		size_t before = ret->owners.len;

		if ((which & walkers[i].which) != 0)
			walkers[i].walk(m, ret);
		if (ret->owners.len > before)
			vec_last(&ret->owners)->which = walkers[i].which;
	}
	ret->known = ret->owners.len > 0;
	if (ret->owners.len > 1)
		tidy_blocks(ret);
	tidy_ranges(&ret->heaps);
	tidy_ranges(&ret->gaps);
}

bool
walker_is_consistent(const struct heapblocks *h)
{
	for (size_t i = 0; i < h->owners.len; i++) {
		if (h->owners.data[i].failed > 0)
			return false;
	}
	return !h->inconsistent;
}

const char *
walker_names(const struct heapblocks *h, char *ret, size_t size)
{
	size_t n = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < h->owners.len && n < size; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s%s", i > 0 ? " and " : "",
				      h->owners.data[i].name);
	return ret;
}

void
heapblocks_done(struct heapblocks *h)
{
	vec_done(&h->blocks);
	vec_done(&h->arenas);
	vec_done(&h->owners);
	vec_done(&h->heaps);
	vec_done(&h->gaps);
	*h = (struct heapblocks){0};
}
