/* SPDX-License-Identifier: MIT */
/* peer_valgrind.h -- memcheck's command line, read into the options of a run. */
#ifndef SEEP_COMPAT_PEER_VALGRIND_H
#define SEEP_COMPAT_PEER_VALGRIND_H

#include <stdbool.h>

#include "tool/compat/leaks/leak_opts.h"
#include "tool/session/run/run_impl.h"
#include "tool/util/cmdline/cmd.h"

/* For the help text. */
extern const struct opt peer_valgrind_opts[];

/* Reads the files and variables that valgrind reads, and the words up to the program,
 * which is argv[*ret_at]; messages are those of `cmd`. True: fills both structs. False:
 * nothing is to be run, exit with *ret_status. */
bool peer_valgrind_read(const struct cmd *cmd, int argc, char **argv,
			struct run_opts *ret_run, struct leak_opts *ret_leak, int *ret_at,
			int *ret_status);

#endif
