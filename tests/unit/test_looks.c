/* SPDX-License-Identifier: MIT */
/* test_looks.c -- a recording looked at while it changes: what each look notes, which are
 * kept, and how they come into a profile. */
#include "t.h"

#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "live_image.h"
#include "tool/target/run/livefile.h"
#include "tool/target/run/looks.h"
#include "tool/util/err.h"

/* An image as a file, which grows and changes like a process's recording. */
struct host {
	struct image m;
	struct livefile f;
	uint32_t thread;
};

static void
host_begin(struct host *h)
{
	struct err e = {0};
	int fd = memfd_create("live", MFD_CLOEXEC);

	*h = (struct host){.m = image_new(), .f = {.fd = -1}};
	h->thread = image_thread(&h->m, 1, 4711, "main");
	T_EQ(ftruncate(fd, 8 << 20), 0);
	T_EQ(pwrite(fd, h->m.data, h->m.bytes, 0), (long long)h->m.bytes);
	T_EQ(livefile_adopt(fd, "live", &h->f, &e), 0);
}

static void
host_look(struct host *h, struct looks *l, uint64_t ms)
{
	T_EQ(pwrite(h->f.fd, h->m.data, h->m.bytes, 0), (long long)h->m.bytes);
	looks_take(l, &h->f, ms);
}

static void
host_end(struct host *h, struct looks *l)
{
	looks_done(l);
	livefile_close(&h->f);
	image_free(&h->m);
}

/* A site with one cell: the cell. */
static uint32_t
host_site(struct host *h, uint64_t pc, uint32_t *ret_site)
{
	*ret_site = image_site(&h->m, image_node(&h->m, 0, pc, 0, REC_NODE_PC));
	return image_cell(&h->m, *ret_site, h->thread);
}

static const struct looks_row *
row_of(const struct looks *l, size_t look, uint32_t ref)
{
	const struct looks_one *one = &l->kept.data[look];

	for (size_t i = 0; i < one->rows.len; i++) {
		if (looks_ref(l, one->rows.data[i].site) == ref)
			return &one->rows.data[i];
	}
	return NULL;
}

T_TEST(rows_are_differences)
{
	struct looks l = {.every_ms = 10};
	uint32_t a, b, cell_a, cell_b;
	const struct looks_row *r;
	struct host h;

	host_begin(&h);
	cell_a = host_site(&h, 0x1003, &a);
	cell_b = host_site(&h, 0x1009, &b);
	image_count(&h.m, cell_a, 7, 700, 2, 200);
	image_count(&h.m, cell_b, 3, 33, 3, 33); /* nothing is live */
	host_look(&h, &l, 10);
	image_count(&h.m, cell_a, 19, 1900, 3, 300);
	image_count(&h.m, cell_b, 5, 55, 5, 55);
	host_look(&h, &l, 20);
	image_count(&h.m, cell_b, 9, 99, 6, 66);
	host_look(&h, &l, 30);
	host_look(&h, &l, 30); /* not later */
	T_EQ(l.kept.len, 3);
	T_EQ(l.kept.data[0].rows.len, 1);
	r = row_of(&l, 0, a);
	T_CHECK(r != NULL && r->allocs == 7 && r->frees == 2 && r->alloc_bytes == 700 &&
		r->free_bytes == 200);
	r = row_of(&l, 1, a);
	T_CHECK(r != NULL && r->allocs == 12 && r->frees == 1 && r->alloc_bytes == 1200 &&
		r->free_bytes == 100);
	T_EQ(l.kept.data[1].rows.len, 1);
	/* what came and went before is told with the first change */
	r = row_of(&l, 2, b);
	T_CHECK(r != NULL && r->allocs == 9 && r->frees == 6 && r->alloc_bytes == 99);
	T_EQ(l.kept.data[2].rows.len, 1);
	T_EQ(looks_ref(&l, UINT32_MAX), 0);
	host_end(&h, &l);
}

/* Several cells, those of ended threads, and one that was absorbed and not yet
 * unlinked. */
T_TEST(cells_of_a_site)
{
	struct looks l = {.every_ms = 10};
	uint32_t a, b, cell, other, ended, stray;
	const struct looks_row *r;
	struct host h;

	host_begin(&h);
	cell = host_site(&h, 0x1003, &a);
	other = image_cell(&h.m, a, h.thread);
	ended = image_cell(&h.m, a, 0);
	image_count(&h.m, cell, 5, 50, 0, 0);
	image_count(&h.m, other, 11, 110, 1, 10);
	image_count(&h.m, ended, 17, 170, 0, 0);
	((struct rec_site *)image_at(&h.m, a))->ended = ended;
	((struct rec_cell *)image_at(&h.m, ended))->absorbed = other;
	host_look(&h, &l, 10);
	r = row_of(&l, 0, a);
	T_CHECK(r != NULL && r->allocs == 22 && r->frees == 0 && r->alloc_bytes == 220);
	/* a list that bites its tail, and a cell in another site's hands */
	stray = host_site(&h, 0x1009, &b);
	image_count(&h.m, stray, 101, 1010, 0, 0);
	((struct rec_cell *)image_at(&h.m, cell))->next = stray;
	host_look(&h, &l, 20);
	r = row_of(&l, 1, b);
	T_CHECK(r != NULL && r->allocs == 101);
	((struct rec_cell *)image_at(&h.m, stray))->next = stray;
	host_look(&h, &l, 30);
	T_EQ(l.kept.len, 3);
	host_end(&h, &l);
}

