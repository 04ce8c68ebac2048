/* SPDX-License-Identifier: MIT */
/* heap_image.h -- glibc's heap of any version, made by hand in two small areas of memory:
 * libc's data with the main arena, and the heap. For tests of what walks it, and as food
 * for the fuzzer of core files. */
#ifndef SEEP_HEAP_IMAGE_H
#define SEEP_HEAP_IMAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	HEAP_IMAGE_DATA_BYTES = 8192,
	HEAP_IMAGE_BYTES = 32768,
	HEAP_IMAGE_STATE = 0x800, /* of the main arena, in libc's data */
	HEAP_IMAGE_PARAMETERS = 0x400,
};

#define HEAP_IMAGE_DATA UINT64_C(0x7f1200000000)
#define HEAP_IMAGE_AT UINT64_C(0x555500002000)

struct heap_image {
	/* the version */
	unsigned bins_off;    /* 104, 112 or 24 */
	uint64_t cache_size;  /* of a thread's cache, header included */
	unsigned count_bytes; /* in it */
	unsigned bins;	      /* lists in it */
	bool masked;	      /* links */

	uint64_t data[HEAP_IMAGE_DATA_BYTES / 8], heap[HEAP_IMAGE_BYTES / 8];
	uint64_t cache;	 /* address of the cache's first byte */
	uint64_t at;	 /* where the next block begins */
	uint64_t before; /* size of the block before, if that is free; 0 = it is used */
};

static inline uint64_t *
heap_image_word(struct heap_image *h, uint64_t addr)
{
	if (addr >= HEAP_IMAGE_DATA && addr < HEAP_IMAGE_DATA + HEAP_IMAGE_DATA_BYTES)
		return &h->data[(addr - HEAP_IMAGE_DATA) / 8];
	if (addr >= HEAP_IMAGE_AT && addr < HEAP_IMAGE_AT + HEAP_IMAGE_BYTES)
		return &h->heap[(addr - HEAP_IMAGE_AT) / 8];
	return NULL;
}

/* Adds a block of `size` bytes, header included; the address that malloc gave. */
static inline uint64_t
heap_image_block(struct heap_image *h, uint64_t size, bool used)
{
	uint64_t at = h->at;

	*heap_image_word(h, at) = h->before;
	*heap_image_word(h, at + 8) = size | (h->before == 0);
	h->before = used ? 0 : size;
	h->at += size;
	return at + 16;
}

/* Begins with the cache of the first thread, as malloc does. */
static inline void
heap_image_begin(struct heap_image *h)
{
	h->at = HEAP_IMAGE_AT;
	h->cache = heap_image_block(h, h->cache_size, true);
}

/* Puts a used block into the cache, or into a fast bin. */
static inline void
heap_image_cache(struct heap_image *h, uint64_t addr)
{
	uint64_t size = *heap_image_word(h, addr - 8) & ~UINT64_C(7);
	unsigned bin = size < 32 + 16 * 64 ? (unsigned)((size - 32) / 16) : 64;
	uint64_t *head =
		heap_image_word(h, h->cache + h->bins * h->count_bytes + 8 * bin);

	*heap_image_word(h, addr) = h->masked ? *head ^ addr >> 12 : *head;
	*head = addr;
	/* How many there are; since 2.42 how many more there is room for. */
	if (h->bins == 64)
		*heap_image_word(h, (h->cache + bin * h->count_bytes) & ~UINT64_C(7)) +=
			UINT64_C(1) << 8 * (bin * h->count_bytes % 8);
}

static inline void
heap_image_fast(struct heap_image *h, uint64_t addr)
{
	uint64_t size = *heap_image_word(h, addr - 8) & ~UINT64_C(7);
	uint64_t lists =
		HEAP_IMAGE_DATA + HEAP_IMAGE_STATE + (h->bins_off == 112 ? 16 : 8);
	uint64_t *head = heap_image_word(h, lists + (size - 32) / 16 * 8);

	*heap_image_word(h, addr) = h->masked ? *head ^ addr >> 12 : *head;
	*head = addr - 16;
}

/* Ends with the unused block up to the heap's end, and the arena's state. */
static inline void
heap_image_end(struct heap_image *h)
{
	uint64_t state = HEAP_IMAGE_DATA + HEAP_IMAGE_STATE, bins = state + h->bins_off;
	uint64_t parameters = HEAP_IMAGE_DATA + HEAP_IMAGE_PARAMETERS, top = h->at;

	heap_image_block(h, HEAP_IMAGE_AT + HEAP_IMAGE_BYTES - h->at, true);
	*heap_image_word(h, bins - 16) = top;
	for (unsigned i = 0; i < 254; i++)
		*heap_image_word(h, bins + 8 * i) = bins - 16 + i / 2 * 16;
	*heap_image_word(h, bins + 254 * 8 + 16) = state; /* next arena: itself */
	*heap_image_word(h, bins + 254 * 8 + 40) = HEAP_IMAGE_BYTES;
	*heap_image_word(h, parameters) = UINT64_C(65536) << 32;
	*heap_image_word(h, parameters + 32) = HEAP_IMAGE_AT;
}

/* The versions that differ. */
static const struct heap_image heap_image_versions[] = {
	{.bins_off = 104, .cache_size = 0x250, .count_bytes = 1, .bins = 64},
	{.bins_off = 112, .cache_size = 0x290, .count_bytes = 2, .bins = 64},
	{.bins_off = 112,
	 .cache_size = 0x290,
	 .count_bytes = 2,
	 .bins = 64,
	 .masked = true},
	{.bins_off = 112,
	 .cache_size = 0x300,
	 .count_bytes = 2,
	 .bins = 76,
	 .masked = true},
	{.bins_off = 24,
	 .cache_size = 0x300,
	 .count_bytes = 2,
	 .bins = 76,
	 .masked = true},
};

enum { HEAP_IMAGE_VERSIONS = 5 };

#endif
