/* SPDX-License-Identifier: MIT */
/* test_live.c -- the reader of live recordings, on images built by hand (live_image.h).
 *
 * First that sound images give the figures that went in; then that damaged ones (cut anywhere,
 * bits flipped, refs bent into circles) never crash and say what is missing. */
#include "t.h"

#include <math.h>
#include <unistd.h>

#include "format/format.h"
#include "format/live_load.h"
#include "live_image.h"
#include "model/prof.h"
#include "util/err.h"

static struct prof *
load(const struct image *m, bool stopped)
{
	struct prof *p = prof_new();
	struct err e = {0};

	T_EQ(live_load(m->data, m->bytes, stopped, p, &e), 0);
	T_STR(e.msg, "");
	return p;
}

/* Number of a damage by a part of its words; 0 = it was not told. */
static uint64_t
damage(const struct prof *p, const char *part)
{
	for (uint32_t i = 0; i < p->ndamages; i++) {
		if (strstr(prof_text(p, p->damages[i].what), part) != NULL)
			return p->damages[i].count;
	}
	return 0;
}

/* Every id leads somewhere, whatever was read. */
static bool
sound(const struct prof *p)
{
	bool ok = true;

	for (uint32_t i = 1; i < p->nnodes; i++)
		ok &= p->nodes[i].parent < i && p->nodes[i].loc < p->nlocs;
	for (uint32_t i = 1; i < p->nlocs; i++)
		ok &= p->locs[i].module < p->nmodules &&
		      p->locs[i].kind <= PROF_LOC_CLASS;
	for (uint32_t i = 1; i < p->nsites; i++)
		ok &= p->sites[i].node < p->nnodes && p->sites[i].process == 1;
	for (uint32_t i = 0; i < p->ncells; i++)
		ok &= p->cells[i].site < p->nsites && p->cells[i].thread < p->nthreads;
	for (uint32_t i = 0; i < p->nblocks; i++)
		ok &= p->blocks[i].site < p->nsites;
	for (uint32_t i = 0; i < p->nmarks; i++)
		ok &= p->marks[i].rows + (uint64_t)p->marks[i].nrows <= p->nmark_rows;
	for (uint32_t i = 0; i < p->nmark_rows; i++)
		ok &= p->mark_rows[i].site < p->nsites;
	return ok;
}

/* Text of a stack, innermost first: "libx.so+400 demo+1200 demo+1100". */
static const char *
stack(const struct prof *p, uint32_t node)
{
	static char text[512];
	size_t n = 0;

	text[0] = '\0';
	for (; node != 0 && n < 400; node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];
		const char *path = prof_text(p, p->modules[l->module].path);
		const char *slash = strrchr(path, '/');

		n += (size_t)snprintf(
			text + n, sizeof text - n, "%s%s%s%s+%llx", n ? " " : "",
			l->kind == PROF_LOC_TRUNCATED ? "?" : "",
			l->kind == PROF_LOC_ELIDED ? "..." : "",
			slash != NULL ? slash + 1 : path, (unsigned long long)l->offset);
	}
	return text;
}

T_TEST(process)
{
	struct image_demo d = image_demo();
	struct prof *p = load(&d.m, true);
	const struct prof_process *x = &p->processes[1];

	T_EQ(p->nprocesses, 2);
	T_EQ(x->pid, 4711);
	T_EQ(x->ppid, 4703);
	T_EQ(x->uid, 1009);
	T_EQ(x->arch, 62);
	T_STR(prof_text(p, x->exe), "/bin/demo");
	T_STR(prof_text(p, x->cwd), "/home/u");
	T_STR(prof_text(p, x->cmdline), "demo -x a b");
	T_STR(prof_text(p, x->host), "box");
	T_STR(prof_text(p, x->allocator), "glibc 2.36");
	T_EQ(x->mode, PROF_EXACT);
	T_EQ(x->end, PROF_END_UNKNOWN);
	T_EQ(x->status, -1);
	T_EQ(x->run_id, 0x5ee9);
	T_EQ(x->process_ticks, 8887);
	T_EQ(x->start_ns, 1700000000000000003);
	T_EQ(x->duration_ms, 79);
	T_EQ(x->live_bytes, 397);
	T_EQ(x->peak_bytes, 1511);
	T_EQ(x->peak_ms, 31);
	T_EQ(x->lost[REC_LOST_ELIDED], 1);
	T_EQ(x->threads_seen, 3);
	T_EQ(x->rss_peak_kib, 1523);
	T_EQ(p->ndamages, 0);
	T_CHECK(sound(p));
	prof_free(p);
	image_free(&d.m);
}

