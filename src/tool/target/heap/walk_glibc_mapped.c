/* SPDX-License-Identifier: MIT */
/* walk_glibc_mapped.c -- blocks that have mappings of their own, and malloc's parameters,
 * which say how many there are.
 *
 * The kernel merges neighbouring mappings, so such a block may begin at any page of one.
 * Its header there has a bit of its own, and a size in whole pages; one that was asked
 * for with an alignment has its header further on, and says how far. malloc counts them:
 * when more look like one than it has, those that chance may have made are dropped, and
 * only when fewer do, small ones in the middle of a mapping count: malloc makes them if
 * its threshold was lowered (mallopt, GLIBC_TUNABLES, MALLOC_MMAP_THRESHOLD_). */
#include <string.h>

#include "shared/compiler.h"
#include "tool/target/heap/walk_glibc_impl.h"

enum {
	PAGE = 4096,
	LEAST_INSIDE = 64 << 10, /* in the middle of a mapping, smaller may be chance */
	PAGES_MISSED = 1 << 16,	 /* then a mapping is not looked through any further */
	ABSENT_AT_ONCE = 1 << 30 /* bytes; pagescan.h may pass over longer ranges */
};

#define MAPPED_LIMIT_USUAL 65536 /* malloc_par.n_mmaps_max */

/* ---- parameters ---- */

/* The end of malloc_par up to sbrk_base, at `at`:
 *
 *	n_mmaps u32 | n_mmaps_max u32 | max_n_mmaps u32 | no_dyn_threshold u32 |
 *	mmapped_mem u64 | max_mmapped_mem u64 | sbrk_base u64
 *
 * Since 2.35 a number of 32 bits comes before, and as many unused bits behind
 * no_dyn_threshold. */
struct parameters {
	uint32_t n, n_max, max_n, fixed;
	uint64_t bytes, max_bytes, base;
};

static struct parameters
read_parameters(struct hb_walk *k, uint64_t at, bool newer)
{
	uint64_t first = hb_word(k, at), second = hb_word(k, at + 8), third;
	uint64_t sums = at + (newer ? 24 : 16);
	struct parameters p = {.bytes = hb_word(k, sums),
			       .max_bytes = hb_word(k, sums + 8),
			       .base = hb_word(k, sums + 16)};

	third = newer ? hb_word(k, at + 16) : 0;
	p.n = (uint32_t)(newer ? first >> 32 : first);
	p.n_max = (uint32_t)(newer ? second : first >> 32);
	p.max_n = (uint32_t)(newer ? second >> 32 : second);
	p.fixed = (uint32_t)(newer ? third : second >> 32);
	return p;
}

static bool
is_parameters(const struct hb_walk *k, const struct parameters *p)
{
	return p->base + PAGE > k->state.heap_start && p->base < k->state.heap_end &&
	       p->n_max == MAPPED_LIMIT_USUAL && p->fixed <= 1 && p->n <= p->max_n &&
	       p->bytes <= p->max_bytes && IS_ALIGNED(p->bytes, PAGE) &&
	       IS_ALIGNED(p->max_bytes, PAGE);
}

bool
hb_parameters(struct hb_walk *k, uint64_t *ret_first)
{
	const struct memmap_area *a = memmap_find(k->map, k->state.arenas.data[0].state);

	if (a == NULL)
		return false;
	for (uint64_t at = a->start; at + 48 <= a->end; at += HW_WORD) {
		for (int newer = 0; newer < 2; newer++) {
			struct parameters p = read_parameters(k, at, newer);

			if (!is_parameters(k, &p))
				continue;
			*ret_first = p.base;
			k->mapped_expected = p.n;
			k->mapped_expected_bytes = p.bytes;
			return true;
		}
	}
	return false;
}

/* ---- blocks ---- */

/* The size in the header at `start` + `off`, which says that it is mapped and `off`
 * behind the beginning of its mapping; 0 when it does not. */
static uint64_t
mapped_size(struct hb_walk *k, uint64_t start, uint64_t off, uint64_t area_end)
{
	uint64_t head, size;

	if (hb_word(k, start + off) != off)
		return 0;
	head = hb_word(k, start + off + HW_WORD);
	size = head & HW_SIZE_MASK;
	if ((head & 7) != HW_MMAPPED || size > area_end - start - off ||
	    !IS_ALIGNED(size + off, PAGE))
		return 0;
	return size;
}

/* The block whose mapping begins at the page `start`. One that was asked for with an
 * alignment has its header further on, and that of the whole is still where it was. */
