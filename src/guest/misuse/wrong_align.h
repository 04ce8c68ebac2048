/* SPDX-License-Identifier: MIT */
/* wrong_align.h -- how blocks of aligned operator new are aligned, for the delete that is
 * told. */
#ifndef SEEP_WRONG_ALIGN_H
#define SEEP_WRONG_ALIGN_H

#include "shared/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern SEEP_OWN uint32_t wrong_aligned; /* how many such blocks there are */

/* operator new has handed out `p`, aligned to `align`. */
void wrong_align_note(const void *p, size_t align);

/* It goes: its alignment, 0 when it came from a plain new. False: not known, because
 * there were too many. */
bool wrong_align_take(uintptr_t p, size_t *ret_align);

/* In a forked child, before anything is asked. */
void wrong_align_forked(void);

#endif
