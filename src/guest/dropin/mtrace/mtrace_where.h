/* SPDX-License-Identifier: MIT */
/* mtrace_where.h -- a return address as mtrace logs write it: `@ ./prog:(main+33)[0x1244]
 * `. */
#ifndef SEEP_MTRACE_WHERE_H
#define SEEP_MTRACE_WHERE_H

#include <stddef.h>
#include <stdint.h>

enum {
	WHERE_TEXT_MAX = 5120, /* a path, and a symbol of at most WHERE_SYMBOL_MAX */
	WHERE_SYMBOL_MAX = 768,
};

/* Text of `ra`, with a blank behind it; *ret_len is its length. Kept for as long as the
 * module stays; with little memory left written to `scratch` (WHERE_TEXT_MAX bytes) each
 * time. One thread at a time: the caller holds the log's lock. */
const char *where_text(uintptr_t ra, char *scratch, size_t *ret_len);

#endif
