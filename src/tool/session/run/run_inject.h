/* SPDX-License-Identifier: MIT */
/* run_inject.h -- `seep run` for programs that libseep.so cannot be loaded into, or that
 * have a malloc of their own which it would not see: static ones, musl, jemalloc and its
 * kin linked in.
 *
 * The program is started and held at its entry, the recorder put in as `seep attach` does
 * it, and then it begins. From there on it is looked after as an attached process. */
#ifndef SEEP_SESSION_RUN_INJECT_H
#define SEEP_SESSION_RUN_INJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/session/attach/attached.h"
#include "tool/target/attach/session.h"
#include "tool/target/run/launch.h"
#include "tool/util/err.h"

/* Start with `= {0}`. */
struct run_inject {
	struct session_settings settings;
	bool children;
	struct attached_sessions sessions;
	struct attached_kin kin;
	int pid;
	int wait_status; /* as waitpid gave it */
};

/* Starts the program, recorded. On failure nothing is left running, and *ret_status is
 * what to exit with. The program that ends before it begins, for lack of a library, is no
 * failure: there is no session then. */
int run_inject_start(struct run_inject *r, const struct launch *l, int *ret_status,
		     struct err *e);

/* Waits for its end. The signals of ticker_signals must be blocked. */
int run_inject_wait(struct run_inject *r, struct err *e);

/* What was recorded. */
struct prof *run_inject_load(struct run_inject *r);

void run_inject_done(struct run_inject *r); /* legal on a zeroed one */

#endif
