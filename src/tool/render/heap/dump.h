/* SPDX-License-Identifier: MIT */
/* dump.h -- memory for people: a summary of what is in it, its strings, its bytes.
 *
 * Strings are printed as `strings -t x` does, bytes as `hexdump -C`, but with addresses
 * in place of offsets where they are known. Contents are masked by default:
 * letters and digits lose their identity, bytes that are no pointers and not zero become
 * dots. */
#ifndef SEEP_RENDER_DUMP_H
#define SEEP_RENDER_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/process/content.h"
#include "tool/util/buf.h"

/* What a word that marks objects stands for; NULL when not known. Borrowed until the next
 * call. */
typedef const char *dump_namer(void *ctx, uint64_t word);

struct dump_opts {
	const char *what;      /* "heap of 4711 (api-server)" */
	uint64_t start, end;   /* 0, 0: a file */
	uint64_t absent_bytes; /* not resident, and so not looked at */
	uint32_t rows;
	bool show_content, ascii;
	const char *saved; /* file it was written to, or NULL */
	dump_namer *namer;
	void *namer_ctx;
};

void dump_summary(struct buf *out, const struct content *c, const struct dump_opts *o);
void dump_json(struct buf *out, const struct content *c, const struct dump_opts *o);

/* ---- strings, as they come ---- */

struct dump_strings {
	/* set by the caller */
	unsigned least;
	bool show_content;
	/* private */
	struct buf run;
	uint64_t start;
};

void dump_strings_add(struct buf *out, struct dump_strings *d, uint64_t addr,
		      const void *data, size_t bytes);
void dump_strings_end(struct buf *out, struct dump_strings *d); /* frees too */

/* ---- bytes ---- */

struct dump_hex {
	/* set by the caller */
	const struct memmap *map; /* for pointers, or NULL */
	bool show_content;
	/* private */
	unsigned char line[16], before[16];
	unsigned filled;
	bool has_before, squeezed;
	uint64_t at; /* address of the line */
};

/* Parts that do not follow each other are ended first. */
void dump_hex_add(struct buf *out, struct dump_hex *d, uint64_t addr, const void *data,
		  size_t bytes);
void dump_hex_end(struct buf *out, struct dump_hex *d);

#endif
