/* SPDX-License-Identifier: MIT */
/* test_walker.c -- what the walkers find: in images made by hand of versions that are not
 * installed, and in processes, for tests/e2e/heap_walkers.sh.
 *
 * 	test_walker PID < TRUTH
 *
 * prints one line about a process of tests/programs/heap_truth.c, compared with what it
 * says itself.
 *
 * 	test_walker PID ROUNDS
 *
 * changes words of a copy of its memory, those that a walk reads, and walks it, so many
 * times: every result must be in order. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "t.h"
#include "tool/target/heap/walker_impl.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/map.h"

/* ---- images made by hand ---- */

static struct map image; /* address -> word */
static struct map pages; /* those that have any */

static void
put(uint64_t addr, uint64_t word)
{
	*map_add(&image, addr) = word;
	*map_add(&pages, addr / 4096) = 1;
}

static int
read_image(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	uint64_t *word = map_find(&image, addr);

	(void)ctx;
	if (bytes != sizeof *word || map_find(&pages, addr / 4096) == NULL)
		return -EFAULT;
	memcpy(to, word != NULL ? word : &(uint64_t){0}, sizeof *word);
	return 0;
}

static bool
is_present(void *ctx, uint64_t addr)
{
	(void)ctx;
	return map_find(&pages, addr / 4096) != NULL;
}

static const unsigned char *
look_at_image(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	static uint64_t zero;
	uint64_t *word = map_find(&image, addr & ~UINT64_C(7));

	(void)ctx, (void)bytes;
	*ret_bytes = 8 - addr % 8;
	if (map_find(&pages, addr / 4096) == NULL) {
		*ret_bytes = 4096 - addr % 4096;
		return NULL;
	}
	return (const unsigned char *)(word != NULL ? word : &zero) + addr % 8;
}

/* An object's data of 4 MiB, and memory of no file. */
#define DATA UINT64_C(0x555500000000)
#define MEMORY UINT64_C(0x7f0000000000)

static void
walk_image(uint64_t tp, struct heapblocks *h)
{
	struct procmem_source source = {.read = read_image, .present = is_present};
	struct procmem m = {.source = &source, .pagemap_fd = -1, .page_bytes = 4096};
	struct memmap map = {0};

	vec_push(&map.areas, (struct memmap_area){.start = DATA,
						  .end = DATA + (4 << 20),
						  .inode = 1,
						  .name = "/bin/program",
						  .perms = "rw-p"});
	vec_push(&map.areas, (struct memmap_area){.start = MEMORY,
						  .end = MEMORY + (UINT64_C(1) << 30),
						  .name = "",
						  .perms = "rw-p"});
	walker_find(&(struct walker_memory){.mem = &m,
					    .map = &map,
					    .look = look_at_image,
					    .thread_pointers = &tp,
					    .nthreads = tp != 0},
		    WALKER_OTHERS, h);
	memmap_done(&map);
	map_done(&image);
	map_done(&pages);
}

/* A segment with a page of 64-byte blocks: 10 were made, of which 3 are free, one of
 * these by another thread. */
static void
make_mimalloc(bool newer, unsigned head)
{
	uint64_t s = MEMORY + (32 << 20), page = s + 65536, entry;
	unsigned cookie = newer ? 224 : 216, slices = head - 40;

	put(s + cookie, s ^ 0x1234567);
	put(s + slices, 512);
	put(s + slices + 8, 1);	 /* one slice for this */
	put(s + slices + 16, 0); /* kind */
	put(s + slices + 24, 3); /* entries */
	put(s + head, 1);	 /* of the first: one slice */
	entry = s + head + 96;
	put(entry, 1);
	put(entry + 8, UINT64_C(10) << 16); /* capacity */
	put(entry + 16, page);		    /* free */
	put(entry + 24, page + 64);	    /* freed by the same thread */
	put(entry + 32, 8);		    /* used, with the one below */
	put(entry + 40, 64);		    /* bytes */
	put(entry + 48, page);		    /* first block */
	put(entry + 56, (page + 128) | 1);  /* freed by another thread */
	put(page, 0);
	put(page + 64, 0);
	put(page + 128, 0);
	put(entry + 96, 1); /* a slice without a page */
}

T_TEST(mimalloc_2_2)
{
	struct heapblocks h = {0};

	make_mimalloc(true, 288);
	walk_image(0, &h);
	T_EQ(h.owners.len, 1);
	T_STR(h.owners.data[0].name, "mimalloc 2.2");
	T_EQ(h.blocks.len, 7);
	T_EQ(h.blocks.data[0].addr, MEMORY + (32 << 20) + 65536 + 192);
	T_EQ(h.blocks.data[0].bytes, 64);
	T_EQ(h.heaps.len, 1);
	T_EQ(h.heaps.data[0].end - h.heaps.data[0].start, 32 << 20);
	heapblocks_done(&h);
}

