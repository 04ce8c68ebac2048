/* SPDX-License-Identifier: MIT */
/* test_named.c -- frames that have a name and no address, and types of blocks: read from
 * a live recording, kept by packing and merging, written and read back in the formats of
 * others, asked for by filters and skip lists, shown in reports. */
#include "t.h"

#include "live_check.h"
#include "live_mixed.h"
#include "t_prof.h"
#include "tool/analyze/graph/filter.h"
#include "tool/analyze/graph/graph.h"
#include "tool/analyze/sites/skip.h"
#include "tool/format/format_save.h"
#include "tool/format/pack/pack.h"
#include "tool/format/pprof/pprof.h"
#include "tool/model/named.h"
#include "tool/render/report/report.h"
#include "tool/util/buf.h"

/* The site with so many allocations. */
static const struct prof_site *
site_of(const struct prof *p, uint64_t allocs)
{
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].allocs == allocs)
			return &p->sites[i];
	}
	T_FAIL("no site with %d allocations", (int)allocs);
	return &p->sites[0];
}

/* "malloc<load:17:app.py:Python<main": what is known of each frame of a stack. */
static const char *
words(const struct prof *p, uint32_t node)
{
	static char text[1024];
	size_t n = 0;

	for (text[0] = '\0'; node != 0 && n < 900; node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];
		const struct prof_frame *f = &p->frames[l->frames];

		n += (size_t)snprintf(text + n, sizeof text - n, "%s", n > 0 ? "<" : "");
		if (l->nframes == 0)
			n += (size_t)snprintf(text + n, sizeof text - n, "%llx",
					      (unsigned long long)l->offset);
		else
			n += (size_t)snprintf(text + n, sizeof text - n, "%s:%u:%s:%s",
					      prof_text(p, f->function), f->line,
					      prof_text(p, f->file),
					      prof_lang_name(f->lang));
	}
	return text;
}

static void
check_mixed(const struct prof *p)
{
	const struct prof_site *a = site_of(p, 11), *b = site_of(p, 13);
	const struct prof_site *typed = site_of(p, 17);

	T_CHECK(a->node != b->node);
	T_EQ(typed->node, b->node); /* the type is no frame */
	T_EQ(a->type, 0);
	T_EQ(b->type, 0);
	T_STR(prof_text(p, typed->type), "Session");
	T_STR(words(p, a->node), "409<load:17:/srv/app.py:Python<1100");
	T_STR(words(p, b->node), "409<load:23:/srv/app.py:Python<1100");
	T_EQ(a->live_bytes, 1103);
	T_EQ(b->live_bytes, 1301);
	T_EQ(typed->live_bytes, 1709);
	T_CHECK(named_is(p, p->nodes[p->nodes[a->node].parent].loc));
}

T_TEST(a_live_recording_has_them)
{
	struct mixed x = mixed_image();
	struct prof *p = load(&x.m, true);

	T_CHECK(sound(p));
	T_EQ(p->ndamages, 0);
	check_mixed(p);
	prof_free(p);
	image_free(&x.m);
}

T_TEST(packing_and_merging_keep_them)
{
	struct mixed x = mixed_image();
	struct prof *p = load(&x.m, true), *q = prof_new(), *all = prof_new();
	struct buf b = {0};
	uint32_t locs;

	pack_write(p, &b);
	T_EQ(pack_load(b.data, b.len, q, NULL), 0);
	T_EQ(q->ndamages, 0);
	check_mixed(q);
	prof_str(all, "other numbers of strings");
	prof_merge(all, p);
	check_mixed(all);
	locs = all->nlocs;
	prof_merge(all, q); /* the same names are the same locations */
	T_EQ(all->nlocs, locs);
	buf_done(&b);
	prof_free(p);
	prof_free(q);
	prof_free(all);
	image_free(&x.m);
}

/* Names that lead nowhere, are too long or of no known language: the stack stays, and
 * what could not be read is counted. */
