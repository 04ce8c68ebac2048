/* SPDX-License-Identifier: MIT */
/* commands.h -- seep's own commands, each a row in a file cmd_*.c of its own; main.c has
 * the list. */
#ifndef SEEP_CLI_COMMANDS_H
#define SEEP_CLI_COMMANDS_H

#include <stdbool.h>

#include "tool/util/cmdline/cmd.h"

extern const struct cmd cmd_attach, cmd_detach, cmd_run, cmd_report, cmd_pause,
	cmd_resume, cmd_mark, cmd_ps, cmd_doctor, cmd_convert, cmd_diff, cmd_watch,
	cmd_top, cmd_why, cmd_dump, cmd_leaks, cmd_scan, cmd_valgrind, cmd_heaptrack,
	cmd_massif, cmd_dhat;

/* `seep diff` of two marks in a saved recording, written to `to`, for another command. */
int cmd_diff_marks(FILE *to, const char *recording, const char *before, const char *after,
		   bool json);

#endif