T_TEST(mimalloc_2_1)
{
	struct heapblocks h = {0};

	make_mimalloc(false, 264);
	walk_image(0, &h);
	T_EQ(h.owners.len, 1);
	T_STR(h.owners.data[0].name, "mimalloc 2.1");
	T_EQ(h.blocks.len, 7);
	heapblocks_done(&h);
}

/* The same before 2.1.5, where the first block follows from the size of blocks: `front`
 * bytes behind. */
static void
make_older_mimalloc(unsigned shift, unsigned cookie, unsigned head, uint64_t front)
{
	uint64_t s = MEMORY + (UINT64_C(1) << shift), page = s + 65536 + front, entry;

	put(s + cookie, s ^ 0x1234567);
	put(s + cookie + 8, UINT64_C(1) << (shift - 16));
	put(s + cookie + 16, 1);
	put(s + head - (shift == 26 ? 8 : 16), 3);
	put(s + head, 1);
	entry = s + head + 80;
	put(entry, 1);
	put(entry + 8, UINT64_C(10) << 16);
	put(entry + 16, page);
	put(entry + 24, 8 | UINT64_C(64) << 32); /* used, bytes */
	put(entry + 32, page + 64);
	put(entry + 40, (page + 128) | 1);
	put(page, 0);
	put(page + 64, 0);
	put(page + 128, 0);
	put(entry + 80, 1);
}

T_TEST(mimalloc_before_2_1_5)
{
	static const struct {
		const char *name;
		unsigned shift, cookie, head, front;
	} versions[] = {
		{"mimalloc 2.0", 26, 320, 368, 128}, /* 2.0.6 */
		{"mimalloc 2.0", 25, 216, 264, 384}, /* 2.0.9 */
		{"mimalloc 2.1", 25, 216, 264, 192}, /* 2.1.2 */
	};

	for (unsigned i = 0; i < 3; i++) {
		struct heapblocks h = {0};

		make_older_mimalloc(versions[i].shift, versions[i].cookie,
				    versions[i].head, versions[i].front);
		walk_image(0, &h);
		T_EQ(h.owners.len, 1);
		T_CHECK(h.owners.len == 1 &&
			strcmp(h.owners.data[0].name, versions[i].name) == 0);
		T_EQ(h.blocks.len, 7);
		T_CHECK(!h.inconsistent);
		heapblocks_done(&h);
	}
}

/* Counts that contradict the lists: nothing is reported, and why. */
T_TEST(mimalloc_of_no_version)
{
	struct heapblocks h = {0};

	make_mimalloc(true, 288);
	put(MEMORY + (32 << 20) + 288 + 96 + 32, 9);
	walk_image(0, &h);
	T_CHECK(!h.known && h.inconsistent);
	T_CHECK(strstr(h.why, "mimalloc") != NULL);
	T_EQ(h.blocks.len, 0);
	T_EQ(h.heaps.len, 0);
	heapblocks_done(&h);
}

/* jemalloc's table with four slabs of 32-byte blocks, one block of 20 KiB, and a thread
 * that has freed two blocks of the first slab. Versions differ in the shifts. */
static uint64_t
make_jemalloc(unsigned state, unsigned class, unsigned nfree)
{
	uint64_t leaf = MEMORY + 4096, base = MEMORY + (4 << 20),
		 extents = MEMORY + (8 << 20);

	(void)state;
	put(DATA + 8 * (extents >> 30), leaf);
	put(base, 2 << 20); /* a base block: bytes, next, descriptor with its address */
	put(base + 24, base + 4096);
	for (uint64_t i = 0; i < 5; i++) {
		uint64_t d = base + 8192 + 128 * i, at = extents + 65536 * i;
		uint64_t bytes = i < 4 ? 4096 : 20480;
		uint64_t key = at >> 12 & 0x3ffff;

		put(leaf + 8 * key, d);
		if (i == 4)
			put(leaf + 8 * (key + 4), d);
		put(d + 8, at);
		put(d + 16, bytes);
		if (i < 4) { /* 128 blocks: the last 28 are free */
			put(d, UINT64_C(1) << 12 | UINT64_C(2) << class |
				       UINT64_C(28) << nfree);
			put(d + 64, 0);
			put(d + 72, UINT64_MAX << 36);
		} else {
			put(d, UINT64_C(37) << class); /* 20 KiB */
		}
	}
	return extents;
}

