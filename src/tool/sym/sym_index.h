/* SPDX-License-Identifier: MIT */
/* sym_index.h -- a binary's units and symbols as sorted arrays in one run of bytes.
 *
 * This is what a cache file is made of. The arrays are used where they lie: reading costs
 * a checksum over the parts that are asked about. The bytes may be anybody's: whatever a
 * reader gets out of them lies inside of them, and what does not fit is refused.
 *
 *	head | code | entries | spans | blind | parts …
 *
 * Without units it holds the symbols of a binary that has no debug information.
 *
 * Numbers are of this machine's byte order; the file is not meant to travel. A unit that
 * nobody asked about has an entry without bytes. Adding one copies the parts that are
 * there as they are, because a part's text is its own. */
#ifndef SEEP_SYM_INDEX_H
#define SEEP_SYM_INDEX_H

#include "tool/sym/sym_priv.h"

#define SYM_INDEX_MAGIC "seepsym\n"
/* Counts changes of what is below, and of how names are made. */
#define SYM_INDEX_VERSION 2u

/* 128 bytes: magic[8] | version u32 | crc u32 | build_id_bytes u32 | ncode u32 |
 * nspans u32 | nblind u32 | nunits u32 | built_ns u32 | base u64 | bytes u64 |
 * built_s i64 | build_id[64] */
struct sym_index_head {
	char magic[8];
	uint32_t version;
	uint32_t crc; /* of head and tables, with 0 in this place */
	uint32_t build_id_bytes;
	uint32_t ncode, nspans, nblind, nunits;
	uint32_t built_ns;
	uint64_t base;
	uint64_t bytes; /* of all */
	/* when the binary was written: what is newer is not its source */
	int64_t built_s;
	uint8_t build_id[SYM_BUILD_ID_MAX];
};
_Static_assert(sizeof(struct sym_index_head) == 128, "index v2 head");

struct sym_index_code {
	uint64_t lo, hi;
};

/* nunits of them, and one for the symbols. */
struct sym_index_entry {
	uint64_t off;
	uint32_t bytes; /* 0: not there */
	uint32_t crc;
};
_Static_assert(sizeof(struct sym_index_entry) == 16, "index v2 entry");

/* A part: this, then rows, spans, nodes, symbols and text, one behind the other. */
struct sym_index_part {
	uint32_t nrows, nspans, nnodes, nsymbols, text_bytes, zero;
};
_Static_assert(sizeof(struct sym_row) == 12 && sizeof(struct sym_span) == 8 &&
		       sizeof(struct sym_node) == 20 && sizeof(struct sym_symbol) == 12,
	       "index v2 arrays");

/* Where things are; points into bytes that must outlive it and be aligned to 8. */
struct sym_index {
	const unsigned char *bytes;
	size_t nbytes;
	const struct sym_index_head *head;
	const struct sym_index_code *code;
	const struct sym_index_entry *entries;
	const struct sym_span *spans;
	const uint32_t *blind;
};

/* Looks at head and tables. -EINVAL when they are not sound, of another version, or not
 * of this build-id. */
int sym_index_open(const void *bytes, size_t n, const unsigned char *id, size_t id_len,
		   struct sym_index *ret);

/* The arrays of an entry; false when it is not there or broken. Their numbers are not
 * checked: users see to it that they lie inside, as sym_part_text does. */
bool sym_index_part(const struct sym_index *x, uint32_t entry, struct sym_part *ret);

/* Appends an index of everything that is known to `out`, with names for all of it; parts
 * of `old`, which may be NULL, are taken over for what was not read again. -EFBIG when it
 * would be larger than `most`. */
int sym_index_write(struct sym *s, const struct sym_index *old, size_t most,
		    struct buf *out);

#endif
