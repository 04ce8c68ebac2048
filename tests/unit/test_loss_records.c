/* SPDX-License-Identifier: MIT */
/* test_loss_records.c -- loss records as memcheck makes them: what is one, in which
 * order, with which stack. */
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/verdict/loss_records.h"

static void
loss(struct prof *p, uint32_t site, enum prof_loss_kind kind, uint64_t blocks,
     uint64_t bytes, uint64_t indirect, const char *called)
{
	uint32_t row = prof_add_loss(p);

	p->losses[row] = (struct prof_loss){.site = site,
					    .kind = (uint8_t)kind,
					    .blocks = blocks,
					    .bytes = bytes,
					    .indirect_bytes = indirect,
					    .called = prof_str(p, called)};
}

/* One process with four stacks; the last two differ in their fourth frame from
 * outside. */
static struct prof *
demo(void)
{
	static const char *const stacks[][5] = {
		{"a x.c:1 prog", "main x.c:9 prog", NULL},
		{"b x.c:2 prog", "main x.c:10 prog", NULL},
		{"c x.c:3 prog", "d x.c:4 prog", "e x.c:5 prog", "main x.c:11 prog",
		 NULL},
		{"c x.c:3 prog", "d x.c:4 prog", "e x.c:5 prog", "main x.c:12 prog",
		 NULL},
	};
	struct prof *p = prof_new();
	uint32_t process = prof_add_process(p);

	p->processes[process].pid = 7;
	for (unsigned i = 0; i < 4; i++) {
		uint32_t site, node = tp_stack(p, stacks[i]);

		site = prof_add_site(p);
		p->sites[site].process = process;
		p->sites[site].node = node;
		p->sites[site].allocs = 10;
		p->sites[site].alloc_bytes = 1000;
	}
	return p;
}

static struct loss_records
records(const struct prof *p, unsigned callers, unsigned resolution)
{
	struct loss_opts o = {.callers = callers, .resolution = resolution};
	struct skip *s = skip_new(p, NULL);
	struct loss_records r;

	loss_records_init(&r, p, s, 1, &o);
	skip_free(s);
	return r;
}

T_TEST(order_and_sums)
{
	struct prof *p = demo();
	struct loss_records r;

	loss(p, 1, PROF_LOSS_DEFINITE, 1, 60, 0, "malloc");
	loss(p, 2, PROF_LOSS_REACHABLE, 1, 60, 0, "malloc");
	loss(p, 3, PROF_LOSS_DEFINITE, 2, 10, 90, "malloc");
	loss(p, 4, PROF_LOSS_INDIRECT, 1, 60, 0, "malloc");
	loss(p, 1, PROF_LOSS_INDIRECT, 1, 20, 0, "malloc");
	p->losses[4].was = PROF_LOSS_INDIRECT;
	p->losses[4].kind = PROF_LOSS_SUPPRESSED;
	r = records(p, 0, 0);
	T_EQ(r.rows.len, 5);
	T_EQ(r.rows.data[0].bytes, 20);
	T_CHECK(r.rows.data[0].suppressed);
	T_EQ(r.rows.data[0].kind, PROF_LOSS_INDIRECT);
	/* of 60 bytes each: the better kinds first */
	T_EQ(r.rows.data[1].kind, PROF_LOSS_REACHABLE);
	T_EQ(r.rows.data[2].kind, PROF_LOSS_INDIRECT);
	T_EQ(r.rows.data[3].kind, PROF_LOSS_DEFINITE);
	T_EQ(r.rows.data[4].bytes + r.rows.data[4].indirect_bytes, 100);
	T_EQ(r.bytes[PROF_LOSS_DEFINITE], 70);
	T_EQ(r.bytes[PROF_LOSS_SUPPRESSED], 20);
	T_EQ(r.used_blocks, 6);
	T_EQ(r.allocs, 40);
	T_EQ(r.frees, 34);
	T_EQ(loss_records_count(&r, 15), 4);
	T_EQ(loss_records_count(&r, 1u << PROF_LOSS_INDIRECT), 1);
	loss_records_done(&r);
	prof_free(p);
}

T_TEST(what_is_one)
{
	struct prof *p = demo();
	struct loss_records r;

	loss(p, 3, PROF_LOSS_DEFINITE, 1, 10, 5, "malloc");
	loss(p, 4, PROF_LOSS_DEFINITE, 2, 30, 7, "malloc");
	loss(p, 4, PROF_LOSS_DEFINITE, 1, 9, 0, "calloc");
	r = records(p, 0, 0);
	T_EQ(r.rows.len, 3);
	loss_records_done(&r);
	r = records(p, 5, 0); /* malloc and four more: all that there is */
	T_EQ(r.rows.len, 3);
	loss_records_done(&r);
	r = records(p, 4, 0);
	T_EQ(r.rows.len, 2);
	T_EQ(r.rows.data[1].blocks, 3);
	T_EQ(r.rows.data[1].indirect_bytes, 12);
	T_EQ(r.next[r.rows.data[1].first] + r.rows.data[1].first, 1); /* rows 0 and 1 */
	loss_records_done(&r);
	r = records(p, 12, 2);
	T_EQ(r.rows.len, 2);
	loss_records_done(&r);
	prof_free(p);
}

T_TEST(stacks)
{
	struct prof *p = demo();
	struct loss_stack s = {0};

	loss_stack(p, 1, p->sites[3].node, "_Znwm", 0, &s);
	T_EQ(s.frames.len, 5);
	T_STR(s.frames.data[0].function, "operator new(unsigned long)");
	T_STR(s.frames.data[0].linkage, "_Znwm");
	T_STR(s.frames.data[1].function, "c");
	T_EQ(s.frames.data[4].line, 11);
	T_EQ(s.shown, 5);
	loss_stack(p, 1, p->sites[3].node, "malloc", 3, &s);
	T_EQ(s.frames.len, 3);
	loss_stack_done(&s);
	prof_free(p);
}

/* Start code has one name, and what is below main is not shown. */
T_TEST(below_main)
{
	static const char *const stack[] = {
		"<ns::get x.h:1 prog",		 "f x.c:1 prog",  "main x.c:2 prog",
		"__libc_start_main - libc.so.6", "_start - prog", NULL};
	static const char *const exits[] = {"f x.c:1 prog", "exit - libc.so.6",
					    "__libc_start_main_impl - libc.so.6",
					    "_start - prog", NULL};
	struct prof *p = prof_new();
	struct loss_stack s = {0};
	uint32_t node = tp_stack(p, stack);

	prof_add_process(p);
	loss_stack(p, 1, node, NULL, 0, &s);
	T_EQ(s.frames.len, 5);
	T_EQ(s.shown, 3);
	T_STR(s.frames.data[0].function, "get");
	T_STR(s.frames.data[0].whole, "ns::get");
	T_STR(s.frames.data[3].function, "(below main)");
	node = tp_stack(p, exits);
	loss_stack(p, 1, node, NULL, 0, &s);
	T_EQ(s.shown, 3);
	T_STR(s.frames.data[2].function, "(below main)");
	loss_stack_done(&s);
	prof_free(p);
}

T_MAIN()
