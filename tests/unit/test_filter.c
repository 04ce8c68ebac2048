/* SPDX-License-Identifier: MIT */
/* Tests of src/tool/analyze/graph/filter*.c: each filter of pprof on stacks whose outcome
 * is known, alone and together, and the filters of single blocks. */
#include "tool/analyze/graph/filter.h"

#include "t.h"
#include "t_prof.h"
#include "tool/analyze/graph/graph.h"
#include "tool/analyze/sites/value.h"
#include "tool/util/buf.h"
#include "tool/util/re.h"

static void
tree_text(const struct graph *g, uint32_t node, struct buf *out)
{
	const struct graph_node *n = &g->nodes[node];

	if (node != 0) {
		graph_entry_text(g, &g->entries[n->entry], out);
		if (n->self != 0)
			buf_printf(out, "%.0f", n->self);
	}
	if (n->first_child == 0)
		return;
	buf_add_char(out, '[');
	for (uint32_t c = n->first_child; c != 0; c = g->nodes[c].next) {
		tree_text(g, c, out);
		if (g->nodes[c].next != 0)
			buf_add_char(out, ' ');
	}
	buf_add_char(out, ']');
}

struct wanted {
	struct filter_opts o;
	const char *tree;
	uint32_t unmatched;
};

static void
check(const struct prof *p, const struct wanted *w, const char *name)
{
	struct graph_filter *f = NULL;
	struct graph_query q = {0};
	struct buf b = {0};
	struct err e = {0};
	struct graph g;

	T_EQ(filter_new(&w->o, &f, &e), 0);
	q.filter = f;
	graph_init(&g, p, &q, NULL, NULL);
	tree_text(&g, 0, &b);
	if (strcmp(buf_str(&b), w->tree) != 0)
		printf("in %s:\n", name);
	T_STR(buf_str(&b), w->tree);
	T_EQ(g.unmatched, w->unmatched);
	T_EQ(g.unfiltered, 77);
	buf_done(&b);
	graph_done(&g);
	filter_free(f);
}

