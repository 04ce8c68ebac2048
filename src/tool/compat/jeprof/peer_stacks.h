/* SPDX-License-Identifier: MIT */
/* peer_stacks.h -- a profile as jeprof and the old pprof see it, for their personality.
 *
 * Their rules differ from ours in what a function is (a name without parameters and template
 * arguments; two functions of one name get their address behind @), in which frames go (those
 * up to the last allocator's), and in what is summed (fractions; one figure a stack, the base's
 * taken off). Stacks are matched by module and offset, not by address, so a base of another run
 * counts too. Rust names are left whole: without what stands in <> they all read the same. */
#ifndef SEEP_COMPAT_PEER_STACKS_H
#define SEEP_COMPAT_PEER_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

struct re;

enum peer_grain { PEER_FUNCTIONS = 0, PEER_LINES, PEER_FILES, PEER_ADDRESSES };

enum peer_index {
	PEER_INUSE_SPACE = 0,
	PEER_INUSE_OBJECTS,
	PEER_ALLOC_SPACE,
	PEER_ALLOC_OBJECTS
};

/* One function at a location. Ids of peer_stacks.text. */
struct peer_sym {
	uint32_t func; /* short; 0 = no name */
	uint32_t full; /* parameters and all */
	uint32_t file; /* 0 = unknown */
	uint32_t line;
	uint64_t start; /* of the outermost one: where it begins; 0 = not known */
	bool tagged;	/* told apart by `start` from others of its short name */
};

/* A location: functions innermost first; the last is the real one, the others are inlined. */
struct peer_loc {
	uint32_t syms, nsyms;
	uint64_t address; /* of the call */
	bool allocator;
	bool above; /* beyond what user code can have: not code */
};

struct peer_opts_stacks {
	bool jeprof; /* drop all up to the last allocator frame, not only these frames */
	bool show_addresses; /* google-pprof: address behind every name */
	enum peer_grain grain;
	const struct re *focus, *ignore, *retain, *exclude; /* NULL = none */
	/* The whole name for a linkage name; NULL when it has none, else it is freed here.
	 * (demangle_full of sym fits.) */
	char *(*full_name)(const char *linkage);
};

/* A stack that passed the filters. */
struct peer_stack {
	uint32_t frames, nframes; /* locations in peer_stacks.frames, innermost first */
	bool leaf; /* the first of them is where the recorder was called from */
	double value;
};

struct peer_row {
	uint32_t name; /* of peer_stacks.text; 0 in no row */
	double flat, cum;
};

struct peer_stacks {
	const struct prof *p;
	struct strtab text;
	struct peer_loc *locs;
	VEC(struct peer_sym) syms;
	VEC(uint32_t) frames;
	VEC(struct peer_stack) stacks;
	VEC(struct peer_row) rows; /* row 0 is a blank */
	struct map row_of;	   /* name -> row */
	struct map ambiguous;	   /* short names that are of several functions */
	double total;		   /* before filters */
	double shown;		   /* of all rows' flat */
	enum peer_grain grain;
	bool show_addresses;
};

/* Figures by node of the profile's tree of stacks: `now` of the first `nsites` sites minus those
 * behind them (a base that was merged into the profile). To be freed. */
double *peer_values(const struct prof *p, uint32_t nsites, enum peer_index index,
		    bool drop_negative);

/* The same of one thread; NULL when there is no such thread. */
double *peer_thread_values(const struct prof *p, uint32_t thread, enum peer_index index);

/* Applies the rules; `values` are borrowed for the call. Free with peer_stacks_done. */
void peer_stacks_init(struct peer_stacks *ret, const struct prof *p, const double *values,
		      const struct peer_opts_stacks *o);
void peer_stacks_done(struct peer_stacks *s);

/* Rows of the text table in order: by flat or cum, largest first, then by name. `ret` has room
 * for rows.len - 1. With `magnitude`, by |cum|. */
void peer_rank(const struct peer_stacks *s, bool by_cum, bool magnitude, uint32_t *ret);

/* The row of function `i` of a location; `leaf` when the location ends a stack. */
uint32_t peer_row_of(struct peer_stacks *s, uint32_t loc, uint32_t i, bool leaf);

/* Name as the peer has it: no parameters, no template arguments, no leading type. */
void peer_short_name(struct buf *b, const char *full);

/* "file:line" of a function, "??:?" when there is none. */
void peer_file_line(const struct peer_stacks *s, const struct peer_sym *y, struct buf *b);

#endif
