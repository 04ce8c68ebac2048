/* SPDX-License-Identifier: MIT */
/* peer_names.h -- the names that jeprof and the old pprof give locations. */
#ifndef SEEP_COMPAT_PEER_NAMES_H
#define SEEP_COMPAT_PEER_NAMES_H

struct peer_opts_stacks;
struct peer_stacks;

/* Fills locs, syms and ambiguous. */
void peer_names(struct peer_stacks *s, const struct peer_opts_stacks *o);

#endif
