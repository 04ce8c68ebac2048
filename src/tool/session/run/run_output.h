/* SPDX-License-Identifier: MIT */
/* run_output.h -- where `seep run` will save its recording, made sure of before anything
 * is started. */
#ifndef SEEP_SESSION_RUN_OUTPUT_H
#define SEEP_SESSION_RUN_OUTPUT_H

#include "tool/util/err.h"

/* `output` and `dir` as the user gave them, or NULL. *ret_folder is absolute; *ret_output
 * is, too, or stays as it is when no name was given. To be freed, also after a
 * failure. */
int run_output(const char *output, const char *dir, char **ret_folder, char **ret_output,
	       struct err *e);

/* FOLDER/seep.PROGRAM.PID.rec, with -2, -3 … behind the PID if there is such a file: pids
 * come again, in containers at every start. To be freed. */
char *run_output_name(const char *folder, const char *program, int pid);

#endif
