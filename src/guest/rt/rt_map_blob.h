/* SPDX-License-Identifier: MIT */
/* rt_map_blob.h -- where rt_map of injected code takes its memory from. */
#ifndef SEEP_RT_MAP_BLOB_H
#define SEEP_RT_MAP_BLOB_H

#include <stddef.h>

/* Zeroed memory, aligned to a page. Once, before the first rt_map. */
void rt_map_arena(void *at, size_t bytes);

#endif
