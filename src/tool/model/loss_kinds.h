/* SPDX-License-Identifier: MIT */
/* loss_kinds.h -- the ways of being lost (enum prof_loss_kind), in words and in sets as
 * valgrind's options and suppressions have them. */
#ifndef SEEP_MODEL_LOSS_KINDS_H
#define SEEP_MODEL_LOSS_KINDS_H

#include <stddef.h>

#include "tool/model/prof.h"

enum {
	LOSS_KINDS_ALL = (1 << PROF_LOSS_SUPPRESSED) - 1,
	/* What memcheck shows, and counts as errors by default. */
	LOSS_KINDS_ERRORS = 1 << PROF_LOSS_DEFINITE | 1 << PROF_LOSS_POSSIBLE,
};

#define LOSS_KINDS_NONE                                                                  \
	(1u << 31) /* a bit that is no kind, where 0 means the usual ones */

/* "definite" …, and "definitely lost" …; by enum prof_loss_kind. */
extern const char *const loss_kind_names[PROF_LOSS_KINDS];
extern const char *const loss_kind_words[PROF_LOSS_KINDS];

/* "definite,possible", "all", "none" as bits 1 << enum prof_loss_kind; blanks around the
 * words are allowed. -EINVAL for anything else. */
int loss_kinds_read(const char *text, size_t bytes, unsigned *ret_kinds);

#endif
