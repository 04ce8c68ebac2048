/* SPDX-License-Identifier: MIT */
/* test_flame.c -- flame graphs and pages: what is left out, how wide boxes are, and that
 * no name is ever more than text. */
#include "tool/render/flame/flame.h"
#include "tool/render/flame/flame_colour.h"
#include "tool/render/flame/flame_text.h"
#include "tool/render/flame/flame_tree.h"
#include "tool/render/flame/html_page.h"

#include "t.h"
#include "t_prof.h"

/* ---- text ---- */

static const char *
cleaned(const char *text, size_t max)
{
	static struct buf b;

	buf_clear(&b);
	flame_clean(&b, text, max);
	return buf_str(&b);
}

static const char *
escaped(const char *text)
{
	static struct buf b;

	buf_clear(&b);
	flame_escape(&b, text);
	return buf_str(&b);
}

#define BAD "\xef\xbf\xbd"

T_TEST(clean_leaves_good_text)
{
	T_STR(cleaned("std::map<int, char>::operator[]", 0),
	      "std::map<int, char>::operator[]");
	T_STR(cleaned("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5", 0),
	      "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x94\xa5");
}

T_TEST(clean_replaces_what_is_no_text)
{
	T_STR(cleaned("a\001b\033[31mc\177", 0), "a" BAD "b" BAD "[31mc" BAD);
	T_STR(cleaned("a\tb\nc\rd", 0), "a b c d");
	T_STR(cleaned("\xff\xfe", 0), BAD BAD);			/* no UTF-8 at all */
	T_STR(cleaned("\xc0\xbc", 0), BAD BAD);			/* < in two bytes */
	T_STR(cleaned("\xe0\x80\xbc", 0), BAD BAD BAD);		/* and in three */
	T_STR(cleaned("\xed\xa0\x80", 0), BAD BAD BAD);		/* half of a pair */
	T_STR(cleaned("\xf4\x90\x80\x80", 0), BAD BAD BAD BAD); /* beyond the last */
	T_STR(cleaned("x\xe2\x82", 0), "x" BAD BAD);		/* cut off */
	T_STR(cleaned("\xef\xbf\xbe\xef\xbf\xbf", 0), BAD BAD); /* U+FFFE: XML has none */
	T_STR(cleaned("a\xe2\x80\xae"
		      "b\xe2\x81\xa6",
		      0),
	      "a" BAD "b" BAD); /* direction */
	T_STR(cleaned("a\xc2\x85"
		      "b\xe2\x80\xa8"
		      "c",
		      0),
	      "a" BAD "b c");
}

T_TEST(clean_ends_long_names)
{
	char name[5000];
	const char *c;

	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	c = cleaned(name, FLAME_NAME_BYTES);
	T_EQ(strlen(c), FLAME_NAME_BYTES - 2 + 3);
	T_STR(c + strlen(c) - 3, "\xe2\x80\xa6");
	T_EQ(strlen(cleaned(name, 0)), 4999);
}

T_TEST(escape_leaves_no_markup)
{
	T_STR(escaped("<script>alert('x')</script>"),
	      "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
	T_STR(escaped("\" onload=\"x\" &amp; ]]>"),
	      "&quot; onload=&quot;x&quot; &amp;amp; ]]&gt;");
	T_STR(escaped(""), "");
}

T_TEST(cut_counts_characters)
{
	struct buf b = {0};

	flame_cut(&b, "\xc3\xa4\xc3\xb6\xc3\xbc", 3);
	T_STR(buf_str(&b), "\xc3\xa4\xc3\xb6\xc3\xbc");
	buf_clear(&b);
	flame_cut(&b, "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f", 3);
	T_STR(buf_str(&b), "\xc3\xa4\xc3\xb6\xe2\x80\xa6");
	buf_clear(&b);
	flame_cut(&b, "abc", 0);
	T_STR(buf_str(&b), "");
	buf_done(&b);
}

/* ---- boxes ---- */

static void
add(struct prof *p, uint32_t pr, uint32_t node, int64_t bytes)
{
	tp_site(p, pr, node, 1, 0, (uint64_t)bytes, 0);
}

static const struct flame_box *
box(const struct graph *g, const struct flame_tree *t, const char *name, uint32_t depth)
{
	for (uint32_t i = 1; i < t->nboxes; i++) {
		const char *own = graph_text(g, g->entries[t->boxes[i].entry].function);

		if (t->boxes[i].depth == depth && strcmp(own, name) == 0)
			return &t->boxes[i];
	}
	return NULL;
}

/* 1,200,000 bytes on 1,200 pixels: a tenth of a pixel is 100 bytes. */
T_TEST(boxes_under_a_tenth_of_a_pixel_are_counted)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/x", 7, 1);
	struct graph_query q = {.no_edges = true};
	struct flame_tree t;
	struct graph g;

	add(p, pr, TP_STACK(p, "big a.c:1 x", "main a.c:9 x"), 1199801);
	add(p, pr, TP_STACK(p, "just a.c:2 x", "main a.c:9 x"), 100);
	add(p, pr, TP_STACK(p, "small2 a.c:3 x", "small1 a.c:4 x", "main a.c:9 x"), 99);
	graph_init(&g, p, &q, NULL, NULL);
	flame_tree_down(&t, &g, 0.1 / 1200, false);
	T_EQ(t.nboxes, 4); /* root, main, big, just */
	T_EQ(t.left_out, 2);
	T_EQ(t.depth, 2);
	T_CHECK(box(&g, &t, "just", 2) != NULL);
	T_CHECK(box(&g, &t, "small1", 2) == NULL);
	T_EQ(t.boxes[0].total, 1200000);
	flame_tree_done(&t);
	flame_tree_up(&t, &g, 0.1 / 1200, false);
	T_EQ(t.nboxes, 5); /* root, big, its main, just, its main */
	T_EQ(t.left_out, 1);
	flame_tree_done(&t);
	flame_tree_down(&t, &g, 0, false);
	T_EQ(t.nboxes, 6);
	T_EQ(t.left_out, 0);
	flame_tree_done(&t);
	graph_done(&g);
	prof_free(p);
}

