/* SPDX-License-Identifier: MIT */
/* term.c -- terminal or pipe, width, colours.
 *
 * The width is asked of the terminal, then COLUMNS, then taken as 80. A file or a pipe
 * has one only if COLUMNS says so. The styles are the eight colours every terminal has,
 * so no terminfo is needed. */
#include "tool/util/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TERM_DEFAULT_COLUMNS 80
#define TERM_LEAST_COLUMNS 20
#define TERM_MOST_COLUMNS 10000
#define TERM_END "\033[0m"

static bool term_colours; /* some output had colour */
static enum term_when term_when;

void
term_colour(enum term_when when)
{
	term_when = when;
}

static unsigned
term_columns(int fd)
{
	const char *env = getenv("COLUMNS");
	struct winsize w;
	unsigned long n = 0;

	if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
		n = w.ws_col;
	else if (env != NULL)
		n = strtoul(env, NULL, 10);
	if (n == 0 || n > TERM_MOST_COLUMNS)
		n = TERM_DEFAULT_COLUMNS;
	return n < TERM_LEAST_COLUMNS ? TERM_LEAST_COLUMNS : (unsigned)n;
}

void
term_init(struct term *t, int fd)
{
	const char *no = getenv("NO_COLOR");
	const char *name = getenv("TERM");
	const char *columns = getenv("COLUMNS");

	t->tty = isatty(fd) == 1;
	t->columns =
		t->tty || (columns != NULL && columns[0] != '\0') ? term_columns(fd) : 0;
	t->colour = term_when == TERM_AUTO && t->tty && (no == NULL || no[0] == '\0') &&
		    name != NULL && name[0] != '\0' && strcmp(name, "dumb") != 0;
	t->colour = t->colour || term_when == TERM_ALWAYS;
	term_colours = term_colours || t->colour;
}

static const char *const term_styles[] = {
	[TERM_PLAIN] = "",
	[TERM_BOLD] = "\033[1m",
	[TERM_DIM] = "\033[2m",
	[TERM_BAD] = "\033[1;31m",
	[TERM_WARN] = "\033[33m",
	[TERM_GOOD] = "\033[32m",
	[TERM_NAME] = "\033[36m",
	[TERM_LAYER_1] = "\033[34m",
	[TERM_LAYER_2] = "\033[33m",
	[TERM_LAYER_3] = "\033[32m",
	[TERM_LAYER_4] = "\033[35m",
	[TERM_LAYER_5] = "\033[36m",
	[TERM_LAYER_5 + 1] = TERM_END,
};

const char *
term_on(const struct term *t, enum term_style style)
{
	return t->colour ? term_styles[style] : "";
}

const char *
term_off(const struct term *t)
{
	return t->colour ? TERM_END : "";
}

size_t
term_style_bytes(const char *s, size_t n)
{
	for (size_t i = 1; term_colours && i < sizeof term_styles / sizeof term_styles[0];
	     i++) {
		size_t len = strlen(term_styles[i]);

		if (len <= n && memcmp(s, term_styles[i], len) == 0)
			return len;
	}
	return 0;
}
