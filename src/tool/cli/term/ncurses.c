/* SPDX-License-Identifier: MIT */
/* ncurses.c -- see ncurses.h. */
#include "tool/cli/term/ncurses.h"

#include "shared/compiler.h"
#include "tool/util/dynlib.h"

static struct ncurses lib;

int
ncurses_load(const struct ncurses **ret, struct err *e)
{
	static const char *const names[] = {"libncursesw.so.6", NULL};
	static const struct dynlib_symbol symbols[] = {
		{"newterm", &lib.newterm},
		{"delscreen", &lib.delscreen},
		{"endwin", &lib.endwin},
		{"newwin", &lib.newwin},
		{"wresize", &lib.wresize},
		{"resizeterm", &lib.resizeterm},
		{"cbreak", &lib.cbreak},
		{"noecho", &lib.noecho},
		{"keypad", &lib.keypad},
		{"nodelay", &lib.nodelay},
		{"set_escdelay", &lib.set_escdelay},
		{"curs_set", &lib.curs_set},
		{"has_colors", &lib.has_colors},
		{"start_color", &lib.start_color},
		{"use_default_colors", &lib.use_default_colors},
		{"init_pair", &lib.init_pair},
		{"clearok", &lib.clearok},
		{"wmove", &lib.wmove},
		{"wattrset", &lib.wattrset},
		{"waddnwstr", &lib.waddnwstr},
		{"wrefresh", &lib.wrefresh},
		{"wget_wch", &lib.wget_wch},
		{"tigetstr", &lib.tigetstr},
	};
	static bool loaded;
	int r = loaded ? 0
		       : dynlib_load(names, symbols, ARRAY_LEN(symbols),
				     "a screen needs libncursesw.so.6, which is not "
				     "installed (Debian: libncursesw6); without it: seep "
				     "top --once",
				     e);

	loaded = r == 0;
	*ret = &lib;
	return r;
}