/* Sites keep their numbers while chunks are added: 1,023 to a chunk. */
T_TEST(sites_of_many_chunks)
{
	struct looks l = {.every_ms = 10};
	uint32_t sites[2200], cells[2200];
	uint64_t rows = 0;
	struct host h;

	host_begin(&h);
	for (uint32_t i = 0; i < 2200; i++) {
		cells[i] = host_site(&h, 0x1000 + 2 * i, &sites[i]);
		image_count(&h.m, cells[i], 1, i + 1, 0, 0);
		if (i == 999 || i == 1999)
			host_look(&h, &l, i + 1);
	}
	host_look(&h, &l, 3000);
	for (size_t i = 0; i < l.kept.len; i++)
		rows += l.kept.data[i].rows.len;
	T_EQ(rows, 2200);
	T_EQ(l.kept.data[0].rows.len, 1000);
	T_EQ(l.kept.data[1].rows.len, 1000);
	for (uint32_t i = 0; i < 2200; i += 7) {
		const struct looks_row *r = row_of(&l,
						   i < 1000   ? 0
						   : i < 2000 ? 1
							      : 2,
						   sites[i]);

		T_CHECK(r != NULL && r->alloc_bytes == i + 1);
	}
	host_end(&h, &l);
}

/* 41 looks become 21, and the distance doubles; no byte is lost. */
T_TEST(thinning)
{
	struct looks l = {.every_ms = 10};
	uint32_t site, odd, spiky, cell, other, spikes;
	int64_t bytes = 0, odd_bytes = 0, spike = 0;
	struct host h;

	host_begin(&h);
	cell = host_site(&h, 0x1003, &site);
	other = host_site(&h, 0x1009, &odd);
	spikes = host_site(&h, 0x100d, &spiky);
	for (uint64_t i = 1; i <= 40; i++) {
		T_CHECK(looks_due(&l, 10 * i));
		T_CHECK(!looks_due(&l, 10 * i - 1));
		image_count(&h.m, cell, i, 13 * i, 0, 0);
		if (i % 10 == 2) /* changes only in looks that will go */
			image_count(&h.m, other, i, 3 * i, 0, 0);
		/* 7 bytes live in the first look and in all with an even number, else
		 * 57 */
		image_count(&h.m, spikes, 1 + (i - 1) / 2, 7 + 50 * ((i - 1) / 2),
			    i > 1 ? (i - 2) / 2 : 0, i > 1 ? 50 * ((i - 2) / 2) : 0);
		host_look(&h, &l, 10 * i);
		l.next_ms = 10 * i + 10; /* on a loaded machine it may wait for longer */
	}
	T_EQ(l.kept.len, 40);
	T_EQ(l.every_ms, 10);
	image_count(&h.m, cell, 41, 13 * 41, 0, 0);
	host_look(&h, &l, 410);
	T_EQ(l.kept.len, 21);
	T_EQ(l.every_ms, 20);
	T_EQ(l.kept.data[0].ms, 10);
	T_EQ(l.kept.data[1].ms, 30);
	T_EQ(l.kept.data[20].ms, 410);
	T_CHECK(l.next_ms >= 430);
	for (size_t i = 0; i < l.kept.len; i++) {
		const struct looks_row *r = row_of(&l, i, site);

		bytes += r != NULL ? r->alloc_bytes : 0;
		/* of two looks the lower state is kept, but of the last two the last */
		T_EQ(r != NULL ? r->alloc_bytes : 0, i < 2 ? 13 : i < 20 ? 26 : 39);
		r = row_of(&l, i, odd);
		odd_bytes += r != NULL ? r->alloc_bytes : 0;
		T_EQ(r != NULL, i % 5 == 1);
		r = row_of(&l, i, spiky);
		spike += r != NULL ? r->alloc_bytes - r->free_bytes : 0;
		T_EQ(spike, 7);
	}
	T_EQ(bytes, 13 * 41);
	T_EQ(odd_bytes, 3 * 32);
	host_end(&h, &l);
}

T_TEST(when_not)
{
	struct looks never = {0}, l = {.every_ms = 10};
	uint32_t site;
	struct host h;

	host_begin(&h);
	T_CHECK(!looks_due(&never, 1000000));
	image_count(&h.m, host_site(&h, 0x1003, &site), 1, 13, 0, 0);
	image_head(&h.m)->exit_ms = 5; /* what happens now is no growth */
	host_look(&h, &l, 10);
	T_EQ(l.kept.len, 0);
	/* a list of chunks that leads out of the file */
	image_head(&h.m)->exit_ms = 0;
	image_head(&h.m)->chunk_lists[REC_CHUNK_SITE] = 4000;
	host_look(&h, &l, 20);
	T_EQ(l.kept.len, 1);
	T_EQ(l.kept.data[0].rows.len, 0);
	host_end(&h, &l);
	looks_done(&never);
}

T_MAIN()
