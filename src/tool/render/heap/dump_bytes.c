/* SPDX-License-Identifier: MIT */
/* dump_bytes.c -- strings and bytes of memory as text; see dump.h. */
#include <inttypes.h>
#include <string.h>

#include "tool/render/heap/dump.h"

/* ---- strings ---- */

static void
strings_flush(struct buf *out, struct dump_strings *d)
{
	if (d->run.len >= d->least) {
		if (!d->show_content)
			content_mask(d->run.data, d->run.len);
		buf_printf(out, "%7" PRIx64 " ", d->start);
		buf_add(out, d->run.data, d->run.len);
		buf_add_char(out, '\n');
	}
	buf_clear(&d->run);
}

void
dump_strings_add(struct buf *out, struct dump_strings *d, uint64_t addr, const void *data,
		 size_t bytes)
{
	const unsigned char *p = data;

	if (d->run.len > 0 && d->start + d->run.len != addr)
		strings_flush(out, d);
	for (size_t i = 0; i < bytes; i++) {
		if (!content_is_text(p[i])) {
			if (d->run.len > 0)
				strings_flush(out, d);
			continue;
		}
		if (d->run.len == 0)
			d->start = addr + i;
		buf_add_char(&d->run, (char)p[i]);
	}
}

void
dump_strings_end(struct buf *out, struct dump_strings *d)
{
	strings_flush(out, d);
	buf_done(&d->run);
}

/* ---- bytes ---- */

/* Which bytes of the line may be seen: zeroes and pointers, or all of them. */
static void
hex_visible(const struct dump_hex *d, bool *seen)
{
	for (unsigned i = 0; i < 16; i++)
		seen[i] = d->show_content || d->line[i] == 0;
	for (unsigned i = 0; d->map != NULL && i < 16; i += 8) {
		uint64_t word;

		memcpy(&word, d->line + i, sizeof word);
		if (memmap_find(d->map, word) != NULL)
			memset(seen + i, true, 8);
	}
}

static void
hex_line(struct buf *out, struct dump_hex *d)
{
	bool seen[16];
	char text[16];

	hex_visible(d, seen);
	memcpy(text, d->line, sizeof text);
	if (!d->show_content)
		content_mask(text, sizeof text);
	buf_printf(out, "%08" PRIx64, d->at);
	for (unsigned i = 0; i < 16; i++) {
		buf_add_str(out, i % 8 == 0 ? "  " : " ");
		if (i >= d->filled)
			buf_add_str(out, "  ");
		else if (seen[i])
			buf_printf(out, "%02x", d->line[i]);
		else
			buf_add_str(out, "..");
	}
	buf_add_str(out, "  |");
	for (unsigned i = 0; i < d->filled; i++) {
		unsigned char c = d->line[i];

		buf_add_char(out, c >= ' ' && c < 0x7f ? text[i] : '.');
	}
	buf_add_str(out, "|\n");
}

/* The line is full, or the end has come. */
static void
hex_flush(struct buf *out, struct dump_hex *d)
{
	if (d->filled == 16 && d->has_before && memcmp(d->line, d->before, 16) == 0) {
		if (!d->squeezed)
			buf_add_str(out, "*\n");
		d->squeezed = true;
	} else if (d->filled > 0) {
		hex_line(out, d);
		d->squeezed = false;
		d->has_before = d->filled == 16;
		memcpy(d->before, d->line, 16);
	}
	d->at += d->filled;
	d->filled = 0;
}

void
dump_hex_end(struct buf *out, struct dump_hex *d)
{
	bool some = d->filled > 0 || d->has_before;

	hex_flush(out, d);
	if (some)
		buf_printf(out, "%08" PRIx64 "\n", d->at);
	d->has_before = d->squeezed = false;
}

void
dump_hex_add(struct buf *out, struct dump_hex *d, uint64_t addr, const void *data,
	     size_t bytes)
{
	const unsigned char *p = data;

	if (d->at + d->filled != addr) {
		dump_hex_end(out, d);
		d->at = addr;
	}
	for (size_t i = 0; i < bytes; i++) {
		d->line[d->filled++] = p[i];
		if (d->filled == 16)
			hex_flush(out, d);
	}
}
