/* SPDX-License-Identifier: MIT */
/* A parent and a child that point at each other; one pair in four is dropped without being freed. */
#include "matrix.h"

struct thing {
	struct thing *other;
	char payload[2040];
};

static struct thing *current;

SITE static struct thing *
make_thing(void)
{
	return fill(malloc(sizeof(struct thing)), sizeof(struct thing));
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "make_thing", "LEAK");
	while (tick(4)) {
		if (current != NULL && chance(4) != 0) {
			free(current->other);
			free(current);
		}
		current = make_thing();
		current->other = make_thing();
		current->other->other = current;
	}
	return 0;
}
