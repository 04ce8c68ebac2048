/* SPDX-License-Identifier: MIT */
/* Tests of src/tool/analyze/graph/graph*.c and value.c: small profiles whose sums are
 * computed by hand. */
#include "tool/analyze/graph/graph.h"

#include "t.h"
#include "t_prof.h"
#include "tool/analyze/graph/filter.h"
#include "tool/analyze/sites/value.h"
#include "tool/util/buf.h"

static const struct graph_entry *
entry_of(const struct graph *g, const char *text)
{
	const struct graph_entry *found = NULL;

	for (uint32_t i = 1; i < g->nentries; i++) {
		struct buf b = {0};

		graph_entry_text(g, &g->entries[i], &b);
		if (strcmp(buf_str(&b), text) == 0) {
			T_CHECK(found == NULL); /* no two read the same */
			found = &g->entries[i];
		}
		buf_done(&b);
	}
	return found;
}

/* flat and cum of an entry, as one number that tells both; -1: there is none. */
static long
figures(const struct graph *g, const char *text)
{
	const struct graph_entry *x = entry_of(g, text);

	return x == NULL ? -1 : (long)x->flat * 100000 + (long)x->cum;
}

static double
edge(const struct graph *g, const char *from, const char *to)
{
	const struct graph_entry *a = entry_of(g, from), *b = entry_of(g, to);

	for (uint32_t i = 0; i < g->nedges; i++) {
		if (&g->entries[g->edges[i].from] == a &&
		    &g->entries[g->edges[i].to] == b)
			return g->edges[i].weight;
	}
	return -1;
}

/* Text of the tree: "name total(self)[child …]", children in order. */
static void
tree_text(const struct graph *g, uint32_t node, struct buf *out)
{
	const struct graph_node *n = &g->nodes[node];

	if (node != 0) {
		graph_entry_text(g, &g->entries[n->entry], out);
		buf_printf(out, " %.0f", n->total);
		if (n->self != 0)
			buf_printf(out, "(%.0f)", n->self);
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

static void
check_tree(const struct graph *g, const char *wanted)
{
	struct buf b = {0};

	tree_text(g, 0, &b);
	T_STR(buf_str(&b), wanted);
	buf_done(&b);
}

/* main calls a (7 in a, 11 in b), b calls a again (13): recursion through two
 * functions. */
static struct prof *
recursive(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr, TP_STACK(p, "a x.c:1 prog", "main x.c:90 prog"), 1, 0, 7, 0);
	tp_site(p, pr, TP_STACK(p, "b x.c:2 prog", "a x.c:3 prog", "main x.c:90 prog"), 2,
		0, 11, 0);
	tp_site(p, pr,
		TP_STACK(p, "a x.c:1 prog", "b x.c:4 prog", "a x.c:3 prog",
			 "main x.c:90 prog"),
		3, 0, 13, 0);
	tp_site(p, pr,
		TP_STACK(p, "b x.c:2 prog", "a x.c:3 prog", "b x.c:4 prog",
			 "a x.c:3 prog", "main x.c:91 prog"),
		5, 0, 17, 0);
	return p;
}

T_TEST(recursion_counts_once_a_stack)
{
	struct prof *p = recursive();
	struct graph_query q = {0};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.total, 48);
	T_EQ(g.stacks, 4);
	T_EQ(figures(&g, "main"), 48);
	T_EQ(figures(&g, "a"), 20 * 100000 + 48);
	T_EQ(figures(&g, "b"), 28 * 100000 + 41);
	T_EQ(g.nentries, 4);
	T_EQ(edge(&g, "main", "a"), 48);
	T_EQ(edge(&g, "a", "b"), 41); /* twice in the last stack, counted once */
	T_EQ(edge(&g, "b", "a"), 30);
	T_EQ(g.nedges, 3);
	check_tree(&g, "[main 48[a 48(7)[b 41(11)[a 30(13)[b 17(17)]]]]]");
	graph_done(&g);
	q.objects = true;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "a"), 4 * 100000 + 11);
	graph_done(&g);
	prof_free(p);
}

