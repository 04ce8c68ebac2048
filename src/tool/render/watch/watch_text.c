/* SPDX-License-Identifier: MIT */
/* watch_text.c -- a watched process for people; see watch.h. */
#include "tool/render/watch/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/growth/forecast.h"
#include "tool/analyze/process/outgrowth.h"
#include "tool/render/figure.h"
#include "tool/render/growth_text.h"
#include "tool/render/wrap.h"
#include "tool/util/fmt.h"

double
watch_room_bytes(const struct watch_view *v)
{
	return v->limit_bytes > v->limit_used_bytes
		       ? (double)(v->limit_bytes - v->limit_used_bytes)
		       : 0;
}

/* How long it was watched, as text. */
static struct fmt_str
watch_span(const struct watch_view *v)
{
	const struct track *t = v->track;
	double seconds =
		t->seconds.len > 1 ? *vec_last(&t->seconds) - t->seconds.data[0] : 0;

	return fmt_duration((uint64_t)(seconds * 1e9));
}

/* ---- verdict ---- */

/* "about 28 h" until `bytes` are used up; "" when that is not in sight. */
static struct figure_str
until_text(double bytes, double bytes_per_second)
{
	struct figure_str f = {""};
	double seconds = forecast_seconds(bytes, bytes_per_second);

	if (seconds > 0)
		snprintf(f.s, sizeof f.s, "about %s",
			 fmt_duration((uint64_t)(seconds * 1e9)).s);
	return f;
}

static struct figure_str
limit_text(double bytes_per_second)
{
	struct figure_str f = {"any rate"};

	if (bytes_per_second < 1e15)
		snprintf(f.s, sizeof f.s, "%s/min",
			 fmt_size((uint64_t)(bytes_per_second * 60 + 0.5)).s);
	return f;
}

/* Is it malloc's memory that grows, and less than a quarter of that growth live? */
static bool
is_kept(const struct watch_view *v, const struct track_verdict *d)
{
	double live, freed, grown = d->fit.last_v - d->fit.first_v;

	if (v->account == NULL || !v->account->told_by_malloc ||
	    !outgrowth_is_mallocs(d->kind))
		return false;
	live = (double)v->account->kib[ACCOUNT_LIVE] * 1024;
	freed = (double)v->account->kib[ACCOUNT_FREED] * 1024;
	return live < grown / 4 && freed >= grown / 2;
}

bool
watch_is_beside(const struct watch_view *v, const struct track_verdict *d)
{
	const struct account *a = v->account;
	double malloced;

	if (a == NULL || !a->told_by_malloc || !region_is_guessed(d->kind))
		return false;
	malloced = (double)(a->kib[ACCOUNT_LIVE] + a->kib[ACCOUNT_FREED]) * 1024;
	return malloced < (d->fit.last_v - d->fit.first_v) / 2;
}

static void
add_growing(struct buf *out, const struct watch_view *v, const struct track_verdict *d)
{
	double error, slope = fit_slope(&d->fit, &error);
	struct fit all = track_fit_process(v->track, d->from);
	struct figure_str until = until_text(watch_room_bytes(v), fit_slope(&all, NULL));

	if (is_kept(v, d)) {
		buf_add_str(out, OUTGROWTH_KEPT);
	} else if (watch_is_beside(v, d)) {
		buf_add_str(out, region_kind_plural(REGION_MAPPING));
	} else if (d->row != SIZE_MAX) {
		const struct region *r = &v->track->rows.data[d->row].last;
		bool runtime = region_runtime(r->kind) != RUNTIMES;

		if (runtime)
			buf_printf(out, "%s (", region_kind_plural(r->kind));
		clean_text(out, r->name);
		if (runtime)
			buf_add_char(out, ')');
	} else
		buf_printf(out, "%s (%u)", region_kind_plural(d->kind), d->regions);
	buf_printf(out, " %s, grew in %zu of %zu intervals",
		   growth_text_rate(slope, error, false).s, d->fit.grown,
		   fit_intervals(&d->fit));
	if (d->from > 0)
		buf_printf(out, " in the last %s",
			   fmt_duration((uint64_t)(fit_span(&d->fit) * 1e9)).s);
	if (is_kept(v, d))
		buf_printf(out, " (only %s is live, so it is fragmentation: %s)",
			   fmt_size(v->account->kib[ACCOUNT_LIVE] << 10).s,
			   OUTGROWTH_KEPT_REMEDY);
	if (until.s[0] != '\0')
		buf_printf(out, "; %s of %s reached in %s",
			   v->limit_machine ? "the machine's memory" : "memory limit",
			   fmt_size(v->limit_bytes).s, until.s);
	buf_printf(out, "; under %s would not show", limit_text(d->limit).s);
}

