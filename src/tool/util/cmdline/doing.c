/* SPDX-License-Identifier: MIT */
/* doing.c -- see doing.h: one function pointer, since there is one user. */
#include "tool/util/cmdline/doing.h"

#include <stdarg.h>
#include <stddef.h>

#include "tool/util/buf.h"

static void (*doing_taker)(const char *text);

void
doing(const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	if (doing_taker == NULL)
		return;
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	doing_taker(buf_str(&b));
	buf_done(&b);
}

void
doing_end(void)
{
	if (doing_taker != NULL)
		doing_taker(NULL);
}

void
doing_to(void (*take)(const char *text))
{
	doing_taker = take;
}
