/* SPDX-License-Identifier: MIT */
/* flame_text.h -- foreign names made harmless for SVG and HTML.
 *
 * Names come out of files that anyone may have made. flame_clean makes any bytes a text
 * that XML 1.0 can hold and that reads as it is stored: what is not UTF-8, control
 * characters, characters that XML forbids and those that turn the direction of writing
 * become U+FFFD, blanks of any kind one space, and an endless name ends in an ellipsis.
 * flame_escape writes a cleaned text where markup is read, between tags and in quoted
 * attributes alike. */
#ifndef SEEP_RENDER_FLAME_TEXT_H
#define SEEP_RENDER_FLAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"

enum { FLAME_NAME_BYTES = 1024 }; /* of a cleaned name, the ellipsis apart */

/* Appends `text`, cleaned; at most `max_bytes` and an ellipsis, 0 = all of it. */
void flame_clean(struct buf *out, const char *text, size_t max_bytes);

/* Appends text as markup: & < > " ' are escaped, all else is as flame_clean leaves it. */
void flame_escape(struct buf *out, const char *text);

/* Appends at most `columns` characters of a cleaned text, the last an ellipsis if it was
 * cut. */
void flame_cut(struct buf *out, const char *text, size_t columns);

/* A hash that is the same everywhere and always, so that a name keeps its colour. */
uint32_t flame_hash(const char *text);

#endif
