/* SPDX-License-Identifier: MIT */
/* test_save.c -- what other tools' formats look like when seep writes them: heap text,
 * folded stacks, speedscope, CSV. */
#include <errno.h>

#include "t.h"
#include "t_prof.h"
#include "tool/format/format.h"
#include "tool/format/format_save.h"
#include "tool/model/named.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

static const char *
save(const struct prof *p, const char *format, const struct format_save_opts *o,
     struct buf *out)
{
	struct emit_out to = {.buf = out};
	struct err e = {0};

	buf_clear(out);
	if (format_save(p, format, o, &to, &e) < 0)
		T_FAIL("%s: %s", format, e.msg);
	return buf_str(out);
}

static void
refused(const struct prof *p, const char *format, int code, const char *message)
{
	struct buf out = {0};
	struct emit_out to = {.buf = &out};
	struct err e = {0};

	T_EQ(format_save(p, format, NULL, &to, &e), code);
	T_STR(e.msg, message);
	buf_done(&out);
}

/* Two stacks of one process; the second function's name has a comma, a quote and a
 * semicolon. */
static struct prof *
two_stacks(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/usr/lib/prog", 7, 5);

	tp_site(p, pr,
		TP_STACK(p, "<in i.c:3 prog", "work w.c:5 prog", "main m.c:9 prog"), 11,
		4, 1100, 400);
	tp_site(p, pr, TP_STACK(p, "f(a,\"b\";c) - libx.so", "main m.c:10 prog"), 3, 3,
		33, 33);
	p->has_names = true;
	return p;
}

/* ---- choosing ---- */

T_TEST(endings_choose_the_format)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{"a.pb.gz", "pprof"},
		{"a.pprof", "pprof"},
		{"a.pb", "proto"},
		{"x/y.heap", "heap"},
		{"a.folded", "folded"},
		{"a.csv", "csv"},
		{"a.collapsed", "folded"},
		{"a.rec", "rec"},
		{"a.speedscope.json", "speedscope"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct format_writer *w = format_writer_for(cases[i].path);

		T_STR(w != NULL ? w->name : NULL, cases[i].name);
	}
	T_CHECK(format_writer_for("a.json") == NULL); /* a report, and not made here */
	T_CHECK(format_writer_for(".csv") == NULL);
	T_CHECK(format_writer_for("") == NULL);
}

T_TEST(unknown_formats_name_the_known)
{
	struct prof *p = prof_new();

	refused(p, "nope", -EINVAL,
		"no format \"nope\" to write; there are pprof, proto, heap, folded, "
		"speedscope, csv, dhat, massif, rec");
	p->columns = PROF_HAS_LIVE;
	refused(p, "rec", -ENODATA, "only seep's own recordings can be kept as such");
	prof_free(p);
}

/* ---- folded ---- */

T_TEST(folded_lines)
{
	struct format_save_opts o = {.value = PROF_ALLOCATED, .value_given = true};
	struct prof *p = two_stacks();
	struct buf out = {0};

	T_STR(save(p, "folded", NULL, &out), "main;work;in 700\n");
	T_STR(save(p, "folded", &o, &out), "main;work;in 1100\nmain;f(a,\"b\":c) 33\n");
	o.objects = true;
	T_STR(save(p, "folded", &o, &out), "main;work;in 11\nmain;f(a,\"b\":c) 3\n");
	buf_done(&out);
	prof_free(p);
}

/* Stacks that read the same are one line; a difference below 0 has none. */
T_TEST(folded_sums_and_leaves_out)
{
	struct prof *p = prof_new();
	uint64_t left_out = 0;
	struct format_save_opts o = {.ret_left_out = &left_out};
	uint32_t pr = tp_process(p, "/x", 1, 1), pr2 = tp_process(p, "/x", 2, 1);
	struct buf out = {0};

	tp_site(p, pr, TP_STACK(p, "work w.c:5 prog", "main m.c:9 prog"), 1, 0, 100, 0);
	tp_site(p, pr2, TP_STACK(p, "work w.c:6 prog", "main m.c:9 prog"), 1, 0, 23, 0);
	tp_site(p, pr, TP_STACK(p, "gone g.c:1 prog", "main m.c:9 prog"), 1, 2, 50, 90);
	tp_site(p, pr, 0, 1, 0, 9, 0);
	T_STR(save(p, "folded", &o, &out), "[no stack] 9\nmain;work 123\n");
	T_EQ(left_out, 1);
	buf_done(&out);
	prof_free(p);
}

