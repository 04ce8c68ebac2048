/* SPDX-License-Identifier: MIT */
/* A store that is filled by its clients for as long as it runs: every value is reachable through the
 * table, some are replaced and freed. It grows, and nothing is lost. */
#include "matrix.h"

#define KEYS 65536

static char **values;

SITE static char *
store_value(void)
{
	return fill(malloc(3000), 3000);
}

int
main(int argc, char **argv)
{
	unsigned used = 0;

	matrix_begin(argc, argv, "store_value", "GROWING");
	values = calloc(KEYS, sizeof(*values));
	while (tick(10) && used < KEYS) {
		unsigned key = chance(10) == 0 && used > 0 ? chance(used) : used++;

		free(values[key]);
		values[key] = store_value();
	}
	return 0;
}
