/* SPDX-License-Identifier: MIT */
/* Requests take a fortieth of the time; one in ten fails, and the error path forgets its buffer. */
#include "matrix.h"

#define UNDER_WAY 1000

static char *requests[UNDER_WAY];

SITE static char *
read_request(void)
{
	return fill(malloc(4096), 4096);
}

int
main(int argc, char **argv)
{
	unsigned under_way;

	matrix_begin(argc, argv, "read_request", "LEAK");
	under_way = 1 + (unsigned)(matrix_length / 40 / 0.002) % UNDER_WAY;
	for (unsigned i = 0; tick(2); i++) {
		char **slot = &requests[i % under_way];

		if (*slot != NULL && chance(10) != 0)
			free(*slot);
		*slot = read_request();
	}
	return 0;
}
