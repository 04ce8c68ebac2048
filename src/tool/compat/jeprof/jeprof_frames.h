/* SPDX-License-Identifier: MIT */
/* jeprof_frames.h -- the frames of a profile as jeprof and the old pprof see them, for
 * graph.h.
 *
 * Their rules differ from ours in what a function is (a name without parameters and
 * template arguments; two functions of one name get their address behind @), in which
 * frames go (those up to the last allocator's), and in what is summed (fractions; one
 * figure a stack, the base's taken off). Stacks are matched by module and offset, not by
 * address, so a base of another run counts too. Rust names are left whole: without what
 * stands in <> they all read the same. */
#ifndef SEEP_COMPAT_JEPROF_FRAMES_H
#define SEEP_COMPAT_JEPROF_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

struct re;

enum jeprof_grain {
	JEPROF_FUNCTIONS = 0,
	JEPROF_LINES,
	JEPROF_FILES,
	JEPROF_ADDRESSES,
};

/* One function at a location. Ids of jeprof_frames.text. */
struct jeprof_sym {
	uint32_t func; /* short; 0 = no name */
	uint32_t full; /* parameters and all */
	uint32_t file; /* 0 = unknown */
	uint32_t line;
	uint64_t start; /* of the outermost one: where it begins; 0 = not known */
	bool tagged;	/* told apart by `start` from others of its short name */
};

struct jeprof_loc {
	uint64_t address; /* of the call */
	bool allocator;
};

struct jeprof_rules {
	/* drop only the allocator's frames, not all up to the last of them */
	bool google;
	bool show_addresses; /* google-pprof: address behind every name */
	enum jeprof_grain grain;
	const struct re *focus, *ignore, *retain, *exclude; /* NULL = none */
	/* The whole name for a linkage name; NULL when it has none, else it is freed
	 * here. (demangle_full of sym fits.) */
	char *(*full_name)(const char *linkage);
};

struct jeprof_frames {
	const struct prof *p;
	struct jeprof_rules rules;
	struct strtab text;
	uint32_t *slots; /* filter_slots */
	uint8_t *flags;	 /* of every slot: enum filter_flags */
	struct jeprof_sym
		*syms; /* of every slot; the last of a location is the real function */
	struct jeprof_loc *locs;
	struct map ambiguous; /* short names that are of several functions */
};

/* Applies the rules. Free with jeprof_frames_done. */
void jeprof_frames_init(struct jeprof_frames *ret, const struct prof *p,
			const struct jeprof_rules *o);
void jeprof_frames_done(struct jeprof_frames *f);

/* The real function of a location: the others are inlined. */
const struct jeprof_sym *jeprof_function(const struct jeprof_frames *f, uint32_t loc);

/* Appends what a frame is called; `ctx` is a struct jeprof_frames here. */
typedef void jeprof_name(void *ctx, uint32_t loc, uint32_t inl, bool leaf,
			 struct buf *out);
jeprof_name jeprof_row_name; /* in tables and graphs, by the grain */

/* Figures of one site for each stack, the base's (sites from `nsites` on) taken off. To
 * be freed. */
double *jeprof_figures(const struct prof *p, uint32_t nsites, enum prof_value value,
		       bool objects, bool drop_negative);

/* The same of one thread. */
double *jeprof_thread_figures(const struct prof *p, uint32_t thread,
			      enum prof_value value, bool objects);

/* A stack that passed the filters. */
struct jeprof_stack {
	uint32_t node; /* of the graph */
	double value;
};

/* All stacks under one way of naming their frames. */
struct jeprof_stacks {
	struct graph
		g; /* entries are frames of one name; flat and cum are of the stacks */
	VEC(struct jeprof_stack) list; /* in the profile's order, when asked for */
};

struct jeprof_naming {
	jeprof_name *name; /* NULL: jeprof_row_name, of the frames */
	void *ctx;
	bool no_inlines; /* only the real function of a location */
	bool leaves;	 /* innermost frames have names of their own */
	bool table;	 /* the list of stacks is not needed */
};

/* `figures` as above, `how` NULL for rows. Free with jeprof_stacks_done. */
void jeprof_stacks_init(struct jeprof_stacks *ret, struct jeprof_frames *f,
			const double *figures, const struct jeprof_naming *how);
void jeprof_stacks_done(struct jeprof_stacks *s);

/* The name of an entry. */
const char *jeprof_text(const struct jeprof_stacks *s, uint32_t entry);

/* For every entry a number from 1 on, in the order in which stacks meet them, innermost
 * first; 0: none does. To be freed. */
uint32_t *jeprof_number(const struct jeprof_stacks *s);

/* Name as the peer has it: no parameters, no template arguments, no leading type. */
void jeprof_short_name(struct buf *b, const char *full);

/* "file:line" of a function, "??:?" when there is none. */
void jeprof_file_line(const struct jeprof_frames *f, const struct jeprof_sym *y,
		      struct buf *b);

#endif