T_TEST(a_function_that_calls_itself_is_no_edge)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct graph g;

	tp_site(p, pr,
		TP_STACK(p, "f x.c:1 prog", "f x.c:2 prog", "f x.c:2 prog",
			 "main x.c:9 prog"),
		1, 0, 23, 0);
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.nedges, 1);
	T_EQ(figures(&g, "f"), 23 * 100000 + 23);
	check_tree(&g, "[main 23[f 23[f 23[f 23(23)]]]]");
	graph_done(&g);
	prof_free(p);
}

static struct prof *
grains(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr,
		TP_STACK(p, "<copy h.h:5 prog", "load a.c:10 prog", "main m.c:3 prog"), 1,
		0, 101, 0);
	tp_site(p, pr, TP_STACK(p, "load a.c:12 prog", "main m.c:3 prog"), 1, 0, 203, 0);
	tp_site(p, pr, TP_STACK(p, "copy h.h:6 prog", "main m.c:4 prog"), 1, 0, 307, 0);
	tp_site(p, pr, TP_STACK(p, "0x1234 - libx.so", "main m.c:4 prog"), 1, 0, 401, 0);
	return p;
}

T_TEST(grains)
{
	struct prof *p = grains();
	struct graph_query q = {0};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "load"), 203 * 100000 + 304);
	T_EQ(figures(&g, "copy"), 408 * 100000 + 408);
	T_EQ(figures(&g, "libx.so+0x1234"), 401 * 100000 + 401);
	T_CHECK(!entry_of(&g, "copy")->inlined); /* not each time */
	graph_done(&g);
	q.no_inlines = true;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "load"), 304 * 100000 + 304);
	T_EQ(figures(&g, "copy"), 307 * 100000 + 307);
	graph_done(&g);
	q.no_inlines = false;
	q.grain = GRAPH_LINES;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "load a.c:10"), 101);
	T_EQ(figures(&g, "load a.c:12"), 203 * 100000 + 203);
	T_EQ(figures(&g, "copy h.h:5"), 101 * 100000 + 101);
	T_CHECK(entry_of(&g, "copy h.h:5")->inlined);
	T_EQ(figures(&g, "main m.c:3"), 304);
	graph_done(&g);
	q.grain = GRAPH_FILES;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "h.h"), 408 * 100000 + 408);
	T_EQ(figures(&g, "a.c"), 203 * 100000 + 304);
	T_EQ(figures(&g, "m.c"), 1012);
	T_EQ(figures(&g, "(no file: libx.so)"), 401 * 100000 + 401);
	graph_done(&g);
	q.grain = GRAPH_MODULES;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "prog"), 611 * 100000 + 1012);
	T_EQ(figures(&g, "libx.so"), 401 * 100000 + 401);
	T_EQ(g.nentries, 3);
	check_tree(&g, "[prog 1012(611)[libx.so 401(401)]]");
	graph_done(&g);
	q.grain = GRAPH_FILEFUNCTIONS;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "copy h.h"), 408 * 100000 + 408);
	graph_done(&g);
	q.grain = GRAPH_ADDRESSES;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.nentries, 8); /* six locations, one of them with two functions */
	graph_done(&g);
	prof_free(p);
}

static void
set_linkage(struct prof *p, const char *file, unsigned line, const char *linkage)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (p->frames[i].line == line &&
		    strcmp(prof_text(p, p->frames[i].file), file) == 0)
			p->frames[i].linkage = prof_str(p, linkage);
	}
}

static char *
full_name(const char *linkage)
{
	if (strcmp(linkage, "_Z3puti") == 0)
		return strdup("put(int)");
	if (strcmp(linkage, "_Z3putPc") == 0)
		return strdup("put(char*)");
	if (strncmp(linkage, "_ZN3BoxC", 8) == 0)
		return strdup("Box::Box()");
	return NULL;
}

