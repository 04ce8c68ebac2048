/* SPDX-License-Identifier: MIT */
/* libseep.h -- where libseep.so is.
 *
 * $SEEP_LIB if set, else beside the seep binary (a build tree), else $libdir/seep as
 * installed, also when the whole tree was moved: the path from bin to lib is kept. */
#ifndef SEEP_TARGET_LIBSEEP_H
#define SEEP_TARGET_LIBSEEP_H

#include "tool/util/err.h"

/* Absolute path, to be freed. It exists, is a 64-bit ELF file for this machine, and can
 * stand in LD_PRELOAD (no space or colon). */
int libseep_find(char **ret_path, struct err *e);

#endif