static uint64_t
row_now_kib(const struct track_row *r)
{
	return r->gone ? 0 : r->last.kib[MEMMAP_RSS] + r->last.kib[MEMMAP_SWAP];
}

static int64_t
row_change(const struct track_row *r)
{
	uint64_t first = r->kib.len > 0 ? r->kib.data[0] : 0;

	return ((int64_t)row_now_kib(r) - (int64_t)first) * 1024;
}

/* The largest region of fixed size that became fuller; or NULL. */
static const struct track_row *
filling_row(const struct watch_view *v)
{
	const struct track_row *most = NULL;

	for (size_t i = 0; i < v->track->rows.len; i++) {
		const struct track_row *r = &v->track->rows.data[i];

		if (r->fills && !r->gone && row_change(r) > 0 &&
		    (most == NULL || row_change(r) > row_change(most)))
			most = r;
	}
	return most;
}

static void
add_filling(struct buf *out, const struct track_row *r)
{
	buf_add_str(out, "nothing grows without a limit; ");
	clean_text(out, r->last.name);
	buf_printf(out, " fills up (%s of %s)", fmt_size(row_now_kib(r) << 10).s,
		   fmt_size(r->last.kib[MEMMAP_SIZE] << 10).s);
}

/* "60s", "20m": ten times as long as it was watched, and a minute at least. */
static void
add_longer(struct buf *out, const struct track_verdict *d)
{
	uint64_t longer = (uint64_t)fit_span(&d->fit) * 10;

	if (longer < 60)
		longer = 60;
	if (longer >= 600)
		buf_printf(out, "%" PRIu64 "m", longer / 60);
	else
		buf_printf(out, "%" PRIu64 "s", longer);
}

static void
add_unclear(struct buf *out, const struct watch_view *v, const struct track_verdict *d)
{
	size_t intervals = fit_intervals(&d->fit);

	if (d->row != SIZE_MAX)
		clean_text(out, v->track->rows.data[d->row].last.name);
	else
		buf_add_str(out, region_kind_plural(d->kind));
	buf_printf(out,
		   " grew in %zu of %zu intervals, too %s to distinguish growth from a "
		   "step",
		   d->fit.grown, intervals, intervals < 10 ? "few" : "unevenly");
	if (v->ended)
		return;
	buf_add_str(out, "; use seep watch --for ");
	add_longer(out, d);
	buf_printf(out, " %d", v->pid);
}

static void
add_steady(struct buf *out, const struct watch_view *v, const struct track_verdict *d)
{
	const struct track_row *filling = filling_row(v);

	if (d->stopped)
		buf_add_str(out, "it grew at first, but not any more");
	else if (filling != NULL)
		add_filling(out, filling);
	else
		buf_add_str(out, "no region grows");
	buf_printf(out, "; growth under %s would not show in %s", limit_text(d->limit).s,
		   fmt_duration((uint64_t)(fit_span(&d->fit) * 1e9)).s);
	if (v->ended)
		return;
	buf_add_str(out, ", use --for ");
	add_longer(out, d);
}

void
watch_verdict(struct buf *out, const struct watch_view *v)
{
	struct track_verdict d;

	track_judge(v->track, &d);
	buf_printf(out, "%s  ", verdict_word_name(track_answer(&d).word));
	switch (d.word) {
	case TRACK_GROWING:
		add_growing(out, v, &d);
		break;
	case TRACK_STEADY:
		add_steady(out, v, &d);
		break;
	case TRACK_UNCLEAR:
		add_unclear(out, v, &d);
		break;
	default:
		buf_printf(out,
			   "%zu snapshot%s cannot show growth, three can; use seep watch "
			   "--count 10 %d",
			   v->track->seconds.len, v->track->seconds.len == 1 ? "" : "s",
			   v->pid);
	}
}

static enum term_style
verdict_style(const struct watch_view *v)
{
	struct track_verdict d;

	track_judge(v->track, &d);
	return d.word == TRACK_GROWING	? TERM_WARN
	       : d.word == TRACK_STEADY ? TERM_GOOD
					: TERM_BOLD;
}

/* ---- regions ---- */

static bool
changed(const struct track_row *r)
{
	for (size_t i = 1; i < r->kib.len; i++) {
		if (r->kib.data[i] != r->kib.data[0])
			return true;
	}
	return false;
}