T_TEST(different_functions_stay_apart)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct graph g;

	tp_site(p, pr, TP_STACK(p, "init a.c:10 prog"), 1, 0, 1, 0);
	tp_site(p, pr, TP_STACK(p, "init a.c:11 prog"), 1, 0, 2, 0);
	tp_site(p, pr, TP_STACK(p, "init b.c:10 prog"), 1, 0, 4, 0);
	tp_site(p, pr, TP_STACK(p, "grow - liba.so"), 1, 0, 8, 0);
	tp_site(p, pr, TP_STACK(p, "grow - libb.so"), 1, 0, 16, 0);
	tp_site(p, pr, TP_STACK(p, "put c.cc:20 prog"), 1, 0, 32, 0);
	tp_site(p, pr, TP_STACK(p, "put c.cc:30 prog"), 1, 0, 64, 0);
	tp_site(p, pr, TP_STACK(p, "Box::Box d.cc:1 prog"), 1, 0, 128, 0);
	tp_site(p, pr, TP_STACK(p, "Box::Box d.cc:2 prog"), 1, 0, 256, 0);
	set_linkage(p, "c.cc", 20, "_Z3puti");
	set_linkage(p, "c.cc", 30, "_Z3putPc");
	set_linkage(p, "d.cc", 1, "_ZN3BoxC1Ev");
	set_linkage(p, "d.cc", 2, "_ZN3BoxC2Ev");
	q.full_name = full_name;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "init (a.c)"), 3 * 100000 + 3);
	T_EQ(figures(&g, "init (b.c)"), 4 * 100000 + 4);
	T_EQ(figures(&g, "grow in liba.so"), 8 * 100000 + 8);
	T_EQ(figures(&g, "grow in libb.so"), 16 * 100000 + 16);
	T_EQ(figures(&g, "put(int)"), 32 * 100000 + 32);
	T_EQ(figures(&g, "put(char*)"), 64 * 100000 + 64);
	T_EQ(figures(&g, "Box::Box"), 384 * 100000 + 384); /* one constructor */
	T_EQ(g.nentries, 8);
	graph_done(&g);
	q.full_name = NULL;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "put [_Z3puti]"), 32 * 100000 + 32);
	graph_done(&g);
	q.merge_names = true;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "init"), 7 * 100000 + 7);
	T_EQ(figures(&g, "grow"), 24 * 100000 + 24);
	T_EQ(figures(&g, "put"), 96 * 100000 + 96);
	graph_done(&g);
	prof_free(p);
}

T_TEST(same_file_name_in_two_folders)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {.grain = GRAPH_LINES};
	struct graph g;

	tp_site(p, pr, TP_STACK(p, "init /u/a/util.c:10 prog"), 1, 0, 5, 0);
	tp_site(p, pr, TP_STACK(p, "init /u/b/util.c:10 prog"), 1, 0, 7, 0);
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "init util.c:10 (/u/a/util.c)"), 5 * 100000 + 5);
	T_EQ(figures(&g, "init util.c:10 (/u/b/util.c)"), 7 * 100000 + 7);
	graph_done(&g);
	q.grain = GRAPH_FILES;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "util.c (/u/b/util.c)"), 7 * 100000 + 7);
	graph_done(&g);
	prof_free(p);
}

T_TEST(one_function_of_two_files_is_one)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct graph g;
	uint32_t a = TP_STACK(p, "yyparse gram.y:10 prog");
	uint32_t b = TP_STACK(p, "yyparse gram.c:900 prog");

	tp_site(p, pr, a, 1, 0, 5, 0);
	tp_site(p, pr, b, 1, 0, 7, 0);
	/* both 0x40 and 0x80 into a function that begins at 0x1000 */
	p->locs[p->nodes[a].loc].offset = 0x1041;
	p->frames[p->locs[p->nodes[a].loc].frames].symbol_off = 0x40;
	p->locs[p->nodes[b].loc].offset = 0x1081;
	p->frames[p->locs[p->nodes[b].loc].frames].symbol_off = 0x80;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.nentries, 2);
	T_EQ(figures(&g, "yyparse"), 12 * 100000 + 12);
	graph_done(&g);
	prof_free(p);
}

