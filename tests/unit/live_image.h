/* SPDX-License-Identifier: MIT */
/* live_image.h -- builds live recordings in memory, by hand, for tests of their
 * reader.
 *
 * Written from shared/recording.h and docs/format.md alone, without the recorder: where
 * the two disagree a test fails. Images are a few chunks long. Objects are named by
 * refs, as in the file; pointers into an image are good until it next grows. */
#ifndef SEEP_TESTS_LIVE_IMAGE_H
#define SEEP_TESTS_LIVE_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/recording_columns.h"

enum {
	IMAGE_MARK_ROWS = 677, /* rows that the recorder makes room for in a record */
	IMAGE_MARK_BYTES = 64 + IMAGE_MARK_ROWS * 24,
};

struct image {
	unsigned char *data;
	size_t bytes;
};

static inline struct rec_head *
image_head(struct image *m)
{
	return (struct rec_head *)(void *)m->data;
}

static inline void *
image_at(struct image *m, uint32_t ref)
{
	return m->data + (size_t)ref * 8;
}

static inline void
image_grow(struct image *m, size_t bytes)
{
	m->data = realloc(m->data, bytes);
	if (m->data == NULL)
		abort();
	memset(m->data + m->bytes, 0, bytes - m->bytes);
	m->bytes = bytes;
}

/* Identity of an exact x86-64 recording of pid 4711; nothing in it yet. */
static inline struct image
image_new(void)
{
	static const char text[] = "/bin/demo\0/home/u\0demo\0-x\0a b";
	struct image m = {0};
	struct rec_head *h;

	image_grow(&m, REC_CHUNKS_OFF);
	h = image_head(&m);
	memcpy(h->magic, REC_MAGIC, 8);
	h->version = REC_VERSION;
	h->arch = REC_ARCH_X86_64;
	h->head_bytes = sizeof *h;
	h->chunk_bytes = REC_CHUNK_BYTES;
	rec_columns_write(h);
	h->file_bytes = 1 << 30;
	h->pid = 4711;
	h->ppid = 4703;
	h->uid = 1009;
	h->mode = REC_MODE_EXACT;
	h->start_ns = 1700000000000000003;
	h->process_ticks = 8887;
	h->run_id = 0x5ee9;
	memcpy(h->host, "box", 4);
	memcpy(h->libc, "glibc 2.36", 11);
	memcpy(m.data + REC_TEXT_OFF, text, sizeof text);
	return m;
}

static inline void
image_free(struct image *m)
{
	free(m->data);
	*m = (struct image){0};
}

static inline uint32_t
image_first(uint32_t kind)
{
	if (kind == REC_CHUNK_THREAD)
		return sizeof(struct rec_thread);
	return sizeof(struct rec_chunk);
}

/* Room for `bytes` in the newest chunk of the kind, or in a new one: its ref. */
static inline uint32_t
image_alloc(struct image *m, uint32_t kind, uint32_t bytes)
{
	uint32_t index = image_head(m)->chunk_lists[kind];
	struct rec_chunk *c = NULL;
	uint32_t at;

	if (index != 0)
		c = (void *)(m->data + REC_CHUNKS_OFF +
			     (size_t)(index - 1) * REC_CHUNK_BYTES);
	if (c == NULL || c->used + bytes > REC_CHUNK_BYTES) {
		struct rec_head *h;

		image_grow(m, m->bytes + REC_CHUNK_BYTES);
		h = image_head(m);
		c = (void *)(m->data + m->bytes - REC_CHUNK_BYTES);
		c->kind = kind;
		c->used = image_first(kind);
		c->next = index;
		h->chunk_lists[kind] = h->populated = ++h->chunks;
	}
	at = (uint32_t)((unsigned char *)c - m->data) + c->used;
	c->used += bytes;
	return at / 8;
}

static inline uint32_t
image_string(struct image *m, const char *text)
{
	uint32_t n = (uint32_t)strlen(text);
	uint32_t ref = image_alloc(m, REC_CHUNK_STRING, (4 + n + 1 + 7) & ~7u);
	struct rec_string *s = image_at(m, ref);

	s->bytes = n;
	memcpy(s->text, text, n);
	return ref;
}

/* Number of the new module. `id`: a build-id of 20 bytes all of that value, 0 = none. */
static inline uint32_t
image_module(struct image *m, const char *path, uint64_t start, uint64_t end,
	     uint64_t bias, unsigned char id)
{
	uint32_t path_ref = path != NULL ? image_string(m, path) : 0;
	uint32_t ref = image_alloc(m, REC_CHUNK_MODULE, sizeof(struct rec_module));
	struct rec_module *x = image_at(m, ref);

	x->start = start;
	x->end = end;
	x->bias = bias;
	x->path = path_ref;
	x->loaded_ms = 3;
	if (id != 0) {
		x->build_id_bytes = 20;
		memset(x->build_id, id, 20);
	}
	return ++image_head(m)->modules;
}

