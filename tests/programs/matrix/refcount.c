/* SPDX-License-Identifier: MIT */
/* Objects with a counter of references. One in six is looked up once more than it is let go, so its
 * counter never becomes 0. */
#include "matrix.h"

struct object {
	unsigned references;
	char payload[4000];
};

static struct object *current;

SITE static struct object *
object_new(void)
{
	struct object *o = fill(malloc(sizeof(*o)), sizeof(*o));

	o->references = 1;
	return o;
}

static void
object_let_go(struct object *o)
{
	if (--o->references == 0)
		free(o);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "object_new", "LEAK");
	while (tick(3)) {
		if (current != NULL)
			object_let_go(current);
		current = object_new();
		if (chance(6) == 0)
			current->references++;
	}
	return 0;
}
