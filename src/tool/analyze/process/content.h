/* SPDX-License-Identifier: MIT */
/* content.h -- what is in a piece of memory, without being told: pointers and where they
 * lead, text, numbers, objects that repeat.
 *
 * Memory is looked at in words of eight bytes. A word that is an address of the process
 * is a pointer; one into read-only data of a file, at the same place in object after
 * object, is most likely a class's table of virtual functions. Of malloc's blocks the
 * sizes and first words are counted. All of it is evidence, never proof. Pure: bytes in,
 * counts out. */
#ifndef SEEP_ANALYZE_CONTENT_H
#define SEEP_ANALYZE_CONTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/analyze/process/regions.h"
#include "tool/model/memmap.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

enum content_word {
	CONTENT_ZERO,
	CONTENT_POINTER, /* into a mapping, or what looks like it where none are known */
	CONTENT_SMALL,	 /* a number up to 65,535, either sign */
	CONTENT_TEXT,
	CONTENT_TIME,	/* seconds or nanoseconds of these decades */
	CONTENT_DOUBLE, /* a floating-point number of ordinary size */
	CONTENT_OTHER,
	CONTENT_WORDS,
};

enum {
	CONTENT_TEXT_LEAST = 4,	 /* characters of a string, as strings(1) has it */
	CONTENT_TEXT_MOST = 256, /* of one that is counted; longer ones in pieces */
	CONTENT_KINDS_MOST =
		1 << 18, /* different strings or objects that are told apart */
};

/* A string, or its shape, and how often it is there. */
struct content_text {
	uint32_t text; /* in `texts` */
	uint64_t count, bytes;
};

/* A word that leads into a file's read-only memory and is there several times. */
struct content_sign {
	uint64_t value;
	uint64_t count;
	uint64_t last;	   /* address where it was last */
	uint64_t distance; /* from one to the next, most often */
	uint64_t votes;	   /* private */
};

/* Blocks of one size with the same first word, or first words of one sort. */
struct content_block {
	uint64_t size;
	uint64_t sign; /* the word; 0 = `first` says what sort it is */
	enum content_word first;
	uint64_t used, freed;
};

struct content {
	/* set by the caller */
	const struct memmap *map;      /* NULL: not known, as of a file */
	const struct regions *regions; /* of it */
	bool shapes; /* count strings by their shape, so that none is kept */

	uint64_t bytes, words[CONTENT_WORDS];
	uint64_t pointers[REGION_KINDS], code_pointers;
	uint64_t dense_pages, pages; /* looking compressed or encrypted, of all */
	uint64_t strings, string_bytes;
	VEC(struct content_text) texts_by;
	VEC(struct content_sign) signs;
	VEC(struct content_block) blocks;
	uint64_t more_kinds; /* strings and objects beyond those that are told apart */

	/* private */
	struct strtab texts;
	struct map text_rows, sign_rows, block_rows;
	struct buf run; /* a string that may go on in the next bytes */
};

/* Adds `bytes` that were at `addr`. Parts that follow each other are one. */
void content_add(struct content *c, uint64_t addr, const void *data, size_t bytes);

/* A block of malloc at `at` (its bytes are there), used or free. */
void content_add_block(struct content *c, const void *at, size_t size, bool used);

/* Ends a string that was under way, and sorts everything: most first. */
void content_finish(struct content *c);
void
content_done(struct content *c); /* legal on a zeroed one; keeps what the caller set */

/* What sort of word it is; `map` may be NULL. */
enum content_word content_word(const struct memmap *map, uint64_t word);
const char *content_word_name(enum content_word word);

/* Bytes that strings(1) takes for text. */
bool content_is_text(unsigned char c);

/* Letters and digits as x, X and 9, everything that is not ASCII as ?, the rest as it
 * is. */
void content_mask(char *text, size_t bytes);

#endif