static inline uint32_t
image_node(struct image *m, uint32_t parent, uint64_t pc, uint32_t module, uint32_t kind)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_NODE, sizeof(struct rec_node));
	struct rec_node *n = image_at(m, ref);

	n->pc = pc;
	n->parent = parent;
	n->module = module | kind << 24;
	return ref;
}

static inline uint32_t
image_site(struct image *m, uint32_t node)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_SITE, sizeof(struct rec_site));
	struct rec_site *s = image_at(m, ref);
	struct rec_node *n = image_at(m, node);

	s->node = node;
	n->site = ref;
	return ref;
}

static inline uint32_t
image_thread(struct image *m, uint32_t serial, uint32_t tid, const char *name)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_THREAD, sizeof(struct rec_thread));
	struct rec_thread *t = image_at(m, ref);

	t->state = REC_THREAD_LIVE;
	t->serial = serial;
	t->tid = tid;
	strncpy(t->name, name, sizeof t->name - 1);
	return ref;
}

/* A cell in front of the site's list, with a histogram. `thread` 0: not listed, the
 * caller makes it `ended`. */
static inline uint32_t
image_cell(struct image *m, uint32_t site, uint32_t thread)
{
	uint32_t hist = image_alloc(m, REC_CHUNK_HIST, sizeof(struct rec_hist));
	uint32_t ref = image_alloc(m, REC_CHUNK_CELL, REC_CELL_BYTES);
	struct rec_cell *c = image_at(m, ref);
	struct rec_site *s = image_at(m, site);

	c->hist = hist;
	c->site = site;
	c->thread = thread;
	if (thread != 0) {
		c->next = s->cells;
		s->cells = ref;
	}
	return ref;
}

static inline void
image_count(struct image *m, uint32_t cell, uint64_t allocs, uint64_t alloc_bytes,
	    uint64_t frees, uint64_t free_bytes)
{
	struct rec_cell *c = image_at(m, cell);

	c->allocs = allocs;
	c->alloc_bytes = alloc_bytes;
	c->frees = frees;
	c->free_bytes = free_bytes;
}

/* What the slot at byte offset `off` points to, made when it is empty. */
static inline uint32_t
image_step(struct image *m, size_t off, uint32_t kind, uint32_t bytes)
{
	uint32_t ref;

	memcpy(&ref, m->data + off, sizeof ref);
	if (ref == 0) {
		ref = image_alloc(m, kind, bytes);
		memcpy(m->data + off, &ref, sizeof ref);
	}
	return ref;
}

/* A live block; `number` is the thread's serial, or in a sampled recording that of the
 * rate. The ref of the bucket that holds it. Buckets have 4 slots here, chained when
 * full. */
static inline uint32_t
image_block(struct image *m, uint64_t addr, uint64_t bytes, uint32_t site, uint32_t ms,
	    uint32_t number, uint32_t kind)
{
	enum { CAP = 4, BUCKET_BYTES = 16 + 16 + CAP * 16 };
	size_t slot = REC_ROOT_OFF + 4 * (size_t)(addr >> REC_ROOT_SHIFT);
	uint32_t ref = image_step(m, slot, REC_CHUNK_MID, REC_MID_SLOTS * 4);
	struct rec_bucket *b;
	struct rec_block *rows;
	unsigned char *offs;
	unsigned i;

	slot = (size_t)ref * 8 + 4 * (addr >> REC_MID_SHIFT & (REC_MID_SLOTS - 1));
	ref = image_step(m, slot, REC_CHUNK_LEAF, REC_LEAF_SLOTS * 4);
	slot = (size_t)ref * 8 + 4 * (addr >> REC_LEAF_SHIFT & (REC_LEAF_SLOTS - 1));
	for (;;) {
		ref = image_step(m, slot, REC_CHUNK_BUCKET, BUCKET_BYTES);
		b = image_at(m, ref);
		b->used |= (uint64_t)CAP << REC_BUCKET_CAP_SHIFT;
		offs = (unsigned char *)(b + 1);
		rows = (struct rec_block *)(void *)(offs + 16);
		for (i = 0; i < CAP && rows[i].b != 0; i++)
			;
		if (i < CAP)
			break;
		slot = (size_t)ref * 8 + offsetof(struct rec_bucket, next);
	}
	offs[i] = (unsigned char)(addr >> 4);
	rows[i].a = bytes | (addr & 15) << REC_BLOCK_LOW_SHIFT |
		    (uint64_t)kind << REC_BLOCK_KIND_SHIFT |
		    (uint64_t)number << REC_BLOCK_THREAD_SHIFT;
	rows[i].b = site | (uint64_t)ms << 32;
	return ref;
}

