/* SPDX-License-Identifier: MIT */
/* screen_keys.c -- what keys do, the list of them, and the last line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/render/screen/screen_impl.h"
#include "tool/render/wrap.h"
#include "tool/util/fmt.h"

enum {
	PAGE_REST = 12, /* lines of a screen that are not rows, about */
	LAST_LINES = 4, /* for a message, at most */
};

/* ---- moving ---- */

/* Selects the row that is `by` rows further on, as far as there are rows. */
static void
move(struct screen_ui *ui, const struct top_view *v, int64_t by)
{
	uint32_t *order;
	size_t n = screen_order(v, ui, &order);
	int64_t at = 0;

	for (size_t i = 0; i < n; i++) {
		if (v->rows.data[order[i]].id == ui->selected)
			at = (int64_t)i;
	}
	at += by;
	if (at >= (int64_t)n)
		at = (int64_t)n - 1;
	if (at < 0)
		at = 0;
	if (n > 0)
		ui->selected = v->rows.data[order[at]].id;
	if (ui->open != 0 && n > 0) {
		ui->scroll = ui->open == ui->selected ? ui->scroll : 0;
		ui->open = ui->selected;
	}
	free(order);
}

static void
open_or_close(struct screen_ui *ui, const struct top_view *v)
{
	if (v->kind == TOP_REGIONS) {
		snprintf(ui->message, sizeof ui->message,
			 "regions have no stacks; a: attach, to see who allocates");
		return;
	}
	if (ui->open != 0) {
		ui->open = 0;
		return;
	}
	move(ui, v, 0);
	ui->open = ui->selected;
	ui->scroll = 0;
}

/* ---- typing the filter ---- */

static void
type(struct screen_ui *ui, uint32_t key)
{
	size_t n = strlen(ui->filter);

	switch (key) {
	case SCREEN_ENTER:
		ui->typing = false;
		return;
	case SCREEN_ESCAPE:
		ui->typing = false;
		ui->filter[0] = '\0';
		return;
	case SCREEN_BACKSPACE:
		if (n > 0)
			ui->filter[n - 1] = '\0';
		return;
	}
	if (key >= ' ' && key < 0x7f && n + 1 < sizeof ui->filter) {
		ui->filter[n] = (char)key;
		ui->filter[n + 1] = '\0';
	}
}

/* ---- all keys ---- */

const char *
screen_next_mark(const struct top_view *v)
{
	size_t n = v->marks.len;

	if (v->mark == NULL)
		return n > 0 ? v->marks.data[n - 1].name : NULL;
	for (size_t i = n; i > 1; i--) {
		if (strcmp(v->marks.data[i - 1].name, v->mark) == 0)
			return v->marks.data[i - 2].name;
	}
	return NULL;
}

static void
next_sort(struct screen_ui *ui, const struct top_view *v)
{
	do {
		ui->sort = (ui->sort + 1) % SCREEN_SORTS;
	} while (
		(ui->sort == SCREEN_SINCE && v->mark == NULL && v->kind != TOP_REGIONS) ||
		(v->kind == TOP_REGIONS &&
		 (ui->sort == SCREEN_RATE || ui->sort == SCREEN_AGE)));
}

static bool
moves(struct screen_ui *ui, const struct top_view *v, uint32_t key, unsigned height)
{
	int64_t page = height > PAGE_REST + 1 ? height - PAGE_REST : 1;

	switch (key) {
	case SCREEN_UP:
	case 'k':
		move(ui, v, -1);
		return true;
	case SCREEN_DOWN:
	case 'j':
		move(ui, v, 1);
		return true;
	case SCREEN_PAGE_UP:
		move(ui, v, -page);
		return true;
	case SCREEN_PAGE_DOWN:
		move(ui, v, page);
		return true;
	case SCREEN_HOME:
	case 'g':
		move(ui, v, INT32_MIN);
		return true;
	case SCREEN_END:
	case 'G':
		move(ui, v, INT32_MAX);
		return true;
	}
	return false;
}

/* A key that stops at what it finds: a question, a help page, a filter, open stacks. */
static void
escape(struct screen_ui *ui)
{
	if (ui->help)
		ui->help = false;
	else if (ui->open != 0)
		ui->open = 0;
	else
		ui->filter[0] = '\0';
}

static enum screen_act
ask(struct screen_ui *ui, const struct top_view *v)
{
	if (v->kind == TOP_REGIONS && !v->ended)
		return SCREEN_ASK;
	snprintf(ui->message, sizeof ui->message, "%s",
		 v->ended	       ? "the process has ended"
		 : v->kind == TOP_FILE ? "this is a finished recording"
				       : "the process is recorded already");
	return SCREEN_NOTHING;
}

static enum screen_act
other_key(struct screen_ui *ui, const struct top_view *v, uint32_t key)
{
	switch (key) {
	case 'q':
		return SCREEN_QUIT;
	case 's':
		next_sort(ui, v);
		return SCREEN_NOTHING;
	case '/':
		ui->typing = true;
		return SCREEN_NOTHING;
	case '?':
	case 'h':
		ui->help = !ui->help;
		return SCREEN_NOTHING;
	case 'p':
		ui->frozen = !ui->frozen && v->kind != TOP_FILE && !v->ended;
		return ui->frozen ? SCREEN_NOTHING : SCREEN_LOOK;
	case 'm':
		return SCREEN_MARK;
	case 'd':
		if (v->marks.len == 0)
			snprintf(ui->message, sizeof ui->message,
				 "there is no mark; m sets one");
		return v->marks.len > 0 ? SCREEN_COMPARE : SCREEN_NOTHING;
	case 'a':
		return ask(ui, v);
	case SCREEN_ENTER:
		open_or_close(ui, v);
		return SCREEN_NOTHING;
	case SCREEN_ESCAPE:
		escape(ui);
		return SCREEN_NOTHING;
	case '[':
		ui->scroll -= ui->scroll > 0;
		return SCREEN_NOTHING;
	case ']':
		ui->scroll += ui->scroll < screen_stack_lines(v);
		return SCREEN_NOTHING;
	}
	return SCREEN_NOTHING;
}

