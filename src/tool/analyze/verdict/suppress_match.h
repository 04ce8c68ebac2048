/* SPDX-License-Identifier: MIT */
/* suppress_match.h -- which suppression hides a loss record. */
#ifndef SEEP_ANALYZE_SUPPRESS_MATCH_H
#define SEEP_ANALYZE_SUPPRESS_MATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/analyze/verdict/loss_records.h"
#include "tool/model/suppress.h"

/* Place in `set->order` of the first that hides an error of the kind `about`, lost as the
 * bits of `kinds` say (1 << enum prof_loss_kind; any for other errors), from the whole of
 * `stack`; SIZE_MAX = none does. Leaks are hidden by LSan's suppressions as well. */
size_t suppress_find(const struct suppress_set *set, enum suppress_about about,
		     unsigned kinds, const struct loss_stack *stack);

/* Does `text` match, * being anything and ? one character? In linear space, and time of
 * the product. */
bool suppress_glob(const char *pattern, const char *text);

/* As LSan matches: anywhere in the text, unless ^ and $ say otherwise; * is anything. */
bool suppress_template(const char *pattern, const char *text);

#endif
