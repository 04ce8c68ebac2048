/* SPDX-License-Identifier: MIT */
/* test_prof.c -- the profile in memory: rows that are found again, strings, and
 * merging. Also the headers of src/shared that hold no state: cursor, varint, hash. */
#include "t.h"

#include <stdint.h>

#include "shared/cursor.h"
#include "shared/hash.h"
#include "shared/varint.h"
#include "tool/model/prof.h"

T_TEST(varint_round_trip)
{
	static const uint64_t values[] = {0,
					  1,
					  127,
					  128,
					  16383,
					  16384,
					  UINT32_MAX,
					  UINT64_MAX / 3,
					  UINT64_MAX - 1,
					  UINT64_MAX};
	unsigned char bytes[VARINT_MAX_BYTES];

	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		uint64_t back = 7;
		size_t n = varint_put(bytes, values[i]);

		T_EQ(varint_get(bytes, n, &back), n);
		T_EQ(back, values[i]);
		back = 7;
		T_EQ(varint_get(bytes, n - 1, &back), 0);
		T_EQ(back, 7);
	}
	T_EQ(varint_put(bytes, 127), 1);
	T_EQ(varint_put(bytes, 128), 2);
	T_EQ(varint_put(bytes, UINT64_MAX), 10);
	bytes[9] = 2; /* the 65th bit */
	T_EQ(varint_get(bytes, 10, &(uint64_t){0}), 0);
	for (int64_t v = -300; v <= 300; v += 7)
		T_EQ(varint_unfold(varint_fold(v)), v);
	T_EQ(varint_fold(-1), 1);
	T_EQ(varint_fold(1), 2);
	T_EQ(varint_unfold(varint_fold(INT64_MIN)), INT64_MIN);
	T_EQ(varint_unfold(varint_fold(INT64_MAX)), INT64_MAX);
}

T_TEST(cursor_stays_inside)
{
	static const unsigned char bytes[] = {1,    2, 0,   3,	 0, 0,	0,
					      0xac, 2, 'h', 'i', 0, 'x'};
	struct cur c = cur_init(bytes, sizeof bytes), sub;

	T_EQ(cur_u8(&c), 1);
	T_EQ(cur_u16(&c), 2);
	T_EQ(cur_u32(&c), 3);
	T_EQ(cur_varint(&c), 300);
	T_STR(cur_cstr(&c), "hi");
	T_EQ(cur_left(&c), 1);
	T_CHECK(cur_cstr(&c) == NULL);
	T_STR(c.why, "string that does not end");
	T_EQ(c.fail_off, 12);
	T_EQ(cur_left(&c), 0);
	T_EQ(cur_u8(&c), 0); /* failed for good, though a byte is left */
	cur_fail(&c, "later");
	T_STR(c.why, "string that does not end");

	c = cur_init(bytes, sizeof bytes);
	cur_seek(&c, 10);
	T_EQ(cur_u32(&c), 0);
	T_STR(c.why, "ends too soon");
	T_EQ(c.fail_off, 10);

	c = cur_init(bytes, sizeof bytes);
	sub = cur_sub(&c, 3);
	T_EQ(cur_left(&sub), 3);
	T_EQ(cur_left(&c), 10);
	T_EQ(cur_u64(&sub), 0);
	T_CHECK(!cur_ok(&sub));
	T_CHECK(cur_ok(&c));
	sub = cur_sub(&c, 11);
	T_EQ(cur_left(&sub), 0);
	T_CHECK(!cur_ok(&sub) && !cur_ok(&c));

	c = cur_init(bytes, sizeof bytes);
	cur_seek(&c, sizeof bytes + 1);
	T_CHECK(!cur_ok(&c));
	c = cur_init(NULL, 0);
	T_EQ(cur_varint(&c), 0);
	T_STR(c.why, "number that does not end");
	T_CHECK(cur_take(&c, 0) == NULL); /* it has failed */
	c = cur_init(bytes, sizeof bytes);
	T_CHECK(cur_take(&c, SIZE_MAX) == NULL);
}

