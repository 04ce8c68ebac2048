/* SPDX-License-Identifier: MIT */
/* Tests of src/tool/render/views: the text of every view of a small profile, letter for
 * letter. */
#include "tool/render/views/view.h"

#include "t.h"
#include "t_prof.h"
#include "tool/util/re.h"

static const char *
source(void *ctx, const char *file, uint32_t line)
{
	(void)ctx;
	if (strcmp(file, "a.c") != 0)
		return NULL;
	return line == 10 ? "\tp = malloc(n);" : line == 9 ? "{" : line < 9 ? "" : NULL;
}

struct shown {
	enum view_kind kind;
	enum graph_grain grain;
	const char *pattern;
	struct view_opts o;
};

static char *
text_of(const struct prof *p, const struct shown *s, bool json)
{
	struct graph_query q = {.grain = s->grain};
	struct view_opts o = s->o;
	struct view v = {.p = p, .q = &q, .o = &o};
	struct re *re = NULL;
	struct buf b = {0};
	struct err e = {0};
	struct graph g;

	if (s->pattern != NULL)
		T_EQ(re_new(s->pattern, &re, &e), 0);
	o.re = re;
	o.source = source;
	if (o.node_fraction == 0)
		o.node_fraction = -1;
	o.edge_fraction = -1;
	graph_init(&g, p, &q, NULL, NULL);
	v.g = &g;
	if (json)
		view_json(&b, s->kind, &v);
	else
		view_text(&b, s->kind, &v);
	graph_done(&g);
	re_free(re);
	return buf_take(&b);
}

static void
check(const struct prof *p, struct shown s, const char *wanted)
{
	char *text = text_of(p, &s, false);

	T_STR(text, wanted);
	free(text);
}

/* main calls a (1,000 bytes, two stacks) and b (24); b is called by a too. */
static struct prof *
small(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr, TP_STACK(p, "a a.c:10 prog", "main a.c:90 prog"), 3, 0, 700, 0);
	tp_site(p, pr, TP_STACK(p, "a a.c:10 prog", "main a.c:91 prog"), 1, 0, 300, 0);
	tp_site(p, pr, TP_STACK(p, "b b.c:5 prog", "a a.c:12 prog", "main a.c:90 prog"),
		1, 0, 20, 0);
	tp_site(p, pr, TP_STACK(p, "b b.c:5 prog", "main a.c:95 prog"), 1, 0, 4, 0);
	return p;
}

T_TEST(tables)
{
	struct prof *p = small();

	check(p, (struct shown){.kind = VIEW_TOP},
	      "live  1.00 KiB in 4 stacks\n"
	      "    flat  flat %       cum   cum %  function\n"
	      "  1000 B    98 %    1020 B    99 %  a\n"
	      "    24 B   2.3 %      24 B   2.3 %  b\n"
	      "     0 B     0 %  1.00 KiB   100 %  main\n");
	check(p, (struct shown){.kind = VIEW_TOP, .o = {.by_cum = true, .bytes = true}},
	      "live  1024 bytes in 4 stacks\n"
	      "    flat  flat %       cum   cum %  function\n"
	      "       0     0 %      1024   100 %  main\n"
	      "    1000    98 %      1020    99 %  a\n"
	      "      24   2.3 %        24   2.3 %  b\n");
	check(p, (struct shown){.kind = VIEW_TOP, .grain = GRAPH_FILES, .o = {.rows = 1}},
	      "live  1.00 KiB in 4 stacks\n"
	      "    flat  flat %       cum   cum %  file\n"
	      "  1000 B    98 %  1.00 KiB   100 %  a.c\n"
	      "# 1 more file, 24 B (--all)\n");
	prof_free(p);
}

T_TEST(trees)
{
	struct prof *p = small();

	check(p, (struct shown){.kind = VIEW_TREE},
	      "live  1.00 KiB in 4 stacks\n"
	      "1.00 KiB   100 %  main\n"
	      "  1020 B    99 %  \xe2\x94\x9c a  (itself 1000 B)\n"
	      "    20 B     2 %  \xe2\x94\x82 \xe2\x94\x94 b\n"
	      "     4 B   0.4 %  \xe2\x94\x94 (1 smaller)\n");
	check(p, (struct shown){.kind = VIEW_TREE, .o = {.all = true, .ascii = true}},
	      "live  1.00 KiB in 4 stacks\n"
	      "1.00 KiB   100 %  main\n"
	      "  1020 B    99 %  |-a  (itself 1000 B)\n"
	      "    20 B     2 %  | `-b\n"
	      "     4 B   0.4 %  `-b\n");
	check(p, (struct shown){.kind = VIEW_BOTTOM_UP, .o = {.all = true}},
	      "live  1.00 KiB in 4 stacks\n"
	      "  1000 B    98 %  a\n"
	      "  1000 B    98 %    main\n"
	      "    24 B   2.3 %  b\n"
	      "    20 B     2 %    \xe2\x94\x9c a\n"
	      "    20 B     2 %    \xe2\x94\x82 main\n"
	      "     4 B   0.4 %    \xe2\x94\x94 main\n");
	check(p, (struct shown){.kind = VIEW_TREE, .o = {.rows = 2}},
	      "live  1.00 KiB in 4 stacks\n"
	      "1.00 KiB   100 %  main\n"
	      "  1020 B    99 %  \xe2\x94\x9c a  (itself 1000 B)\n"
	      "# there is more (--all)\n");
	prof_free(p);
}

