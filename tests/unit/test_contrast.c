/* SPDX-License-Identifier: MIT */
/* test_contrast.c -- what tells lost blocks from freed ones is said when it is clear, and
 * only then. */
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/sites/contrast.h"

static const struct skip_opts folding = {.fold = true};

/* A site with `allocs` blocks of which `lost` are lost, `freed` freed and the rest
 * reachable. */
static uint32_t
site(struct prof *p, uint32_t node, uint64_t allocs, uint64_t lost, uint64_t freed)
{
	uint32_t i = prof_add_site(p), row;

	p->sites[i] = (struct prof_site){.process = 1,
					 .node = node,
					 .allocs = allocs,
					 .frees = freed,
					 .alloc_bytes = allocs * 100,
					 .free_bytes = freed * 100,
					 .live_blocks = (int64_t)(allocs - freed),
					 .live_bytes = (int64_t)(allocs - freed) * 100};
	if (lost > 0) {
		row = prof_add_loss(p);
		p->losses[row] = (struct prof_loss){.site = i,
						    .kind = PROF_LOSS_DEFINITE,
						    .blocks = lost,
						    .bytes = lost * 100};
	}
	return i;
}

/* The answer for the place that lost most. */
static bool
ask(const struct prof *p, struct contrast_found *ret)
{
	struct skip *s = skip_new(p, &folding);
	struct contrast *c;
	struct sites ss;
	bool clear;

	sites_init(&ss, p, s, &(struct sites_query){.by = SITES_LOST, .depth = 8});
	c = contrast_new(p, s, &ss);
	clear = contrast_find(c, 0, ret);
	contrast_free(c);
	sites_done(&ss);
	skip_free(s);
	return clear;
}

static const char *
function(const struct prof *p, const struct contrast_side *side)
{
	return prof_text(p, skip_frame(p, side->caller)->function);
}

static struct prof *
begin(void)
{
	struct prof *p = prof_new();

	tp_process(p, "/bin/http", 9, 5);
	return p;
}

#define FROM(p, caller)                                                                  \
	TP_STACK(p, "malloc - libc.so.6", "request_new http.c:12 a", caller,             \
		 "main http.c:99 a")

T_TEST(by_caller)
{
	struct prof *p = begin();
	struct contrast_found f;

	site(p, FROM(p, "handle_ok http.c:93 a"), 1203, 0, 1203);
	site(p, FROM(p, "handle_error http.c:88 a"), 40, 40, 0);
	T_CHECK(ask(p, &f));
	T_EQ(f.by, CONTRAST_CALLER);
	T_CHECK(f.only);
	T_STR(function(p, &f.lost), "handle_error");
	T_EQ(f.lost.blocks, 40);
	T_EQ(f.lost.of, 40);
	T_EQ(f.lost.parts, 1);
	T_STR(function(p, &f.freed), "handle_ok");
	T_EQ(f.freed.blocks, 1203);
	T_EQ(f.freed.of, 1203);
	/* A caller with both does not hide it while it has few of them. */
	site(p, FROM(p, "handle_rest http.c:90 a"), 4, 2, 2);
	T_CHECK(ask(p, &f));
	T_CHECK(!f.only);
	T_EQ(f.lost.blocks, 40);
	/* but with 3 of 43 it is not 95 % any more */
	site(p, FROM(p, "handle_rest http.c:90 a"), 2, 1, 1);
	T_CHECK(!ask(p, &f));
	prof_free(p);
}

T_TEST(further_out)
{
	struct prof *p = begin();
	struct contrast_found f;

	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "copy c.c:4 a", "parse c.c:9 a",
		      "load c.c:20 a", "main c.c:99 a"),
	     100, 0, 100);
	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "copy c.c:4 a", "parse c.c:9 a",
		      "reload c.c:30 a", "main c.c:99 a"),
	     50, 50, 0);
	T_CHECK(ask(p, &f));
	T_STR(function(p, &f.lost), "reload");
	T_STR(function(p, &f.freed), "load");
	prof_free(p);
}

