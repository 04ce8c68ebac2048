/* SPDX-License-Identifier: MIT */
/* pack.h -- the recording as a file to keep: one profile, any number of processes,
 * names inside.
 *
 * docs/format.md draws it. The same profile always gives the same bytes. A file that
 * was cut off or has flipped bits is read as far as it can be believed: what is lost
 * is counted as damage, and refused only when stacks or totals are among it. */
#ifndef SEEP_FORMAT_PACK_H
#define SEEP_FORMAT_PACK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct prof;

enum {
	PACK_VERSION = 13,
	PACK_BLOCKS_MAX = 2000000, /* live blocks that are stored one by one */
};

/* Writes `p` to a file, which is replaced in one step and readable by its owner only. */
int pack_save(const struct prof *p, const char *path, struct err *e);

/* The same bytes appended to `out`. */
void pack_write(const struct prof *p, struct buf *out);

/* Reads such bytes into `p`, which must be empty. On failure `p` may hold a part, and
 * the message does not name the file. */
int pack_load(const void *data, size_t bytes, struct prof *p, struct err *e);
int pack_load_fd(int fd, struct prof *p, struct err *e);

/* Whether the first `bytes` bytes of a file are those of a packed recording. */
bool pack_detect(const void *head, size_t bytes);

#endif
