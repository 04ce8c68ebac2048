/* SPDX-License-Identifier: MIT */
/* lsan.h -- what was lost, in the words of LeakSanitizer.
 *
 * It knows two kinds: direct leaks are those definitely lost, indirect ones those indirectly lost. What is
 * only possibly lost is not a leak there: a pointer into the middle of a block counts for it. */
#ifndef SEEP_RENDER_LSAN_H
#define SEEP_RENDER_LSAN_H

#include "render/memcheck.h"

/* Appends the report on a process; nothing when it lost nothing. Uses of `o` kinds to show, the stacks and
 * the suppressions, whose uses are told. */
void lsan_text(struct buf *out, const struct prof *p, const struct skip *s,
	       uint32_t process, const struct memcheck_opts *o);

#endif
