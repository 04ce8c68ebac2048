/* SPDX-License-Identifier: MIT */
/* recording_columns.h -- the directory of a live recording: which columns the objects of
 * each kind of chunk have, and where.
 *
 * The recorder writes it, so that a reader finds the columns that it knows wherever they
 * are, skips those that it does not know, and takes those that a recording lacks for 0.
 * An id is never used again for something else. Objects of a size that varies (buckets,
 * strings) have no columns. */
#ifndef SEEP_RECORDING_COLUMNS_H
#define SEEP_RECORDING_COLUMNS_H

#include <stddef.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/recording.h"

struct rec_column {
	uint8_t kind;	/* enum rec_chunk_kind */
	uint8_t id;	/* 0: the object itself; its width is 0 if it varies */
	uint16_t width; /* bytes */
	/* in the object; of the object itself: of the first one in its chunk */
	uint32_t offset;
};

_Static_assert(sizeof(struct rec_column) == 8, "column");

enum {
	REC_MARK_BYTES =
		sizeof(struct rec_mark) + REC_MARK_ROWS * sizeof(struct rec_mark_row)
};

#define REC_OBJECT_(kind_, first, bytes)                                                 \
	{                                                                                \
		REC_CHUNK_##kind_, 0, (bytes), (first)                                   \
	}
#define REC_COLUMN_(kind_, id_, type, field)                                             \
	{                                                                                \
		REC_CHUNK_##kind_, (id_), sizeof(((struct type *)0)->field),             \
			offsetof(struct type, field)                                     \
	}
#define REC_CELL_COLUMNS_(kind_, type, of)                                               \
	REC_COLUMN_(kind_, 1, type, of site), REC_COLUMN_(kind_, 2, type, of thread),    \
		REC_COLUMN_(kind_, 3, type, of hist),                                    \
		REC_COLUMN_(kind_, 4, type, of thread_next),                             \
		REC_COLUMN_(kind_, 5, type, of allocs),                                  \
		REC_COLUMN_(kind_, 6, type, of frees),                                   \
		REC_COLUMN_(kind_, 7, type, of alloc_bytes),                             \
		REC_COLUMN_(kind_, 8, type, of free_bytes),                              \
		REC_COLUMN_(kind_, 9, type, of temp_bytes),                              \
		REC_COLUMN_(kind_, 10, type, of stamp),                                  \
		REC_COLUMN_(kind_, 11, type, of peak_live_bytes),                        \
		REC_COLUMN_(kind_, 12, type, of peak_live_blocks),                       \
		REC_COLUMN_(kind_, 13, type, of exit_live_bytes),                        \
		REC_COLUMN_(kind_, 14, type, of exit_live_blocks),                       \
		REC_COLUMN_(kind_, 15, type, of shown_bytes),                            \
		REC_COLUMN_(kind_, 16, type, of next),                                   \
		REC_COLUMN_(kind_, 17, type, of absorbed),                               \
		REC_COLUMN_(kind_, 18, type, of est_allocs),                             \
		REC_COLUMN_(kind_, 19, type, of est_frees),                              \
		REC_COLUMN_(kind_, 20, type, of var_allocs),                             \
		REC_COLUMN_(kind_, 21, type, of var_frees),                              \
		REC_COLUMN_(kind_, 22, type, of series)

/* As this seep lays them out. A site begins with a cell, whose columns it has under the
 * same ids. */
