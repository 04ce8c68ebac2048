/* SPDX-License-Identifier: MIT */
/* term.h -- what the output goes to: a terminal or not, how wide, coloured or plain.
 *
 * Unless --color says otherwise: colour only on a terminal, and not when NO_COLOR is set
 * to anything but "" or TERM is "dumb" or missing. Piped output is plain and never cut to
 * a width. Writes nothing itself. */
#ifndef SEEP_UTIL_TERM_H
#define SEEP_UTIL_TERM_H

#include <stdbool.h>
#include <stddef.h>

enum term_style {
	TERM_PLAIN,
	TERM_BOLD,
	TERM_DIM,
	TERM_BAD,  /* red: a leak */
	TERM_WARN, /* yellow: growing, not covered */
	TERM_GOOD, /* green: nothing found */
	TERM_NAME, /* cyan: functions and files */
	/* parts of a picture, to be told apart */
	TERM_LAYER_1,
	TERM_LAYER_2,
	TERM_LAYER_3,
	TERM_LAYER_4,
	TERM_LAYER_5,
};

struct term {
	bool tty;
	bool colour;
	unsigned columns; /* 0: no limit: not a terminal, and COLUMNS is not set */
};

enum term_when { TERM_AUTO, TERM_ALWAYS, TERM_NEVER };

/* Whether term_init gives colour from now on. */
void term_colour(enum term_when when);

/* Looks at `fd` and the environment. */
void term_init(struct term *t, int fd);

/* Bytes that switch a style on, "" when there is no colour. Static strings. */
const char *term_on(const struct term *t, enum term_style style);

/* Bytes that switch back to plain, "" when there is no colour. */
const char *term_off(const struct term *t);

/* Bytes of the style, or of the end of one, that the `n` bytes at `s` begin with; 0 for
 * none, and always 0 in a process that never had colour. */
size_t term_style_bytes(const char *s, size_t n);

#endif
