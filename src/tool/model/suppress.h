/* SPDX-License-Identifier: MIT */
/* suppress.h -- what a user does not want to hear of: suppressions, as read from files of
 * valgrind's or LeakSanitizer's (tool/format/text/suppress_read.h), to be matched with
 * stacks (tool/analyze/verdict/suppress_match.h).
 *
 * A set owns all that is in it. Entries have an order. What is read later is tried
 * earlier, and what was matched is tried first the next time, as in valgrind: the counts
 * of uses depend on it. */
#ifndef SEEP_MODEL_SUPPRESS_H
#define SEEP_MODEL_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/vec.h"

/* Which errors a suppression is about. */
enum suppress_about {
	SUPPRESS_OTHER = 0, /* another tool's, or an error that is not looked for here */
	SUPPRESS_LEAK,	    /* Memcheck:Leak */
	SUPPRESS_LSAN,	    /* leak:PATTERN */
	SUPPRESS_FREE,	    /* Memcheck:Free */
	SUPPRESS_OVERLAP,   /* Memcheck:Overlap */
	SUPPRESS_ADDRESS,   /* Memcheck:Addr1 … Addr32 */
};

enum suppress_part {
	SUPPRESS_FUNCTION, /* fun: the name as in the symbol table */
	SUPPRESS_OBJECT,   /* obj: the path of the module */
	SUPPRESS_SOURCE,   /* src: file, or file:line */
	SUPPRESS_FRAMES,   /* ... any number of frames, also none */
};

struct suppress_frame {
	enum suppress_part part;
	char *pattern; /* with * and ?; NULL for SUPPRESS_FRAMES */
};

enum { SUPPRESS_FRAMES_MAX = 24 };

struct suppress {
	enum suppress_about about;
	char *name;	/* LSan: the pattern */
	uint32_t file;	/* number of the file in the set */
	uint32_t line;	/* of its name */
	unsigned kinds; /* of SUPPRESS_LEAK: bits 1 << enum prof_loss_kind */
	VEC(struct suppress_frame) frames;
	uint64_t count; /* records that it hid, and what is in them: */
	uint64_t bytes, blocks, indirect_bytes;
};

struct suppress_set {
	VEC(struct suppress) all;
	VEC(uint32_t) order; /* numbers in `all`; the last is to be tried first */
	VEC(char *) files;
};

/* A new entry, to be tried before the others; the caller fills it in at once. */
struct suppress *suppress_add(struct suppress_set *s);

/* Counts a use of the entry at place `at` of the order, which moves to the end. The
 * caller adds what was hidden. */
struct suppress *suppress_used(struct suppress_set *s, size_t at);

void suppress_done(struct suppress_set *s); /* legal on a zeroed one */

#endif
