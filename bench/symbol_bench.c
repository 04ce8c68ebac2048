/* SPDX-License-Identifier: MIT */
/* symbol_bench.c -- asks for the names and lines of many addresses of one binary, and no
 * more.
 *
 * Addresses come one a line, in hexadecimal, as in the file's own program headers. The
 * folder of indexes may be empty (then it is cold, and the index is made and kept) or
 * have the binary's index. What it takes is for the caller to measure: reading the
 * addresses is some milliseconds of it.
 *
 * Usage: symbol_bench BINARY ADDRESSES CACHE-FOLDER
 * Prints how many addresses were asked, how many of them have a function and a line, and
 * the number of frames. Whether the lines are right is tests/unit/test_sym_big.c's
 * business. */
#include <stdio.h>
#include <stdlib.h>

#include "tool/sym/sym.h"

enum { FRAMES_MOST = 64 };

struct counts {
	unsigned long asked, found, frames;
};

static void
ask(struct sym *s, uint64_t address, struct counts *c)
{
	struct sym_frame f[FRAMES_MOST];
	unsigned n = sym_find(s, address, f, FRAMES_MOST);

	c->asked++;
	c->found += n > 0 && f[0].line > 0;
	c->frames += n;
}

int
main(int argc, char **argv)
{
	struct sym_opts o = {0};
	struct counts c = {0};
	struct err e = {0};
	char line[64];

	if (argc != 4) {
		fprintf(stderr, "usage: symbol_bench BINARY ADDRESSES CACHE-FOLDER\n");
		return 2;
	}
	o.cache_dir = argv[3];
	FILE *list = fopen(argv[2], "re");
	if (list == NULL) {
		perror(argv[2]);
		return 3;
	}
	struct sym *s = sym_open(argv[1], NULL, 0, &o, &e);
	if (s == NULL) {
		fprintf(stderr, "symbol_bench: %s: %s\n", argv[1], e.msg);
		fclose(list);
		return 3;
	}
	while (fgets(line, sizeof(line), list) != NULL)
		ask(s, strtoull(line, NULL, 16), &c);
	sym_close(s); /* keeps the index */
	fclose(list);
	printf("count asked=%lu found=%lu frames=%lu\n", c.asked, c.found, c.frames);
	return 0;
}
