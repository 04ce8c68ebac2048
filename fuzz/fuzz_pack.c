/* SPDX-License-Identifier: MIT */
/* fuzz_pack.c -- the reader of packed recordings under arbitrary bytes.
 *
 * Checksums would keep a fuzzer out of all that lies behind them. So every input is
 * read twice: as it is, and with all checksums put right. What can be read must be
 * sound and survive being written and read again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/recording.h"
#include "format/live_load.h"
#include "format/pack.h"
#include "format/pack_impl.h"
#include "fuzz_check.h"
#include "live_image.h"
#include "model/prof.h"
#include "util/buf.h"

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

/* Seed 0: an empty profile; 1: the unit tests' image; 2: three of it, with names. */
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
	pack_write(p, &out);
	if (n < 3 && out.len <= room) {
		memcpy(to, out.data, out.len);
		bytes = out.len;
	}
	buf_done(&out);
	prof_free(p);
	return bytes;
}
