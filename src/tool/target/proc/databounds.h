/* SPDX-License-Identifier: MIT */
/* databounds.h -- where the static data of programs and libraries ends.
 *
 * The kernel joins zeroed data (.bss) with anonymous memory that happens to lie behind
 * it, and memory may begin where a library without .bss ends. The program headers say
 * what is the library's. */
#ifndef SEEP_TARGET_DATABOUNDS_H
#define SEEP_TARGET_DATABOUNDS_H

#include "tool/model/memmap.h"
#include "tool/target/proc/procmem.h"

/* Splits each mapping that is joined in this way, and marks what is not the file's as
 * `apart`. The resident pages of both parts are counted; other figures go with these. */
void databounds_split(const struct procmem *m, struct memmap *map);

/* End of the last segment of the ELF object that is mapped at `start`, rounded up to a
 * page. `head` is what its first `bytes` bytes hold. 0: no such object, or not all
 * headers are there. */
uint64_t databounds_end(const unsigned char *head, size_t bytes, uint64_t start);

#endif
