/* SPDX-License-Identifier: MIT */
/* Lists of ten nodes. One in four is freed at its head only: the second node is definitely lost,
 * and the other eight through it. */
#include "matrix.h"

struct node {
	struct node *next;
	char payload[1016];
};

static struct node *current;

SITE static struct node *
add_node(struct node *next)
{
	struct node *n = fill(malloc(sizeof(*n)), sizeof(*n));

	n->next = next;
	return n;
}

static void
drop_list(int all)
{
	struct node *n = current;

	current = NULL;
	while (n != NULL) {
		struct node *next = n->next;

		free(n);
		n = all ? next : NULL;
	}
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "add_node", "LEAK");
	while (tick(10)) {
		drop_list(chance(4) != 0);
		for (int i = 0; i < 10; i++)
			current = add_node(current);
	}
	return 0;
}