T_TEST(bad_names_are_counted)
{
	static const struct {
		uint32_t function, language;
		bool lost;
		uint64_t damages;
		const char *words;
	} cases[] = {
		{0, REC_LANGUAGE_JAVA, false, 0, "(name unknown):17:/srv/app.py:Java"},
		{7, REC_LANGUAGE_JAVA, false, 1, "(name unknown):17:/srv/app.py:Java"},
		{UINT32_MAX, 77, false, 1, "(name unknown):17:/srv/app.py:other"},
		{1, 0, true, 0, "(name unknown):0::other"},
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct mixed x = mixed_image();
		struct rec_name *n = image_at(&x.m, x.names[0]);
		struct rec_node *inner = image_at(&x.m, x.nodes[0]);
		struct rec_node *named = image_at(&x.m, inner->parent);
		struct prof *p;
		char want[128];

		n->function = cases[i].function;
		n->language = cases[i].language;
		if (cases[i].lost)
			named->pc = 0;
		p = load(&x.m, true);
		T_CHECK(sound(p));
		T_EQ(damage(p, "names of frames"), cases[i].damages);
		snprintf(want, sizeof want, "409<%s<1100", cases[i].words);
		T_STR(words(p, site_of(p, 11)->node), want);
		prof_free(p);
		image_free(&x.m);
	}
}

/* Nodes whose name is none, or a node: refs of the wrong kind. */
T_TEST(bad_refs_are_counted)
{
	static const uint64_t refs[] = {1, UINT32_MAX, UINT64_C(1) << 40, 0x8010};

	for (size_t i = 0; i < sizeof refs / sizeof *refs; i++) {
		struct mixed x = mixed_image();
		struct rec_node *inner = image_at(&x.m, x.nodes[0]);
		struct rec_node *type = image_at(&x.m, x.nodes[2]);
		struct prof *p;

		((struct rec_node *)image_at(&x.m, inner->parent))->pc = refs[i];
		type->pc = refs[i];
		p = load(&x.m, true);
		T_CHECK(sound(p));
		T_EQ(damage(p, "names of frames"), 2);
		T_EQ(site_of(p, 17)->type, 0);
		T_STR(words(p, site_of(p, 11)->node), "409<(name unknown):0::other<1100");
		prof_free(p);
		image_free(&x.m);
	}
}

/* Names make a location: line and language are part of it. */
T_TEST(languages_and_lines_are_told_apart)
{
	struct prof *p = prof_new();
	struct prof_frame f = {.function = prof_str(p, "f"), .line = 3};
	uint32_t a = named_loc(p, 0, &f, 1), b, c;

	f.lang = PROF_PYTHON;
	b = named_loc(p, 0, &f, 1);
	f.line = 5;
	c = named_loc(p, 0, &f, 1);
	T_CHECK(a != b && b != c && a != c);
	f.line = 3;
	T_EQ(named_loc(p, 0, &f, 1), b);
	prof_free(p);
}

/* ---- what is made of them ---- */

static uint32_t
named_node(struct prof *p, uint32_t parent, const char *function, const char *file,
	   uint32_t line, enum prof_lang lang)
{
	struct prof_frame f = {.function = prof_str(p, function),
			       .file = prof_str(p, file),
			       .line = line,
			       .lang = (uint8_t)lang};

	return prof_node(p, parent, named_loc(p, 0, &f, 1));
}

/* main of C runs handle of a language of its own, which runs load; that allocates on two
 * lines by one C function. handle on line 5 makes lists. */
static struct prof *
demo(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/me/prog", 4711, 20), node;
	uint32_t root = TP_STACK(p, "main main.c:7 prog", "_start - prog");
	const char *const grow[] = {"grow vec.c:3 prog", NULL};

	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t bytes[] = {4099, 2053, 1031};
		struct prof_site *s;

		node = named_node(p, root, "handle", "/srv/app.py", i < 2 ? 4 : 5,
				  PROF_PYTHON);
		if (i < 2)
			node = named_node(p, node, "load", "/srv/data.py", 11 + 2 * i,
					  PROF_PYTHON);
		node = prof_node(p, node, tp_loc(p, grow, 1));
		s = tp_site(p, pr, node, 1 + i, 0, bytes[i], 0);
		s->type = i == 2 ? prof_str(p, "list") : 0;
	}
	p->has_names = true;
	return p;
}

