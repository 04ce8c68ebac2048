/* SPDX-License-Identifier: MIT */
/* stream.h -- the lines of a text of any length, packed or not, in a little memory.
 *
 * For formats whose files may be larger than memory: a logged event each line. The
 * others are read whole (input.h). Plain, gzip or zstd, known by content. */
#ifndef SEEP_FORMAT_STREAM_H
#define SEEP_FORMAT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct line;
struct stream_packed;

struct stream {
	int fd; /* of a regular file, read from its beginning; -1 = bytes in memory */
	uint64_t file_off, file_bytes;
	struct stream_packed *packed; /* NULL: plain */
	char *buf;		      /* unpacked, [at, end) not given out yet; */
	size_t at, end, cap;	      /* of bytes in memory: all of them, borrowed */
	bool ended;
	uint64_t base; /* offset of buf[0] in the unpacked text */
	/* of the line given out last */
	uint64_t line_number, line_off; /* from 1; its first byte, unpacked */
	bool cut;			/* the text ends without a newline behind it */
	uint64_t too_long;		/* lines that were skipped: over 1 MiB */
	/* what is missing at the end, a string constant; NULL = nothing */
	const char *damage;
};

/* Starts reading; fails only when nothing can be unpacked. The descriptor is borrowed and
 * its position not used. */
int stream_open_fd(struct stream *s, int fd, struct err *e);

/* The same of plain bytes, which are borrowed. */
void stream_open_bytes(struct stream *s, const void *data, size_t bytes);

/* The first bytes, at most `most`, which are given out as lines later all the same. */
size_t stream_head(struct stream *s, const char **ret_head, size_t most);

/* The next line, without its newline; good until the next call. False at the end. */
bool stream_next(struct stream *s, struct line *ret_line);

void stream_close(struct stream *s); /* legal on a zeroed one with fd -1 */

#endif
