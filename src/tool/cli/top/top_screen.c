/* SPDX-License-Identifier: MIT */
/* top_screen.c -- see top_screen.h. */
#include "tool/cli/top/top_screen.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tool/cli/term/fullscreen.h"
#include "tool/cli/term/status_line.h"
#include "tool/session/loop.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/cmdline/note.h"

#define MS UINT64_C(1000000)

enum {
	TICK_MS = 100, /* until it is seen that a look is due, at most */
	ATTACHED_TICK_MS = 10,
};

struct top_live {
	struct top *t;
	struct top_view v;
	struct screen_ui *ui;
	unsigned width, height;
	bool dirty; /* the screen is not what it should be */
};

/* What is remarked while the screen is on goes to its last line. */
static struct screen_ui *note_taker;

static void
take_note(const char *text)
{
	if (note_taker != NULL)
		snprintf(note_taker->message, sizeof note_taker->message, "%s", text);
}

/* From then on. */
static void
print_note(const char *text)
{
	cmd_note("%s", text);
}

static void
say(struct top_live *x, const char *text)
{
	snprintf(x->ui->message, sizeof x->ui->message, "%s", text);
	x->dirty = true;
}

/* ---- what there is to see ---- */

static void
renew(struct top_live *x)
{
	top_view(x->t, x->ui->open, &x->v);
	screen_words(x->t, &x->v);
	if (x->v.mark == NULL && x->ui->sort == SCREEN_SINCE && x->v.kind != TOP_REGIONS)
		x->ui->sort = SCREEN_GROWTH;
	x->dirty = true;
}

static void
show(struct top_live *x)
{
	struct cells s = {0};

	fullscreen_size(&x->width, &x->height);
	screen_draw(&x->v, x->ui, x->width, x->height, &s);
	fullscreen_show(&s);
	cells_done(&s);
	x->dirty = false;
}

static int
look(struct top_live *x, struct err *e)
{
	int r = top_look(x->t, e);

	if (r == 0)
		renew(x);
	return r;
}

/* ---- keys ---- */

static void
set_mark(struct top_live *x)
{
	struct err e = {0};
	char name[32];

	snprintf(name, sizeof name, "top%zu", x->v.marks.len + 1);
	if (top_mark(x->t, name, &e) < 0) {
		say(x, e.msg);
		return;
	}
	renew(x);
}

static void
compare(struct top_live *x)
{
	struct err e = {0};

	if (top_compare(x->t, screen_next_mark(&x->v), &e) < 0)
		say(x, e.msg);
	else
		renew(x);
}

static void
ask(struct top_live *x)
{
	struct err e = {0};
	uint64_t ns = 0;

	if (top_may_attach(x->t, &ns, &e) < 0) {
		say(x, e.msg);
		return;
	}
	x->ui->attach_ms = (unsigned)(ns / MS) + 1;
	x->ui->asking = true;
}

static int
attach(struct top_live *x, struct err *e)
{
	struct err refused = {0};

	if (top_attach(x->t, &refused) < 0) {
		if (top_session(x->t) != NULL) {
			*e = refused;
			return e->code;
		}
		say(x, refused.msg);
		return LOOP_GO_ON;
	}
	x->ui->selected = 0;
	x->ui->sort = SCREEN_GROWTH;
	renew(x);
	return LOOP_GO_ON;
}

static int
obey(struct top_live *x, enum screen_act act, struct err *e)
{
	switch (act) {
	case SCREEN_QUIT:
		return LOOP_END;
	case SCREEN_MARK:
		set_mark(x);
		break;
	case SCREEN_COMPARE:
		compare(x);
		break;
	case SCREEN_LOOK:
		return look(x, e);
	case SCREEN_ASK:
		ask(x);
		break;
	case SCREEN_ATTACH:
		return attach(x, e);
	default:
		break;
	}
	return LOOP_GO_ON;
}

static int
read_keys(struct top_live *x, struct err *e)
{
	uint32_t key;
	bool gone;
	int r = LOOP_GO_ON;

	while (r == LOOP_GO_ON && fullscreen_key(&key, &gone)) {
		uint64_t open = x->ui->open;

		r = obey(x, screen_key(x->ui, &x->v, key, x->height), e);
		if (r == LOOP_GO_ON && open != x->ui->open)
			renew(x);
		x->dirty = true;
	}
	return r == LOOP_GO_ON && gone ? LOOP_END : r;
}

/* ---- the loop ---- */

static int
on_signal(struct top_live *x, int sig)
{
	switch (sig) {
	case SIGTSTP:
		/* A recorder that hears nothing of us switches itself off. */
		if (top_session(x->t) != NULL)
			say(x, "attached: leave with q, not with Ctrl-Z");
		else
			fullscreen_suspend();
		break;
	case SIGWINCH:
	case SIGCONT:
		fullscreen_renew();
		break;
	default:
		return LOOP_END;
	}
	x->dirty = true;
	return LOOP_GO_ON;
}

static int
step(void *ctx, struct loop *l, const struct loop_event *ev, struct err *e)
{
	struct top_live *x = ctx;
	int r = LOOP_GO_ON;

	l->tick_ns = (top_session(x->t) != NULL ? ATTACHED_TICK_MS : TICK_MS) * MS;
	if (top_session(x->t) != NULL)
		top_tick(x->t);
	if (ev->sig != 0)
		r = on_signal(x, ev->sig);
	if (r == LOOP_GO_ON && ev->input)
		r = read_keys(x, e);
	if (r == LOOP_GO_ON && !x->ui->frozen && top_due(x->t))
		r = look(x, e);
	if (r == LOOP_GO_ON && x->dirty)
		show(x);
	return r;
}

static int
run(struct top_live *x, const sigset_t *signals, struct err *e)
{
	static const int input = STDIN_FILENO;
	struct loop l = {.tick_ns = MS,
			 .signals = signals,
			 .input = &input,
			 .step = step,
			 .ctx = x};

	return loop_run(&l, e);
}

/* Each look needs as much memory as the one before: pages that go back to the system and
 * come again would be half of what a look costs. */
static void
keep_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

int
top_screen(struct top *t, struct screen_ui *ui, struct err *e)
{
	struct top_live x = {.t = t, .ui = ui};
	sigset_t signals, before;
	int r;

	loop_ending(&signals);
	sigaddset(&signals, SIGTSTP);
	sigaddset(&signals, SIGCONT);
	sigaddset(&signals, SIGWINCH);
	sigprocmask(SIG_BLOCK, &signals, &before);
	r = fullscreen_begin(e);
	if (r == 0) {
		keep_memory();
		ui->interactive = true;
		note_taker = ui;
		note_to(take_note);
		doing_to(NULL);
		renew(&x);
		r = run(&x, &signals, e);
		fullscreen_end();
		doing_to(status_line);
		note_to(print_note);
		note_taker = NULL;
		ui->interactive = false;
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	top_view_done(&x.v);
	return r;
}
