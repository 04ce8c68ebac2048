/* SPDX-License-Identifier: MIT */
/* pmap.h -- reads /proc/PID/smaps and what `pmap -x`, `-X` and `-XX` print.
 *
 * Told by content. All become one struct memmap. Text from /proc of a hostile process is
 * as foreign as a file: every number is bounded, a name is whatever is left of its line.
 * The last line of a file that was cut off is left out and counted; nonsense elsewhere is
 * refused with its line. What `pmap` prints without options, and with -d, has no resident
 * sizes: refused with what to do instead. */
#ifndef SEEP_FORMAT_PMAP_H
#define SEEP_FORMAT_PMAP_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/model/memmap.h"
#include "tool/util/err.h"

/* Whether a file that begins like this is one of them, or one of those that are
 * refused. */
bool pmap_detect(const void *head, size_t bytes);

/* Reads all of it; `ret_map` is filled anew, to be freed with memmap_done. Messages begin
 * with the line's number and do not name the file. */
int pmap_parse(const void *data, size_t bytes, struct memmap *ret_map, struct err *e);

/* Detects and reads a file of at most 64 MiB. -ENOMSG and no message: it is something
 * else. */
int pmap_load(const char *path, struct memmap *ret_map, struct err *e);

#endif
