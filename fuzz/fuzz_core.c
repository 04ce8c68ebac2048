/* SPDX-License-Identifier: MIT */
/* fuzz_core.c -- core files of arbitrary bytes, and all that is made of them: mappings,
 * malloc's blocks, what is lost, who holds what; and the same bytes as a saved look at a
 * heap.
 *
 * What is accepted has mappings in order that do not overlap; bytes that are shown lie in
 * the file; blocks are in order and apart; every block has a kind; what is retained is no
 * more than there is. */
#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core_image.h"
#include "tool/analyze/process/scan_growth.h"
#include "tool/format/core/core.h"
#include "tool/format/text/scan_file.h"
#include "tool/leak/classify.h"
#include "tool/leak/dominators.h"
#include "tool/leak/paths.h"
#include "tool/leak/roots.h"
#include "tool/target/heap/walker.h"
#include "tool/util/x.h"

static void
must(bool held)
{
	if (!held)
		abort();
}

static int
read_core(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	return core_read(ctx, addr, to, bytes) ? 0 : -1;
}

static bool
has_page(void *ctx, uint64_t addr)
{
	uint64_t n;

	return core_look(ctx, addr, 1, &n) != NULL;
}

static const unsigned char *
look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	const unsigned char *p = core_look(ctx, addr, bytes, ret_bytes);
	const struct core *c = ctx;

	must(p == NULL || (p >= c->data && p + *ret_bytes <= c->data + c->bytes));
	return p;
}

static void
check_map(const struct core *c)
{
	for (size_t i = 0; i < c->map.areas.len; i++) {
		must(c->map.areas.data[i].start < c->map.areas.data[i].end);
		must(i == 0 ||
		     c->map.areas.data[i - 1].end <= c->map.areas.data[i].start);
		must(c->map.areas.data[i].start == c->segments.data[i].start);
	}
}

static uint32_t
one_root(void *ctx, uint64_t addr)
{
	(void)ctx, (void)addr;
	return 1;
}

/* Blocks, kinds, paths and dominators, with all memory outside of the heaps as roots. */
static void
check_blocks(struct core *c, const struct heapblocks *h)
{
	uint32_t n = (uint32_t)h->blocks.len, *stack = xcalloc(n + 1, sizeof *stack);
	struct scan_block *blocks = xcalloc(n + 1, sizeof *blocks);
	struct scan_space space = {.look = look, .ctx = c};
	struct scan_index index;
	struct classify k;
	struct dominators d;
	struct paths p;
	uint64_t bytes = 0;
	void *memory;

	for (uint32_t i = 0; i < n; i++) {
		blocks[i] = (struct scan_block){.addr = h->blocks.data[i].addr,
						.bytes = h->blocks.data[i].bytes,
						.flags = SCAN_BLOCK_ROUNDED};
		must(i == 0 ||
		     blocks[i - 1].addr + blocks[i - 1].bytes <= blocks[i].addr + 8);
		bytes += blocks[i].bytes;
	}
	memory = xmalloc(scan_index_bytes(blocks, n) + 8);
	scan_index_init(&index, blocks, n, memory);
	classify_init(&k, &space, &index, CLASSIFY_ALL_HEURISTICS, stack);
	paths_init(&p, &space, &index, one_root, NULL);
	dominators_init(&d, &space, &index);
	for (size_t i = 0; i < c->segments.len; i++) {
		struct scan_range r = {c->segments.data[i].start,
				       c->segments.data[i].end};

		if (r.start == HEAP_IMAGE_AT)
			continue;
		classify_root_range(&k, r);
		paths_range(&p, r, true);
	}
	classify_finish(&k);
	paths_follow(&p, true);
	for (size_t i = 0; i < c->segments.len; i++)
		dominators_range(&d,
				 (struct scan_range){c->segments.data[i].start,
						     c->segments.data[i].end},
				 one_root, NULL);
	dominators_find(&d);
	must(d.retained[0].bytes <= bytes);
	for (uint32_t i = 0; i < n; i++)
		must(blocks[i].state < CLASSIFY_KINDS);
	dominators_done(&d);
	paths_done(&p);
	free(memory);
	free(blocks);
	free(stack);
}

static void
check_core(struct core *c)
{
	struct procmem_source source = {.read = read_core, .present = has_page, .ctx = c};
	struct procmem m = {.source = &source, .pagemap_fd = -1, .page_bytes = 4096};
	struct walker_memory from = {.mem = &m, .map = &c->map, .look = look, .ctx = c};
	struct walk_pointers VEC_BODY(uint64_t) threads = {0};
	struct heapblocks h;

	check_map(c);
	for (size_t i = 0; i < c->threads.len; i++)
		vec_push(&threads, c->threads.data[i].tp);
	from.thread_pointers = threads.data;
	from.nthreads = threads.len;
	walker_find(&from, WALKER_ALL, &h);
	vec_done(&threads);
	must(h.known || h.why[0] != '\0');
	if (h.known)
		check_blocks(c, &h);
	heapblocks_done(&h);
}

/* A saved look: what was read is written and read again as it was. */
static void
check_saved(const char *text, size_t bytes)
{
	struct heapscan first = {0}, second = {0};
	struct buf once = {0}, twice = {0};
	struct scan_growth g;
	struct err e = {0};

	if (scan_file_parse(text, bytes, &first, &e) == 0) {
		scan_file_write(&once, &first);
		must(scan_file_parse(once.data, once.len, &second, &e) == 0);
		scan_file_write(&twice, &second);
		must(once.len == twice.len &&
		     memcmp(once.data, twice.data, once.len) == 0);
		scan_growth_init(&g, &first, &second);
		scan_growth_done(&g);
	} else {
		must(e.msg[0] != '\0');
	}
	heapscan_done(&first);
	heapscan_done(&second);
	buf_done(&once);
	buf_done(&twice);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct core *c = NULL;
	struct err e = {0};

	if (core_parse(data, bytes, "input", &c, &e) == 0)
		check_core(c);
	else
		must(e.msg[0] != '\0' && strchr(e.msg, '\n') == NULL);
	core_close(c);
	check_saved((const char *)data, bytes);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	static const char saved[] =
		"seep-heap\t1\nwhat\t12 (x)\tx\t12\t99\t4096\nsum\t0\t1\t24\nsum\t3\t2\t48\n"
		"arena\t1\t2\t3\t4\t5\t6\t7\t8\t9\t1\ngroup\t24\tclass A\\tB\t\t\t1\t24\t0\t0\t0\t0\t2\t48\t0\n"
		"holder\tv in x\t0\t2\t48\nmapped\t0\t0\n";
	static struct heap_image h;
	uint64_t a[4];

	if (n == HEAP_IMAGE_VERSIONS && room >= sizeof saved) {
		memcpy(to, saved, sizeof saved - 1);
		return sizeof saved - 1;
	}
	if (n >= HEAP_IMAGE_VERSIONS || room < CORE_IMAGE_ROOM)
		return 0;
	h = heap_image_versions[n];
	heap_image_begin(&h);
	for (unsigned i = 0; i < 4; i++)
		a[i] = heap_image_block(&h, 64 + 16 * (uint64_t)i, true);
	heap_image_block(&h, 160, false);
	heap_image_block(&h, 96, true);
	heap_image_end(&h);
	*heap_image_word(&h, a[0]) = a[1]; /* a list, held by libc's data */
	*heap_image_word(&h, HEAP_IMAGE_DATA) = a[0];
	heap_image_cache(&h, a[2]);
	if (h.bins_off != 24)
		heap_image_fast(&h, a[3]);
	return core_image_make(to, &h);
}
