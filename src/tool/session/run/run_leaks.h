/* SPDX-License-Identifier: MIT */
/* run_leaks.h -- what `seep run` finds at the ends of its processes, kept until there is
 * a profile. */
#ifndef SEEP_SESSION_RUN_LEAKS_H
#define SEEP_SESSION_RUN_LEAKS_H

#include "tool/model/prof.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/session/leaks/loss_watch.h"
#include "tool/target/run/ticker.h"
#include "tool/util/vec.h"

/* A block that a forked child has from the process that allocated it. */
struct run_inherited {
	uint64_t start_ns, bytes; /* of that process; of the block */
	uint32_t pid, site;	  /* of that process; ref there */
	enum classify_kind kind;
};

/* What was found at the end of one process. */
struct run_check {
	uint32_t pid;
	uint64_t start_ns;
	struct leakcheck found;
	VEC(struct run_inherited) inherited; /* only if leakcheck_how.inherited */
};

struct run_leaks VEC_BODY(struct run_check);

/* A process stands at its end: what of its memory is lost? Lets it go. `files`: of all
 * processes. `watch`: takes note of it as the last of several checks; NULL = it is the
 * only one. */
void run_leaks_look(struct run_leaks *l, struct ticker_file *f,
		    struct ticker_files *files, const struct leakcheck_how *how,
		    struct loss_watch *watch);

/* Puts all of it into the profile of the run. */
void run_leaks_add(struct run_leaks *l, struct prof *p);
void run_leaks_done(struct run_leaks *l); /* legal on a zeroed one */

/* Where the blocks of a process's ancestors were allocated, as long as they are there.
 * `files`: of all processes, or NULL for none. To be freed. */
struct origins;
struct origins *run_inherit_read(struct ticker_files *files,
				 const struct ticker_file *child);
void run_inherit_find(const struct origins *o, const struct leakcheck *c,
		      struct run_check *to);
void run_inherit_free(struct origins *o);

/* Adds what forked children have inherited to their own sites and losses, once the
 * profile is saved and has names. */
void run_inherit_add(const struct run_leaks *l, struct prof *p);

#endif
