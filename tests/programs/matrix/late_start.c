/* SPDX-License-Identifier: MIT */
/* Loads its tables for a fifth of the time, and only then begins to serve, and to lose one answer in
 * five. The tables are kept and are no leak. */
#include "matrix.h"

#define TABLES 120

static char *tables[TABLES];
static char *answer;

SITE static char *
load_table(void)
{
	return fill(malloc(2048), 2048);
}

SITE static char *
make_answer(void)
{
	return fill(malloc(4096), 4096);
}

int
main(int argc, char **argv)
{
	unsigned loaded = 0;

	matrix_begin(argc, argv, "make_answer", "LEAK");
	while (tick(3)) {
		if (passed() < 0.2) {
			while (loaded < TABLES && loaded < passed() / 0.2 * TABLES)
				tables[loaded++] = load_table();
			continue;
		}
		if (answer != NULL && chance(5) != 0)
			free(answer);
		answer = make_answer();
		fill(tables[chance(loaded)], 64);
	}
	return 0;
}
