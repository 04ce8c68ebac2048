/* SPDX-License-Identifier: MIT */
/* test_leak.c -- graphs worked out by hand: which block an address is in, what becomes of
 * each block, which memory is a root. */
#include "t.h"
#include "tool/leak/classify.h"
#include "tool/leak/roots.h"
#include "tool/leak/scan.h"

/* ---- a small address space ---- */

enum {
	ROOT_AT = 0x10000, /* words that are roots */
	HEAP_AT = 0x20000,
	CODE_AT = 0x40000,  /* a file's: code */
	TABLE_AT = 0x50000, /* a file's: data */
	AREA = 0x10000,
	MAX = 64,
};

static struct {
	uint64_t root[AREA / 8], heap[AREA / 8], table[AREA / 8];
	struct scan_block blocks[MAX];
	uint32_t n;
	uint64_t next; /* address */
	struct scan_space space;
	struct scan_index index;
	uint64_t memory[4096];
	uint32_t stack[MAX];
	unsigned looks;
	bool piecemeal; /* look gives 24 bytes at a time */
} w;

static const struct scan_map maps[] = {
	{ROOT_AT, ROOT_AT + AREA, SCAN_READ | SCAN_WRITE},
	{HEAP_AT, HEAP_AT + AREA, SCAN_READ | SCAN_WRITE},
	{CODE_AT, CODE_AT + AREA, SCAN_READ | SCAN_EXEC | SCAN_FILE},
	{TABLE_AT, TABLE_AT + AREA, SCAN_READ | SCAN_FILE},
};

static const unsigned char *
look(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t *area = addr < HEAP_AT	   ? w.root
			 : addr < CODE_AT  ? w.heap
			 : addr < TABLE_AT ? NULL
					   : w.table;
	uint64_t off = addr % AREA;

	(void)ctx, (void)bytes;
	w.looks++;
	*ret_bytes = AREA - off;
	if (area == NULL)
		return NULL;
	if (w.piecemeal && *ret_bytes > 24)
		*ret_bytes = 24;
	return (const unsigned char *)area + off;
}

static void
begin(void)
{
	memset(&w, 0, sizeof w);
	w.next = HEAP_AT;
	w.space = (struct scan_space){.maps = maps, .nmaps = 4, .look = look};
}

/* A new block behind the last one; its number. */
static uint32_t
block(uint64_t bytes)
{
	w.blocks[w.n] = (struct scan_block){.addr = w.next, .bytes = bytes};
	w.next += (bytes + 16 + 15) / 16 * 16;
	return w.n++;
}

static uint64_t
at(uint32_t block)
{
	return w.blocks[block].addr;
}

/* Word `word` of a block becomes `value`. */
static void
point(uint32_t block, unsigned word, uint64_t value)
{
	w.heap[(at(block) - HEAP_AT) / 8 + word] = value;
}

static void
run_with(unsigned heuristics)
{
	struct classify c;

	T_CHECK(scan_index_bytes(w.blocks, w.n) <= sizeof w.memory);
	scan_index_init(&w.index, w.blocks, w.n, w.memory);
	classify_init(&c, &w.space, &w.index, heuristics, w.stack);
	classify_root_range(&c, (struct scan_range){ROOT_AT, ROOT_AT + 1024});
	classify_finish(&c);
	T_EQ(c.depth, 0);
}

static void
run(void)
{
	run_with(CLASSIFY_ALL_HEURISTICS);
}

#define STATE(b) (w.blocks[b].state)

/* Blocks without headers between them: the end of one is the address of the next. */
static uint32_t
block_beside(uint64_t bytes)
{
	uint32_t b = block(bytes);

	w.next = at(b) + bytes;
	return b;
}

/* A lost object with a vector, whose room ends where the next lost block begins: they are
 * two losses. */
