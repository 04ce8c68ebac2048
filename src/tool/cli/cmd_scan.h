/* SPDX-License-Identifier: MIT */
/* cmd_scan.h -- what `seep report` hands over to `seep scan`. */
#ifndef SEEP_CLI_CMD_SCAN_H
#define SEEP_CLI_CMD_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/cli/unrecorded.h"
#include "tool/util/cmdline/opt.h"

/* What the options say, of `seep report` as well. */
struct scan_args {
	struct unrecorded_opts heap;
	const char *save, *since;
	uint64_t rows;
	bool no_pager;
};

/* Rows of both commands' tables, in whose structs they are at the offset `base`. */
/* clang-format off */
#define SCAN_OPTS(base)                                                          \
	{"save", 0, OPT_STRING, .at = (base) + offsetof(struct scan_args, save), .metavar = "FILE",   \
	 .help = "Save this scan of an unrecorded heap as FILE, for --since."},          \
	{"since", 0, OPT_STRING, .at = (base) + offsetof(struct scan_args, since), .metavar = "FILE", \
	 .help = "Print what grew since the scan that --save wrote to FILE."}
/* clang-format on */

/* Whether the words are processes without a complete recording, cores, or saved looks. */
bool scan_wanted(struct scan_args *o, int argc, char **argv);

/* The report; one word, or the earlier look before the later one. Returns the exit
 * status. */
int scan_report(struct scan_args *o, int argc, char **argv);

#endif
