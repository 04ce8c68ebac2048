/* SPDX-License-Identifier: MIT */
/* cmd_top.c -- `seep top`: the sites of a process, renewed every second, and for scripts
 * once. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/cli/top/top_screen.h"
#include "tool/render/report/report.h"
#include "tool/render/screen/screen.h"
#include "tool/render/watch/attach_foot.h"
#include "tool/session/top/top.h"
#include "tool/util/clean.h"
#include "tool/util/term.h"

enum {
	LINES = 24, /* of a screen that is no terminal */
	COLUMNS = 80,
	MOST_LINES = 10000,
	LEAST_EVERY_MS = 100,
};

struct top_args {
	uint64_t every_ns, rows;
	struct load_opts load;
	struct names_opts names;
	const char *since, *filter;
	enum screen_sort sort;
	bool once, json;
};

static int
top_set_sort(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	struct top_args *a = to;

	(void)o;
	for (int i = 0; i < SCREEN_SORTS; i++) {
		if (strcmp(v->text, screen_sort_names[i]) == 0) {
			a->sort = (enum screen_sort)i;
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		       "--sort: \"%s\" is not one of growth, live, rate, age and since",
		       v->text);
}

#define AT(member) .at = offsetof(struct top_args, member)

static const struct opt top_opts[] = {
	{"once", 0, OPT_NONE, AT(once),
	 .help = "Print the screen once as text, and exit."},
	{"every", 0, OPT_DURATION, AT(every_ns), .metavar = "TIME",
	 .help = "Renew the screen every TIME (1s)."},
	{"sort", 0, OPT_STRING, .set = top_set_sort, .metavar = "WHAT",
	 .help = "Sort by growth, live, rate (allocations per second), age (of the "
		 "oldest live block) or since (change since the mark) (growth)."},
	{"filter", 0, OPT_STRING, AT(filter), .metavar = "TEXT",
	 .help = "Show only sites whose function, file or caller contains TEXT."},
	{"since", 0, OPT_STRING, AT(since), .metavar = "MARK",
	 .help = "Show the change since MARK, a mark of the recording."},
	{"rows", 'n', OPT_U64, AT(rows), .metavar = "N",
	 .help = "With --once: print at most N sites (text: what fits on a screen; "
		 "JSON: all)."},
	LOAD_OPTS(offsetof(struct top_args, load)),
	NAMES_OPTS(offsetof(struct top_args, names)),
	CMD_COLOR_OPT,
	{"json", 0, OPT_NONE, AT(json), .help = "With --once: print JSON."},
	{0},
};

/* ---- once ---- */

/* The rows in colour. */
static void
add_coloured(struct buf *out, const struct cells *s, const struct term *term)
{
	for (unsigned row = 0; row < s->height; row++) {
		const struct cell *at = s->at + (size_t)row * s->width;
		unsigned end = cells_used(s, row), to;

		for (unsigned col = 0; col < end; col = to) {
			enum term_style style = (enum term_style)at[col].style;

			to = col + 1;
			while (to < end && at[to].style == at[col].style)
				to++;
			buf_add_str(out, term_on(term, style));
			cells_piece(out, s, row, col, to);
			if (style != TERM_PLAIN)
				buf_add_str(out, term_off(term));
		}
		buf_add_char(out, '\n');
	}
}

static unsigned
lines_of_screen(void)
{
	const char *env = getenv("LINES");
	unsigned long n = env != NULL ? strtoul(env, NULL, 10) : 0;

	return n >= SCREEN_LEAST_HEIGHT && n <= MOST_LINES ? (unsigned)n : LINES;
}

static void
print_text(const struct top_args *o, const struct top_view *v, const struct screen_ui *ui)
{
	unsigned width = COLUMNS, height = lines_of_screen();
	struct cells s = {0};
	struct buf b = {0};
	struct term term;

	term_init(&term, STDOUT_FILENO);
	if (term.columns >= SCREEN_LEAST_WIDTH)
		width = term.columns;
	if (o->rows > 0)
		height = screen_height(v, ui, width, o->rows);
	screen_draw(v, ui, width, height, &s);
	if (term.colour)
		add_coloured(&b, &s, &term);
	else
		cells_text(&b, &s);
	/* A screen has blank lines at its end, a text has not. */
	while (b.len > 1 && b.data[b.len - 2] == '\n')
		b.data[--b.len] = '\0';
	fputs(buf_str(&b), stdout);
	buf_done(&b);
	cells_done(&s);
}

static int
once(const struct top_args *o, struct top *t, const struct screen_ui *ui)
{
	struct top_view v = {0};
	struct buf b = {0};

	top_view(t, 0, &v);
	screen_words(t, &v);
	if (o->json) {
		screen_json(&b, &v, ui, o->rows);
		fputs(buf_str(&b), stdout);
	} else {
		print_text(o, &v, ui);
	}
	buf_done(&b);
	top_view_done(&v);
	return CMD_OK;
}

/* What we attached with goes again, and what that has cost is said. */
static int
detach(struct top *t)
{
	struct session *s = top_session(t);
	struct buf b = {0};
	bool out;

	if (s == NULL)
		return CMD_OK;
	out = top_detach(t);
	attach_foot(&b, s, true);
	fputs(buf_str(&b), stderr);
	buf_done(&b);
	return out ? CMD_OK : CMD_FAILED;
}

/* On the terminal. The last screen of a process that has ended stays there as text. */
static int
screen(const struct top_args *o, struct top *t, struct screen_ui *ui)
{
	struct err e = {0};
	int r = top_screen(t, ui, &e), status;

	status = detach(t);
	if (r < 0)
		return cmd_fail(&e);
	if (top_kind(t) != TOP_FILE && top_ended(t))
		once(o, t, ui);
	return status;
}

/* ---- all of it ---- */

static int
check_args(const struct top_args *o, struct err *e)
{
	if (o->json && !o->once)
		return err_set(e, -EINVAL, "--json is one answer: add --once");
	if (o->rows > 0 && !o->once)
		return err_set(e, -EINVAL,
			       "-n is for --once; the screen shows what fits");
	if (o->sort == SCREEN_SINCE && o->since == NULL)
		return err_set(e, -EINVAL, "--sort since: add --since MARK");
	if (o->every_ns < LEAST_EVERY_MS * UINT64_C(1000000))
		return err_set(e, -EINVAL, "--every: at least 100ms");
	return 0;
}

static int
top_run(void *opts, int argc, char **argv)
{
	struct top_args *o = opts;
	struct top_opts how = {.every_ms = o->once ? 0 : o->every_ns / 1000000,
			       .load = o->load,
			       .names = o->names,
			       .mark = o->since};
	struct screen_ui ui = {.sort = o->sort, .ascii = !report_locale_is_utf8()};
	struct top *t = NULL;
	struct err e = {0};
	int status;

	(void)argc;
	if (argv[0][0] == '\0')
		return cmd_empty_word(&cmd_top);
	if (check_args(o, &e) < 0)
		return cmd_usage(&cmd_top, "%s", e.msg);
	if (o->filter != NULL)
		snprintf(ui.filter, sizeof ui.filter, "%s", o->filter);
	how.load.exe = o->names.exe;
	if (top_open(argv[0], &how, &t, &e) < 0)
		return cmd_fail(&e);
	status = o->once ? once(o, t, &ui) : screen(o, t, &ui);
	top_close(t);
	return status;
}

static void
top_done(void *opts)
{
	struct top_args *o = opts;

	names_opts_done(&o->names);
}

const struct cmd cmd_top = {
	.name = "top",
	.args = "PID|NAME|RECORDING",
	.help = "show which sites grow, live on a screen that renews itself",
	.man = "seep-top",
	.opts = top_opts,
	.opts_bytes = sizeof(struct top_args),
	.defaults = &(const struct top_args){.every_ns = UINT64_C(1000000000),
					     .load = LOAD_OPTS_NONE},
	.done = top_done,
	.min_args = 1,
	.max_args = 1,
	.run = top_run,
};
