/* SPDX-License-Identifier: MIT */
/* Each request takes chunks for its arena, and lets all of them go at its end, 60 ms later. */
#include "matrix.h"

struct chunk {
	struct chunk *next;
	char room[8184];
};

static struct chunk *arena;

SITE static void
arena_grow(void)
{
	struct chunk *c = fill(malloc(sizeof(*c)), sizeof(*c));

	c->next = arena;
	arena = c;
}

static void
arena_reset(void)
{
	while (arena != NULL) {
		struct chunk *next = arena->next;

		free(arena);
		arena = next;
	}
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "arena_grow", "healthy");
	for (unsigned i = 0; tick(5); i++) {
		if (i % 12 == 0)
			arena_reset();
		arena_grow();
	}
	return 0;
}