T_TEST(end_of_a_vector)
{
	uint32_t object[2], room[2], other[2], pair, left, right;

	begin();
	for (int i = 0; i < 2; i++) {
		object[i] = block_beside(48);
		room[i] = block_beside(64);
		other[i] = block_beside(32);
		point(object[i], 2, at(room[i]));
		point(object[i], 3,
		      at(room[i]) + (i == 0 ? 48 : 64)); /* the second is full */
		point(object[i], 4, at(room[i]) + 64);
	}
	pair = block_beside(16); /* two pointers are two pointers, even if side by side */
	left = block_beside(32);
	right = block_beside(32);
	point(pair, 0, at(left));
	point(pair, 1, at(right));
	run();
	for (int i = 0; i < 2; i++) {
		T_EQ(STATE(object[i]), CLASSIFY_DEFINITE);
		T_EQ(STATE(room[i]), CLASSIFY_INDIRECT);
		T_EQ(STATE(other[i]), CLASSIFY_DEFINITE);
	}
	T_EQ(STATE(left), CLASSIFY_INDIRECT);
	T_EQ(STATE(right), CLASSIFY_INDIRECT);
	w.root[0] = at(object[0]); /* in use: whatever points anywhere counts */
	run();
	T_EQ(STATE(other[0]), CLASSIFY_REACHABLE);
}

/* ---- the nine cases ---- */

T_TEST(nine_cases)
{
	uint32_t b[16];

	begin();
	for (int i = 0; i < 16; i++)
		b[i] = block(64);
	w.root[0] = at(b[0]); /* 1 */
	w.root[1] = at(b[1]); /* 2 */
	point(b[1], 3, at(b[2]));
	/* 3: b[3] */
	point(b[4], 0, at(b[5])); /* 4 */
	w.root[2] = at(b[6]) + 8; /* 5 */
	w.root[3] = at(b[7]);	  /* 6 */
	point(b[7], 7, at(b[8]) + 63);
	w.root[4] = at(b[9]) + 40; /* 7 */
	point(b[9], 1, at(b[10]));
	w.root[5] = at(b[11]) + 1; /* 8 */
	point(b[11], 2, at(b[12]) + 9);
	point(b[13], 2, at(b[14]) + 9); /* 9 */
	run();
	T_EQ(STATE(b[0]), CLASSIFY_REACHABLE);
	T_EQ(STATE(b[1]), CLASSIFY_REACHABLE);
	T_EQ(STATE(b[2]), CLASSIFY_REACHABLE);
	T_EQ(STATE(b[3]), CLASSIFY_DEFINITE);
	T_EQ(STATE(b[4]), CLASSIFY_DEFINITE);
	T_EQ(STATE(b[5]), CLASSIFY_INDIRECT);
	T_EQ(STATE(b[6]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[7]), CLASSIFY_REACHABLE);
	T_EQ(STATE(b[8]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[9]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[10]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[11]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[12]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[13]), CLASSIFY_DEFINITE);
	T_EQ(STATE(b[14]), CLASSIFY_INDIRECT);
	T_EQ(STATE(b[15]), CLASSIFY_DEFINITE);
	T_EQ(w.blocks[b[4]].indirect, 64);
	T_EQ(w.blocks[b[13]].indirect, 64);
	T_EQ(w.blocks[b[3]].indirect, 0);
}

T_TEST(the_best_way_counts)
{
	uint32_t a, b, c;

	begin();
	a = block(32);
	b = block(32);
	c = block(32);
	w.root[0] = at(a) + 5; /* found first */
	point(a, 0, at(b));
	point(b, 0, at(c));
	w.root[1] = at(a);
	run();
	T_EQ(STATE(a), CLASSIFY_REACHABLE);
	T_EQ(STATE(b), CLASSIFY_REACHABLE);
	T_EQ(STATE(c), CLASSIFY_REACHABLE);
}

/* ---- leaders ---- */

/* 1 -> 0 is found after 0 had become a leader with 2 below it: it hands over. */
T_TEST(a_leader_hands_over)
{
	uint32_t a, b, c;

	begin();
	a = block(10);
	b = block(20);
	c = block(40);
	point(a, 0, at(c));
	point(b, 0, at(a));
	run();
	T_EQ(STATE(a), CLASSIFY_INDIRECT);
	T_EQ(STATE(b), CLASSIFY_DEFINITE);
	T_EQ(STATE(c), CLASSIFY_INDIRECT);
	T_EQ(w.blocks[b].indirect, 50);
	T_EQ(w.blocks[a].indirect, b);
}

