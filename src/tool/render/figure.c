/* SPDX-License-Identifier: MIT */
/* figure.c -- numbers and foreign text as reports show them. */
#include "tool/render/figure.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/clean.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#define FIGURE_PLUS_MINUS "\xc2\xb1"
#define FIGURE_TO "\xe2\x80\x93" /* between two limits */

double
figure_sqrt(double x)
{
	double r = x;

	if (!(x > 0))
		return 0;
	/* Newton's way from above: each step halves r until it is near, then doubles the
	 * digits. */
	for (int i = 0; i < 600; i++) {
		double next = (r + x / r) / 2;

		if (next == r)
			break;
		r = next;
	}
	return r;
}

/* Digits behind the point that show two significant digits of `error`. */
static int
figure_digits(double error)
{
	int digits = 0;

	for (; digits < 3 && error < 10; digits++)
		error *= 10;
	return digits;
}

/* An error in whole things, to two significant digits. */
static uint64_t
figure_round(double error)
{
	uint64_t n = (uint64_t)(error + 0.5), unit = 1;

	while (n / unit >= 100)
		unit *= 10;
	return (n + unit / 2) / unit * unit;
}

struct figure_str
figure_bytes(int64_t bytes, double variance, bool exact)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	uint64_t n = bytes > 0 ? (uint64_t)bytes : 0;
	double error = figure_sqrt(variance), x = (double)n;
	struct figure_str f;
	unsigned unit = 0;
	int digits;

	if (error <= 0) {
		if (exact)
			snprintf(f.s, sizeof f.s, "%s byte%s", fmt_count(n).s,
				 n == 1 ? "" : "s");
		else
			snprintf(f.s, sizeof f.s, "%s", fmt_size(n).s);
		return f;
	}
	if (exact) {
		snprintf(f.s, sizeof f.s, "%s " FIGURE_PLUS_MINUS " %s bytes",
			 fmt_count(n).s, fmt_count(figure_round(error)).s);
		return f;
	}
	while (unit + 1 < sizeof units / sizeof units[0] &&
	       (x >= 1000 || error >= 1000)) {
		x /= 1024;
		error /= 1024;
		unit++;
	}
	digits = unit == 0 ? 0 : figure_digits(error);
	snprintf(f.s, sizeof f.s, "%.*f " FIGURE_PLUS_MINUS " %.*f %s", digits, x, digits,
		 error, units[unit]);
	return f;
}

struct figure_str
figure_count(int64_t n, double variance)
{
	uint64_t u = n > 0 ? (uint64_t)n : 0;
	uint64_t error = figure_round(figure_sqrt(variance)), unit = 1;
	struct figure_str f;

	while (error / unit >= 100)
		unit *= 10;
	if (error > 0)
		snprintf(f.s, sizeof f.s, "%s " FIGURE_PLUS_MINUS " %s",
			 fmt_count((u + unit / 2) / unit * unit).s, fmt_count(error).s);
	else
		snprintf(f.s, sizeof f.s, "%s", fmt_count(u).s);
	return f;
}

struct figure_str
figure_things(int64_t n, double variance, const char *one)
{
	struct figure_str f;
	size_t len;

	f = figure_count(n, variance);
	len = strlen(f.s);
	snprintf(f.s + len, sizeof f.s - len, " %.20s%s", one, n == 1 ? "" : "s");
	return f;
}

void
figure_leftover(struct buf *out, int64_t blocks, int64_t leftover)
{
	if (leftover == 0)
		return;
	if (leftover == blocks)
		buf_add_str(out, " (");
	else
		buf_printf(out, " (%s of them ", fmt_count((uint64_t)leftover).s);
	buf_add_str(out, "only by words that malloc may have left behind)");
}

struct figure_str
figure_ms(uint64_t ms)
{
	struct figure_str f;

	snprintf(f.s, sizeof f.s, "%s",
		 fmt_duration(ms < UINT64_MAX / 1000000 ? ms * 1000000 : UINT64_MAX).s);
	return f;
}