static const char *
saved(const struct prof *p, const char *format, struct buf *out)
{
	struct emit_out to = {.buf = out};
	struct err e = {0};

	buf_clear(out);
	T_EQ(format_save(p, format, NULL, &to, &e), 0);
	T_STR(e.msg, "");
	return buf_str(out);
}

T_TEST(text_formats_have_them)
{
	struct prof *p = demo();
	struct buf out = {0};

	T_STR(saved(p, "folded", &out), "_start;main;handle;load;grow 6152\n"
					"_start;main;handle;grow 1031\n");
	saved(p, "speedscope", &out);
	T_CHECK(strstr(buf_str(&out), "{\"name\":\"load\",\"file\":\"/srv/data.py\"}") !=
		NULL);
	saved(p, "csv", &out);
	T_CHECK(strstr(buf_str(&out), "\ngrow,vec.c,3,/usr/lib/prog,4099,1,") != NULL);
	T_CHECK(strstr(buf_str(&out), "\ngrow,vec.c,3,/usr/lib/prog,2053,2,") != NULL);
	buf_done(&out);
	prof_free(p);
}

/* pprof has no field for the language: the file's ending says it. */
T_TEST(pprof_has_them_and_gives_them_back)
{
	struct prof *p = demo(), *q = prof_new();
	struct buf out = {0};
	unsigned types = 0;

	saved(p, "proto", &out);
	T_EQ(pprof_load(out.data, out.len, q, NULL), 0);
	T_EQ(q->nsites, p->nsites);
	for (uint32_t i = 1; i < p->nsites; i++) {
		const struct prof_site *s = site_of(q, p->sites[i].allocs);
		uint32_t node = q->nodes[s->node].parent;
		char want[512];

		T_EQ(s->live_bytes, p->sites[i].live_bytes);
		T_CHECK(named_is(q, q->nodes[node].loc));
		snprintf(want, sizeof want, "%s",
			 words(p, p->nodes[p->sites[i].node].parent));
		T_STR(words(q, node), want);
	}
	for (uint32_t i = 0; i < q->nlabels; i++) {
		if (strcmp(prof_text(q, q->labels[i].key), "type") != 0)
			continue;
		T_STR(prof_text(q, q->labels[i].text), "list");
		types++;
	}
	T_EQ(types, 1);
	buf_done(&out);
	prof_free(p);
	prof_free(q);
}

T_TEST(json_says_language_and_types)
{
	struct prof *p = demo();
	struct report_opts o = {0};
	struct buf out = {0};
	const char *s;

	T_EQ(report_json(&out, p, &o), 0);
	s = buf_str(&out);
	T_CHECK(strstr(s, "\"kind\":\"code\",\"function\":\"load\",\"linkage\":\"load\","
			  "\"file\":\"/srv/data.py\",\"line\":13,\"source\":null,"
			  "\"inlined\":false,\"language\":\"Python\",\"module\":null,"
			  "\"offset\":null}") != NULL);
	T_CHECK(strstr(s, "\"file\":\"vec.c\",\"line\":3,\"source\":null,"
			  "\"inlined\":false,\"language\":\"native\"") != NULL);
	T_CHECK(strstr(s, "\"types\":[{\"type\":\"list\",\"live_bytes\":1031,"
			  "\"live_blocks\":3,\"allocs\":3,\"allocated_bytes\":1031}]") !=
		NULL);
	T_CHECK(strstr(s, "\"types\":null") != NULL);
	buf_done(&out);
	prof_free(p);
}

