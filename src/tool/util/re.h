/* SPDX-License-Identifier: MIT */
/* re.h -- regular expressions as users of pprof and grep -P type them.
 *
 * PCRE2 does the work. It is loaded when the first expression is compiled, so that
 * commands without one neither link nor load it. Matching is bounded: an expression that
 * would run for ages on some text does not match that text. One thread at a time. */
#ifndef SEEP_UTIL_RE_H
#define SEEP_UTIL_RE_H

#include <stdbool.h>

#include "tool/util/err.h"

struct re;

/* Compiles; the caller frees *ret_re with re_free. -EINVAL says where the pattern is
 * wrong, -ENOSYS that the library is not installed. */
int re_new(const char *pattern, struct re **ret_re, struct err *e);
void re_free(struct re *re); /* NULL is fine */

/* Does it match somewhere in `text`, whatever bytes that has? */
bool re_matches(const struct re *re, const char *text);

#endif
