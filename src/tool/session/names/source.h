/* SPDX-License-Identifier: MIT */
/* source.h -- lines of source files for listings, with their indentation.
 *
 * A file is shown only if it agrees with what the recording kept of it: where one of its
 * lines reads differently now, the lines that were recorded are all there is. */
#ifndef SEEP_SESSION_SOURCE_H
#define SEEP_SESSION_SOURCE_H

#include <stdint.h>

#include "tool/model/prof.h"

struct source;

/* Borrows the profile. Never NULL; free with source_free. */
struct source *source_new(const struct prof *p);
void source_free(struct source *s); /* NULL is fine */

/* Fits view_source: `ctx` is the struct source. NULL when there is no such line. Borrowed
 * until the next call. */
const char *source_line(void *ctx, const char *file, uint32_t line);

#endif
