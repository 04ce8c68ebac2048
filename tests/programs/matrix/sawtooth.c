/* SPDX-License-Identifier: MIT */
/* Gathers blocks one by one and frees all of them when there are 40, again and again. */
#include "matrix.h"

#define HIGH 40

static char *gathered[HIGH];

SITE static char *
gather(void)
{
	return fill(malloc(2048), 2048);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "gather", "healthy");
	for (unsigned i = 0; tick(3); i++) {
		if (i % HIGH == 0)
			for (unsigned k = 0; k < HIGH; k++) {
				free(gathered[k]);
				gathered[k] = NULL;
			}
		gathered[i % HIGH] = gather();
	}
	return 0;
}
