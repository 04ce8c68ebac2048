/* SPDX-License-Identifier: MIT */
/* fuzz_pack.c -- the reader of packed recordings under arbitrary bytes.
 *
 * Checksums would keep a fuzzer out of all that lies behind them. So every input is
 * read as it is, and with all checksums put right as a file of today's version. What
 * can be read must be sound and survive being written and read again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fuzz_check.h"
#include "live_image.h"
#include "shared/recording.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pack/pack.h"
#include "tool/format/pack/pack_impl.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"

static void
load(const uint8_t *data, size_t bytes)
{
	struct prof *p = prof_new();

	if (pack_load(data, bytes, p, NULL) == 0) {
		fuzz_check_ids(p);
		fuzz_check_pack(p);
	}
	prof_free(p);
}

/* Puts the checksums of head and sections right, as far as the sections can be
 * followed; the index is made void, so that they are. */
static void
reseal(uint8_t *data, size_t bytes)
{
	size_t off = sizeof(struct pack_head);
	uint32_t crc;

	if (bytes < off)
		return;
	memcpy(data, PACK_MAGIC, 8);
	data[8] = PACK_VERSION;
	memset(data + 9, 0, 3);
	crc = (uint32_t)crc32_z(0, data, 12);
	memcpy(data + 12, &crc, 4);
	while (bytes - off >= sizeof(struct pack_section)) {
		struct pack_section s;

		memcpy(&s, data + off, sizeof s);
		if (s.stored_bytes > bytes - off - sizeof s)
			return;
		s.stored_crc =
			(uint32_t)crc32_z(0, data + off + sizeof s, s.stored_bytes);
		s.crc = (uint32_t)crc32_z(0, (uint8_t *)&s, pack_crc_bytes(sizeof s));
		memcpy(data + off, &s, sizeof s);
		off += sizeof s + s.stored_bytes;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);

	load(data, bytes);
	memcpy(copy, data, bytes);
	reseal(copy, bytes);
	load(copy, bytes);
	free(copy);
	return 0;
}

/* The first process was looked at, and lost something at each of its sites. */
static void
add_losses(struct prof *p)
{
	uint32_t check = prof_add_check(p);

	p->checks[check] = (struct prof_check){.process = 1, .done = true, .threads = 2};
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t row;

		if (p->sites[i].process != 1)
			continue;
		row = prof_add_loss(p);
		p->losses[row] = (struct prof_loss){.site = i,
						    .kind = (uint8_t)(i % 4),
						    .blocks = i,
						    .bytes = 100 * i};
	}
}

/* Two looks at each site of the first process. */
static void
add_looks(struct prof *p)
{
	for (uint32_t n = 0; n < 2; n++) {
		uint32_t look = prof_add_look(p), first = p->nlook_rows;

		for (uint32_t i = 1; i < p->nsites; i++) {
			uint32_t row;

			if (p->sites[i].process != 1)
				continue;
			row = prof_add_look_row(p);
			p->look_rows[row] = (struct prof_look_row){
				.site = i, .allocs = 1 + n, .alloc_bytes = 100 - 300 * n};
		}
		p->looks[look] = (struct prof_look){.process = 1,
						    .rows = first,
						    .nrows = p->nlook_rows - first,
						    .ms = 250 * (n + 1)};
	}
}

/* Seed 0: an empty profile; 1: the unit tests' image; 2: three of it, with names and
 * looks. */
size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	struct prof *p = prof_new();
	struct buf out = {0};
	size_t bytes = 0;

	for (unsigned i = 0; i < (n == 2 ? 3 : n); i++) {
		struct image_demo d = image_demo();

		live_load(d.m.data, d.m.bytes, true, p, NULL);
		image_free(&d.m);
	}
	for (uint32_t i = 1; n == 2 && i < p->nlocs; i++) {
		p->locs[i].frames = prof_add_frame(p);
		p->locs[i].nframes = 1;
		p->frames[p->locs[i].frames].function = prof_str(p, "work");
		p->frames[p->locs[i].frames].line = 7 * i;
	}
	if (n == 2)
		add_looks(p);
	add_losses(p);
	pack_write(p, &out);
	if (n < 3 && out.len <= room) {
		memcpy(to, out.data, out.len);
		bytes = out.len;
	}
	buf_done(&out);
	prof_free(p);
	return bytes;
}
