/* SPDX-License-Identifier: MIT */
/* opt_value.c -- sizes and durations as people write them.
 *
 * Decimal fractions are kept as digits over a power of ten and multiplied out in 128
 * bits, so that "1.1G" does not depend on a double, and overflow is seen. */
#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "tool/util/cmdline/opt.h"

/* Digits beyond this many behind the point cannot change a count of bytes or ns. */
#define OPT_FRACTION_DIGITS 18

struct opt_unit {
	const char *name;
	uint64_t factor;
};

struct opt_decimal {
	uint64_t whole;
	uint64_t fraction; /* over `scale` */
	uint64_t scale;
};

/* Reads "12" or "12.5" or ".5" at *s and moves on; -EINVAL without a digit. */
static int
opt_decimal(const char **s, struct opt_decimal *ret)
{
	struct opt_decimal d = {.scale = 1};
	const char *p = *s;
	unsigned digits = 0, after = 0;

	for (; isdigit((unsigned char)*p); p++, digits++)
		if (__builtin_mul_overflow(d.whole, 10, &d.whole) ||
		    __builtin_add_overflow(d.whole, (uint64_t)(*p - '0'), &d.whole))
			return -ERANGE;
	if (*p == '.') {
		for (p++; isdigit((unsigned char)*p); p++, digits++) {
			if (after++ >= OPT_FRACTION_DIGITS)
				continue;
			d.fraction = d.fraction * 10 + (uint64_t)(*p - '0');
			d.scale *= 10;
		}
	}
	if (digits == 0)
		return -EINVAL;
	*ret = d;
	*s = p;
	return 0;
}

static int
opt_times(const struct opt_decimal *d, uint64_t factor, uint64_t *ret)
{
	unsigned __int128 x = (unsigned __int128)d->whole * factor;

	x += (unsigned __int128)d->fraction * factor / d->scale;
	if (x > UINT64_MAX)
		return -ERANGE;
	*ret = (uint64_t)x;
	return 0;
}

int
opt_size(const char *text, uint64_t *ret_bytes)
{
	static const char letters[] = "kmgtpe";
	struct opt_decimal d;
	const char *s = text;
	const char *at;
	uint64_t factor = 1;
	int r = opt_decimal(&s, &d);

	if (r < 0)
		return r;
	while (*s == ' ')
		s++;
	at = *s != '\0' ? strchr(letters, tolower((unsigned char)*s)) : NULL;
	if (at != NULL) {
		factor = (uint64_t)1 << (10 * (at - letters + 1));
		s++;
		if (tolower((unsigned char)s[0]) == 'i' &&
		    tolower((unsigned char)s[1]) == 'b')
			s++;
	}
	if (tolower((unsigned char)*s) == 'b')
		s++;
	if (*s != '\0')
		return -EINVAL;
	return opt_times(&d, factor, ret_bytes);
}

static const struct opt_unit *
opt_time_unit(const char *s, size_t n)
{
	static const struct opt_unit units[] = {
		{"ns", 1u},
		{"us", 1000u},
		{"ms", 1000u * 1000u},
		{"s", 1000u * 1000u * 1000u},
		{"sec", 1000u * 1000u * 1000u},
		{"m", 60ull * 1000 * 1000 * 1000},
		{"min", 60ull * 1000 * 1000 * 1000},
		{"h", 3600ull * 1000 * 1000 * 1000},
		{"d", 86400ull * 1000 * 1000 * 1000},
	};

	if (n == 0)
		return &units[3];
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strlen(units[i].name) == n && memcmp(units[i].name, s, n) == 0)
			return &units[i];
	return NULL;
}

int
opt_duration(const char *text, uint64_t *ret_ns)
{
	const struct opt_unit *unit;
	struct opt_decimal d;
	const char *s = text;
	uint64_t total = 0, part;
	size_t n;
	int r;

	do {
		r = opt_decimal(&s, &d);
		if (r < 0)
			return r;
		while (*s == ' ')
			s++;
		for (n = 0; isalpha((unsigned char)s[n]); n++)
			;
		unit = opt_time_unit(s, n);
		if (unit == NULL || (n == 0 && s[n] != '\0'))
			return -EINVAL;
		s += n;
		r = opt_times(&d, unit->factor, &part);
		if (r < 0)
			return r;
		if (__builtin_add_overflow(total, part, &total))
			return -ERANGE;
	} while (*s != '\0');
	*ret_ns = total;
	return 0;
}
