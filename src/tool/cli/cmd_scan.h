/* SPDX-License-Identifier: MIT */
/* cmd_scan.h -- what `seep report` hands over to `seep scan`. */
#ifndef SEEP_CLI_CMD_SCAN_H
#define SEEP_CLI_CMD_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/cmdline/opt.h"

/* What the options say; `seep report` copies its own of the same names. */
extern struct scan_args {
	const char *save, *since;
	uint64_t rows;
	bool all, bytes, json, no_pager;
} scan_args;

/* Rows of both commands' tables. */
/* clang-format off */
#define SCAN_OPTS                                                                        \
	{"save", 0, OPT_STRING, .to = &scan_args.save, .metavar = "FILE",                \
	 .help = "Keep this look at an unrecorded heap in FILE, for --since."},          \
	{"since", 0, OPT_STRING, .to = &scan_args.since, .metavar = "FILE",              \
	 .help = "Tell what grew since the look in FILE."}
/* clang-format on */

/* Whether the words are processes without a complete recording, cores, or saved looks. */
bool scan_wanted(int argc, char **argv);

/* The report; one word, or the earlier look before the later one. Returns the exit status. */
int scan_run(void *opts, int argc, char **argv);

#endif