T_TEST(cursor_signed)
{
	static const unsigned char bytes[] = {0x7f, 0x80, 0x7f, 0xe5, 0x8e, 0x26, 3};
	struct cur c = cur_init(bytes, sizeof bytes);
	unsigned char endless[32];

	T_EQ(cur_sleb(&c), -1);
	T_EQ(cur_sleb(&c), -128);
	T_EQ(cur_sleb(&c), 624485);
	T_EQ(cur_svarint(&c), -2);
	memset(endless, 0x80, sizeof endless);
	c = cur_init(endless, sizeof endless);
	T_EQ(cur_sleb(&c), 0);
	T_CHECK(!cur_ok(&c));
}

T_TEST(hash_tells_apart)
{
	T_CHECK(hash_u64(1) != hash_u64(2));
	T_CHECK(hash_pair(1, 2) != hash_pair(2, 1));
	T_CHECK(hash_bytes("seep", 4, 1) != hash_bytes("seep", 4, 2));
	T_CHECK(hash_bytes("seep\0", 5, 1) != hash_bytes("seep", 4, 1));
	T_CHECK(hash_bytes("a longer text", 13, 1) == hash_bytes("a longer text", 13, 1));
}

T_TEST(blank_rows)
{
	struct prof *p = prof_new();

	T_EQ(p->nprocesses, 1);
	T_EQ(p->nmodules, 1);
	T_EQ(p->nlocs, 1);
	T_EQ(p->nnodes, 1);
	T_EQ(p->nsites, 1);
	T_EQ(p->nthreads, 1);
	T_EQ(p->nframes + p->ncells + p->nblocks + p->npoints + p->nmarks, 0);
	T_EQ(prof_str(p, NULL), 0);
	T_EQ(prof_str(p, ""), 0);
	T_STR(prof_text(p, 0), "");
	T_STR(prof_text(p, 4711), "");
	prof_free(p);
	prof_free(NULL);
}

T_TEST(strings_are_one)
{
	struct prof *p = prof_new();
	uint32_t a = prof_str(p, "alpha"), b = prof_strn(p, "alphabet", 5);

	T_EQ(a, b);
	T_CHECK(a != prof_str(p, "alphabet"));
	T_STR(prof_text(p, a), "alpha");
	prof_free(p);
}

T_TEST(modules_by_build_id_then_path)
{
	static const uint8_t id1[20] = {1}, id2[20] = {2};
	struct prof *p = prof_new();
	uint32_t a = prof_module(p, "/a/libx.so", id1, 20);

	T_EQ(a, 1);
	T_EQ(prof_module(p, "/b/libx.so", id1, 20), a);	     /* same build elsewhere */
	T_CHECK(prof_module(p, "/a/libx.so", id2, 20) != a); /* same path, other build */
	T_CHECK(prof_module(p, "/a/libx.so", NULL, 0) != a);
	T_CHECK(prof_module(p, "/a/libx.so", id1, 19) != a);
	T_EQ(prof_module(p, "/a/libx.so", NULL, 0),
	     prof_module(p, "/a/libx.so", NULL, 0));
	T_EQ(p->nmodules, 5);
	T_STR(prof_text(p, p->modules[a].path), "/a/libx.so");
	prof_free(p);
}

T_TEST(locs_and_nodes)
{
	struct prof *p = prof_new();
	uint32_t a = prof_loc(p, 1, 0x10, PROF_LOC_CODE, false);
	uint32_t n1, n2;

	T_EQ(prof_loc(p, 1, 0x10, PROF_LOC_CODE, false), a);
	T_CHECK(prof_loc(p, 2, 0x10, PROF_LOC_CODE, false) != a);
	T_CHECK(prof_loc(p, 1, 0x11, PROF_LOC_CODE, false) != a);
	T_CHECK(prof_loc(p, 1, 0x10, PROF_LOC_ELIDED, false) != a);
	T_CHECK(prof_loc(p, 1, 0x10, PROF_LOC_CODE, true) != a);
	n1 = prof_node(p, 0, a);
	n2 = prof_node(p, n1, a);
	T_CHECK(n1 != n2);
	T_EQ(prof_node(p, 0, a), n1);
	T_EQ(prof_node(p, n1, a), n2);
	T_EQ(p->nlocs, 6);
	T_EQ(p->nnodes, 3);
	/* so many that they meet in the hash table */
	for (uint64_t i = 0; i < 1009; i++) {
		prof_loc(p, 3, i, PROF_LOC_CODE, false);
		prof_loc(p, 3, i, PROF_LOC_CODE, true);
		prof_loc(p, 4, i, PROF_LOC_CODE, false);
	}
	T_EQ(p->nlocs, 6 + 3 * 1009);
	prof_free(p);
}

