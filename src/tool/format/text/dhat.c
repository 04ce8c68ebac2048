/* SPDX-License-Identifier: MIT */
/* dhat.c -- DHAT's JSON: what valgrind --tool=dhat writes, and dhat of Rust.
 *
 *	{"dhatFileVersion":2, "mode":"heap", "bklt":true, "bkacc":true, "tu":"instrs",
 *	 "cmd":"./prog", "pid":4711, "te":1937135, "tg":1924692,
 *	 "pps":[{"tb":1517,"tbk":41, "tl":2262, "mb":37,"mbk":1, "gb":0,"gbk":0,
 *	         "eb":0,"ebk":0, "rb":0,"wb":0, "fs":[1,13,14]}, …],
 *	 "ftbl":["[root]", "0x109217: deeper(int) (a.cpp:52)",
 *	         "0x49037B9: ??? (in /lib/x.so)"]}
 *
 * A program point is a site: t is in all, m its own largest, g at the peak of all
 * ("global max"), e at the end; without "bklt" only t is there. fs are its frames,
 * innermost first. What is in the file and not in a profile: lifetimes (tl, a sum), reads
 * and writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/file.h"
#include "tool/util/json_read.h"
#include "tool/util/vec.h"

struct dhat {
	struct prof *p;
	const struct json_tree *t;
	VEC(uint32_t) locs; /* of the frames; 0 = not shown */
	VEC(uint32_t) stack;
	uint64_t bad_frames, bad_points;
	bool lifetimes; /* bklt */
};

static bool
dhat_detect(const void *head, size_t bytes)
{
	struct line l = {head, (const char *)head + bytes};

	while (l.at < l.end && strchr(" \t\r\n", *l.at) != NULL && *l.at != '\0')
		l.at++;
	if (!scan_char(&l, '{'))
		return false;
	while (l.at < l.end && strchr(" \t\r\n", *l.at) != NULL && *l.at != '\0')
		l.at++;
	return scan_text(&l, "\"dhatFileVersion\"");
}

/* ---- frames ---- */

/* Takes "(file.c:12)", "(file.rs:12:7)" or "(in /lib/x.so)" off the end of a frame. */
static void
dhat_place(struct dhat *d, struct line *l, struct prof_frame *f, uint32_t *ret_module)
{
	const char *object = memmem(l->at, line_len(l), " (in ", 5), *open = object;
	struct line in, number;
	uint64_t line;

	for (const char *at = l->at; object == NULL && at + 1 < l->end; at++) {
		if (at[0] == ' ' && at[1] == '(')
			open = at;
	}
	if (open == NULL || l->end[-1] != ')')
		return;
	in = (struct line){open + 2, l->end - 1};
	if (object != NULL && scan_text(&in, "in ")) {
		char *path = xmemdup0(in.at, line_len(&in));

		*ret_module = prof_module(d->p, path, NULL, 0);
		free(path);
		l->end = open;
		return;
	}
	/* A column may stand behind the line. */
	for (const char *at = in.at + 1; at < in.end; at++) {
		number = (struct line){at + 1, in.end};
		if (*at != ':' || !scan_u64(&number, &line) ||
		    (number.at < number.end && *number.at != ':'))
			continue;
		f->file = prof_strn(d->p, in.at, (size_t)(at - in.at));
		f->line = line < INT32_MAX ? (uint32_t)line : 0;
		l->end = open;
		return;
	}
}

/* Location of one text of ftbl; valgrind's own malloc is none. */
static uint32_t
dhat_frame(struct dhat *d, const char *text)
{
	struct line l = {text, text + strlen(text)};
	struct prof_frame f = {0};
	uint32_t module = 0;
	const char *object;
	uint64_t address;
	struct line at = l;

	if (strcmp(text, "[root]") == 0)
		return 0;
	if (scan_text(&at, "0x") && scan_hex(&at, &address) && scan_text(&at, ": "))
		l = at;
	dhat_place(d, &l, &f, &module);
	object = file_base(prof_text(d->p, d->p->modules[module].path));
	if (strncmp(object, "vgpreload_", 10) == 0)
		return 0;
	f.function = prof_strn(d->p, l.at, line_len(&l));
	if (line_len(&l) == 3 && memcmp(l.at, "???", 3) == 0) {
		char *name = xasprintf("[%s]", module != 0 ? object : "unknown");

		f.function = prof_str(d->p, name);
		free(name);
	}
	return named_loc(d->p, module, &f, 1);
}

static void
dhat_frames(struct dhat *d, const struct json_value *table)
{
	const struct json_value *v = json_first(d->t, table);

	for (; v != NULL; v = json_next(d->t, v)) {
		const char *text = json_text_of(v);

		if (text == NULL)
			d->bad_frames++;
		vec_push(&d->locs, text != NULL ? dhat_frame(d, text) : 0);
	}
}

/* ---- program points ---- */

static uint64_t
dhat_number(const struct dhat *d, const struct json_value *point, const char *key)
{
	return json_u64_of(json_get(d->t, point, key));
}