enum screen_act
screen_key(struct screen_ui *ui, const struct top_view *v, uint32_t key, unsigned height)
{
	ui->message[0] = '\0';
	if (ui->asking) {
		ui->asking = false;
		return key == 'y' || key == 'Y' ? SCREEN_ATTACH : SCREEN_NOTHING;
	}
	if (ui->typing) {
		type(ui, key);
		return SCREEN_NOTHING;
	}
	if (ui->help && key != 'q') {
		ui->help = false;
		return SCREEN_NOTHING;
	}
	if (moves(ui, v, key, height))
		return SCREEN_NOTHING;
	return other_key(ui, v, key);
}

/* ---- what is shown of them ---- */

void
screen_help(struct drawing *d)
{
	static const char *const keys[][2] = {
		{"up down, k j", "select a site; PageUp, PageDown, Home, End"},
		{"Enter",
		 "show the stacks of the site and their source lines, or hide them"},
		{"[ ]", "scroll the stacks"},
		{"s",
		 "sort by growth, live, rate of allocations, age, change since mark"},
		{"/", "show only sites whose function, file or caller contains a text"},
		{"p", "freeze the screen, or go on; the process is not stopped"},
		{"m", "set a mark, and show the change since then"},
		{"d", "compare with an older mark, and at last with none"},
		{"a", "attach to a process that is not recorded (asks first)"},
		{"Esc", "close the stacks, clear the filter"},
		{"q, Ctrl-C", "leave; Ctrl-Z suspends"},
	};

	for (size_t i = 0; i < ARRAY_LEN(keys) && d->row < d->end; i++) {
		struct pen p = pen_at(d->s, d->row++);

		pen_text(&p, "  ");
		p.style = TERM_BOLD;
		pen_left(&p, keys[i][0], 14);
		p.style = TERM_PLAIN;
		pen_left(&p, keys[i][1], p.end > p.col ? p.end - p.col : 0);
	}
	if (d->row + 1 < d->end) {
		struct pen p = pen_at(d->s, d->row + 1);

		d->row += 2;
		pen_text(&p,
			 "  \xe2\x97\x8f leak or likely leak   \xe2\x97\x90 growing   "
			 "\xe2\x97\x8b steady   any key: back");
	}
}

static void
question(char *ret, size_t size, const struct drawing *d)
{
	snprintf(ret, size,
		 "Inject the recorder into %d? 2 stops of ~%u ms; removed on quit. y/n",
		 d->v->pid, d->ui->attach_ms);
}

/* What the end of the screen says, and how. */
static enum term_style
last_text(const struct drawing *d, char *ret, size_t size)
{
	const struct top_view *v = d->v;
	enum term_style style = TERM_BOLD;

	if (d->ui->asking) {
		question(ret, size, d);
	} else if (d->ui->typing) {
		snprintf(ret, size, "/%s_", d->ui->filter);
	} else if (d->ui->message[0] != '\0') {
		snprintf(ret, size, "%s", d->ui->message);
	} else if (v->ended) {
		snprintf(ret, size,
			 "the process has ended: this is its last state   %sq:quit",
			 v->kind == TOP_REGIONS ? "" : "Enter:stacks  s:sort  ");
	} else {
		snprintf(ret, size, "%s",
			 v->kind == TOP_REGIONS
				 ? "a:attach  s:sort  /:filter  p:freeze  ?:keys  q:quit"
				 : "Enter:stacks  s:sort  /:filter  p:freeze  m:mark  "
				   "d:diff  ?:keys  q:quit");
		style = TERM_DIM;
	}
	return style;
}

/* A message that says what to do is worth more than one line. */
static enum term_style
wrap_last(const struct drawing *d, struct buf *ret)
{
	char text[sizeof d->ui->message];
	enum term_style style = last_text(d, text, sizeof text);

	buf_add_str(ret, text);
	buf_add_char(ret, '\n');
	if (d->ui->message[0] != '\0' && !d->ui->asking && !d->ui->typing)
		wrap_text(ret, 0, d->s->width);
	return style;
}

unsigned
screen_last_lines(const struct drawing *d)
{
	struct buf b = {0};
	unsigned n = 0;

	wrap_last(d, &b);
	for (const char *at = buf_str(&b); *at != '\0'; at++)
		n += *at == '\n';
	buf_done(&b);
	return n < LAST_LINES ? n : LAST_LINES;
}

void
screen_last(struct drawing *d)
{
	struct buf b = {0};
	enum term_style style = wrap_last(d, &b);
	char *at = b.data;

	for (unsigned i = 0; i < LAST_LINES && *at != '\0'; i++) {
		char *end = strchrnul(at, '\n');
		struct pen p = pen_at(d->s, d->row++);

		p.style = style;
		if (*end != '\0')
			*end++ = '\0';
		pen_left(&p, at, d->s->width);
		at = end;
	}
	buf_done(&b);
}
