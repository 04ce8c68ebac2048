/* SPDX-License-Identifier: MIT */
/* pack_impl.h -- the packed recording's bytes, shared by its writer and its reader.
 *
 *	head       magic[8] | version u32 | crc of these 12 bytes u32
 *	sections   struct pack_section, then `stored_bytes` bytes; one after the other
 *	index      u64 offset of every section
 *	tail       struct pack_tail
 *
 * A section holds one table of the profile, column after column; pack_tables says
 * which. To change a column is to raise PACK_VERSION. */
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
	uint32_t type; /* enum pack_type */
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
	PACK_OLD_LIFE_BUCKETS = 12, /* < 1 ms, 4, 16 … 17 min, longer */
};

/* In the order of the file; what reports cannot do without comes first. */
enum pack_type {
	PACK_META = 1,
	PACK_STRINGS,
	PACK_PROCESSES,
	PACK_MODULES,
	PACK_LOCS,
	PACK_NODES,
	PACK_SITES,
	PACK_FRAMES,
	PACK_THREADS,
	PACK_CELLS,
	PACK_MARKS,
	PACK_MARK_ROWS,
	PACK_POINTS,
	PACK_RANGES,
	PACK_DAMAGES,
	PACK_BLOCKS,
	PACK_LOOKS, /* since version 3 */
	PACK_LOOK_ROWS,
	PACK_CHECKS, /* since version 4 */
	PACK_LOSSES,
	PACK_OLDS,
	PACK_ERRORS,
	PACK_HOLDERS, /* since version 8 */
	PACK_MEMORIES,
	PACK_TYPES, /* one more than the last */
};

enum pack_kind {
	PACK_UINT, /* varint of `bytes` bytes in memory, at most `max` */
	PACK_INT,  /* folded varint */
	PACK_REAL, /* double, 8 bytes */
	PACK_STR,  /* id of a string */
	PACK_ROW,  /* row of the table `table` */
	PACK_BACK, /* row of its own table, before this one: the distance */
};

struct pack_col {
	uint16_t off;  /* of the field in a row */
	uint8_t bytes; /* of one value in memory */
	uint8_t kind;  /* enum pack_kind */
	uint8_t count; /* values: more than 1 in an array, each a column of its own */
	uint8_t table; /* PACK_ROW: enum pack_type */
	uint8_t since; /* version that brought it; 0 = it was always there */
	uint8_t before_life; /* values in files before PACK_VERSION_LIFE; 0 = `count` */
	bool delta;	     /* difference to the row before, folded; the first to 0 */
	uint64_t max;	     /* PACK_UINT: largest legal value */
};

struct pack_table {
	const char *name;
	const struct pack_col *cols;
	uint16_t ncols;
	uint16_t row_bytes;
	uint16_t rows_off, n_off, cap_off; /* in struct prof */
	uint8_t first;			   /* 1: row 0 is the blank one and not stored */
	bool needed;			   /* without it there is nothing to report */
};

/* By type. PACK_META has struct prof itself as its one row, PACK_STRINGS has no
 * columns. */
extern const struct pack_table pack_tables[PACK_TYPES];

static inline uint32_t
pack_crc_bytes(size_t struct_bytes)
{
	return (uint32_t)(struct_bytes -
			  sizeof(uint32_t)); /* all but the crc, which is last */
}

#endif
