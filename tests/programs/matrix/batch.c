/* SPDX-License-Identifier: MIT */
/* Twelve batch jobs: each gathers its rows and frees all of them at its end. */
#include "matrix.h"

#define JOBS 12

struct row {
	struct row *next;
	char data[1528];
};

static struct row *rows;

SITE static void
read_row(void)
{
	struct row *r = fill(malloc(sizeof(*r)), sizeof(*r));

	r->next = rows;
	rows = r;
}

int
main(int argc, char **argv)
{
	int job = 0;

	matrix_begin(argc, argv, "read_row", "healthy");
	while (tick(5)) {
		for (int k = 0; k < 3; k++)
			read_row();
		if ((int)(passed() * JOBS) == job)
			continue;
		job++;
		while (rows != NULL) {
			struct row *next = rows->next;

			free(rows);
			rows = next;
		}
	}
	return 0;
}