T_TEST(upwards_the_innermost_is_merged)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/x", 7, 1);
	struct graph_query q = {.no_edges = true};
	const struct flame_box *b;
	struct flame_tree t;
	struct graph g;

	add(p, pr, TP_STACK(p, "grow a.c:1 x", "load a.c:2 x", "main a.c:9 x"), 701);
	add(p, pr, TP_STACK(p, "grow a.c:1 x", "serve a.c:3 x", "main a.c:9 x"), 311);
	add(p, pr, TP_STACK(p, "grow a.c:1 x"), 13);
	graph_init(&g, p, &q, NULL, NULL);
	flame_tree_up(&t, &g, 0, false);
	b = box(&g, &t, "grow", 1);
	T_CHECK(b != NULL && b->total == 701 + 311 + 13 && b->self == 13);
	b = box(&g, &t, "load", 2);
	T_CHECK(b != NULL && b->total == 701 && b->self == 0);
	b = box(&g, &t, "main", 3);
	T_CHECK(b != NULL && b->self == b->total);
	T_EQ(t.nboxes, 6); /* root, grow, load, serve, main twice */
	T_EQ(t.depth, 3);
	flame_tree_done(&t);
	graph_done(&g);
	prof_free(p);
}

/* Every way of counting adds up from leaf to root, below nothing counts as nothing. */
T_TEST(widths_of_a_difference)
{
	struct prof *now = prof_new(), *was = prof_new();
	uint32_t a = tp_process(now, "/bin/x", 7, 1), b = tp_process(was, "/bin/x", 8, 1);
	struct graph_query q = {.no_edges = true};
	const struct flame_box *m;
	struct flame_tree t;
	struct graph g;

	add(now, a, TP_STACK(now, "grew a.c:1 x", "main a.c:9 x"), 501);
	add(was, b, TP_STACK(was, "grew a.c:1 x", "main a.c:9 x"), 101);
	add(now, a, TP_STACK(now, "fresh a.c:2 x", "main a.c:9 x"), 37);
	add(was, b, TP_STACK(was, "gone a.c:3 x", "main a.c:9 x"), 211);
	graph_init(&g, now, &q, was, NULL);
	flame_tree_down(&t, &g, 0, false);
	m = box(&g, &t, "main", 1);
	T_CHECK(m != NULL);
	T_EQ(m->total, 501 + 37);
	T_EQ(m->was_total, 101 + 211);
	T_EQ(m->width[FLAME_BY_MAX], 501 + 37 + 211);
	T_EQ(m->width[FLAME_BY_NOW], 538);
	T_EQ(m->width[FLAME_BY_WAS], 312);
	m = box(&g, &t, "gone", 2);
	T_CHECK(m != NULL && m->total == 0 && m->width[FLAME_BY_MAX] == 211);
	flame_tree_done(&t);
	graph_done(&g);
	prof_free(now);
	prof_free(was);
}

T_TEST(diff_steps)
{
	T_EQ(flame_diff_step(0, 100, false), FLAME_DIFF_STEPS);
	T_EQ(flame_diff_step(100, 100, false), 2 * FLAME_DIFF_STEPS);
	T_EQ(flame_diff_step(-100, 100, false), 0);
	T_EQ(flame_diff_step(-100, 100, true), 2 * FLAME_DIFF_STEPS);
	T_EQ(flame_diff_step(25, 100, false), FLAME_DIFF_STEPS + FLAME_DIFF_STEPS / 2);
	T_EQ(flame_diff_step(1e-9, 100, false), FLAME_DIFF_STEPS + 1);
	T_EQ(flame_diff_step(7, 0, false), FLAME_DIFF_STEPS);
}