/* Frames before the start and start code are left out; a stack of nothing else keeps
 * it. */
T_TEST(folded_starts_and_tails)
{
	struct prof *p = two_stacks();
	struct emit_start starts[4] = {{0}};
	bool *tails = calloc(p->nnodes + 2, sizeof *tails);
	struct format_save_opts o = {.starts = starts, .tails = tails};
	struct buf out = {0};

	starts[1] = (struct emit_start){p->sites[1].node, 1}; /* not the inlined one */
	starts[2].node = p->sites[2].node;
	T_STR(save(p, "folded", &o, &out), "main;work 700\n");
	tails[p->nodes[p->sites[1].node].parent] = true;
	T_STR(save(p, "folded", &o, &out), "work 700\n");
	starts[1] = (struct emit_start){p->nodes[p->sites[1].node].parent, 0};
	T_STR(save(p, "folded", &o, &out), "main 700\n");
	buf_done(&out);
	free(tails);
	prof_free(p);
}

T_TEST(frames_without_names)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/x", 1, 1);
	uint32_t node = TP_STACK(p, "0x1234 - libx.so", "0x55 - -");
	struct buf out = {0};

	node = prof_node(p, node, prof_loc(p, 0, 1, PROF_LOC_CLASS, false));
	tp_site(p, pr, node, 1, 0, 4096, 0);
	T_STR(save(p, "folded", NULL, &out), "0x55;libx.so+0x1234;[mmap] 4096\n");
	buf_done(&out);
	prof_free(p);
}

/* ---- CSV ---- */

T_TEST(csv_rows)
{
	struct prof *p = two_stacks();
	struct buf out = {0};

	p->columns = PROF_HAS_LIVE | PROF_HAS_ALLOCS;
	T_STR(save(p, "csv", NULL, &out),
	      "function,file,line,module,live_bytes,live_blocks,allocated_bytes,allocations,stack\n"
	      "in,i.c,3,/usr/lib/prog,700,7,1100,11,main;work;in\n"
	      "\"f(a,\"\"b\"\";c)\",,,/usr/lib/libx.so,0,0,33,3,\"main;f(a,\"\"b\"\";c)\"\n");
	p->columns = PROF_HAS_ALLOCS;
	T_CHECK(strncmp(save(p, "csv", NULL, &out),
			"function,file,line,module,allocated_bytes,allocations,stack\n",
			60) == 0);
	buf_done(&out);
	prof_free(p);
}

/* ---- speedscope ---- */

T_TEST(speedscope_text)
{
	struct format_save_opts o = {.value = PROF_ALLOCATED, .value_given = true};
	struct prof *p = two_stacks();
	struct buf out = {0};
	const char *text;

	p->columns = PROF_HAS_LIVE | PROF_HAS_ALLOCS;
	text = save(p, "speedscope", &o, &out);
	T_CHECK(strstr(text,
		       "\"frames\":[{\"name\":\"main\",\"file\":\"m.c\"},"
		       "{\"name\":\"in\",\"file\":\"i.c\"},"
		       "{\"name\":\"work\",\"file\":\"w.c\"},"
		       "{\"name\":\"f(a,\\\"b\\\";c)\",\"file\":\"/usr/lib/libx.so\"}]") !=
		NULL);
	T_CHECK(strstr(text,
		       "\"name\":\"live bytes\",\"unit\":\"bytes\",\"startValue\":0,"
		       "\"endValue\":700,\"events\":["
		       "{\"type\":\"O\",\"frame\":0,\"at\":0},"
		       "{\"type\":\"O\",\"frame\":2,\"at\":0},"
		       "{\"type\":\"O\",\"frame\":1,\"at\":0},"
		       "{\"type\":\"C\",\"frame\":1,\"at\":700},"
		       "{\"type\":\"C\",\"frame\":2,\"at\":700},"
		       "{\"type\":\"C\",\"frame\":0,\"at\":700}]}") != NULL);
	T_CHECK(strstr(text,
		       "\"name\":\"allocations\",\"unit\":\"none\",\"startValue\":0,"
		       "\"endValue\":14,\"events\":["
		       "{\"type\":\"O\",\"frame\":0,\"at\":0},"
		       "{\"type\":\"O\",\"frame\":2,\"at\":0},"
		       "{\"type\":\"O\",\"frame\":1,\"at\":0},"
		       "{\"type\":\"C\",\"frame\":1,\"at\":11},"
		       "{\"type\":\"C\",\"frame\":2,\"at\":11},"
		       "{\"type\":\"O\",\"frame\":3,\"at\":11},"
		       "{\"type\":\"C\",\"frame\":3,\"at\":14},"
		       "{\"type\":\"C\",\"frame\":0,\"at\":14}]}") != NULL);
	T_CHECK(strstr(text, "\"activeProfileIndex\":2}\n") != NULL);
	T_CHECK(strstr(text, "peak") == NULL);
	buf_done(&out);
	prof_free(p);
}

