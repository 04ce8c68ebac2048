/* SPDX-License-Identifier: MIT */
/* watch_metrics.c -- watched processes in Prometheus' text format; see watch.h.
 *
 * Regions are told by kind, not one by one: a program with thousands of mappings must not
 * become thousands of time series. All are gauges. */
#include <inttypes.h>
#include <math.h>

#include "tool/render/watch/watch.h"

/* A label's value: backslash, quote and newline are escaped, other control bytes go. */
static void
add_label(struct buf *out, const char *name, const char *value)
{
	buf_printf(out, "%s=\"", name);
	for (const char *c = value; *c != '\0'; c++) {
		if (*c == '\\' || *c == '"')
			buf_add_char(out, '\\');
		if (*c == '\n')
			buf_add_str(out, "\\n");
		else if ((unsigned char)*c >= ' ' && *c != 0x7f)
			buf_add_char(out, *c);
	}
	buf_add_char(out, '"');
}

static void
begin(struct buf *out, const char *metric, const char *help)
{
	buf_printf(out, "# HELP seep_watch_%s %s\n# TYPE seep_watch_%s gauge\n", metric,
		   help, metric);
}

static void
add_name(struct buf *out, const char *metric, const struct watch_view *v)
{
	buf_printf(out, "seep_watch_%s{pid=\"%d\",", metric, v->pid);
	add_label(out, "name", v->name);
}

static void
add_value(struct buf *out, double x)
{
	if (isfinite(x))
		buf_printf(out, "} %.17g\n", x);
	else
		buf_add_str(out, isnan(x) ? "} NaN\n" : x > 0 ? "} +Inf\n" : "} -Inf\n");
}

static void
add_bytes(struct buf *out, uint64_t bytes)
{
	buf_printf(out, "} %" PRIu64 "\n", bytes);
}

static void
add_growth(struct buf *out, const struct watch_view *views, size_t n)
{
	begin(out, "growth_bytes_per_second",
	      "Slope of resident and swapped memory since watching began.");
	for (size_t i = 0; i < n; i++) {
		struct fit f = track_fit_total(views[i].track);

		add_name(out, "growth_bytes_per_second", &views[i]);
		add_value(out, fit_slope(&f, NULL));
	}
	begin(out, "growth_error_bytes_per_second", "Standard error of that slope.");
	for (size_t i = 0; i < n; i++) {
		struct fit f = track_fit_total(views[i].track);
		double error;

		fit_slope(&f, &error);
		add_name(out, "growth_error_bytes_per_second", &views[i]);
		add_value(out, error);
	}
	begin(out, "growing", "1 when a kind of memory grows by more than noise.");
	for (size_t i = 0; i < n; i++) {
		struct track_verdict d;

		track_judge(views[i].track, &d);
		add_name(out, "growing", &views[i]);
		add_bytes(out, d.word == TRACK_GROWING);
	}
}

static void
add_kinds(struct buf *out, const struct watch_view *views, size_t n)
{
	begin(out, "region_bytes", "Resident and swapped memory by kind of region.");
	for (size_t i = 0; i < n; i++) {
		const struct track *t = views[i].track;

		for (unsigned k = 0; k < REGION_KINDS && t->seconds.len > 0; k++) {
			uint64_t kib = *vec_last(&t->kinds[k]);

			if (kib == 0)
				continue;
			add_name(out, "region_bytes", &views[i]);
			buf_add_char(out, ',');
			add_label(out, "kind", region_kind_name(k));
			add_bytes(out, kib << 10);
		}
	}
}

static void
add_accounts(struct buf *out, const struct watch_view *views, size_t n)
{
	begin(out, "account_bytes", "Resident memory by kind of region.");
	for (size_t i = 0; i < n; i++) {
		const struct account *a = views[i].account;

		for (unsigned p = 0; a != NULL && p < ACCOUNT_PARTS; p++) {
			add_name(out, "account_bytes", &views[i]);
			buf_add_char(out, ',');
			add_label(out, "part", account_part_key(p));
			add_bytes(out, a->kib[p] << 10);
		}
	}
}

void
watch_metrics(struct buf *out, const struct watch_view *views, size_t n)
{
	begin(out, "rss_bytes", "Resident memory.");
	for (size_t i = 0; i < n; i++) {
		add_name(out, "rss_bytes", &views[i]);
		add_bytes(out, memmap_total_kib(views[i].map, MEMMAP_RSS) << 10);
	}
	begin(out, "swap_bytes", "Memory that is swapped out.");
	for (size_t i = 0; i < n; i++) {
		add_name(out, "swap_bytes", &views[i]);
		add_bytes(out, memmap_total_kib(views[i].map, MEMMAP_SWAP) << 10);
	}
	add_growth(out, views, n);
	add_kinds(out, views, n);
	add_accounts(out, views, n);
	begin(out, "limit_bytes",
	      "Memory limit of its control group, or of the machine.");
	for (size_t i = 0; i < n; i++) {
		add_name(out, "limit_bytes", &views[i]);
		add_bytes(out, views[i].limit_bytes);
	}
	begin(out, "limit_used_bytes", "What of that is taken, by all that share it.");
	for (size_t i = 0; i < n; i++) {
		add_name(out, "limit_used_bytes", &views[i]);
		add_bytes(out, views[i].limit_used_bytes);
	}
	begin(out, "seconds_to_limit", "Until the limit is reached at this growth.");
	for (size_t i = 0; i < n; i++) {
		struct fit f = track_fit_total(views[i].track);
		bool grows = fit_grows(&f, TRACK_STEP_BYTES);

		add_name(out, "seconds_to_limit", &views[i]);
		add_value(out, grows ? watch_room_bytes(&views[i]) / fit_slope(&f, NULL)
				     : INFINITY);
	}
}
