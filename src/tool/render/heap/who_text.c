/* SPDX-License-Identifier: MIT */
/* who_text.c -- see who_text.h. */
#include "tool/render/heap/who_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/analyze/process/content.h"
#include "tool/render/figure.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"

static void
add_what(struct buf *out, uint64_t size, const char *what)
{
	buf_printf(out, "%s bytes", fmt_count(size).s);
	if (what != NULL && what[0] != '\0') {
		buf_add_str(out, ", ");
		clean_text(out, what);
	}
}

/* Where the word of a step is. */
static void
add_place(struct buf *out, const struct who_step *s)
{
	if (s->place != NULL) {
		clean_text(out, s->place);
		if (s->at != 0)
			buf_printf(out, ", at 0x%" PRIx64, s->at);
	} else {
		buf_printf(out, "+0x%" PRIx64, s->off);
	}
}

static bool
is_like(const struct who_step *a, const struct who_step *b)
{
	return a->place == NULL && b->place == NULL && a->off == b->off &&
	       a->size == b->size && a->into == b->into && strcmp(a->what, b->what) == 0;
}

static void
add_step(struct buf *out, const struct who_step *s, bool last)
{
	buf_add_str(out, "    ");
	if (s->place == NULL)
		buf_printf(out, "+0x%" PRIx64 " ", s->off);
	buf_printf(out, "%s 0x%" PRIx64, s->into == 0 ? "->" : "~>", s->block);
	if (s->into != 0)
		buf_printf(out, "+0x%" PRIx64, s->into);
	buf_add_str(out, "  ");
	add_what(out, s->size, s->what);
	buf_add_str(out, last ? "   this one\n" : "\n");
}

static void
add_steps(struct buf *out, const struct who *w)
{
	size_t n = w->steps.len;

	for (size_t i = 0; i < n; i++) {
		const struct who_step *s = &w->steps.data[i];
		size_t same = i, more;

		if (s->place != NULL) {
			buf_add_str(out, "  ");
			add_place(out, s);
			buf_add_char(out, '\n');
		}
		add_step(out, s, i + 1 == n);
		while (same + 2 < n && is_like(s, &w->steps.data[same + 1]))
			same++;
		more = same - i;
		/* What was left out lies in between. */
		if (w->left_out > 0 && i < w->left_after && same + 1 >= w->left_after)
			more += w->left_out;
		if (more > 1) {
			buf_printf(out, "    … %s more steps\n", fmt_count(more).s);
			i = same;
		}
	}
}

void
who_text(struct buf *out, const struct who *w)
{
	buf_printf(out, "0x%" PRIx64 " ", w->address);
	if (w->block == 0) {
		buf_add_str(out, "is in no block that is in use: ");
		clean_text(out, w->what);
		buf_add_char(out, '\n');
		return;
	}
	if (w->address != w->block)
		buf_printf(out, "is 0x%" PRIx64 " bytes into the block 0x%" PRIx64 ": ",
			   w->address - w->block, w->block);
	add_what(out, w->size, w->what);
	buf_printf(out, ", %s\n", w->kind);
	if (w->steps.len > 0)
		buf_add_str(out, "the path to it from a root:\n");
	add_steps(out, w);
	if (w->others.len > 0)
		buf_printf(out, "%s it too:\n",
			   w->steps.len > 0 ? "these words point to" : "these point to");
	for (size_t i = 0; i < w->others.len; i++) {
		const struct who_step *s = &w->others.data[i];

		buf_add_str(out, "  ");
		if (s->place != NULL) {
			add_place(out, s);
		} else {
			buf_printf(out, "0x%" PRIx64 "+0x%" PRIx64 "  ", s->block,
				   s->off);
			add_what(out, s->size, s->what);
		}
		if (s->into != 0)
			buf_printf(out, ", 0x%" PRIx64 " bytes into it", s->into);
		buf_add_char(out, '\n');
	}
	if (w->more_others > 0)
		buf_printf(out, "  and %s more\n", fmt_count(w->more_others).s);
}

/* ---- JSON ---- */

