/* SPDX-License-Identifier: MIT */
/* fullscreen.c -- see fullscreen.h. */
#include "tool/cli/term/fullscreen.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/cli/term/ncurses.h"
#include "tool/render/screen/screen.h"
#include "tool/util/x.h"

enum {
	ESCAPE_MS = 100, /* for the rest of a key's sequence */
	MOST_COLUMNS = 1000,
	MOST_LINES = 1000,
	LEAVE_BYTES = 128,
};

/* Crashes; SIGBUS has a handler already. */
static const int crashes[] = {SIGSEGV, SIGABRT, SIGILL, SIGFPE};

static struct {
	const struct ncurses *lib;
	SCREEN *screen;
	WINDOW *window;
	FILE *in, *out;
	bool colours;
	locale_t locale;      /* which characters may be sent */
	struct termios modes; /* as we found them */
	struct sigaction was[ARRAY_LEN(crashes)];
	/* what leaves the screen, ready to be written by a handler */
	char leave[LEAVE_BYTES];
	volatile sig_atomic_t on;
} full;

/* ---- when all goes wrong ---- */

/* The terminal as it was, with nothing but system calls. */
static void
rescue(void)
{
	if (!full.on)
		return;
	full.on = 0;
	if (write(STDOUT_FILENO, full.leave, strlen(full.leave)) < 0) {
		/* nothing more can be done */
	}
	tcsetattr(STDIN_FILENO, TCSANOW, &full.modes);
}

static void
on_crash(int number)
{
	rescue();
	raise(number); /* the handler was for one time */
}

static void
add_leave(const char *capability)
{
	const char *s = full.lib->tigetstr(capability);
	size_t n = strlen(full.leave);

	if (s != NULL && s != (char *)-1 && n + strlen(s) < sizeof full.leave)
		memcpy(full.leave + n, s, strlen(s) + 1);
}

static void
prepare_rescue(void)
{
	struct sigaction sa = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

	full.leave[0] = '\0';
	add_leave("sgr0");
	add_leave("cnorm");
	add_leave("rmcup");
	add_leave("rmkx");
	sigemptyset(&sa.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
		sigaction(crashes[i], &sa, &full.was[i]);
	x_oom_first(rescue);
	full.on = 1;
}

/* ---- begin and end ---- */

/* All of seep works without a locale, so that it says the same everywhere; ncurses alone
 * has the user's, between these two. */
static locale_t
locale_on(void)
{
	return full.locale != (locale_t)0 ? uselocale(full.locale) : (locale_t)0;
}

static void
locale_off(locale_t before)
{
	if (before != (locale_t)0)
		uselocale(before);
}

static FILE *
stream_of(int fd, const char *mode)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	FILE *f = own >= 0 ? fdopen(own, mode) : NULL;

	if (f == NULL && own >= 0)
		close(own);
	return f;
}

static void
set_up(void)
{
	static const short colours[] = {[TERM_BAD] = COLOR_RED,
					[TERM_WARN] = COLOR_YELLOW,
					[TERM_GOOD] = COLOR_GREEN,
					[TERM_NAME] = COLOR_CYAN};
	struct term t;

	term_init(&t, STDOUT_FILENO);
	full.lib->cbreak();
	full.lib->noecho();
	full.lib->set_escdelay(ESCAPE_MS);
	full.lib->curs_set(0);
	full.window = full.lib->newwin(0, 0, 0, 0);
	full.lib->keypad(full.window, true);
	full.lib->nodelay(full.window, true);
	full.colours = t.colour && full.lib->has_colors();
	if (!full.colours)
		return;
	full.lib->start_color();
	full.lib->use_default_colors();
	for (int i = TERM_BAD; i <= TERM_NAME; i++)
		full.lib->init_pair((short)i, colours[i], -1);
}

static int
check_terminal(struct err *e)
{
	const char *name = getenv("TERM");

	if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
		return err_set(e, -ENOTTY,
			       "the screen needs a terminal as input and output; for a "
			       "pipe or a file, add --once");
	if (name == NULL || name[0] == '\0' || strcmp(name, "dumb") == 0)
		return err_set(
			e, -ENOTTY,
			"the screen needs a terminal that can move its cursor, and "
			"TERM is \"%s\"; add --once",
			name != NULL ? name : "");
	return 0;
}

int
fullscreen_begin(struct err *e)
{
	int r = check_terminal(e);
	locale_t before;

	if (r == 0)
		r = ncurses_load(&full.lib, e);
	if (r < 0)
		return r;
	full.locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	tcgetattr(STDIN_FILENO, &full.modes);
	full.in = stream_of(STDIN_FILENO, "r");
	full.out = stream_of(STDOUT_FILENO, "w");
	if (full.in == NULL || full.out == NULL)
		r = err_sys(e, -errno, "cannot use the terminal");
	before = locale_on();
	if (r == 0)
		full.screen = full.lib->newterm(NULL, full.out, full.in);
	if (full.screen != NULL) {
		set_up();
		prepare_rescue();
	}
	locale_off(before);
	if (r == 0 && full.screen == NULL)
		r = err_set(e, -ENOTTY,
			    "TERM is \"%s\", a terminal that ncurses does not know; add "
			    "--once",
			    getenv("TERM"));
	if (r < 0)
		fullscreen_end();
	return r;
}