static void
add_row(struct buf *out, const struct watch_view *v, size_t row)
{
	const struct track_row *r = &v->track->rows.data[row];
	struct fit f = track_fit_row(v->track, row);
	double error, slope = fit_slope(&f, &error);
	size_t from = out->len;

	buf_add_str(out, "  ");
	if (changed(r) && v->track->seconds.len > 1)
		buf_add_str(out, growth_text_rate(slope, error, false).s);
	figure_pad(out, from, 28, 1);
	from = out->len;
	buf_add_str(out, fmt_size(row_now_kib(r) << 10).s);
	figure_pad(out, from, 10, 1);
	from = out->len;
	buf_add_str(out, fmt_size_signed(row_change(r)).s);
	figure_pad(out, from, 11, 1);
	clean_text(out, r->last.name);
	if (r->gone)
		buf_add_str(out, "  gone");
	else if (r->kib.len > 0 && r->kib.data[0] == 0 && row_change(r) > 0)
		buf_add_str(out, "  new");
	else if (f.grown > 0)
		buf_printf(out, "  grew in %zu of %zu", f.grown, fit_intervals(&f));
	if (v->cold_seconds > 0 && !r->gone) {
		uint64_t rss = r->last.kib[MEMMAP_RSS];
		uint64_t used = r->last.kib[MEMMAP_REFERENCED];

		if (rss > used)
			buf_printf(out, "  %s cold", fmt_percent(rss - used, rss).s);
	}
	buf_add_char(out, '\n');
}

static void
add_left_out(struct buf *out, size_t n, uint64_t kib, const char *words)
{
	if (n > 0)
		buf_printf(out, "  %zu %s%s with %s (--all)\n", n, words,
			   n == 1 ? "" : "s", fmt_size(kib << 10).s);
}

/* Rows worth a line: that changed. The largest too, where a number of rows was asked for,
 * or how cold they are, or nothing can have changed yet. */
static void
add_rows(struct buf *out, const struct watch_view *v, const struct watch_opts *o)
{
	bool largest =
		o->all || o->rows > 0 || v->cold_seconds > 0 || v->track->seconds.len < 2;
	size_t *order = track_order(v->track), shown = 0, more = 0, same = 0;
	size_t most = o->rows > 0 ? o->rows : WATCH_ROWS;
	uint64_t rest = 0, same_kib = 0;

	for (size_t i = 0; i < v->track->rows.len; i++) {
		const struct track_row *r = &v->track->rows.data[order[i]];

		if (r->kib.len == 0 || (row_now_kib(r) == 0 && !changed(r)))
			continue;
		if (!largest && !changed(r)) {
			same++;
			same_kib += row_now_kib(r);
		} else if (o->all || shown < most) {
			if (shown++ == 0)
				buf_printf(out, "  %-25s %-9s %-10s %s\n", "growth",
					   "RSS", "change", "region");
			add_row(out, v, order[i]);
		} else {
			more++;
			rest += row_now_kib(r);
		}
	}
	add_left_out(out, more, rest, "more region");
	add_left_out(out, same, same_kib, "unchanged region");
	free(order);
}

/* ---- account ---- */

/* The unit in which the whole is told, and how many KiB it is. */
static const char *
account_unit(uint64_t kib, double *ret_kib)
{
	if (kib >= (1 << 20)) {
		*ret_kib = 1 << 20;
		return "GiB";
	}
	*ret_kib = kib >= 1024 ? 1024 : 1;
	return kib >= 1024 ? "MiB" : "KiB";
}

void
watch_account(struct buf *out, const struct account *a)
{
	double unit;
	const char *name = account_unit(a->rss_kib, &unit);
	const char *between = " = ";

	buf_printf(out, "RSS %.2f %s", (double)a->rss_kib / unit, name);
	for (unsigned i = 0; i < ACCOUNT_PARTS; i++) {
		if ((double)a->kib[i] / unit < 0.005 && i != ACCOUNT_UNEXPLAINED)
			continue;
		buf_printf(out, "%s%s %.2f", between, account_part_name(i),
			   (double)a->kib[i] / unit);
		between = " + ";
	}
	buf_add_char(out, '\n');
}

enum { KEPT_LEAST_KIB = 1024 };

/* Where most of it is free, it is neither live nor lost. Growth of such memory has its
 * own words. */
static void
add_kept(struct buf *out, const struct watch_view *v)
{
	const struct account *a = v->account;
	uint64_t kept = a->kib[ACCOUNT_FREED];
	struct track_verdict d;

	track_judge(v->track, &d);
	if (kept < KEPT_LEAST_KIB || kept < a->rss_kib / 2 || d.word == TRACK_GROWING)
		return;
	buf_printf(out, "%s of it is free memory that malloc keeps, not a leak: %s\n",
		   fmt_percent(kept, a->rss_kib).s, OUTGROWTH_KEPT_REMEDY);
}