T_TEST(rings)
{
	uint32_t r[5], tail;

	begin();
	for (int i = 0; i < 5; i++)
		r[i] = block(16 + 8 * (uint64_t)i);
	tail = block(24);
	for (int i = 0; i < 5; i++)
		point(r[i], 1, at(r[(i + 3) % 5]));
	point(r[4], 0, at(r[4]));
	point(tail, 0, at(r[3])); /* into the middle: the ring keeps its leader */
	run();
	T_EQ(STATE(r[0]), CLASSIFY_DEFINITE);
	for (int i = 1; i < 5; i++)
		T_EQ(STATE(r[i]), CLASSIFY_INDIRECT);
	T_EQ(w.blocks[r[0]].indirect, 24 + 32 + 40 + 48);
	T_EQ(STATE(tail), CLASSIFY_DEFINITE);
	T_EQ(w.blocks[tail].indirect, 0);
}

/* ---- edges of a block ---- */

T_TEST(edges)
{
	uint32_t a, b, c, none;

	begin();
	a = block(33);
	b = block(0);
	c = block(33);
	none = block(0);
	w.root[0] = at(a) + 33; /* behind the last byte */
	w.root[1] = at(b);
	w.root[2] = at(c) + 32;
	w.root[3] = at(none) + 1;
	run();
	T_EQ(STATE(a), CLASSIFY_DEFINITE);
	T_EQ(STATE(b), CLASSIFY_REACHABLE);
	T_EQ(STATE(c), CLASSIFY_POSSIBLE);
	T_EQ(STATE(none), CLASSIFY_DEFINITE);
}

/* Only whole aligned words of a block are looked at. */
T_TEST(words_of_a_block)
{
	uint32_t a, b;

	begin();
	a = block(15); /* one word and a piece */
	b = block(16);
	w.root[0] = at(a);
	point(a, 1, at(b));
	run();
	T_EQ(STATE(b), CLASSIFY_DEFINITE);
}

T_TEST(find)
{
	static struct scan_block some[] = {
		{.addr = 0x1000, .bytes = 100},
		{.addr = 0x1080, .bytes = 0},
		{.addr = 0x11f0, .bytes = 0x900},
		{.addr = 0x1b00, .bytes = 1},
		{.addr = 0x900000, .bytes = 24},
		{.addr = 0x7f0000000010, .bytes = 1 << 20},
	};
	static uint64_t memory[8192];
	struct scan_index x;

	T_CHECK(scan_index_bytes(some, 6) <= sizeof memory);
	scan_index_init(&x, some, 6, memory);
	T_EQ(x.nareas, 3);
	T_CHECK(scan_find(&x, 0xfff) == NULL);
	T_CHECK(scan_find(&x, 0x1000) == &some[0]);
	T_CHECK(scan_find(&x, 0x1063) == &some[0]);
	T_CHECK(scan_find(&x, 0x1064) == NULL);
	T_CHECK(scan_find(&x, 0x1080) == &some[1]);
	T_CHECK(scan_find(&x, 0x1081) == NULL);
	T_CHECK(scan_find(&x, 0x11ef) == NULL);
	T_CHECK(scan_find(&x, 0x11f0) == &some[2]);
	T_CHECK(scan_find(&x, 0x1800) == &some[2]);
	T_CHECK(scan_find(&x, 0x1aef) == &some[2]);
	T_CHECK(scan_find(&x, 0x1af0) == NULL);
	T_CHECK(scan_find(&x, 0x1b00) == &some[3]);
	T_CHECK(scan_find(&x, 0x1b01) == NULL);
	T_CHECK(scan_find(&x, 0x50000) == NULL);
	T_CHECK(scan_find(&x, 0x900017) == &some[4]);
	T_CHECK(scan_find(&x, 0x900018) == NULL);
	T_CHECK(scan_find(&x, 0x7f0000000010) == &some[5]);
	T_CHECK(scan_find(&x, 0x7f000010000f) == &some[5]);
	T_CHECK(scan_find(&x, 0x7f0000100010) == NULL);
	T_CHECK(scan_find(&x, 0) == NULL);
	T_CHECK(scan_find(&x, UINT64_MAX) == NULL);
	scan_index_init(&x, some, 0, memory);
	T_CHECK(scan_find(&x, 0x1000) == NULL);
}

