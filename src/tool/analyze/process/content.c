/* SPDX-License-Identifier: MIT */
/* content.c -- what is in a piece of memory; see content.h. */
#include "tool/analyze/process/content.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/hash.h"

enum {
	PAGE = 4096,
	DENSE_BITS_8 = 63, /* eighths of a bit a byte: 7.9 is what random bytes have */
	SMALL_MOST = 0xffff,
};

/* Where user space ends on 64-bit Linux, and where programs usually are. */
#define USER_END UINT64_C(0x800000000000)
#define LIKELY_POINTER UINT64_C(0x500000000000)

/* Seconds of 2001 to 2040. */
#define TIME_FIRST UINT64_C(1000000000)
#define TIME_LAST UINT64_C(2208988800)

static const char *const word_names[CONTENT_WORDS] = {
	[CONTENT_ZERO] = "zero",	   [CONTENT_POINTER] = "pointers",
	[CONTENT_SMALL] = "small numbers", [CONTENT_TEXT] = "text",
	[CONTENT_TIME] = "times",	   [CONTENT_DOUBLE] = "floating point",
	[CONTENT_OTHER] = "other",
};

const char *
content_word_name(enum content_word word)
{
	return word_names[word];
}

bool
content_is_text(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || c == '\t';
}

void
content_mask(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c >= 0x80)
			text[i] = '?';
		else if (isdigit(c))
			text[i] = '9';
		else if (isupper(c))
			text[i] = 'X';
		else if (islower(c))
			text[i] = 'x';
	}
}

/* ---- words ---- */

/* Text to its end, or at least four characters of it and nothing but zeroes behind. */
static bool
is_text_word(uint64_t word)
{
	unsigned char b[8];
	unsigned n = 0;

	memcpy(b, &word, sizeof b);
	while (n < 8 && content_is_text(b[n]))
		n++;
	if (n < CONTENT_TEXT_LEAST)
		return false;
	for (unsigned i = n; i < 8; i++) {
		if (b[i] != 0)
			return false;
	}
	return true;
}

static bool
is_double(uint64_t word)
{
	double x;

	memcpy(&x, &word, sizeof x);
	x = fabs(x);
	return x > 1e-6 && x < 1e15;
}

enum content_word
content_word(const struct memmap *map, uint64_t word)
{
	if (word == 0)
		return CONTENT_ZERO;
	if (map != NULL ? memmap_find(map, word) != NULL
			: word >= LIKELY_POINTER && word < USER_END)
		return CONTENT_POINTER;
	if (word <= SMALL_MOST || -word <= SMALL_MOST)
		return CONTENT_SMALL;
	if (is_text_word(word))
		return CONTENT_TEXT;
	if ((word >= TIME_FIRST && word < TIME_LAST) ||
	    (word / 1000000000 >= TIME_FIRST && word / 1000000000 < TIME_LAST))
		return CONTENT_TIME;
	return is_double(word) ? CONTENT_DOUBLE : CONTENT_OTHER;
}

/* Whether the area is where a file's constants, or its relocated ones, are. */
static bool
is_constant(const struct memmap_area *a)
{
	return a->inode != 0 && a->perms[1] != 'w';
}

/* Counts a word that may be the mark of an object. The distance that wins the vote is the
 * one that most neighbours have, if more than half have it. */
static void
add_sign(struct content *c, uint64_t addr, uint64_t value)
{
	uint64_t *row = map_find(&c->sign_rows, value);
	struct content_sign *s;
	uint64_t distance;

	if (row == NULL) {
		if (c->signs.len >= CONTENT_KINDS_MOST) {
			c->more_kinds++;
			return;
		}
		*map_add(&c->sign_rows, value) = c->signs.len;
		vec_push(&c->signs,
			 (struct content_sign){.value = value, .count = 1, .last = addr});
		return;
	}
	s = &c->signs.data[*row];
	distance = addr - s->last;
	if (s->distance == distance)
		s->votes++;
	else if (s->votes == 0)
		s->distance = distance, s->votes = 1;
	else
		s->votes--;
	s->count++;
	s->last = addr;
}

static void
add_word(struct content *c, uint64_t addr, uint64_t word)
{
	enum content_word kind = content_word(c->map, word);
	const struct memmap_area *a;
	const struct region *r;

	c->words[kind]++;
	if (kind != CONTENT_POINTER || c->map == NULL)
		return;
	a = memmap_find(c->map, word);
	r = &c->regions->list.data[c->regions->of_area[a - c->map->areas.data]];
	c->pointers[r->kind]++;
	if (a->perms[2] == 'x')
		c->code_pointers++;
	if (is_constant(a) && IS_ALIGNED(word, UINT64_C(8)))
		add_sign(c, addr, word);
}

