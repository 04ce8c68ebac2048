/* SPDX-License-Identifier: MIT */
/* verdict_colour.h -- a verdict's word on a terminal: its colour, in every report the
 * same. */
#ifndef SEEP_RENDER_VERDICT_COLOUR_H
#define SEEP_RENDER_VERDICT_COLOUR_H

#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

/* Appends the word, in bold and in the colour of its severity; `t` NULL = plain. */
void verdict_colour(struct buf *out, enum verdict_word word, const struct term *t);

#endif
