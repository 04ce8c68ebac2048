/* SPDX-License-Identifier: MIT */
/* screen_json.c -- the view for scripts; docs/json.md has the members. */
#include <stdlib.h>

#include "tool/render/figure.h"
#include "tool/render/screen/screen.h"
#include "tool/util/json.h"

static const char *const kinds[] = {
	[TOP_LIVE] = "live", [TOP_FILE] = "recording", [TOP_REGIONS] = "regions"};

static void
add_row(struct json *j, const struct top_view *v, const struct top_row *r)
{
	bool sites = v->kind != TOP_REGIONS, change = !sites || v->mark != NULL;

	json_obj(j);
	json_member_str(j, sites ? "function" : "region", r->name);
	if (sites) {
		json_member_str(j, "where", r->where);
		json_member_str(j, "caller", r->caller);
		json_member_bool(j, "kept_by_libc", r->kept);
		json_member_str(j, "verdict", screen_verdict_name(r));
	}
	json_key(j, "growth_bytes_per_s");
	if (r->has_rate)
		json_f64(j, r->slope);
	else
		json_null(j);
	json_key(j, "growth_error");
	if (r->has_rate)
		json_f64(j, r->error);
	else
		json_null(j);
	json_member_i64(j, sites ? "live_bytes" : "resident_bytes", r->live_bytes);
	json_member_i64_if(j, "change_bytes", change, r->live_bytes - r->mark_bytes);
	if (sites) {
		json_member_i64(j, "live_blocks", r->live_blocks);
		json_member_f64(j, "live_bytes_error", figure_sqrt(r->var_live_bytes));
		json_member_u64(j, "allocs", r->allocs);
		json_member_u64(j, "frees", r->frees);
		json_member_f64(j, "allocs_per_s", r->allocs_per_s);
		json_member_u64_if(j, "oldest_ms", r->age_ms != TOP_AGE_UNKNOWN,
				   r->age_ms);
	}
	json_obj_end(j);
}

static void
add_head(struct json *j, const struct top_view *v)
{
	json_member_u64(j, "seep_json", JSON_SCHEMA);
	json_member_str(j, "kind", kinds[v->kind]);
	json_member_str(j, "name", v->name);
	json_member_u64_if(j, "pid", v->pid != 0, (uint64_t)v->pid);
	json_member_bool(j, "ended", v->ended || v->kind == TOP_FILE);
	json_member_bool(j, "sampled", v->sampled);
	json_member_u64(j, v->kind == TOP_REGIONS ? "up_ms" : "recorded_ms",
			v->recorded_ms);
	json_member_str(j, "verdict", verdict_word_name(v->word));
	json_member_str(j, "severity", verdict_severity_name(verdict_severity(v->word)));
	json_member_u64_if(j, "rss_bytes", v->rss_kib > 0, v->rss_kib << 10);
}

void
screen_json(struct buf *out, const struct top_view *v, const struct screen_ui *ui,
	    uint64_t rows)
{
	uint32_t *order;
	size_t n = screen_order(v, ui, &order), most = rows > 0 && rows < n ? rows : n;
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	add_head(&j, v);
	if (v->kind != TOP_REGIONS) {
		json_member_i64(&j, "live_bytes", v->live_bytes);
		json_member_i64(&j, "live_blocks", v->live_blocks);
		json_member_f64(&j, "live_bytes_error", figure_sqrt(v->var_live_bytes));
		json_member_i64(&j, "peak_bytes", v->peak_bytes);
		json_member_u64(&j, "allocs", v->allocs);
		json_member_u64(&j, "frees", v->frees);
		json_member_f64(&j, "allocs_per_s", v->allocs_per_s);
		json_member_str(&j, "since_mark", v->mark);
	}
	json_member_arr(&j, "children");
	for (size_t i = 0; i < v->children.len; i++)
		json_u64(&j, (uint64_t)v->children.data[i]);
	json_arr_end(&j);
	json_member_str(&j, "sorted_by", screen_sort_names[ui->sort]);
	json_member_arr(&j, "rows");
	for (size_t i = 0; i < most; i++)
		add_row(&j, v, &v->rows.data[order[i]]);
	json_arr_end(&j);
	json_member_u64(&j, "rows_not_listed", n - most);
	json_obj_end(&j);
	buf_add_char(out, '\n');
	free(order);
}
