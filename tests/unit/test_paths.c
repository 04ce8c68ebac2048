/* SPDX-License-Identifier: MIT */
/* test_paths.c -- who holds a block, and what would go with it: by hand, and against the
 * definition on graphs made by chance. */
#include "t.h"
#include "tool/leak/classify.h"
#include "tool/leak/dominators.h"
#include "tool/leak/paths.h"

/* Blocks of eight words each, and as many roots of one word as there are. */
enum { N = 64, WORDS = 8, ROOTS = 8, STEP = WORDS * 8 + 16 };

#define ROOT_AT UINT64_C(0x10000)
#define HEAP_AT UINT64_C(0x200000)

static uint64_t roots[ROOTS], heap[N * STEP / 8];
static struct scan_block blocks[N];
static struct scan_space space;
static struct scan_index index_;
static uint64_t memory[4096];

static const unsigned char *
look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	(void)ctx, (void)bytes;
	*ret_bytes = 24;
	if (addr >= ROOT_AT && addr < ROOT_AT + sizeof roots) {
		*ret_bytes = ROOT_AT + sizeof roots - addr;
		return (const unsigned char *)roots + (addr - ROOT_AT);
	}
	if (addr >= HEAP_AT && addr < HEAP_AT + sizeof heap)
		return (const unsigned char *)heap + (addr - HEAP_AT);
	return NULL;
}

static uint64_t
at(uint32_t i)
{
	return HEAP_AT + (uint64_t)i * STEP;
}

static void
begin(void)
{
	memset(roots, 0, sizeof roots);
	memset(heap, 0, sizeof heap);
	for (uint32_t i = 0; i < N; i++)
		blocks[i] = (struct scan_block){
			.addr = at(i), .bytes = WORDS * 8, .state = CLASSIFY_REACHABLE};
	space = (struct scan_space){.look = look};
	scan_index_init(&index_, blocks, N, memory);
}

static void
point(uint32_t from, unsigned word, uint64_t to)
{
	heap[(at(from) - HEAP_AT) / 8 + word] = to;
}

static uint32_t
root_of(void *ctx, uint64_t addr)
{
	(void)ctx;
	return (uint32_t)((addr - ROOT_AT) / 8) + 1;
}

/* ---- paths ---- */

T_TEST(shortest_way)
{
	struct paths p;
	uint32_t way[8], all;

	begin();
	roots[2] = at(10);
	point(10, 3, at(11));
	point(11, 0, at(12));
	point(12, 7, at(13));
	point(10, 5, at(13) + 8); /* shorter, but into its middle */
	paths_init(&p, &space, &index_, root_of, NULL);
	paths_range(&p, (struct scan_range){ROOT_AT, ROOT_AT + sizeof roots}, false);
	paths_follow(&p, false);
	T_EQ(paths_to(&p, 13, way, 8, &all), 4);
	T_EQ(all, 4);
	T_EQ(way[0], 10);
	T_EQ(way[1], 11);
	T_EQ(way[3], 13);
	T_EQ(p.from[13], at(12) + 56);
	T_EQ(p.from[10], ROOT_AT + 16);
	T_EQ(p.root[13], 3);
	/* Cut: the first and the last. */
	T_EQ(paths_to(&p, 13, way, 2, &all), 2);
	T_EQ(all, 4);
	T_EQ(way[0], 10);
	T_EQ(way[1], 13);
	T_EQ(paths_to(&p, 20, way, 8, &all), 0);
	paths_done(&p);
}

T_TEST(into_the_middle_only_if_need_be)
{
	struct paths p;

	begin();
	roots[0] = at(5);
	point(5, 1, at(6) + 24);
	paths_init(&p, &space, &index_, root_of, NULL);
	paths_range(&p, (struct scan_range){ROOT_AT, ROOT_AT + sizeof roots}, false);
	paths_follow(&p, false);
	T_EQ(p.from[6], 0);
	paths_follow(&p, true);
	T_EQ(p.from[6], at(5) + 8);
	/* Lost ones hang on the first of them. */
	point(30, 2, at(31));
	paths_block(&p, 30, 0);
	paths_follow(&p, true);
	T_EQ(p.from[31], at(30) + 16);
	T_EQ(p.from[30], at(30));
	paths_done(&p);
}

/* ---- dominators ---- */

