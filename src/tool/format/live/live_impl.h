/* SPDX-License-Identifier: MIT */
/* live_impl.h -- what the files live*.c share: the private copy and the way to its
 * objects.
 *
 * Nothing outside src/tool/format/live includes it. Every ref is looked up with live_at,
 * which gives NULL for one that does not name a whole object of the kind that is asked
 * for. */
#ifndef SEEP_FORMAT_LIVE_IMPL_H
#define SEEP_FORMAT_LIVE_IMPL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/recording.h"
#include "tool/model/prof.h"

/* What can be wrong; the words are in live_load.c. */
enum live_bad {
	LIVE_BAD_BYTES,
	LIVE_BAD_CHUNK,
	LIVE_BAD_HEAD,
	LIVE_BAD_JOURNAL,
	LIVE_BAD_MODULE,
	LIVE_BAD_POINT,
	LIVE_BAD_RATE,
	LIVE_BAD_THREAD,
	/* from here on also seen when a running process is read */
	LIVE_BAD_STACK,
	LIVE_BAD_SITE,
	LIVE_BAD_CELL,
	LIVE_BAD_TREE,
	LIVE_BAD_BLOCK,
	LIVE_BAD_MARK,
	LIVE_BAD_ERROR,
	LIVE_BAD_NAME,
	LIVE_BAD_SERIES,
	LIVE_BAD_MAX,
};

/* First object and size of each in a chunk; size 0: they vary. */
struct live_kind {
	uint32_t first, bytes;
};

struct live_chunk {
	uint8_t kind;
	uint32_t first; /* room for objects in the chunks of its kind before it */
};

struct live {
	unsigned char *data; /* our copy, aligned, zeroed up to a whole chunk */
	size_t bytes;	     /* of it that came from the recording */
	struct live_left_out
		*left_out; /* chunks of it that come when they are needed; NULL = none */
	struct rec_head *head; /* = data */
	bool stopped, sampled;

	/* live_columns.c: the layout of this recording, and where it is not ours its
	 * directory and the objects as we lay them out, by number; NULL = as they are in
	 * the copy. */
	struct live_kind kinds[REC_CHUNK_LAST + 1];
	const struct rec_column *dir;
	unsigned char *rows[REC_CHUNK_LAST + 1];
	uint32_t row_bytes[REC_CHUNK_LAST + 1];

	struct live_chunk *chunks;
	uint32_t nchunks;
	uint32_t room[REC_CHUNK_LAST +
		      1]; /* objects that all chunks of a kind could hold */
	uint64_t *seen;	  /* a bit for every ref: read already */

	/* By number of the object (live_number): its row in the profile, 0 = none. */
	uint32_t *node_rows, *site_rows, *thread_rows;
	uint32_t *module_rows; /* by module number; [0] = 0 */
	uint64_t *module_bias;
	uint32_t *name_locs; /* of frames that have a name: the location */

	struct prof *p;
	uint32_t process;
	struct prof_hist hist; /* of the site whose cells are being read */
	/* live_series.c: the moments by number, and the end; what the site that is being
	 * read had at each, and all of them */
	struct live_moments *ticks;
	uint32_t inherited; /* ref of the site of inherited blocks, 0 = none */
	uint64_t last_ms;   /* the latest time seen anywhere */
	uint64_t bad[LIVE_BAD_MAX];
};

struct err;

/* live_copy.c: memory for the copy, and the copy of a file; live_copy_done ends both,
 * also when they failed. */
void live_make_room(struct live *l, size_t bytes);
int live_copy_fd(struct live *l, int fd, struct err *e);
void live_copy_done(struct live *l);
int live_pread(int fd, void *to, size_t bytes, off_t off, size_t *ret_got, struct err *e);
uint64_t live_data_end(int fd, uint64_t end);
uint32_t live_chunk_kind(const struct live *l, uint32_t chunk);
void live_undo_all(struct live *l);

