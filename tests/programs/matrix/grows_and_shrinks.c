/* SPDX-License-Identifier: MIT */
/* Load that rises for the first half of the time and falls in the second; every block is freed. */
#include "matrix.h"

#define MOST 200

static char *clients[MOST];
static unsigned count;

SITE static char *
accept_client(void)
{
	return fill(malloc(4000), 4000);
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "accept_client", "healthy");
	while (tick(4)) {
		double load = passed() < 0.5 ? passed() * 2 : 2 - passed() * 2;
		unsigned wanted = (unsigned)(load * MOST);

		while (count < wanted && count < MOST)
			clients[count++] = accept_client();
		while (count > wanted) {
			free(clients[--count]);
			clients[count] = NULL;
		}
	}
	while (count > 0)
		free(clients[--count]);
	return 0;
}
