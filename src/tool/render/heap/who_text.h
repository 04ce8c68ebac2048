/* SPDX-License-Identifier: MIT */
/* who_text.h -- one block: what it is, who holds it, step by step from a root; and what
 * is in it. */
#ifndef SEEP_RENDER_WHO_TEXT_H
#define SEEP_RENDER_WHO_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/session/heap/who.h"
#include "tool/util/buf.h"

void who_text(struct buf *out, const struct who *w);
void who_json(struct buf *out, const struct who *w);

/* ---- bytes of a block ---- */

/* What a word of it means, or NULL; borrowed until the next call. */
typedef const char *who_namer(void *ctx, uint64_t word);

/* A line for every 16 bytes: hexadecimal, characters, and what the words point to. Masked
 * unless `show`. Equal lines are told once. */
void who_bytes(struct buf *out, uint64_t addr, const unsigned char *data, size_t bytes,
	       bool show, who_namer *name, void *ctx);

#endif