T_TEST(parts_take_the_place_of_their_block)
{
	struct scan_block b[] = {
		{.addr = 0x1000, .bytes = 64},
		{.addr = 0x2000, .bytes = 4096},
		{.addr = 0x2010, .bytes = 16, .flags = SCAN_BLOCK_CUSTOM},
		{.addr = 0x2040, .bytes = 16, .flags = SCAN_BLOCK_CUSTOM},
		{.addr = 0x4000, .bytes = 64},
	};

	T_EQ(scan_tidy(b, 5), 4);
	T_EQ(b[0].addr, 0x1000);
	T_EQ(b[1].addr, 0x2010);
	T_EQ(b[2].addr, 0x2040);
	T_EQ(b[3].addr, 0x4000);
}

/* ---- heuristics ---- */

static void
heuristics_graph(uint32_t b[6])
{
	begin();
	for (int i = 0; i < 6; i++)
		b[i] = block(101);
	point(b[0], 0, 50); /* a string: length, capacity, count; 24 + 76 + 1 = 101 */
	point(b[0], 1, 76);
	w.root[0] = at(b[0]) + 24;
	point(b[1], 0, 93); /* the length of the rest */
	w.root[1] = at(b[1]) + 8;
	point(b[2], 0, 31); /* 31 of 3 bytes */
	w.root[2] = at(b[2]) + 8;
	point(b[3], 0, TABLE_AT + 64); /* two tables of functions */
	point(b[3], 4, TABLE_AT + 128);
	w.root[3] = at(b[3]) + 32;
	point(b[4], 0, 77); /* length beyond capacity */
	point(b[4], 1, 76);
	w.root[4] = at(b[4]) + 24;
	point(b[5], 0, TABLE_AT + 64); /* the second table has only one function */
	point(b[5], 4, TABLE_AT + 512);
	w.root[5] = at(b[5]) + 32;
	for (int i = 0; i < 2; i++) {
		w.table[8 + i] = CODE_AT + 16 * (uint64_t)i;
		w.table[17 + i] = CODE_AT + 16 * (uint64_t)i; /* a zero before them */
	}
	w.table[64] = CODE_AT;
	w.table[65] = 7;
}

T_TEST(heuristics)
{
	uint32_t b[6];

	heuristics_graph(b);
	run();
	for (int i = 0; i < 4; i++)
		T_EQ(STATE(b[i]), CLASSIFY_REACHABLE);
	T_EQ(w.blocks[b[0]].heuristic, CLASSIFY_STDSTRING);
	T_EQ(w.blocks[b[1]].heuristic, CLASSIFY_LENGTH64);
	T_EQ(w.blocks[b[2]].heuristic, CLASSIFY_NEWARRAY);
	T_EQ(w.blocks[b[3]].heuristic, CLASSIFY_INHERITANCE);
	T_EQ(STATE(b[4]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[5]), CLASSIFY_POSSIBLE);
}

T_TEST(heuristics_off)
{
	uint32_t b[6];

	heuristics_graph(b);
	run_with(0);
	for (int i = 0; i < 6; i++)
		T_EQ(STATE(b[i]), CLASSIFY_POSSIBLE);
}

/* They are void where a pointer to the beginning is found, and do not mend what comes
 * from a possible block. */
T_TEST(heuristics_are_second_best)
{
	uint32_t a, b, c;

	begin();
	a = block(101);
	b = block(64);
	c = block(101);
	point(a, 0, 93);
	w.root[0] = at(a) + 8;
	w.root[1] = at(a);
	w.root[2] = at(b) + 3;
	point(b, 0, at(c) + 8);
	point(c, 0, 93);
	run();
	T_EQ(STATE(a), CLASSIFY_REACHABLE);
	T_EQ(w.blocks[a].heuristic, 0);
	T_EQ(STATE(c), CLASSIFY_POSSIBLE);
}

