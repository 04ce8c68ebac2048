/* SPDX-License-Identifier: MIT */
/* One vector that doubles whenever it is full: one block that gets larger. */
#include "matrix.h"

static unsigned *numbers;
static size_t count, room;

SITE static void
push_number(unsigned number)
{
	if (count == room) {
		room = room > 0 ? room * 2 : 64;
		numbers = realloc(numbers, room * sizeof(*numbers));
	}
	numbers[count++] = number;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "push_number", "healthy");
	while (tick(5))
		for (unsigned i = 0; i < 200; i++)
			push_number(i);
	free(numbers);
	return 0;
}
