/* SPDX-License-Identifier: MIT */
/* test_live.c -- the reader of live recordings: images built by hand (live_image.h)
 * give the figures that went in. Damaged ones are in test_live_damage.c. */
#include "t.h"

#include <math.h>

#include "live_check.h"

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
	/* What the recorder counted, and the allocations of stacks that show a gap. */
	T_EQ(x->lost[REC_LOST_ELIDED], 1 + 3);
	T_EQ(x->lost[REC_LOST_TRUNCATED], 3);
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
	T_EQ(prof_hist(p, 1).sizes[3], 19 + 23);
	T_EQ(prof_hist(p, 1).lifetimes[11], 3);
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

/* What the sites had at the moments 1, 4 and 7, and at the end. */
T_TEST(series)
{
	/* site 1: -40 from 7 on, as its second cell had not changed since 6 */
	static const struct prof_step want[] = {
		{1, 1, 283}, {1, 2, 269 - 40}, {1, 3, 280 - 40},
		{2, 0, 113}, {2, 2, 120},      {3, 1, 37},
	};
	struct image_demo d = image_demo();
	struct prof *p = load(&d.m, true);
	struct rec_cell *c;

	T_EQ(p->nticks, 4);
	T_EQ(p->ticks[0].ms, 11);
	T_EQ(p->ticks[1].ms, 41);
	T_EQ(p->ticks[2].ms, 61);
	T_EQ(p->ticks[3].ms, 79);
	T_EQ(p->ticks[0].live_bytes, 113);
	T_EQ(p->ticks[1].live_bytes, 283 + 113 + 37);
	T_EQ(p->ticks[2].live_bytes, 229 + 120 + 37);
	T_EQ(p->ticks[3].live_bytes, 397);
	T_EQ(p->nsteps, ARRAY_LEN(want));
	for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
		T_EQ(p->steps[i].site, want[i].site);
		T_EQ(p->steps[i].moment, want[i].moment);
		T_EQ(p->steps[i].live_bytes, want[i].live_bytes);
	}
	prof_free(p);

	/* a stamp that went back, and rows that were lost: what the recorder had noted */
	c = image_at(&d.m, d.cells[0]);
	c->stamp = UINT64_C(6) << 48;
	c = image_at(&d.m, d.ended);
	c->series = REC_SERIES_LOST;
	p = load(&d.m, true);
	T_EQ(p->ndamages, 0);
	T_EQ(p->steps[0].live_bytes, 283);
	T_EQ(p->steps[1].moment, 2);
	T_EQ(p->steps[1].live_bytes, 240);
	T_EQ(p->steps[2].site, 2);
	T_CHECK(p->steps[2].live_bytes == PROF_UNKNOWN);
	T_EQ(p->ticks[0].live_bytes, 29);
	T_EQ(p->ticks[1].live_bytes, 401);
	T_EQ(p->ticks[2].live_bytes, 397);
	prof_free(p);

	/* a circle, and a ref to nowhere */
	c->series = d.sites[0];
	c = image_at(&d.m, d.cells[0]);
	((uint64_t *)image_at(&d.m, c->series))[0] |= UINT64_C(15) << 60;
	p = load(&d.m, true);
	T_EQ(damage(p, "figures of past moments"), 2);
	T_CHECK(sound(p));
	prof_free(p);

	/* two of one number: no moment is believed */
	image_moment(&d.m, 4, 43, 0);
	p = load(&d.m, true);
	T_EQ(damage(p, "figures of past moments"), 4);
	T_EQ(p->nticks, 0);
	T_EQ(p->nsteps, 0);
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
	T_EQ(p->npoints, 4); /* the last is its end */
	T_EQ(p->points[2].ms, 73);
	T_EQ(p->points[2].live_bytes, 397);
	prof_free(p);
	image_free(&d.m);
}

/* at_peak: the noted value where the stamp is of this epoch, else what is live; same
 * for exit. */
T_TEST(wrong_uses)
{
	struct image_demo d = image_demo();
	struct prof *p;

	/* One that was not finished is none. */
	image_error(&d.m, &(struct rec_error){.count = 3, .at = d.work});
	p = load(&d.m, true);
	T_EQ(p->ndamages, 0);
	T_EQ(p->nerrors, 3);
	T_EQ(p->errors[0].kind, REC_ERROR_FREE);
	T_EQ(p->errors[0].func, REC_FUNC_REALLOC);
	T_EQ(p->errors[0].where, REC_WHERE_FREED);
	T_EQ(p->errors[0].count, 5);
	T_EQ(p->errors[0].block_bytes, 103);
	T_EQ(p->errors[0].thread, 2);
	T_EQ(p->nodes[p->errors[0].at].parent, p->errors[0].alloc);
	T_EQ(p->nodes[p->errors[0].alloc].parent, p->errors[0].freed);
	T_EQ(p->errors[1].where_off, 0x1301);
	T_STR(prof_text(p, p->modules[p->errors[1].where_module].path), "/lib/libx.so");
	T_EQ(p->errors[1].freed, 0);
	T_EQ(p->errors[2].kind, REC_ERROR_MORE);
	T_EQ(p->errors[2].count, 7);
	prof_free(p);
	image_free(&d.m);
}

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

