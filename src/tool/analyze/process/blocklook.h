/* SPDX-License-Identifier: MIT */
/* blocklook.h -- what the beginning of a block looks like, in a few words, so that blocks
 * of one sort end up together: "text", "all zero", "pointer, zero, small number,
 * pointer".
 *
 * Nothing of the contents is told but their sort. */
#ifndef SEEP_ANALYZE_BLOCKLOOK_H
#define SEEP_ANALYZE_BLOCKLOOK_H

#include <stddef.h>
#include <stdint.h>

#include "tool/model/memmap.h"

enum { BLOCKLOOK_BYTES = 64 }; /* that are looked at */

/* A number that says which look it is; words for it are made by blocklook_words. `map`
 * may be NULL. */
uint32_t blocklook(const struct memmap *map, const void *data, size_t bytes);

/* Into `ret`, which has room for 80 bytes. */
void blocklook_words(uint32_t look, char *ret, size_t size);

#endif
