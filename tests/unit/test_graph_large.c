/* SPDX-License-Identifier: MIT */
/* Test of src/tool/analyze/graph/graph*.c on a large profile, 200,000 stacks of 40 frames
 * as the benchmarks have them: flat and cum of every function against sums made stack by
 * stack. */
#include "tool/analyze/graph/graph.h"

#include <time.h>

#include "t.h"
#include "t_prof.h"

enum { BIG_STACKS = 200000, BIG_DEPTH = 40, BIG_FUNCTIONS = 20000 };

static uint64_t
mix(uint64_t x)
{
	x *= UINT64_C(0x9E3779B97F4A7C15);
	x ^= x >> 29;
	x *= UINT64_C(0xBF58476D1CE4E5B9);
	return x ^ x >> 32;
}

static uint32_t
big_loc(unsigned i, unsigned depth)
{
	unsigned shift = (unsigned)(18.0 * (1 - (double)depth / (BIG_DEPTH - 1)) + 0.5);

	return 1 + (uint32_t)(mix((uint64_t)depth * 1000003 + (i >> shift)) %
			      (3 * BIG_FUNCTIONS));
}

static struct prof *
big(void)
{
	struct prof *p = prof_new();
	uint32_t m = prof_module(p, "/opt/big", NULL, 0);
	uint32_t pr = tp_process(p, "/opt/big", 1, 10);

	for (uint32_t i = 0; i < 3 * BIG_FUNCTIONS; i++) {
		char name[64];
		uint32_t loc = prof_loc(p, m, 0x1000 + i * 4, PROF_LOC_CODE, true);
		uint32_t f = prof_add_frame(p);

		snprintf(name, sizeof name, "ns_worker_process_%05u", i / 3);
		p->frames[f].function = prof_str(p, name);
		p->frames[f].file = prof_str(p, "/src/big.c");
		p->frames[f].line = 2 + i;
		p->frames[f].symbol_off = 4 * (i % 3);
		p->locs[loc].frames = f;
		p->locs[loc].nframes = 1;
	}
	for (unsigned i = 0; i < BIG_STACKS; i++) {
		uint32_t node = 0, site;

		for (unsigned d = 0; d < BIG_DEPTH; d++)
			node = prof_node(p, node, big_loc(i, d));
		site = prof_add_site(p);
		p->sites[site].process = pr;
		p->sites[site].node = node;
		p->sites[site].live_bytes = (int64_t)(16 + mix(i) % 4096);
	}
	return p;
}

static double
cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

T_TEST(large_profile_adds_up)
{
	struct prof *p = big();
	struct skip *s = skip_new(p, NULL);
	struct graph_query q = {.skip = s, .no_edges = true};
	double *flat = calloc(BIG_FUNCTIONS, sizeof *flat);
	double *cum = calloc(BIG_FUNCTIONS, sizeof *cum), before, took;
	uint32_t *seen = calloc(BIG_FUNCTIONS, sizeof *seen), *order, wrong = 0;
	struct graph g;

	before = cpu_s();
	graph_init(&g, p, &q, NULL, NULL);
	order = calloc(g.nentries, sizeof *order);
	graph_rank(&g, false, order);
	took = cpu_s() - before;
	printf("%u stacks, %u nodes of the profile, %u of the tree: %.3f s without edges\n",
	       p->nsites - 1, p->nnodes, g.nnodes, took);
	for (unsigned i = 0; i < BIG_STACKS; i++) {
		double v = (double)p->sites[i + 1].live_bytes;

		for (unsigned d = 0; d < BIG_DEPTH; d++) {
			uint32_t f = (big_loc(i, d) - 1) / 3;

			if (seen[f] != i + 1)
				cum[f] += v;
			seen[f] = i + 1;
			if (d == BIG_DEPTH - 1)
				flat[f] += v;
		}
	}
	for (uint32_t i = 1; i < g.nentries; i++) {
		unsigned f = (unsigned)atoi(graph_text(&g, g.entries[i].function) + 18);

		wrong += g.entries[i].flat != flat[f] || g.entries[i].cum != cum[f];
	}
	T_EQ(wrong, 0);
	T_CHECK(g.nentries > BIG_FUNCTIONS - 100);
	T_CHECK(took < 3); /* measured 0.3 s; ten times that is another algorithm */
	graph_done(&g);
	q.no_edges = false;
	before = cpu_s();
	graph_init(&g, p, &q, NULL, NULL);
	printf("with %u edges: %.3f s\n", g.nedges, cpu_s() - before);
	graph_done(&g);
	free(flat);
	free(cum);
	free(seen);
	free(order);
	skip_free(s);
	prof_free(p);
}

T_MAIN()
