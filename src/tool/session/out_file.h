/* SPDX-License-Identifier: MIT */
/* out_file.h -- may a command replace the file that it was told to write?
 *
 * `seep report --flame my.rec` means to show my.rec and forgets where to draw it. So a
 * file that is there already is replaced only if seep wrote it in the same format, or if
 * it is empty. What seep wrote is recognised by what it begins with, or by the mark that
 * file_out_commit leaves on it (file_is_ours). Everything else is refused with one line
 * that says what to do. */
#ifndef SEEP_SESSION_OUT_FILE_H
#define SEEP_SESSION_OUT_FILE_H

#include <stdbool.h>

#include "tool/util/err.h"

/* Whether `path` may be written in this format: "rec", "flame", "html", "json", "dot",
 * "csv", "speedscope", "scan", "metrics"; in all others, whose name is for the message,
 * only the mark tells. "-", pipes and devices always may. -EEXIST: it would destroy what
 * seep did not write. */
int out_check(const char *path, const char *format, struct err *e);

/* The same for the logs and reports of other tools, which replace what is there: only
 * recordings and other profiles of seep's own are refused, and programs. */
int out_check_log(const char *path, struct err *e);

/* Whether two names, either of which may be NULL, are those of one file. */
bool out_is_same(const char *a, const char *b);

#endif
