/* SPDX-License-Identifier: MIT */
/* test_massif.c -- massif.out files: snapshots, trees, and files that are damaged.
 *
 * The figures of the golden are those of tests/programs/massif_steps.c and what ms_print
 * prints (tests/golden/heap/README.md). */
#include "t.h"

#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "tool/format/format.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"

static const char *
golden(void)
{
	static char path[3 * PATH_MAX];
	char exe[PATH_MAX] = "", file[] = __FILE__;

	if (file[0] != '/' && readlink("/proc/self/exe", exe, sizeof exe - 1) > 0)
		snprintf(path, sizeof path, "%s/../../%s/../golden/heap/massif.out",
			 dirname(exe), dirname(file));
	else
		snprintf(path, sizeof path, "%s/../golden/heap/massif.out",
			 dirname(file));
	return path;
}

/* NULL, and why in `e`, when the text is refused. */
static struct prof *
load(const char *text, struct err *e)
{
	struct prof *p = NULL;

	format_load_bytes(text, strlen(text), "x", NULL, &p, e);
	return p;
}

static const char *
function(const struct prof *p, uint32_t node)
{
	const struct prof_loc *l = &p->locs[p->nodes[node].loc];

	return prof_text(p, p->frames[l->frames].function);
}

/* Live bytes of the stack of these names, innermost first; -1 = there is none. */
static int64_t
live(const struct prof *p, const char *const *names)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = p->sites[i].node;
		unsigned k = 0;

		for (; node != 0 && names[k] != NULL; node = p->nodes[node].parent, k++) {
			if (strcmp(function(p, node), names[k]) != 0)
				break;
		}
		if (node == 0 && names[k] == NULL)
			return p->sites[i].live_bytes;
	}
	return -1;
}

#define LIVE(p, ...) live(p, (const char *const[]){__VA_ARGS__, NULL})

T_TEST(golden_peak)
{
	struct prof *p = NULL;
	struct err e = {0};

	if (format_load(golden(), &p, &e) < 0)
		T_FAIL("%s", e.msg);
	if (p == NULL)
		return;
	T_STR(prof_text(p, p->format), "massif");
	T_STR(prof_text(p, p->processes[1].cmdline), "./massif_steps x");
	T_EQ(p->nmarks, 12);
	T_EQ(p->nsnapshots, 12);
	T_EQ(p->ndamages, 0);
	T_EQ(p->snapshots[6].tree, PROF_TREE_PEAK);
	T_EQ(p->snapshots[6].time, 349480);
	T_EQ(p->snapshots[6].heap_bytes, 341149);
	T_EQ(p->snapshots[6].extra_bytes, 8331);
	T_EQ(p->snapshots[11].heap_bytes, 172069);
	T_STR(prof_text(p, p->snapshots[6].unit), "B");
	T_EQ(p->processes[1].live_bytes, 349480);
	T_EQ(LIVE(p, "inner", "grow", "keep", "main"), 211 * 1009);
	T_EQ(LIVE(p, "inner", "grow", "main"), 103 * 523);
	T_EQ(LIVE(p, "table", "main"), 60013);
	T_EQ(LIVE(p, "inner", "down", "down", "main"), 2011);
	T_EQ(LIVE(p, "inner", "down", "down", "down", "down", "down", "down", "down",
		  "down", "main"),
	     2011);
	T_EQ(LIVE(p, "[below massif's threshold]"), 97 * 3);
	T_EQ(LIVE(p, "[extra heap]"), 8331);
	T_EQ(LIVE(p, "[stacks]"), -1);
	prof_free(p);
}

#define HEAD "desc: x\ncmd: ./p  a b\ntime_unit: ms\n"
#define SNAP(n, time, heap, extra, stacks, tree)                                         \
	"#-----------\nsnapshot=" #n "\n#-----------\ntime=" #time "\nmem_heap_B=" #heap \
	"\nmem_heap_extra_B=" #extra "\nmem_stacks_B=" #stacks "\nheap_tree=" tree "\n"
