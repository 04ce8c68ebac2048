/* SPDX-License-Identifier: MIT */
/* screen.h -- the screen of `seep top`: what it looks like, and what its keys do.
 *
 * screen_draw is a pure function of a view (top_view.h), of what the user chose, and of
 * the size: the same screen goes to a terminal, to the text of --once and to tests.
 * screen_key changes only what the user chose; what has to be done elsewhere is
 * returned. */
#ifndef SEEP_RENDER_SCREEN_H
#define SEEP_RENDER_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/render/screen/screen_cells.h"
#include "tool/session/top/top.h"
#include "tool/session/top/top_view.h"

enum screen_sort {
	SCREEN_GROWTH = 0,
	SCREEN_LIVE,
	SCREEN_RATE,  /* of allocations */
	SCREEN_AGE,   /* of the oldest live block */
	SCREEN_SINCE, /* the mark */
	SCREEN_SORTS,
};

extern const char *const screen_sort_names[SCREEN_SORTS];

enum { SCREEN_LEAST_WIDTH = 40, SCREEN_LEAST_HEIGHT = 10, SCREEN_TEXT = 64 };

/* What the user chose; zeroed at first. */
struct screen_ui {
	enum screen_sort sort;
	uint64_t selected; /* id of a row; 0 = the first one */
	uint64_t open;	   /* id of the row whose stacks are shown; 0 = none */
	unsigned scroll;   /* lines of the stacks that are above the window */
	bool interactive;  /* keys are shown, and which row is selected */
	bool ascii;
	bool frozen, help;
	bool typing; /* the filter is being typed */
	bool asking; /* whether to attach */
	char filter[SCREEN_TEXT];
	char message[512];  /* until the next key */
	unsigned attach_ms; /* how long attaching is expected to stop the process */
};

/* Keys that are no characters. */
enum screen_special {
	SCREEN_UP = 0x110000,
	SCREEN_DOWN,
	SCREEN_PAGE_UP,
	SCREEN_PAGE_DOWN,
	SCREEN_HOME,
	SCREEN_END,
	SCREEN_ENTER,
	SCREEN_ESCAPE,
	SCREEN_BACKSPACE,
};

/* What a key asks for. */
enum screen_act {
	SCREEN_NOTHING = 0,
	SCREEN_QUIT,
	SCREEN_MARK,	/* set a mark, and compare with it */
	SCREEN_COMPARE, /* with the next mark, see screen_next_mark */
	SCREEN_ASK,	/* whether to attach: what is expected must be filled in */
	SCREEN_ATTACH,
	SCREEN_LOOK, /* at once */
};

enum screen_act screen_key(struct screen_ui *ui, const struct top_view *v, uint32_t key,
			   unsigned height);

/* The mark after the one that the view is compared with, oldest last; NULL = none. */
const char *screen_next_mark(const struct top_view *v);

/* Rows that pass the filter, in the order asked for: places in v->rows. Their number; the
 * caller frees *ret. */
size_t screen_order(const struct top_view *v, const struct screen_ui *ui,
		    uint32_t **ret_order);

/* Draws into `ret`, which is made anew; free with cells_done. */
void screen_draw(const struct top_view *v, const struct screen_ui *ui, unsigned width,
		 unsigned height, struct cells *ret);

/* Lines of the whole screen when `rows` rows are to be on it. */
unsigned screen_height(const struct top_view *v, const struct screen_ui *ui,
		       unsigned width, uint64_t rows);

/* Fills in the words that reports use: verdict, how exact, how it ended. */
void screen_words(const struct top *t, struct top_view *v);

/* Appends the view as one JSON object; at most `rows` rows, 0 = all. */
void screen_json(struct buf *out, const struct top_view *v, const struct screen_ui *ui,
		 uint64_t rows);

/* The word of a row in JSON, NULL for none. */
const char *screen_verdict_name(const struct top_row *r);

#endif
