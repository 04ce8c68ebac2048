/* SPDX-License-Identifier: MIT */
/* watch_json.c -- watched processes as one JSON object; see watch.h and docs/json.md. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/render/watch/watch.h"
#include "tool/util/json.h"

static void
member_kib(struct json *j, const char *name, uint64_t kib)
{
	json_member_u64(j, name, kib << 10);
}

/* Addresses are strings: JSON's readers lose bits of large numbers. */
static void
member_address(struct json *j, const char *name, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof text, "0x%" PRIx64, addr);
	json_member_str(j, name, text);
}

static void
add_fit(struct json *j, const struct fit *f)
{
	double error, slope = fit_slope(f, &error);

	json_member_f64(j, "growth_bytes_per_second", slope);
	json_member_f64(j, "growth_error", error);
	json_member_u64(j, "intervals", fit_intervals(f));
	json_member_u64(j, "intervals_grown", f->grown);
}

static void
add_verdict(struct json *j, const struct watch_view *v)
{
	struct verdict_answer a;
	struct track_verdict d;

	track_judge(v->track, &d);
	a = track_answer(&d);
	json_member_obj(j, "verdict");
	json_member_str(j, "word", verdict_word_name(a.word));
	json_member_str(j, "severity", verdict_severity_name(verdict_severity(a.word)));
	json_member_str(j, "no_verdict_because", verdict_why_name(a.why));
	json_member_str(j, "kind",
			d.word != TRACK_GROWING	 ? NULL
			: watch_is_beside(v, &d) ? region_kind_name(REGION_MAPPING)
						 : region_kind_name(d.kind));
	json_member_str(j, "region",
			d.row != SIZE_MAX ? v->track->rows.data[d.row].last.name : NULL);
	add_fit(j, &d.fit);
	json_member_f64(j, "detection_limit_bytes_per_second", d.limit);
	json_member_bool(j, "stopped", d.stopped);
	json_obj_end(j);
}

static void
add_regions(struct json *j, const struct watch_view *v)
{
	size_t *order = track_order(v->track);

	json_member_arr(j, "regions");
	for (size_t i = 0; i < v->track->rows.len; i++) {
		const struct track_row *r = &v->track->rows.data[order[i]];
		struct fit f = track_fit_row(v->track, order[i]);
		const uint64_t *kib = r->last.kib;

		if (r->kib.len == 0)
			continue; /* it is part of another one now */
		json_obj(j);
		json_member_str(j, "name", r->last.name);
		json_member_str(j, "kind", region_kind_name(r->last.kind));
		member_address(j, "start", r->last.start);
		member_address(j, "end", r->last.end);
		json_member_bool(j, "gone", r->gone);
		member_kib(j, "first_bytes", r->kib.data[0]);
		member_kib(j, "size_bytes", r->gone ? 0 : kib[MEMMAP_SIZE]);
		member_kib(j, "rss_bytes", r->gone ? 0 : kib[MEMMAP_RSS]);
		member_kib(j, "swap_bytes", r->gone ? 0 : kib[MEMMAP_SWAP]);
		member_kib(j, "private_dirty_bytes",
			   r->gone ? 0 : kib[MEMMAP_PRIVATE_DIRTY]);
		if (v->cold_seconds > 0)
			member_kib(j, "cold_bytes",
				   r->gone || kib[MEMMAP_RSS] < kib[MEMMAP_REFERENCED]
					   ? 0
					   : kib[MEMMAP_RSS] - kib[MEMMAP_REFERENCED]);
		add_fit(j, &f);
		json_obj_end(j);
	}
	json_arr_end(j);
	free(order);
}

/* The kernel's own rows, for whoever wants to check ours. */
static void
add_mappings(struct json *j, const struct watch_view *v)
{
	json_member_arr(j, "mappings");
	for (size_t i = 0; i < v->map->areas.len; i++) {
		const struct memmap_area *a = &v->map->areas.data[i];
		const struct region *r = &v->regions->list.data[v->regions->of_area[i]];

		json_obj(j);
		member_address(j, "start", a->start);
		member_address(j, "end", a->end);
		json_member_str(j, "perms", a->perms);
		json_member_str(j, "name", a->name);
		json_member_str(j, "region", r->name);
		json_member_u64(j, "size_kib", a->kib[MEMMAP_SIZE]);
		json_member_u64(j, "rss_kib", a->kib[MEMMAP_RSS]);
		json_member_u64(j, "dirty_kib",
				a->kib[MEMMAP_PRIVATE_DIRTY] +
					a->kib[MEMMAP_SHARED_DIRTY]);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
add_account(struct json *j, const struct watch_view *v)
{
	const struct account *a = v->account;

	json_key(j, "account");
	if (a == NULL) {
		json_null(j);
		return;
	}
	json_obj(j);
	member_kib(j, "rss_bytes", a->rss_kib);
	for (unsigned i = 0; i < ACCOUNT_PARTS; i++) {
		char key[48];

		snprintf(key, sizeof key, "%s_bytes", account_part_key(i));
		member_kib(j, key, a->kib[i]);
	}
	json_member_str(j, "told_by",
			a->told_by_malloc      ? "malloc"
			: a->told_by_recording ? "recording"
					       : NULL);
	json_member_bool(j, "estimate", a->estimate);
	json_obj_end(j);
}

static void
add_limit(struct json *j, const struct watch_view *v)
{
	struct fit f = track_fit_process(v->track, 0);
	double slope = fit_slope(&f, NULL);

	json_member_obj(j, "limit");
	json_member_u64_if(j, "bytes",
			   v->limit_bytes != 0 && v->limit_bytes != UINT64_MAX,
			   v->limit_bytes);
	json_member_u64(j, "used_bytes", v->limit_used_bytes);
	json_member_str(j, "cgroup", v->limit_machine ? NULL : v->limit_group);
	json_member_f64(j, "seconds_to_limit",
			fit_grows(&f, TRACK_STEP_BYTES) ? watch_room_bytes(v) / slope
							: NAN);
	json_obj_end(j);
}

static void
add_process(struct json *j, const struct watch_view *v)
{
	const struct track *t = v->track;

	json_obj(j);
	json_member_i64(j, "pid", v->pid);
	json_member_str(j, "name", v->name);
	json_member_u64(j, "up_ns", v->up_ns);
	json_member_u64(j, "threads", v->threads);
	json_member_bool(j, "ended", v->ended);
	add_verdict(j, v);
	json_member_arr(j, "snapshots");
	for (size_t i = 0; i < t->seconds.len; i++) {
		json_obj(j);
		json_member_f64(j, "seconds", t->seconds.data[i]);
		member_kib(j, "bytes", t->total.data[i]);
		json_obj_end(j);
	}
	json_arr_end(j);
	add_account(j, v);
	add_limit(j, v);
	json_member_f64(j, "cold_seconds", v->cold_seconds > 0 ? v->cold_seconds : NAN);
	add_regions(j, v);
	add_mappings(j, v);
	json_member_str(j, "coverage", v->coverage);
	json_member_str(j, "recorded", v->recorded);
	json_member_str(j, "next", v->next);
	json_obj_end(j);
}

void
watch_json(struct buf *out, const struct watch_view *views, size_t n)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_watch", 1);
	json_member_arr(&j, "processes");
	for (size_t i = 0; i < n; i++)
		add_process(&j, &views[i]);
	json_arr_end(&j);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
