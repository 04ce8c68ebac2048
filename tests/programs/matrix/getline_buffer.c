/* SPDX-License-Identifier: MIT */
/* getline allocates its buffer; a line that begins with '#' is skipped together with its buffer. */
#include "matrix.h"

SITE static char *
next_line(FILE *in)
{
	char *line = NULL;
	size_t room = 0;

	if (getline(&line, &room, in) < 0)
		abort();
	return line;
}

int
main(int argc, char **argv)
{
	static char text[4000];
	FILE *in;

	matrix_begin(argc, argv, "next_line", "LEAK");
	memset(text, 'x', sizeof(text) - 2);
	text[sizeof(text) - 2] = '\n';
	in = fmemopen(text, sizeof(text) - 1, "r");
	while (tick(4)) {
		char *line;

		rewind(in);
		line = next_line(in);
		if (chance(4) == 0)
			line[0] = '#';
		if (line[0] == '#')
			continue;
		free(line);
	}
	fclose(in);
	return 0;
}