static void
add_account(struct buf *out, const struct watch_view *v)
{
	const struct account *a = v->account;

	watch_account(out, a);
	if (a->told_by_malloc)
		buf_printf(out,
			   "live and freed are from malloc's own lists: %u arena%s%s\n",
			   v->heap->arenas, v->heap->arenas == 1 ? "" : "s",
			   a->kib[ACCOUNT_MALLOC] > a->rss_kib / 50
				   ? "; it changed while they were read"
				   : "");
	else if (a->told_by_recording)
		buf_printf(out, "live is what seep recorded%s\n",
			   a->estimate ? ", an estimate" : "");
	else if (a->kib[ACCOUNT_MALLOC] > 0)
		buf_printf(out, "cannot separate live memory from freed: %s\n",
			   v->heap != NULL && v->heap->why[0] != '\0'
				   ? v->heap->why
				   : "malloc is not glibc's");
	add_kept(out, v);
}

/* ---- all of it ---- */

static void
add_about(struct buf *out, const struct watch_view *v)
{
	size_t n = v->track->seconds.len;

	buf_printf(out, "pid %d (", v->pid);
	clean_text(out, v->name);
	buf_printf(out, "), up %s, %u thread%s \xc2\xb7 %zu snapshot%s in %s",
		   fmt_duration(v->up_ns).s, v->threads, v->threads == 1 ? "" : "s", n,
		   n == 1 ? "" : "s", watch_span(v).s);
	if (v->limit_bytes != 0 && v->limit_bytes != UINT64_MAX)
		buf_printf(out, " \xc2\xb7 %s %s, %s used",
			   v->limit_machine ? "no limit, machine has" : "limit",
			   fmt_size(v->limit_bytes).s,
			   fmt_percent(v->limit_used_bytes, v->limit_bytes).s);
	if (v->ended)
		buf_add_str(out, " \xc2\xb7 it has ended");
	buf_add_char(out, '\n');
	if (v->cold_seconds > 0)
		buf_printf(out, "cold: not touched in the last %s\n",
			   fmt_duration((uint64_t)(v->cold_seconds * 1e9)).s);
}

void
watch_text(struct buf *out, const struct watch_view *v, const struct watch_opts *o)
{
	size_t from = out->len, below;

	if (o->term != NULL)
		buf_add_str(out, term_on(o->term, verdict_style(v)));
	watch_verdict(out, v);
	if (o->term != NULL)
		buf_add_str(out, term_off(o->term));
	buf_add_char(out, '\n');
	wrap_term(out, from, o->term);
	add_rows(out, v, o);
	below = out->len;
	if (v->account != NULL && !o->brief)
		add_account(out, v);
	add_about(out, v);
	if (o->coverage && v->recorded != NULL)
		buf_printf(out, "recorded by seep: %s\n", v->recorded);
	else if (o->coverage)
		buf_add_str(out, "not recorded by seep\n");
	if (v->coverage != NULL && !o->brief) {
		buf_add_str(out, "coverage: ");
		clean_text(out, v->coverage);
		buf_add_char(out, '\n');
	}
	if (v->next != NULL && !o->brief && !v->ended) {
		buf_add_str(out, "next: ");
		clean_text(out, v->next);
		buf_add_char(out, '\n');
	}
	wrap_term(out, below, o->term);
	if (o->ascii)
		figure_to_ascii(out, from);
}

void
watch_line(struct buf *out, const struct watch_view *v, const char *when)
{
	const struct track *t = v->track;
	uint64_t now = t->total.len > 0 ? *vec_last(&t->total) : 0;
	uint64_t first = t->total.len > 0 ? t->total.data[0] : 0;
	int64_t most = 0;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < t->rows.len; i++) {
		int64_t change = row_change(&t->rows.data[i]);

		if (t->rows.data[i].kib.len > 0 && change > most) {
			most = change;
			best = i;
		}
	}
	buf_printf(out, "%s  %d  RSS %s  %s", when, v->pid, fmt_size(now << 10).s,
		   fmt_size_signed(((int64_t)now - (int64_t)first) * 1024).s);
	if (best != SIZE_MAX) {
		buf_printf(out, "  most: %s ", fmt_size_signed(most).s);
		clean_text(out, t->rows.data[best].last.name);
	}
	if (v->limit_bytes != 0 && v->limit_bytes != UINT64_MAX && !v->limit_machine)
		buf_printf(out, "  %s of limit",
			   fmt_percent(v->limit_used_bytes, v->limit_bytes).s);
}
