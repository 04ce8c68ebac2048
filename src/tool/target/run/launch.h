/* SPDX-License-Identifier: MIT */
/* launch.h -- starts a program as it would have been started without us, but recorded.
 *
 * The program is our direct child: same terminal, process group, directory, descriptors,
 * signal mask and dispositions, and the environment plus LD_PRELOAD and SEEP. */
#ifndef SEEP_TARGET_LAUNCH_H
#define SEEP_TARGET_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "tool/target/proc/inspect.h"
#include "tool/util/err.h"

struct launch {
	const struct inspect *program;
	char *const *argv; /* of the program; argv[0] as the user wrote it */
	const char
		*libseep; /* path for LD_PRELOAD; NULL: the environment stays as it is */
	bool check_copy;  /* libseep_copy.so, beside it, is preloaded too */
	const char *dir;  /* run folder */
	uint64_t run_id;
	uint64_t rate_bytes; /* 0 = exact, else mean distance of samples */
	uint64_t max_bytes;  /* most that one recording may take */
	bool no_children;
	bool mmap;
	bool free_stacks;	      /* take the stacks of frees too */
	uint64_t redzone, quarantine; /* bytes; 0 = none */
	uint64_t guard;	 /* every so many blocks is on fenced pages; 0 = none */
	bool lsan;	 /* the report will be in LeakSanitizer's format */
	bool keep_going; /* wrong frees are left out instead of passed on */
	bool hold;	 /* stand still at the end until we have looked at its memory */
	const sigset_t *mask; /* the program's signal mask */
	bool xfsz_ignored; /* SIGXFSZ is ignored by us alone: default for the program */
	bool at_entry;	   /* it may be held (held.h) and waits for held_take */
};

/* Forks and executes; returns when the program runs (exec has succeeded). On failure
 * *ret_status is what to exit with (126, 127), and nothing is left running. */
int launch_start(const struct launch *l, int *ret_pid, int *ret_status, struct err *e);

#endif
