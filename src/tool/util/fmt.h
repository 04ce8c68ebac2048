/* SPDX-License-Identifier: MIT */
/* fmt.h -- figures for people: sizes, counts, shares and times.
 *
 * Each returns a small struct by value, so a figure can stand in an argument list:
 *	buf_printf(b, "%s in %s blocks", fmt_size(n).s, fmt_count(k).s);
 * The string lives until the end of that full expression. Pure functions of their
 * arguments: no locale, any thread. Minus is U+2212 as in the reports, so widths count
 * characters. */
#ifndef SEEP_UTIL_FMT_H
#define SEEP_UTIL_FMT_H

#include <stdint.h>

struct fmt_str {
	char s[40];
};

/* Three significant digits in B, KiB, MiB, GiB, TiB, PiB, EiB, rounded half up: "0 B",
 * "999 B", "3.09 MiB", "64.0 KiB", "1023 KiB". */
struct fmt_str fmt_size(uint64_t bytes);

/* Absolute value without the overflow of -INT64_MIN. */
uint64_t fmt_abs(int64_t n);

/* With a sign always, except for 0: "+48.0 MiB", "−1.40 MiB", "0 B". */
struct fmt_str fmt_size_signed(int64_t bytes);

/* Thousands commas: "6,430,720". */
struct fmt_str fmt_count(uint64_t n);
struct fmt_str fmt_count_signed(int64_t n);

/* Share of a whole: "50 %", "6.9 %", "0.4 %", "0 %"; "<0.1 %" for more than nothing, and
 * never "100 %" for less than everything. A whole of 0 gives "–". */
struct fmt_str fmt_percent(uint64_t part, uint64_t whole);

/* A change in percent with its sign: "+6.9 %", "−12 %"; from +1000 % on the factor:
 * "×12". From 0 it is "new". */
struct fmt_str fmt_change(uint64_t before, uint64_t after);

/* A time span: "0 s", "850 ns", "12 µs", "1.8 ms", "0.02 s", "60 s", "15 min", "28 h",
 * "12 d". */
struct fmt_str fmt_duration(uint64_t ns);

#endif
