/* SPDX-License-Identifier: MIT */
/* leak_gate.c -- see leak_gate.h.
 *
 * A baseline is a recording, or what --json wrote about one: the former can be asked
 * anything, the latter is small enough to be kept beside the tests. Both give the same
 * places. */
#include "tool/compat/leaks/leak_gate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/verdict/report_data.h"
#include "tool/compat/leaks/leak_opts.h"
#include "tool/compat/leaks/leak_report.h"
#include "tool/format/format.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/leaks/junit.h"
#include "tool/session/log_name.h"
#include "tool/session/names/names.h"
#include "tool/session/out_file.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/json.h"
#include "tool/util/json_read.h"
#include "tool/util/x.h"

enum { BASELINE_BYTES_MAX = 256 << 20 };

/* ---- baseline ---- */

/* The names on a site's stack as far as it is shown, as judge.c joins them. */
static void
json_key_of(const struct json_tree *t, const struct json_value *const *frames,
	    size_t nframes, const struct json_value *site, struct buf *ret)
{
	uint64_t from = json_u64_of(json_get(t, site, "shown_from")), n = 0;
	uint64_t shown = json_u64_of(json_get(t, site, "shown"));
	const struct json_value *at = json_first(t, json_get(t, site, "stack"));

	buf_clear(ret);
	for (; at != NULL && n < from + shown; at = json_next(t, at), n++) {
		uint64_t frame = json_u64_of(at);
		const char *name = NULL;

		if (n < from)
			continue;
		if (frame < nframes)
			name = json_text_of(json_get(t, frames[frame], "linkage"));
		buf_printf(ret, "%s%s", ret->len > 0 ? ";" : "",
			   name != NULL ? name : "?");
	}
}

static void
json_losses(struct leak_gate *g, const struct json_tree *t, const struct json_value *site,
	    const char *key)
{
	const struct json_value *leaks = json_get(t, site, "leaks");

	for (unsigned i = 0; i < PROF_LOSS_KINDS; i++) {
		char name[32];
		uint64_t blocks, bytes;

		snprintf(name, sizeof name, "%s_blocks", loss_kind_names[i]);
		blocks = json_u64_of(json_get(t, leaks, name));
		snprintf(name, sizeof name, "%s_bytes", loss_kind_names[i]);
		bytes = json_u64_of(json_get(t, leaks, name));
		if (blocks > 0)
			judge_places_add(&g->base_places, key, i, blocks, bytes);
	}
	/* Of a report that was itself made with a baseline. */
	judge_places_add(&g->base_places, key, PROF_LOSS_DEFINITE,
			 json_u64_of(json_get(t, leaks, "known_blocks")),
			 json_u64_of(json_get(t, leaks, "known_bytes")));
}

static void
json_figures(struct judge_figures *f, const struct json_tree *t)
{
	const struct json_value *top = &t->values.data[0];
	const struct json_value *summary = json_get(t, top, "summary");
	const struct json_value *p = json_first(t, json_get(t, top, "processes"));
	const struct json_value *error = json_first(t, json_get(t, top, "errors"));

	f->left_bytes = json_u64_of(json_get(t, summary, "left_bytes"));
	f->left_blocks = json_u64_of(json_get(t, summary, "left_blocks"));
	f->allocs = json_u64_of(json_get(t, summary, "allocs"));
	f->allocated_bytes = json_u64_of(json_get(t, summary, "allocated_bytes"));
	for (; error != NULL; error = json_next(t, error)) {
		const struct json_value *hidden = json_get(t, error, "suppressed");

		f->wrong += hidden == NULL || hidden->type != JSON_TRUE;
	}
	for (; p != NULL; p = json_next(t, p)) {
		uint64_t peak = json_u64_of(json_get(t, p, "peak_bytes"));
		uint64_t rss = json_u64_of(
			json_get(t, json_get(t, p, "memory"), "rss_peak_bytes"));

		if (peak > f->peak_bytes)
			f->peak_bytes = peak;
		if (rss > f->rss_bytes)
			f->rss_bytes = rss;
	}
}

/* Figures of a baseline mean the same in all versions so far. */
static bool
json_known_schema(const struct json_tree *t, const struct json_value *top)
{
	uint64_t version = json_u64_of(json_get(t, top, "seep_json"));

	return version >= 1 && version <= JSON_SCHEMA;
}

/* A site that is not in the baseline would count as new, so what counts has to be
 * there. */
