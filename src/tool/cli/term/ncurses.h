/* SPDX-License-Identifier: MIT */
/* ncurses.h -- ncurses with wide characters, opened when a screen is wanted. */
#ifndef SEEP_CLI_NCURSES_H
#define SEEP_CLI_NCURSES_H

#define NCURSES_NOMACROS 1 /* members below have the names of functions */
#include <ncurses.h>
#include <stdio.h>
#include <wchar.h>

#include "tool/util/err.h"

/* Its functions by their own names. */
struct ncurses {
	SCREEN *(*newterm)(const char *, FILE *, FILE *);
	void (*delscreen)(SCREEN *);
	int (*endwin)(void);
	WINDOW *(*newwin)(int, int, int, int);
	int (*wresize)(WINDOW *, int, int);
	int (*resizeterm)(int, int);
	int (*cbreak)(void);
	int (*noecho)(void);
	int (*keypad)(WINDOW *, bool);
	int (*nodelay)(WINDOW *, bool);
	int (*set_escdelay)(int);
	int (*curs_set)(int);
	bool (*has_colors)(void);
	int (*start_color)(void);
	int (*use_default_colors)(void);
	int (*init_pair)(short, short, short);
	int (*clearok)(WINDOW *, bool);
	int (*wmove)(WINDOW *, int, int);
	int (*wattrset)(WINDOW *, int);
	int (*waddnwstr)(WINDOW *, const wchar_t *, int);
	int (*wrefresh)(WINDOW *);
	int (*wget_wch)(WINDOW *, wint_t *);
	char *(*tigetstr)(const char *);
};

/* Opens the library and looks up all of them; -ENOSYS and what to install when it is not
 * there. */
int ncurses_load(const struct ncurses **ret, struct err *e);

#endif
