/* SPDX-License-Identifier: MIT */
/* fuzz_pprof.c -- the reader of pprof's protobuf under arbitrary bytes, and every writer
 * behind it.
 *
 * What can be read must be sound, survive packing, and be written in every format without
 * complaint; what was written as protobuf must be read again without any damage but sums
 * that do not fit. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"
#include "live_image.h"
#include "pprof_file.h"
#include "tool/format/format_save.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pprof/pprof.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"

static void
check_labels(const struct prof *p)
{
	for (uint32_t i = 0; i < p->nlabels; i++)
		FUZZ_CHECK(p->labels[i].site < p->nsites && p->labels[i].key != 0);
}

static void
check_again(const struct prof *p)
{
	struct prof *q = prof_new();
	struct buf b = {0};
	struct emit_out out = {.buf = &b};

	FUZZ_CHECK(format_save(p, "proto", NULL, &out, NULL) == 0);
	FUZZ_CHECK(pprof_load(b.data, b.len, q, NULL) == 0);
	fuzz_check_ids(q);
	for (uint32_t i = 0; i < q->ndamages; i++)
		FUZZ_CHECK(strcmp(prof_text(q, q->damages[i].what),
				  "values out of range") == 0);
	FUZZ_CHECK(q->nsites <= p->nsites && q->nlocs <= p->nlocs);
	prof_free(q);
	buf_done(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct prof *p = prof_new();

	pprof_detect(data, bytes);
	if (pprof_load(data, bytes, p, NULL) == 0) {
		fuzz_check_ids(p);
		check_labels(p);
		check_again(p);
		/* Compressing takes longer than all the rest: not every time. */
		if (bytes % 8 == 0)
			fuzz_check_pack(p);
		for (size_t i = 0; format_writers[i] != NULL; i++) {
			struct buf b = {0};
			struct emit_out out = {.buf = &b};

			if (format_writers[i] != &emit_pprof || bytes % 8 == 1)
				format_save(p, format_writers[i]->name, NULL, &out, NULL);
			buf_done(&b);
		}
	}
	prof_free(p);
	return 0;
}

/* Seeds 0 to 2: what Go, jemalloc_pprof and async-profiler write; 3: what seep writes. */
size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	static void (*const makers[])(struct file *) = {put_go, put_jemalloc, put_async};
	struct file f = {0};
	size_t bytes = 0;

	if (n < 3) {
		makers[n](&f);
	} else if (n == 3) {
		struct image_demo d = image_demo();
		struct prof *p = prof_new();
		struct emit_out out = {.buf = &f.out};

		live_load(d.m.data, d.m.bytes, true, p, NULL);
		format_save(p, "proto", NULL, &out, NULL);
		prof_free(p);
		image_free(&d.m);
	}
	if (f.out.len > 0 && f.out.len <= room) {
		memcpy(to, f.out.data, f.out.len);
		bytes = f.out.len;
	}
	file_done(&f);
	return bytes;
}