T_TEST(a_base_is_taken_off)
{
	struct prof *now = prof_new(), *was = prof_new();
	uint32_t a = tp_process(now, "/opt/prog", 11, 10);
	uint32_t b = tp_process(was, "/opt/prog", 12, 10);
	struct graph_query q = {0};
	const struct graph_entry *x;
	struct graph g;
	uint32_t order[8];

	/* strings have other numbers in the base */
	prof_str(was, "unrelated");
	tp_site(was, b, TP_STACK(was, "gone x.c:7 prog", "main x.c:9 prog"), 1, 0, 30, 0);
	tp_site(was, b, TP_STACK(was, "same x.c:1 prog", "main x.c:9 prog"), 1, 0, 50, 0);
	tp_site(was, b, TP_STACK(was, "grow x.c:2 prog", "main x.c:9 prog"), 1, 0, 20, 0);
	tp_site(now, a, TP_STACK(now, "grow x.c:2 prog", "main x.c:9 prog"), 3, 0, 120,
		0);
	tp_site(now, a, TP_STACK(now, "same x.c:1 prog", "main x.c:9 prog"), 1, 0, 50, 0);
	tp_site(now, a, TP_STACK(now, "new x.c:3 prog", "main x.c:9 prog"), 1, 0, 60, 0);
	graph_init(&g, now, &q, was, NULL);
	T_CHECK(g.has_base);
	T_EQ(g.total, 230);
	T_EQ(g.was_total, 100);
	x = entry_of(&g, "grow");
	T_EQ(x->flat, 120);
	T_EQ(x->was_flat, 20);
	x = entry_of(&g, "main");
	T_EQ(x->cum, 230);
	T_EQ(x->was_cum, 100);
	T_EQ(entry_of(&g, "gone")->was_flat, 30);
	T_EQ(entry_of(&g, "gone")->flat, 0);
	T_EQ(g.nentries, 6);
	graph_rank(&g, false, order);
	T_CHECK(&g.entries[order[0]] == entry_of(&g, "grow")); /* +100 */
	T_CHECK(&g.entries[order[1]] == entry_of(&g, "new"));  /* +60 */
	T_CHECK(&g.entries[order[2]] == entry_of(&g, "gone")); /* -30 */
	T_CHECK(&g.entries[order[3]] == entry_of(&g, "main")); /* 0, before "same" */
	graph_done(&g);
	prof_free(now);
	prof_free(was);
}