T_TEST(reports_show_them)
{
	struct prof *p = demo();
	struct report_opts o = {.all = true};
	struct buf out = {0};
	const char *s;

	report_text(&out, p, &o);
	s = buf_str(&out);
	T_CHECK(strstr(s, "load") != NULL && strstr(s, "data.py:11") != NULL);
	T_CHECK(strstr(s, "data.py:13") != NULL && strstr(s, "app.py:5") != NULL);
	T_CHECK(strstr(s, "    type list\n") != NULL);
	buf_done(&out);
	prof_free(p);
}

/* Bytes of the stacks that pass a filter, and of a function's entries together. */
static double
focused(const struct prof *p, enum filter_option option, const char *re)
{
	struct filter_opts o = {0};
	struct graph_filter *f = NULL;
	struct graph_query q = {0};
	struct graph g;
	double total;

	o.of[option] = re;
	T_EQ(filter_new(&o, &f, NULL), 0);
	q.filter = f;
	graph_init(&g, p, &q, NULL, NULL);
	total = g.nodes[0].total;
	graph_done(&g);
	filter_free(f);
	return total;
}

T_TEST(filters_ask_their_names_and_files)
{
	struct prof *p = demo();

	T_EQ(focused(p, FILTER_FOCUS, "^load$"), 4099 + 2053);
	T_EQ(focused(p, FILTER_FOCUS, "srv/app\\.py"), 4099 + 2053 + 1031);
	T_EQ(focused(p, FILTER_IGNORE, "data\\.py"), 1031);
	T_EQ(focused(p, FILTER_FOCUS, "nothing"), 0);
	prof_free(p);
}

/* By module such frames are one row, that of their language. */
T_TEST(by_module_a_language_is_one_row)
{
	struct graph_query q = {.grain = GRAPH_MODULES};
	struct prof *p = demo();
	unsigned rows = 0, python = 0;
	struct graph g;
	struct buf b = {0};

	graph_init(&g, p, &q, NULL, NULL);
	for (uint32_t i = 1; i < g.nentries; i++) {
		buf_clear(&b);
		graph_entry_text(&g, &g.entries[i], &b);
		rows += b.len > 0;
		python += strcmp(buf_str(&b), "[Python]") == 0;
	}
	T_EQ(python, 1);
	T_EQ(rows, 2); /* and the program */
	buf_done(&b);
	graph_done(&g);
	prof_free(p);
}

/* Functions of the stack that are shown, innermost first. */
static const char *
shown(const struct prof *p, const struct skip_opts *o, uint32_t node)
{
	static char text[256];
	struct skip *s = skip_new(p, o);
	struct skip_stack st = {0};

	skip_stack(s, node, &st);
	text[0] = '\0';
	for (size_t i = 0; i < st.len; i++) {
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? " " : "",
			 prof_text(p, skip_frame(p, st.data[i])->function));
	}
	vec_done(&st);
	skip_free(s);
	return text;
}

/* The lists of C's functions say nothing of an interpreter's: one may have a `malloc` of
 * its own. The user's patterns do, by function and by file. */
T_TEST(skip_lists_ask_only_what_the_user_says)
{
	static const char *const by_name[] = {"mal*"}, *const by_file[] = {"data.py"};
	struct prof *p = prof_new();
	uint32_t node = TP_STACK(p, "main main.c:7 prog", "_start - prog");

	node = named_node(p, node, "clone", "/srv/app.py", 5, PROF_PYTHON);
	node = named_node(p, node, "malloc", "/srv/data.py", 3, PROF_PYTHON);
	T_STR(shown(p, NULL, node), "malloc clone main");
	T_STR(shown(p, &(struct skip_opts){.more = by_name, .nmore = 1}, node),
	      "clone main");
	T_STR(shown(p, &(struct skip_opts){.more = by_file, .nmore = 1}, node),
	      "clone main");
	node = TP_STACK(p, "malloc - libc.so.6", "main main.c:7 prog", "_start - prog");
	T_STR(shown(p, NULL, node), "main");
	prof_free(p);
}

T_MAIN()
