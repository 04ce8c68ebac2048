/* SPDX-License-Identifier: MIT */
/* test_live_damage.c -- live recordings that were cut anywhere, have bits flipped or
 * refs bent into circles: never a crash, what is left is kept, and what is missing is
 * said. Also files as a process leaves them: sparse, of another version, or none at
 * all. */
#define _GNU_SOURCE
#include "t.h"

#include <sys/mman.h>
#include <unistd.h>

#include "live_check.h"
#include "tool/format/format.h"

T_TEST(circles_end)
{
	struct image_demo d = image_demo();
	struct prof *p;

	((struct rec_node *)image_at(&d.m, d.main))->parent = d.lib;
	((struct rec_cell *)image_at(&d.m, d.cells[0]))->next = d.cells[1];
	p = load(&d.m, true);
	T_CHECK(sound(p));
	T_EQ(damage(p, "followed to their root"), 1);
	T_EQ(damage(p, "break off"), 1);
	T_EQ(p->sites[1].allocs, 31); /* each cell was read once */
	T_EQ(p->sites[3].live_bytes, 37);
	T_STR(stack(p, p->sites[1].node), "demo+1200 demo+1100 libx.so+400 ?+0");
	prof_free(p);
	p = load(&d.m, false);
	T_EQ(damage(p, "changed while they were being read"), 2);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(bucket_circle_and_wild_tree)
{
	struct image_demo d = image_demo();
	uint32_t *root = (uint32_t *)(void *)(d.m.data + REC_ROOT_OFF);
	uint32_t ref = image_block(&d.m, 0x7f1234567010, 3, d.sites[2], 61, 1, 0);
	struct prof *p;

	((struct rec_bucket *)image_at(&d.m, ref))->next = ref;
	root = (uint32_t *)(void *)(d.m.data + REC_ROOT_OFF);
	for (int i = 0; i < 31; i++)
		root[i] = root[0x555500020010 >> REC_ROOT_SHIFT];
	root[97] = UINT32_MAX;
	root[101] = d.sites[0];
	p = load(&d.m, true);
	T_EQ(p->nblocks, 7);
	/* the circle, 30 + 1 second visits, two refs to nowhere */
	T_EQ(damage(p, "table of live blocks"), 1 + 31 + 2);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(wild_refs)
{
	struct image_demo d = image_demo();
	struct prof *p;
	uint32_t ref;

	((struct rec_site *)image_at(&d.m, d.sites[0]))->cells = d.cells[0] + 1;
	((struct rec_site *)image_at(&d.m, d.sites[1]))->ended = d.cells[3];
	((struct rec_cell *)image_at(&d.m, d.cells[3]))->thread = 7;
	image_block(&d.m, 0x9000, 3, d.main, 61, 1, 0);
	image_block(&d.m, 0x9010, 3, 0, 61, 1, REC_KIND_INHERITED);
	image_mark_row(&d.m, d.marks[0], 11, 1, 1);
	((struct rec_mark *)image_at(&d.m, d.marks[1]))->sites = 678;
	image_head(&d.m)->points = 4099;
	/* module 3: a build-id of 99 bytes, and a path that is no string */
	image_module(&d.m, NULL, 0x1000, 0x2000, 0, 0x17);
	ref = image_head(&d.m)->chunk_lists[REC_CHUNK_MODULE] - 1;
	ref = (REC_CHUNKS_OFF + ref * REC_CHUNK_BYTES + 64 + 2 * 128) / 8;
	((struct rec_module *)image_at(&d.m, ref))->build_id_bytes = 99;
	((struct rec_module *)image_at(&d.m, ref))->path = d.main;
	p = load(&d.m, true);
	T_CHECK(sound(p));
	T_EQ(damage(p, "break off"), 3);
	T_EQ(damage(p, "site is unknown"), 2);
	T_EQ(damage(p, "parts of marks"), 2);
	T_EQ(damage(p, "points of the timeline"), 3);
	T_EQ(damage(p, "modules that could not be read"), 2);
	T_EQ(p->nmodules, 3);
	T_EQ(p->npoints, 4097); /* the last is its end */
	T_EQ(p->nmarks, 1);
	T_EQ(p->nblocks, 7); /* inherited ones are never listed */
	T_EQ(p->blocks[0].site, 0);
	prof_free(p);
	image_free(&d.m);
}

static void
refused(const struct image *m, size_t bytes, const char *message)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_CHECK(live_load(m->data, bytes, true, p, &e) < 0);
	T_STR(e.msg, message);
	T_EQ(p->nprocesses, 1);
	prof_free(p);
}

T_TEST(refusals)
{
	struct image_demo d = image_demo();
	struct rec_head *h = image_head(&d.m);
	char text[128];

	refused(&d.m, 0, "not a live recording");
	refused(&d.m, 7, "not a live recording");
	refused(&d.m, 8, "cut off after 8 bytes, within its head");
	snprintf(text, sizeof text, "cut off after %zu bytes, within its head",
		 sizeof *h - 1);
	refused(&d.m, sizeof *h - 1, text);
	h->version = 7;
	refused(&d.m, d.m.bytes,
		"recording of version 7, this seep reads 6: use a newer seep");
	h->version = 0;
	refused(&d.m, d.m.bytes,
		"recording of version 0, this seep reads 6: use an older seep");
	h->version = REC_VERSION;
	h->arch = 40;
	refused(&d.m, d.m.bytes,
		"recording of ELF machine 40, this seep reads 62 (x86-64) and 183 (aarch64)");
	h->arch = REC_ARCH_AARCH64;
	h->chunk_bytes = 4096;
	snprintf(
		text, sizeof text,
		"recording with a head of %zu and chunks of 4096 bytes, this seep reads %zu "
		"and 65536",
		sizeof *h, sizeof *h);
	refused(&d.m, d.m.bytes, text);
	h->magic[3] ^= 1;
	refused(&d.m, d.m.bytes, "not a live recording");
	image_free(&d.m);
}

/* The image in a file, of which chunks are left out until they are asked for: read to the
 * same effect. */
static bool
same_from_file(int fd, const struct prof *p)
{
	struct prof *q = prof_new();
	bool same = live_load_fd(fd, true, q, NULL) == 0 && q->nblocks == p->nblocks &&
		    q->nsites == p->nsites && q->nthreads == p->nthreads &&
		    q->ndamages == p->ndamages;

	if (same && p->nblocks > 0)
		same = memcmp(q->blocks, p->blocks, p->nblocks * sizeof *p->blocks) == 0;
	for (uint32_t i = 0; same && i < p->nsites; i++)
		same = q->sites[i].allocs == p->sites[i].allocs &&
		       q->sites[i].live_bytes == p->sites[i].live_bytes;
	for (uint32_t i = 0; same && i < p->ndamages; i++)
		same = q->damages[i].count == p->damages[i].count;
	prof_free(q);
	return same;
}

/* The image cut to `bytes`, in memory of exactly that size. */
static void
load_cut(const struct image *m, size_t bytes)
{
	void *copy = malloc(bytes ? bytes : 1);
	struct prof *p = prof_new();
	struct err e = {0};
	int r;

	memcpy(copy, m->data, bytes);
	r = live_load(copy, bytes, true, p, &e);
	if (r == 0)
		T_EQ(damage(p, "bytes missing at the end"), m->bytes - bytes);
	else
		T_CHECK(e.msg[0] != '\0');
	T_CHECK(bytes >= sizeof(struct rec_head) ? r == 0 : r < 0);
	T_CHECK(sound(p));
	if (r == 0) {
		int fd = memfd_create("cut", MFD_CLOEXEC);

		T_EQ(write(fd, copy, bytes), (ssize_t)bytes);
		T_CHECK(same_from_file(fd, p));
		close(fd);
	}
	prof_free(p);
	free(copy);
}

T_TEST(cut_anywhere)
{
	struct image_demo d = image_demo();
	uint32_t cuts[] = {d.main,	 d.work,       d.lib,	   d.sites[0],
			   d.sites[1],	 d.cells[0],   d.cells[2], d.ended,
			   d.threads[0], d.threads[1], d.marks[0], d.marks[2]};

	for (size_t n = 0; n < d.m.bytes; n += 997)
		load_cut(&d.m, n);
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		load_cut(&d.m, (size_t)cuts[i] * 8);
		load_cut(&d.m, (size_t)cuts[i] * 8 + 1);
		load_cut(&d.m, (size_t)cuts[i] * 8 - 1);
	}
	for (size_t n = REC_CHUNKS_OFF; n < d.m.bytes; n += REC_CHUNK_BYTES) {
		load_cut(&d.m, n);
		load_cut(&d.m, n + sizeof(struct rec_chunk));
	}
	load_cut(&d.m, REC_TEXT_OFF + 5);
	load_cut(&d.m, REC_POINTS_OFF + 16);
	image_free(&d.m);
}

