/* SPDX-License-Identifier: MIT */
/* types.h -- what the blocks of a place are: its sites by the type of their blocks.
 *
 * Only runtimes that know what they allocate say the type; of a C program there is
 * none. */
#ifndef SEEP_ANALYZE_TYPES_H
#define SEEP_ANALYZE_TYPES_H

#include <stdint.h>

#include "tool/analyze/sites/sites.h"
#include "tool/util/vec.h"

/* Blocks of one type at a place; live ones at the end of the recording. */
struct types_row {
	uint32_t type; /* string; 0 = not known */
	int64_t live_blocks, live_bytes;
	uint64_t allocs, alloc_bytes;
};

struct types_list VEC_BODY(struct types_row);

struct types;

/* NULL when no site of the profile has a type: the functions below take that. Borrows
 * both. Free with types_free. */
struct types *types_new(const struct prof *p, const struct sites *ss);
void types_free(struct types *t);

/* The types at row `row` of the sites, most live bytes first, then most bytes allocated;
 * replaces what is in `ret`. Empty when no type is known there. */
void types_of(const struct types *t, uint32_t row, struct types_list *ret);

#endif
