/* SPDX-License-Identifier: MIT */
/* test_heapblocks.c -- heaps of glibc's malloc made by hand, of all versions that differ:
 * which blocks are found. */
#include <errno.h>

#include "heap_image.h"
#include "t.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/heap/walk_glibc_impl.h"
#include "tool/target/heap/walker.h"

static struct heap_image image;

static int
read_image(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	(void)ctx;
	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t *word = heap_image_word(&image, addr + i);

		if (word == NULL)
			return -EFAULT;
		memcpy((char *)to + i, word, bytes - i < 8 ? bytes - i : 8);
	}
	return 0;
}

static bool
is_present(void *ctx, uint64_t addr)
{
	(void)ctx;
	return heap_image_word(&image, addr) != NULL;
}

static const unsigned char *
look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t *word = heap_image_word(&image, addr);

	(void)ctx, (void)bytes;
	/* Little at a time, so that every edge is met. */
	*ret_bytes = 8;
	return (const unsigned char *)word;
}

/* Also what the walk that only adds up says of caches. */
static uint64_t cached_bytes;

static void
find(struct heapblocks *h)
{
	struct heapmap sums;
	struct procmem_source source = {.read = read_image, .present = is_present};
	struct procmem m = {.source = &source, .pagemap_fd = -1, .page_bytes = 4096};
	struct memmap map = {0};

	vec_push(&map.areas, (struct memmap_area){.start = HEAP_IMAGE_AT,
						  .end = HEAP_IMAGE_AT + HEAP_IMAGE_BYTES,
						  .name = "",
						  .perms = "rw-p"});
	vec_push(&map.areas,
		 (struct memmap_area){.start = HEAP_IMAGE_DATA,
				      .end = HEAP_IMAGE_DATA + HEAP_IMAGE_DATA_BYTES,
				      .inode = 1,
				      .name = "/lib/libc.so.6",
				      .perms = "rw-p"});
	walker_find(&(struct walker_memory){.mem = &m, .map = &map, .look = look},
		    WALKER_ALL, h);
	heapwalk(&m, &map, &(struct heapwalk_opts){0}, &sums);
	cached_bytes = sums.cached_bytes;
	heapmap_done(&sums);
	memmap_done(&map);
}

static bool
has(const struct heapblocks *h, uint64_t addr, uint64_t bytes)
{
	for (size_t i = 0; i < h->blocks.len; i++) {
		if (h->blocks.data[i].addr == addr && h->blocks.data[i].bytes == bytes)
			return true;
	}
	return false;
}

T_TEST(all_versions)
{
	for (unsigned v = 0; v < HEAP_IMAGE_VERSIONS; v++) {
		struct heapblocks h = {0};
		uint64_t a, b, c, d, cached[3], fast[2];

		image = heap_image_versions[v];
		heap_image_begin(&image);
		a = heap_image_block(&image, 48, true);
		for (unsigned i = 0; i < 3; i++)
			cached[i] = heap_image_block(&image, 64, true);
		b = heap_image_block(&image, 1040, true);
		heap_image_block(&image, 160, false);
		c = heap_image_block(&image, 48, true);
		for (unsigned i = 0; i < 2; i++)
			fast[i] = heap_image_block(&image, 32, true);
		/* Looks like a cache, and is none: its first list leads nowhere. */
		d = heap_image_block(&image, image.cache_size, true);
		*heap_image_word(&image, d + image.bins * image.count_bytes) = a + 8;
		heap_image_end(&image);
		for (unsigned i = 0; i < 3; i++)
			heap_image_cache(&image, cached[i]);
		for (unsigned i = 0; i < 2 && image.bins_off != 24; i++)
			heap_image_fast(&image, fast[i]);

		find(&h);
		T_CHECK(h.known);
		T_EQ(h.blocks.len, image.bins_off != 24 ? 4 : 6);
		T_CHECK(has(&h, a, 40) && has(&h, b, 1032) && has(&h, c, 40));
		T_CHECK(has(&h, d, image.cache_size - 8));
		T_EQ(h.caches, 1);
		T_EQ(h.gaps.len, 0);
		T_EQ(h.mapped_expected, 0);
		T_EQ(h.arenas.len, 1);
		T_EQ(h.arenas.data[0].free_bytes, 160);
		T_EQ(h.arenas.data[0].cached_blocks, image.bins_off != 24 ? 5 : 3);
		T_EQ(h.arenas.data[0].cached_bytes, cached_bytes);
		T_EQ(h.arenas.data[0].system_bytes, HEAP_IMAGE_BYTES);
		T_EQ(h.arenas.data[0].used_bytes + h.arenas.data[0].free_bytes +
			     h.arenas.data[0].cached_bytes + h.arenas.data[0].top_bytes,
		     HEAP_IMAGE_BYTES);
		heapblocks_done(&h);
	}
}