static const struct rec_column rec_columns[] = {
	REC_OBJECT_(NODE, sizeof(struct rec_chunk), sizeof(struct rec_node)),
	REC_COLUMN_(NODE, 1, rec_node, pc),
	REC_COLUMN_(NODE, 2, rec_node, parent),
	REC_COLUMN_(NODE, 3, rec_node, next),
	REC_COLUMN_(NODE, 4, rec_node, module),
	REC_COLUMN_(NODE, 5, rec_node, site),
	REC_OBJECT_(SITE, sizeof(struct rec_chunk), sizeof(struct rec_site)),
	REC_CELL_COLUMNS_(SITE, rec_site, own.),
	REC_COLUMN_(SITE, 64, rec_site, node),
	REC_COLUMN_(SITE, 65, rec_site, cells),
	REC_COLUMN_(SITE, 66, rec_site, ended),
	REC_COLUMN_(SITE, 67, rec_site, lock),
	REC_COLUMN_(SITE, 68, rec_site, live_bytes),
	REC_COLUMN_(SITE, 69, rec_site, peak_bytes),
	REC_COLUMN_(SITE, 70, rec_site, peak_ms),
	REC_COLUMN_(SITE, 71, rec_site, first_ms),
	REC_OBJECT_(CELL, sizeof(struct rec_chunk), REC_CELL_BYTES),
	REC_CELL_COLUMNS_(CELL, rec_cell, ),
	REC_OBJECT_(BUCKET, sizeof(struct rec_chunk), 0),
	REC_OBJECT_(LEAF, sizeof(struct rec_chunk), REC_LEAF_SLOTS * 4),
	{REC_CHUNK_LEAF, 1, REC_LEAF_SLOTS * 4, 0},
	REC_OBJECT_(MID, sizeof(struct rec_chunk), REC_MID_SLOTS * 4),
	{REC_CHUNK_MID, 1, REC_MID_SLOTS * 4, 0},
	REC_OBJECT_(THREAD, sizeof(struct rec_thread), sizeof(struct rec_thread)),
	REC_COLUMN_(THREAD, 1, rec_thread, state),
	REC_COLUMN_(THREAD, 2, rec_thread, tid),
	REC_COLUMN_(THREAD, 3, rec_thread, serial),
	REC_COLUMN_(THREAD, 4, rec_thread, next_free),
	REC_COLUMN_(THREAD, 5, rec_thread, name),
	REC_COLUMN_(THREAD, 6, rec_thread, unflushed),
	REC_COLUMN_(THREAD, 7, rec_thread, started_ms),
	REC_COLUMN_(THREAD, 8, rec_thread, stack_low),
	REC_COLUMN_(THREAD, 9, rec_thread, stack_top),
	REC_COLUMN_(THREAD, 10, rec_thread, journal_count),
	REC_COLUMN_(THREAD, 11, rec_thread, journal),
	REC_OBJECT_(MODULE, sizeof(struct rec_chunk), sizeof(struct rec_module)),
	REC_COLUMN_(MODULE, 1, rec_module, start),
	REC_COLUMN_(MODULE, 2, rec_module, end),
	REC_COLUMN_(MODULE, 3, rec_module, bias),
	REC_COLUMN_(MODULE, 4, rec_module, loaded_ms),
	REC_COLUMN_(MODULE, 5, rec_module, unloaded_ms),
	REC_COLUMN_(MODULE, 6, rec_module, path),
	REC_COLUMN_(MODULE, 7, rec_module, build_id_bytes),
	REC_COLUMN_(MODULE, 8, rec_module, build_id),
	REC_OBJECT_(STRING, sizeof(struct rec_chunk), 0),
	REC_OBJECT_(MARK, sizeof(struct rec_chunk), REC_MARK_BYTES),
	REC_COLUMN_(MARK, 1, rec_mark, number),
	REC_COLUMN_(MARK, 2, rec_mark, sites),
	REC_COLUMN_(MARK, 3, rec_mark, ms),
	REC_COLUMN_(MARK, 4, rec_mark, live_bytes),
	REC_COLUMN_(MARK, 5, rec_mark, name),
	{REC_CHUNK_MARK, 6, REC_MARK_BYTES - sizeof(struct rec_mark),
	 sizeof(struct rec_mark)},
	REC_OBJECT_(ERROR, sizeof(struct rec_chunk), sizeof(struct rec_error)),
	REC_COLUMN_(ERROR, 1, rec_error, kind),
	REC_COLUMN_(ERROR, 2, rec_error, func),
	REC_COLUMN_(ERROR, 3, rec_error, count),
	REC_COLUMN_(ERROR, 4, rec_error, addr),
	REC_COLUMN_(ERROR, 5, rec_error, given),
	REC_COLUMN_(ERROR, 6, rec_error, source),
	REC_COLUMN_(ERROR, 7, rec_error, block),
	REC_COLUMN_(ERROR, 8, rec_error, block_bytes),
	REC_COLUMN_(ERROR, 9, rec_error, ms),
	REC_COLUMN_(ERROR, 10, rec_error, at),
	REC_COLUMN_(ERROR, 11, rec_error, alloc),
	REC_COLUMN_(ERROR, 12, rec_error, freed),
	REC_COLUMN_(ERROR, 13, rec_error, thread),
	REC_COLUMN_(ERROR, 14, rec_error, where),
	REC_COLUMN_(ERROR, 15, rec_error, where_number),
	REC_COLUMN_(ERROR, 16, rec_error, block_kind),
	REC_COLUMN_(ERROR, 17, rec_error, freed_func),
	REC_OBJECT_(HIST, sizeof(struct rec_chunk), sizeof(struct rec_hist)),
	REC_COLUMN_(HIST, 1, rec_hist, sizes),
	REC_COLUMN_(HIST, 2, rec_hist, lifetimes),
	REC_OBJECT_(NAME, sizeof(struct rec_chunk), sizeof(struct rec_name)),
	REC_COLUMN_(NAME, 1, rec_name, function),
	REC_COLUMN_(NAME, 2, rec_name, file),
	REC_COLUMN_(NAME, 3, rec_name, line),
	REC_COLUMN_(NAME, 4, rec_name, language),
	REC_OBJECT_(SERIES, sizeof(struct rec_chunk), sizeof(struct rec_series)),
	REC_COLUMN_(SERIES, 1, rec_series, rows),
};

#undef REC_OBJECT_
#undef REC_COLUMN_
#undef REC_CELL_COLUMNS_

_Static_assert(REC_HOLD_OFF + sizeof(struct rec_hold) <= REC_COLUMNS_OFF &&
		       REC_COLUMNS_OFF + sizeof rec_columns <= REC_UNSEEN_OFF,
	       "directory fits");

/* Writes the directory of a recording whose first pages are there. */
static inline void
rec_columns_write(struct rec_head *h)
{
	memcpy((char *)h + REC_COLUMNS_OFF, rec_columns, sizeof rec_columns);
	h->columns_off = REC_COLUMNS_OFF;
	h->columns = ARRAY_LEN(rec_columns);
}

#endif
