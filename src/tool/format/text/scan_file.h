/* SPDX-License-Identifier: MIT */
/* scan_file.h -- a look at a heap, kept in a file for the next one to be compared with.
 *
 * Lines of text, fields separated by tabs, the first of them says what the line is:
 *
 * 	seep-heap	1
 * 	what	4711 (api-server)	program	pid	time_ns	anon_bytes
 * 	sum	KIND	BLOCKS	BYTES                    four of them
 * 	arena	SYSTEM	LIVE	BLOCKS	FREE	BLOCKS	LARGEST	END	CACHED	UNKNOWN	HEAPS
 * 	group	SIZE	TYPE	PATTERN	HOLDER	then blocks and bytes of each kind, LEAST
 * 	holder	NAME	ADDRESS	BLOCKS	BYTES
 * 	mapped	BLOCKS	BYTES
 *
 * Tabs, newlines and backslashes in texts are written \t, \n and \\. Lines that are not
 * known are stepped over. */
#ifndef SEEP_FORMAT_SCAN_FILE_H
#define SEEP_FORMAT_SCAN_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/model/heapscan.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Whether a file that begins with these bytes is one. */
bool scan_file_detect(const void *head, size_t bytes);
bool scan_file_is_one(const char *path);

void scan_file_write(struct buf *out, const struct heapscan *s);

/* Into `ret`, which is empty. A message names the line. */
int scan_file_parse(const char *text, size_t bytes, struct heapscan *ret, struct err *e);
int scan_file_load(const char *path, struct heapscan *ret, struct err *e);

#endif