static bool
json_lists_losses(const struct leak_opts *l, const struct json_tree *t,
		  const struct json_value *top)
{
	const struct json_value *rest = json_get(t, top, "sites_not_listed");
	const struct json_value *leaks = json_get(t, rest, "leaks");
	unsigned kinds = l->error_kinds | 1u << PROF_LOSS_DEFINITE |
			 1u << PROF_LOSS_INDIRECT | 1u << PROF_LOSS_POSSIBLE;

	for (size_t i = 0; i < l->gate.judge.len; i++) {
		if (strncmp(l->gate.judge.data[i].text, "reachable", 9) == 0)
			kinds |= 1u << PROF_LOSS_REACHABLE;
	}
	for (unsigned i = 0; i < PROF_LOSS_SUPPRESSED; i++) {
		char name[32];

		snprintf(name, sizeof name, "%s_blocks", loss_kind_names[i]);
		if ((kinds & 1u << i) != 0 && json_u64_of(json_get(t, leaks, name)) > 0)
			return false;
	}
	return true;
}

static int
read_json(struct leak_opts *l, const struct buf *text, const char *path, struct err *e)
{
	const struct json_value *top, *at;
	VEC(const struct json_value *) frames = {0};
	struct buf key = {0};
	struct json_tree t;
	int r = json_read(&t, buf_str(text), text->len, e);

	top = &t.values.data[0];
	if (r < 0)
		err_wrap(e, r, "%s: no recording, and no JSON either", path);
	else if (!json_known_schema(&t, top))
		r = err_set(e, -EINVAL, "%s: not a JSON report of seep's (--json)", path);
	else if (!json_lists_losses(l, &t, top))
		r = err_set(
			e, -EINVAL,
			"%s: leaking sites beyond the first ones are not in it; make it with "
			"--all, or use the recording itself",
			path);
	if (r == 0) {
		for (at = json_first(&t, json_get(&t, top, "frames")); at != NULL;
		     at = json_next(&t, at))
			vec_push(&frames, at);
		json_figures(&l->gate.base_figures, &t);
		for (at = json_first(&t, json_get(&t, top, "sites")); at != NULL;
		     at = json_next(&t, at)) {
			if (json_text_of(json_get(&t, at, "kept_by_libc")) != NULL)
				continue;
			json_key_of(&t, frames.data, frames.len, at, &key);
			json_losses(&l->gate, &t, at, buf_str(&key));
		}
	}
	vec_done(&frames);
	buf_done(&key);
	json_tree_done(&t);
	return r;
}

/* What is hidden today was nothing to complain of then. The uses are not those of the
 * run. */
static void
suppress_baseline(struct leak_opts *l, struct prof *p, const struct skip *s)
{
	struct suppress_set *set = &l->set;
	size_t bytes = set->order.len * sizeof *set->order.data;
	uint32_t *order = xmalloc(bytes + 1);

	if (bytes > 0)
		memcpy(order, set->order.data, bytes);
	leak_report_suppress(l, p, s);
	if (bytes > 0)
		memcpy(set->order.data, order, bytes);
	for (size_t i = 0; i < set->all.len; i++) {
		struct suppress *x = &set->all.data[i];

		x->count = x->bytes = x->blocks = x->indirect_bytes = 0;
	}
	free(order);
}

static int
read_baseline(struct leak_opts *l, const char *path, struct err *e)
{
	struct prof *p = NULL;
	struct buf text = {0};
	struct skip *s;
	size_t blanks;
	int r = file_read(path, BASELINE_BYTES_MAX, &text, e);

	if (r < 0)
		return r;
	blanks = strspn(buf_str(&text), " \t\r\n");
	if (buf_str(&text)[blanks] == '{') {
		r = read_json(l, &text, path, e);
	} else {
		r = format_load_bytes(text.data, text.len, path, NULL, &p, e);
		if (r == 0) {
			names_resolve(p, NULL);
			s = skip_new(p, NULL);
			suppress_baseline(l, p, s);
			judge_sum(p, s, NULL, &l->records, &l->gate.base_figures,
				  &l->gate.base_places);
			skip_free(s);
		}
		prof_free(p);
	}
	buf_done(&text);
	l->gate.has_baseline = r == 0;
	return r;
}

int
leak_gate_read(const struct cmd *c, struct leak_opts *l)
{
	struct err e = {0};
	const char *text = l->fail_on;

	if (text == NULL && l->baseline != NULL)
		text = "leak";
	if (text != NULL && judge_read(&l->gate.judge, text, &e) < 0)
		return cmd_usage(c, "--fail-on: %s", e.msg);
	if (l->baseline != NULL && read_baseline(l, l->baseline, &e) < 0) {
		cmd_tell(c, "--baseline: %s", e.msg);
		return CMD_USAGE;
	}
	return 0;
}