/* The same addresses in a moved and in another build. */
T_TEST(a_base_of_another_build)
{
	static const uint8_t id1[20] = {1}, id2[20] = {2};

	for (int other = 0; other < 2; other++) {
		struct prof *now = prof_new(), *was = prof_new();
		uint32_t a = tp_process(now, "/opt/prog", 11, 10);
		uint32_t b = tp_process(was, "/opt/prog", 12, 10);
		uint32_t mn = prof_module(now, "/opt/prog", id1, sizeof id1);
		uint32_t mw = prof_module(was, other ? "/opt/prog" : "/old/prog",
					  other ? id2 : id1, sizeof id1);
		struct graph_query q = {.grain = GRAPH_ADDRESSES};
		uint32_t named = prof_loc(was, mw, 0x100, PROF_LOC_CODE, true), f;
		struct graph g;

		f = prof_add_frame(was);
		was->frames[f].function = prof_str(was, "f");
		was->locs[named].frames = f;
		was->locs[named].nframes = 1;
		tp_site(was, b, prof_node(was, 0, named), 1, 0, 3, 0);
		tp_site(was, b,
			prof_node(was, 0, prof_loc(was, mw, 0x777, PROF_LOC_CODE, true)),
			1, 0, 5, 0);
		named = prof_loc(now, mn, other ? 0x200 : 0x100, PROF_LOC_CODE, true);
		f = prof_add_frame(now);
		now->frames[f].function = prof_str(now, "f");
		now->locs[named].frames = f;
		now->locs[named].nframes = 1;
		tp_site(now, a, prof_node(now, 0, named), 1, 0, 7, 0);
		tp_site(now, a,
			prof_node(now, 0, prof_loc(now, mn, 0x777, PROF_LOC_CODE, true)),
			1, 0, 11, 0);
		graph_init(&g, now, &q, was, NULL);
		T_EQ(g.nentries, 3); /* f met f, by address or by name */
		for (uint32_t i = 1; i < g.nentries; i++)
			T_EQ(g.entries[i].flat + g.entries[i].was_flat,
			     g.entries[i].no_name ? 16 : 10);
		graph_done(&g);
		prof_free(now);
		prof_free(was);
	}
}

/* Files and modules of the base in another folder; of two that fit alike neither does. */
T_TEST(a_base_of_another_folder)
{
	struct prof *now = prof_new(), *was = prof_new();
	uint32_t a = tp_process(now, "/opt/new/prog", 11, 10);
	uint32_t b = tp_process(was, "/opt/old/prog", 12, 10);
	struct graph_query q = {0};
	struct graph g;

	tp_site(was, b, TP_STACK(was, "f /old/src/x.c:1 prog"), 1, 0, 3, 0);
	tp_site(was, b, TP_STACK(was, "g /old/a/y.c:1 prog"), 1, 0, 5, 0);
	tp_site(was, b, TP_STACK(was, "g /old/b/y.c:1 prog"), 1, 0, 7, 0);
	tp_site(was, b, TP_STACK(was, "h - old/bare"), 1, 0, 11, 0);
	tp_site(was, b, TP_STACK(was, "k /old/z.c:1 prog"), 1, 0, 13, 0);
	tp_site(was, b, TP_STACK(was, "k /both/z.c:1 prog"), 1, 0, 17, 0);
	tp_site(now, a, TP_STACK(now, "f /new/src/x.c:9 prog"), 1, 0, 30, 0);
	tp_site(now, a, TP_STACK(now, "g /new/b/y.c:9 prog"), 1, 0, 70, 0);
	tp_site(now, a, TP_STACK(now, "g /new/c/y.c:9 prog"), 1, 0, 80, 0);
	tp_site(now, a, TP_STACK(now, "h - new/bare"), 1, 0, 110, 0);
	tp_site(now, a, TP_STACK(now, "k /both/z.c:1 prog"), 1, 0, 170, 0);
	graph_init(&g, now, &q, was, NULL);
	T_EQ(entry_of(&g, "f")->flat, 30);
	T_EQ(entry_of(&g, "f")->was_flat, 3);
	T_EQ(entry_of(&g, "h")->flat, 110);
	T_EQ(entry_of(&g, "h")->was_flat, 11);
	/* b/y.c met b/y.c; a/y.c and c/y.c are gone and new; what both have stays
	 * itself */
	T_EQ(g.nentries, 1 + 1 + 3 + 1 + 2);
	for (uint32_t i = 1; i < g.nentries; i++) {
		const struct graph_entry *x = &g.entries[i];

		if (x->flat == 70)
			T_EQ(x->was_flat, 7);
		if (x->flat == 80)
			T_EQ(x->was_flat, 0);
		if (x->flat == 170)
			T_EQ(x->was_flat, 17);
	}
	graph_done(&g);
	prof_free(now);
	prof_free(was);
}

