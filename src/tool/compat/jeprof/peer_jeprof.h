/* SPDX-License-Identifier: MIT */
/* peer_jeprof.h -- what the parts of the jeprof personality share. */
#ifndef SEEP_COMPAT_PEER_JEPROF_H
#define SEEP_COMPAT_PEER_JEPROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/compat/jeprof/peer_tables.h"
#include "tool/session/names/names.h"
#include "tool/util/err.h"

struct re;

/* The command line. */
struct jeprof_args {
	bool text, collapsed, dot, svg, pdf, ps, gif, callgrind, raw, symbols,
		interactive;
	bool functions, lines, files, addresses;
	bool inuse_space, inuse_objects, alloc_space, alloc_objects;
	bool show_bytes, drop_negative, cum, heapcheck, stacks, show_addresses;
	bool viewer, locks, help, version;
	bool google; /* as google-pprof where the two differ */
	const char *list, *base, *focus, *ignore, *retain, *exclude, *thread, *disasm;
	const char *ignored;
	uint64_t nodes, degree;
	double node_fraction, edge_fraction;
	struct names_opts names;
};

/* One report: what is counted and how it is filtered. */
struct jeprof_report {
	struct jeprof_args *args;
	struct prof *p;
	double *figures; /* jeprof_figures */
	struct peer_unit unit;
	struct re *focus, *ignore, *retain, *exclude;
	const char *program, *profile; /* for titles; the first profile */
	size_t nprofiles;
	const struct names_opts *names;
};

int jeprof_report_init(struct jeprof_report *r, struct err *e);
void jeprof_report_done(struct jeprof_report *r);
enum jeprof_grain jeprof_grain(const struct jeprof_args *a);

/* Frames under the report's filters; free with jeprof_frames_done. */
void jeprof_frames(const struct jeprof_report *r, enum jeprof_grain grain,
		   struct jeprof_frames *ret);

/* Prints source of functions that match. -ENOENT when none does. */
int jeprof_list(struct jeprof_report *r, const char *pattern, struct err *e);

/* The graph for dot into `out`, or the picture straight to standard output. */
int jeprof_graph(const struct jeprof_report *r, const struct jeprof_stacks *s,
		 struct buf *out, struct err *e);

/* The profile as it is with the names of its addresses before it. */
int jeprof_raw(const struct jeprof_report *r, const struct jeprof_frames *f,
	       struct buf *out, struct err *e);

/* Reads a memory map and addresses from standard input and prints a name for each of
 * these. */
int jeprof_symbols(const struct jeprof_args *a, const char *program, struct err *e);

/* The prompt. */
int jeprof_shell(struct jeprof_report *r, struct err *e);

/* Where a word's profile comes from: itself, or the URL that "host:port[/path]" stands
 * for. To be freed. */
char *jeprof_source_of(const char *word);

/* Asks the server of a profile's URL for names that are missing; nothing of a file. */
void jeprof_ask_names(struct prof *p, const char *url);

#endif
