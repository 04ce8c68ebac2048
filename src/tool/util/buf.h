/* SPDX-License-Identifier: MIT */
/* buf.h -- a growing run of bytes, always followed by a NUL.
 *
 * Start with `struct buf b = {0}`, end with buf_done. Text and binary alike: embedded
 * NULs are kept and counted. Growth doubles; there is no limit but memory. Not thread
 * safe. */
#ifndef SEEP_UTIL_BUF_H
#define SEEP_UTIL_BUF_H

#include <stdarg.h>
#include <stddef.h>

#include "tool/util/err.h"

struct buf {
	char *data; /* NULL while nothing was ever added; else data[len] is '\0' */
	size_t len;
	size_t cap; /* bytes at data, the NUL's place included */
};

/* Frees the bytes and empties `b`, which may be used again. Legal on an empty one. */
void buf_done(struct buf *b);

/* Forgets the contents and keeps the memory. */
void buf_clear(struct buf *b);

/* Makes room for `more` bytes beyond len and returns where they go; len is not
 * changed. */
char *buf_room(struct buf *b, size_t more);

/* Appends `n` bytes; `p` must not point into `b` itself. */
void buf_add(struct buf *b, const void *p, size_t n);
void buf_add_char(struct buf *b, char c);
void buf_add_str(struct buf *b, const char *s);

/* Appends formatted text. */
void buf_printf(struct buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* The contents as a string, "" when empty. Borrowed until the next change of `b`. */
const char *buf_str(const struct buf *b);

/* Hands over the contents (never NULL, NUL-terminated, to be freed) and empties `b`. */
char *buf_take(struct buf *b);

/* Appends all of the file `path`, of any kind and size (files in /proc say 0). On failure
 * returns a negative errno and `b` is as it was. */
int buf_read_file(struct buf *b, const char *path, struct err *e);

/* The same for an open descriptor, from where it stands; at most `max` bytes, more is
 * -EFBIG. `name` is for the message. */
int buf_read_fd(struct buf *b, int fd, size_t max, const char *name, struct err *e);

#endif