void
fullscreen_end(void)
{
	if (full.screen != NULL) {
		full.lib->endwin();
		full.on = 0;
		x_oom_first(NULL);
		for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
			sigaction(crashes[i], &full.was[i], NULL);
		full.lib->delscreen(full.screen);
		full.screen = NULL;
	}
	if (full.in != NULL)
		fclose(full.in);
	if (full.out != NULL)
		fclose(full.out);
	full.in = full.out = NULL;
	if (full.locale != (locale_t)0)
		freelocale(full.locale);
	full.locale = (locale_t)0;
}

/* ---- while it is on ---- */

void
fullscreen_size(unsigned *ret_width, unsigned *ret_height)
{
	struct winsize w = {0};

	*ret_width = 80;
	*ret_height = 24;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_row == 0)
		return;
	*ret_width = w.ws_col < MOST_COLUMNS ? w.ws_col : MOST_COLUMNS;
	*ret_height = w.ws_row < MOST_LINES ? w.ws_row : MOST_LINES;
}

void
fullscreen_renew(void)
{
	unsigned width, height;

	fullscreen_size(&width, &height);
	full.lib->resizeterm((int)height, (int)width);
	full.lib->wresize(full.window, (int)height, (int)width);
	full.lib->clearok(full.window, true);
}

void
fullscreen_suspend(void)
{
	full.lib->endwin();
	full.on = 0;
	raise(SIGSTOP);
	full.on = 1;
	fullscreen_renew();
}

static int
attributes(const struct cell *c)
{
	int a = c->reversed ? (int)A_REVERSE : 0;

	if (c->style == TERM_BOLD || c->style == TERM_BAD)
		a |= (int)A_BOLD;
	if (c->style == TERM_DIM)
		a |= (int)A_DIM;
	if (full.colours && c->style >= TERM_BAD && c->style <= TERM_NAME)
		a |= (int)(NCURSES_BITS(c->style, 0) & A_COLOR);
	return a;
}

/* Cells of one look, from `col` on; returns how many. */
static unsigned
show_piece(const struct cells *s, unsigned row, unsigned col)
{
	const struct cell *at = &s->at[(size_t)row * s->width];
	wchar_t text[MOST_COLUMNS];
	unsigned n = 0, end = col;

	while (end < s->width && n < MOST_COLUMNS && at[end].style == at[col].style &&
	       at[end].reversed == at[col].reversed) {
		if (at[end].c != 0)
			text[n++] = (wchar_t)at[end].c;
		end++;
	}
	full.lib->wmove(full.window, (int)row, (int)col);
	full.lib->wattrset(full.window, attributes(&at[col]));
	full.lib->waddnwstr(full.window, text, (int)n);
	return end - col;
}

void
fullscreen_show(const struct cells *s)
{
	locale_t before = locale_on();

	for (unsigned row = 0; row < s->height; row++) {
		for (unsigned col = 0; col < s->width;)
			col += show_piece(s, row, col);
	}
	full.lib->wrefresh(full.window);
	locale_off(before);
}

static uint32_t
special(wint_t key)
{
	switch (key) {
	case KEY_UP:
		return SCREEN_UP;
	case KEY_DOWN:
		return SCREEN_DOWN;
	case KEY_PPAGE:
		return SCREEN_PAGE_UP;
	case KEY_NPAGE:
		return SCREEN_PAGE_DOWN;
	case KEY_HOME:
		return SCREEN_HOME;
	case KEY_END:
		return SCREEN_END;
	case KEY_ENTER:
		return SCREEN_ENTER;
	case KEY_BACKSPACE:
		return SCREEN_BACKSPACE;
	default:
		return 0;
	}
}

static uint32_t
character(wint_t key)
{
	switch (key) {
	case '\n':
	case '\r':
		return SCREEN_ENTER;
	case 27:
		return SCREEN_ESCAPE;
	case 127:
	case 8:
		return SCREEN_BACKSPACE;
	default:
		return key;
	}
}

bool
fullscreen_key(uint32_t *ret_key, bool *ret_gone)
{
	struct pollfd fd = {.fd = STDIN_FILENO, .events = POLLIN};
	locale_t before = locale_on();
	wint_t key = 0;
	int r = full.lib->wget_wch(full.window, &key);

	locale_off(before);
	*ret_gone = false;
	if (r == ERR) {
		*ret_gone = poll(&fd, 1, 0) > 0 &&
			    (fd.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
		return false;
	}
	*ret_key = r == KEY_CODE_YES ? special(key) : character(key);
	return true;
}
