/* SPDX-License-Identifier: MIT */
/* who_blocks.c -- see who_blocks.h. The process stands still while its blocks are
 * read. */
#include "tool/render/heap/who_blocks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shared/mem.h"
#include "tool/render/heap/who_text.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"

enum {
	BYTES_MAX = 512, /* of a block that are listed */
	NAME_BYTES = 1024,
};

struct namer {
	struct heapcheck *c;
	char name[NAME_BYTES];
};

static const char *
name_word(void *ctx, uint64_t word)
{
	struct namer *n = ctx;
	const struct scan_block *b = scan_find(&n->c->index, word);
	const struct memmap_area *a;
	uint32_t type;

	if (b != NULL) {
		snprintf(n->name, sizeof n->name, "%s%s bytes, %s",
			 word == b->addr ? "block of " : "inside a block of ",
			 fmt_count(b->bytes).s, heapcheck_what(n->c, b));
		return n->name;
	}
	a = word > 4096 ? memmap_find(n->c->image.map, word) : NULL;
	if (a == NULL)
		return NULL;
	type = holders_type(&n->c->holders, word);
	if (type != 0 && strncmp(holders_name(&n->c->holders, type), "class ", 6) == 0)
		snprintf(n->name, sizeof n->name, "table of %s",
			 holders_name(&n->c->holders, type));
	else
		holders_address(&n->c->holders, word, n->name, sizeof n->name);
	return n->name;
}

/* The next block of the choice from `at` on, or NULL. */
static const struct scan_block *
next_block(const struct heapcheck *c, const struct who_choice *w, size_t *at)
{
	while (*at < c->blocks.len) {
		const struct scan_block *b = &c->blocks.data[(*at)++];

		if (b->site == w->group && (w->kinds & 1u << b->state) != 0)
			return b;
	}
	return NULL;
}

static size_t
read_block(const struct heapcheck *c, const struct scan_block *b, unsigned char *data)
{
	size_t bytes = b->bytes < BYTES_MAX ? (size_t)b->bytes : BYTES_MAX;

	return image_read(&c->image, b->addr, data, bytes);
}

void
who_blocks(struct heapcheck *c, const struct who_choice *w, struct buf *out)
{
	const struct scan_block *b;
	struct namer n = {.c = c};
	uint64_t shown = 0;
	size_t at = 0;

	while ((b = next_block(c, w, &at)) != NULL) {
		unsigned char data[BYTES_MAX];
		size_t bytes;

		if (shown++ >= w->most)
			continue;
		buf_printf(out, "0x%" PRIx64 "  %s bytes, %s%s%s\n", b->addr,
			   fmt_count(b->bytes).s, heapcheck_what(c, b),
			   heapcheck_what(c, b)[0] != '\0' ? ", " : "",
			   who_kind(b->state));
		bytes = read_block(c, b, data);
		who_bytes(out, b->addr, data, bytes, w->show, name_word, &n);
		if (b->bytes > bytes)
			buf_printf(out, "    … %s more bytes\n",
				   fmt_count(b->bytes - bytes).s);
	}
	if (shown > w->most)
		buf_printf(out, "%s more blocks (--all)\n", fmt_count(shown - w->most).s);
}

static void
block_json(struct json *j, struct namer *n, const struct scan_block *b, bool show)
{
	unsigned char data[BYTES_MAX];
	size_t bytes = read_block(n->c, b, data);
	char text[2 * BYTES_MAX + 1];

	json_obj(j);
	snprintf(text, sizeof text, "0x%" PRIx64, b->addr);
	json_member_str(j, "address", text);
	json_member_u64(j, "size", b->bytes);
	json_member_str(j, "state", who_kind(b->state));
	json_member_str(j, "what", heapcheck_what(n->c, b));
	json_member_arr(j, "pointers");
	for (size_t off = 0; off + 8 <= bytes; off += 8) {
		const char *name = name_word(n, mem_get_u64(data + off));

		if (name == NULL)
			continue;
		json_obj(j);
		json_member_u64(j, "offset", off);
		json_member_str(j, "to", name);
		json_obj_end(j);
	}
	json_arr_end(j);
	for (size_t i = 0; show && i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", data[i]);
	if (show) {
		text[2 * bytes] = '\0';
		json_member_str(j, "bytes", text);
	}
	json_obj_end(j);
}

void
who_blocks_json(struct heapcheck *c, const struct who_choice *w, struct buf *out)
{
	const struct scan_block *b;
	struct namer n = {.c = c};
	uint64_t shown = 0;
	struct json j;
	size_t at = 0;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_json", JSON_SCHEMA);
	json_member_str(&j, "kind", "blocks");
	json_member_arr(&j, "blocks");
	while ((b = next_block(c, w, &at)) != NULL) {
		if (shown++ < w->most)
			block_json(&j, &n, b, w->show);
	}
	json_arr_end(&j);
	json_member_u64(&j, "more", shown > w->most ? shown - w->most : 0);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
