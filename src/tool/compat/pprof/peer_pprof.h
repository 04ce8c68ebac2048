/* SPDX-License-Identifier: MIT */
/* peer_pprof.h -- what the parts of the pprof personality share. */
#ifndef SEEP_COMPAT_PEER_PPROF_H
#define SEEP_COMPAT_PEER_PPROF_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/model/prof.h"
#include "tool/session/names/names.h"
#include "tool/util/buf.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

enum pprof_what {
	PPROF_NOTHING = 0,
	PPROF_TOP,
	PPROF_TREE,
	PPROF_PEEK,
	PPROF_LIST,
	PPROF_TRACES,
	PPROF_TAGS,
	PPROF_COMMENTS,
	PPROF_RAW,
	PPROF_PROTO,
	PPROF_CALLGRIND,
	PPROF_DOT, /* and pictures */
};

/* Options: of the command line, or as they stand at the prompt. */
struct pprof_args {
	enum pprof_what what;
	const char *pattern; /* of -peek and -list */
	const char *picture; /* "svg" …; NULL = dot itself */
	enum graph_grain grain;
	bool grain_given;
	bool cum, trim, relative, normalize, drop_negative, no_inlines, help, version;
	bool compact;	 /* no lines about the profile; so at the prompt */
	bool all_frames; /* drop_frames of the profile are not obeyed */
	const char *base, *diff_base, *index, *unit, *output;
	const char *tagroot, *tagleaf;
	const char *http; /* "[host]:[port]"; NULL = no server */
	struct filter_opts filters;
	int64_t nodes; /* < 0: as suits */
	double node_fraction, edge_fraction, divide_by;
	uint64_t seconds;
};
extern const struct opt pprof_opts_table[];

/* The profile, and a base if there is one. */
struct pprof_loaded {
	struct pprof_args *args;
	struct prof *p, *base, *both; /* `both`: one behind the other, for the total */
	uint32_t nsites;	      /* of `both`: where the base's begin */
	const char *exe;
	char *source; /* path of the first profile */
	struct names_opts names;
};

/* One report by the options as they stand now. */
int pprof_report(struct pprof_loaded *l, struct err *e);

/* The same as text, of one kind. */
int pprof_report_text(struct pprof_loaded *l, enum pprof_what what, struct buf *out,
		      struct err *e);

/* Appends the page (tool/render/flame/html_page.h), by the options as they stand now. */
int pprof_report_page(struct pprof_loaded *l, struct buf *out, struct err *e);

/* Serves that page where -http says, until SIGINT or SIGTERM. */
int pprof_http(struct pprof_loaded *l, struct err *e);

/* Lines about the profile, for the prompt's welcome. */
int pprof_welcome(struct pprof_loaded *l, struct err *e);

/* The prompt. */
int pprof_shell(struct pprof_loaded *l, struct err *e);

#endif
