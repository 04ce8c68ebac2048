/* SPDX-License-Identifier: MIT */
/* buf.c -- the growing run of bytes of buf.h.
 *
 * One realloc'ed block that doubles. Files are read until read(2) says 0, with st_size as
 * a hint only, because /proc and pipes do not know their size. */
#include "tool/util/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/util/x.h"

#define BUF_FIRST_BYTES 64
#define BUF_READ_BYTES 65536

void
buf_done(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

void
buf_clear(struct buf *b)
{
	b->len = 0;
	if (b->data != NULL)
		b->data[0] = '\0';
}

char *
buf_room(struct buf *b, size_t more)
{
	size_t want, cap;

	if (more > SIZE_MAX / 2 - b->len - 1)
		x_oom(more);
	want = b->len + more + 1;
	if (want > b->cap) {
		cap = b->cap ? b->cap : BUF_FIRST_BYTES;
		while (cap < want)
			cap *= 2;
		b->data = xrealloc(b->data, cap);
		b->cap = cap;
		b->data[b->len] = '\0';
	}
	return b->data + b->len;
}

void
buf_add(struct buf *b, const void *p, size_t n)
{
	char *at = buf_room(b, n);

	if (n != 0)
		memcpy(at, p, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_add_str(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void
buf_vprintf(struct buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap > b->len ? b->cap - b->len : 0;
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(room ? b->data + b->len : NULL, room, fmt, again);
	va_end(again);
	if (n < 0) {
		if (room)
			b->data[b->len] = '\0';
		return;
	}
	if ((size_t)n >= room) {
		buf_room(b, (size_t)n);
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	}
	b->len += (size_t)n;
}

void
buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(b, fmt, ap);
	va_end(ap);
}

const char *
buf_str(const struct buf *b)
{
	return b->data != NULL ? b->data : "";
}

char *
buf_take(struct buf *b)
{
	char *s = b->data != NULL ? b->data : xstrdup("");

	*b = (struct buf){0};
	return s;
}

/* How much to ask for at once: the file's size when it knows it. */
static size_t
buf_read_hint(int fd, size_t max)
{
	struct stat st;
	size_t hint = BUF_READ_BYTES;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		hint = (size_t)st.st_size + 1; /* the last read then sees the end */
	return hint > max ? max + 1 : hint;
}

int
buf_read_fd(struct buf *b, int fd, size_t max, const char *name, struct err *e)
{
	size_t was = b->len;
	size_t hint;
	ssize_t got;
	int code;

	if (max > SIZE_MAX / 4)
		max = SIZE_MAX / 4;
	hint = buf_read_hint(fd, max);
	for (;;) {
		got = read(fd, buf_room(b, hint), hint);
		if (got == 0)
			return 0;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			code = err_sys(e, -errno, "%s: cannot read", name);
			break;
		}
		b->len += (size_t)got;
		b->data[b->len] = '\0';
		if (b->len - was > max) {
			code = err_set(e, -EFBIG, "%s: larger than %zu bytes", name, max);
			break;
		}
		hint = BUF_READ_BYTES;
	}
	b->len = was;
	b->data[was] = '\0'; /* buf_room made room, so data is not NULL */
	return code;
}

int
buf_read_file(struct buf *b, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	r = buf_read_fd(b, fd, SIZE_MAX, path, e);
	close(fd);
	return r;
}
