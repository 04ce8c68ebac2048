/* SPDX-License-Identifier: MIT */
/* stay.c -- a process that runs until it is killed.
 *
 *	stay grow|flat
 *
 * First 23 MiB in one block that is kept. grow: a list gets 100 blocks of 1,009 bytes a second. flat: 100 blocks of 1,009
 * bytes a second, each in the place of the one 61 before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT = 23 << 20, BYTES = 1009, RING = 61 };

struct block {
	struct block *next;
	char rest[BYTES - sizeof(void *)];
};

static char *volatile kept;
static struct block *volatile list, *ring[RING];

int
main(int argc, char **argv)
{
	int grow = argc > 1 && strcmp(argv[1], "grow") == 0;

	kept = malloc(KEPT);
	memset(kept, 1, KEPT);
	puts("ready");
	fflush(stdout);
	for (unsigned i = 0;; i = (i + 1) % RING) {
		struct block *b = malloc(sizeof *b);

		memset(b, 1, sizeof *b);
		if (grow) {
			b->next = list;
			list = b;
		} else {
			free(ring[i]);
			ring[i] = b;
		}
		usleep(10000);
	}
}
