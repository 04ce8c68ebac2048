/* SPDX-License-Identifier: MIT */
/* test_live_columns.c -- live recordings whose columns are not where this seep lays them
 * out: found by the directory, skipped where they are unknown, 0 where they are
 * absent. */
#include "t.h"

#include "live_check.h"
#include "tool/format/pack/pack.h"
#include "tool/util/buf.h"

static struct rec_column *
directory(struct image *m)
{
	return (struct rec_column *)(void *)(m->data + image_head(m)->columns_off);
}

static struct rec_column *
column(struct image *m, uint8_t kind, uint8_t id)
{
	struct rec_column *c = directory(m);

	while (c->kind != kind || c->id != id)
		c++;
	return c;
}

static void
add_column(struct image *m, struct rec_column c)
{
	directory(m)[image_head(m)->columns++] = c;
}

/* First chunk of a kind. */
static unsigned char *
chunk(struct image *m, uint32_t kind)
{
	return m->data + REC_CHUNKS_OFF +
	       (size_t)(image_head(m)->chunk_lists[kind] - 1) * REC_CHUNK_BYTES;
}

/* Both give the same profile, but for `damages` more in the second. */
static void
same(struct image *a, struct image *b, uint64_t damages)
{
	struct prof *p = load(a, true), *q = load(b, true);
	struct buf x = {0}, y = {0};

	T_CHECK(sound(q));
	prof_add_damage(p, "fields of the recording's head that make no sense", damages);
	pack_write(p, &x);
	pack_write(q, &y);
	T_EQ(x.len, y.len);
	if (x.len == y.len)
		T_MEM(x.data, y.data, x.len);
	buf_done(&x);
	buf_done(&y);
	prof_free(p);
	prof_free(q);
}

T_TEST(columns_are_found_where_they_are)
{
	/* struct rec_node with its last field first, and so on */
	static const struct {
		uint8_t id, was, width, offset;
	} moves[] = {{1, 0, 8, 16},
		     {2, 8, 4, 12},
		     {3, 12, 4, 8},
		     {4, 16, 4, 4},
		     {5, 20, 4, 0}};
	struct image_demo d = image_demo(), e = image_demo();
	unsigned char *at = chunk(&e.m, REC_CHUNK_NODE) + 64;
	unsigned nodes = 0;

	for (; nodes < 6; nodes++, at += 24) {
		unsigned char was[24];

		memcpy(was, at, 24);
		for (unsigned i = 0; i < 5; i++)
			memcpy(at + moves[i].offset, was + moves[i].was, moves[i].width);
	}
	for (unsigned i = 0; i < 5; i++)
		column(&e.m, REC_CHUNK_NODE, moves[i].id)->offset = moves[i].offset;
	same(&d.m, &e.m, 0);
	image_free(&d.m);
	image_free(&e.m);
}

/* Modules of twice the size, as a later seep might write them; and a kind of chunk that
 * we do not know. */
T_TEST(unknown_columns_are_skipped)
{
	struct image_demo d = image_demo(), e = image_demo();
	unsigned char *at = chunk(&e.m, REC_CHUNK_MODULE) + 64;

	memcpy(at + 256, at + 128, 128);
	memset(at + 128, 0xff, 128);
	memset(at + 384, 0xff, 128);
	column(&e.m, REC_CHUNK_MODULE, 0)->width = 256;
	add_column(&e.m, (struct rec_column){REC_CHUNK_MODULE, 99, 128, 128});
	add_column(&e.m, (struct rec_column){77, 0, 16, 64});
	add_column(&e.m, (struct rec_column){77, 1, 8, 8});
	same(&d.m, &e.m, 0);
	image_free(&d.m);
	image_free(&e.m);
}

/* Narrower ones are widened. */
T_TEST(absent_columns_are_zero)
{
	struct image_demo d = image_demo(), e = image_demo();
	struct prof *p = load(&d.m, true), *q;

	T_EQ(p->errors[0].count, 5);
	T_EQ(p->errors[0].ms, 71);
	T_EQ(p->threads[1].tid, 4711);
	column(&e.m, REC_CHUNK_ERROR, 9)->id = 200;  /* ms */
	column(&e.m, REC_CHUNK_ERROR, 3)->width = 1; /* count */
	column(&e.m, REC_CHUNK_THREAD, 2)->id = 200; /* tid */
	q = load(&e.m, true);
	T_EQ(q->nerrors, p->nerrors);
	T_EQ(q->errors[0].count, 5);
	T_EQ(q->errors[0].ms, 0);
	T_EQ(q->threads[1].tid, 0);
	T_EQ(q->threads[2].serial, 2);
	T_EQ(q->ndamages, 0);
	prof_free(p);
	prof_free(q);
	image_free(&d.m);
	image_free(&e.m);
}

/* What was under way is undone before anything is moved, wherever the journal stands. */
T_TEST(journals_are_found_too)
{
	struct image_demo d = image_demo();
	struct rec_thread *t = image_at(&d.m, d.threads[0]);
	uint64_t count = 1;
	struct prof *p;

	t->journal[0].off = (uint64_t)d.cells[3] * 8 + offsetof(struct rec_cell, allocs);
	t->journal[0].old = 2;
	memcpy(&t->reserved2[0], &count, sizeof count); /* the count is here now */
	column(&d.m, REC_CHUNK_THREAD, 10)->offset =
		offsetof(struct rec_thread, reserved2);
	p = load(&d.m, true);
	T_EQ(p->sites[3].allocs, 2);
	prof_free(p);
	image_free(&d.m);
}

/* A directory that makes no sense: said, and the objects are taken to be where ours
 * are. */
T_TEST(directories_are_checked)
{
	for (unsigned i = 0; i < 8; i++) {
		struct image_demo d = image_demo(), e = image_demo();
		struct rec_head *h = image_head(&e.m);
		struct rec_column *node = column(&e.m, REC_CHUNK_NODE, 0);

		switch (i) {
		case 0:
			node->width = 0;
			break;
		case 1:
			node->width = 25;
			break;
		case 2:
			node->offset = 65536;
			break;
		case 3:
			column(&e.m, REC_CHUNK_NODE, 5)->offset = 21;
			break;
		case 4:
			h->columns = 0;
			break;
		case 5:
			h->columns_off = REC_CHUNKS_OFF - 8;
			break;
		case 6:
			h->columns_off = UINT32_MAX - 7;
			break;
		default:
			column(&e.m, REC_CHUNK_THREAD, 0)->width = 128;
			break;
		}
		same(&d.m, &e.m, 1);
		image_free(&d.m);
		image_free(&e.m);
	}
}

T_MAIN()