/* What makes no sense is a gap, and what is behind it is found again. */
T_TEST(damage)
{
	struct heapblocks h = {0};
	uint64_t first, broken, behind = 0;

	image = heap_image_versions[2];
	heap_image_begin(&image);
	first = heap_image_block(&image, 48, true);
	broken = heap_image_block(&image, 4096, true);
	for (unsigned i = 0; i < 12; i++)
		behind = heap_image_block(&image, 80, true);
	heap_image_end(&image);
	*heap_image_word(&image, broken - 8) = UINT64_C(0x4141414141414141);
	find(&h);
	T_CHECK(h.known);
	T_CHECK(has(&h, first, 40) && has(&h, behind, 72));
	T_EQ(h.gaps.len, 1);
	T_EQ(h.gaps.data[0].start, broken - 8);
	T_EQ(h.gaps.data[0].end, broken - 16 + 4096);
	heapblocks_done(&h);
}

/* A list that runs in a ring ends all the same. */
T_TEST(rings)
{
	struct heapblocks h = {0};
	uint64_t a;

	image = heap_image_versions[2];
	heap_image_begin(&image);
	a = heap_image_block(&image, 64, true);
	heap_image_end(&image);
	heap_image_cache(&image, a);
	*heap_image_word(&image, a) = a ^ a >> 12;
	find(&h);
	T_CHECK(h.known);
	T_EQ(h.blocks.len, 0);
	heapblocks_done(&h);
}

T_TEST(no_heap)
{
	struct heapblocks h = {0};

	memset(&image, 0, sizeof image);
	find(&h);
	T_CHECK(!h.known);
	T_STR(h.why, "it has no heap of glibc's malloc");
	heapblocks_done(&h);
}

/* ---- a block with a mapping of its own, in a reservation of a terabyte ---- */

enum { PIECE = 2 << 20, BLOCK_BYTES = 1 << 20 };
#define SPARSE_AT UINT64_C(0x7d0000000000)
#define SPARSE_END (SPARSE_AT + (UINT64_C(1) << 40))
#define BLOCK_AT (SPARSE_AT + (UINT64_C(700) << 30) + PIECE)

static unsigned looks;

/* As freeze_look: of what is not there as far as the caller wants to know, and at least
 * to the end of a piece. */
static const unsigned char *
look_sparse(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	static const uint64_t header[PIECE / 8] = {0, BLOCK_BYTES | 2};
	uint64_t end = (addr | (PIECE - 1)) + 1;

	(void)ctx;
	looks++;
	if (addr >= BLOCK_AT && addr < BLOCK_AT + PIECE) {
		*ret_bytes = end - addr;
		return (const unsigned char *)header + (addr - BLOCK_AT);
	}
	if (end < addr + bytes)
		end = addr + bytes;
	if (addr < BLOCK_AT && end > BLOCK_AT)
		end = BLOCK_AT;
	*ret_bytes = end - addr;
	return NULL;
}

T_TEST(sparse)
{
	struct memmap map = {0};
	struct hb_walk k = {.map = &map, .look = look_sparse, .mapped_expected = 1};

	vec_push(&map.areas, (struct memmap_area){.start = SPARSE_AT,
						  .end = SPARSE_END,
						  .name = "",
						  .perms = "rw-p"});
	looks = 0;
	hb_find_mapped(&k, NULL);
	T_EQ(k.mapped.len, 1);
	T_EQ(k.mapped.data[0].addr, BLOCK_AT + 16);
	T_EQ(k.mapped.data[0].bytes, BLOCK_BYTES - 16);
	T_CHECK(looks < 8192); /* of 524,288 pieces */
	vec_done(&k.mapped);
	memmap_done(&map);
}

T_MAIN()
