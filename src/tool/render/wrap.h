/* SPDX-License-Identifier: MIT */
/* wrap.h -- long lines of a report, broken where a reader would break them. */
#ifndef SEEP_RENDER_WRAP_H
#define SEEP_RENDER_WRAP_H

#include <stddef.h>

#include "tool/util/buf.h"
#include "tool/util/term.h"

/* Breaks the lines from offset `from` on that are wider than `columns`: behind a dot
 * between two facts if there is one in the second half of the line, else between words,
 * never between a number and its unit, nor inside a command that follows "next: " and can
 * be pasted, but between two of them. What is broken off is indented. Colours count
 * nothing. */
void wrap_text(struct buf *out, size_t from, unsigned columns);

/* The same at the width of a terminal; nothing when it is NULL or has none. */
void wrap_term(struct buf *out, size_t from, const struct term *t);

/* Lines of a terminal that the text takes; 0 columns: of a file. */
size_t wrap_lines(const char *s, unsigned columns);

#endif
