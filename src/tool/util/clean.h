/* SPDX-License-Identifier: MIT */
/* clean.h -- text of others made harmless, and the streams that everything printed
 * passes.
 *
 * Names of processes, files, threads and functions are chosen by whoever made them. A
 * terminal obeys control characters in them, and marks of direction make a line read
 * other than it is written. After clean_install, stdout and stderr let neither through:
 * of escape sequences only the styles of term.h pass, and those only if this process
 * prints in colour. Data that is not text goes to clean_raw. A newline in a name is not
 * seen here: who prints names in rows calls figure_text. */
#ifndef SEEP_UTIL_CLEAN_H
#define SEEP_UTIL_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tool/util/buf.h"

/* The character at `s`, of which there are `n` bytes, and how many it takes: 0 where
 * there is no valid one. */
uint32_t clean_decode(const unsigned char *s, size_t n, unsigned *ret_bytes);

/* Would it move the cursor, turn the direction of writing, or not be seen at all? Newline
 * and tab too. */
bool clean_harmful(uint32_t c);

/* Appends text as the streams print it: what is harmful becomes '?', newlines, tabs and
 * styles stay. */
void clean_add(struct buf *out, const char *text, size_t n);

/* Appends a word of a command to be pasted into a shell: in quotes where it needs them,
 * and with "-- " before one that begins with a dash. What cannot be printed becomes
 * '?'. */
void clean_shell(struct buf *out, const char *word);

/* Appends foreign text: control characters become '?', tabs one space. */
void clean_text(struct buf *out, const char *text);
char *clean_copy(const char *text); /* the same in a text of its own, to be freed */

/* From now on stdout and stderr are clean. */
void clean_install(void);

/* A clean stream to a file made anew, for a log; NULL and errno. Closed with fclose. */
FILE *clean_open(const char *path);

/* Where a stream goes: as fileno, which clean streams do not have. */
int clean_fd(FILE *f);

/* Standard output for data, byte by byte unless it is a terminal. What was printed before
 * is written first. */
FILE *clean_raw(void);

/* Sends a sequence of ours that moves the cursor. */
void clean_cursor(FILE *to, const char *sequence);

#endif