#define CHECK(p, tree_, ...)                                                             \
	check((p), &(struct wanted){.o = {.of = {__VA_ARGS__}}, .tree = (tree_)},        \
	      #__VA_ARGS__)
#define CHECK_UNMATCHED(p, tree_, option, ...)                                           \
	check((p),                                                                       \
	      &(struct wanted){.o = {.of = {__VA_ARGS__}},                               \
			       .tree = (tree_),                                          \
			       .unmatched = 1u << (option)},                             \
	      #__VA_ARGS__)

/* A-B-C-B of the header comment of pprof's ShowFrom, D beside it, and inlined h in g. */
static struct prof *
letters(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr,
		TP_STACK(p, "B b.c:1 prog", "C c.c:1 prog", "B b.c:2 prog",
			 "A a.c:1 prog"),
		1, 0, 17, 0);
	tp_site(p, pr, TP_STACK(p, "D d.c:1 libd.so", "A a.c:2 prog"), 1, 0, 23, 0);
	tp_site(p, pr, TP_STACK(p, "<h h.h:1 prog", "g g.c:1 prog", "A a.c:3 prog"), 1, 0,
		37, 0);
	return p;
}

T_TEST(nothing_asked_for_is_no_filter)
{
	struct filter_opts o = {.of = {[FILTER_HIDE] = ""}};
	struct graph_filter *f = (void *)1;
	struct err e = {0};

	T_EQ(filter_new(&o, &f, &e), 0);
	T_CHECK(f == NULL);
	T_CHECK(filter_blocks(NULL) == NULL);
	T_CHECK(filter_shows_tag(NULL, "x"));
}

T_TEST(focus_and_ignore)
{
	struct prof *p = letters();

	CHECK(p, "[A[B[C[B17]]]]", [FILTER_FOCUS] = "^C$");
	CHECK(p, "[A[g[h37] D23]]", [FILTER_IGNORE] = "C");
	CHECK(p, "[A[g[h37]]]", [FILTER_FOCUS] = "h\\.h"); /* a file */
	CHECK(p, "[A[D23]]", [FILTER_FOCUS] = "libd");	   /* a module */
	/* ignore wins, even where the same frame is focused */
	CHECK(p, "[A[g[h37]]]", [FILTER_FOCUS] = "A", [FILTER_IGNORE] = "B|D");
	CHECK_UNMATCHED(p, "", FILTER_FOCUS, [FILTER_FOCUS] = "nowhere");
	CHECK_UNMATCHED(p, "[A[g[h37] D23 B[C[B17]]]]",
			FILTER_IGNORE, [FILTER_IGNORE] = "nowhere");
	prof_free(p);
}

T_TEST(hide_and_show)
{
	struct prof *p = letters();

	/* what a hidden frame allocated is its caller's */
	CHECK(p, "[A[g[h37] D23 C17]]", [FILTER_HIDE] = "^B$");
	CHECK(p, "[A40[g[h37]]]", [FILTER_HIDE] = "^[BCD]$");
	/* of a location only the inlined function, or only the one around it */
	CHECK(p, "[A[g37 D23 B[C[B17]]]]", [FILTER_HIDE] = "^h$");
	CHECK(p, "[A[h37 D23 B[C[B17]]]]", [FILTER_HIDE] = "^g$");
	/* a module takes all its frames, and stacks without any frame are gone */
	CHECK(p, "[D23]", [FILTER_HIDE] = "/prog$");
	CHECK(p, "[h37 C17]", [FILTER_SHOW] = "^[Ch]$");
	CHECK(p, "[D23]", [FILTER_SHOW] = "libd");
	CHECK_UNMATCHED(p, "", FILTER_SHOW, [FILTER_SHOW] = "nowhere");
	/* focus looks at frames that hide takes away */
	CHECK(p, "[A[B[B17]]]", [FILTER_FOCUS] = "C", [FILTER_HIDE] = "C");
	prof_free(p);
}

T_TEST(show_from)
{
	struct prof *p = letters();

	CHECK(p, "[A[g[h37] D23 B[C[B17]]]]", [FILTER_SHOW_FROM] = "A");
	CHECK(p, "[B[C[B17]]]", [FILTER_SHOW_FROM] = "B"); /* the outermost B */
	CHECK(p, "[C[B17]]", [FILTER_SHOW_FROM] = "C");
	CHECK(p, "[h37]", [FILTER_SHOW_FROM] = "^h$"); /* g is around it */
	CHECK(p, "[g[h37]]", [FILTER_SHOW_FROM] = "^g$");
	CHECK(p, "[D23]", [FILTER_SHOW_FROM] = "libd");
	CHECK_UNMATCHED(p, "", FILTER_SHOW_FROM, [FILTER_SHOW_FROM] = "E");
	/* it looks at what hide has left */
	CHECK_UNMATCHED(p, "",
			FILTER_SHOW_FROM, [FILTER_HIDE] = "C", [FILTER_SHOW_FROM] = "C");
	prof_free(p);
}

T_TEST(prune_from)
{
	struct prof *p = letters();

	CHECK(p,
	      "[A[g[h37] D23 B[C[B17]]]]", [FILTER_PRUNE_FROM] = "B"); /* the innermost */
	CHECK(p, "[A[g[h37] D23 B[C17]]]", [FILTER_PRUNE_FROM] = "C");
	CHECK(p, "[A77]", [FILTER_PRUNE_FROM] = "A");
	CHECK(p, "[A[g37 D23 B[C[B17]]]]", [FILTER_PRUNE_FROM] = "^g$");
	/* names only: no files, no modules */
	CHECK_UNMATCHED(p, "[A[g[h37] D23 B[C[B17]]]]",
			FILTER_PRUNE_FROM, [FILTER_PRUNE_FROM] = "c\\.c|libd");
	CHECK(p, "[B[C17]]", [FILTER_SHOW_FROM] = "B", [FILTER_PRUNE_FROM] = "C");
	prof_free(p);
}

/* Every filter at once, against the order of work. */
T_TEST(all_together)
{
	struct prof *p = letters();

	CHECK(p, "[B[B17]]", [FILTER_FOCUS] = "B|g", [FILTER_IGNORE] = "h",
	      [FILTER_HIDE] = "C", [FILTER_SHOW_FROM] = "B", [FILTER_PRUNE_FROM] = "B",
	      [FILTER_SHOW] = "b\\.c:?");
	prof_free(p);
}

/* What a profile asks to drop goes with all that it calls, but never the first frames. */
T_TEST(frames_that_the_profile_drops)
{
	static const struct {
		const char *drop, *keep, *tree;
	} rows[] = {
		{"B", "", "[A17[g[h37] D23]]"},
		{"B|C", "B", "[A[g[h37] D23 B17]]"},
		{"A", "", "[A[g[h37] D23 B[C[B17]]]]"}, /* only outermost frames match */
		{"h|D", "", "[A23[g37 B[C[B17]]]]"},
		{"A|g", "", "[A[g[h37] D23 B[C[B17]]]]"}, /* nothing before them: stay */
		{"(", "", "[A[g[h37] D23 B[C[B17]]]]"},
		{"[", "", "[A[g[h37] D23 B[C[B17]]]]"},
	};

	for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct prof *p = letters();
		struct graph_query q = {.drop_frames = true};
		struct buf b = {0};
		struct graph g;

		p->drop_frames = prof_str(p, rows[i].drop);
		p->keep_frames = prof_str(p, rows[i].keep);
		graph_init(&g, p, &q, NULL, NULL);
		tree_text(&g, 0, &b);
		T_STR(buf_str(&b), rows[i].tree);
		T_EQ(g.total, 77);
		buf_done(&b);
		graph_done(&g);
		prof_free(p);
	}
}