/* Windows of three words: what a heuristic looks at moves the one in use. */
T_TEST(small_windows)
{
	uint32_t b[6], more;

	heuristics_graph(b);
	more = block(16);
	w.root[6] = at(more);
	w.piecemeal = true;
	run();
	for (int i = 0; i < 4; i++)
		T_EQ(STATE(b[i]), CLASSIFY_REACHABLE);
	T_EQ(STATE(b[4]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(b[5]), CLASSIFY_POSSIBLE);
	T_EQ(STATE(more), CLASSIFY_REACHABLE);
}

T_TEST(blocks_that_are_roots)
{
	uint32_t a, b;

	begin();
	a = block(32);
	b = block(32);
	w.blocks[a].flags = SCAN_BLOCK_ROOT;
	point(a, 2, at(b));
	run();
	T_EQ(STATE(a), CLASSIFY_REACHABLE);
	T_EQ(STATE(b), CLASSIFY_REACHABLE);
}

/* ---- roots ---- */

T_TEST(ranges)
{
	static const struct scan_map some[] = {
		{0x1000, 0x3000, SCAN_READ | SCAN_WRITE},
		{0x3000, 0x4000, SCAN_READ},
		{0x5000, 0x6000, SCAN_READ | SCAN_WRITE},
		{0x7000, 0x8000, SCAN_READ | SCAN_WRITE | SCAN_DEVICE},
		{0x9000, 0xb000, SCAN_READ | SCAN_WRITE},
	};
	struct scan_space s = {.maps = some, .nmaps = 5};
	struct scan_range holes[] = {{0x9800, 0x9900}, {0x2800, 0x5800}, {0x1000, 0x1100},
				     {0x1800, 0x1900}, {0x1880, 0x1a00}, {0x9850, 0x9860},
				     {0xaf00, 0xc000}};
	struct scan_range got[16];
	uint32_t n = roots_ranges(&s, holes, 7, got);

	T_EQ(n, 5);
	T_EQ(got[0].start, 0x1100);
	T_EQ(got[0].end, 0x1800);
	T_EQ(got[1].start, 0x1a00);
	T_EQ(got[1].end, 0x2800);
	T_EQ(got[2].start, 0x5800);
	T_EQ(got[2].end, 0x6000);
	T_EQ(got[3].start, 0x9000);
	T_EQ(got[3].end, 0x9800);
	T_EQ(got[4].start, 0x9900);
	T_EQ(got[4].end, 0xaf00);
}

/* A control block at `tcb` in the heap area, whose stack is [start, tcb + 0x1000). */
static void
make_thread(uint64_t tcb, uint64_t start, uint64_t next, uint64_t previous, uint32_t tid)
{
	uint64_t *p = &w.heap[(tcb - HEAP_AT) / 8];

	p[0] = p[2] = tcb;
	p[88] = next;
	p[89] = previous;
	p[90] = tid;
	p[200] = 0x7f0000001000; /* somebody else's pair of words */
	p[201] = 0x2000;
	p[210] = start;
	p[211] = tcb + 0x1000 - start;
}

T_TEST(stacks_of_threads)
{
	uint64_t a = HEAP_AT + 0x3000, b = HEAP_AT + 0x8000, head = ROOT_AT + 0x100;
	struct roots_stack got[8];
	uint32_t n;

	begin();
	make_thread(a, HEAP_AT + 0x1000, b + 704, head, 0);
	make_thread(b, HEAP_AT + 0x5000, head, a + 704, 1234);
	w.root[0x100 / 8] = a + 704;
	w.root[0x100 / 8 + 1] = b + 704;
	n = roots_stacks(&w.space, (struct scan_range){ROOT_AT, ROOT_AT + 0x1000}, got,
			 8);
	T_EQ(n, 2);
	T_EQ(got[0].range.start, HEAP_AT + 0x1000);
	T_EQ(got[0].range.end, HEAP_AT + 0x4000);
	T_CHECK(got[0].ended);
	T_EQ(got[1].range.start, HEAP_AT + 0x5000);
	T_CHECK(!got[1].ended);
	T_CHECK(roots_stack_of(got, n, HEAP_AT + 0x6000) == &got[1]);
	T_CHECK(roots_stack_of(got, n, HEAP_AT + 0x4800) == NULL);
	/* A ring that does not lead back is none. */
	w.heap[(b - HEAP_AT) / 8 + 89] = 8;
	T_EQ(roots_stacks(&w.space, (struct scan_range){ROOT_AT, ROOT_AT + 0x1000}, got,
			  8),
	     0);
}

T_MAIN()