T_TEST(cut_keeps_what_came_before)
{
	struct image_demo d = image_demo();
	struct prof *p = prof_new();

	/* in the middle of the cell of site 1: what came before it is whole */
	T_EQ(live_load(d.m.data, (size_t)d.cells[2] * 8 + 64, true, p, NULL), 0);
	T_EQ(p->nsites, 4);
	T_EQ(p->sites[1].alloc_bytes, 311);
	T_EQ(p->sites[2].alloc_bytes, 0);
	T_EQ(damage(p, "break off"), 3); /* cell 2, the ended one, cell 3 */
	prof_free(p);
	image_free(&d.m);
}

T_TEST(flipped_bits)
{
	struct image_demo d = image_demo();
	uint64_t random = 0x5eed;
	unsigned loaded = 0, from_file = 0;
	int fd = memfd_create("image", MFD_CLOEXEC);

	T_EQ(pwrite(fd, d.m.data, d.m.bytes, 0), (ssize_t)d.m.bytes);

	for (int i = 0; i < 5000; i++) {
		struct prof *p = prof_new();
		size_t at;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* half of them in the few bytes that are not zero */
		at = (size_t)(random >> 8) % d.m.bytes;
		for (size_t tries = 0; (i & 1) != 0 && d.m.data[at] == 0; tries++)
			at = (at + 1) % d.m.bytes;
		d.m.data[at] ^= (unsigned char)(1u << (random & 7));
		T_EQ(pwrite(fd, &d.m.data[at], 1, (off_t)at), 1);
		if (live_load(d.m.data, d.m.bytes, (i & 2) != 0, p, NULL) == 0) {
			loaded++;
			if ((i & 2) != 0 && !same_from_file(fd, p))
				T_FAIL("from a file: bit %d of byte %zu",
				       (int)(random & 7), at);
			from_file += (i & 2) != 0 && p->nblocks > 0;
		}
		if (!sound(p))
			T_FAIL("bit %d of byte %zu", (int)(random & 7), at);
		d.m.data[at] ^= (unsigned char)(1u << (random & 7));
		T_EQ(pwrite(fd, &d.m.data[at], 1, (off_t)at), 1);
		prof_free(p);
	}
	T_CHECK(loaded > 4500);
	T_CHECK(from_file > 2000);
	close(fd);
	image_free(&d.m);
}

