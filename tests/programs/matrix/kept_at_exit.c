/* SPDX-License-Identifier: MIT */
/* One large table from the beginning, never freed and reachable to the end; requests come and go. */
#include "matrix.h"

static char **table;

SITE static void
load_all(void)
{
	table = calloc(300, sizeof(*table));
	for (int i = 0; i < 300; i++)
		table[i] = fill(malloc(4096), 4096);
}

SITE static void
serve(unsigned i)
{
	static char *under_way[20];

	free(under_way[i % 20]);
	under_way[i % 20] = fill(malloc(1000), 1000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "load_all", "healthy");
	load_all();
	for (unsigned i = 0; tick(3); i++)
		serve(i);
	return 0;
}
