/* SPDX-License-Identifier: MIT */
/* pack_impl.h -- the packed recording's bytes, shared by its writer and its reader.
 *
 * 	head       magic[8] | version u32 | crc of these 12 bytes u32
 * 	sections   struct pack_section, then `stored_bytes` bytes; one after the other
 * 	index      u64 offset of every section
 * 	tail       struct pack_tail
 *
 * A section holds one table of the profile, column after column, behind a directory of
 * them. To change what a column means is to give it another id; what cannot be said so
 * raises PACK_VERSION. */
#ifndef SEEP_FORMAT_PACK_IMPL_H
#define SEEP_FORMAT_PACK_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack.h"

#define PACK_MAGIC "SEEPREC" /* 8 bytes with its NUL */
#define PACK_TAIL_MAGIC "SEEPEND"

struct pack_head {
	char magic[8];
	uint32_t version;
	uint32_t crc;
};

enum pack_flags { PACK_ZSTD = 1 << 0 }; /* else the bytes are stored as they are */

struct pack_section {
	uint32_t type; /* enum prof_tab_id */
	uint32_t flags;
	uint64_t raw_bytes;
	uint64_t stored_bytes;
	uint64_t rows;
	uint32_t stored_crc; /* crc32 of the stored bytes */
	uint32_t crc;	     /* crc32 of this struct before here */
};

struct pack_tail {
	char magic[8];
	uint64_t index_off;
	uint32_t sections;
	uint32_t crc; /* crc32 of the index and of this struct before here */
};

_Static_assert(sizeof(struct pack_head) == 16, "packed head v1");
_Static_assert(sizeof(struct pack_section) == 40, "packed section v1");
_Static_assert(sizeof(struct pack_tail) == 24, "packed tail v1");

enum {
	/* A section may claim this much more than is stored, so that a small file
	 * cannot ask for all memory; what compresses even better is stored as it is. */
	PACK_RATIO_MAX = 1024,
	PACK_SLACK_BYTES = 1 << 20,
};

/* A section's bytes begin with a directory: varints, first how many columns there are,
 * then of each its id, width, values and offset, in the order of the columns' bytes,
 * which follow. A reader takes the columns that it knows and skips the others. An empty
 * table has no bytes at all. */
struct pack_column {
	uint64_t id;	 /* place in the table's columns (tool/model/columns.h), from 1 */
	uint64_t width;	 /* bytes of a value; PACK_WIDTH_VARINT: a varint each */
	uint64_t values; /* of a row: more than 1 in an array, each a column of its own */
	uint64_t offset; /* of its first byte, counted from the end of the directory */
};

enum {
	PACK_WIDTH_VARINT = 0,
	PACK_COLUMNS_MAX = 256,
	PACK_GROWTH_MAX =
		64, /* a row in memory takes at most so many bytes for one in the file */
};

static inline uint32_t
pack_crc_bytes(size_t struct_bytes)
{
	return (uint32_t)(struct_bytes -
			  sizeof(uint32_t)); /* all but the crc, which is last */
}

#endif
