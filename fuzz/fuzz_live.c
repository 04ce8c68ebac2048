/* SPDX-License-Identifier: MIT */
/* fuzz_live.c -- the reader of live recordings under arbitrary damage.
 *
 * Live recordings are hundreds of KiB of mostly zeros, too large to be changed byte by
 * byte. So an input is a list of changes to the image that the unit tests use
 * (tests/unit/live_mixed.h):
 *
 *	flags u8 (bit 0: stopped) | cut u32 (bytes left; 0 = all)
 *	change: off u32 | n u8 | n bytes … as many as there are
 *
 * An offset's top bit chooses bytes that matter: it then counts only those that are
 * not zero. An input that begins like a recording is taken as one. After loading,
 * every id must lead somewhere, and the profile must survive packing. */
#include "fuzz.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"
#include "live_mixed.h"
#include "shared/cursor.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pack/pack.h"
#include "tool/model/prof.h"

static struct image image;
static uint32_t *busy; /* offsets of the bytes that are not zero */
static uint32_t nbusy;

static void
image_prepare(void)
{
	image = mixed_image().m;
	busy = malloc(image.bytes * sizeof *busy);
	for (uint32_t i = 0; i < image.bytes; i++) {
		if (image.data[i] != 0)
			busy[nbusy++] = i;
	}
}

static void
load(const void *data, size_t bytes, bool stopped)
{
	struct prof *p = prof_new();

	if (live_load(data, bytes, stopped, p, NULL) == 0) {
		fuzz_check_ids(p);
		fuzz_check_pack(p);
	}
	prof_free(p);
}

static void
change(unsigned char *data, struct cur *in)
{
	while (cur_left(in) > 5) {
		uint32_t off = cur_u32(in);
		uint32_t n = cur_u8(in);
		const unsigned char *bytes;

		if (off >> 31 != 0)
			off = busy[(off & 0x7fffffff) % nbusy];
		off %= (uint32_t)image.bytes;
		if (n > cur_left(in))
			n = (uint32_t)cur_left(in);
		if (n > image.bytes - off)
			n = (uint32_t)image.bytes - off;
		bytes = cur_take(in, n);
		if (bytes != NULL)
			memcpy(data + off, bytes, n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cur in = cur_init(data, bytes);
	unsigned char *copy;
	uint8_t flags;
	uint32_t cut;

	if (image.data == NULL)
		image_prepare();
	if (live_detect(data, bytes)) {
		load(data, bytes, true);
		return 0;
	}
	flags = cur_u8(&in);
	cut = cur_u32(&in);
	copy = malloc(image.bytes);
	memcpy(copy, image.data, image.bytes);
	change(copy, &in);
	load(copy, cut != 0 && cut < image.bytes ? cut : image.bytes, (flags & 1) != 0);
	free(copy);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	/* stopped or not, whole or cut, with changes that a mutation can move about */
	static const uint32_t cuts[] = {0, 0, 300001, 4096, 524287, 262208};
	size_t at = 0;

	if (n >= sizeof cuts / sizeof *cuts || room < 256)
		return 0;
	to[at++] = (uint8_t)(n & 1);
	mem_put_u32(to + at, cuts[n]);
	at += 4;
	for (uint32_t i = 0; i < n * 3; i++) {
		mem_put_u32(to + at, 0x80000000u | (i * 977 + n * 131));
		to[at + 4] = (uint8_t)(1 + i % 8);
		memset(to + at + 5, (int)(0x11 * (i + 1)), to[at + 4]);
		at += 5u + to[at + 4];
	}
	return at;
}