/* ---- from a file ---- */

T_TEST(sparse_file)
{
	struct image_demo d = image_demo();
	char path[] = "/tmp/seep-test-live-XXXXXX";
	int fd = mkstemp(path);
	struct prof *p = NULL;
	struct err e = {0};
	char want[256];

	T_CHECK(write(fd, d.m.data, d.m.bytes) == (ssize_t)d.m.bytes);
	T_EQ(ftruncate(fd, (off_t)1 << 38), 0); /* as it is left: sparse, far too large */
	T_EQ(format_load(path, &p, &e), 0);
	T_STR(e.msg, "");
	T_CHECK(p != NULL);
	T_EQ(p->nblocks, 6);
	T_EQ(p->processes[1].live_bytes, 397);
	T_EQ(p->processes[1].end, PROF_END_UNKNOWN); /* no such process */
	T_EQ(p->ndamages, 0);
	prof_free(p);

	/* a head that claims 256 GiB of holes: no memory is wasted on them */
	image_head(&d.m)->chunks = 1 << 22;
	T_CHECK(pwrite(fd, d.m.data, 4096, 0) == 4096);
	p = NULL;
	T_EQ(format_load(path, &p, &e), 0);
	T_EQ(p->nblocks, 6);
	prof_free(p);

	image_head(&d.m)->version = 7;
	T_CHECK(pwrite(fd, d.m.data, 4096, 0) == 4096);
	p = NULL;
	T_CHECK(format_load_fd(fd, "some.live", &p, &e) < 0);
	T_STR(e.msg,
	      "some.live: recording of version 7, this seep reads 6: use a newer seep");
	T_CHECK(p == NULL);
	T_EQ(ftruncate(fd, 0), 0);
	T_CHECK(format_load(path, &p, &e) < 0);
	snprintf(want, sizeof want, "%s: empty file", path);
	T_STR(e.msg, want);
	T_CHECK(write(fd, "ELF?", 4) == 4);
	T_CHECK(format_load_fd(fd, "x", &p, &e) < 0);
	close(fd);
	unlink(path);
	T_CHECK(format_load("/", &p, &e) < 0);
	T_STR(e.msg, "/: is a directory");
	image_free(&d.m);
}

/* The running process's own pid and start time: read as running, so nothing is undone. */
T_TEST(running_process_is_known)
{
	struct image_demo d = image_demo();
	char path[] = "/tmp/seep-test-live-XXXXXX";
	int fd = mkstemp(path);
	FILE *f = fopen("/proc/self/stat", "r");
	char stat[1024] = "", *at;
	struct prof *p = NULL;

	T_CHECK(f != NULL && fread(stat, 1, sizeof stat - 1, f) > 0);
	fclose(f);
	at = strrchr(stat, ')');
	for (int field = 2; field < 22; field++)
		at = strchr(at + 1, ' ');
	image_head(&d.m)->pid = (uint32_t)getpid();
	image_head(&d.m)->process_ticks = strtoull(at, NULL, 10);
	T_CHECK(write(fd, d.m.data, d.m.bytes) == (ssize_t)d.m.bytes);
	T_EQ(format_load(path, &p, NULL), 0);
	T_EQ(p->processes[1].end, PROF_END_RUNNING);
	prof_free(p);
	close(fd);
	unlink(path);
	image_free(&d.m);
}

T_MAIN()
