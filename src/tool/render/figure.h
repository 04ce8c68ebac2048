/* SPDX-License-Identifier: MIT */
/* figure.h -- numbers and foreign text as reports show them.
 *
 * An estimate is never shown without its error: "6.1 ± 0.8 MiB". Names, source lines and
 * paths come from files that anyone may have made, so control characters in them never
 * reach the terminal. */
#ifndef SEEP_RENDER_FIGURE_H
#define SEEP_RENDER_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"
#include "tool/util/clean.h"

struct figure_str {
	char s[112];
};

/* Square root without libm, which nothing else here needs; 0 for what has none. */
double figure_sqrt(double x);

/* Bytes: "3.09 MiB", with `exact` "3,235,840 bytes". A variance over 0 makes it an
 * estimate with its standard error to two significant digits, in the same unit. Below 0
 * counts as 0. */
struct figure_str figure_bytes(int64_t bytes, double variance, bool exact);

/* A number of things: "120", or "120 ± 11", rounded to the digits that its error
 * leaves. */
struct figure_str figure_count(int64_t n, double variance);

/* "80 blocks", "1 block"; `one` is the word for one. */
struct figure_str figure_things(int64_t n, double variance, const char *one);

/* Behind a number of possibly lost blocks: how many of them only words hold that malloc
 * may have left behind; nothing when there are none. */
void figure_leftover(struct buf *out, int64_t blocks, int64_t leftover);

/* Milliseconds as fmt_duration. */
struct figure_str figure_ms(uint64_t ms);

/* A class of sizes or ages, from its limits: "65–128 B", "64–128 KiB", "512 B–1 KiB" for
 * blocks of more than `from` and up to `to` bytes; "0.5–1.0 s" for ages from `from` to
 * below `to`. UINT64_MAX as `to` is "over 256 KiB". */
struct figure_str figure_size_range(uint64_t from, uint64_t to);
struct figure_str figure_ms_range(uint64_t from, uint64_t to);

/* "SIGKILL", or "signal 77". */
struct figure_str figure_signal(int number);

/* Appends the name of a function as people say it: std::string for what it stands for, no
 * default arguments of templates, and if that is still wider than `max`, no arguments at
 * all. */
void figure_function(struct buf *out, const char *name, size_t max);

/* Cuts the middle out of the text from `from` on if it is wider than `columns`, at least
 * 3: its beginning and twice as much of its end stay. Returns whether it did. */
bool figure_cut_middle(struct buf *out, size_t from, size_t columns);

/* Characters of a UTF-8 text, as columns. */
size_t figure_width(const char *text);

/* Appends the text right-aligned in `width` columns. */
void figure_right(struct buf *out, const char *text, size_t width);

/* Appends spaces until `from` (an offset in `out`) is followed by `width` columns; always
 * at least `least` spaces. */
void figure_pad(struct buf *out, size_t from, size_t width, size_t least);

/* Replaces the signs that reports use by ASCII ones, from offset `from` on. */
void figure_to_ascii(struct buf *out, size_t from);

#endif
