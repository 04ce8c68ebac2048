/* SPDX-License-Identifier: MIT */
/* test_stacks.c -- the tree of stacks and the index of whole ones while both grow.
 *
 * A node is the same whenever it is asked for, from several threads at once too; what the
 * index gives is what was learnt, and almost all of it; a tree of a few hundred nodes
 * takes a few pages. */
/* tsan */
#include "t.h"

#include "guest/record/stacks.h"

#include "recorder_harness.h"

#include <sys/mman.h>

enum {
	FAMILY = 20011, /* children of one node */
	CHAIN = 5003,	/* one below the other */
	LEARNT = 100003,
	THREADS = 3,
};

/* How many pages of `bytes` at `at` are there. */
static unsigned
pages_of(const void *at, size_t bytes)
{
	static unsigned char there[4096];
	unsigned n = 0;

	if (bytes / 4096 > sizeof(there) || mincore((void *)at, bytes, there) != 0) {
		T_FAIL("mincore");
		return UINT32_MAX;
	}
	for (size_t i = 0; i < bytes / 4096; i++)
		n += there[i] & 1;
	return n;
}

static uint64_t
hash_of(uint64_t i)
{
	uint64_t x = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	return x ^ x >> 27;
}

T_TEST(a_node_is_found_again)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	static uint32_t family[FAMILY], chain[CHAIN];
	uint32_t again = 0, same = 0, parent = 0;

	for (uint32_t i = 0; i < CHAIN; i++)
		parent = chain[i] = stacks_node(&rh, parent, 0x1000 + i % 7, 1, 0, t->me);
	for (uint32_t i = 0; i < FAMILY; i++)
		family[i] = stacks_node(&rh, chain[11], 0x400000 + i * 5, 1, 0, t->me);
	parent = 0;
	for (uint32_t i = 0; i < CHAIN; i++) {
		again +=
			stacks_node(&rh, parent, 0x1000 + i % 7, 1, 0, t->me) == chain[i];
		parent = chain[i];
	}
	for (uint32_t i = 0; i < FAMILY; i++) {
		again += stacks_node(&rh, chain[11], 0x400000 + i * 5, 1, 0, t->me) ==
			 family[i];
		/* another module, another kind, another parent: another node */
		same += stacks_node(&rh, chain[11], 0x400000 + i * 5, 2, 0, t->me) ==
				family[i] ||
			stacks_node(&rh, chain[12], 0x400000 + i * 5, 1, 0, t->me) ==
				family[i];
	}
	T_EQ(again, CHAIN + FAMILY);
	T_EQ(same, 0);
	T_EQ(rh_lost(), 0);
}

T_TEST(the_index_keeps_what_it_learns)
{
	uint32_t right = 0, wrong = 0, early = 0;

	rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	for (uint32_t i = 0; i < LEARNT; i++) {
		stacks_learn(&rh, hash_of(i), i + 7);
		early += stacks_recall(&rh, hash_of(i)) == i + 7;
	}
	for (uint32_t i = 0; i < LEARNT; i++) {
		uint32_t got = stacks_recall(&rh, hash_of(i));

		right += got == i + 7;
		wrong += got != i + 7 && got != 0;
		wrong += stacks_recall(&rh, hash_of(i + LEARNT)) != 0;
	}
	T_EQ(wrong, 0);
	T_CHECK(early > LEARNT - LEARNT / 500);
	T_CHECK(right > LEARNT - LEARNT / 500);
	T_EQ(rh.index_mask, (1u << STACKS_INDEX_BITS) - 1);
}

T_TEST(few_stacks_touch_few_pages)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, true);
	uint32_t parent = 0;

	for (uint32_t i = 0; i < 300; i++) {
		if (i % 20 == 0)
			parent = 0;
		parent = stacks_node(&rh, parent, 0x401000 + i * 13, 1, 0, t->me);
		stacks_learn(&rh, hash_of(i), parent);
	}
	/* The private tables are those of the tests before, given back to the kernel and
	 * zero again. */
	T_EQ(rh.index_mask, 4095);
	T_CHECK(pages_of(rh.node_heads, RECORDER_NODE_HEADS * sizeof(*rh.node_heads)) <=
		4);
	T_CHECK(pages_of(rh.stack_index,
			 (1u << STACKS_INDEX_BITS) * sizeof(*rh.stack_index)) <= 17);
}

struct learner {
	pthread_t id;
	uint32_t me, wrong;
	uint32_t nodes[LEARNT / 10];
};

static void *
learn(void *arg)
{
	struct learner *l = arg;

	for (uint32_t i = 0; i < LEARNT / 10; i++) {
		uint32_t got = stacks_recall(&rh, hash_of(i));

		l->nodes[i] = stacks_node(&rh, 0, 0x1000 + i, 1, 0, l->me);
		l->wrong += got != 0 && got != l->nodes[i];
		stacks_learn(&rh, hash_of(i), l->nodes[i]);
	}
	return NULL;
}

T_TEST(threads_agree_while_it_grows)
{
	static struct learner l[THREADS];
	uint32_t differ = 0;

	rh_start(REC_MODE_EXACT, 64 << 20, 0, false);
	for (uint32_t i = 0; i < THREADS; i++) {
		l[i].me = 0x1000 + i;
		pthread_create(&l[i].id, NULL, learn, &l[i]);
	}
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(l[i].id, NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		T_EQ(l[i].wrong, 0);
		for (uint32_t k = 0; k < LEARNT / 10; k++)
			differ += l[i].nodes[k] != l[0].nodes[k];
	}
	T_EQ(differ, 0);
}

T_MAIN()
