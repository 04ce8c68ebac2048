/* SPDX-License-Identifier: MIT */
/* Collects results until the end and frees all of them then: it grew while it ran. */
#include "matrix.h"

struct result {
	struct result *next;
	char text[4080];
};

static struct result *results;

SITE static void
add_result(void)
{
	struct result *r = fill(malloc(sizeof(*r)), sizeof(*r));

	r->next = results;
	results = r;
}

int
main(int argc, char **argv)
{
	matrix_begin(argc, argv, "add_result", "healthy");
	while (tick(10))
		add_result();
	while (results != NULL) {
		struct result *next = results->next;

		free(results);
		results = next;
	}
	return 0;
}