static void
label(struct prof *p, uint32_t site, const char *key, const char *text, int64_t number,
      const char *unit)
{
	uint32_t row = prof_add_label(p);

	p->labels[row] = (struct prof_label){.site = site,
					     .key = prof_str(p, key),
					     .text = prof_str(p, text),
					     .number = number,
					     .unit = prof_str(p, unit)};
}

T_TEST(labels)
{
	struct prof *p = letters();

	label(p, 1, "bytes", NULL, 16384, NULL);
	label(p, 2, "bytes", NULL, 65536, "bytes");
	label(p, 3, "request", NULL, 4194304, NULL);
	label(p, 1, "kind", "fast path", 0, NULL);
	label(p, 2, "kind", "slow", 0, NULL);
	label(p, 2, "user", "ann", 0, NULL);
	label(p, 3, "count", NULL, 5, "count");
	CHECK(p, "[A[B[C[B17]]]]", [FILTER_TAGFOCUS] = "16kb");
	CHECK(p, "[A[B[C[B17]]]]", [FILTER_TAGFOCUS] = "bytes=:16384b");
	CHECK(p, "[A[D23 B[C[B17]]]]", [FILTER_TAGFOCUS] = "bytes=16kb:64kb");
	CHECK(p, "[A[g[h37] D23]]", [FILTER_TAGFOCUS] = "17kb:");
	CHECK(p, "[A[D23]]", [FILTER_TAGFOCUS] = "bytes=17kb:");
	CHECK(p, "[A[g[h37] D23]]", [FILTER_TAGIGNORE] = "16kb");
	/* without a unit it asks only what has none of size or time */
	CHECK(p, "[A[g[h37]]]", [FILTER_TAGFOCUS] = "5");
	CHECK_UNMATCHED(p, "", FILTER_TAGFOCUS, [FILTER_TAGFOCUS] = "bytes=16384");
	/* text: with a key one of several, without one all of them, as key:text */
	CHECK(p, "[A[D23 B[C[B17]]]]", [FILTER_TAGFOCUS] = "kind=^fast,^slow$");
	CHECK(p, "[A[D23]]", [FILTER_TAGFOCUS] = "kind:slow,user:ann");
	CHECK_UNMATCHED(p, "", FILTER_TAGFOCUS, [FILTER_TAGFOCUS] = "fast,ann");
	CHECK(p, "[A[g[h37] B[C[B17]]]]", [FILTER_TAGIGNORE] = "user=ann");
	CHECK(p, "[A[B[C[B17]]]]", [FILTER_TAGFOCUS] = "kind=.",
	      [FILTER_TAGIGNORE] = "slow");
	prof_free(p);
}

static struct prof *
blocks(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 60000), t;
	static const struct {
		unsigned site, bytes, ms, serial;
	} rows[] = {{1, 10, 0, 1},
		    {1, 20, 30000, 2},
		    {1, 40, 59000, 1},
		    {2, 100, 59500, 2},
		    {2, 200, 1000, 3}};

	tp_site(p, pr, TP_STACK(p, "f x.c:1 prog"), 3, 0, 70, 0);
	tp_site(p, pr, TP_STACK(p, "g x.c:2 prog"), 3, 1, 800, 500);
	for (unsigned i = 0; i < 5; i++) {
		uint32_t b = prof_add_block(p);

		p->blocks[b].site = rows[i].site;
		p->blocks[b].bytes = rows[i].bytes;
		p->blocks[b].ms = rows[i].ms;
		p->blocks[b].thread_serial = (uint16_t)rows[i].serial;
		p->blocks[b].process = pr;
	}
	for (uint32_t i = 1; i <= 3; i++) {
		t = prof_add_thread(p);
		p->threads[t] = (struct prof_thread){
			.process = pr,
			.tid = 1000 + i,
			.serial = i,
			.name = prof_str(p, i == 1 ? "main" : "worker-x")};
	}
	for (uint32_t i = 1; i <= 3; i++) {
		uint32_t c = prof_add_cell(p);

		p->cells[c] = (struct prof_cell){
			.site = 2, .thread = i, .allocs = 1, .alloc_bytes = 100 * i};
	}
	return p;
}

