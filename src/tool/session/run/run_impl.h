/* SPDX-License-Identifier: MIT */
/* run_impl.h -- one `seep run`, for the files that it is made of: cmd_run.c (options,
 * start, report) and run_collect.c (what there is to know when the program has ended). */
#ifndef SEEP_SESSION_RUN_IMPL_H
#define SEEP_SESSION_RUN_IMPL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/model/prof.h"
#include "tool/session/names/names.h"
#include "tool/session/run/run_checks.h"
#include "tool/session/run/run_inject.h"
#include "tool/session/run/run_leaks.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/run/rundir.h"
#include "tool/target/run/ticker.h"
#include "tool/util/cmdline/opt.h"

/* The recorder begins nothing smaller. */
#define RUN_SIZE_LEAST (UINT64_C(2) << 20)
#define RUN_CHECKPOINT_NS UINT64_C(10000000000)
/* How long a leak check may stop the program while it runs. */
#define RUN_MAX_STOP_NS UINT64_C(100000000)

/* What is asked for. */
struct run_opts {
	struct names_opts names;
	bool exact, json, no_children, mmap, no_check, keep_going, free_stacks,
		check_copy, no_names, no_save;
	struct opt_optional sample, redzone;
	uint64_t quarantine, guard, checkpoint_ns, max_bytes, growth_ns;
	uint64_t check_ns, max_stop_ns; /* leak checks while it runs; 0 = none, any */
	const char *output, *log_file, *dir, *process;
};

#define RUN_OPTS_NONE                                                                    \
	{                                                                                \
		.checkpoint_ns = RUN_CHECKPOINT_NS, .max_bytes = UINT64_MAX,             \
		.growth_ns = LOOKS_EVERY_MS * UINT64_C(1000000),                         \
		.max_stop_ns = RUN_MAX_STOP_NS,                                          \
	}

struct progress;

/* One `seep run`. */
struct run {
	const struct run_opts *o;
	char **argv;
	struct inspect program;
	struct rundir dir;
	struct ticker ticker;
	struct progress *progress; /* the line on the terminal, of whoever runs it */
	char *libseep;
	char *folder; /* absolute; where the recording goes */
	char *output; /* absolute */
	int pid;
	sigset_t mask;	   /* as it was, and as the program has it */
	bool xfsz_ignored; /* by us: a file too large is an error to tell, not our end */
	FILE *log;	   /* where report and remarks go once the program has ended */
	int status;	   /* to exit with */
	unsigned living;   /* processes of the run that go on */
	struct rundir_names saved; /* recordings that were read at the end */
	struct leakcheck_how how;  /* the leak check at the ends of processes */
	struct run_leaks leaks;
	struct run_checks checks; /* the same while they run */
	struct run_inject inject; /* instead of folder and ticker, if program.inject */
};

/* Its command line, as one would type it. To be freed. */
char *run_command(char **argv);

/* What the options mean: bytes between samples, 0 = exact; bytes beside blocks, 0 = none;
 * most bytes of a recording. */
uint64_t run_rate(const struct run_opts *o);
uint64_t run_redzone(const struct run_opts *o);
uint64_t run_max_size(const struct run *r);

/* How the program is started, once its folder is there. Borrows from `r`. `lsan`: it is
 * asked what it says to LeakSanitizer. */
struct launch run_launch(const struct run *r, bool lsan);

/* Processes of the run that go on. */
unsigned run_living(const struct run *r);

/* Keeps the recordings going until the program has ended. */
int run_wait(struct run *r, struct err *e);

/* What was seen of the processes while they ran. */
void run_looks(const struct run *r, struct prof *p);

/* Notes for every recorded process why there was no leak check. */
void run_unchecked(struct prof *p, const char *why);

/* All processes of the run, with what only the tool saw of them. */
struct prof *run_collect(struct run *r);

#endif
