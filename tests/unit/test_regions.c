/* SPDX-License-Identifier: MIT */
/* test_regions.c -- names of regions, and the account over them, from maps that are made
 * here. */
#include "t.h"
#include "tool/analyze/process/account.h"
#include "tool/analyze/process/regions.h"
#include "tool/target/heap/heapwalk.h"

#define MIB (UINT64_C(1) << 20)

static void
area(struct memmap *m, uint64_t start, uint64_t bytes, const char *perms,
     const char *name, uint64_t rss_kib)
{
	struct memmap_area *a = vec_add(&m->areas);

	a->start = start;
	a->end = start + bytes;
	a->name = name;
	a->inode = name[0] == '/' ? 7 : 0;
	memcpy(a->perms, perms, 5);
	a->kib[MEMMAP_SIZE] = bytes >> 10;
	a->kib[MEMMAP_RSS] = rss_kib;
}

static const struct region *
at(const struct regions *rs, const struct memmap *m, uint64_t addr)
{
	const struct region *r = regions_find(rs, m, addr);
	static const struct region none = {.kind = REGION_KINDS, .name = "(none)"};

	return r != NULL ? r : &none;
}

T_TEST(shapes_of_glibc)
{
	static const uint64_t stacks[] = {0x7f0000802000 + 5000, 0x7ffc00000100};
	struct region_facts f = {.stacks = stacks, .nstacks = 2};
	struct memmap m = {0};
	struct regions rs;

	area(&m, 0x550000000000, 8192, "r-xp", "/bin/prog", 8);
	area(&m, 0x550000002000, 4096, "rw-p", "/bin/prog", 4);
	area(&m, 0x550000003000, 4096, "rw-p", "", 3); /* its zeroed data */
	area(&m, 0x550001000000, MIB, "rw-p", "[heap]", 500);
	area(&m, 0x7e0004000000, 132 << 10, "rw-p", "", 40); /* arena and its reserve */
	area(&m, 0x7e0004000000 + (132 << 10), 64 * MIB - (132 << 10), "---p", "", 0);
	area(&m, 0x7f0000000000, 4096, "---p", "", 0);
	area(&m, 0x7f0000001000, 8 * MIB, "rw-p", "", 12); /* of a thread that runs */
	area(&m, 0x7f0000801000, 4096, "---p", "", 0);
	area(&m, 0x7f0000802000, 8 * MIB, "rw-p", "", 9);
	area(&m, 0x7f0001002000, MIB, "rw-p", "", 77);
	area(&m, 0x7f0002000000, MIB, "rw-s", "/memfd:ring (deleted)", 5);
	area(&m, 0x7f0003000000, MIB, "rw-s", "/dev/shm/4711.live", 6);
	area(&m, 0x7ffc00000000, MIB, "rw-p", "[stack]", 20);
	area(&m, 0x7ffd00000000, 8192, "r-xp", "[vdso]", 4);
	regions_init(&rs, &m, &f);

	T_STR(at(&rs, &m, 0x550000000000)->name, "/bin/prog");
	T_EQ(at(&rs, &m, 0x550000000000)->kib[MEMMAP_RSS], 15);
	T_EQ(at(&rs, &m, 0x550000000000)->areas, 3);
	T_STR(at(&rs, &m, 0x550001000000)->name, "heap");
	T_EQ(at(&rs, &m, 0x7e0004000000)->kind, REGION_ARENA);
	T_STR(at(&rs, &m, 0x7e0004000000)->name, "arena@7e0004000000");
	T_EQ(at(&rs, &m, 0x7f0000802000)->kind, REGION_THREAD_STACK);
	/* The one with the same size over a guard page, though its thread was not
	 * waiting. */
	T_EQ(at(&rs, &m, 0x7f0000001000)->kind, REGION_THREAD_STACK);
	T_EQ(at(&rs, &m, 0x7f0001002000)->kind, REGION_MAPPING);
	T_EQ(at(&rs, &m, 0x7f0002000000)->kind, REGION_SHARED);
	T_EQ(at(&rs, &m, 0x7f0003000000)->kind, REGION_SEEP);
	T_STR(at(&rs, &m, 0x7ffc00000000)->name, "stack");
	T_EQ(at(&rs, &m, 0x7ffd00000000)->kind, REGION_KERNEL);
	T_CHECK(regions_named(&rs, "heap") == at(&rs, &m, 0x550001000000));
	T_CHECK(regions_named(&rs, "prog") == at(&rs, &m, 0x550000000000));
	T_CHECK(regions_named(&rs, "arena") == at(&rs, &m, 0x7e0004000000));
	T_CHECK(regions_named(&rs, "thread") == NULL); /* there are two */
	regions_done(&rs);
	memmap_done(&m);
}

