/* SPDX-License-Identifier: MIT */
/* error_words.h -- wrong uses of the heap in words, for every form of report. */
#ifndef SEEP_RENDER_ERROR_WORDS_H
#define SEEP_RENDER_ERROR_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/util/buf.h"

/* Short and fixed, for machines: "double-free", "mismatched-free" … Static text. */
const char *error_kind_name(const struct prof_error *e);

/* "free", "operator delete[]" … of an enum rec_func. Static text. */
const char *error_func_name(unsigned func);

/* "malloc", "operator new" … of an enum rec_kind. Static text. */
const char *error_family_name(unsigned kind);

/* What is wrong, in one line without its end: "double free of a block of 32 bytes". */
void error_title(struct buf *out, const struct prof *p, const struct prof_error *e);

/* What the stack of the error itself is headed with: "freed here", "found here" … */
const char *error_stack_name(const struct prof_error *e);

#endif