static inline uint32_t
image_mark(struct image *m, uint32_t number, const char *name, uint64_t ms)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_MARK, IMAGE_MARK_BYTES);
	struct rec_mark *x = image_at(m, ref);

	x->number = number;
	x->ms = ms;
	strncpy(x->name, name, sizeof x->name - 1);
	return ref;
}

static inline void
image_mark_row(struct image *m, uint32_t mark, uint32_t site, int64_t bytes,
	       int64_t blocks)
{
	struct rec_mark *x = image_at(m, mark);
	struct rec_mark_row *row = (struct rec_mark_row *)(void *)(x + 1) + x->sites++;

	row->site = site;
	row->live_bytes = bytes;
	row->live_blocks = blocks;
}

static inline void
image_point(struct image *m, uint32_t ms, uint32_t rss_kib, int64_t live_bytes)
{
	struct rec_point *points = (void *)(m->data + REC_POINTS_OFF);

	points[image_head(m)->points++] = (struct rec_point){
		.ms = ms, .rss_kib = rss_kib, .live_bytes = live_bytes};
}

/* A moment with this number. */
static inline void
image_moment(struct image *m, unsigned number, uint64_t ms, int64_t live_bytes)
{
	struct rec_moment *at = (void *)(m->data + REC_MOMENTS_OFF);

	while (at->when != 0)
		at++;
	*at = (struct rec_moment){ms | (uint64_t)number << 48, live_bytes};
}

/* A piece of a cell's series in front of what it has; `rows` are pairs of a moment and
 * bytes, of which both 0 leaves a row free. Returns its ref. */
static inline uint32_t
image_series(struct image *m, uint32_t cell, const int64_t (*rows)[2], unsigned n)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_SERIES, 64);
	uint32_t before = ((struct rec_cell *)image_at(m, cell))->series;
	uint64_t *to = image_at(m, ref);

	for (unsigned i = 0; i < n; i++)
		to[i] = (uint64_t)rows[i][0] << 48 |
			((uint64_t)rows[i][1] & 0xffffffffffff);
	for (unsigned i = 0; i < 8; i++)
		to[i] |= (uint64_t)(before >> 4 * i & 15) << 60;
	((struct rec_cell *)image_at(m, cell))->series = ref;
	return ref;
}

static inline uint32_t
image_error(struct image *m, const struct rec_error *e)
{
	uint32_t ref = image_alloc(m, REC_CHUNK_ERROR, sizeof *e);

	*(struct rec_error *)image_at(m, ref) = *e;
	return ref;
}

/* The image that tests and fuzzers start from: two modules, five frames, three sites,
 * two threads and an ended one, marks, points, moments, blocks and two wrong uses of the
 * heap.
 * Every figure is a prime or a sum of primes:
 *
 * 	0  main+1100 > work+1200             31 of 311 bytes, 7 of 71 freed
 * 	1  main+1100 > work+1200 > lib+400   13 of 1301, all freed; ended: 17 of 173, 5 of 53 freed
 * 	2  truncated > elided 19 > 7fff00000011   3 of 37, none freed */
struct image_demo {
	struct image m;
	uint32_t main, work, lib, sites[3], cells[4], ended, threads[2], marks[3],
		errors[2];
};