struct figure_str
figure_size_range(uint64_t from, uint64_t to)
{
	static const char *const units[] = {"B",   "KiB", "MiB", "GiB",
					    "TiB", "PiB", "EiB"};
	struct figure_str f;
	unsigned unit = 0;

	while (unit + 1 < sizeof units / sizeof units[0] && to >> 10 * (unit + 1) != 0)
		unit++;
	if (to == UINT64_MAX)
		snprintf(f.s, sizeof f.s, "over %s", fmt_size(from).s);
	else if (unit == 0)
		snprintf(f.s, sizeof f.s, "%" PRIu64 FIGURE_TO "%" PRIu64 " B", from + 1,
			 to);
	else if (from >> 10 * unit != 0)
		snprintf(f.s, sizeof f.s, "%" PRIu64 FIGURE_TO "%" PRIu64 " %s",
			 from >> 10 * unit, to >> 10 * unit, units[unit]);
	else
		snprintf(f.s, sizeof f.s, "%" PRIu64 " %s" FIGURE_TO "%" PRIu64 " %s",
			 from >> 10 * (unit - 1), units[unit - 1], to >> 10 * unit,
			 units[unit]);
	return f;
}

struct figure_str
figure_ms_range(uint64_t from, uint64_t to)
{
	static const struct {
		const char *name;
		uint64_t ms, below; /* used for times below this */
	} units[] = {{"ms", 1, 1000},
		     {"s", 1000, 100 * 1000},
		     {"min", 60 * 1000, 100 * 60 * 1000},
		     {"h", 3600 * 1000, UINT64_MAX}};
	uint64_t by = to != UINT64_MAX ? to : from;
	struct figure_str f;
	unsigned unit = 0;
	double a, b;

	while (by >= units[unit].below && units[unit].below != UINT64_MAX)
		unit++;
	a = (double)from / (double)units[unit].ms;
	b = (double)to / (double)units[unit].ms;
	if (to == UINT64_MAX)
		snprintf(f.s, sizeof f.s, "over %.*f %s", a < 10, a, units[unit].name);
	else
		snprintf(f.s, sizeof f.s, "%.*f" FIGURE_TO "%.*f %s",
			 a < 10 && a > 0 && unit > 0, a, b < 10 && unit > 0, b,
			 units[unit].name);
	return f;
}

struct figure_str
figure_signal(int number)
{
	/* sigabbrev_np is in glibc since 2.32 only. */
	static const char *const names[] = {
		[SIGHUP] = "HUP",	[SIGINT] = "INT",	[SIGQUIT] = "QUIT",
		[SIGILL] = "ILL",	[SIGTRAP] = "TRAP",	[SIGABRT] = "ABRT",
		[SIGBUS] = "BUS",	[SIGFPE] = "FPE",	[SIGKILL] = "KILL",
		[SIGUSR1] = "USR1",	[SIGSEGV] = "SEGV",	[SIGUSR2] = "USR2",
		[SIGPIPE] = "PIPE",	[SIGALRM] = "ALRM",	[SIGTERM] = "TERM",
		[SIGSTKFLT] = "STKFLT", [SIGCHLD] = "CHLD",	[SIGCONT] = "CONT",
		[SIGSTOP] = "STOP",	[SIGTSTP] = "TSTP",	[SIGTTIN] = "TTIN",
		[SIGTTOU] = "TTOU",	[SIGURG] = "URG",	[SIGXCPU] = "XCPU",
		[SIGXFSZ] = "XFSZ",	[SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF",
		[SIGWINCH] = "WINCH",	[SIGIO] = "IO",		[SIGPWR] = "PWR",
		[SIGSYS] = "SYS",
	};
	const char *name =
		number > 0 && (size_t)number < ARRAY_LEN(names) ? names[number] : NULL;
	struct figure_str f;

	if (name != NULL)
		snprintf(f.s, sizeof f.s, "SIG%s", name);
	else
		snprintf(f.s, sizeof f.s, "signal %d", number);
	return f;
}

/* The end of the template arguments that begin at `s`, which is a '<'; NULL when
 * unbalanced. */
static const char *
figure_close(const char *s)
{
	int depth = 0;

	for (; *s != '\0'; s++) {
		if (*s == '<')
			depth++;
		else if (*s == '>' && s[-1] != '-' && --depth == 0)
			return s + 1;
	}
	return NULL;
}

/* Bytes of a default argument of a standard template at `s`, with its comma; else 0. */
static size_t
figure_default(const char *s)
{
	static const char *const defaults[] = {
		", std::allocator<", ", std::less<",	    ", std::hash<",
		", std::equal_to<",  ", std::char_traits<", ", std::default_delete<"};

	for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
		size_t n = strlen(defaults[i]);
		const char *end;

		if (strncmp(s, defaults[i], n) != 0)
			continue;
		end = figure_close(s + n - 1);
		return end != NULL ? (size_t)(end - s) : 0;
	}
	return 0;
}