T_TEST(one_function)
{
	struct prof *p = small();

	check(p, (struct shown){.kind = VIEW_PEEK, .pattern = "^a$"},
	      "live  1.00 KiB in 4 stacks\n"
	      "a   a.c\n"
	      "  flat 1000 B (98 %)   cum 1020 B (99 %)\n"
	      "  called by\n"
	      "          1020 B   100 %  main\n"
	      "  calls\n"
	      "            20 B     2 %  b\n");
	check(p,
	      (struct shown){.kind = VIEW_LIST, .grain = GRAPH_LINES, .pattern = "^a$"},
	      "live  1.00 KiB in 4 stacks\n"
	      "a   a.c\n"
	      "  flat 1000 B (98 %)   cum 1020 B (99 %)\n"
	      "        flat           cum    line\n"
	      "           .             .       5\n"
	      "           .             .       6\n"
	      "           .             .       7\n"
	      "           .             .       8\n"
	      "           .             .       9  {\n"
	      "      1000 B        1000 B      10          p = malloc(n);\n"
	      "           .          20 B      12\n");
	prof_free(p);
}

T_TEST(stacks)
{
	struct prof *p = small();
	uint32_t label = prof_add_label(p);

	p->labels[label] = (struct prof_label){
		.site = 2, .key = prof_str(p, "bytes"), .number = 300};
	check(p,
	      (struct shown){.kind = VIEW_TRACES, .grain = GRAPH_LINES, .o = {.rows = 2}},
	      "live  1.00 KiB in 4 stacks\n"
	      "     700 B    68 %\n"
	      "    a a.c:10\n"
	      "    main a.c:90\n"
	      "     300 B    29 %  bytes=300\n"
	      "    a a.c:10\n"
	      "    main a.c:91\n"
	      "# 2 more stacks, 24 B (--all)\n");
	check(p, (struct shown){.kind = VIEW_TAGS},
	      "live  1.00 KiB in 4 stacks\n"
	      "bytes   1 value\n"
	      "       300 B    29 %  300\n");
	prof_free(p);
}

/* What is below nothing has a sign, and shares too; they are of all without signs,
 * 4,324. */
T_TEST(less_than_nothing)
{
	struct prof *p = small();

	p->sites[1].live_bytes = -4000;
	check(p, (struct shown){.kind = VIEW_TOP, .o = {.ascii = true}},
	      "live  -3.59 KiB in 4 stacks\n"
	      "     flat  flat %        cum   cum %  function\n"
	      "-3.61 KiB   -86 %  -3.59 KiB   -85 %  a\n"
	      "     24 B   0.6 %       24 B   0.6 %  b\n"
	      "      0 B     0 %  -3.59 KiB   -85 %  main\n");
	check(p, (struct shown){.kind = VIEW_TOP, .o = {.bytes = true, .rows = 1}},
	      "live  -3676 bytes in 4 stacks\n"
	      "    flat  flat %       cum   cum %  function\n"
	      "   -3700   \xe2\x88\x92"
	      "86 %     -3680   \xe2\x88\x92"
	      "85 %  a\n"
	      "# 2 more functions, 24 (--all)\n");
	prof_free(p);
}

/* 19 temporary blocks, 7 freed within 16 ms and 1 after a long time, 5 not freed. */
T_TEST(lifetimes)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct prof_site *site =
		tp_site(p, pr, TP_STACK(p, "a a.c:10 prog", "main a.c:90 prog"), 32, 27,
			3200, 2700);

	site->temps = 19;
	tp_lives(p, 1, 4, 7);
	tp_lives(p, 1, 11, 1);
	check(p, (struct shown){.kind = VIEW_LIFETIMES, .o = {.ascii = true}},
	      "live  500 B in 1 stack\n"
	      "      blocks   share  lived for\n"
	      "          19    59 %  temporary         ##################\n"
	      "           0     0 %  0-1 ms\n"
	      "           0     0 %  1-2 ms\n"
	      "           0     0 %  2-4 ms\n"
	      "           0     0 %  4-8 ms\n"
	      "           7    22 %  8-16 ms           #######\n"
	      "           0     0 %  16-32 ms\n"
	      "           0     0 %  32-64 ms\n"
	      "           0     0 %  64-128 ms\n"
	      "           0     0 %  128-256 ms\n"
	      "           0     0 %  256-512 ms\n"
	      "           0     0 %  0.5-1.0 s\n"
	      "           1   3.1 %  1.0-2.0 s         #\n"
	      "           5    16 %  not freed         #####\n");
	p->columns = PROF_HAS_LIVE;
	check(p, (struct shown){.kind = VIEW_LIFETIMES},
	      "live  500 B in 1 stack\n"
	      "# nothing to show: this format does not say how long blocks lived\n");
	prof_free(p);
}

