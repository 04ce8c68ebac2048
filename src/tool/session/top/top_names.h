/* SPDX-License-Identifier: MIT */
/* top_names.h -- names that were looked up once, for profiles of the same process that
 * are loaded again and again.
 *
 * A location's names depend on the file of its module alone, so they are kept by build-id
 * and offset. What has no names is remembered, too: a file is asked about each location
 * once. */
#ifndef SEEP_SESSION_TOP_NAMES_H
#define SEEP_SESSION_TOP_NAMES_H

#include "tool/model/prof.h"
#include "tool/session/names/names.h"

struct top_names;

/* Never NULL; free with top_names_free (NULL is fine). */
struct top_names *top_names_new(void);
void top_names_free(struct top_names *n);

/* As names_resolve, for what is not known yet; the rest is copied. */
void top_names_resolve(struct top_names *n, struct prof *p, const struct names_opts *o);

#endif
