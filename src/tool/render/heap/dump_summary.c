/* SPDX-License-Identifier: MIT */
/* dump_summary.c -- what a piece of memory holds, in a page; see dump.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/render/figure.h"
#include "tool/render/heap/dump.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"
#include "tool/util/x.h"

enum {
	DUMP_ROWS = 10,
	SIGN_LEAST = 2,
	SHAPE_MOST = 60, /* characters of a masked string */
};

/* What the first words of blocks are, or NULL when that says nothing. */
static const char *
sign_name(const struct dump_opts *o, uint64_t word)
{
	return o->namer != NULL ? o->namer(o->namer_ctx, word) : NULL;
}

static uint64_t
words_in_all(const struct content *c)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CONTENT_WORDS; i++)
		sum += c->words[i];
	return sum;
}

static void
add_words(struct buf *out, const struct content *c)
{
	uint64_t all = words_in_all(c);
	const char *between = "words: ";

	for (unsigned i = 0; i < CONTENT_WORDS; i++) {
		if (c->words[i] == 0)
			continue;
		buf_printf(out, "%s%s %s", between, content_word_name(i),
			   fmt_percent(c->words[i], all).s);
		between = ", ";
	}
	if (all > 0)
		buf_add_char(out, '\n');
}

static void
add_pointers(struct buf *out, const struct content *c)
{
	uint64_t all = c->words[CONTENT_POINTER];
	const char *between = "pointers: ";

	if (all == 0)
		return;
	if (c->map == NULL) {
		buf_printf(out,
			   "pointers: %s words look like pointers; their targets are "
			   "not known\n",
			   fmt_count(all).s);
		return;
	}
	for (unsigned i = 0; i < REGION_KINDS; i++) {
		if (c->pointers[i] == 0)
			continue;
		buf_printf(out, "%s%s to %s", between, fmt_count(c->pointers[i]).s,
			   region_kind_plural(i));
		between = ", ";
	}
	if (c->code_pointers > 0)
		buf_printf(out, " (%s to code)", fmt_count(c->code_pointers).s);
	buf_add_char(out, '\n');
}

static void
add_blocks(struct buf *out, const struct content *c, const struct dump_opts *o,
	   size_t rows)
{
	size_t shown = 0;

	if (c->blocks.len == 0)
		return;
	buf_add_str(out, "blocks of malloc, by size and first word:\n");
	for (size_t i = 0; i < c->blocks.len && shown < rows; i++) {
		const struct content_block *b = &c->blocks.data[i];
		const char *name = b->sign != 0 ? sign_name(o, b->sign) : NULL;

		if (b->used == 0)
			continue;
		shown++;
		buf_printf(out, "  %9s x %7s bytes  %9s  ", fmt_count(b->used).s,
			   fmt_count(b->size).s, fmt_size(b->used * b->size).s);
		if (name != NULL)
			clean_text(out, name);
		else if (b->sign != 0)
			buf_printf(out, "constant at %" PRIx64, b->sign);
		else
			buf_printf(out, "begins with %s",
				   b->first == CONTENT_POINTER ? "a pointer"
				   : b->first == CONTENT_SMALL ? "a small number"
				   : b->first == CONTENT_OTHER
					   ? "other bytes"
					   : content_word_name(b->first));
		buf_add_char(out, '\n');
	}
}

/* Marks of objects, without those that blocks have told already. */
static void
add_signs(struct buf *out, const struct content *c, const struct dump_opts *o,
	  size_t rows)
{
	size_t shown = 0;

	for (size_t i = 0; i < c->signs.len && shown < rows; i++) {
		const struct content_sign *s = &c->signs.data[i];
		const char *name;

		if (s->count < SIGN_LEAST)
			break;
		if (shown++ == 0)
			buf_add_str(out, "words that mark objects:\n");
		name = sign_name(o, s->value);
		buf_printf(out, "  %9s x ", fmt_count(s->count).s);
		if (name != NULL)
			clean_text(out, name);
		else
			buf_printf(out, "constant at %" PRIx64, s->value);
		if (s->votes > 0)
			buf_printf(out, ", mostly every %s bytes",
				   fmt_count(s->distance).s);
		buf_add_char(out, '\n');
	}
}

/* A string; the rest of a long one says nothing if it is masked. */
static void
add_text(struct buf *out, const char *text, bool masked)
{
	size_t n = strlen(text);
	char *cut;

	if (!masked || n <= SHAPE_MOST) {
		clean_text(out, text);
		return;
	}
	cut = xmemdup0(text, SHAPE_MOST);
	clean_text(out, cut);
	buf_printf(out, " ... (%s bytes)", fmt_count(n).s);
	free(cut);
}

