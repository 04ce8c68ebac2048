/* SPDX-License-Identifier: MIT */
/* names_where.h -- where a profile's binaries are looked for: what names.c asks. */
#ifndef SEEP_SESSION_NAMES_WHERE_H
#define SEEP_SESSION_NAMES_WHERE_H

#include "tool/session/names/names.h"
#include "tool/sym/sym.h"

/* The folders, made once for a profile. */
struct names_where {
	const struct prof *p;
	const struct names_opts *o;
	char *debug_dirs, *binary_dirs, *cache_dir; /* as in sym.h */
	unsigned char exe_id[64];		    /* of o->exe; 0 bytes: it has none */
	size_t exe_id_bytes;
};

/* `w` borrows both. */
void names_where_init(struct names_where *w, const struct prof *p,
		      const struct names_opts *o);
void names_where_done(struct names_where *w);

/* Is this the path of the program of one of the processes? */
bool names_is_program(const struct prof *p, const char *path);

/* Opens the module's binary wherever it is. NULL with the reason in `e`. */
struct sym *names_open(const struct names_where *w, const struct prof_module *m,
		       bool names_only, struct err *e);

#endif
