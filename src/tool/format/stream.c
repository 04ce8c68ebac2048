/* SPDX-License-Identifier: MIT */
/* stream.c -- a window over a text that is unpacked as it is read.
 *
 * The window holds the rest of what was unpacked last and grows only for a line that does
 * not fit, up to STREAM_LINE_MAX; longer lines are skipped and counted. A file that
 * cannot be read on, or unpacked on, ends there, and `damage` says so. */
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "tool/format/lines.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

enum {
	STREAM_PACKED_BYTES = 1 << 17,
	STREAM_WINDOW_BYTES = 1 << 18,
	STREAM_LINE_MAX = 1 << 20,
	STREAM_ZSTD_WINDOW_LOG = 27, /* as input.c */
};

struct stream_packed {
	z_stream z;	 /* gzip */
	ZSTD_DStream *d; /* zstd; NULL: gzip */
	bool between;	 /* the frame or member before is complete */
	size_t at, end;
	unsigned char bytes[STREAM_PACKED_BYTES];
};

/* Up to `most` bytes of the file; 0 at its end. */
static size_t
stream_file(struct stream *s, void *to, size_t most)
{
	ssize_t got;

	do
		got = pread(s->fd, to, most, (off_t)s->file_off);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		s->damage = "a file that cannot be read to its end";
	if (got <= 0)
		return 0;
	s->file_off += (uint64_t)got;
	return (size_t)got;
}

/* One step of gzip; false when it cannot go on. */
static bool
stream_gunzip(struct stream_packed *p, char *to, size_t room, size_t *ret_got)
{
	int r;

	if (p->between && inflateReset(&p->z) != Z_OK)
		return false;
	/* What follows a member without being one is padding, as gzip(1) has it. */
	if (p->between && p->bytes[p->at] != 0x1f) {
		p->at = p->end;
		return true;
	}
	p->between = false;
	p->z.next_in = p->bytes + p->at;
	p->z.avail_in = (uInt)(p->end - p->at);
	p->z.next_out = (unsigned char *)to;
	p->z.avail_out = (uInt)room;
	r = inflate(&p->z, Z_NO_FLUSH);
	p->at = p->end - p->z.avail_in;
	*ret_got = room - p->z.avail_out;
	p->between = r == Z_STREAM_END;
	return r == Z_OK || r == Z_STREAM_END || r == Z_BUF_ERROR;
}

static bool
stream_unzstd(struct stream_packed *p, char *to, size_t room, size_t *ret_got)
{
	ZSTD_inBuffer in = {p->bytes, p->end, p->at};
	ZSTD_outBuffer out = {to, room, 0};
	size_t r = ZSTD_decompressStream(p->d, &out, &in);

	p->at = in.pos;
	*ret_got = out.pos;
	p->between = r == 0;
	return !ZSTD_isError(r);
}

/* Puts up to `room` unpacked bytes at `to`; 0 at the end. */
static size_t
stream_unpack(struct stream *s, char *to, size_t room)
{
	struct stream_packed *p = s->packed;
	size_t got = 0;
	bool last = false;

	if (p == NULL)
		return stream_file(s, to, room);
	while (got == 0 && s->damage == NULL) {
		if (p->at == p->end) {
			p->at = 0;
			p->end = stream_file(s, p->bytes, sizeof p->bytes);
			if (p->end == 0 && (p->between || last))
				break;
			last = p->end == 0; /* something may be left inside */
		}
		if (!(p->d != NULL ? stream_unzstd(p, to, room, &got)
				   : stream_gunzip(p, to, room, &got)))
			s->damage = "compressed data that cannot be unpacked";
	}
	if (got == 0 && s->damage == NULL && !p->between)
		s->damage = "compressed data that break off";
	return got;
}

/* Unpacks more behind what is there; false at the end, or when the window is full of one
 * line. */
