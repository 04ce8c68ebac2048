/* SPDX-License-Identifier: MIT */
/* A vector that grows by realloc from 1 to 8 KiB; one parse in four returns early and loses it. */
#include "matrix.h"

static char *volatile vector;

SITE static char *
grow_vector(char *old, size_t bytes)
{
	return fill(realloc(old, bytes), bytes);
}

SITE static int
parse(void)
{
	char *v = NULL;

	for (size_t bytes = 1024; bytes <= 8192; bytes *= 2)
		v = grow_vector(v, bytes);
	vector = v;
	if (chance(4) == 0)
		return -1;
	vector = NULL;
	free(v);
	return 0;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "grow_vector", "LEAK");
	while (tick(10))
		parse();
	return 0;
}