static void
add_point(struct prof *p, uint32_t process, uint32_t ms, int64_t live, uint32_t rss_kib)
{
	uint32_t i = prof_add_point(p);

	p->points[i] = (struct prof_point){
		.process = process, .ms = ms, .live_bytes = live, .rss_kib = rss_kib};
}

/* Six points, of which the fourth is the highest; a mark; another process. */
T_TEST(timeline)
{
	static const int64_t live[] = {0, 1024, 3072, 6144, 2048, 1024};
	struct prof *p = small();
	uint32_t pr = 1, other, mark;

	for (uint32_t i = 0; i < 6; i++)
		add_point(p, pr, i * 1000, live[i], i == 0 ? 0 : 4096 + i);
	mark = prof_add_mark(p);
	p->marks[mark] = (struct prof_mark){.process = pr,
					    .number = 1,
					    .name = prof_str(p, "half"),
					    .ms = 2500,
					    .live_bytes = 4096};
	check(p, (struct shown){.kind = VIEW_TIMELINE, .o = {.ascii = true, .all = true}},
	      "live  1.00 KiB in 4 stacks\n"
	      "      time        live         RSS        seep\n"
	      "       0 s         0 B           -           -\n"
	      "    1.00 s    1.00 KiB    4.00 MiB           -  #####\n"
	      "    2.00 s    3.00 KiB    4.00 MiB           -  ###############\n"
	      "    2.50 s    4.00 KiB                          @half\n"
	      "    3.00 s    6.00 KiB    4.00 MiB           -  ##############################\n"
	      "    4.00 s    2.00 KiB    4.00 MiB           -  ##########\n"
	      "    5.00 s    1.00 KiB    4.00 MiB           -  #####\n");
	check(p, (struct shown){.kind = VIEW_TIMELINE, .o = {.ascii = true, .rows = 2}},
	      "live  1.00 KiB in 4 stacks\n"
	      "      time        live         RSS        seep\n"
	      "    2.00 s    3.00 KiB    4.00 MiB           -  ###############\n"
	      "    2.50 s    4.00 KiB                          @half\n"
	      "    5.00 s    6.00 KiB    4.00 MiB           -  ##############################\n"
	      "# each row is the highest of up to 3 points (-n N, --all)\n");
	other = tp_process(p, "/opt/other", 13, 10);
	add_point(p, other, 7, 2048, 0);
	check(p, (struct shown){.kind = VIEW_TIMELINE, .o = {.ascii = true, .rows = 1}},
	      "live  1.00 KiB in 4 stacks\n"
	      "prog (11)\n"
	      "      time        live         RSS        seep\n"
	      "    2.50 s    4.00 KiB                          @half\n"
	      "    5.00 s    6.00 KiB    4.00 MiB           -  ##############################\n"
	      "# each row is the highest of up to 6 points (-n N, --all)\n"
	      "other (13)\n"
	      "      time        live         RSS        seep\n"
	      "    7.0 ms    2.00 KiB           -           -  ##############################\n");
	prof_free(p);
}

/* Names of foreign files are text in every view. */
T_TEST(hostile_names)
{
	static const enum view_kind kinds[] = {VIEW_TOP,   VIEW_TREE,	   VIEW_BOTTOM_UP,
					       VIEW_PEEK,  VIEW_LIST,	   VIEW_TRACES,
					       VIEW_TAGS,  VIEW_THREADS,   VIEW_SIZES,
					       VIEW_GRAPH, VIEW_LIFETIMES, VIEW_TIMELINE};
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10), label;

	tp_site(p, pr, TP_STACK(p, "a a.c:10 prog", "main a.c:90 prog"), 3, 0, 700, 0);
	for (uint32_t i = 0; i < p->nframes; i++)
		p->frames[i].function =
			prof_str(p, i == 0 ? "\x1b[31mred\"];x\n[\\" : "m\xff\xfe\"main");
	label = prof_add_label(p);
	p->labels[label] = (struct prof_label){.site = 1,
					       .key = prof_str(p, "k\x1b["),
					       .text = prof_str(p, "v\x07\x1b")};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct shown s = {.kind = kinds[i], .grain = GRAPH_LINES, .pattern = "."};
		char *text = text_of(p, &s, false), *json = text_of(p, &s, true);

		T_CHECK(strpbrk(text, "\x1b\x07") == NULL);
		T_CHECK(strpbrk(json, "\x1b\x07") == NULL);
		T_CHECK(strstr(json, "\xff") == NULL);
		T_CHECK(strchr(json, '\n') == json + strlen(json) - 1);
		if (kinds[i] == VIEW_GRAPH) /* quotes cannot end the label */
			T_CHECK(strstr(text, "red\\\"];x?[\\\\") != NULL);
		free(text);
		free(json);
	}
	prof_free(p);
}

T_MAIN()