/* ---- pages ---- */

/* Bits a byte, in eighths; by how often each value is there. */
static bool
is_dense(const unsigned char *p)
{
	unsigned count[256] = {0};
	double bits = 0;

	for (unsigned i = 0; i < PAGE; i++)
		count[p[i]]++;
	for (unsigned i = 0; i < 256; i++) {
		if (count[i] > 0)
			bits -= count[i] * log2((double)count[i] / PAGE);
	}
	return bits * 8 >= (double)DENSE_BITS_8 * PAGE;
}

/* ---- text ---- */

static void
end_run(struct content *c)
{
	size_t n = c->run.len;
	uint32_t id;
	uint64_t *row;

	if (n >= CONTENT_TEXT_LEAST) {
		c->strings++;
		c->string_bytes += n;
		if (c->shapes)
			content_mask(c->run.data, n);
		if (!strtab_find(&c->texts, c->run.data, n, &id) &&
		    strtab_count(&c->texts) >= CONTENT_KINDS_MOST) {
			c->more_kinds++;
		} else {
			id = strtab_addn(&c->texts, c->run.data, n);
			row = map_find(&c->text_rows, id);
			if (row == NULL) {
				row = map_add(&c->text_rows, id);
				*row = c->texts_by.len;
				vec_push(&c->texts_by, (struct content_text){.text = id});
			}
			c->texts_by.data[*row].count++;
			c->texts_by.data[*row].bytes += n;
		}
	}
	buf_clear(&c->run);
}

static void
add_text(struct content *c, const unsigned char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		if (content_is_text(p[i])) {
			buf_add_char(&c->run, (char)p[i]);
			if (c->run.len < CONTENT_TEXT_MOST)
				continue;
		}
		if (c->run.len > 0)
			end_run(c);
	}
}

void
content_add(struct content *c, uint64_t addr, const void *data, size_t bytes)
{
	const unsigned char *p = data;

	c->bytes += bytes;
	for (size_t i = (8 - addr % 8) % 8; i + 8 <= bytes; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, sizeof word);
		add_word(c, addr + i, word);
	}
	for (size_t i = 0; i + PAGE <= bytes; i += PAGE) {
		c->pages++;
		c->dense_pages += is_dense(p + i);
	}
	add_text(c, p, bytes);
}

/* ---- blocks ---- */

void
content_add_block(struct content *c, const void *at, size_t size, bool used)
{
	struct content_block b = {.size = size};
	const struct memmap_area *a;
	uint64_t word = 0, key, *row;

	/* The first word of a free block is a link of malloc's own. */
	if (used && size >= sizeof word) {
		memcpy(&word, at, sizeof word);
		b.first = content_word(c->map, word);
		a = c->map != NULL ? memmap_find(c->map, word) : NULL;
		if (a != NULL && is_constant(a) && IS_ALIGNED(word, UINT64_C(8)))
			b.sign = word;
	}
	key = hash_pair(size, b.sign + b.first + (used ? 0 : 16));
	row = map_find(&c->block_rows, key);
	if (row == NULL) {
		if (c->blocks.len >= CONTENT_KINDS_MOST) {
			c->more_kinds++;
			return;
		}
		row = map_add(&c->block_rows, key);
		*row = c->blocks.len;
		vec_push(&c->blocks, b);
	}
	if (used)
		c->blocks.data[*row].used++;
	else
		c->blocks.data[*row].freed++;
}

/* ---- the end ---- */

static int
compare_texts(const void *a, const void *b)
{
	const struct content_text *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->text > y->text) - (x->text < y->text);
}

static int
compare_signs(const void *a, const void *b)
{
	const struct content_sign *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

static int
compare_blocks(const void *a, const void *b)
{
	const struct content_block *x = a, *y = b;
	uint64_t m = x->used * x->size, n = y->used * y->size;

	if (m != n)
		return m < n ? 1 : -1;
	return (x->size > y->size) - (x->size < y->size);
}

void
content_finish(struct content *c)
{
	end_run(c);
	vec_sort(&c->texts_by, compare_texts);
	vec_sort(&c->signs, compare_signs);
	vec_sort(&c->blocks, compare_blocks);
	/* Rows moved: nothing can be added any more. */
	map_done(&c->text_rows);
	map_done(&c->sign_rows);
	map_done(&c->block_rows);
}

void
content_done(struct content *c)
{
	struct content fresh = {
		.map = c->map, .regions = c->regions, .shapes = c->shapes};

	vec_done(&c->texts_by);
	vec_done(&c->signs);
	vec_done(&c->blocks);
	strtab_done(&c->texts);
	map_done(&c->text_rows);
	map_done(&c->sign_rows);
	map_done(&c->block_rows);
	buf_done(&c->run);
	*c = fresh;
}