/* ---- heap text ---- */

static void
range(struct prof *p, uint32_t module, uint64_t start, uint64_t end, uint64_t bias)
{
	uint32_t row = prof_add_range(p);

	p->ranges[row] = (struct prof_range){
		.process = 1, .module = module, .start = start, .end = end, .bias = bias};
}

/* Return addresses as they were, the instruction itself plus one, and the map they are
 * in. */
T_TEST(heap_text)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/no/prog", 7, 5);
	uint32_t prog = prof_module(p, "/no/prog", NULL, 0);
	uint32_t lib = prof_module(p, "/no/lib.so", NULL, 0);
	uint32_t root = prof_node(p, 0, prof_loc(p, prog, 0x1105, PROF_LOC_CODE, false));
	struct buf out = {0};

	range(p, prog, 0x555500000000, 0x555500004000, 0x555500000000);
	range(p, lib, 0x7f0000001000, 0x7f0000009000, 0x7f0000000000);
	tp_site(p, pr, prof_node(p, root, prof_loc(p, lib, 0x2207, PROF_LOC_CODE, true)),
		5, 2, 500, 200);
	tp_site(p, pr, root, 2, 2, 20, 20);
	T_STR(save(p, "heap", NULL, &out),
	      "heap profile:      3:      300 [     7:      520] @ heapprofile\n"
	      "     3:      300 [     5:      500] @ 0x7f0000002208 0x555500001105\n"
	      "     0:        0 [     2:       20] @ 0x555500001105\n"
	      "\n"
	      "MAPPED_LIBRARIES:\n"
	      "555500000000-555500004000 r-xp 00000000 00:00 0                          /no/prog\n"
	      "7f0000001000-7f0000009000 r-xp 00001000 00:00 0                          /no/lib.so\n");
	buf_done(&out);
	prof_free(p);
}

/* Two processes had other things at the same place, a third module was nowhere: no range
 * lies over another, and reading it back gives every frame its module and offset. */
T_TEST(heap_ranges_never_overlap)
{
	struct prof *p = prof_new(), *q = NULL;
	uint32_t pr = tp_process(p, "/no/prog", 7, 5);
	uint32_t node = 0, modules[3];
	struct buf out = {0};
	struct err e = {0};

	modules[0] = prof_module(p, "/no/prog", NULL, 0);
	modules[1] = prof_module(p, "/no/a.so", NULL, 0);
	modules[2] = prof_module(p, "/no/b.so", NULL, 0);
	range(p, modules[0], 0x400000, 0x500000, 0);
	range(p, modules[1], 0x400000, 0x480000, 0x400000);
	for (unsigned i = 0; i < 3; i++)
		node = prof_node(p, node,
				 prof_loc(p, modules[i], i == 0 ? 0x401234 : 0x5678 + i,
					  PROF_LOC_CODE, false));
	tp_site(p, pr, node, 1, 0, 101, 0);
	save(p, "heap", NULL, &out);
	T_EQ(format_load_bytes(out.data, out.len, "x", NULL, &q, &e), 0);
	T_STR(e.msg, "");
	if (q != NULL) {
		node = q->sites[1].node;
		for (unsigned i = 3; i > 0; i--, node = q->nodes[node].parent) {
			const struct prof_loc *l = &q->locs[q->nodes[node].loc];

			T_STR(prof_text(q, q->modules[l->module].path),
			      prof_text(p, p->modules[modules[i - 1]].path));
			/* A program that is not there is taken to lie where it was
			 * linked. */
			if (i > 1)
				T_EQ(l->offset, 0x5678 + i - 1);
		}
		T_EQ(q->sites[1].live_bytes, 101);
	}
	prof_free(q);
	buf_done(&out);
	prof_free(p);
}