#define ROOT(n, bytes)                                                                   \
	"n" #n ": " #bytes                                                               \
	" (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"

T_TEST(kinds_and_labels)
{
	struct err e = {0};
	struct prof *p = load(
		HEAD SNAP(0, 0, 0, 0, 0, "empty") SNAP(1, 7, 500, 24, 64, "detailed") ROOT(
			4,
			500) " n1: 200 0x10: a(int) (deep/x y.c:12)\n"
			     "  n0: 150 0x20: b::(anonymous namespace)::c<(x)1>() (in /lib/l (1).so)\n"
			     " n0: 100 0x30: ???\n"
			     " n0: 120 0x40: ??? (in /lib/m.so)\n"
			     " n0: 80 in 2 places, below massif's threshold (1.00%)\n" SNAP(
				     2, 9, 999, 1, 0, "empty"),
		&e);

	if (p == NULL) {
		T_FAIL("%s", e.msg);
		return;
	}
	T_EQ(p->ndamages, 0);
	T_EQ(p->marks[1].ms, 7);
	T_EQ(p->marks[1].live_bytes, 588);
	T_EQ(LIVE(p, "a(int)"), 50);
	T_EQ(LIVE(p, "a(int)", "b::(anonymous namespace)::c<(x)1>()"), 150);
	T_EQ(LIVE(p, "0x30"), 100);
	T_EQ(LIVE(p, "0x40"), 120);
	T_EQ(LIVE(p, "[extra heap]"), 24);
	T_EQ(LIVE(p, "[stacks]"), 64);
	T_EQ(LIVE(p, "[heap without stacks]"), 0); /* that of snapshot 2 */
	T_STR(prof_text(p, p->modules[1].path), "/lib/l (1).so");
	T_STR(prof_text(p, p->modules[2].path), "/lib/m.so");
	for (uint32_t i = 1; i < p->nlocs; i++) {
		const struct prof_frame *f = &p->frames[p->locs[i].frames];

		if (strcmp(prof_text(p, f->function), "a(int)") == 0) {
			T_STR(prof_text(p, f->file), "deep/x y.c");
			T_EQ(f->line, 12);
		}
	}
	prof_free(p);
}

/* heaptrack writes seconds with fractions. */
T_TEST(seconds)
{
	struct err e = {0};
	struct prof *p = load("desc: heaptrack\ncmd: p\ntime_unit: s\nsnapshot=0\n"
			      "time=1.25\nmem_heap_B=9\nmem_heap_extra_B=0\n"
			      "mem_stacks_B=0\nheap_tree=empty\n",
			      &e);

	if (p == NULL) {
		T_FAIL("%s", e.msg);
		return;
	}
	T_EQ(p->snapshots[0].time, 1250);
	T_STR(prof_text(p, p->snapshots[0].unit), "ms");
	prof_free(p);
}

T_TEST(refused)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"desc: x\ncmd: a\n",
		 "x: massif file: line 2: \"time_unit:\" is missing: the file ends here"},
		{"desc: x\n\nfoo: a\ncmd: b\n",
		 "x: massif file: line 3: want \"cmd:\", found \"foo: a\""},
		{HEAD, "x: massif file: no snapshot in 3 lines can be read"},
		{HEAD "snapshot=0\ntime=0\nmem_heap_B=1\n",
		 "x: massif file: no snapshot in 6 lines can be read"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = {0};

		T_CHECK(load(cases[i].text, &e) == NULL);
		T_STR(e.msg, cases[i].why);
	}
}

