/* SPDX-License-Identifier: MIT */
/* managed.h -- losses that are not judged: blocks of language runtimes whose objects a
 * collector frees, or which leave them to the kernel at exit (runtimes.h).
 *
 * Such a runtime keeps pointers in forms that a search of memory does not see, and
 * garbage that is not collected yet is no leak. Its blocks are counted, but never called
 * lost. Blocks of other modules in the process still are. */
#ifndef SEEP_ANALYZE_MANAGED_H
#define SEEP_ANALYZE_MANAGED_H

#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"
#include "tool/model/runtimes.h"

/* The innermost frame of the program itself on the stack at `node`: with a line and
 * outside of libc, which allocates for whoever calls it; else the innermost one outside
 * of libc, else skip_first. */
struct skip_pos managed_user_frame(const struct prof *p, const struct skip *s,
				   uint32_t node);

/* For every row of p->losses: the runtime whose own code allocated these blocks, or, of
 * indirectly lost ones, in whose process that cannot be excluded; NULL = they are judged.
 * Only definite and indirect losses have one. Free with free(). */
const struct runtime_info **managed_losses(const struct prof *p, const struct skip *s);

#endif