/* What the three readers want of a line: blocks where there are bytes, no figure below 0,
 * an address in any case, less than 64 KiB. */
T_TEST(heap_lines_that_all_accept)
{
	struct prof *p = prof_new();
	uint64_t left_out = 0;
	struct format_save_opts o = {.ret_left_out = &left_out};
	uint32_t pr = tp_process(p, "/no/prog", 7, 5), node = 0;
	struct buf out = {0};
	const char *text, *line;

	p->columns = PROF_HAS_LIVE;
	tp_site(p, pr, 0, 0, 0, 77, 0)->live_bytes = 77;
	tp_site(p, pr, 0, 1, 2, 10, 20);
	for (uint64_t i = 0; i < 9000; i++)
		node = prof_node(p, node, prof_loc(p, 0, 0x7f0000000000 + i, 0, false));
	tp_site(p, pr, node, 1, 0, 5, 0);
	text = save(p, "heap", &o, &out);
	T_CHECK(strstr(text, "\n     1:       77 [     0:        0] @ 0x00000001\n") !=
		NULL);
	T_EQ(left_out, 1);
	line = strstr(text, "     1:        5 ");
	T_CHECK(line != NULL && strcspn(line, "\n") > 50000 &&
		strcspn(line, "\n") < 65000);
	T_CHECK(line != NULL &&
		strstr(line, "@ 0x7f0000002327 ") != NULL); /* innermost */
	buf_done(&out);
	prof_free(p);
}

T_TEST(heap_text_needs_addresses)
{
	struct prof *p = prof_new();
	struct prof_frame f = {.function = prof_str(p, "only a name")};
	uint32_t pr = tp_process(p, "/x", 1, 1);

	tp_site(p, pr, prof_node(p, 0, named_loc(p, 0, &f, 1)), 1, 0, 10, 0);
	refused(p, "heap", -ENODATA,
		"heap text holds addresses, and this profile has only names");
	prof_free(p);
}

/* ---- in pieces ---- */

static int
count_drain(void *ctx, const void *bytes, size_t n, struct err *e)
{
	(void)bytes, (void)e;
	*(size_t *)ctx += n;
	return 0;
}

static int
full_drain(void *ctx, const void *bytes, size_t n, struct err *e)
{
	(void)ctx, (void)bytes, (void)n;
	return err_set(e, -ENOSPC, "full");
}

/* All that is written leaves, and a disk that is full ends it, in every format. */
T_TEST(output_leaves_in_pieces)
{
	static const char *const formats[] = {"pprof",	"proto",      "heap",
					      "folded", "speedscope", "csv"};
	struct prof *p = two_stacks();

	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		struct buf whole = {0}, piece = {0};
		size_t n = 0;
		struct emit_out out = {.buf = &piece, .drain = count_drain, .ctx = &n};
		struct emit_out full = {.buf = &piece, .drain = full_drain};
		struct err e = {0};

		save(p, formats[i], NULL, &whole);
		T_EQ(format_save(p, formats[i], NULL, &out, &e), 0);
		T_EQ(n, whole.len);
		T_EQ(piece.len, 0);
		T_EQ(format_save(p, formats[i], NULL, &full, &e), -ENOSPC);
		buf_done(&whole);
		buf_done(&piece);
	}
	prof_free(p);
}

T_MAIN()
