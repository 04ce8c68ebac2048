/* SPDX-License-Identifier: MIT */
/* Names are interned once and for all, but there are only 150 of them: more and more are known already. */
#include "matrix.h"

#define NAMES 150

static char *interned[NAMES];

SITE static char *
intern(unsigned name)
{
	if (interned[name] == NULL)
		interned[name] = fill(malloc(4000), 4000);
	return interned[name];
}

int
main(int argc, char **argv)
{
	double rate;

	matrix_begin(argc, argv, "intern", "healthy");
	rate = 6 * NAMES * 0.004 / matrix_length; /* six looks at each name in all */
	for (double due = 0; tick(4); due += rate)
		for (; due >= 1; due--)
			fill(intern(chance(NAMES)), 10);
	return 0;
}
