/* SPDX-License-Identifier: MIT */
/* test_pack_large.c -- packed recordings of many rows: thinned blocks, rows all alike,
 * and the time that 200,003 stacks of 40 frames take. */
#include "t.h"

#include <stdint.h>
#include <time.h>

#include "tool/format/pack/pack.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"

static struct buf
packed(const struct prof *p)
{
	struct buf out = {0};

	pack_write(p, &out);
	return out;
}

/* What compresses better than the reader believes is stored as it is. */
T_TEST(alike_rows_can_be_read_back)
{
	enum { N = 300007 };
	struct prof *p = prof_new(), *q = prof_new();
	struct buf a;

	for (uint32_t i = 0; i < N; i++)
		prof_add_cell(p);
	a = packed(p);
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	T_EQ(q->ncells, N);
	T_EQ(q->ndamages, 0);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

T_TEST(blocks_are_thinned)
{
	enum { N = PACK_BLOCKS_MAX + 100003 };
	struct prof *p = prof_new(), *q = prof_new();
	struct buf a;

	for (uint32_t i = 0; i < N; i++) {
		uint32_t row = prof_add_block(p);

		p->blocks[row].addr = 16 * (uint64_t)i;
		p->blocks[row].bytes = 7;
	}
	p->blocks_dropped = 11;
	a = packed(p);
	T_EQ(p->nblocks, N);
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	T_EQ(q->nblocks, PACK_BLOCKS_MAX);
	T_EQ(q->blocks_dropped, 100003 + 11);
	T_EQ(q->blocks[0].addr, 0);
	T_CHECK(q->blocks[PACK_BLOCKS_MAX - 1].addr > 16 * (uint64_t)(N - 3));
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 200,003 stacks of 40 frames: the first 24 of a few hundred paths, the last 16 of
 * their own tree. */
T_TEST(large_profile_is_quick)
{
	enum { SITES = 200003, DEPTH = 40 };
	struct prof *p = prof_new(), *q = prof_new();
	uint32_t module = prof_module(p, "/bin/large", NULL, 0);
	struct buf a;
	double start;

	prof_add_process(p);
	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t node = 0, key = i, row;
		struct prof_hist hist = {0};

		for (uint32_t depth = 0; depth < DEPTH; depth++) {
			key = depth < 24 ? i % 307 : depth < 36 ? i % 10007 : i;
			node = prof_node(p, node,
					 prof_loc(p, module, key * 64 % 100003 + depth,
						  PROF_LOC_CODE, false));
		}
		row = prof_add_site(p);
		p->sites[row].process = 1;
		p->sites[row].node = node;
		p->sites[row].allocs = i * 7919u % 10007;
		p->sites[row].alloc_bytes = i * UINT64_C(1299709) % 15485863;
		p->sites[row].live_bytes = (int64_t)(i % 4099);
		hist.sizes[i % 16] = i % 101;
		prof_set_hist(p, row, &hist);
		row = prof_add_cell(p);
		p->cells[row].site = i + 1;
		p->cells[row].allocs = p->sites[i + 1].allocs;
	}
	start = seconds();
	a = packed(p);
	printf("    %u nodes, %u locs: saved in %.2f s", p->nnodes, p->nlocs,
	       seconds() - start);
#ifdef __OPTIMIZE__
#	ifndef __SANITIZE_ADDRESS__
	T_CHECK(seconds() - start < 1);
#	endif
#endif
	start = seconds();
	T_EQ(pack_load(a.data, a.len, q, NULL), 0);
	printf(", %zu bytes, loaded in %.2f s\n", a.len, seconds() - start);
#ifdef __OPTIMIZE__
#	ifndef __SANITIZE_ADDRESS__
	T_CHECK(seconds() - start < 1);
#	endif
#endif
	T_EQ(q->nnodes, p->nnodes);
	T_EQ(memcmp(q->nodes, p->nodes, p->nnodes * sizeof *p->nodes), 0);
	T_EQ(q->sites[SITES].alloc_bytes, p->sites[SITES].alloc_bytes);
	buf_done(&a);
	prof_free(p);
	prof_free(q);
}

T_MAIN()
