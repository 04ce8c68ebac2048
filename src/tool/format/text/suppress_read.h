/* SPDX-License-Identifier: MIT */
/* suppress_read.h -- reads files of suppressions: valgrind's, LeakSanitizer's, or both in
 * one. */
#ifndef SEEP_FORMAT_SUPPRESS_READ_H
#define SEEP_FORMAT_SUPPRESS_READ_H

#include <stddef.h>

#include "tool/model/suppress.h"
#include "tool/util/err.h"

enum { SUPPRESS_FILE_BYTES_MAX = 16 << 20 };

/* Adds what is in the file to `s`. A message names file and line. On failure `s` may hold
 * a part. */
int suppress_read_file(struct suppress_set *s, const char *path, struct err *e);

/* The same from memory; `name` stands for the file. */
int suppress_read(struct suppress_set *s, const char *name, const void *data,
		  size_t bytes, struct err *e);

#endif