T_TEST(jemalloc_5_2)
{
	uint64_t extents = make_jemalloc(16, 18, 26), tp = MEMORY + (64 << 20) + 65536;
	uint64_t stack = extents + 65536 * 4, bins = tp - 4096;
	struct heapblocks h = {0};

	/* 36 bins, each with an end of its stack, 64 bytes behind the one before. */
	for (unsigned b = 0; b < 36; b++) {
		put(bins + 24 * b, b == 2 ? UINT64_C(2) << 32 : 0);
		put(bins + 24 * b + 16, stack + 64 * (b + 1));
	}
	put(stack + 64 * 3 - 8, extents);
	put(stack + 64 * 3 - 16, extents + 32);
	walk_image(tp, &h);
	T_EQ(h.owners.len, 1);
	T_STR(h.owners.data[0].name, "jemalloc 5.2");
	T_EQ(h.owners.data[0].failed, 0);
	T_EQ(h.caches, 1);
	T_EQ(h.blocks.len, 4 * 100 - 2); /* the stack is jemalloc's own */
	if (h.blocks.len == 0)
		return;
	T_EQ(h.blocks.data[0].addr, extents + 64);
	T_EQ(h.arenas.data[0].cached_blocks, 2);
	heapblocks_done(&h);
}

T_TEST(jemalloc_5_3)
{
	struct heapblocks h = {0};
	uint64_t extents = make_jemalloc(17, 20, 28);

	walk_image(0, &h);
	T_EQ(h.owners.len, 1);
	T_STR(h.owners.data[0].name, "jemalloc 5.3");
	T_EQ(h.blocks.len, 4 * 100 + 1);
	T_EQ(h.blocks.data[400].addr, extents + 65536 * 4);
	T_EQ(h.blocks.data[400].bytes, 20480);
	heapblocks_done(&h);
}

/* A slab whose bitmap does not agree with its count: a gap, which counts as a failed
 * check. */
T_TEST(jemalloc_gap)
{
	struct heapblocks h = {0};

	make_jemalloc(17, 20, 28);
	put(MEMORY + (4 << 20) + 8192 + 72, UINT64_MAX << 35);
	walk_image(0, &h);
	T_CHECK(!walker_is_consistent(&h));
	T_CHECK(!h.known); /* one of six is too much */
	T_CHECK(strstr(h.why, "jemalloc 5.3 are not consistent (1 of ") != NULL);
	heapblocks_done(&h);
}

/* A slab of a class that has no size, and one whose element has another state: gaps. */
T_TEST(jemalloc_contradictions)
{
	const uint64_t first = MEMORY + (4 << 20) + 8192;
	const uint64_t wrong[] = {UINT64_C(1) << 12 | UINT64_C(200) << 20,
				  UINT64_C(1) << 12 | UINT64_C(1) << 17 |
					  UINT64_C(2) << 20 | UINT64_C(28) << 28};

	for (unsigned i = 0; i < 2; i++) {
		struct heapblocks h = {0};

		make_jemalloc(17, 20, 28);
		put(first, wrong[i]);
		walk_image(0, &h);
		T_CHECK(!h.known && h.inconsistent);
		T_CHECK(strstr(h.why, "jemalloc 5.3 are not consistent (1 of ") != NULL);
		heapblocks_done(&h);
	}
}

T_TEST(nothing)
{
	struct heapblocks h = {0};

	put(DATA, MEMORY);
	put(MEMORY, MEMORY + 64);
	walk_image(MEMORY + 8192, &h);
	T_CHECK(!h.known && !h.inconsistent);
	heapblocks_done(&h);
}

/* What lies behind a file's private data is its .bss; behind shared memory, a recording
 * as a rule, it is a heap. */
T_TEST(data_of_objects)
{
	struct memmap_area areas[] = {
		{.start = 4096, .end = 8192, .inode = 1, .name = "/x", .perms = "rw-p"},
		{.start = 8192, .end = 12288, .name = "", .perms = "rw-p"},
		{.start = 12288, .end = 16384, .inode = 2, .name = "/y", .perms = "rw-s"},
		{.start = 16384, .end = 20480, .name = "", .perms = "rw-p"},
	};
	struct memmap map = {.areas = {.data = areas, .len = 4}};

	T_CHECK(memmap_data_of(&map, &map.areas.data[0]) != NULL &&
		memmap_data_of(&map, &map.areas.data[1]) != NULL);
	T_CHECK(memmap_data_of(&map, &map.areas.data[2]) == NULL &&
		memmap_data_of(&map, &map.areas.data[3]) == NULL);
}

/* ---- a process ---- */