/* ---- files ---- */

static const char *const hostile[] = {
	"</title></text></g><script>alert(1)</script>",
	"</script><img/src=x/onerror=alert(2)>",
	"]]><script>alert(3)</script>",
	"\"'/><rect/onload=\"alert(4)\">",
	"&lt;b&gt;&#60;script&#62;",
	"<!--<script>",
	"a\033]0;x\007b\xff\xc0\xbc\xed\xa0\x80\xef\xbf\xbe",
	"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xae",
	"@DATA@@JS@%s%n\\u003c\\",
};

static struct prof *
hostile_profile(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/x", 7, 1);

	for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
		uint32_t loc = prof_loc(p, prof_module(p, hostile[i], NULL, 0), 64 + i,
					PROF_LOC_CODE, true);
		uint32_t f = prof_add_frame(p);

		p->frames[f].function = prof_str(p, hostile[i]);
		p->frames[f].file = prof_str(p, hostile[i]);
		p->frames[f].source = prof_str(p, hostile[i]);
		p->frames[f].line = 3;
		p->locs[loc].frames = f;
		p->locs[loc].nframes = 1;
		add(p, pr, prof_node(p, 0, loc), 1000);
	}
	p->has_names = true;
	return p;
}

static unsigned
count(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what)) != NULL) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* Every byte is one that XML may hold. */
static bool
is_plain(const struct buf *b)
{
	struct buf again = {0};
	bool same;

	for (size_t i = 0; i < b->len; i++) {
		unsigned char c = (unsigned char)b->data[i];

		if (c == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return false;
		if (c == '\n' || c == '\t')
			b->data[i] = ' ';
	}
	flame_clean(&again, b->data, 0);
	same = again.len == b->len && memcmp(again.data, b->data, b->len) == 0;
	buf_done(&again);
	return same;
}

T_TEST(svg_keeps_hostile_names_in)
{
	struct prof *p = hostile_profile();
	struct graph_query q = {.no_edges = true};
	struct flame_opts o = {.title = hostile[0],
			       .subtitle = hostile[1],
			       .notes = hostile[2],
			       .count_name = hostile[3],
			       .name_type = hostile[1],
			       .what = hostile[2],
			       .font = "x;}</style><script>"};
	struct buf b = {0};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	flame_svg(&b, &g, &o);
	T_EQ(count(b.data, "<script"), 2);
	T_EQ(count(b.data, "</script"), 2);
	T_EQ(count(b.data, "]]>"), 1);
	T_EQ(count(b.data, "<img"), 0);
	T_EQ(count(b.data, "onload=\""), 0);
	T_EQ(count(b.data, "<title>") - count(b.data, "</title>"), 0);
	T_CHECK(is_plain(&b));
	buf_done(&b);
	graph_done(&g);
	prof_free(p);
}

T_TEST(page_keeps_hostile_names_in)
{
	struct prof *p = hostile_profile();
	struct graph_query q = {0};
	struct html_opts o = {.title = hostile[1],
			      .subtitle = hostile[0],
			      .notes = hostile,
			      .nnotes = sizeof hostile / sizeof *hostile};
	struct buf b = {0};

	html_page(&b, p, &q, NULL, NULL, &o);
	T_EQ(count(b.data, "<script"), 2);
	T_EQ(count(b.data, "</script"), 2);
	T_EQ(count(b.data, "<!--"), 0);
	T_EQ(count(b.data, "<img"), 0);
	T_EQ(count(b.data, "http:") + count(b.data, "https:"), 0);
	T_EQ(count(b.data, "default-src 'none'; script-src 'sha256-"), 1);
	T_EQ(count(b.data, "@DATA@@JS@"), count(b.data, "\"@DATA@@JS@"));
	T_CHECK(is_plain(&b));
	buf_done(&b);
	prof_free(p);
}

T_TEST(empty_profiles_are_drawn)
{
	struct prof *p = prof_new();
	struct graph_query q = {.no_edges = true};
	struct buf b = {0};
	struct graph g;

	tp_process(p, "/bin/x", 7, 1);
	graph_init(&g, p, &q, NULL, NULL);
	flame_svg(&b, &g, NULL);
	T_EQ(count(b.data, "</svg>"), 1);
	buf_clear(&b);
	html_page(&b, p, &q, NULL, NULL, NULL);
	T_EQ(count(b.data, "</html>"), 1);
	buf_done(&b);
	graph_done(&g);
	prof_free(p);
}

T_MAIN()
