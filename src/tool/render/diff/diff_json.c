/* SPDX-License-Identifier: MIT */
/* diff_json.c -- a comparison as one JSON object; docs/json.md has the schema.
 *
 * Every place is there, folded or not, with the whole stack that reports show. */
#include "shared/compiler.h"
#include "tool/render/diff/diff_page.h"
#include "tool/render/figure.h"
#include "tool/util/json.h"

static void
dj_str(struct json *j, const char *key, const char *s)
{
	json_member_str(j, key, s != NULL && s[0] != '\0' ? s : NULL);
}

static void
dj_error(struct json *j, const char *key, double var)
{
	json_member_f64(j, key, figure_sqrt(var));
}

static void
dj_frame(struct json *j, const struct prof *p, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos);
	const struct prof_loc *l = skip_loc(p, pos);

	json_obj(j);
	dj_str(j, "function", f != NULL ? prof_text(p, f->function) : NULL);
	dj_str(j, "file", f != NULL ? prof_text(p, f->file) : NULL);
	json_key(j, "line");
	if (f != NULL && f->line != 0)
		json_u64(j, f->line);
	else
		json_null(j);
	dj_str(j, "module", prof_text(p, p->modules[l->module].path));
	json_member_u64_if(j, "offset", l->kind == PROF_LOC_CODE && l->offset >> 63 == 0,
			   l->offset);
	json_obj_end(j);
}

/* The figures of a place, or of all. */
static void
dj_figures(struct json *j, const int64_t *value, const int64_t *beside, double var)
{
	json_member_i64(j, "before", value[DIFF_OLD]);
	json_member_i64(j, "after", value[DIFF_NEW]);
	json_member_i64(j, "change", diff_less(value[DIFF_NEW], value[DIFF_OLD]));
	dj_error(j, "change_error", var);
	json_member_i64(j, "beside_before", beside[DIFF_OLD]);
	json_member_i64(j, "beside_after", beside[DIFF_NEW]);
	json_member_i64(j, "beside_change",
			diff_less(beside[DIFF_NEW], beside[DIFF_OLD]));
}

static void
dj_place(struct json *j, const struct diff_place *x, const struct diff_opts *o)
{
	unsigned side = x->there[DIFF_NEW] ? DIFF_NEW : DIFF_OLD;
	struct skip_pos pos;

	json_obj(j);
	dj_str(j, "mark", diff_mark_name(x->mark));
	dj_str(j, "growth",
	       x->growth != GROWTH_UNKNOWN ? growth_word_name(x->growth) : NULL);
	dj_figures(j, x->value, x->beside, x->var);
	json_member_i64(j, "lost_bytes", x->lost_bytes);
	json_member_i64(j, "lost_blocks", x->lost_blocks);
	json_member_i64(j, "allocs", (int64_t)x->allocs);
	json_member_i64(j, "frees", (int64_t)x->frees);
	json_member_bool(j, "noise", x->noise);
	json_member_bool(j, "lines_moved", x->moved);
	dj_str(j, "kept_by_libc", x->kept);
	json_member_arr(j, "stack");
	if (x->node[side] != 0) {
		pos = skip_first(o->skip[side], x->node[side]);
		do {
			dj_frame(j, o->p[side], pos);
		} while (skip_next(o->skip[side], &pos));
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void
dj_side(struct json *j, const char *key, const struct diff_opts *o, unsigned side)
{
	const struct prof *p = o->p[side];

	json_member_obj(j, key);
	dj_str(j, "target", o->target[side]);
	dj_str(j, "format", p->format != 0 ? prof_text(p, p->format) : "seep");
	json_member_i64(j, "processes", (int64_t)p->nprocesses - 1);
	json_member_i64(j, "missed", (int64_t)diff_missed(p));
	json_member_arr(j, "damage");
	for (uint32_t i = 0; i < p->ndamages; i++) {
		json_obj(j);
		dj_str(j, "what", prof_text(p, p->damages[i].what));
		json_member_i64(j, "count", (int64_t)p->damages[i].count);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void
dj_common(struct json *j, const struct diff *d, const struct diff_opts *o)
{
	static const char *const builds[] = {[DIFF_BUILD_UNKNOWN] = NULL,
					     [DIFF_BUILD_SAME] = "same",
					     [DIFF_BUILD_OTHER] = "rebuilt",
					     [DIFF_BUILD_FOREIGN] = "another program"};
	const struct prof *p = o->p[DIFF_NEW];

	json_member_bool(j, "sampled", d->sampled);
	json_key(j, "same_process");
	if (d->process_known)
		json_bool(j, d->same_process || d->apart);
	else
		json_null(j);
	dj_str(j, "build", builds[d->build]);
	json_member_arr(j, "rebuilt");
	for (uint32_t i = 0; i < d->nrebuilt; i++)
		json_str(j, prof_text(p, p->modules[d->rebuilt[i]].path));
	json_arr_end(j);
	json_member_i64(j, "lines_moved", d->nmoved);
	json_member_i64(j, "series", o->series > 2 ? o->series : 0);
	json_key(j, "scale");
	if (d->scale > 0)
		json_f64(j, d->scale);
	else
		json_null(j);
	json_member_u64_if(j, "ms", d->has_ms, d->ms);
	json_key(j, "peak_bytes");
	if (d->has_peaks) {
		json_arr(j);
		json_i64(j, d->peak[DIFF_OLD]);
		json_i64(j, d->peak[DIFF_NEW]);
		json_arr_end(j);
	} else {
		json_null(j);
	}
	json_key(j, "rss_bytes");
	if (d->has_rss) {
		json_arr(j);
		json_u64(j, d->rss_kib[DIFF_OLD] << 10);
		json_u64(j, d->rss_kib[DIFF_NEW] << 10);
		json_arr_end(j);
	} else {
		json_null(j);
	}
}

void
diff_json(struct buf *out, const struct diff *d, const struct diff_opts *o)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_json", JSON_SCHEMA);
	dj_str(&j, "verdict", verdict_word_name(d->answer.word));
	dj_str(&j, "severity", verdict_severity_name(verdict_severity(d->answer.word)));
	dj_str(&j, "no_verdict_because", verdict_why_name(d->answer.why));
	json_member_i64(&j, "lost_bytes", d->lost_bytes);
	json_member_i64(&j, "lost_blocks", d->lost_blocks);
	json_member_i64_if(&j, "limit_bytes", d->limit > 0, (int64_t)d->limit);
	dj_str(&j, "by", sites_by_names[o->by]);
	dj_str(&j, "unit", d->in_bytes ? "bytes" : "count");
	dj_str(&j, "beside", d->in_bytes ? "blocks" : "bytes");
	json_member_obj(&j, "total");
	dj_figures(&j, d->value, d->beside, d->var);
	json_obj_end(&j);
	dj_common(&j, d, o);
	dj_side(&j, "old", o, DIFF_OLD);
	dj_side(&j, "new", o, DIFF_NEW);
	json_member_arr(&j, "places");
	for (uint32_t i = 0; i < d->nplaces; i++)
		dj_place(&j, &d->places[i], o);
	json_arr_end(&j);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
