/* SPDX-License-Identifier: MIT */
/* screen_words.c -- the words of the first lines, as all reports have them. */
#include "tool/render/report/report.h"
#include "tool/render/screen/screen.h"
#include "tool/render/watch/watch.h"

_Static_assert((int)TOP_FRAMES == (int)REPORT_FRAMES, "sites are those of reports");

static const char *
keep(struct top_view *v, struct buf *b)
{
	const char *s = arena_memdup0(&v->text, buf_str(b), b->len);

	buf_done(b);
	return s;
}

static void
words_of_regions(struct watcher *w, struct top_view *v)
{
	struct watch_view x = watcher_view(w);
	struct track_verdict d;
	struct buf b = {0};

	track_judge(x.track, &d);
	v->word = track_answer(&d).word;
	watch_verdict(&b, &x);
	buf_add_char(&b, '\n');
	v->verdict = keep(v, &b);
	v->exact = "not recorded: memory by region";
	v->end = v->ended ? "the process has ended" : "";
}

void
screen_words(const struct top *t, struct top_view *v)
{
	struct report_headline h = {0};

	if (top_kind(t) == TOP_REGIONS) {
		words_of_regions(top_watcher(t), v);
		return;
	}
	report_headline(top_prof(t), top_skip(t), top_report_data(t), &h);
	v->word = top_report_data(t)->v.all.answer.word;
	v->verdict = keep(v, &h.verdict);
	v->exact = keep(v, &h.exact);
	if (v->kind == TOP_FILE || v->ended)
		v->end = keep(v, &h.end);
	buf_done(&h.end);
}
