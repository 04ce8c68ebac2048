/* SPDX-License-Identifier: MIT */
/* keep.h -- SEEP=keep=N: old recordings make room for new ones. */
#ifndef SEEP_KEEP_H
#define SEEP_KEEP_H

#include <stdint.h>

#define KEEP_ALL UINT32_MAX

enum { KEEP_LOOKED_AT_MAX = 4096 }; /* entries of the folder, in one go */

/* Remove the recordings in the folder `dir` whose process is dead, but for the `newest`
 * ones by their time of modification. Touched are only regular files of this user that
 * end in .live and hold a recording of this version. Whatever cannot be made sure of
 * stays. Nothing is done when another process is at it, under a seccomp filter, or
 * without /proc. Signal-safe. */
void keep_newest(const char *dir, uint32_t newest);

#endif