/* Go's heap and pools of the program's own have the shape of an arena. */
T_TEST(shape_of_an_arena_only)
{
	static const uint64_t head[] = {0x7e0004000030, 0, 135168, 135168};
	static const uint64_t later[] = {0x7e0004000030, 0x7e0004000000, 4096, 67108864};
	static const uint64_t filled[] = {0x303030303030303, 0x303030303030303,
					  0x303030303030303, 0x303030303030303};
	static const uint64_t fresh[] = {0, 0, 0, 0};
	static const uint64_t beyond[] = {0x7e0004000030, 0, 135168, 131072};
	struct region_facts go = {.program = REGION_HAS_GO}, c = {0};
	struct memmap m = {0};
	struct regions rs;

	T_CHECK(arenahead_fits(head));
	T_CHECK(arenahead_fits(later));
	T_CHECK(!arenahead_fits(filled));
	T_CHECK(!arenahead_fits(fresh));
	T_CHECK(!arenahead_fits(beyond));

	area(&m, 0xc000000000, 52 * MIB, "rw-p", "", 31 * 1024);
	area(&m, 0xc000000000 + 52 * MIB, 12 * MIB, "---p", "", 0);
	area(&m, 0x7e0004000000, MIB, "rw-p", "", 40);
	area(&m, 0x7e0004000000 + MIB, 63 * MIB, "---p", "", 0);
	regions_init(&rs, &m, &go);
	T_EQ(at(&rs, &m, 0xc000000000)->kind, REGION_GO);
	T_EQ(at(&rs, &m, 0x7e0004000000)->kind, REGION_ARENA);
	regions_done(&rs);
	m.areas.data[2].no_arena = true;
	regions_init(&rs, &m, &c);
	T_EQ(at(&rs, &m, 0xc000000000)->kind, REGION_ARENA);
	T_EQ(at(&rs, &m, 0x7e0004000000)->kind, REGION_MAPPING);
	regions_done(&rs);
	memmap_done(&m);
}

T_TEST(runtimes)
{
	struct memmap m = {0};
	struct regions rs;
	struct region_facts go = {.program = REGION_HAS_GO};
	struct region_facts jvm = {.program = REGION_HAS_JVM};
	struct region_facts v8 = {.program = REGION_HAS_V8};
	struct region_facts py = {.program = REGION_HAS_PYTHON};
	struct region_facts je = {.program = REGION_HAS_JEMALLOC};
	uint64_t in_go = 0xc000000100;

	area(&m, 0xf0000000, 64 * MIB, "rw-p", "", 9);
	area(&m, 0xc000000000, 64 * MIB, "rw-p", "", 9);
	area(&m, 0x3a505e140000, 256 << 10, "rw-p", "", 9);
	area(&m, 0x7f3d72e0b000, MIB, "rw-p", "", 9);
	area(&m, 0x7f3d73000000, 8192, "rw-p", "", 2);

	go.stacks = &in_go;
	go.nstacks = 1;
	regions_init(&rs, &m, &go);
	T_EQ(at(&rs, &m, 0xc000000000)->kind, REGION_GO); /* also where its stacks are */
	regions_done(&rs);
	regions_init(&rs, &m, &jvm);
	T_EQ(at(&rs, &m, 0xf0000000)->kind, REGION_JAVA);
	T_EQ(at(&rs, &m, 0x7f3d72e0b000)->kind, REGION_MAPPING);
	regions_done(&rs);
	regions_init(&rs, &m, &v8);
	T_EQ(at(&rs, &m, 0x3a505e140000)->kind, REGION_V8);
	T_EQ(at(&rs, &m, 0x7f3d72e0b000)->kind, REGION_MAPPING);
	regions_done(&rs);
	regions_init(&rs, &m, &py);
	T_EQ(at(&rs, &m, 0x7f3d72e0b000)->kind, REGION_PYTHON);
	T_EQ(at(&rs, &m, 0x7f3d73000000)->kind, REGION_MAPPING);
	regions_done(&rs);
	regions_init(&rs, &m, &je);
	T_EQ(at(&rs, &m, 0x7f3d73000000)->kind, REGION_JEMALLOC);
	regions_done(&rs);
	memmap_done(&m);
}