/* What is bad is counted with its line; what is good is there. */
T_TEST(damaged)
{
	static const struct {
		const char *text, *why;
		int64_t total; /* of all snapshots */
		uint32_t snapshots;
	} cases[] = {
		{HEAD SNAP(0, 1, 5, 0, 0, "empty") "rubbish\nmore\n" SNAP(1, 2, 7, 0, 0,
									  "empty"),
		 "lines that belong to no snapshot (first is line 12)", 12, 2},
		{HEAD SNAP(0, 1, 5, 0, 0, "empty") SNAP(1, 2, x, 0, 0, "empty")
			 SNAP(2, 3, 11, 0, 0, "empty"),
		 "snapshots that could not be read (it is line 16)", 16, 2},
		{HEAD SNAP(0, 1, 5, 0, 0,
			   "empty") "snapshot=1\ntime=4\n" SNAP(2, 3, 11, 0, 0, "empty"),
		 "snapshots that could not be read (it is line 15)", 16, 2},
		{HEAD SNAP(0, 1, 50, 0, 0, "detailed")
			 ROOT(2, 50) " n1: 30 0x1: a (x.c:1)\n  n0: 20 0x2: b (x.c:2)\n",
		 "trees that break off or do not add up (it is line 14)", 50, 1},
		{HEAD SNAP(0, 1, 50, 0, 0, "detailed")
			 ROOT(1, 50) " n1: 30 0x1: a (x.c:1)\n  n0: 45 0x2: b (x.c:2)\n",
		 "trees that break off or do not add up (it is line 14)", 65, 1},
		{HEAD SNAP(0, 1, 50, 0, 0, "peak") ROOT(1, 50) " n0: 4",
		 "trees that break off or do not add up (it is line 13)", 50, 1},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct err e = {0};
		struct prof *p = load(cases[i].text, &e);
		int64_t total = 0;

		if (p == NULL) {
			T_FAIL("%zu: %s", i, e.msg);
			continue;
		}
		T_EQ(p->ndamages, 1);
		T_STR(p->ndamages > 0 ? prof_text(p, p->damages[0].what) : "",
		      cases[i].why);
		for (uint32_t k = 0; k < p->nmark_rows; k++)
			total += p->mark_rows[k].live_bytes;
		T_EQ(total, cases[i].total);
		T_EQ(p->nmarks, cases[i].snapshots);
		prof_free(p);
	}
}

/* Cut at every length it is read or refused; the sums of a snapshot that is there are
 * right, and no byte of its heap is lost. */
T_TEST(cut_anywhere)
{
	struct buf file = {0};
	struct prof *whole = NULL;
	unsigned read = 0;

	T_EQ(buf_read_file(&file, golden(), NULL), 0);
	T_EQ(format_load_bytes(file.data, file.len, "x", NULL, &whole, NULL), 0);
	for (size_t n = 0; whole != NULL && n < file.len; n++) {
		char *copy = malloc(n + 1); /* so that a byte too far is seen */
		struct prof *p = NULL;

		memcpy(copy, file.data, n);
		if (format_load_bytes(copy, n, "x", NULL, &p, NULL) == 0) {
			read++;
			for (uint32_t i = 0; i < p->nmarks; i++) {
				const struct prof_mark *m = &p->marks[i];
				int64_t sum = 0;

				for (uint32_t k = 0; k < m->nrows; k++)
					sum += p->mark_rows[m->rows + k].live_bytes;
				if (m->live_bytes != whole->marks[i].live_bytes ||
				    sum != m->live_bytes)
					T_FAIL("cut at %zu: snapshot %u", n, i);
			}
		}
		prof_free(p);
		free(copy);
	}
	T_CHECK(read > file.len * 9 / 10);
	prof_free(whole);
	buf_done(&file);
}

/* Deep trees of short lines, whose every line is a stack: each is followed only so
 * far. */
T_TEST(too_deep)
{
	struct err e = {0};
	struct buf text = {0};
	struct prof *p;

	buf_add_str(&text, HEAD SNAP(0, 1, 100000, 0, 0, "detailed") ROOT(1, 100000));
	for (unsigned i = 0; i < 50000; i++)
		buf_printf(&text, "n2: %u f\nn0: 1 g\n", 99999 - i);
	p = load(buf_str(&text), &e);
	T_CHECK(p != NULL);
	if (p != NULL) {
		T_EQ(p->ndamages, 1);
		T_CHECK(p->nnodes < 3000);
		T_EQ(p->marks[0].live_bytes, 100000);
	}
	prof_free(p);
	buf_done(&text);
}

T_MAIN()