/* Chunks of this kind are left out of the copy of a large recording. */
static inline bool
live_leaves_out(uint32_t kind)
{
	return kind == REC_CHUNK_BUCKET || kind == REC_CHUNK_SITE ||
	       kind == REC_CHUNK_NODE;
}

/* A chunk that was left out, good until the next one is asked for. */
unsigned char *live_chunk_copy(struct live_left_out *o, uint32_t chunk);

/* live_columns.c: how the objects are laid out; and, once a kind's chunks are known and
 * nothing in them changes any more, what is needed to hand them out as we lay them
 * out. */
void live_lay_out(struct live *l);
void live_convert(struct live *l, enum rec_chunk_kind kind);

/* The object that `ref` names in a chunk of `kind`, with at least `bytes` bytes up to
 * the end of the chunk and of the file. NULL: it names none. One in a kind of chunk that
 * is left out is good until the next of these is asked for. */
void *live_at(const struct live *l, uint32_t ref, enum rec_chunk_kind kind, size_t bytes);

/* The same as it lies in the recording. */
void *live_raw_at(const struct live *l, uint32_t ref, enum rec_chunk_kind kind,
		  size_t bytes);

/* Whether it names one. */
bool live_has(const struct live *l, uint32_t ref, enum rec_chunk_kind kind, size_t bytes);

/* Its number among the objects of its kind, below l->room[kind]; only if there is one. */
uint32_t live_number(const struct live *l, uint32_t ref);

/* Object number `slot` of a chunk of fixed-size objects, or NULL behind the last. */
void *live_slot(const struct live *l, uint32_t chunk, uint32_t slot);
uint32_t live_slot_ref(const struct live *l, uint32_t chunk, uint32_t slot);

/* Marks `bytes` bytes at `ref` as read; false when some of them were before. Bounds
 * every walk: nothing is read twice, however the refs are bent. */
bool live_first_visit(struct live *l, uint32_t ref, size_t bytes);

static inline void
live_saw_ms(struct live *l, uint64_t ms)
{
	if (ms > l->last_ms)
		l->last_ms = ms;
}

/* Text of a string in the recording; false when the ref leads to none. */
bool live_string(const struct live *l, uint32_t ref, const char **ret_text,
		 size_t *ret_bytes);

/* Row of the innermost node of the stack that `ref` names; 0 for 0. */
uint32_t live_node(struct live *l, uint32_t ref);

/* live_names.c: location of the frame with the name `ref`, 0 = not recorded; and the type
 * of the blocks that the stack at `node` makes, a string, or 0. It is the innermost node
 * or, where a class stands innermost, the one outside of it. */
enum { LIVE_TYPE_DEPTH = 2 };
uint32_t live_name_loc(struct live *l, uint32_t ref);
uint32_t live_type(struct live *l, uint32_t node);

/* Row of the site that `ref` names, or 0. */
uint32_t live_site_row(const struct live *l, uint32_t ref);

/* Sampled: how many blocks `samples` of a site stand for. Exact: the same number. */
int64_t live_scale(const struct live *l, const struct prof_site *site, int64_t samples);

/* In this order. */
void live_read_threads(struct live *l);
void live_read_modules(struct live *l);
void live_read_sites(struct live *l);
void live_read_blocks(struct live *l, uint32_t first_site);
void live_read_marks(struct live *l);
void live_read_points(struct live *l);
void live_read_errors(struct live *l);

/* live_series.c: before the sites; of a site: none yet, one more cell of it, and all were
 * there (row 0: they are forgotten); after the sites, when the end is known. */
void live_read_moments(struct live *l);
void live_series_begin(struct live *l);
void live_series_add(struct live *l, const struct rec_cell *c);
void live_series_end(struct live *l, uint32_t site_row);
void live_finish_moments(struct live *l);

void live_read_unseen(struct live *l); /* adds processes behind this one */

#endif