static bool
stream_more(struct stream *s)
{
	size_t got;

	if (s->fd < 0 || s->ended)
		return false;
	if (s->at > 0) {
		memmove(s->buf, s->buf + s->at, s->end - s->at);
		s->base += s->at;
		s->end -= s->at;
		s->at = 0;
	}
	if (s->end == s->cap) {
		if (s->cap >= STREAM_LINE_MAX)
			return false;
		s->cap *= 2;
		s->buf = xrealloc(s->buf, s->cap);
	}
	got = stream_unpack(s, s->buf + s->end, s->cap - s->end);
	s->end += got;
	s->ended = got == 0;
	return got > 0;
}

int
stream_open_fd(struct stream *s, int fd, struct err *e)
{
	static const unsigned char zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char head[4] = {0};
	struct stat st;

	*s = (struct stream){.fd = fd, .cap = STREAM_WINDOW_BYTES};
	if (fstat(fd, &st) == 0)
		s->file_bytes = (uint64_t)st.st_size;
	s->buf = xmalloc(s->cap);
	if (stream_file(s, head, sizeof head) == sizeof head &&
	    ((head[0] == 0x1f && head[1] == 0x8b) ||
	     memcmp(head, zstd, sizeof zstd) == 0)) {
		s->packed = xcalloc(1, sizeof *s->packed);
		if (head[0] != 0x1f) {
			s->packed->d = ZSTD_createDStream();
			ZSTD_DCtx_setParameter(s->packed->d, ZSTD_d_windowLogMax,
					       STREAM_ZSTD_WINDOW_LOG);
		} else if (inflateInit2(&s->packed->z, 15 + 16) != Z_OK) {
			return err_set(e, -ENOMEM, "no memory to unpack it");
		}
	}
	s->file_off = 0;
	if (s->damage != NULL)
		return err_set(e, -EIO, "%s", s->damage);
	if (!stream_more(s) && s->packed != NULL)
		return err_set(e, -EBADMSG, "nothing in it can be unpacked");
	return 0;
}

void
stream_open_bytes(struct stream *s, const void *data, size_t bytes)
{
	*s = (struct stream){.fd = -1, .buf = (char *)data, .end = bytes, .cap = bytes};
	s->file_bytes = bytes;
}

size_t
stream_head(struct stream *s, const char **ret_head, size_t most)
{
	while (s->end - s->at < most && stream_more(s))
		;
	*ret_head = s->buf + s->at;
	return s->end - s->at < most ? s->end - s->at : most;
}

/* Leaves the line out that the window is full of. */
static void
stream_skip(struct stream *s)
{
	const char *nl = NULL;

	s->too_long++;
	while (nl == NULL && s->end > s->at) {
		nl = memchr(s->buf + s->at, '\n', s->end - s->at);
		s->at = nl != NULL ? (size_t)(nl + 1 - s->buf) : s->end;
		if (nl == NULL && !stream_more(s))
			break;
	}
}

bool
stream_next(struct stream *s, struct line *ret_line)
{
	size_t seen = 0; /* of the line: has no newline */

	for (;;) {
		const char *from = s->buf + s->at;
		const char *nl = s->end - s->at > seen ? memchr(from + seen, '\n',
								s->end - s->at - seen)
						       : NULL;

		if (nl == NULL) {
			seen = s->end - s->at;
			if (stream_more(s))
				continue;
			if (s->fd >= 0 && !s->ended) {
				s->line_number++;
				stream_skip(s);
				seen = 0;
				continue;
			}
			if (seen == 0)
				return false;
			from = s->buf + s->at;
		}
		s->cut = nl == NULL;
		ret_line->at = from;
		ret_line->end = nl != NULL ? nl : from + seen;
		s->line_off = s->base + s->at;
		s->line_number++;
		s->at = (size_t)(ret_line->end - s->buf) + (nl != NULL);
		return true;
	}
}

void
stream_close(struct stream *s)
{
	if (s->packed != NULL) {
		if (s->packed->d != NULL)
			ZSTD_freeDStream(s->packed->d);
		else
			inflateEnd(&s->packed->z);
		free(s->packed);
	}
	if (s->fd >= 0)
		free(s->buf);
	*s = (struct stream){.fd = -1};
}