T_TEST(programs_by_their_libraries)
{
	struct memmap m = {0};

	area(&m, 0x1000, 4096, "r-xp", "/usr/lib/libjemalloc.so.2", 4);
	area(&m, 0x3000, 4096, "r-xp", "/usr/lib/seep/compat/libtcmalloc.so.4", 4);
	area(&m, 0x5000, 4096, "r-xp", "/usr/bin/python3.11", 4);
	T_EQ(regions_program(&m, true), REGION_HAS_JEMALLOC | REGION_HAS_PYTHON);
	memmap_done(&m);
}

T_TEST(heap_of_pmap_x)
{
	struct memmap m = {0};
	struct region_facts f = {.guess_heap = true};
	struct regions rs;

	area(&m, 0x550000000000, 8192, "r-xp", "prog", 8);
	area(&m, 0x550000002000, 4096, "rw-p", "prog", 4);
	area(&m, 0x550000003000, 4096, "rw-p", "", 4);
	area(&m, 0x550001000000, MIB, "rw-p", "", 500);
	area(&m, 0x7f0001002000, MIB, "rw-p", "", 77);
	regions_init(&rs, &m, &f);
	T_STR(at(&rs, &m, 0x550001000000)->name, "heap");
	T_EQ(at(&rs, &m, 0x550000003000)->kind, REGION_FILE);
	T_EQ(at(&rs, &m, 0x7f0001002000)->kind, REGION_MAPPING);
	regions_done(&rs);
	memmap_done(&m);
}

/* ---- account ---- */

/* Much static data has a kind and a part of its own: its size is fixed, however much of
 * it is written. The few pages that every library has count with its file. */
T_TEST(account_of_static_data)
{
	for (unsigned mib = 0; mib < 2; mib++) {
		struct account_recording none = {0};
		struct memmap m = {0};
		struct region_facts f = {0};
		struct regions rs;
		struct account a;

		area(&m, 0x550000000000, 8192, "r-xp", "/bin/prog", 8);
		area(&m, 0x550000002000, 4096, "rw-p", "/bin/prog", 4);
		area(&m, 0x550000003000, mib == 0 ? MIB - 4096 : MIB, "rw-p", "", 300);
		regions_init(&rs, &m, &f);
		account_init(&a, &m, &rs, NULL, &none, 0);
		T_EQ(region_can_leak(at(&rs, &m, 0x550000003000)->kind), mib == 0);
		T_EQ(a.kib[ACCOUNT_STATIC], mib == 0 ? 0 : 300);
		T_EQ(a.kib[ACCOUNT_FILES], mib == 0 ? 312 : 12);
		regions_done(&rs);
		memmap_done(&m);
	}
}

static void
account_map(struct memmap *m)
{
	area(m, 0x550000000000, 8192, "r-xp", "/bin/prog", 8);
	area(m, 0x550001000000, MIB, "rw-p", "[heap]", 500);
	area(m, 0x7f0001000000, 2 * MIB, "rw-p", "",
	     1100); /* a block, and something else */
	area(m, 0x7f0002000000, MIB, "rw-s", "/memfd:ring (deleted)", 5);
	area(m, 0x7f0003000000, MIB, "rw-s", "/dev/shm/4711.live", 6);
	area(m, 0x7ffc00000000, MIB, "rw-p", "[stack]", 20);
}

static uint64_t
sum(const struct account *a)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < ACCOUNT_PARTS; i++)
		n += a->kib[i];
	return n;
}