struct figures {
	uint64_t truth, missing, inner, wrong, matched;
};

/* Reads the truth from stdin; blocks that were found are marked by a size of 0. */
static void
compare(struct heapblocks *h, struct figures *f)
{
	uint64_t addr, bytes;

	while (scanf("%" SCNx64 " %" SCNu64, &addr, &bytes) == 2) {
		size_t low = 0, high = h->blocks.len;
		struct heapblock *b;

		f->truth++;
		while (low < high) {
			size_t middle = low + (high - low) / 2;

			if (h->blocks.data[middle].addr <= addr)
				low = middle + 1;
			else
				high = middle;
		}
		b = low > 0 ? &h->blocks.data[low - 1] : NULL;
		if (b == NULL ||
		    (b->addr != addr && (!b->inner || addr >= b->addr + b->bytes)))
			f->missing++;
		else if (b->addr != addr)
			f->inner++, f->matched++;
		else {
			f->wrong += b->bytes != bytes;
			f->matched++;
		}
	}
}

static uint64_t
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static int
compare_process(int pid)
{
	struct freeze z = FREEZE_NONE;
	struct heapblocks h = {0};
	struct procmem_words threads = {0};
	struct figures f = {0};
	struct err e = {0};
	uint64_t failed = 0, unread = 0, start;
	char names[200];
	int r = freeze_open(pid, &z, &e);

	if (r == 0)
		r = freeze_stop(&z, 0, &e);
	if (r == 0)
		r = freeze_maps(&z, &e);
	if (r < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	for (size_t i = 0; i < z.threads.len; i++)
		vec_push(&threads, z.threads.data[i].tp);
	start = now_us();
	walker_find(&(struct walker_memory){.mem = &z.mem,
					    .map = &z.map,
					    .look = freeze_look,
					    .ctx = &z,
					    .thread_pointers = threads.data,
					    .nthreads = threads.len},
		    WALKER_ALL, &h);
	start = now_us() - start;
	freeze_go(&z);
	for (size_t i = 0; i < h.owners.len; i++) {
		failed += h.owners.data[i].failed;
		unread += h.owners.data[i].unread_caches;
	}
	compare(&h, &f);
	printf("%s: truth=%" PRIu64 " missing=%" PRIu64 " wrong=%" PRIu64
	       " inner=%" PRIu64 " extra=%" PRIu64 " failed=%" PRIu64 " unread=%" PRIu64
	       " caches=%u\n",
	       h.known ? walker_names(&h, names, sizeof names) : h.why, f.truth,
	       f.missing, f.wrong, f.inner, (uint64_t)h.blocks.len - f.matched, failed,
	       unread, h.caches);
	fprintf(stderr, "%" PRIu64 " us\n", start);
	vec_done(&threads);
	heapblocks_done(&h);
	freeze_close(&z);
	return 0;
}

/* ---- a process whose memory was changed ---- */

enum { PIECE = 64, CHANGES_MAX = 64 };

static struct copy {
	struct map where; /* number of a page -> its place in `data` + 1 */
	unsigned char *data;
	size_t n, cap;
	struct map read; /* pieces of 64 bytes that were looked at */
	bool note;
} copy;

static const unsigned char *
look_at_copy(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t *place = map_find(&copy.where, addr / 4096);

	(void)ctx, (void)bytes;
	if (place == NULL) {
		*ret_bytes = 4096 - addr % 4096;
		return NULL;
	}
	*ret_bytes = PIECE - addr % PIECE;
	if (copy.note)
		*map_add(&copy.read, addr / PIECE) = 1;
	return copy.data + (*place - 1) * 4096 + addr % 4096;
}

static int
read_copy(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		uint64_t n;
		const unsigned char *p = look_at_copy(ctx, addr + done, bytes - done, &n);

		if (p == NULL)
			return -EFAULT;
		n = n < bytes - done ? n : bytes - done;
		memcpy((char *)to + done, p, (size_t)n);
		done += (size_t)n;
	}
	return 0;
}

static bool
has_copy(void *ctx, uint64_t addr)
{
	(void)ctx;
	return map_find(&copy.where, addr / 4096) != NULL;
}

static void
take_copy(struct freeze *z)
{
	for (size_t i = 0; i < z->map.areas.len; i++) {
		const struct memmap_area *a = &z->map.areas.data[i];

		for (uint64_t at = a->start;
		     a->perms[1] == 'w' && !freeze_is_device(a->name) && at < a->end;) {
			uint64_t n = 0;
			const unsigned char *p = freeze_look(z, at, 4096, &n);

			if (p == NULL) {
				at += (n + 4095) / 4096 * 4096;
				continue;
			}
			copy.data =
				vec_grow(copy.data, &copy.cap, (copy.n + 1) * 4096, 1);
			memcpy(copy.data + copy.n * 4096, p, 4096);
			*map_add(&copy.where, at / 4096) = ++copy.n;
			at += 4096;
		}
	}
}