static bool
find_at(struct hb_walk *k, uint64_t start, uint64_t area_end, struct hb_mapped *ret)
{
	uint64_t whole = mapped_size(k, start, 0, area_end);

	if (whole == 0)
		return false;
	*ret = (struct hb_mapped){.start = start,
				  .end = start + whole,
				  .addr = start + 16,
				  .bytes = whole - 16};
	for (uint64_t align = 32; align < whole; align *= 2) {
		uint64_t off = ALIGN_UP(start + 16, align) - 16 - start, size;

		if (off == 0 || off + HW_CHUNK_LEAST > whole)
			continue;
		size = mapped_size(k, start, off, area_end);
		if (size != 0 && off + size == whole) {
			ret->addr = start + off + 16;
			ret->bytes = size - 16;
			break;
		}
	}
	return true;
}

static bool
is_in_heap(const struct hb_walk *k, uint64_t addr)
{
	for (size_t i = 0; i < k->pieces.len; i++) {
		if (addr >= k->pieces.data[i].start && addr < k->pieces.data[i].end)
			return true;
	}
	return false;
}

/* How many of the bytes from `at` on are not there either. Asked for at once: of a
 * reservation of terabytes there may be a page. */
static uint64_t
more_absent(struct hb_walk *k, uint64_t at, uint64_t end)
{
	uint64_t most, n = 0;

	if (at >= end)
		return 0;
	most = end - at < ABSENT_AT_ONCE ? end - at : ABSENT_AT_ONCE;
	k->seen_start = k->seen_end = 0; /* it may be gone */
	if (k->look(k->ctx, at, most, &n) != NULL)
		return 0;
	return n < most ? n : most;
}

/* Returns how many pages had no block. */
static unsigned
search_area(struct hb_walk *k, const struct memmap_area *a,
	    const struct hb_limits *limits, unsigned most, uint64_t least)
{
	uint64_t missed = 0;

	for (uint64_t at = a->start; at + PAGE <= a->end && missed < most;) {
		struct hb_mapped b;
		uint64_t n;

		if (!hb_is_there(k, at, &n)) {
			n += more_absent(k, at + n, a->end);
			missed += limits->absent_too ? (n + PAGE - 1) / PAGE : 0;
			at = ALIGN_UP(at + n, (uint64_t)PAGE);
			continue;
		}
		if (find_at(k, at, a->end, &b) &&
		    (at == a->start || b.end - at >= least)) {
			b.sure = at == a->start;
			vec_push(&k->mapped, b);
			at = b.end;
			continue;
		}
		at += PAGE;
		missed++;
	}
	return missed < most ? (unsigned)missed : most;
}

/* Drops the one that is most likely chance: the smallest inside a mapping. */
static bool
drop_one(struct hb_walk *k)
{
	struct hb_mapped *found = k->mapped.data;
	size_t worst = k->mapped.len;

	for (size_t i = 0; i < k->mapped.len; i++) {
		if (!found[i].sure &&
		    (worst == k->mapped.len || found[i].bytes < found[worst].bytes))
			worst = i;
	}
	if (worst == k->mapped.len)
		return false;
	memmove(&found[worst], &found[worst + 1],
		(k->mapped.len - worst - 1) * sizeof *found);
	k->mapped.len--;
	return true;
}

/* In all mappings that malloc may have made; inside them for those of `least` bytes or
 * more. */
static void
search_all(struct hb_walk *k, const struct hb_limits *limits, uint64_t least)
{
	bool resident_known = (k->map->known & 1u << MEMMAP_RSS) != 0;
	unsigned left = limits->in_all;

	k->mapped.len = 0;
	for (size_t i = 0; i < k->map->areas.len; i++) {
		const struct memmap_area *a = &k->map->areas.data[i];
		unsigned most = left < limits->in_one ? left : limits->in_one;

		if (a->perms[0] != 'r' || !hw_is_heap_address(k->map, a->start) ||
		    a->perms[3] == 's' || strcmp(a->name, "[heap]") == 0 ||
		    (resident_known && a->kib[MEMMAP_RSS] == 0) ||
		    is_in_heap(k, a->start))
			continue;
		/* The first page is always looked at. */
		left -= search_area(k, a, limits, most > 0 ? most : 1, least);
		left = left > limits->in_all ? 0 : left;
	}
}

void
hb_find_mapped(struct hb_walk *k, const struct hb_limits *limits)
{
	static const struct hb_limits usual = {PAGES_MISSED, UINT32_MAX, false};
	static const struct hb_limits none = {UINT32_MAX, UINT32_MAX, false};

	search_all(k, limits != NULL ? limits : &usual, LEAST_INSIDE);
	/* The kernel may have merged them with a large mapping of the program's, which
	 * comes first. */
	if (limits == NULL && k->mapped_expected > (int64_t)k->mapped.len)
		search_all(k, &none, LEAST_INSIDE);
	if (k->mapped_expected > (int64_t)k->mapped.len)
		search_all(k, limits != NULL ? limits : &none, PAGE);
	else if (limits != NULL)
		return;
	while (k->mapped_expected >= 0 && (int64_t)k->mapped.len > k->mapped_expected &&
	       drop_one(k))
		;
}