static void
add_texts(struct buf *out, const struct content *c, size_t rows)
{
	if (c->strings == 0)
		return;
	buf_printf(out, "strings: %s with %s", fmt_count(c->strings).s,
		   fmt_size(c->string_bytes).s);
	buf_printf(out, "; %s by bytes%s:\n", c->shapes ? "shapes" : "most",
		   c->shapes ? " (masked, --show-content shows them)" : "");
	for (size_t i = 0; i < c->texts_by.len && i < rows; i++) {
		const struct content_text *t = &c->texts_by.data[i];

		buf_printf(out, "  %9s x  ", fmt_count(t->count).s);
		add_text(out, strtab_str(&c->texts, t->text), c->shapes);
		buf_add_char(out, '\n');
	}
}

void
dump_summary(struct buf *out, const struct content *c, const struct dump_opts *o)
{
	size_t from = out->len, rows = o->rows > 0 ? o->rows : DUMP_ROWS;

	clean_text(out, o->what);
	if (o->end != 0)
		buf_printf(out, "  %" PRIx64 "-%" PRIx64, o->start, o->end);
	buf_printf(out, "  %s", fmt_size(c->bytes).s);
	if (o->absent_bytes > 0)
		buf_printf(out, "; %s more not resident, skipped",
			   fmt_size(o->absent_bytes).s);
	buf_add_char(out, '\n');
	add_words(out, c);
	add_pointers(out, c);
	if (c->dense_pages > 0)
		buf_printf(out, "probably compressed or encrypted: %s of %s pages\n",
			   fmt_count(c->dense_pages).s, fmt_count(c->pages).s);
	add_blocks(out, c, o, rows);
	add_signs(out, c, o, rows);
	add_texts(out, c, rows);
	if (c->more_kinds > 0)
		buf_printf(out,
			   "%s more strings and objects were not counted one by "
			   "one\n",
			   fmt_count(c->more_kinds).s);
	if (o->saved != NULL) {
		buf_add_str(out, "saved ");
		clean_text(out, o->saved);
		buf_add_str(out, ", with its contents\n");
	}
	if (o->ascii)
		figure_to_ascii(out, from);
}

/* ---- JSON ---- */

static void
member_address(struct json *j, const char *name, uint64_t addr)
{
	char text[24];

	snprintf(text, sizeof text, "0x%" PRIx64, addr);
	json_member_str(j, name, addr != 0 ? text : NULL);
}

static void
json_counts(struct json *j, const struct content *c)
{
	json_member_obj(j, "words");
	for (unsigned i = 0; i < CONTENT_WORDS; i++)
		json_member_u64(j, content_word_name(i), c->words[i]);
	json_obj_end(j);
	json_member_obj(j, "pointers");
	for (unsigned i = 0; i < REGION_KINDS; i++) {
		if (c->pointers[i] > 0)
			json_member_u64(j, region_kind_name(i), c->pointers[i]);
	}
	json_obj_end(j);
	json_member_u64(j, "code_pointers", c->code_pointers);
	json_member_u64(j, "pages", c->pages);
	json_member_u64(j, "dense_pages", c->dense_pages);
	json_member_u64(j, "not_told_apart", c->more_kinds);
}

static void
json_objects(struct json *j, const struct content *c, const struct dump_opts *o)
{
	json_member_arr(j, "blocks");
	for (size_t i = 0; i < c->blocks.len; i++) {
		const struct content_block *b = &c->blocks.data[i];

		json_obj(j);
		json_member_u64(j, "size", b->size);
		json_member_u64(j, "used", b->used);
		json_member_u64(j, "freed", b->freed);
		json_member_str(j, "first_word",
				b->used > 0 ? content_word_name(b->first) : NULL);
		member_address(j, "sign", b->sign);
		json_member_str(j, "class", b->sign != 0 ? sign_name(o, b->sign) : NULL);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_member_arr(j, "signs");
	for (size_t i = 0; i < c->signs.len && c->signs.data[i].count >= SIGN_LEAST;
	     i++) {
		const struct content_sign *s = &c->signs.data[i];

		json_obj(j);
		member_address(j, "value", s->value);
		json_member_u64(j, "count", s->count);
		json_member_u64_if(j, "distance", s->votes > 0, s->distance);
		json_member_str(j, "class", sign_name(o, s->value));
		json_obj_end(j);
	}
	json_arr_end(j);
}

void
dump_json(struct buf *out, const struct content *c, const struct dump_opts *o)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_dump", 1);
	json_member_str(&j, "what", o->what);
	member_address(&j, "start", o->start);
	member_address(&j, "end", o->end);
	json_member_u64(&j, "bytes", c->bytes);
	json_member_u64(&j, "absent_bytes", o->absent_bytes);
	json_counts(&j, c);
	json_objects(&j, c, o);
	json_member_u64(&j, "strings", c->strings);
	json_member_u64(&j, "string_bytes", c->string_bytes);
	json_member_bool(&j, "masked", c->shapes);
	json_member_arr(&j, "texts");
	for (size_t i = 0; i < c->texts_by.len; i++) {
		const struct content_text *t = &c->texts_by.data[i];

		json_obj(&j);
		json_key(&j, "text");
		json_strn(&j, strtab_str(&c->texts, t->text),
			  strtab_len(&c->texts, t->text));
		json_member_u64(&j, "count", t->count);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	json_member_str(&j, "saved", o->saved);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
