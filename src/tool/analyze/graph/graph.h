/* SPDX-License-Identifier: MIT */
/* graph.h -- one profile, or the difference of two, aggregated: every view is drawn from
 * this.
 *
 * A graph has entries (what a row of a table is: a function, a line, a file, an address
 * or a module, as the grain says) and a tree of calls over them, outermost first. Flat is
 * what an entry allocated itself, cum what it and all it called did, counted once a stack
 * however often it recurs. With a base, every figure is there twice: `was` of the base,
 * `now` of the profile.
 *
 * Order of work, as pprof has it: frames skipped, then the stack filters (a stack needs
 * one focused frame and no ignored one; hide, show and show_from take frames out and
 * leave the stack), then labels, then entries and tree. A stack of which no frame is left
 * is gone, with its figures; one that never had a frame is the entry "(no stack)" unless
 * there are stack filters.
 *
 * Different functions never become one entry because their short names are the same:
 * linkage name and file (without a file, the module) tell them apart, and `apart` has the
 * words that do so on paper. Figures are doubles, so that formats whose own tools sum
 * fractions come out the same; everything exact is exact up to 2^53. */
#ifndef SEEP_ANALYZE_GRAPH_H
#define SEEP_ANALYZE_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"

struct buf;
/* filter.h: focus, ignore, hide, show, show_from, tags, size, age, thread */
struct graph_filter;

enum graph_grain {
	GRAPH_FUNCTIONS = 0,
	GRAPH_FILEFUNCTIONS,
	GRAPH_FILES,
	GRAPH_LINES, /* function, file and line */
	GRAPH_ADDRESSES,
	GRAPH_MODULES,
};

/* Frames as another tool names and leaves them out, for its personality. */
struct graph_frames {
	const uint8_t *flags; /* enum filter_flags of every slot (filter_slots) */
	bool focus;	      /* a stack needs a frame with FILTER_IS_FOCUSED */
	bool leaves; /* the innermost frame of a stack has a name of its own: `leaf` */
	/* Appends the name of a frame. Frames of one name are one entry. */
	void (*name)(void *ctx, uint32_t loc, uint32_t inl, bool leaf, struct buf *out);
	void *ctx;
};

struct graph_query {
	enum prof_value value;
	bool objects;			   /* blocks instead of bytes */
	const bool *chosen;		   /* for every process; NULL = all */
	struct sites_point point;	   /* which moment PROF_LIVE is of */
	const struct skip *skip;	   /* NULL = every frame is shown */
	const struct graph_filter *filter; /* NULL = none */
	const double *figures; /* of every site, in place of value and objects; or NULL */
	const struct graph_frames *frames; /* in place of filter and grain; or NULL */
	enum graph_grain grain;
	bool no_inlines; /* only the real function of a location */
	/* each site rounded as Go's pprof does, instead of fractions summed */
	bool integers;
	/* Functions of one name are one entry, and so are lines of one name, file and
	 * line: what pprof and jeprof do. Not for reports of our own. */
	bool merge_names;
	/* obey the profile's own drop_frames and keep_frames, as pprof does */
	bool drop_frames;
	bool no_edges;	/* leave them out: they cost a third of the time */
	bool normalize; /* with a base: figures are scaled to its total, before filters */
	/* The whole name for a linkage name, to tell overloads apart; NULL when it has
	 * none, else it is freed here. NULL: the linkage name itself is shown.
	 * (demangle_full of sym fits.) */
	char *(*full_name)(const char *linkage);
};

/* What tells entries apart, by grain. Names are of graph.strings; 0 = none. File and
 * module are those of the frame met first where the grain does not tell them apart. */
struct graph_entry {
	uint32_t function, linkage; /* linkage 0: same as the function */
	uint32_t file, module;	    /* whole paths */
	uint32_t line;
	uint32_t apart; /* words that tell it from entries that read the same; 0 = none */
	uint64_t address;
	bool inlined; /* every time it was met, it was inlined */
	bool no_name; /* function is an address in words */
	double flat, cum;
	double was_flat, was_cum; /* of the base; 0 without one */
	/* Sampled: variances of flat and cum; with a base, of both profiles together. */
	double var_flat, var_cum;
};

/* One call path. Node 0 is the root, above all outermost frames; nodes come after their
 * parents. In files and modules a frame of the same entry as its caller makes no node. */
struct graph_node {
	uint32_t entry;
	uint32_t parent;
	uint32_t first_child, next; /* 0 = none; children by size, largest first */
	double self, total;
	double was_self, was_total;
};

/* A function calling itself is no edge. */
struct graph_edge {
	uint32_t from, to; /* entries: caller, callee */
	double weight, was_weight;
	bool inlined; /* every time */
};

struct graph {
	struct graph_entry *entries; /* entry 0 is a blank */
	uint32_t nentries;
	struct graph_node *nodes;
	uint32_t nnodes;
	struct graph_edge *edges; /* each pair once, in no order */
	uint32_t nedges;
	/* for every site of the profile: where its figure is; 0 = it has
	 * none, or was filtered out */
	uint32_t *node_of_site;
	double total, was_total;	   /* after filters */
	double unfiltered, was_unfiltered; /* before */
	/* Of everything before filters, without signs: what shares are of, as in
	 * pprof. */
	double magnitude, was_magnitude;
	double var_total; /* sampled: of total, and of was_total too */
	bool in_bytes, sampled, has_base;
	enum graph_grain grain;
	uint64_t stacks;      /* sites that passed the filters, of both profiles */
	uint64_t stacks_seen; /* and all that were asked for and have a figure */
	uint32_t unmatched; /* filters that met nothing: bits (1 << enum filter_option) */
	struct strtab *strings; /* names of entries */
};

/* Aggregates. `base` may be NULL, and so `base_q`, which is q then; a skip, a filter or
 * `chosen` in a query belong to its own profile, the grain is q's. With a base, entries
 * and tree are those of both: matched by name, file and line, frames without a name and
 * addresses by module and offset. Modules are the same by build-id, else by path; where a
 * path has another build in the base, addresses of named frames are left out and name,
 * file and line decide. Files and modules may lie in other folders in the base
 * (graph_paths.c; not with merge_names). Free with graph_done. */
void graph_init(struct graph *ret_graph, const struct prof *p,
		const struct graph_query *q, const struct prof *base,
		const struct graph_query *base_q);
void graph_done(struct graph *g); /* legal on a zeroed one */

/* Text of a name of an entry. */
const char *graph_text(const struct graph *g, uint32_t id);

/* How an entry is written, by grain: "name", "name file:line", "file", "0xADDR name
 * file:line", with what sets it apart behind. Files without their folders. Names as they
 * are: whoever prints sees to control characters (clean_text). */
void graph_entry_text(const struct graph *g, const struct graph_entry *x,
		      struct buf *out);

/* Entry numbers ranked by |flat| (or |cum|), then name, then the other; `ret` has room
 * for g->nentries - 1. By difference when there is a base. */
enum { GRAPH_BY_FLAT = 0, GRAPH_BY_CUM = 1, GRAPH_SIGNED = 2 /* not by magnitude */ };
void graph_rank(const struct graph *g, unsigned by, uint32_t *ret);

#endif
