/* SPDX-License-Identifier: MIT */
/* input.h -- the bytes of a profile, wherever they come from and however they are packed.
 *
 * A file, a pipe or an http URL; plain, gzip or zstd, told by content. Plain files are
 * mapped, all else is read into memory. What is unpacked is limited by what was read, so
 * a small file cannot fill the memory; compressed bytes that break off give what came
 * before. */
#ifndef SEEP_FORMAT_INPUT_H
#define SEEP_FORMAT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"

struct input {
	const unsigned char *data;
	size_t bytes;
	/* what is missing at the end, a string constant; NULL = nothing */
	const char *damage;
	struct buf own;	 /* when it was read */
	size_t mapped;	 /* bytes mapped at `data`; 0 = none */
	size_t released; /* of them, given back to the kernel */
	size_t grown;	 /* bytes mapped at `data` for what was unpacked; 0 = none */
};

/* No more than this is unpacked from one file, or read from a pipe: 4 GiB unless
 * --max-unpacked says otherwise. */
#define INPUT_MAX_UNPACKED (UINT64_C(4) << 30)
extern uint64_t input_max_unpacked;

/* Whether a file that begins so is worth reading on. */
typedef bool input_known_fn(const void *head, size_t bytes);

/* Takes in all that `fd` has: a regular file from its beginning, anything else from where
 * it stands to its end. `name` is for messages. What is packed is not unpacked further
 * than its first bytes if `known`, which may be NULL, says no to them. The descriptor
 * stays open and is not needed any more; a mapped file that is cut off meanwhile is the
 * caller's SIGBUS. On failure nothing is held. */
int input_open_fd(struct input *ret_in, int fd, const char *name, input_known_fn *known,
		  struct err *e);

/* The same of bytes that came from elsewhere, which are taken over (and emptied). */
int input_open_buf(struct input *ret_in, struct buf *raw, const char *name,
		   input_known_fn *known, struct err *e);

/* The first `upto` bytes have been read: a mapped file's pages there go back to the
 * kernel, in large steps. They can still be read, at a cost. */
void input_release(struct input *in, size_t upto);

void input_close(struct input *in); /* legal on a zeroed one */

/* Whether `source` is "http://…" or "https://…". */
bool input_is_url(const char *source);

/* Fetches a URL into `ret_body` with libcurl, which is loaded for it; a refusal of the
 * server is told with its status and first line. */
int input_fetch(const char *url, struct buf *ret_body, struct err *e);

/* The same of what the server answers when `text` is posted. */
int input_post(const char *url, const char *text, struct buf *ret_body, struct err *e);

#endif