/* Whether `to` can be reached when `without` (a node) is gone. */
static bool
reached(uint32_t to, uint32_t without)
{
	bool seen[N] = {false};
	uint32_t queue[N], n = 0;

	for (uint32_t r = 0; r < ROOTS; r++) {
		struct scan_block *b = scan_find(&index_, roots[r]);

		if (b == NULL || N + 1 + r + 1 == without)
			continue;
		if (!seen[b - blocks] && (uint32_t)(b - blocks) + 1 != without) {
			seen[b - blocks] = true;
			queue[n++] = (uint32_t)(b - blocks);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		for (unsigned w = 0; w < WORDS; w++) {
			struct scan_block *b = scan_find(
				&index_, heap[(at(queue[i]) - HEAP_AT) / 8 + w]);

			if (b == NULL || seen[b - blocks] ||
			    (uint32_t)(b - blocks) + 1 == without)
				continue;
			seen[b - blocks] = true;
			queue[n++] = (uint32_t)(b - blocks);
		}
	}
	return seen[to];
}

static bool
is_above(const struct dominators *d, uint32_t node, uint32_t above)
{
	while (node != 0) {
		node = d->above[node];
		if (node == above)
			return true;
	}
	return above == 0;
}

static void
check_dominators(void)
{
	struct dominators d;
	uint64_t wrong = 0, retained = 0;

	dominators_init(&d, &space, &index_);
	dominators_range(&d, (struct scan_range){ROOT_AT, ROOT_AT + sizeof roots},
			 root_of, NULL);
	dominators_find(&d);
	for (uint32_t b = 0; b < N; b++) {
		if (!reached(b, UINT32_MAX)) {
			wrong += d.above[b + 1] != UINT32_MAX;
			continue;
		}
		retained += blocks[b].bytes;
		for (uint32_t node = 1; node < d.nnodes; node++) {
			if (node != b + 1 && d.above[node] != UINT32_MAX)
				wrong += is_above(&d, b + 1, node) != !reached(b, node);
		}
	}
	T_EQ(wrong, 0);
	T_EQ(d.retained[0].bytes, retained);
	dominators_done(&d);
}

T_TEST(dominators_by_hand)
{
	struct dominators d;

	/* A table (1) of three (2, 3, 4), of which one is held elsewhere too; a ring
	 * below it. */
	begin();
	roots[0] = at(1);
	roots[5] = at(4);
	point(1, 0, at(2));
	point(1, 1, at(3));
	point(1, 2, at(4));
	point(2, 0, at(20));
	point(3, 0, at(20));
	point(20, 0, at(21));
	point(21, 0, at(20));
	dominators_init(&d, &space, &index_);
	dominators_range(&d, (struct scan_range){ROOT_AT, ROOT_AT + sizeof roots},
			 root_of, NULL);
	dominators_find(&d);
	T_EQ(d.above[20 + 1], 1 + 1);
	T_EQ(d.above[21 + 1], 20 + 1);
	T_EQ(d.above[4 + 1], 0);
	T_EQ(d.above[1 + 1], dominators_of_root(&d, 1));
	T_EQ(d.retained[dominators_of_root(&d, 1)].blocks, 5);
	T_EQ(d.retained[dominators_of_root(&d, 1)].bytes, 5 * WORDS * 8);
	T_EQ(d.retained[dominators_of_root(&d, 6)].blocks, 0);
	T_EQ(d.retained[4 + 1].blocks, 1);
	T_EQ(d.above[40 + 1], UINT32_MAX);
	dominators_done(&d);
}

/* Roots 6 and above pass. */
static bool
passes(void *ctx, uint32_t root)
{
	T_CHECK(ctx == &roots);
	return root >= 6;
}

/* A list with links back, below a variable; a passing root points into it, and alone to
 * another one. */
T_TEST(dominators_of_passing_roots)
{
	struct dominators d;
	bool held[N] = {false};

	begin();
	roots[0] = at(1);
	roots[6] = at(3);
	roots[7] = at(30);
	for (uint32_t i = 1; i < 5; i++) {
		point(i, 0, at(i + 1));
		point(i + 1, 1, at(i));
		held[i] = held[i + 1] = true;
	}
	point(30, 0, at(31));
	for (int turn = 0; turn < 2; turn++) {
		dominators_init(&d, &space, &index_);
		if (turn == 1) {
			d.held = held;
			d.passes = passes;
			d.passes_ctx = &roots;
		}
		dominators_range(&d, (struct scan_range){ROOT_AT, ROOT_AT + sizeof roots},
				 root_of, NULL);
		dominators_find(&d);
		T_EQ(d.left.len, turn);
		T_EQ(d.retained[dominators_of_root(&d, 1)].blocks, turn == 1 ? 5 : 0);
		T_EQ(dominators_top(&d, 5), turn == 1 ? 1 : UINT32_MAX);
		T_EQ(dominators_top(&d, 3), turn == 1 ? 1 : UINT32_MAX);
		T_EQ(dominators_top(&d, 31), 8);
		T_EQ(dominators_top(&d, 31), 8); /* remembered */
		T_EQ(dominators_top(&d, 50), UINT32_MAX);
		T_EQ(d.retained[dominators_of_root(&d, 8)].blocks, 2);
		if (turn == 1) {
			T_EQ(d.left.data[0].root, 7);
			T_EQ(d.left.data[0].block, 3);
		}
		dominators_done(&d);
	}
}

T_TEST(dominators_by_definition)
{
	uint64_t state = 4711;

	for (unsigned round = 0; round < 60; round++) {
		unsigned edges = 40 + round * 3;

		begin();
		for (unsigned i = 0; i < edges; i++) {
			uint32_t from, to;

			state = state * 6364136223846793005u + 1442695040888963407u;
			from = (uint32_t)(state >> 33) % N;
			to = (uint32_t)(state >> 45) % N;
			point(from, (unsigned)(state >> 20) % WORDS, at(to));
		}
		for (uint32_t r = 0; r < 1 + round % 4; r++)
			roots[r] = at((uint32_t)(state >> (10 + r)) % N);
		check_dominators();
	}
}

/* Without roots nothing is held. */
T_TEST(nothing)
{
	struct dominators d;

	begin();
	dominators_init(&d, &space, &index_);
	dominators_find(&d);
	T_EQ(d.retained[0].blocks, 0);
	dominators_done(&d);
}

T_MAIN()
