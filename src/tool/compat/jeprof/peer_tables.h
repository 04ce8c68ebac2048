/* SPDX-License-Identifier: MIT */
/* peer_tables.h -- what jeprof and the old pprof print, drawn from jeprof_frames.h. */
#ifndef SEEP_COMPAT_PEER_TABLES_H
#define SEEP_COMPAT_PEER_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/compat/jeprof/jeprof_frames.h"
#include "tool/util/buf.h"

struct re;

/* How figures are written. */
struct peer_unit {
	bool objects;
	bool bytes; /* whole bytes, not MB */
};

const char *peer_unit_name(const struct peer_unit *u); /* "MB", "B", "objects" */

/* "6.7", "7008272"; with `dot`, "." for 0. */
void peer_figure(struct buf *out, const struct peer_unit *u, double v, bool dot);

/* "49.8%"; of nothing: "nan", "+inf", "-inf". */
void peer_percent(struct buf *out, double v, double total);

/* "Total: X UNIT", "Total (t3): …"; nothing when the total is 0. */
void peer_total(struct buf *out, const struct jeprof_stacks *s, const struct peer_unit *u,
		const char *thread);

/* The table of --text; at most `limit` rows, < 0 = all. */
void peer_text(struct buf *out, const struct jeprof_stacks *s, const struct peer_unit *u,
	       bool by_cum, int64_t limit);

/* a;b;c N, outermost first. */
void peer_collapsed(struct buf *out, struct jeprof_frames *f, const double *figures);

/* Calls for callgrind's viewers. */
void peer_callgrind(struct buf *out, struct jeprof_frames *f, const double *figures);

/* Every stack with its addresses: --stacks of google-pprof. */
void peer_stack_list(struct buf *out, struct jeprof_frames *f, const double *figures);

/* One function's source with figures beside the lines. */
struct peer_listing {
	const char *function, *file;
	uint32_t first, last; /* lines of the function, as far as known */
	double flat, cum;
};

struct peer_line {
	uint32_t line;
	double flat, cum;
};

/* Text of a source line with its indentation, or NULL. Borrowed until the next call. */
typedef const char *peer_source(void *ctx, const char *file, uint32_t line);

/* `lines` are ordered. Five lines around the function are shown, and fences where it
 * begins and ends. */
void peer_list(struct buf *out, const struct peer_listing *f,
	       const struct peer_line *lines, size_t n, const struct peer_unit *u,
	       peer_source *source, void *ctx);

struct peer_dot_opts {
	const char *program;
	double node_fraction, edge_fraction;
	uint64_t node_count, max_degree;
	bool heapcheck;	 /* mark what leaks */
	bool page;	 /* a size that fits paper */
	bool wide_edges; /* no line thinner than 1: for svg */
};

/* A graph for graphviz's dot; false when no node is left. `remark` gets the line about
 * what was dropped. */
bool peer_dot(struct buf *out, struct buf *remark, const struct jeprof_stacks *s,
	      const struct peer_unit *u, const struct peer_dot_opts *o);

#endif
