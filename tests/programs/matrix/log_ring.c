/* SPDX-License-Identifier: MIT */
/* The last 100 lines of a log, of all lengths; a new line replaces the oldest. */
#include "matrix.h"

#define LINES 100

static char *lines[LINES];

SITE static char *
copy_line(const char *text)
{
	return strdup(text);
}

int
main(int argc, char **argv)
{
	static char text[4000];

	matrix_begin(argc, argv, "copy_line", "healthy");
	for (unsigned i = 0; tick(2); i++) {
		unsigned length = 100 + chance(3800);

		memset(text, 'l', length);
		text[length] = '\0';
		free(lines[i % LINES]);
		lines[i % LINES] = copy_line(text);
	}
	return 0;
}
