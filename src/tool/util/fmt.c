/* SPDX-License-Identifier: MIT */
/* fmt.c -- figures for people.
 *
 * Integer arithmetic throughout, so that what is shown is the rounded true value and not
 * the rounding of a double: a recording holds exact bytes, and tests compare strings. */
#include "tool/util/fmt.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FMT_MINUS "\xe2\x88\x92"

static const char *const fmt_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* bytes * 10^digits / 1024^unit, rounded half up. */
static uint64_t
fmt_scaled(uint64_t bytes, unsigned unit, unsigned digits)
{
	unsigned __int128 x = bytes;

	while (digits-- > 0)
		x *= 10;
	if (unit > 0)
		x = (x + ((unsigned __int128)1 << (10 * unit - 1))) >> (10 * unit);
	return (uint64_t)x;
}

struct fmt_str
fmt_size(uint64_t bytes)
{
	struct fmt_str r;
	unsigned unit = 0;
	uint64_t x;

	while (unit < 6 && (bytes >> (10 * unit)) >= 1024)
		unit++;
	if (unit > 0 && unit < 6 && fmt_scaled(bytes, unit, 0) >= 1024)
		unit++; /* 1023.9 KiB is 1.00 MiB, not 1024 KiB */
	if (unit == 0) {
		snprintf(r.s, sizeof r.s, "%" PRIu64 " B", bytes);
	} else if ((x = fmt_scaled(bytes, unit, 2)) < 1000) {
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%02" PRIu64 " %s", x / 100,
			 x % 100, fmt_units[unit]);
	} else if ((x = fmt_scaled(bytes, unit, 1)) < 1000) {
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%" PRIu64 " %s", x / 10, x % 10,
			 fmt_units[unit]);
	} else {
		snprintf(r.s, sizeof r.s, "%" PRIu64 " %s", fmt_scaled(bytes, unit, 0),
			 fmt_units[unit]);
	}
	return r;
}

uint64_t
fmt_abs(int64_t n)
{
	return n < 0 ? -(uint64_t)n : (uint64_t)n;
}

static struct fmt_str
fmt_sign(int64_t n, struct fmt_str abs)
{
	struct fmt_str r;

	if (n == 0)
		return abs;
	snprintf(r.s, sizeof r.s, "%s%.30s", n < 0 ? FMT_MINUS : "+", abs.s);
	return r;
}

struct fmt_str
fmt_size_signed(int64_t bytes)
{
	return fmt_sign(bytes, fmt_size(fmt_abs(bytes)));
}

struct fmt_str
fmt_count(uint64_t n)
{
	struct fmt_str r;
	char digits[24];
	int len = snprintf(digits, sizeof digits, "%" PRIu64, n);
	int at = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			r.s[at++] = ',';
		r.s[at++] = digits[i];
	}
	r.s[at] = '\0';
	return r;
}

struct fmt_str
fmt_count_signed(int64_t n)
{
	return fmt_sign(n, fmt_count(fmt_abs(n)));
}

/* A number of tenths of a percent that may be more than 100 %. */
static struct fmt_str
fmt_tenths(uint64_t tenths)
{
	struct fmt_str r;

	if (tenths < 100 && tenths % 10 != 0)
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%" PRIu64 " %%", tenths / 10,
			 tenths % 10);
	else
		snprintf(r.s, sizeof r.s, "%" PRIu64 " %%", (tenths + 5) / 10);
	return r;
}

static uint64_t
fmt_ratio_tenths(uint64_t part, uint64_t whole)
{
	unsigned __int128 x = (unsigned __int128)part * 2000 / whole;

	x = (x + 1) / 2;
	return x > UINT64_MAX / 2 ? UINT64_MAX / 2 : (uint64_t)x;
}

struct fmt_str
fmt_percent(uint64_t part, uint64_t whole)
{
	uint64_t tenths;

	if (whole == 0)
		return (struct fmt_str){"\xe2\x80\x93"};
	tenths = fmt_ratio_tenths(part, whole);
	if (tenths == 0 && part > 0)
		return (struct fmt_str){"<0.1 %"};
	if (part < whole && tenths >= 995)
		return (struct fmt_str){"99 %"};
	return fmt_tenths(tenths);
}

/* `n` in units of `per`, rounded half up. */
static uint64_t
fmt_div(uint64_t n, uint64_t per)
{
	return n / per + (n % per >= per - per / 2);
}

struct fmt_str
fmt_change(uint64_t before, uint64_t after)
{
	uint64_t by = after > before ? after - before : before - after;

	if (by == 0)
		return (struct fmt_str){"0 %"};
	if (before == 0)
		return (struct fmt_str){"new"};
	if (by / 10 >= before) {
		struct fmt_str r;

		snprintf(r.s, sizeof r.s, "\xc3\x97%.36s",
			 fmt_count(fmt_div(after, before)).s);
		return r;
	}
	return fmt_sign(after > before ? 1 : -1, fmt_percent(by, before));
}

struct fmt_str
fmt_duration(uint64_t ns)
{
	const uint64_t us = 1000, ms = 1000 * us, s = 1000 * ms, min = 60 * s,
		       h = 60 * min;
	struct fmt_str r;
	uint64_t x;

	if (ns == 0)
		return (struct fmt_str){"0 s"};
	if (ns < us)
		snprintf(r.s, sizeof r.s, "%" PRIu64 " ns", ns);
	else if (ns < 100 * us)
		snprintf(r.s, sizeof r.s, "%" PRIu64 " \xc2\xb5s", fmt_div(ns, us));
	else if ((x = fmt_div(ns, ms / 10)) < 100)
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%" PRIu64 " ms", x / 10, x % 10);
	else if ((x = fmt_div(ns, s / 100)) < 1000)
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%02" PRIu64 " s", x / 100,
			 x % 100);
	else if ((x = fmt_div(ns, s / 10)) < 1000 && x % 10 != 0)
		snprintf(r.s, sizeof r.s, "%" PRIu64 ".%" PRIu64 " s", x / 10, x % 10);
	else if ((x = fmt_div(ns, s)) < 120)
		snprintf(r.s, sizeof r.s, "%" PRIu64 " s", x);
	else if ((x = fmt_div(ns, min)) < 120)
		snprintf(r.s, sizeof r.s, "%" PRIu64 " min", x);
	else if ((x = fmt_div(ns, h)) < 48)
		snprintf(r.s, sizeof r.s, "%" PRIu64 " h", x);
	else
		snprintf(r.s, sizeof r.s, "%.30s d", fmt_count(fmt_div(ns, 24 * h)).s);
	return r;
}