static void
address(struct json *j, const char *key, uint64_t addr)
{
	char text[32];

	json_key(j, key);
	snprintf(text, sizeof text, "0x%" PRIx64, addr);
	if (addr == 0)
		json_null(j);
	else
		json_str(j, text);
}

static void
step_json(struct json *j, const struct who_step *s)
{
	json_obj(j);
	json_member_str(j, "place", s->place);
	address(j, "at", s->at);
	json_member_u64(j, "offset", s->off);
	address(j, "block", s->block);
	json_member_u64(j, "size", s->size);
	json_member_u64(j, "into", s->into);
	json_member_str(j, "what", s->what);
	json_obj_end(j);
}

void
who_json(struct buf *out, const struct who *w)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_json", JSON_SCHEMA);
	json_member_str(&j, "kind", "who");
	json_member_str(&j, "target", w->target);
	address(&j, "address", w->address);
	address(&j, "block", w->block);
	json_member_u64(&j, "size", w->size);
	json_member_str(&j, "what", w->what);
	json_member_str(&j, "state", w->kind);
	json_member_arr(&j, "path");
	for (size_t i = 0; i < w->steps.len; i++)
		step_json(&j, &w->steps.data[i]);
	json_arr_end(&j);
	json_member_u64(&j, "path_left_out", w->left_out);
	json_member_arr(&j, "others");
	for (size_t i = 0; i < w->others.len; i++)
		step_json(&j, &w->others.data[i]);
	json_arr_end(&j);
	json_member_u64(&j, "more_others", w->more_others);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}

/* ---- bytes ---- */

static void
hex_line(struct buf *out, uint64_t addr, const unsigned char *p, size_t n,
	 const bool *seen)
{
	char text[16];

	buf_printf(out, "    %012" PRIx64, addr);
	for (size_t i = 0; i < 16; i++) {
		buf_add_str(out, i % 8 == 0 ? "  " : " ");
		if (i >= n)
			buf_add_str(out, "  ");
		else if (seen[i])
			buf_printf(out, "%02x", p[i]);
		else
			buf_add_str(out, "..");
	}
	memcpy(text, p, n);
	buf_add_str(out, "  |");
	for (size_t i = 0; i < n; i++) {
		if (!seen[i])
			content_mask(&text[i], 1);
		buf_add_char(out, p[i] >= ' ' && p[i] < 0x7f ? text[i] : '.');
	}
	buf_add_char(out, '|');
}

void
who_bytes(struct buf *out, uint64_t addr, const unsigned char *data, size_t bytes,
	  bool show, who_namer *name, void *ctx)
{
	bool squeezed = false;

	for (size_t off = 0; off < bytes; off += 16) {
		size_t n = bytes - off < 16 ? bytes - off : 16;
		const char *names[2] = {NULL, NULL};
		char copies[2][200];
		bool seen[16];

		if (off >= 16 && n == 16 && off + 16 < bytes &&
		    memcmp(data + off, data + off - 16, 16) == 0) {
			if (!squeezed)
				buf_add_str(out, "    *\n");
			squeezed = true;
			continue;
		}
		squeezed = false;
		for (size_t i = 0; i < n; i++)
			seen[i] = show || data[off + i] == 0;
		for (size_t i = 0; i + 8 <= n; i += 8) {
			uint64_t word;

			memcpy(&word, data + off + i, sizeof word);
			names[i / 8] = name(ctx, word);
			if (names[i / 8] == NULL)
				continue;
			snprintf(copies[i / 8], sizeof copies[0], "%s", names[i / 8]);
			names[i / 8] = copies[i / 8];
			memset(seen + i, true, 8); /* addresses are no contents */
		}
		hex_line(out, addr + off, data + off, n, seen);
		for (unsigned i = 0; i < 2; i++) {
			if (names[i] == NULL)
				continue;
			buf_printf(out, "  %s+0x%zx -> ",
				   i > 0 && names[0] != NULL ? "; " : "",
				   off + (size_t)i * 8);
			clean_text(out, names[i]);
		}
		buf_add_char(out, '\n');
	}
}