T_TEST(account_by_malloc)
{
	struct account_recording none = {0};
	struct memmap m = {0};
	struct heapmap h = {.known = true, .arenas = 1, .cached_bytes = 10 << 10};
	struct region_facts f = {.heap = &h};
	struct regions rs;
	struct account a;

	account_map(&m);
	vec_push(&h.ranges, (struct heapmap_range){.kind = HEAPMAP_MAIN,
						   .start = 0x550001000000,
						   .end = 0x550001000000 + MIB,
						   .used_bytes = 300 << 10,
						   .free_bytes = 190 << 10});
	vec_push(&h.ranges, (struct heapmap_range){.kind = HEAPMAP_CHUNK,
						   .start = 0x7f0001000000,
						   .end = 0x7f0001000000 + 3 * MIB / 2,
						   .used_bytes = 1000 << 10});
	regions_init(&rs, &m, &f);
	account_init(&a, &m, &rs, &h, &none, 0);
	T_EQ(a.rss_kib, 1639);
	T_EQ(sum(&a), 1639);
	T_EQ(a.kib[ACCOUNT_LIVE],
	     1290); /* 300 + 1000, without the 10 that threads keep */
	T_EQ(a.kib[ACCOUNT_FREED], 200);
	T_EQ(a.kib[ACCOUNT_MAPPINGS], 100);
	T_EQ(a.kib[ACCOUNT_STACKS], 20);
	T_EQ(a.kib[ACCOUNT_FILES], 8);
	T_EQ(a.kib[ACCOUNT_SHARED], 5);
	T_EQ(a.kib[ACCOUNT_SEEP], 6);
	T_EQ(a.kib[ACCOUNT_UNEXPLAINED],
	     10); /* of the heap, what its lists did not tell */
	T_CHECK(a.told_by_malloc);
	/* The kernel's own sum is larger: that is not hidden. */
	account_init(&a, &m, &rs, &h, &none, 1700);
	T_EQ(a.kib[ACCOUNT_UNEXPLAINED], 71);
	T_EQ(sum(&a), 1700);
	/* malloc claims more than there is: it was looked at later. */
	h.ranges.data[0].used_bytes = 900 << 10;
	account_init(&a, &m, &rs, &h, &none, 0);
	T_EQ(sum(&a), 1639);
	regions_done(&rs);
	heapmap_done(&h);
	memmap_done(&m);
}

T_TEST(account_without_malloc)
{
	struct account_recording none = {0};
	struct account_recording rec = {.there = true,
					.exact = true,
					.live_bytes = 400 << 10,
					.own_bytes = 64 << 10};
	struct memmap m = {0};
	struct heapmap h = {0};
	struct region_facts unknown = {.heap = &h};
	struct region_facts je = {.heap = &h, .program = REGION_HAS_JEMALLOC};
	struct regions rs;
	struct account a;

	account_map(&m);
	regions_init(&rs, &m, &unknown);
	account_init(&a, &m, &rs, &h, &none, 0);
	T_EQ(a.kib[ACCOUNT_MALLOC], 500);
	T_EQ(a.kib[ACCOUNT_UNEXPLAINED], 1100); /* whose it is nobody said */
	T_EQ(a.kib[ACCOUNT_LIVE] + a.kib[ACCOUNT_FREED], 0);
	T_CHECK(!a.told_by_malloc && !a.told_by_recording);
	regions_done(&rs);

	regions_init(&rs, &m, &je);
	account_init(&a, &m, &rs, &h, &none, 0);
	T_EQ(a.kib[ACCOUNT_MALLOC], 1600);
	T_EQ(a.kib[ACCOUNT_UNEXPLAINED], 0);
	account_init(&a, &m, &rs, &h, &rec, 0);
	T_EQ(a.kib[ACCOUNT_LIVE], 400);
	T_EQ(a.kib[ACCOUNT_FREED], 1200);
	T_EQ(a.kib[ACCOUNT_MALLOC], 0);
	T_CHECK(a.told_by_recording && !a.estimate);
	T_EQ(sum(&a), 1639);
	regions_done(&rs);
	memmap_done(&m);
}

/* jemalloc's own tables claim 400 KiB of what is taken for its memory: the rest is the
 * program's mappings. */
T_TEST(account_by_another_allocator)
{
	struct account_recording none = {0};
	struct memmap m = {0};
	struct heapmap h = {.known = true, .others = true};
	struct region_facts je = {.program = REGION_HAS_JEMALLOC};
	struct regions rs;
	struct account a;

	account_map(&m);
	vec_push(&h.ranges, (struct heapmap_range){.kind = HEAPMAP_ARENA,
						   .start = 0x7f0001000000,
						   .end = 0x7f0001000000 + MIB / 2,
						   .used_bytes = 300 << 10,
						   .free_bytes = 100 << 10});
	regions_init(&rs, &m, &je);
	account_init(&a, &m, &rs, &h, &none, 0);
	T_EQ(a.kib[ACCOUNT_LIVE], 300);
	T_EQ(a.kib[ACCOUNT_FREED], 100);
	T_EQ(a.kib[ACCOUNT_MALLOC], 0);
	T_EQ(a.kib[ACCOUNT_MAPPINGS], 700);
	T_EQ(sum(&a), 1639);
	regions_done(&rs);
	heapmap_done(&h);
	memmap_done(&m);
}

T_MAIN()