static uint64_t random_state = 88172645463325252;

static uint64_t
next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t *
word_of(uint64_t piece)
{
	uint64_t *place = map_find(&copy.where, piece * PIECE / 4096);

	return (uint64_t *)(void *)(copy.data + (*place - 1) * 4096 +
				    piece * PIECE % 4096) +
	       next_random() % (PIECE / 8);
}

/* What a word becomes: another one that was read, one near it, a bit more or less,
 * anything. */
static uint64_t
changed(uint64_t word, uint64_t other)
{
	switch (next_random() % 6) {
	case 0:
		return other;
	case 1:
		return word + (next_random() % 64 - 32) * 8;
	case 2:
		return word ^ UINT64_C(1) << next_random() % 64;
	case 3:
		return 0;
	case 4:
		return UINT64_MAX >> next_random() % 64;
	default:
		return next_random();
	}
}

/* Blocks and ranges in order, and inside of the memory there is. */
static bool
is_in_order(const struct heapblocks *h)
{
	for (size_t i = 1; i < h->blocks.len; i++) {
		if (h->blocks.data[i - 1].addr + h->blocks.data[i - 1].bytes >
		    h->blocks.data[i].addr)
			return false;
	}
	for (size_t i = 1; i < h->heaps.len; i++) {
		if (h->heaps.data[i - 1].end >= h->heaps.data[i].start)
			return false;
	}
	return h->known || h->blocks.len == 0;
}

static int
walk_changed(int pid, unsigned rounds)
{
	struct procmem_source source = {
		.read = read_copy, .present = has_copy, .ctx = NULL};
	struct procmem mem = {.source = &source, .pagemap_fd = -1, .page_bytes = 4096};
	struct walker_memory m = {.mem = &mem, .look = look_at_copy};
	struct freeze z = FREEZE_NONE;
	struct procmem_words threads = {0}, pieces = {0};
	struct err e = {0};
	unsigned known = 0, consistent = 0;
	uint64_t key, value, slowest = 0;
	size_t pos = 0;

	if (freeze_open(pid, &z, &e) < 0 || freeze_stop(&z, 0, &e) < 0 ||
	    freeze_maps(&z, &e) < 0) {
		fprintf(stderr, "%s\n", e.msg);
		return 1;
	}
	take_copy(&z);
	for (size_t i = 0; i < z.threads.len; i++)
		vec_push(&threads, z.threads.data[i].tp);
	freeze_go(&z);
	m.map = &z.map;
	m.thread_pointers = threads.data;
	m.nthreads = threads.len;
	for (unsigned i = 0; i <= rounds; i++) {
		uint64_t old[CHANGES_MAX], *words[CHANGES_MAX], start = now_us();
		unsigned n =
			pieces.len > 0 ? 1 + (unsigned)(next_random() % CHANGES_MAX) : 0;
		struct heapblocks h = {0};

		for (unsigned k = 0; k < n; k++) {
			words[k] = word_of(pieces.data[next_random() % pieces.len]);
			old[k] = *words[k];
			*words[k] = changed(
				old[k],
				*word_of(pieces.data[next_random() % pieces.len]));
		}
		copy.note = i == 0;
		walker_find(&m, WALKER_ALL, &h);
		if (i == 0) {
			while (map_next(&copy.read, &pos, &key, &value))
				vec_push(&pieces, key);
		}
		known += h.known;
		consistent += walker_is_consistent(&h);
		if (!is_in_order(&h)) {
			printf("round %u: not in order\n", i);
			return 1;
		}
		heapblocks_done(&h);
		while (n > 0) {
			n--;
			*words[n] = old[n];
		}
		start = now_us() - start;
		slowest = start > slowest ? start : slowest;
	}
	printf("rounds=%u known=%u consistent=%u\n", rounds, known, consistent);
	fprintf(stderr, "slowest: %" PRIu64 " us\n", slowest);
	vec_done(&threads);
	vec_done(&pieces);
	map_done(&copy.where);
	map_done(&copy.read);
	free(copy.data);
	freeze_close(&z);
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && atoi(argv[1]) > 0)
		return compare_process(atoi(argv[1]));
	if (argc == 3)
		return walk_changed(atoi(argv[1]), (unsigned)atoi(argv[2]));
	return t_main(argc, argv);
}
