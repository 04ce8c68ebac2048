/* SPDX-License-Identifier: MIT */
/* Begins with 300 connections and loses them over the time, while each is renewed now and then. */
#include "matrix.h"

#define MOST 300

static char *connections[MOST];

SITE static char *
connect_peer(void)
{
	return fill(malloc(3000), 3000);
}

int
main(int argc, char **argv)
{
	unsigned count = 0;

	matrix_begin(argc, argv, "connect_peer", "healthy");
	while (count < MOST)
		connections[count++] = connect_peer();
	while (tick(4)) {
		unsigned which = chance(count);

		free(connections[which]);
		connections[which] = connect_peer();
		while (count > 20 && count > MOST * (1 - passed())) {
			free(connections[--count]);
			connections[count] = NULL;
		}
	}
	return 0;
}