/* The name without what a reader does not need. */
static void
figure_plain(struct buf *out, const char *s)
{
	static const char string[] =
		"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";

	while (*s != '\0') {
		size_t n = *s == ',' ? figure_default(s) : 0;

		if (n == 0 && *s != 's' && *s != ' ') {
			buf_add_char(out, *s++); /* most characters */
		} else if (n > 0) {
			s += n;
		} else if (strncmp(s, string, sizeof string - 1) == 0) {
			buf_add_str(out, "std::string");
			s += sizeof string - 1;
		} else if (strncmp(s, "std::__cxx11::", 14) == 0) {
			buf_add_str(out, "std::");
			s += 14;
		} else if (s[0] == ' ' && s[1] == '>') {
			s++;
		} else {
			buf_add_char(out, *s++);
		}
	}
}

void
figure_function(struct buf *out, const char *name, size_t max)
{
	struct buf plain = {0}, bare = {0};
	const char *s;

	figure_plain(&plain, name);
	if (figure_width(buf_str(&plain)) <= max) {
		clean_text(out, buf_str(&plain));
		buf_done(&plain);
		return;
	}
	for (s = buf_str(&plain); *s != '\0';) {
		const char *end = *s == '<' ? figure_close(s) : NULL;

		if (strncmp(s, "operator", 8) == 0) {
			size_t n = 8 +
				   strspn(s + 8, "<>=-"); /* not the sign of a template */

			buf_add(&bare, s, n);
			s += n;
		} else if (end != NULL && end > s + 2) {
			buf_add_str(&bare, "<\xe2\x80\xa6>");
			s = end;
		} else {
			buf_add_char(&bare, *s++);
		}
	}
	clean_text(out, buf_str(&bare));
	buf_done(&plain);
	buf_done(&bare);
}

size_t
figure_width(const char *text)
{
	size_t n = 0;

	for (; *text != '\0'; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Bytes of the first `columns` characters. */
static size_t
figure_bytes_of(const char *s, size_t columns)
{
	size_t at = 0;

	while (s[at] != '\0' && (columns > 0 || ((unsigned char)s[at] & 0xc0) == 0x80)) {
		columns -= ((unsigned char)s[at] & 0xc0) != 0x80;
		at++;
	}
	return at;
}

bool
figure_cut_middle(struct buf *out, size_t from, size_t columns)
{
	size_t width = figure_width(buf_str(out) + from), head = (columns - 1) / 3;
	const char *at;
	char *all;

	if (width <= columns || columns < 3)
		return false;
	all = xstrdup(buf_str(out) + from);
	out->len = from + figure_bytes_of(all, head);
	buf_add_str(out, "\xe2\x80\xa6");
	at = all + figure_bytes_of(all, width - (columns - 1 - head));
	/* One ellipsis is enough where the rest begins with another. */
	if (strncmp(at, "\xe2\x80\xa6", 3) == 0)
		at += 3;
	buf_add_str(out, at);
	free(all);
	return true;
}

void
figure_pad(struct buf *out, size_t from, size_t width, size_t least)
{
	size_t have = figure_width(buf_str(out) + from);
	size_t want = have < width ? width - have : 0;

	for (size_t n = want > least ? want : least; n > 0; n--)
		buf_add_char(out, ' ');
}

void
figure_to_ascii(struct buf *out, size_t from)
{
	static const struct {
		const char *sign, *ascii;
	} signs[] = {
		{"\xc2\xb7", "-"},	{FIGURE_PLUS_MINUS, "+-"}, {"\xc2\xb5", "u"},
		{"\xe2\x86\x90", "<-"}, {"\xe2\x86\x92", "->"},	   {"\xe2\x88\x92", "-"},
		{"\xe2\x80\x93", "-"},	{"\xe2\x80\xa6", "..."},   {"\xc3\x97", "x"},
	};
	struct buf text = {0};
	const char *s;

	if (out->len <= from)
		return;
	buf_add(&text, out->data + from, out->len - from);
	out->len = from;
	for (s = buf_str(&text); *s != '\0';) {
		size_t i = 0, n = sizeof signs / sizeof signs[0];

		while (i < n && strncmp(s, signs[i].sign, strlen(signs[i].sign)) != 0)
			i++;
		if (i == n) {
			buf_add_char(out, *s++);
			continue;
		}
		buf_add_str(out, signs[i].ascii);
		s += strlen(signs[i].sign);
	}
	buf_done(&text);
}

void
figure_right(struct buf *out, const char *text, size_t width)
{
	for (size_t n = figure_width(text); n < width; n++)
		buf_add_char(out, ' ');
	buf_add_str(out, text);
}
