/* SPDX-License-Identifier: MIT */
/* format_save.h -- which file formats seep writes, and the one way to write any of them.
 *
 * A format is a row of the table in format_save.c, chosen by name or by the ending of a
 * file's name. Names must be in the profile already; nothing is looked up here. Output
 * leaves in pieces, so a large profile is never in memory twice. */
#ifndef SEEP_FORMAT_SAVE_H
#define SEEP_FORMAT_SAVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/util/buf.h"

struct err;
struct massif_opts;

/* Where a site's stack begins: frames before it are the allocator's own. */
struct emit_start {
	uint32_t node;
	uint32_t inl; /* functions inlined at its location that are left out too */
};

struct format_save_opts {
	enum prof_value value; /* in formats that have only one figure */
	bool objects;	       /* blocks instead of bytes */
	bool value_given;      /* else the profile's own choice */
	bool all; /* every stack, where the format else has the largest only */
	const struct emit_start *starts; /* for every site; NULL = all frames */
	const bool *tails; /* for every node: start code, left out; NULL = none */
	const struct massif_opts *massif; /* of its writer; NULL = defaults */
	uint64_t *ret_left_out; /* counts what the format cannot hold; or NULL */
};

/* Where output goes. With a drain, `buf` is emptied into it whenever it has grown large,
 * and at the end; without one, all of it stays there. */
struct emit_out {
	struct buf *buf;
	int (*drain)(void *ctx, const void *bytes, size_t n, struct err *e);
	void *ctx;
};

struct format_writer {
	const char *name;
	const char *what;    /* for people */
	const char *endings; /* of file names, separated by spaces, longest first */
	int (*write)(const struct prof *p, const struct format_save_opts *o,
		     struct emit_out *out, struct err *e);
};

/* Writes `p` in the format of this name. `o` may be NULL. -EINVAL names the formats there
 * are; -ENODATA when the profile has not what the format needs. */
int format_save(const struct prof *p, const char *format,
		const struct format_save_opts *o, struct emit_out *out, struct err *e);

/* The writer by name, or by the ending of a path; NULL when there is none. */
const struct format_writer *format_writer_find(const char *name);
const struct format_writer *format_writer_for(const char *path);

/* All of them; ends with NULL. */
extern const struct format_writer *const format_writers[];

/* ---- for writers ---- */

extern const struct format_writer emit_pprof, emit_pprof_plain, emit_heap, emit_folded,
	emit_speedscope, emit_csv, emit_dhat, emit_massif, emit_rec;

/* Lets go of what has gathered in out->buf, if it is much; of everything with `all`. */
int emit_flush(struct emit_out *out, bool all, struct err *e);

/* What `o` asks for, else what the profile was made to show. */
enum prof_value emit_choose(const struct prof *p, const struct format_save_opts *o);

/* a + b, as near as a number can be. */
int64_t emit_sum(int64_t a, int64_t b);

/* Where the stack of a site begins under `o`. */
struct emit_start emit_start_of(const struct prof *p, const struct format_save_opts *o,
				uint32_t site);

/* The caller of a node that is written too; 0 = none. */
uint32_t emit_caller(const struct prof *p, const struct format_save_opts *o,
		     uint32_t node);

/* Counts a site that the format cannot hold. */
void emit_left_out(const struct format_save_opts *o);

#endif
