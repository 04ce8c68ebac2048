/* SPDX-License-Identifier: MIT */
/* peer_pprof_graph.h -- what google/pprof prints, drawn from graph.h: column by column.
 *
 * Its rules, where they differ from ours: figures are whole numbers of which the base's
 * are taken off, shares are of the sum of absolute values, nodes below a share of the sum
 * are dropped and edges lead past them, one unit for a whole table chosen by its smallest
 * figure. */
#ifndef SEEP_COMPAT_PEER_PPROF_GRAPH_H
#define SEEP_COMPAT_PEER_PPROF_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/vec.h"

struct re;

struct pprof_opts {
	bool by_cum;
	bool drop_negative;
	bool compact; /* no lines about the profile above tables: at the prompt */
	double node_fraction, edge_fraction; /* 0 = nothing is dropped */
	uint64_t node_count;		     /* 0 = all */
	double total;			     /* what shares are of; absolute */
	double ratio;			     /* every figure is multiplied by it */
	const char *unit; /* "minimum", "auto", "kb", "mb", "bytes", "count" … */
	const char *type; /* "inuse_space" */
	const char *file; /* the program; NULL = unknown */
	const struct filter_opts *filters; /* as given, for the header; NULL = none */
	bool in_bytes;
};

struct pprof_edge {
	uint32_t from, to; /* entries */
	double weight;
	bool inlined;
};

/* A graph trimmed as pprof does. */
struct pprof_graph {
	const struct graph *g;
	const struct pprof_opts *o;
	char **names;	 /* of entries, to be printed */
	uint32_t *order; /* kept entries */
	uint32_t n;
	uint32_t all; /* nodes before nodecount, after the small ones were dropped */
	uint32_t dropped;
	VEC(struct pprof_edge) edges;
	uint8_t unit; /* index of the table's unit; see peer_pprof_graph.c */
};

/* `g` needs edges. Free with pprof_graph_done. */
void pprof_graph_init(struct pprof_graph *ret, const struct graph *g,
		      const struct pprof_opts *o);
void pprof_graph_done(struct pprof_graph *x);

/* File, type, time and remarks of the profile. */
void pprof_head(struct buf *out, const struct prof *p, const struct pprof_opts *o);

void pprof_top(struct buf *out, const struct prof *p, const struct pprof_graph *x);

/* Callers and callees of every node, or of those that match. The number of nodes
 * shown. */
uint32_t pprof_tree(struct buf *out, const struct prof *p, const struct pprof_graph *x,
		    const struct re *re);

/* Every sample with its labels; `q` and `g` say which of them and how much. */
void pprof_traces(struct buf *out, const struct prof *p, const struct graph *g,
		  const struct graph_query *q, const struct pprof_opts *o);

/* Figures by label. */
void pprof_tags(struct buf *out, const struct prof *p, const struct graph *g,
		const struct graph_query *q, const struct pprof_opts *o);

/* Text of a source line with its indentation, or NULL. */
typedef const char *pprof_source(void *ctx, const char *file, uint32_t line);

/* Annotated source; `g` is by lines. The number of functions that matched. */
uint32_t pprof_list(struct buf *out, const struct graph *g, const struct pprof_opts *o,
		    const struct re *re, pprof_source *source, void *ctx);

/* A figure in a unit of its own: "1.69MB", "0". */
void pprof_figure(struct buf *out, const struct pprof_opts *o, double v);

/* A label's value as the name of a frame (tagframes.h). */
void pprof_label_frame(struct buf *out, const struct prof *p, const struct prof_label *l);

/* "98.08%", "  100%", "0.069%". */
void pprof_percent(struct buf *out, double v, double total);

/* For every site a number that is the same where labels are, in whatever order. To be
 * freed. */
uint64_t *pprof_label_keys(const struct prof *p);

/* The sum of absolute values: of samples, one for every stack and set of labels. `nsites`
 * as in jeprof_figures: sites from there on are the base's and taken off. */
double pprof_total(const struct prof *p, uint32_t nsites, enum prof_value value,
		   bool objects);

#endif
