/* SPDX-License-Identifier: MIT */
/* note.c -- see note.h: one function pointer, since there is one user. */
#include "tool/util/cmdline/note.h"

#include <stdarg.h>
#include <stddef.h>

#include "tool/util/buf.h"

static void (*note_taker)(const char *text);

void
note(const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	if (note_taker == NULL)
		return;
	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	note_taker(buf_str(&b));
	buf_done(&b);
}

void
note_to(void (*take)(const char *text))
{
	note_taker = take;
}
