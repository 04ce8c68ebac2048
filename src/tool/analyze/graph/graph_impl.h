/* SPDX-License-Identifier: MIT */
/* graph_impl.h -- between the files of graph.h: the graph being made.
 *
 * `graph_work` is what both profiles share, `graph_side` one profile with what is known
 * about its frames. Entries are made in graph_entry.c, nodes and all that is summed over
 * them in graph_tree.c, and graph.c walks the stacks. */
#ifndef SEEP_ANALYZE_GRAPH_IMPL_H
#define SEEP_ANALYZE_GRAPH_IMPL_H

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/analyze/sites/value.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

struct graph_nodes VEC_BODY(struct graph_node);
struct graph_entries VEC_BODY(struct graph_entry);
struct graph_edges VEC_BODY(struct graph_edge);

/* Two frames are one entry when all of these are the same. */
struct graph_key {
	uint32_t function, linkage, file, module, line, no_name;
	uint64_t address;
};

/* (a, b) -> number; the numbers are given out one after the other by the user. */
struct graph_pairs {
	struct graph_pair {
		uint64_t key;
		uint32_t number; /* 0 = free */
	} * slots;
	size_t cap, len; /* cap: power of two or 0 */
};

struct graph_work {
	const struct graph_query *q; /* of the profile `now` */
	struct strtab *strings;
	struct graph_entries entries;
	struct graph_nodes nodes;
	struct graph_edges edges;
	struct graph_pairs children; /* (parent node, entry) -> node, of large families */
	struct graph_pairs keys; /* hash of what tells entries apart -> last such entry */
	VEC(struct graph_key) key_of; /* of every entry */
	VEC(uint32_t) key_next;	      /* for every entry: another one with that hash */
	VEC(double) var;	      /* of every node's own figure */
	VEC(uint8_t) inlined;	      /* for every node: all its frames were inlined */
	struct map builds;    /* string of a module's path -> hash of its build-id */
	struct map build_ids; /* hash of a build-id -> string of the path it goes by */
	struct map other;     /* strings of paths that have another build in the base */
	struct map starts; /* (module, beginning of a function) -> string of its file */
};

/* How far a stack has come at a node of the profile. */
struct graph_at {
	uint32_t node;	/* of the graph; 0 = nothing shown so far */
	uint32_t prune; /* the stack ends here, if GRAPH_AT_PRUNED */
	uint8_t flags;
};

enum graph_at_flags {
	GRAPH_AT_KNOWN = 1,
	GRAPH_AT_FOCUSED = 2,
	GRAPH_AT_IGNORED = 4,
	GRAPH_AT_BEGUN = 8,
	GRAPH_AT_PRUNED = 16,
	GRAPH_AT_USER = 32,  /* a frame was met that is not to be dropped */
	GRAPH_AT_ENDED = 64, /* by one that is */
};

struct graph_side {
	struct graph_work *w;
	const struct prof *p;
	const struct graph_query *q;
	bool base;
	struct values values;
	struct filter_run filter;
	uint32_t *slots;   /* see filter_slots */
	uint32_t *entries; /* of every slot, and once more as leaves; 0 = not met yet */
	bool leaf;	   /* the frames that are entered are the innermost of a stack */
	uint32_t *modules; /* string of every module's path */
	/* string of the graph for one of the profile + 1; 0 = not asked yet */
	uint32_t *names;
	struct graph_at *at;	/* for every node of the profile */
	uint32_t *node_of_site; /* NULL: nobody asks */
	VEC(uint32_t) climb;	/* nodes still to be entered */
	double total, unfiltered, magnitude, var_total;
	uint64_t stacks, stacks_seen;
};

/* Number of a pair, `*ret_new` when it was not there: then the caller sets it. Good until
 * the next call. */
uint32_t *graph_pair(struct graph_pairs *t, uint32_t a, uint32_t b, bool *ret_new);

/* ---- graph_entry.c ---- */

/* Gives the modules and files of a profile their names; of the base last, and `now` is
 * the other side then, else NULL. */
void graph_modules(struct graph_side *s, struct graph_side *now);

/* String of the graph for one of the profile. */
uint32_t graph_name(struct graph_side *s, uint32_t id);

/* Entry of frame `inl` of a location. */
uint32_t graph_entry_of(struct graph_side *s, uint32_t loc, uint32_t inl);

/* The entry of stacks without a frame. */
uint32_t graph_entry_no_stack(struct graph_side *s);

/* Words for entries that read the same. */
void graph_set_apart(struct graph_work *w);

/* ---- graph_tree.c ---- */

/* The node below `parent` for this entry. */
uint32_t graph_child(struct graph_work *w, uint32_t parent, uint32_t entry, bool inlined);

/* Takes out nodes that no stack ends in or below, and entries without nodes. Node numbers
 * in `names` are changed accordingly. */
void graph_drop_unused(struct graph_work *w, uint32_t *names, uint32_t nnames);

/* Sums over nodes, entries and edges, and children in order. */
void graph_add_up(struct graph_work *w, bool sampled);

/* ---- graph_paths.c ---- */

/* Files, and modules, that the base has in another folder get the names of the
 * profile's. */
void graph_match_files(struct graph_side *now, struct graph_side *base);
void graph_match_modules(const struct graph_side *now, struct graph_side *base);

/* ---- graph_rank.c ---- */

/* The entry's text without `apart`. */
void graph_plain_text(const struct strtab *strings, enum graph_grain grain,
		      const struct graph_entry *x, struct buf *out);

#endif