T_TEST(a_profile_is_scaled_to_its_base)
{
	struct prof *now = prof_new(), *was = prof_new();
	uint32_t a = tp_process(now, "/opt/prog", 11, 10);
	uint32_t b = tp_process(was, "/opt/prog", 12, 10);
	struct graph_query q = {.normalize = true};
	struct graph g;

	tp_site(was, b, TP_STACK(was, "f x.c:1 prog"), 1, 0, 30, 0);
	tp_site(was, b, TP_STACK(was, "g x.c:2 prog"), 1, 0, 10, 0);
	tp_site(now, a, TP_STACK(now, "f x.c:1 prog"), 1, 0, 60, 0);
	tp_site(now, a, TP_STACK(now, "g x.c:2 prog"), 1, 0, 100, 0);
	graph_init(&g, now, &q, was, NULL);
	T_EQ(g.total, 40);
	T_EQ(g.unfiltered, 40);
	T_EQ(entry_of(&g, "f")->flat, 15);
	T_EQ(entry_of(&g, "g")->flat, 25);
	T_EQ(entry_of(&g, "g")->was_flat, 10);
	graph_done(&g);
	graph_init(&g, now, &q, NULL, NULL);
	T_EQ(g.total, 160);
	graph_done(&g);
	prof_free(now);
	prof_free(was);
}

T_TEST(skipped_frames_are_in_no_stack)
{
	struct prof *p = tp_demo();
	struct skip *s = skip_new(p, NULL);
	struct graph_query q = {.skip = s};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.nentries, 4);
	T_EQ(entry_of(&g, "do_something")->flat, 3235840);
	T_EQ(entry_of(&g, "main")->cum, 3235840 + 3194880);
	check_tree(&g, "[main 6430720[do_something 3235840(3235840) "
		       "do_something_else 3194880(3194880)]]");
	graph_done(&g);
	q.skip = NULL;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.nentries, 7);
	T_EQ(entry_of(&g, "malloc")->flat, 6430720);
	graph_done(&g);
	skip_free(s);
	prof_free(p);
}

T_TEST(start_code_alone_and_no_stack_at_all)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct skip *s;
	struct graph g;

	tp_site(p, pr,
		TP_STACK(p, "malloc - libseep.so", "init - libc.so.6",
			 "__libc_start_main - libc.so.6", "_start - prog"),
		1, 0, 3, 0);
	tp_site(p, pr, 0, 1, 0, 5, 0);
	s = skip_new(p, NULL);
	q.skip = s;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(figures(&g, "init"), 3 * 100000 + 3);
	T_EQ(figures(&g, "(no stack)"), 5 * 100000 + 5);
	T_EQ(g.total, 8);
	graph_done(&g);
	skip_free(s);
	prof_free(p);
}

T_TEST(values_and_moments)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct prof_site *s =
		tp_site(p, pr, TP_STACK(p, "f x.c:1 prog"), 10, 4, 1000, 400);
	struct graph_query q = {0};
	static const struct {
		enum prof_value value;
		enum sites_at at;
		long bytes, blocks;
	} rows[] = {
		{PROF_LIVE, SITES_AT_END, 600, 6},
		{PROF_LIVE, SITES_AT_PEAK, 1000, 10},
		{PROF_LIVE, SITES_AT_EXIT, 555, 5},
		{PROF_LIVE, SITES_AT_MARK, 77, 2},
		{PROF_PEAK, SITES_AT_END, 1000, 10},
		{PROF_ALLOCATED, SITES_AT_END, 1000, 10},
		{PROF_TEMPORARY, SITES_AT_END, 300, 3},
	};
	uint32_t mark = prof_add_mark(p), row = prof_add_mark_row(p);

	s->temps = 3;
	s->temp_bytes = 300;
	s->at_exit_bytes = 555;
	s->at_exit_blocks = 5;
	p->marks[mark] = (struct prof_mark){.process = pr,
					    .number = 1,
					    .name = prof_str(p, "m"),
					    .rows = row,
					    .nrows = 1};
	p->mark_rows[row] =
		(struct prof_mark_row){.site = 1, .live_bytes = 77, .live_blocks = 2};
	snprintf(q.point.mark, sizeof q.point.mark, "m");
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		for (int objects = 0; objects < 2; objects++) {
			struct graph g;

			q.value = rows[i].value;
			q.point.at = rows[i].at;
			q.objects = objects != 0;
			graph_init(&g, p, &q, NULL, NULL);
			T_EQ(g.total, objects ? rows[i].blocks : rows[i].bytes);
			T_EQ(g.in_bytes, !objects);
			graph_done(&g);
		}
	}
	prof_free(p);
}