/* Total under one filter, in bytes * 1000 + blocks; negative when it is refused. */
static long
total(const struct prof *p, enum filter_option which, const char *text,
      enum prof_value value)
{
	struct filter_opts o = {{0}};
	struct graph_filter *f = NULL;
	struct graph_query q = {.value = value};
	struct err e = {0};
	struct graph g;
	long sum = 0;

	o.of[which] = text;
	if (filter_new(&o, &f, &e) < 0)
		return -1;
	q.filter = f;
	if (value_check(p, &q, &e) < 0)
		sum = -2;
	for (int objects = 0; sum >= 0 && objects < 2; objects++) {
		q.objects = objects != 0;
		graph_init(&g, p, &q, NULL, NULL);
		sum += (long)g.total * (objects ? 1 : 1000);
		graph_done(&g);
	}
	filter_free(f);
	return sum;
}

T_TEST(single_blocks)
{
	struct prof *p = blocks();

	T_EQ(total(p, FILTER_SIZE, "20", PROF_LIVE), 20001);
	T_EQ(total(p, FILTER_SIZE, "20:100", PROF_LIVE), 160003);
	T_EQ(total(p, FILTER_SIZE, ":20", PROF_LIVE), 30002);
	T_EQ(total(p, FILTER_SIZE, "0.1K:", PROF_LIVE), 200001);
	T_EQ(total(p, FILTER_AGE, "30s", PROF_LIVE), 230003);
	T_EQ(total(p, FILTER_AGE, ":1s", PROF_LIVE), 140002);
	T_EQ(total(p, FILTER_AGE, "1s:1m", PROF_LIVE), 270004);
	T_EQ(total(p, FILTER_THREAD, "1001", PROF_LIVE), 50002);
	T_EQ(total(p, FILTER_THREAD, "^worker", PROF_LIVE), 320003);
	T_EQ(total(p, FILTER_THREAD, "^worker", PROF_ALLOCATED), 500002);
	T_EQ(total(p, FILTER_THREAD, "nobody", PROF_LIVE), 0);
	/* of what was allocated only the mean size of a stack is known: 70 / 3 and 800 /
	 * 3 */
	T_EQ(total(p, FILTER_SIZE, "100:", PROF_ALLOCATED), 800003);
	T_EQ(total(p, FILTER_AGE, "1s", PROF_ALLOCATED), -2);
	T_EQ(total(p, FILTER_THREAD, "1001", PROF_PEAK), -2);
	T_EQ(total(p, FILTER_SIZE, "1K:2", PROF_LIVE), -1);
	T_EQ(total(p, FILTER_SIZE, ":", PROF_LIVE), -1);
	T_EQ(total(p, FILTER_AGE, "ten", PROF_LIVE), -1);
	prof_free(p);
}

T_TEST(wrong_expressions_are_named)
{
	static const char *const bad[] = {"(", "a[", "*a", "kind=("};

	for (unsigned which = 0; which <= FILTER_TAGHIDE; which++) {
		for (unsigned i = 0; i < 4; i++) {
			struct filter_opts o = {{0}};
			struct graph_filter *f = NULL;
			struct err e = {0};

			o.of[which] = bad[i];
			T_CHECK(filter_new(&o, &f, &e) < 0);
			T_CHECK(strstr(e.msg, filter_names[which]) != NULL);
			T_CHECK(f == NULL);
		}
	}
}

T_TEST(expressions)
{
	struct re *re = NULL;
	struct err e = {0};
	char many[64];

	T_EQ(re_new("a.c", &re, &e), 0);
	T_CHECK(re_matches(re, "xa\xc3\xa4"
			       "cx")); /* one character of two bytes */
	T_CHECK(re_matches(re, "\xff"
			       "abc")); /* behind what is no text */
	T_CHECK(!re_matches(re, "ac"));
	re_free(re);
	T_EQ(re_new("\xff", &re, &e), 0);
	T_CHECK(re_matches(re, "a\xff"));
	re_free(re);
	memset(many, 'a', sizeof many);
	many[sizeof many - 1] = '\0';
	T_EQ(re_new("^(a+)+$|b", &re, &e), 0);
	T_CHECK(re_matches(re, many));
	many[sizeof many - 2] = '!';
	T_CHECK(!re_matches(re, many)); /* and comes back */
	re_free(re);
	T_CHECK(re_new("x{2,1}", &re, &e) < 0);
	T_CHECK(strstr(e.msg, "at character") != NULL);
}

T_MAIN()
