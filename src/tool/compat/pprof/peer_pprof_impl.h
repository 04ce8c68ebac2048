/* SPDX-License-Identifier: MIT */
/* peer_pprof_impl.h -- what the files of the pprof personality's views share. */
#ifndef SEEP_COMPAT_PEER_PPROF_IMPL_H
#define SEEP_COMPAT_PEER_PPROF_IMPL_H

#include "tool/compat/pprof/peer_pprof_graph.h"

enum { PPROF_OWN_UNIT = 255 }; /* each figure has its own */

void pprof_figure_in(struct buf *out, const struct pprof_opts *o, uint8_t unit, double v);

/* Scales *v to its unit and names that. */
const char *pprof_unit_name(const struct pprof_opts *o, double *v);

/* How an entry is printed; to be freed. */
char *pprof_name(const struct graph *g, const struct graph_entry *x);

/* Figures of an entry, the base's taken off. */
double pprof_flat(const struct graph *g, uint32_t entry);
double pprof_cum(const struct graph *g, uint32_t entry);

/* All lines above a table. */
void pprof_labels(struct buf *out, const struct prof *p, const struct pprof_graph *x);

#endif
