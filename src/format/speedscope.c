/* SPDX-License-Identifier: MIT */
/* speedscope.c -- a profile as speedscope's JSON:
 * https://www.speedscope.app/file-format-schema.json
 *
 * One profile for each figure there is, live bytes first unless another was asked for,
 * and one list of frames for all of them. Figures below 0 are left out: speedscope
 * refuses them. */
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "emit_frame.h"
#include "format_save.h"
#include "model/prof.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/json.h"
#include "util/x.h"

#ifndef SEEP_VERSION
#	define SEEP_VERSION "unknown"
#endif

struct speed_view {
	const char *name;
	enum emit_value value;
	bool objects;
};

static const struct speed_view speed_views[] = {
	{"live bytes", EMIT_LIVE, false},
	{"live blocks", EMIT_LIVE, true},
	{"bytes at the peak", EMIT_PEAK, false},
	{"blocks at the peak", EMIT_PEAK, true},
	{"allocated bytes", EMIT_ALLOCATED, false},
	{"allocations", EMIT_ALLOCATED, true},
	{"temporary bytes", EMIT_TEMPORARY, false},
	{"temporary allocations", EMIT_TEMPORARY, true},
};

struct speed_out {
	const struct prof *p;
	const struct format_save_opts *o;
	struct emit_out *out;
	struct err *e;
	struct emit_stacks s;
	struct emit_path path;
	int64_t *sums;
	struct json j;
	int r;
};

static void
speed_frames(struct speed_out *w)
{
	json_key(&w->j, "shared");
	json_obj(&w->j);
	json_key(&w->j, "frames");
	json_arr(&w->j);
	/* Frame 0 here is row 1 there. */
	for (uint32_t i = 1; i < strtab_count(&w->s.keys); i++) {
		struct emit_frame f = emit_stacks_frame(&w->s, i);

		json_obj(&w->j);
		json_key(&w->j, "name");
		json_str(&w->j, strtab_str(&w->s.names, f.name));
		if (f.file != 0 || f.module != 0) {
			json_key(&w->j, "file");
			json_str(&w->j, prof_text(w->p, f.file != 0 ? f.file : f.module));
		}
		json_obj_end(&w->j);
	}
	json_arr_end(&w->j);
	json_obj_end(&w->j);
}

/* Sums of all stacks; returns that of what is written. */
static int64_t
speed_sum(struct speed_out *w, const struct speed_view *v)
{
	const struct prof *p = w->p;
	int64_t total = 0;

	memset(w->sums, 0, w->s.nodes.len * sizeof *w->sums);
	for (uint32_t i = 1; i < p->nsites; i++) {
		int64_t *sum = &w->sums[w->s.of_site[i]];

		*sum = emit_sum(*sum, emit_figure(&p->sites[i], v->value, v->objects));
	}
	for (uint32_t i = 0; i < w->s.nodes.len; i++) {
		if (w->sums[i] > 0)
			total = emit_sum(total, w->sums[i]);
		else if (w->sums[i] < 0)
			emit_left_out(w->o);
	}
	return total;
}

static void
speed_profile(struct speed_out *w, const struct speed_view *v)
{
	int64_t total = speed_sum(w, v);
	struct json *j = &w->j;

	json_obj(j);
	json_key(j, "type");
	json_str(j, "sampled");
	json_key(j, "name");
	json_str(j, v->name);
	json_key(j, "unit");
	json_str(j, v->objects ? "none" : "bytes");
	json_key(j, "startValue");
	json_i64(j, 0);
	json_key(j, "endValue");
	json_i64(j, total);
	json_key(j, "samples");
	json_arr(j);
	for (uint32_t i = 0; i < w->s.nodes.len && w->r == 0; i++) {
		if (w->sums[i] <= 0)
			continue;
		emit_stacks_path(&w->s, i, &w->path);
		json_arr(j);
		for (size_t k = 0; k < w->path.len; k++)
			json_u64(j, w->path.data[k] - 1);
		json_arr_end(j);
		w->r = emit_flush(w->out, false, w->e);
	}
	json_arr_end(j);
	json_key(j, "weights");
	json_arr(j);
	for (uint32_t i = 0; i < w->s.nodes.len; i++) {
		if (w->sums[i] > 0)
			json_i64(j, w->sums[i]);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void
speed_profiles(struct speed_out *w)
{
	enum emit_value value = emit_choose(w->p, w->o);
	unsigned active = 0, n = 0;

	json_key(&w->j, "profiles");
	json_arr(&w->j);
	for (size_t i = 0; i < ARRAY_LEN(speed_views); i++) {
		const struct speed_view *v = &speed_views[i];

		if (!emit_has(w->p, v->value))
			continue;
		if (v->value == value && v->objects == w->o->objects)
			active = n;
		n++;
		speed_profile(w, v);
	}
	json_arr_end(&w->j);
	json_key(&w->j, "activeProfileIndex");
	json_u64(&w->j, active);
}

static int
speedscope_save(const struct prof *p, const struct format_save_opts *o,
		struct emit_out *out, struct err *e)
{
	struct speed_out w = {.p = p, .o = o, .out = out, .e = e};

	emit_stacks_init(&w.s, p, o, EMIT_BY_FILE);
	w.sums = xcalloc(w.s.nodes.len, sizeof *w.sums);
	json_init(&w.j, out->buf);
	json_obj(&w.j);
	json_key(&w.j, "$schema");
	json_str(&w.j, "https://www.speedscope.app/file-format-schema.json");
	json_key(&w.j, "exporter");
	json_str(&w.j, "seep@" SEEP_VERSION);
	speed_frames(&w);
	speed_profiles(&w);
	json_obj_end(&w.j);
	buf_add_char(out->buf, '\n');
	free(w.sums);
	vec_done(&w.path);
	emit_stacks_done(&w.s);
	return w.r;
}

const struct format_writer emit_speedscope = {
	.name = "speedscope",
	.what = "speedscope JSON",
	.endings = ".speedscope.json .speedscope",
	.write = speedscope_save,
};