T_TEST(stacks_and_totals)
{
	struct image_demo d = image_demo();
	struct prof *p = load(&d.m, true);

	T_EQ(p->nsites, 4);
	T_STR(stack(p, p->sites[1].node), "demo+1200 demo+1100");
	T_STR(stack(p, p->sites[2].node), "libx.so+400 demo+1200 demo+1100");
	T_STR(stack(p, p->sites[3].node), "+7fff00000011 ...+13 ?+0");
	T_EQ(p->sites[1].allocs, 31);
	T_EQ(p->sites[1].alloc_bytes, 311);
	T_EQ(p->sites[1].frees, 7);
	T_EQ(p->sites[1].free_bytes, 71);
	T_EQ(p->sites[1].live_blocks, 24);
	T_EQ(p->sites[1].live_bytes, 240);
	T_EQ(p->sites[1].temps, 4);
	T_EQ(p->sites[1].temp_bytes, 43);
	T_EQ(p->sites[1].sizes[3], 19 + 23);
	T_EQ(p->sites[1].lifetimes[11], 3);
	T_EQ(p->sites[1].peak_bytes, 257);
	T_EQ(p->sites[1].peak_ms, 37);
	T_EQ(p->sites[1].first_ms, 5);
	T_EQ(p->sites[2].peak_bytes, 120); /* never less than what is live */
	T_EQ(p->sites[2].allocs, 30);
	T_EQ(p->sites[2].live_bytes, 120);
	T_EQ(p->sites[3].live_bytes, 37);
	T_EQ(p->ncells, 5);
	T_EQ(p->nthreads, 3);
	T_STR(prof_text(p, p->threads[2].name), "worker");
	T_EQ(p->threads[2].tid, 4713);
	T_EQ(p->threads[2].ended, false);
	/* the ended cell comes first and belongs to nobody */
	T_EQ(p->cells[2].site, 2);
	T_EQ(p->cells[2].thread, 0);
	T_EQ(p->cells[2].allocs, 17);
	T_EQ(p->cells[3].thread, 2);
	T_EQ(p->cells[3].allocs, 13);
	T_EQ(p->nmodules, 3);
	T_EQ(p->nranges, 2);
	T_EQ(p->ranges[1].start, 0x7f0000000000);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(blocks)
{
	static const struct prof_block want[] = {
		{.addr = 0x555500020010,
		 .bytes = 101,
		 .site = 1,
		 .ms = 41,
		 .thread_serial = 1},
		{.addr = 0x555500020090,
		 .bytes = 139,
		 .site = 1,
		 .ms = 43,
		 .thread_serial = 2,
		 .kind = REC_KIND_NEW},
		{.addr = 0x5555000200a8,
		 .bytes = 11,
		 .site = 2,
		 .ms = 47,
		 .thread_serial = 2,
		 .kind = REC_KIND_ALIGNED},
		{.addr = 0x555500020ff0,
		 .bytes = 2,
		 .site = 2,
		 .ms = 53,
		 .thread_serial = 2},
		{.addr = 0x5555000200b0,
		 .bytes = 107,
		 .site = 2,
		 .ms = 59,
		 .thread_serial = 1,
		 .kind = REC_KIND_NEW_ARRAY},
		{.addr = 0x7f1234567000,
		 .bytes = 37,
		 .site = 3,
		 .ms = 61,
		 .thread_serial = 1,
		 .kind = REC_KIND_MMAP},
	};
	struct image_demo d = image_demo();
	struct prof *p = load(&d.m, true);

	T_EQ(p->nblocks, 6);
	for (uint32_t i = 0; i < 6 && i < p->nblocks; i++) {
		T_EQ(p->blocks[i].addr, want[i].addr);
		T_EQ(p->blocks[i].bytes, want[i].bytes);
		T_EQ(p->blocks[i].site, want[i].site);
		T_EQ(p->blocks[i].ms, want[i].ms);
		T_EQ(p->blocks[i].thread_serial, want[i].thread_serial);
		T_EQ(p->blocks[i].kind, want[i].kind);
		T_EQ(p->blocks[i].process, 1);
	}
	prof_free(p);
	image_free(&d.m);
}

T_TEST(marks_and_points)
{
	struct image_demo d = image_demo();
	struct prof *p;

	image_mark(&d.m, 0, "unfinished", 71);
	p = load(&d.m, true);
	T_EQ(p->nmarks, 2);
	T_STR(prof_text(p, p->marks[0].name), "before");
	T_EQ(p->marks[0].ms, 23);
	T_EQ(p->marks[0].nrows, 2); /* the second came in a record of its own */
	T_EQ(p->mark_rows[p->marks[0].rows + 1].site, 2);
	T_EQ(p->mark_rows[p->marks[0].rows + 1].live_bytes, 83);
	T_STR(prof_text(p, p->marks[1].name), "after");
	T_EQ(p->marks[1].nrows, 2);
	T_EQ(p->mark_rows[p->marks[1].rows].live_blocks, 24);
	T_EQ(p->npoints, 3);
	T_EQ(p->points[2].ms, 73);
	T_EQ(p->points[2].live_bytes, 397);
	prof_free(p);
	image_free(&d.m);
}

/* at_peak: the noted value where the stamp is of this epoch, else what is live; same for exit. */
T_TEST(peak_and_exit)
{
	struct image_demo d = image_demo();
	struct rec_cell *c;
	struct prof *p;

	image_head(&d.m)->exit_ms = 77;
	image_head(&d.m)->stamp = 5 | REC_STAMP_EXIT;
	c = image_at(&d.m, d.cells[0]); /* touched since the peak, before exit */
	c->stamp = 5;
	c->peak_live_bytes = 1009;
	c->peak_live_blocks = 11;
	c->exit_live_bytes = 1; /* not to be used */
	c = image_at(&d.m,
		     d.cells[1]); /* touched before the peak, and after exit began */
	c->stamp = 4 | REC_STAMP_EXIT;
	c->peak_live_bytes = 1; /* not to be used */
	c->exit_live_bytes = 503;
	c->exit_live_blocks = 5;
	p = load(&d.m, true);
	T_EQ(p->sites[1].at_peak_bytes, 1009 + (13 - 53));
	T_EQ(p->sites[1].at_peak_blocks, 11 + (2 - 5));
	T_EQ(p->sites[1].at_exit_bytes, (298 - 18) + 503);
	T_EQ(p->sites[1].at_exit_blocks, (29 - 2) + 5);
	T_EQ(p->processes[1].exit_ms, 77);
	prof_free(p);

	/* exit never began: what is live */
	image_head(&d.m)->exit_ms = 0;
	p = load(&d.m, true);
	T_EQ(p->sites[1].at_exit_bytes, 240);
	prof_free(p);

	/* what threads keep back lifts it above the peak: then the peak is now */
	image_head(&d.m)->peak_bytes = 331;
	image_head(&d.m)->live_bytes = 300;
	((struct rec_thread *)image_at(&d.m, d.threads[1]))->unflushed = 97;
	p = load(&d.m, true);
	T_EQ(p->processes[1].peak_bytes, 397);
	T_EQ(p->processes[1].peak_ms, 79);
	T_EQ(p->sites[1].at_peak_bytes, 240);
	T_EQ(p->sites[1].at_peak_blocks, 24);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(absorbed_cell_counts_once)
{
	struct image_demo d = image_demo();
	struct prof *p;

	/* the thread of cell 2 ended: its 13 are in the sum already, but it is still listed */
	((struct rec_cell *)image_at(&d.m, d.ended))->absorbed = d.cells[2];
	image_count(&d.m, d.ended, 30, 1474, 18, 1354);
	p = load(&d.m, true);
	T_EQ(p->sites[2].allocs, 30);
	T_EQ(p->sites[2].alloc_bytes, 1474);
	T_EQ(p->sites[2].live_bytes, 120);
	T_EQ(p->ncells, 4);
	T_EQ(p->ndamages, 0);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(journal_is_undone_when_stopped)
{
	struct image_demo d = image_demo();
	uint64_t cell_off = (uint64_t)d.cells[0] * 8 + offsetof(struct rec_cell, allocs);
	struct rec_thread *t = image_at(&d.m, d.threads[0]);
	struct prof *p;

	/* allocs was 23, then 29; the first entry is the older and wins */
	t->journal_count = 2;
	t->journal[0] = (struct rec_undo){.off = cell_off, .old = 23};
	t->journal[1] = (struct rec_undo){.off = cell_off, .old = 27};
	p = load(&d.m, false);
	T_EQ(p->sites[1].allocs, 31);
	T_EQ(p->processes[1].end, PROF_END_RUNNING);
	prof_free(p);
	p = load(&d.m, true);
	T_EQ(p->sites[1].allocs, 25);
	T_EQ(p->ndamages, 0);
	prof_free(p);

	/* nonsense is counted: identity, odd offset, past the end, too many */
	t->journal_count = 3;
	t->journal[0].off = 8;
	t->journal[1].off = cell_off + 4;
	t->journal[2].off = UINT64_MAX - 7;
	((struct rec_thread *)image_at(&d.m, d.threads[1]))->journal_count = 4099;
	p = load(&d.m, true);
	T_EQ(damage(p, "could not be undone"), 4);
	T_EQ(p->sites[1].allocs, 31);
	prof_free(p);
	image_free(&d.m);
}

/* rate 1000, blocks of 500 and 3000: p = 1 - exp(-0.5), 1 - exp(-3) */
T_TEST(sampled)
{
	struct image_demo d = image_demo();
	struct rec_cell *c;
	struct prof *p;
	double p1 = 1 - exp(-0.5), p2 = 1 - exp(-3.0), want;

	image_head(&d.m)->mode = REC_MODE_SAMPLE;
	image_head(&d.m)->rate_bytes = 4096;
	image_head(&d.m)->rates[0] = 4096;
	image_head(&d.m)->rates[1] = 1000;
	memset(d.m.data + REC_ROOT_OFF, 0, REC_ROOT_SLOTS * 4);
	image_block(&d.m, 0x1000, 500, d.sites[0], 41, 1, REC_KIND_MALLOC);
	image_block(&d.m, 0x2000, 3000, d.sites[0], 43, 1, REC_KIND_MALLOC);
	image_block(&d.m, 0x3000, 7, d.sites[1], 43, 13, REC_KIND_MALLOC);
	c = image_at(&d.m, d.cells[0]);
	c->est_allocs = 101 * 1024;
	c->est_frees = 41 * 1024 + 512;
	c->var_allocs = 17;
	c = image_at(&d.m, d.cells[1]);
	c->est_allocs = 2 * 1024 + 1023;
	p = load(&d.m, true);
	T_EQ(p->processes[1].mode, PROF_SAMPLED);
	T_EQ(p->sites[1].allocs, 103);
	T_EQ(p->sites[1].frees, 41);
	T_EQ(p->sites[1].live_blocks, 62);
	T_EQ(p->sites[1].live_bytes, 240);
	T_EQ(p->sites[1].samples, 31);
	T_EQ(p->sites[1].live_samples, 24);
	T_EQ(p->sites[1].var_alloc_bytes, 17 << 20);
	want = pow(500 / p1, 2) * (1 - p1) + pow(3000 / p2, 2) * (1 - p2);
	T_CHECK(fabs(p->sites[1].var_live_bytes - want) < 1e-6 * want);
	T_EQ(p->blocks[0].thread_serial, 0); /* it was the rate's number */
	T_EQ(damage(p, "rate is unknown"), 1);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(same_code_in_two_places_is_one_row)
{
	struct image_demo d = image_demo();
	uint32_t again = image_module(&d.m, "/copy/libx.so", 0x7f0100000000,
				      0x7f0100020000, 0x7f0100000000, 0x13);
	uint32_t node = image_node(&d.m, d.work, 0x7f0100000400, again, REC_NODE_PC);
	uint32_t site = image_site(&d.m, node);
	struct prof *p;

	image_count(&d.m, image_cell(&d.m, site, d.threads[0]), 1, 1, 0, 0);
	p = load(&d.m, true);
	T_EQ(p->nmodules, 3);
	T_EQ(p->nranges, 3);
	T_EQ(p->sites[4].node, p->sites[2].node);
	prof_free(p);
	image_free(&d.m);
}

/* ---- damage ---- */

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
	T_EQ(damage(p, "place is unknown"), 1);
	T_EQ(damage(p, "parts of marks"), 2);
	T_EQ(damage(p, "points of the timeline"), 3);
	T_EQ(damage(p, "modules that could not be read"), 2);
	T_EQ(p->nmodules, 3);
	T_EQ(p->npoints, 4096);
	T_EQ(p->nmarks, 1);
	T_EQ(p->nblocks, 8);
	T_EQ(p->blocks[0].site, 0);
	T_EQ(p->blocks[1].kind, REC_KIND_INHERITED);
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
		"recording of version 7, this seep reads 1: use a newer seep");
	h->version = 0;
	refused(&d.m, d.m.bytes,
		"recording of version 0, this seep reads 1: use an older seep");
	h->version = 1;
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
	unsigned loaded = 0;

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
		loaded += live_load(d.m.data, d.m.bytes, (i & 2) != 0, p, NULL) == 0;
		if (!sound(p))
			T_FAIL("bit %d of byte %zu", (int)(random & 7), at);
		d.m.data[at] ^= (unsigned char)(1u << (random & 7));
		prof_free(p);
	}
	T_CHECK(loaded > 4500);
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
	      "some.live: recording of version 7, this seep reads 1: use a newer seep");
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
