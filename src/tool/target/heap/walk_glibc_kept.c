/* SPDX-License-Identifier: MIT */
/* walk_glibc_kept.c -- freed blocks that look used: those in the caches of threads and in
 * arenas' fast bins.
 *
 * A cache is an ordinary block whose contents are list heads, one for each size. Its size
 * tells which layout it has, and it is believed only when every list begins with a block
 * of the right size. Links are masked with their own address since 2.32, plain before;
 * which of the two is seen from where they lead. A thread may stand in the middle of a
 * call: counts are not compared, lists are. */
#include "shared/compiler.h"
#include "tool/target/heap/walk_glibc_impl.h"

/* Whether `addr` is a block for list `bin`. */
static bool
fits(struct hb_walk *k, uint64_t addr, unsigned bin)
{
	uint64_t size;

	if (!IS_ALIGNED(addr, 16) || !hw_is_heap_address(k->map, addr))
		return false;
	size = hb_word(k, addr - HW_WORD) & HW_SIZE_MASK;
	if (bin < HW_CACHE_BINS)
		return size == HW_CHUNK_LEAST + 16 * (uint64_t)bin;
	return size >= HW_CHUNK_LEAST + 16 * (uint64_t)HW_CACHE_BINS &&
	       size < UINT64_C(1) << 40;
}

/* The block behind the one at `addr`, whose link is its first word; 0 = none. */
static uint64_t
next_of(struct hb_walk *k, uint64_t addr, unsigned bin)
{
	uint64_t link = hb_word(k, addr), masked = link ^ addr >> 12;

	if (masked == 0 || fits(k, masked, bin))
		return masked;
	return fits(k, link, bin) ? link : 0;
}

static void
take_list(struct hb_walk *k, uint64_t addr, unsigned bin)
{
	while (addr != 0 && k->cached.len < k->cached_most) {
		vec_push(&k->cached, addr);
		addr = next_of(k, addr, bin);
	}
}

/* A thread's first block is its cache: so one with nothing in it is known, too. */
static bool
is_first(const struct hb_walk *k, uint64_t addr)
{
	size_t low = 0, high = k->firsts.len; /* ascending, as pieces are */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (k->firsts.data[middle] < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < k->firsts.len && k->firsts.data[low] == addr;
}

/* Whether the block is a cache; if it is, what it keeps is added. */
static bool
take_cache(struct hb_walk *k, uint64_t addr)
{
	uint64_t size = hb_word(k, addr - HW_WORD) & HW_SIZE_MASK, heads;
	const struct hw_cache *s = hw_cache_of(size);
	unsigned some = 0;

	if (s == NULL)
		return false;
	heads = addr + (uint64_t)s->bins * s->count_bytes;
	for (unsigned i = 0; i < s->bins; i++) {
		uint64_t head = hb_word(k, heads + 8 * (uint64_t)i);

		if (head != 0 && !fits(k, head, i))
			return false;
		some += head != 0;
	}
	for (unsigned i = 0; some > 0 && i < s->bins; i++)
		take_list(k, hb_word(k, heads + 8 * (uint64_t)i), i);
	return some > 0 || k->recorded || is_first(k, addr);
}

/* Links in fast bins lead from header to header, and lie behind them. */
static void
take_fastbins(struct hb_walk *k, const struct hw_arena *a)
{
	uint64_t lists = hw_fastbins(&k->state, a);

	for (unsigned i = 0; lists != 0 && i < HW_FASTBINS; i++) {
		uint64_t at = hb_word(k, lists + 8 * (uint64_t)i);

		while (at != 0 && k->cached.len < k->cached_most && fits(k, at + 16, i)) {
			uint64_t link = hb_word(k, at + 16);
			uint64_t masked = link ^ (at + 16) >> 12;

			vec_push(&k->cached, at + 16);
			at = masked == 0 || fits(k, masked + 16, i) ? masked : link;
		}
	}
}

void
hb_find_cached(struct hb_walk *k)
{
	size_t kept = 0;

	k->cached_most = 0;
	for (size_t i = 0; i < k->pieces.len; i++)
		k->cached_most += (k->pieces.data[i].end - k->pieces.data[i].start) /
				  HW_CHUNK_LEAST;
	for (size_t i = 0; i < k->caches.len; i++) {
		if (take_cache(k, k->caches.data[i]))
			k->caches.data[kept++] = k->caches.data[i];
	}
	k->caches.len = kept;
	for (size_t i = 0; i < k->state.arenas.len; i++)
		take_fastbins(k, &k->state.arenas.data[i]);
}
