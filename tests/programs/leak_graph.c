/* SPDX-License-Identifier: MIT */
/* leak_graph.c -- shapes of blocks that point to each other: memcheck's nine cases, and what is made
 * of them. */
/* cflags: -O1 -g */
#include "leak_cases.h"

static void *volatile root, *volatile root2;

struct node {
	struct node *next, *other;
	char rest[33];
};

static struct node *
node(void)
{
	return leak_hide(calloc(1, sizeof(struct node)));
}

/* A chain of n, the last one first. */
static struct node *
chain(int n)
{
	struct node *first = NULL;

	while (n-- > 0) {
		struct node *x = node();

		x->next = first;
		first = x;
	}
	return first;
}

static void *
inside(void *p)
{
	return (char *)p + 9;
}

LEAK_CASE(case1_reachable, "reachable=101/1")
{
	root = malloc(101);
}

LEAK_CASE(case2_behind_reachable, "reachable=112/2")
{
	root = chain(2);
}

LEAK_CASE(case3_definite, "definite=103/1")
{
	leak_hide(malloc(103));
}

LEAK_CASE(case4_indirect, "definite=56/1 indirect=56/1")
{
	chain(2);
}

LEAK_CASE(case5_possible, "possible=107/1")
{
	root = inside(malloc(107));
}

LEAK_CASE(case6_possible_behind_reachable, "reachable=56/1 possible=109/1")
{
	struct node *a = node();

	a->next = inside(malloc(109));
	root = a;
}

LEAK_CASE(case7_behind_possible, "possible=112/2")
{
	root = inside(chain(2));
}

LEAK_CASE(case8_twice_inside, "possible=169/2")
{
	struct node *a = node();

	a->next = inside(malloc(113));
	root = inside(a);
}

LEAK_CASE(case9_inside_of_lost, "definite=56/1 indirect=127/1")
{
	struct node *a = node();

	a->next = inside(malloc(127));
}

LEAK_CASE(two_ways_best_counts, "reachable=131/1")
{
	void *p = malloc(131);

	root = inside(p);
	root2 = p;
}

LEAK_CASE(rises_with_all_below, "reachable=560/10")
{
	struct node *p = chain(10);

	root = inside(p); /* in front of the better one */
	root2 = p;
}

LEAK_CASE(list_lost, "definite=56/1 indirect=1232/22")
{
	chain(23);
}

LEAK_CASE(list_without_head, "reachable=672/12 definite=56/1")
{
	struct node *p = chain(13);

	root = p->next;
}

LEAK_CASE(ring_lost, "definite=56/1 indirect=280/5")
{
	struct node *first = chain(6), *last = first;

	while (last->next != NULL)
		last = last->next;
	last->next = first;
}

LEAK_CASE(ring_reachable, "reachable=336/6")
{
	struct node *first = chain(6), *last = first;

	while (last->next != NULL)
		last = last->next;
	last->next = first;
	root = last;
}

LEAK_CASE(self, "definite=56/1")
{
	struct node *p = node();

	p->next = p;
}

LEAK_CASE(doubly_linked, "definite=56/1 indirect=952/17")
{
	struct node *p = chain(18);

	for (struct node *x = p; x->next != NULL; x = x->next)
		x->next->other = x;
}

LEAK_CASE(ring_with_tail, "definite=56/1 indirect=392/7")
{
	struct node *first = chain(4), *last = first;

	while (last->next != NULL)
		last = last->next;
	last->next = first;
	last->other = chain(4);
}

/* A ring of 4, and 3 more that lead into it at its lowest address, or at its highest. */
static void
tail_into_ring(int at)
{
	struct node *all[7];

	for (int i = 0; i < 7; i++)
		all[i] = node();
	for (int i = 0; i < 7; i++)
		all[i]->next = all[i + 1 < 7 ? i + 1 : at];
	all[3]->next = all[0];
}

/* The ring had a leader of its own until that one was reached from the tail. */
LEAK_CASE(tail_into_leader, "definite=56/1 indirect=336/6")
{
	tail_into_ring(0);
}

/* Its leader is never reached: what is indirect already is not looked at again. */
LEAK_CASE(tail_into_ring, "definite=112/2 indirect=280/5")
{
	tail_into_ring(3);
}

LEAK_CASE(two_share_one, "definite=112/2 indirect=139/1")
{
	struct node *a = node(), *b = node();

	a->next = b->next = malloc(139);
}

LEAK_CASE(diamond, "definite=56/1 indirect=168/3")
{
	struct node *top = node();

	top->next = node();
	top->other = node();
	top->next->next = top->other->next = node();
}

LEAK_CASE(tree, "definite=56/1 indirect=784/14")
{
	struct node *all[15];

	for (int i = 0; i < 15; i++)
		all[i] = node();
	for (int i = 0; i < 7; i++) {
		all[i]->next = all[2 * i + 1];
		all[i]->other = all[2 * i + 2];
	}
}

LEAK_CASE(lost_points_to_reachable, "definite=56/1 reachable=149/1")
{
	struct node *p = node();

	p->next = root = malloc(149);
}

LEAK_CASE(end_is_not_inside, "definite=128/1")
{
	root = (char *)malloc(128) + 128;
}

LEAK_CASE(before_is_not_inside, "definite=151/1")
{
	root = (char *)malloc(151) - 1;
}

LEAK_CASE(last_byte_is_inside, "possible=157/1")
{
	root = (char *)malloc(157) + 156;
}

LEAK_CASE(size_0, "definite=0/3 reachable=0/1")
{
	for (int i = 0; i < 3; i++)
		leak_hide(malloc(0));
	root = malloc(0);
}

LEAK_CASE(unaligned_pointer, "definite=163/1")
{
	static char place[24];
	void *p = malloc(163);

	memcpy(leak_hide(place + 3), &p, sizeof p);
	leak_hide(place);
}

LEAK_CASE(mixed_up_pointer, "definite=167/1")
{
	root = (void *)((uintptr_t)malloc(167) ^ UINT64_C(0x5a5a5a5a5a5a5a5a));
}

LEAK_CASE(tag_in_low_bits, "possible=173/1")
{
	root = (void *)((uintptr_t)malloc(173) | 1);
}

LEAK_CASE(tag_in_high_bits, "definite=179/1")
{
	root = (void *)((uintptr_t)malloc(179) | UINT64_C(1) << 60);
}

LEAK_CASE(long_list, "reachable=5600168/100003")
{
	root = chain(100003);
}

LEAK_CASE(long_list_lost, "definite=56/1 indirect=5600112/100002")
{
	chain(100003);
}

LEAK_CASE(behind_a_length, "reachable=1000/1")
{
	uint64_t *p = malloc(1000);

	p[0] = 992;
	root = p + 1;
}

LEAK_CASE(behind_a_wrong_length, "possible=1000/1")
{
	uint64_t *p = malloc(1000);

	p[0] = 995;
	root = p + 1;
}

LEAK_CASE(behind_a_count, "reachable=1000/1")
{
	uint64_t *p = malloc(1000);

	p[0] = 31; /* 31 of 32 bytes */
	root = p + 1;
}

LEAK_CASE(counted_and_what_it_holds, "reachable=1191/2")
{
	uint64_t *p = calloc(1, 1000);

	p[0] = 31;
	p[50] = (uintptr_t)malloc(191);
	root = p + 1;
}

LEAK_MAIN()
