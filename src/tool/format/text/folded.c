/* SPDX-License-Identifier: MIT */
/* folded.c -- folded stacks, as flame graphs are made of.
 *
 * 	main;load;parse 4096            outermost first, then a value
 * 	main;load;parse 4096 8192       two of them: before and after
 *
 * A frame is its name and nothing more (named.h). Values are taken as live bytes; of two
 * the second is the profile, and the first is the mark `before`. What the values are of,
 * the file does not say, and it has no numbers of blocks. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/map.h"

enum {
	FOLDED_NUMBER_CHARS = 40,
	FOLDED_DEPTH_MAX =
		1 << 16, /* frames: a line with more is no stack of anybody's */
};

struct folded {
	struct prof *p;
	uint32_t process;
	struct map locs; /* string of a name -> location */
	bool fractions;	 /* some value is not whole */
	bool pairs;	 /* some line has two values */
	uint64_t bad, bad_first;
};

/* Cuts a number off the end of a line; false when there is none. */
static bool
folded_value(struct line *l, double *ret)
{
	struct line at = *l;
	char text[FOLDED_NUMBER_CHARS];
	const char *word;
	char *stop;
	double v;

	scan_trim(&at);
	word = at.end;
	while (word > at.at && !scan_is_blank(word[-1]))
		word--;
	if (word == at.at || at.end - word >= FOLDED_NUMBER_CHARS)
		return false; /* a value alone has no stack */
	for (const char *c = word; c < at.end; c++) {
		if (!(*c >= '0' && *c <= '9') && *c != '.' && !(*c == '-' && c == word))
			return false;
	}
	memcpy(text, word, (size_t)(at.end - word));
	text[at.end - word] = '\0';
	v = strtod(text, &stop);
	if (stop == text || *stop != '\0')
		return false;
	*ret = v;
	l->end = word;
	return true;
}

/* `stack now` or `stack before now`; leaves the stack in `l`. */
static bool
folded_scan(struct line *l, double *ret_before, double *ret_now, bool *ret_pair)
{
	*ret_pair = false;
	if (!folded_value(l, ret_now))
		return false;
	*ret_pair = folded_value(l, ret_before);
	scan_trim(l);
	return l->at < l->end;
}

static uint32_t
folded_loc(struct folded *f, const struct line *name)
{
	struct prof_frame frame = {.function = prof_strn(f->p, name->at, line_len(name))};
	uint64_t *loc = map_add(&f->locs, frame.function);

	if (*loc == 0)
		*loc = named_loc(f->p, 0, &frame, 1);
	return (uint32_t)*loc;
}

/* Unpacked from little, one line can be hundreds of millions of frames. */
static bool
folded_too_deep(struct line l)
{
	for (unsigned n = 0; n < FOLDED_DEPTH_MAX; n++) {
		const char *semicolon = memchr(l.at, ';', line_len(&l));

		if (semicolon == NULL)
			return false;
		l.at = semicolon + 1;
	}
	return true;
}

static uint32_t
folded_node(struct folded *f, struct line l)
{
	uint32_t node = 0;

	while (l.at < l.end) {
		const char *semicolon = memchr(l.at, ';', line_len(&l));
		struct line name = {l.at, semicolon != NULL ? semicolon : l.end};

		l.at = semicolon != NULL ? semicolon + 1 : l.end;
		scan_trim(&name);
		if (name.at < name.end)
			node = prof_node(f->p, node, folded_loc(f, &name));
	}
	return node;
}

static int64_t
folded_whole(double v)
{
	return v > -9e18 && v < 9e18 ? (int64_t)v : v < 0 ? INT64_MIN / 2 : INT64_MAX / 2;
}

static void
folded_add(struct folded *f, uint32_t node, double before, double now)
{
	struct prof *p = f->p;
	uint32_t row = prof_add_site(p);
	uint32_t real, mark_row;

	p->sites[row].process = f->process;
	p->sites[row].node = node;
	p->sites[row].live_bytes = p->sites[row].at_exit_bytes = folded_whole(now);
	line_sum(&p->processes[f->process].live_bytes, p->sites[row].live_bytes);
	f->fractions |= now != trunc(now);
	while (p->nreals < row)
		prof_add_real(p);
	real = prof_add_real(p);
	p->reals[real].live_bytes = now;
	mark_row = prof_add_mark_row(p);
	p->mark_rows[mark_row].site = row;
	p->mark_rows[mark_row].live_bytes = folded_whole(before);
}

static void
folded_finish(struct folded *f)
{
	struct prof *p = f->p;
	char text[80];
	uint32_t mark, name;

	p->format = prof_str(p, "folded");
	p->columns = PROF_HAS_LIVE;
	p->has_names = true;
	p->processes[f->process].mode = PROF_EXACT;
	if (!f->fractions)
		p->nreals = 0;
	if (f->bad > 0) {
		snprintf(text, sizeof text,
			 "lines that are not folded stacks (%s line %" PRIu64 ")",
			 f->bad > 1 ? "first is" : "it is", f->bad_first);
		prof_add_damage(p, text, f->bad);
	}
	if (!f->pairs) {
		p->nmark_rows = 0;
		return;
	}
	name = prof_str(p, "before");
	mark = prof_add_mark(p);
	p->marks[mark].process = f->process;
	p->marks[mark].number = 1;
	p->marks[mark].name = name;
	p->marks[mark].nrows = p->nmark_rows;
	for (uint32_t i = 0; i < p->nmark_rows; i++)
		line_sum(&p->marks[mark].live_bytes, p->mark_rows[i].live_bytes);
}

static int
folded_parse(struct input *in, const struct format_opts *o, struct prof *p, struct err *e)
{
	struct lines lines = lines_init(in->data, in->bytes);
	struct folded f = {.p = p, .process = prof_add_process(p)};
	struct line l;

	(void)e;
	p->processes[f.process].exe = prof_str(p, o->exe);
	while (lines_next(&lines, &l)) {
		double before = 0, now = 0;
		bool pair = false;

		input_release(in, (size_t)(l.at - (const char *)in->data));
		scan_trim(&l);
		if (l.at == l.end || *l.at == '#')
			continue;
		if (folded_scan(&l, &before, &now, &pair) && !folded_too_deep(l)) {
			folded_add(&f, folded_node(&f, l), before, now);
			f.pairs |= pair;
		} else if (f.bad++ == 0) {
			f.bad_first = lines.number;
		}
	}
	folded_finish(&f);
	map_done(&f.locs);
	return 0;
}

/* Every whole line of the head must be text with a value behind it, and one at least. */
static bool
folded_detect(const void *head, size_t bytes)
{
	struct lines in = lines_init(head, bytes);
	unsigned stacks = 0;
	struct line l;

	while (lines_next(&in, &l)) {
		double before, now;
		bool pair;

		for (const char *c = l.at; c < l.end; c++) {
			if ((unsigned char)*c < ' ' && *c != '\t')
				return false;
		}
		scan_trim(&l);
		if (l.at == l.end || *l.at == '#')
			continue;
		if (in.cut && bytes == FORMAT_HEAD_BYTES)
			break; /* it goes on behind the head */
		if (folded_scan(&l, &before, &now, &pair))
			stacks++;
		else if (!in.cut || stacks == 0)
			return false;
	}
	/* One line longer than the whole head is judged by what it looks like. */
	return stacks > 0 ||
	       (bytes == FORMAT_HEAD_BYTES && memchr(head, ';', bytes) != NULL);
}

const struct format format_folded = {
	.name = "folded",
	.what = "folded stacks",
	.detect = folded_detect,
	.parse = folded_parse,
};