T_TEST(fractions_and_integers)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct graph g;

	prof_add_real(p);
	for (int i = 0; i < 3; i++) {
		uint32_t r = prof_add_real(p);

		tp_site(p, pr, TP_STACK(p, "f x.c:1 prog"), 1, 0, 10, 0);
		p->reals[r].live_bytes = 10.4;
	}
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ((long)(g.total * 10 + 0.5), 312);
	graph_done(&g);
	q.integers = true;
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ(g.total, 30);
	graph_done(&g);
	prof_free(p);
}

T_TEST(variances_add_up)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct graph_query q = {0};
	struct graph g;

	p->processes[pr].mode = PROF_SAMPLED;
	tp_site(p, pr, TP_STACK(p, "f x.c:1 prog", "f x.c:1 prog", "main x.c:2 prog"), 10,
		0, 100, 0)
		->var_live_bytes = 9;
	tp_site(p, pr, TP_STACK(p, "g x.c:3 prog", "main x.c:2 prog"), 10, 0, 100, 0)
		->var_live_bytes = 16;
	graph_init(&g, p, &q, NULL, NULL);
	T_CHECK(g.sampled);
	T_EQ(g.var_total, 25);
	T_EQ(entry_of(&g, "f")->var_flat, 9);
	T_EQ(entry_of(&g, "f")->var_cum, 9); /* not twice */
	T_EQ(entry_of(&g, "main")->var_cum, 25);
	graph_done(&g);
	q.objects = true; /* ten blocks of ten bytes: the error is a tenth */
	graph_init(&g, p, &q, NULL, NULL);
	T_EQ((long)(g.var_total * 100 + 0.5), 25);
	graph_done(&g);
	prof_free(p);
}

T_TEST(names_of_values)
{
	enum prof_value v = PROF_PEAK;
	bool objects = true;
	struct err e = {0};
	struct prof *p = prof_new();
	struct graph_query q = {.value = PROF_PEAK};

	T_EQ(value_parse("live", &v, &objects, &e), 0);
	T_EQ(v, PROF_LIVE);
	T_CHECK(objects);
	T_EQ(value_parse("alloc_space", &v, &objects, &e), 0);
	T_EQ(v, PROF_ALLOCATED);
	T_CHECK(!objects);
	T_EQ(value_parse("inuse_objects", &v, &objects, &e), 0);
	T_CHECK(v == PROF_LIVE && objects);
	T_EQ(value_parse("peak-objects", &v, &objects, &e), 0);
	T_CHECK(v == PROF_PEAK && objects);
	T_EQ(value_parse("temporary_bytes", &v, &objects, &e), 0);
	T_CHECK(v == PROF_TEMPORARY && !objects);
	T_CHECK(value_parse("inuse", &v, &objects, &e) < 0);
	T_CHECK(value_parse("peak-pages", &v, &objects, &e) < 0);
	p->columns = PROF_HAS_ALLOCS;
	p->format = prof_str(p, "heap_v2");
	T_EQ(value_default(p, &objects), PROF_ALLOCATED);
	T_CHECK(value_check(p, &q, &e) < 0);
	T_CHECK(strstr(e.msg, "only: allocated") != NULL);
	prof_free(p);
}

T_MAIN()
