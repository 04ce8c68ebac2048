/* SPDX-License-Identifier: MIT */
/* clean.c -- see clean.h.
 *
 * A clean stream is one of stdio's with a write function of ours (fopencookie). It may be
 * handed half a character, or half a style, when stdio's buffer is full: that half waits
 * for the next call. */
#include "tool/util/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/util/term.h"
#include "tool/util/x.h"

enum { CLEAN_KEEP = 8 }; /* more than any style or character has */

struct clean_out {
	FILE *f;
	int fd;
	bool own;    /* fd is closed with it */
	size_t kept; /* bytes of `keep`: the beginning of a character or style */
	unsigned char keep[CLEAN_KEEP];
	struct clean_out *next;
};

static struct clean_out *streams;
static FILE *raw_stdout;

uint32_t
clean_decode(const unsigned char *s, size_t n, unsigned *ret_bytes)
{
	unsigned want = s[0] < 0x80   ? 1
			: s[0] < 0xc2 ? 0
			: s[0] < 0xe0 ? 2
			: s[0] < 0xf0 ? 3
				      : 4;
	uint32_t c = want == 1 ? s[0] : s[0] & (0x7fu >> want);

	*ret_bytes = 0;
	if (want == 0 || s[0] > 0xf4 || want > n)
		return 0;
	for (unsigned i = 1; i < want; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	/* Longer than it need be, half of a pair, or beyond the last one. */
	if ((want == 3 && c < 0x800) || (want == 4 && (c < 0x10000 || c > 0x10ffff)) ||
	    (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_bytes = want;
	return c;
}

bool
clean_harmful(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c & 0xfffe) == 0xfffe ||
	       (c >= 0xfdd0 && c <= 0xfdef) || c == 0x200e || c == 0x200f ||
	       c == 0x061c ||		     /* marks of direction */
	       c == 0x2028 || c == 0x2029 || /* ends of lines */
	       (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) ||
	       (c >= 0xe0000 && c <= 0xe007f); /* letters that cannot be seen */
}

/* Appends what may be printed of the `n` bytes at `s`, and returns how many were dealt
 * with: with `more` to come, the beginning of a character or style at their end is
 * left. */
static size_t
clean_part(struct buf *out, const unsigned char *s, size_t n, bool more)
{
	size_t i = 0;

	while (i < n) {
		unsigned bytes;
		size_t style =
			s[i] == '\033' ? term_style_bytes((const char *)s + i, n - i) : 0;
		uint32_t c = clean_decode(s + i, n - i, &bytes);

		if (more && n - i < CLEAN_KEEP && style == 0 &&
		    (s[i] == '\033' || (bytes == 0 && s[i] >= 0xc2 &&
					n - i < (s[i] < 0xe0   ? 2u
						 : s[i] < 0xf0 ? 3u
							       : 4u))))
			break;
		if (style > 0)
			buf_add(out, s + i, style);
		else if (c == '\n' || c == '\t')
			buf_add_char(out, (char)c);
		else if (bytes == 0 && s[i] >= 0xa0) /* a letter of an older encoding */
			buf_add_char(out, (char)s[i]);
		else if (bytes == 0 || clean_harmful(c))
			buf_add_char(out, '?');
		else
			buf_add(out, s + i, bytes);
		i += style > 0 ? style : bytes > 0 ? bytes : 1;
	}
	return i;
}

void
clean_add(struct buf *out, const char *text, size_t n)
{
	clean_part(out, (const unsigned char *)text, n, false);
}

void
clean_text(struct buf *out, const char *text)
{
	size_t from = out->len;

	clean_add(out, text, strlen(text));
	for (char *s = out->data + from; out->len > from && *s != '\0'; s++)
		*s = *s == '\t' ? ' ' : *s == '\n' || *s == '\033' ? '?' : *s;
}

void
clean_shell(struct buf *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_@%+=:,./-";
	char *clean = clean_copy(word);

	if (word[0] == '-')
		buf_add_str(out, "-- ");
	if (clean[0] != '\0' && clean[strspn(clean, plain)] == '\0') {
		buf_add_str(out, clean);
	} else {
		buf_add_char(out, '\'');
		for (const char *s = clean; *s != '\0'; s++)
			buf_add_str(out, *s == '\'' ? "'\\''" : (char[]){*s, '\0'});
		buf_add_char(out, '\'');
	}
	free(clean);
}

char *
clean_copy(const char *text)
{
	struct buf b = {0};

	clean_text(&b, text);
	return buf_take(&b);
}

static int
clean_write_all(int fd, const char *at, size_t n)
{
	while (n > 0) {
		ssize_t put = write(fd, at, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return -1;
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

static ssize_t
clean_write(void *cookie, const char *data, size_t n)
{
	struct clean_out *o = cookie;
	struct buf in = {0}, out = {0};
	size_t done;
	int r;

	buf_add(&in, o->keep, o->kept);
	buf_add(&in, data, n);
	done = clean_part(&out, (const unsigned char *)buf_str(&in), in.len, true);
	o->kept = in.len - done;
	memcpy(o->keep, in.data + done, o->kept);
	r = clean_write_all(o->fd, buf_str(&out), out.len);
	buf_done(&in);
	buf_done(&out);
	return r < 0 ? 0 : (ssize_t)n;
}

static int
clean_close(void *cookie)
{
	struct clean_out *o = cookie;
	int r = o->own ? close(o->fd) : 0;

	for (struct clean_out **at = &streams; *at != NULL; at = &(*at)->next)
		if (*at == o) {
			*at = o->next;
			break;
		}
	free(o);
	return r;
}

static FILE *
clean_stream(int fd, bool own)
{
	static const cookie_io_functions_t io = {.write = clean_write,
						 .close = clean_close};
	struct clean_out *o = xcalloc(1, sizeof *o);

	o->fd = fd;
	o->own = own;
	o->f = fopencookie(o, "w", io);
	if (o->f == NULL) {
		free(o);
		return NULL;
	}
	o->next = streams;
	streams = o;
	return o->f;
}

void
clean_install(void)
{
	FILE *out = clean_stream(STDOUT_FILENO, false),
	     *err = clean_stream(STDERR_FILENO, false);

	raw_stdout = stdout;
	if (out != NULL) {
		setvbuf(out, NULL, isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF, BUFSIZ);
		stdout = out;
	}
	if (err != NULL) {
		setvbuf(err, NULL, _IONBF, 0);
		stderr = err;
	}
}

FILE *
clean_open(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	FILE *f = fd >= 0 ? clean_stream(fd, true) : NULL;

	if (f == NULL && fd >= 0)
		close(fd);
	return f;
}

int
clean_fd(FILE *f)
{
	for (const struct clean_out *o = streams; o != NULL; o = o->next)
		if (o->f == f)
			return o->fd;
	return fileno(f);
}

FILE *
clean_raw(void)
{
	fflush(stdout);
	return raw_stdout != NULL && isatty(STDOUT_FILENO) != 1 ? raw_stdout : stdout;
}

void
clean_cursor(FILE *to, const char *sequence)
{
	fflush(to);
	clean_write_all(clean_fd(to), sequence, strlen(sequence));
}
