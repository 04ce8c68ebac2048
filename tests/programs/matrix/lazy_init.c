/* SPDX-License-Identifier: MIT */
/* Thirty modules, each set up when it is first needed, in the first half of the time. */
#include "matrix.h"

#define MODULES 30

static char *modules[MODULES];

SITE static char *
set_up(void)
{
	return fill(malloc(16000), 16000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "set_up", "healthy");
	while (tick(5)) {
		unsigned known = (unsigned)(passed() / 0.5 * MODULES);
		unsigned which = chance((known < MODULES ? known : MODULES - 1) + 1);

		if (modules[which] == NULL)
			modules[which] = set_up();
		fill(modules[which], 100);
	}
	return 0;
}