/* 10,007 rows: the tables and their indexes have grown many times. */
T_TEST(many_nodes)
{
	enum { N = 10007 };
	struct prof *p = prof_new();
	uint32_t parent = 0;

	for (uint32_t i = 0; i < N; i++)
		parent = prof_node(p, i % 3 ? parent : 0,
				   prof_loc(p, 1, i, PROF_LOC_CODE, false));
	T_EQ(p->nnodes, N + 1);
	T_EQ(p->nlocs, N + 1);
	parent = 0;
	for (uint32_t i = 0; i < N; i++)
		parent = prof_node(p, i % 3 ? parent : 0,
				   prof_loc(p, 1, i, PROF_LOC_CODE, false));
	T_EQ(p->nnodes, N + 1);
	prof_free(p);
}

T_TEST(damage_adds_up)
{
	struct prof *p = prof_new();

	prof_add_damage(p, "lost", 0);
	T_EQ(p->ndamages, 0);
	prof_add_damage(p, "lost", 3);
	prof_add_damage(p, "torn", 5);
	prof_add_damage(p, "lost", 8);
	T_EQ(p->ndamages, 2);
	T_EQ(p->damages[0].count, 11);
	T_STR(prof_text(p, p->damages[1].what), "torn");
	prof_free(p);
}

/* A profile of one process: main > leaf in a module shared by all, with figures of its
 * own. */
static struct prof *
one(uint32_t pid, const char *name, uint64_t bytes, bool names)
{
	static const uint8_t id[20] = {13};
	struct prof *p = prof_new();
	uint32_t module, loc, node, row;

	prof_str(p, "makes the ids of the two differ");
	prof_str(p, name);
	row = prof_add_process(p);
	p->processes[row].pid = pid;
	p->processes[row].exe = prof_str(p, name);
	module = prof_module(p, "/bin/shared", id, 20);
	loc = prof_loc(p, module, 0x1100, PROF_LOC_CODE, false);
	node = prof_node(p, 0, loc);
	loc = prof_loc(p, module, bytes, PROF_LOC_CODE, false);
	node = prof_node(p, node, loc);
	if (names) {
		row = prof_add_frame(p);
		p->frames[row].function = prof_str(p, "leaf");
		p->locs[loc].frames = row;
		p->locs[loc].nframes = 1;
	}
	row = prof_add_site(p);
	p->sites[row].process = 1;
	p->sites[row].node = node;
	p->sites[row].live_bytes = (int64_t)bytes;
	row = prof_add_thread(p);
	p->threads[row].process = 1;
	p->threads[row].tid = pid;
	row = prof_add_cell(p);
	p->cells[row].site = p->cells[row].thread = 1;
	row = prof_add_block(p);
	p->blocks[row].site = p->blocks[row].process = 1;
	row = prof_add_point(p);
	p->points[row].process = 1;
	row = prof_add_range(p);
	p->ranges[row].process = 1;
	p->ranges[row].module = module;
	row = prof_add_mark_row(p);
	p->mark_rows[row].site = 1;
	row = prof_add_mark(p);
	p->marks[row].process = 1;
	p->marks[row].name = prof_str(p, "here");
	p->marks[row].nrows = 1;
	row = prof_add_look_row(p);
	p->look_rows[row].site = 1;
	p->look_rows[row].allocs = (int64_t)bytes;
	row = prof_add_look(p);
	p->looks[row].process = 1;
	p->looks[row].nrows = 1;
	prof_add_damage(p, "torn", bytes);
	p->blocks_dropped = bytes;
	p->has_names = names;
	return p;
}