/* What is between is the library's: the lines and callers are the program's. */
T_TEST(through_a_library)
{
	struct prof *p = begin();
	struct contrast_found f;

	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "std::string::_M_create - libstdc++.so.6",
		      "name n.cc:4 a", "std::apply - libstdc++.so.6", "good n.cc:9 a",
		      "main n.cc:20 a"),
	     10, 0, 10);
	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "std::string::_M_assign - libstdc++.so.6",
		      "name n.cc:4 a", "std::apply - libstdc++.so.6", "bad n.cc:12 a",
		      "main n.cc:21 a"),
	     10, 10, 0);
	T_CHECK(ask(p, &f));
	T_STR(function(p, &f.lost), "bad");
	T_STR(function(p, &f.freed), "good");
	prof_free(p);
}

T_TEST(not_clear)
{
	static const struct {
		uint64_t lost_of[3], freed_of[3]; /* allocs, lost, freed */
	} rows[] = {
		{{7, 7, 0}, {100, 0, 100}},	/* too few are lost */
		{{100, 100, 0}, {7, 0, 7}},	/* too few are freed */
		{{100, 50, 50}, {100, 50, 50}}, /* no difference */
		{{100, 90, 10}, {100, 0, 100}}, /* freed there too */
		{{100, 50, 0}, {100, 0, 100}},	/* half of it is reachable */
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct prof *p = begin();
		struct contrast_found f;
		const uint64_t *l = rows[i].lost_of, *g = rows[i].freed_of;

		site(p, FROM(p, "one http.c:88 a"), l[0], l[1], l[2]);
		site(p, FROM(p, "two http.c:93 a"), g[0], g[1], g[2]);
		if (ask(p, &f))
			T_FAIL("row %d", (int)i);
		prof_free(p);
	}
}

/* Another line of the same function is another story. */
T_TEST(another_line)
{
	struct prof *p = begin();
	struct contrast_found f;

	site(p, TP_STACK(p, "malloc - libc.so.6", "make m.c:4 a", "a m.c:9 a"), 50, 50,
	     0);
	site(p, TP_STACK(p, "malloc - libc.so.6", "make m.c:5 a", "b m.c:12 a"), 50, 0,
	     50);
	T_CHECK(!ask(p, &f));
	prof_free(p);
}

/* 30 blocks are left of the one site, of thread `serial` and `bytes` each. */
static void
left(struct prof *p, uint32_t at, unsigned blocks, unsigned serial, uint64_t bytes)
{
	for (unsigned i = 0; i < blocks; i++) {
		uint32_t b = prof_add_block(p);

		p->blocks[b] = (struct prof_block){.site = at,
						   .process = 1,
						   .thread_serial = (uint16_t)serial,
						   .bytes = bytes,
						   .addr = 0x1000 + 64 * b};
	}
}

static uint32_t
thread(struct prof *p, const char *name, unsigned serial, uint32_t at, uint64_t allocs)
{
	uint32_t t = prof_add_thread(p), cell = prof_add_cell(p);

	p->threads[t] = (struct prof_thread){.process = 1,
					     .tid = 100 + serial,
					     .serial = serial,
					     .name = prof_str(p, name)};
	p->cells[cell] = (struct prof_cell){.site = at, .thread = t, .allocs = allocs};
	return t;
}

T_TEST(by_thread)
{
	struct prof *p = begin();
	uint32_t at = site(p, FROM(p, "serve http.c:88 a"), 130, 30, 100);
	uint32_t bad = thread(p, "careless", 2, at, 30);
	struct contrast_found f;

	thread(p, "careful", 1, at, 100);
	left(p, at, 30, 2, 100);
	tp_sizes(p, at, 3, 130);
	T_CHECK(ask(p, &f));
	T_EQ(f.by, CONTRAST_THREAD);
	T_EQ(f.lost.thread, bad);
	T_STR(prof_text(p, f.lost.thread_name), "careless");
	T_STR(prof_text(p, f.freed.thread_name), "careful");
	T_EQ(f.lost.blocks, 30);
	T_EQ(f.freed.of, 100);
	/* Its cell went to the ended threads', its name is with the blocks. */
	p->threads[bad].ended = true;
	T_CHECK(ask(p, &f));
	T_EQ(f.lost.thread, 0);
	T_STR(prof_text(p, f.lost.thread_name), "careless");
	prof_free(p);
}