bool
leak_gate_given(const struct leak_gate *g)
{
	return g->judge.len > 0;
}

bool
leak_gate_needs_check(const struct leak_gate *g)
{
	for (size_t i = 0; i < g->judge.len; i++) {
		if (g->judge.data[i].losses)
			return true;
	}
	return false;
}

const char *
leak_gate_blind(const struct leak_gate *g, const struct prof *p, const struct skip *s,
		const bool *chosen)
{
	const struct report_query q = {.chosen = chosen, .everyone = true};
	struct report_data d;
	bool checked = false, undecided;

	if (!leak_gate_needs_check(g))
		return NULL;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_check *c = prof_check_of(p, i);

		checked = checked ||
			  ((chosen == NULL || chosen[i]) && c != NULL && c->done);
	}
	if (!checked)
		return "no process was checked for leaks";
	report_data_init(&d, p, s, &q);
	undecided = d.v.all.answer.word == VERDICT_NO_VERDICT;
	report_data_done(&d);
	return undecided ? "the verdict is NO VERDICT" : NULL;
}

/* ---- judging ---- */

bool
leak_gate_mark_known(const struct leak_gate *g, struct prof *p, const struct skip *s)
{
	if (g->has_baseline)
		judge_mark_known(p, s, &g->base_places);
	return g->has_baseline;
}

unsigned
leak_gate_judge(struct leak_opts *l, const struct prof *p, const struct skip *s,
		const bool *chosen)
{
	struct leak_gate *g = &l->gate;
	struct judge_figures f;
	struct judge_places places = {0};
	unsigned met;

	judge_sum(p, s, chosen, &l->records, &f, g->has_baseline ? &places : NULL);
	if (g->has_baseline)
		judge_subtract(&f, &places, &g->base_figures, &g->base_places);
	for (unsigned i = 0; i < PROF_LOSS_SUPPRESSED; i++) {
		if ((l->error_kinds & 1u << i) != 0)
			f.errors += f.records[i];
	}
	f.errors += f.wrong;
	for (size_t i = 0; i < g->judge.len; i++)
		g->judge.data[i].more = g->has_baseline;
	met = judge_all(&g->judge, &f);
	judge_places_done(&places);
	return met;
}

const struct judge *
leak_gate_result(const struct leak_gate *g)
{
	return g->judge.len > 0 ? &g->judge : NULL;
}

void
leak_gate_tell(const struct leak_gate *g)
{
	for (size_t i = 0; i < g->judge.len; i++) {
		const struct judge_condition *x = &g->judge.data[i];
		struct buf words = {0};

		judge_words(&words, x);
		if (x->met)
			cmd_note("--fail-on %s: %s", x->text, buf_str(&words));
		buf_done(&words);
	}
}

bool
leak_gate_junit(const struct leak_opts *l, const struct prof *p, const struct skip *s,
		const bool *chosen, const struct memcheck_opts *o)
{
	struct junit_opts more = {.baseline = l->gate.has_baseline,
				  .blind =
					  leak_gate_blind(&l->gate, p, s, chosen) != NULL,
				  .implied = l->fail_on == NULL};
	struct memcheck_opts own = *o;
	struct buf b = {0};
	struct err e = {0};
	char *name = NULL;

	if (l->junit == NULL)
		return true;
	/* Possibly lost memory is no finding, unless it is asked for as valgrind does. */
	if (l->errors == NULL && l->format == LEAK_SEEP)
		own.errors &= ~(1u << PROF_LOSS_POSSIBLE);
	if (l->gate.has_baseline)
		own.errors |= 1u << PROF_LOSS_DEFINITE;
	own.records.judged = l->format == LEAK_SEEP;
	junit_xml(&b, p, s, chosen, &own, &l->gate.judge, &more);
	if (log_name(l->junit,
		     l->program_pid != 0 ? l->program_pid
		     : p->nprocesses > 1 ? p->processes[1].pid
					 : 0,
		     0, &name, &e) < 0 ||
	    out_check_log(name, &e) < 0 || file_write(name, buf_str(&b), b.len, &e) < 0)
		cmd_fail(&e);
	free(name);
	buf_done(&b);
	return e.code == 0;
}

void
leak_gate_done(struct leak_gate *g)
{
	vec_done(&g->judge);
	judge_places_done(&g->base_places);
}
