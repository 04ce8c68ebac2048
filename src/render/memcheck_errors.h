/* SPDX-License-Identifier: MIT */
/* memcheck_errors.h -- wrong uses of the heap in the words of valgrind's memcheck. */
#ifndef SEEP_RENDER_MEMCHECK_ERRORS_H
#define SEEP_RENDER_MEMCHECK_ERRORS_H

#include <stdint.h>

#include "analyze/skip.h"
#include "model/prof.h"
#include "util/buf.h"

/* Appends what was found in a process, one record each, with `callers` frames a stack (0 = 12). */
void memcheck_errors_text(struct buf *out, const struct prof *p, const struct skip *s,
			  uint32_t process, unsigned callers);

#endif