static inline struct image_demo
image_demo(void)
{
	struct image_demo d = {.m = image_new()};
	struct image *m = &d.m;
	struct rec_head *h;
	struct rec_cell *c;
	struct rec_hist *hist;
	struct rec_site *s;
	uint32_t exe, so, root, far;

	exe = image_module(m, "/bin/demo", 0x555500000000, 0x555500010000, 0x555500000000,
			   0x11);
	so = image_module(m, "/lib/libx.so", 0x7f0000000000, 0x7f0000020000,
			  0x7f0000000000, 0x13);
	d.threads[0] = image_thread(m, 1, 4711, "demo");
	d.threads[1] = image_thread(m, 2, 4713, "worker");
	d.main = image_node(m, 0, 0x555500001100, exe, REC_NODE_PC);
	d.work = image_node(m, d.main, 0x555500001200, exe, REC_NODE_PC);
	d.lib = image_node(m, d.work, 0x7f0000000400, so, REC_NODE_PC);
	root = image_node(m, 0, 0, 0, REC_NODE_TRUNCATED);
	far = image_node(m, root, 19, 0, REC_NODE_ELIDED);
	far = image_node(m, far, 0x7fff00000011, 0, REC_NODE_PC);
	d.sites[0] = image_site(m, d.work);
	d.sites[1] = image_site(m, d.lib);
	d.sites[2] = image_site(m, far);
	d.cells[0] = image_cell(m, d.sites[0], d.threads[0]);
	d.cells[1] = image_cell(m, d.sites[0], d.threads[1]);
	d.cells[2] = image_cell(m, d.sites[1], d.threads[1]);
	d.cells[3] = image_cell(m, d.sites[2], d.threads[0]);
	d.ended = image_cell(m, d.sites[1], 0);
	((struct rec_site *)image_at(m, d.sites[1]))->ended = d.ended;
	image_count(m, d.cells[0], 29, 298, 2, 18);
	image_count(m, d.cells[1], 2, 13, 5, 53);
	image_count(m, d.cells[2], 13, 1301, 13, 1301);
	image_count(m, d.ended, 17, 173, 5, 53);
	image_count(m, d.cells[3], 3, 37, 0, 0);
	c = image_at(m, d.cells[0]);
	c->temp_bytes = 43;
	hist = image_at(m, c->hist);
	hist->lifetimes[REC_LIFE_TEMPORARY] = 4;
	hist->lifetimes[11] = 3;
	hist->sizes[3] = 19;
	c = image_at(m, d.cells[1]);
	hist = image_at(m, c->hist);
	hist->sizes[3] = 23;
	s = image_at(m, d.sites[0]);
	s->peak_bytes = 257;
	s->peak_ms = 37;
	s->first_ms = 5;
	image_block(m, 0x555500020010, 101, d.sites[0], 41, 1, REC_KIND_MALLOC);
	image_block(m, 0x555500020090, 139, d.sites[0], 43, 2, REC_KIND_NEW);
	image_block(m, 0x5555000200a8, 11, d.sites[1], 47, 2, REC_KIND_ALIGNED);
	image_block(m, 0x555500020ff0, 2, d.sites[1], 53, 2, REC_KIND_MALLOC);
	image_block(m, 0x5555000200b0, 107, d.sites[1], 59, 1, REC_KIND_NEW_ARRAY);
	image_block(m, 0x7f1234567000, 37, d.sites[2], 61, 1, REC_KIND_MMAP);
	d.marks[0] = image_mark(m, 1, "before", 23);
	d.marks[1] = image_mark(m, 2, "after", 67);
	d.marks[2] = image_mark(m, 1, "before", 23);
	image_mark_row(m, d.marks[0], d.sites[0], 19, 3);
	image_mark_row(m, d.marks[1], d.sites[0], 240, 24);
	image_mark_row(m, d.marks[1], d.sites[2], 37, 3);
	image_mark_row(m, d.marks[2], d.sites[1], 83, 7);
	image_point(m, 10, 1511, 29);
	image_point(m, 20, 1523, 97);
	image_point(m, 73, 1499, 397);
	d.errors[0] = image_error(m, &(struct rec_error){.kind = REC_ERROR_FREE,
							 .func = REC_FUNC_REALLOC,
							 .count = 5,
							 .addr = 0x555500020017,
							 .block = 0x555500020010,
							 .block_bytes = 103,
							 .ms = 71,
							 .at = d.lib,
							 .alloc = d.work,
							 .freed = d.main,
							 .thread = 2,
							 .where = REC_WHERE_FREED});
	d.errors[1] = image_error(m, &(struct rec_error){.kind = REC_ERROR_FREE,
							 .func = REC_FUNC_FREE,
							 .count = 1,
							 .addr = 0x7f0000001301,
							 .at = d.work,
							 .thread = 1,
							 .where = REC_WHERE_MODULE,
							 .where_number = so});
	image_moment(m, 4, 41, 401);
	image_moment(m, 1, 11, 29);
	image_moment(m, 7, 61, 409);
	image_series(m, d.cells[0],
		     (const int64_t[][2]){{1, 0}, {2, 7}, {3, 11}, {0, 0}, {5, 283}}, 5);
	image_series(m, d.cells[0], (const int64_t[][2]){{7, 269}}, 1);
	image_series(m, d.ended, (const int64_t[][2]){{4, 113}}, 1);
	((struct rec_cell *)image_at(m, d.cells[0]))->stamp = UINT64_C(7) << 48;
	((struct rec_cell *)image_at(m, d.ended))->stamp = UINT64_C(4) << 48;
	((struct rec_cell *)image_at(m, d.cells[1]))->stamp = UINT64_C(6) << 48;
	((struct rec_cell *)image_at(m, d.cells[2]))->stamp = UINT64_C(6) << 48;
	((struct rec_cell *)image_at(m, d.cells[3]))->stamp = UINT64_C(1) << 48;
	h = image_head(m);
	h->errors_more = 7;
	h->live_bytes = 397;
	h->peak_bytes = 1511;
	h->peak_ms = 31;
	h->clock_ms = 79;
	h->stamp = 5 | UINT64_C(7) << 48;
	h->lost[REC_LOST_ELIDED] = 1;
	h->threads_seen = 3;
	h->threads_ended = 1;
	h->marks = 2;
	return d;
}

#endif
