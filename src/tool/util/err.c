/* SPDX-License-Identifier: MIT */
/* err.c -- error messages in the caller's storage.
 *
 * Plain vsnprintf into a fixed array; errno is kept so that a caller may still use it.
 * What does not fit is cut at a whole UTF-8 character. */
#include "tool/util/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A path may hold any bytes; never leave half a character at the cut. */
static void
err_trim(struct err *e)
{
	size_t n = strlen(e->msg);
	size_t tail = 0; /* continuation bytes at the end */
	unsigned char lead;

	if (n + 1 < sizeof e->msg)
		return;
	while (tail < 3 && ((unsigned char)e->msg[n - 1 - tail] & 0xc0) == 0x80)
		tail++;
	lead = (unsigned char)e->msg[n - 1 - tail];
	if (lead >= 0xc0 && tail < (lead < 0xe0 ? 1u : lead < 0xf0 ? 2u : 3u))
		e->msg[n - 1 - tail] = '\0';
}

int
err_set(struct err *e, int code, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;

	if (e == NULL)
		return code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	err_trim(e);
	e->code = code;
	errno = saved;
	return code;
}

int
err_sys(struct err *e, int code, const char *fmt, ...)
{
	int saved = errno;
	size_t n;
	va_list ap;

	if (e == NULL)
		return code;
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof e->msg - n, ": %s",
		 strerror(code < 0 ? -code : code));
	err_trim(e);
	e->code = code;
	errno = saved;
	return code;
}

int
err_wrap(struct err *e, int code, const char *fmt, ...)
{
	int saved = errno;
	char old[sizeof e->msg];
	size_t n;
	va_list ap;

	if (e == NULL)
		return code;
	memcpy(old, e->msg, sizeof old);
	va_start(ap, fmt);
	vsnprintf(e->msg, sizeof e->msg, fmt, ap);
	va_end(ap);
	n = strlen(e->msg);
	snprintf(e->msg + n, sizeof e->msg - n, ": %s", old);
	err_trim(e);
	e->code = code;
	errno = saved;
	return code;
}
