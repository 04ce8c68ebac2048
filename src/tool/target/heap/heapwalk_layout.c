/* SPDX-License-Identifier: MIT */
/* heapwalk_layout.c -- glibc's structures as its versions have them, for the walk that
 * adds up a running process (heapwalk.c) and for the one that finds every block
 * (walk_glibc.c). */
#include "shared/compiler.h"
#include "tool/target/heap/heapwalk_impl.h"

static const struct hw_cache caches[] = {
	{0x250, 64, 1, false}, /* 2.26 */
	{0x290, 64, 2, false}, /* 2.30 */
	{0x300, 76, 2, true},  /* 2.42: larger sizes in twelve more */
};

const struct hw_cache *
hw_cache_of(uint64_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(caches); i++) {
		if (caches[i].size == size)
			return &caches[i];
	}
	return NULL;
}

uint64_t
hw_fastbins(const struct hw_state *s, const struct hw_arena *a)
{
	if (s->bins_off != 112 && s->bins_off != 104)
		return 0;
	return a->state + (s->bins_off == 112 ? 16 : 8);
}

uint64_t
hw_peek(const struct procmem *m, uint64_t addr)
{
	uint64_t word;

	return procmem_read(m, addr, &word, sizeof word) == 0 ? word : 0;
}

/* heap_info: 0 arena | 8 the heap before | 16 bytes. */
void
hw_each_heap(const struct procmem *m, const struct memmap *map, const struct hw_state *s,
	     const struct hw_arena *a, hw_heap_visitor *each, void *ctx)
{
	uint64_t heap = ALIGN_DOWN(a->top, HW_HEAP_BYTES);
	uint64_t own = ALIGN_DOWN(a->state, HW_HEAP_BYTES);
	uint64_t info_bytes = a->state - own; /* the arena follows its heap's head */

	for (unsigned n = 0; n < HW_ARENAS_MAX; n++) {
		struct hw_heap h = {.start = heap, .first = heap + info_bytes};
		uint64_t bytes = hw_peek(m, heap + 16);

		if (!hw_is_heap_address(map, heap) || hw_peek(m, heap) != a->state ||
		    bytes == 0 || bytes > HW_HEAP_BYTES)
			return;
		h.end = heap + bytes;
		if (heap == own)
			h.first = a->state +
				  ALIGN_UP(s->bins_off + HW_STATE_ABOVE, UINT64_C(16));
		h.first = ALIGN_UP(h.first, UINT64_C(16));
		each(ctx, &h);
		if (heap == own)
			return;
		heap = hw_peek(m, heap + 8);
		if (!IS_ALIGNED(heap, HW_HEAP_BYTES))
			return;
	}
}
