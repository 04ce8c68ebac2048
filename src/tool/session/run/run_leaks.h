/* SPDX-License-Identifier: MIT */
/* run_leaks.h -- what `seep run` finds at the ends of its processes, kept until there is a profile. */
#ifndef SEEP_SESSION_RUN_LEAKS_H
#define SEEP_SESSION_RUN_LEAKS_H

#include "tool/model/prof.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/target/run/ticker.h"
#include "tool/util/vec.h"

/* What was found at the end of one process. */
struct run_check {
	uint32_t pid;
	uint64_t start_ns;
	struct leakcheck found;
};

struct run_leaks VEC_BODY(struct run_check);

/* A process stands at its end: what of its memory is lost? Lets it go. */
void run_leaks_look(struct run_leaks *l, struct ticker_file *f,
		    const struct leakcheck_how *how);

/* Puts all of it into the profile of the run. */
void run_leaks_add(const struct run_leaks *l, struct prof *p);
void run_leaks_done(struct run_leaks *l); /* legal on a zeroed one */

#endif