/* A cell inside its site, with few blocks: they are listed instead of counted. */
T_TEST(few_blocks)
{
	struct image_demo d = image_demo();
	uint32_t node = image_node(&d.m, d.main, 0x1234, 0, REC_NODE_PC);
	uint32_t site = image_site(&d.m, node);
	struct rec_site *s = image_at(&d.m, site);
	struct prof *p;

	s->cells = s->own.site = site;
	s->own.thread = d.threads[0];
	image_count(&d.m, site, 16, 1601, 9, 900);
	s->own.few_sizes = UINT64_C(0x3333333333333331);
	s->own.few_lives[0] =
		UINT64_C(0x1c1b070707070707); /* temporary, longest, 6 of 64 ms */
	s->own.few_lives[1] = 0xff;	      /* damage */
	p = load(&d.m, true);
	T_EQ(p->nsites, 5);
	T_EQ(p->sites[4].allocs, 16);
	T_EQ(prof_hist(p, 4).sizes[1], 1);
	T_EQ(prof_hist(p, 4).sizes[3], 15);
	T_EQ(prof_hist(p, 4).lifetimes[7], 6);
	T_EQ(prof_hist(p, 4).lifetimes[27], 1);
	T_EQ(p->sites[4].temps, 1);
	T_EQ(p->ndamages, 0);
	prof_free(p);

	s->own.hist = d.cells[0]; /* leads to no histogram */
	p = load(&d.m, true);
	T_EQ(p->sites[4].allocs, 16);
	T_EQ(prof_hist(p, 4).sizes[3], 0);
	T_EQ(p->ndamages, 1);
	prof_free(p);
	image_free(&d.m);
}

T_TEST(absorbed_cell_counts_once)
{
	struct image_demo d = image_demo();
	struct prof *p;

	/* the thread of cell 2 ended: its 13 are in the sum already, but it is still
	 * listed */
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
	T_EQ(p->sites[1].temps, 4 * 103 / 31);
	/* 24 of 31 samples were live then; a little less, because the highest is of many
	 * estimates (test_peaks.c) */
	T_CHECK(p->sites[1].at_peak_blocks <= 24 * 103 / 31);
	T_CHECK(p->sites[1].at_peak_blocks > 24 * 103 / 31 * 9 / 10);
	T_EQ(p->sites[1].var_alloc_bytes, 17 << 12);
	want = pow(500 / p1, 2) * (1 - p1) + pow(3000 / p2, 2) * (1 - p2);
	T_CHECK(fabs(p->sites[1].var_live_bytes - want) < 1e-6 * want);
	T_EQ(p->blocks[0].thread_serial, 0); /* it was the rate's number */
	T_EQ(damage(p, "rate is unknown"), 1);
	prof_free(p);
	image_free(&d.m);
}

/* Blocks from before a fork hang at one site, which is none of the process's own. */
T_TEST(inherited_blocks_are_apart)
{
	struct image_demo d = image_demo();
	uint32_t node, site, cell, ended;
	struct prof *p;
	struct rec_cell *c;

	node = image_node(&d.m, 0, REC_CLASS_INHERITED, 0, REC_NODE_CLASS);
	site = image_site(&d.m, node);
	cell = image_cell(&d.m, site, d.threads[0]);
	ended = image_cell(&d.m, site, 0);
	((struct rec_site *)image_at(&d.m, site))->ended = ended;
	image_count(&d.m, cell, 1201, 307001, 601, 100003);
	image_count(&d.m, ended, 0, 0, 3, 3001);
	c = image_at(&d.m, cell);
	c->stamp =
		image_head(&d.m)->stamp; /* saved at the peak: before the last 3 went */
	c->peak_live_bytes = 210000;
	c->peak_live_blocks = 603;
	image_block(&d.m, 0x9010, 203997, site, 0, 0, REC_KIND_INHERITED);
	image_mark_row(&d.m, d.marks[1], site, 5003, 7);
	image_head(&d.m)->flags = REC_FLAG_FORKED | REC_FLAG_TABLE_COPIED;
	p = load(&d.m, true);
	T_EQ(p->processes[1].inherited_blocks, 1201);
	T_EQ(p->processes[1].inherited_bytes, 307001);
	T_EQ(p->processes[1].inherited_frees, 604);
	T_EQ(p->processes[1].inherited_free_bytes, 103004);
	T_EQ(p->processes[1].inherited_at_peak_bytes, 210000 - 3001);
	T_EQ(p->processes[1].inherited_at_peak_blocks, 603 - 3);
	T_EQ(p->processes[1].live_bytes, 397);
	T_EQ(p->processes[1].peak_bytes, 1511);
	T_EQ(p->nsites, 4);
	T_EQ(p->ncells, 5);
	T_EQ(p->nblocks, 6);
	T_EQ(p->marks[1].nrows, 2);
	T_EQ(p->ndamages, 0);
	T_CHECK(sound(p));
	prof_free(p);
	/* The same node further in is an ordinary place. */
	((struct rec_node *)image_at(&d.m, node))->parent = d.main;
	p = load(&d.m, true);
	T_EQ(p->nsites, 5);
	T_EQ(p->processes[1].inherited_blocks, 0);
	T_EQ(damage(p, "site is unknown"), 1);
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

T_MAIN()
