/* SPDX-License-Identifier: MIT */
/* err.h -- what went wrong, told once and carried up to the one place that prints.
 *
 * Tool-side functions return 0 or a negative errno and take a `struct err *` last. The
 * function that knows the detail (file, byte offset) writes it with err_set; callers pass
 * the code on. No allocation, so it works when memory is what ran out. Nothing is
 * printed. */
#ifndef SEEP_UTIL_ERR_H
#define SEEP_UTIL_ERR_H

struct err {
	int code;      /* 0 or a negative errno */
	char msg[512]; /* one line without a newline, "" when there is no error */
};

/* Stores `code` and the formatted message in `e`, replacing what was there, and returns
 * `code`, so that `return err_set(e, -errno, ...)` reads well. A message that is too long
 * is cut. `e` may be NULL: then only the code is returned. errno is left as it was. */
int err_set(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set, with ": " and the system's text for `code` added: "x: cannot open: No such
 * file or directory". */
int err_sys(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "context: " before the message already in `e`; returns its code. NULL is legal. */
int err_wrap(struct err *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