T_TEST(by_size)
{
	struct prof *p = begin();
	uint32_t at = site(p, FROM(p, "serve http.c:88 a"), 130, 30, 100);
	struct contrast_found f;

	thread(p, "http", 1, at, 130);
	left(p, at, 30, 1, 5000);
	tp_sizes(p, at, 3, 60); /* 65 to 128 bytes */
	tp_sizes(p, at, 4, 40);
	tp_sizes(p, at, 9, 30); /* up to 8 KiB */
	T_CHECK(ask(p, &f));
	T_EQ(f.by, CONTRAST_SIZE);
	T_EQ(f.lost.over_bytes, 4096);
	T_EQ(f.lost.max_bytes, 8192);
	T_EQ(f.freed.over_bytes, 64);
	T_EQ(f.freed.max_bytes, 256);
	T_EQ(f.freed.blocks, 100);
	/* Freed ones on both sides of the lost ones are no rule. */
	tp_sizes(p, at, 4, 0);
	tp_sizes(p, at, 11, 40);
	T_CHECK(!ask(p, &f));
	prof_free(p);
}

/* The figures are those of the row: not of another caller of the same line, nor of
 * strdup. */
T_TEST(of_the_row)
{
	static const char *const stacks[][3] = {
		{"make m.c:4 a", "one m.c:9 a", "two m.c:12 a"},
		{"strdup - libc.so.6", "load m.c:8 a", "load m.c:7 a"},
	};

	for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
		struct prof *p = begin();
		const char *const *s = stacks[i];
		uint32_t at = site(
			p, TP_STACK(p, "malloc - libc.so.6", s[0], s[1], "main m.c:20 a"),
			500, 100, 400);
		uint32_t other = site(
			p, TP_STACK(p, "malloc - libc.so.6", s[0], s[2], "main m.c:20 a"),
			400, 0, 400);
		uint32_t t = thread(p, "cfg", 1, at, 500), cell = prof_add_cell(p);
		struct contrast_found f;

		p->cells[cell] =
			(struct prof_cell){.site = other, .thread = t, .allocs = 400};
		left(p, at, 100, 1, 40);
		tp_sizes(p, at, 0, 400);
		tp_sizes(p, other, 0, 400);
		tp_sizes(p, at, 2, 100);
		T_CHECK(ask(p, &f));
		T_EQ(f.by, CONTRAST_SIZE);
		T_EQ(f.lost.blocks, 100);
		T_EQ(f.freed.blocks, 400);
		T_EQ(f.freed.of, 400);
		/* The same of threads: the lost ones are of another one. */
		p->cells[cell - 1].allocs = 400;
		thread(p, "careless", 2, at, 100);
		for (uint32_t k = 0; k < p->nblocks; k++)
			p->blocks[k].thread_serial = 2;
		T_CHECK(ask(p, &f));
		T_EQ(f.by, CONTRAST_THREAD);
		T_EQ(f.lost.blocks, 100);
		T_EQ(f.freed.blocks, 400);
		prof_free(p);
	}
}

/* Two lines that call strdup are two lines: one is not the caller that frees for the
 * other. */
T_TEST(another_line_of_strdup)
{
	struct prof *p = begin();
	struct contrast_found f;

	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "strdup - libc.so.6", "load m.c:8 a",
		      "main m.c:20 a"),
	     50, 50, 0);
	site(p,
	     TP_STACK(p, "malloc - libc.so.6", "strdup - libc.so.6", "load m.c:7 a",
		      "main m.c:20 a"),
	     50, 0, 50);
	T_CHECK(!ask(p, &f));
	prof_free(p);
}

T_MAIN()