static int64_t
dhat_signed(const struct dhat *d, const struct json_value *point, const char *key)
{
	uint64_t v = dhat_number(d, point, key);

	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static uint32_t
dhat_stack(struct dhat *d, const struct json_value *frames)
{
	const struct json_value *v = json_first(d->t, frames);
	uint32_t node = 0;

	d->stack.len = 0;
	for (; v != NULL; v = json_next(d->t, v)) {
		if (v->type != JSON_NUMBER || !(v->number >= 0) ||
		    v->number >= (double)d->locs.len)
			d->bad_frames++;
		else if (d->locs.data[(size_t)v->number] != 0)
			vec_push(&d->stack, d->locs.data[(size_t)v->number]);
	}
	while (d->stack.len > 0)
		node = prof_node(d->p, node, d->stack.data[--d->stack.len]);
	return node;
}

static void
dhat_point(struct dhat *d, const struct json_value *point)
{
	struct prof_process *pr;
	struct prof_site s = {.process = 1};
	uint32_t row;

	if (point->type != JSON_OBJECT) {
		d->bad_points++;
		return;
	}
	s.node = dhat_stack(d, json_get(d->t, point, "fs"));
	s.allocs = dhat_number(d, point, "tbk");
	s.alloc_bytes = dhat_number(d, point, "tb");
	if (d->lifetimes) {
		s.peak_bytes = dhat_signed(d, point, "mb");
		s.at_peak_bytes = dhat_signed(d, point, "gb");
		s.at_peak_blocks = dhat_signed(d, point, "gbk");
		s.live_bytes = s.at_exit_bytes = dhat_signed(d, point, "eb");
		s.live_blocks = s.at_exit_blocks = dhat_signed(d, point, "ebk");
		s.frees = s.allocs - (uint64_t)s.live_blocks;
		s.free_bytes = s.alloc_bytes - (uint64_t)s.live_bytes;
		if (s.allocs < (uint64_t)s.live_blocks ||
		    s.alloc_bytes < (uint64_t)s.live_bytes) {
			d->bad_points++;
			s.frees = s.free_bytes = 0;
		}
	}
	row = prof_add_site(d->p);
	d->p->sites[row] = s;
	pr = &d->p->processes[1];
	line_sum(&pr->live_bytes, s.live_bytes);
	line_sum(&pr->peak_bytes, s.at_peak_bytes);
}

/* ---- all of it ---- */

/* Milliseconds of a time, where its unit is one; 0 = not known. */
static uint64_t
dhat_ms(const struct dhat *d, const struct json_value *all, const char *key)
{
	const char *unit = json_text_of(json_get(d->t, all, "tu"));
	uint64_t v = dhat_number(d, all, key);

	if (unit != NULL && strcmp(unit, "ms") == 0)
		return v;
	return unit != NULL && (strcmp(unit, "µs") == 0 || strcmp(unit, "us") == 0)
		       ? v / 1000
		       : 0;
}

static int
dhat_head(struct dhat *d, const struct json_value *all, struct err *e)
{
	const struct json_value *version = json_get(d->t, all, "dhatFileVersion");
	const struct json_value *on = json_get(d->t, all, "bklt");
	const char *mode = json_text_of(json_get(d->t, all, "mode"));

	if (json_u64_of(version) != 2)
		return err_set(e, -EINVAL,
			       "a file of DHAT of version %llu, seep reads 2; open it in "
			       "valgrind's dh_view.html",
			       (unsigned long long)json_u64_of(version));
	if (mode == NULL || strstr(mode, "heap") == NULL)
		return err_set(
			e, -EINVAL,
			"a file of DHAT, but not of the heap: mode \"%s\"; open it in "
			"valgrind's dh_view.html",
			mode != NULL ? mode : "");
	if (json_get(d->t, all, "pps") == NULL || json_get(d->t, all, "ftbl") == NULL)
		return err_set(e, -EINVAL, "a file of DHAT without \"pps\" or \"ftbl\"");
	d->lifetimes = on != NULL && on->type == JSON_TRUE;
	return 0;
}

static void
dhat_process(struct dhat *d, const struct json_value *all, const char *exe)
{
	const char *cmd = json_text_of(json_get(d->t, all, "cmd"));
	uint32_t cmdline = prof_str(d->p, cmd);
	uint32_t path = exe != NULL   ? prof_str(d->p, exe)
			: cmd != NULL ? prof_strn(d->p, cmd, strcspn(cmd, " "))
				      : 0;
	struct prof_process *pr = &d->p->processes[1];

	pr->cmdline = cmdline;
	pr->exe = path;
	pr->pid = (uint32_t)dhat_number(d, all, "pid");
	pr->mode = PROF_EXACT;
	pr->duration_ms = dhat_ms(d, all, "te");
	pr->peak_ms = dhat_ms(d, all, "tg");
}

static int
dhat_parse(struct input *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	struct json_tree tree = {0};
	struct dhat d = {.p = p, .t = &tree};
	const struct json_value *all, *v;
	int r = json_read(&tree, in->data, in->bytes, e);

	if (r < 0) {
		json_tree_done(&tree);
		return err_wrap(e, r, "a file of DHAT that cannot be read");
	}
	all = &tree.values.data[0];
	r = dhat_head(&d, all, e);
	if (r == 0) {
		prof_add_process(p);
		dhat_process(&d, all, o->exe);
		dhat_frames(&d, json_get(&tree, all, "ftbl"));
		v = json_first(&tree, json_get(&tree, all, "pps"));
		for (; v != NULL; v = json_next(&tree, v))
			dhat_point(&d, v);
		p->columns = PROF_HAS_ALLOCS |
			     (d.lifetimes ? PROF_HAS_LIVE | PROF_HAS_PEAK : 0);
		p->format = prof_str(p, "dhat");
		p->has_names = true;
		prof_add_damage(p, "frames that are not in the file", d.bad_frames);
		prof_add_damage(p, "program points that make no sense", d.bad_points);
	}
	vec_done(&d.locs);
	vec_done(&d.stack);
	json_tree_done(&tree);
	return r;
}

const struct format format_dhat = {
	.name = "dhat",
	.what = "DHAT's JSON",
	.detect = dhat_detect,
	.parse = dhat_parse,
};