T_TEST(merge_without)
{
	struct prof *both = prof_new(), *all = prof_new(),
		    *a = one(101, "a", 0x1201, true), *b = one(103, "b", 0x1301, true);
	bool without[] = {false, true, false};

	prof_merge(both, a);
	prof_merge(both, b);
	prof_merge_without(all, both, without);
	prof_free(a);
	prof_free(b);
	prof_free(both);

	T_EQ(all->nprocesses, 2);
	T_EQ(all->processes[1].pid, 103);
	T_EQ(all->nthreads, 2);
	T_EQ(all->nsites, 2);
	T_EQ(all->sites[1].process, 1);
	T_EQ(all->sites[1].live_bytes, 0x1301);
	T_EQ(all->ncells, 1);
	T_EQ(all->cells[0].site, 1);
	T_EQ(all->cells[0].thread, 1);
	T_EQ(all->nblocks, 1);
	T_EQ(all->blocks[0].process, 1);
	T_EQ(all->npoints, 1);
	T_EQ(all->nmarks, 1);
	T_EQ(all->mark_rows[all->marks[0].rows].site, 1);
	T_EQ(all->nlooks, 1);
	prof_free(all);
}

T_TEST(merge)
{
	struct prof *all = prof_new(), *a = one(101, "a", 0x1201, false),
		    *b = one(103, "b", 0x1301, true), *c = one(107, "c", 0x1201, true);

	prof_merge(all, b);
	T_EQ(all->has_names, true);
	prof_merge(all, a);
	T_EQ(all->has_names, false);
	prof_merge(all, c);
	prof_free(a);
	prof_free(b);
	prof_free(c);

	T_EQ(all->nprocesses, 4);
	T_EQ(all->processes[2].pid, 101);
	T_STR(prof_text(all, all->processes[1].exe), "b");
	T_STR(prof_text(all, all->processes[3].exe), "c");
	T_EQ(all->nmodules, 2);
	T_EQ(all->nlocs, 4); /* 0x1100, 0x1301, 0x1201 */
	T_EQ(all->nnodes, 4);
	T_EQ(all->nsites, 4);
	T_EQ(all->sites[2].node, all->sites[3].node); /* a and c: the same stack */
	T_EQ(all->sites[3].process, 3);
	T_EQ(all->sites[3].live_bytes, 0x1201);
	T_EQ(all->cells[2].site, 3);
	T_EQ(all->cells[2].thread, 3);
	T_EQ(all->threads[3].process, 3);
	T_EQ(all->blocks[1].site, 2);
	T_EQ(all->blocks[1].process, 2);
	T_EQ(all->points[2].process, 3);
	T_EQ(all->ranges[2].module, 1);
	T_EQ(all->marks[2].rows, 2);
	T_EQ(all->mark_rows[2].site, 3);
	T_STR(prof_text(all, all->marks[1].name), "here");
	T_EQ(all->nlooks, 3);
	T_EQ(all->looks[2].process, 3);
	T_EQ(all->looks[2].rows, 2);
	T_EQ(all->look_rows[2].site, 3);
	T_EQ(all->look_rows[1].allocs, 0x1201);
	T_EQ(all->ndamages, 1);
	T_EQ(all->damages[0].count, 0x1201 + 0x1301 + 0x1201);
	T_EQ(all->blocks_dropped, 0x1201 + 0x1301 + 0x1201);
	/* a had no names for 0x1201; c brought them */
	for (uint32_t i = 1; i < all->nlocs; i++) {
		if (all->locs[i].offset != 0x1201)
			continue;
		T_EQ(all->locs[i].nframes, 1);
		T_STR(prof_text(all, all->frames[all->locs[i].frames].function), "leaf");
	}
	prof_free(all);
}

T_MAIN()
