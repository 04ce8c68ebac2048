/* SPDX-License-Identifier: MIT */
/* Messages are freed at once, but every 80 ms a reconnect loses the 16 that were waiting. */
#include "matrix.h"

#define WAITING 16

static char *waiting[WAITING];

SITE static char *
make_message(void)
{
	return fill(malloc(1500), 1500);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "make_message", "LEAK");
	for (unsigned i = 1; tick(4); i++) {
		for (unsigned k = 0; k < WAITING; k++)
			waiting[k] = make_message();
		for (unsigned k = 0; k < WAITING; k++) {
			if (i % 20 != 0)
				free(waiting[k]);
			waiting[k] = NULL;
		}
	}
	return 0;
}
