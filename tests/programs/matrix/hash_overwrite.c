/* SPDX-License-Identifier: MIT */
/* A hash table whose values live for a twentieth of the time. `replace` frees the value that was there,
 * `import` only overwrites it. */
#include "matrix.h"

#define KEYS 1000

static char *table[KEYS];

SITE static char *
make_value(void)
{
	return fill(malloc(4000), 4000);
}

SITE static void
replace(unsigned key)
{
	free(table[key]);
	table[key] = make_value();
}

SITE static void
import(unsigned key)
{
	table[key] = make_value();
}

int
main(int argc, char **argv)
{
	unsigned keys;

	matrix_begin(argc, argv, "make_value", "LEAK");
	keys = 1 + (unsigned)(matrix_length / 20 / 0.003) % KEYS;
	while (tick(3)) {
		if (chance(5) == 0)
			import(chance(keys));
		else
			replace(chance(keys));
	}
	return 0;
}
