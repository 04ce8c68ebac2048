/* SPDX-License-Identifier: MIT */
/* peek.h -- reads memory of the program that may not be there.
 *
 * A page is tried once, by a system call that does nothing but read from it, and
 * remembered. What was readable once is believed for good: a program that unmaps what its
 * own frames lead to would fall over it itself. */
#ifndef SEEP_PEEK_H
#define SEEP_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PEEK_PAGES = 64 };

struct peek {
	uintptr_t good[PEEK_PAGES]; /* numbers of pages that can be read; 0 = none */
	uintptr_t bad; /* of the last one that could not, tried again after a while */
	uint32_t bad_left;
};

/* May [at, at + bytes) be read? At most a page long. */
bool peek_may(struct peek *k, uintptr_t at, size_t bytes);

/* May the whole text at `at` be read, with the zero byte at its end? */
bool peek_may_text(struct peek *k, uintptr_t at);

/* A pointer, or 0. */
uintptr_t peek_word(struct peek *k, uintptr_t at);

/* Copies a text of at most `max` - 1 bytes, cut there or where it cannot be read any
 * more. "" for a text at 0 or one that cannot be read. */
void peek_text(struct peek *k, uintptr_t at, char *ret, size_t max);

#endif
