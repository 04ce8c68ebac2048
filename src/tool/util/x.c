/* SPDX-License-Identifier: MIT */
/* x.c -- the cold half of x.h: what happens when memory runs out; large pages.
 *
 * The message is made on the stack and written with one write(2): stdio might
 * allocate. */
#include "tool/util/x.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	LARGE_BYTES = 4 << 20,
	X_OOM_STATUS = 3, /* failed: no core file, no signal */
};

static void (*oom_first)(void);

void
x_oom_first(void (*first)(void))
{
	oom_first = first;
}

void
x_oom(size_t bytes)
{
	char line[80];
	int n = snprintf(line, sizeof line, "seep: out of memory (%zu bytes wanted)\n",
			 bytes);

	if (oom_first != NULL)
		oom_first();
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0) {
		/* nobody can be told */
	}
	_exit(X_OOM_STATUS);
}

void
x_large_pages(void *p, size_t bytes)
{
	uintptr_t start = ((uintptr_t)p + 4095) & ~(uintptr_t)4095;

	if (bytes >= LARGE_BYTES)
		madvise((void *)start, (bytes - (start - (uintptr_t)p)) & ~(size_t)4095,
			MADV_HUGEPAGE);
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
