/* SPDX-License-Identifier: MIT */
/* takes_address.c -- a process that takes the addresses of malloc and free when it is told to, and uses them
 * from then on. Each line that it reads is a round: the first takes, all use, "done" follows. At the end of
 * its input it leaves with status 0 if all that it allocated was what it should be. */
/* cflags: -O1 -g -fPIE -pie -fno-builtin */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*volatile get)(size_t);
static void (*volatile put)(void *);

int
main(void)
{
	char line[64];
	int bad = 0;

	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin) != NULL) {
		if (get == NULL) {
			get = malloc;
			put = free;
		}
		for (int i = 1; i < 1009; i++) {
			char *p = get((size_t)i);

			memset(p, i, (size_t)i);
			bad += p[i - 1] != (char)i;
			put(p);
		}
		puts("done");
		fflush(stdout);
	}
	return bad;
}
