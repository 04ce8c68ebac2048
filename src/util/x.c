/* SPDX-License-Identifier: MIT */
/* x.c -- the cold half of x.h: what happens when memory runs out.
 *
 * The message is made on the stack and written with one write(2): stdio might
 * allocate. */
#include "util/x.h"

#include <stdio.h>
#include <unistd.h>

void
x_oom(size_t bytes)
{
	char line[80];
	int n = snprintf(line, sizeof line, "seep: out of memory (%zu bytes wanted)\n",
			 bytes);

	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) {
		/* nobody can be told */
	}
	abort();
}

char *
x_vasprintf(const char *fmt, va_list ap)
{
	va_list again;
	char *s;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0)
		return xstrdup("");
	s = xmalloc((size_t)n + 1);
	vsnprintf(s, (size_t)n + 1, fmt, ap);
	return s;
}
