/* SPDX-License-Identifier: MIT */
/* test_tagframes.c -- labels as frames: where they stand, what they read, what goes
 * before them. */
#include "tool/analyze/graph/tagframes.h"

#include "t.h"
#include "t_prof.h"
#include "tool/analyze/graph/graph.h"
#include "tool/util/buf.h"

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

/* The stack of a site, outermost first: "a;b;c". Good until the next call. */
static const char *
stack(const struct prof *p, uint32_t site)
{
	static char text[512];
	const char *names[32];
	unsigned n = 0;
	size_t at = 0;

	for (uint32_t node = p->sites[site].node; node != 0;
	     node = p->nodes[node].parent) {
		const struct prof_loc *l = &p->locs[p->nodes[node].loc];

		for (uint32_t i = 0; i < l->nframes; i++)
			names[n++] = prof_text(p, p->frames[l->frames + i].function);
	}
	while (n-- > 0)
		at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", names[n],
				       n > 0 ? ";" : "");
	return text;
}

/* Two stacks with labels and one without. */
static struct prof *
make(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr, TP_STACK(p, "f x.c:1 prog", "main x.c:9 prog"), 1, 0, 3, 0);
	tp_site(p, pr, TP_STACK(p, "f x.c:1 prog", "main x.c:9 prog"), 1, 0, 5, 0);
	tp_site(p, pr, TP_STACK(p, "g x.c:2 prog", "main x.c:9 prog"), 1, 0, 7, 0);
	label(p, 1, "kind", "fast", 0, NULL);
	label(p, 1, "bytes", NULL, 4096, "bytes");
	label(p, 2, "kind", "slow", 0, NULL);
	label(p, 2, "kind", "new", 0, NULL);
	label(p, 2, "wait", NULL, 30, "ms");
	label(p, 2, "n", NULL, -7, NULL);
	return p;
}

T_TEST(root_and_leaf)
{
	struct prof *p = make();
	struct tagframes t = {.root = "kind,bytes", .leaf = "n,wait"};

	T_EQ(tagframes_add(p, &t), 0);
	T_STR(stack(p, 1), "kind=fast;bytes=4.00 KiB;main;f;(no n);(no wait)");
	T_STR(stack(p, 2), "kind=slow,new;(no bytes);main;f;n=-7;wait=30 ms");
	T_STR(stack(p, 3), "(no kind);(no bytes);main;g;(no n);(no wait)");
	prof_free(p);
}

T_TEST(nothing_asked_for_or_met)
{
	struct prof *p = make();
	struct tagframes none = {.root = "", .leaf = ",,"};
	struct tagframes absent = {.root = "nosuch", .leaf = "kind,nosuch"};
	uint32_t nodes = p->nnodes;

	T_EQ(tagframes_add(p, &none), 0);
	T_EQ(p->nnodes, nodes);
	T_EQ(tagframes_add(p, &absent), TAGFRAMES_NO_ROOT);
	T_STR(stack(p, 3), "(no nosuch);main;g;(no kind);(no nosuch)");
	prof_free(p);
}

static void
bare(struct buf *out, const struct prof *p, const struct prof_label *l)
{
	buf_add_str(out, l->text != 0 ? prof_text(p, l->text) : "number");
}

/* pprof's way: the value, a file that is the key, and no name at all. */
T_TEST(values_alone)
{
	struct prof *p = make();
	struct tagframes t = {.root = "kind", .text = bare};
	struct graph_query q = {.merge_names = true, .grain = GRAPH_FILEFUNCTIONS};
	struct graph g;
	double nameless = 0;

	T_EQ(tagframes_add(p, &t), 0);
	T_STR(stack(p, 1), "fast;main;f");
	T_STR(stack(p, 3), ";main;g");
	graph_init(&g, p, &q, NULL, NULL);
	for (uint32_t i = 1; i < g.nentries; i++) {
		if (g.entries[i].function == 0) {
			T_STR(graph_text(&g, g.entries[i].file), "kind");
			T_CHECK(!g.entries[i].no_name);
			nameless += g.entries[i].cum;
		}
	}
	T_EQ(nameless, 7);
	graph_done(&g);
	prof_free(p);
}

/* What is skipped would be in the middle afterwards: the allocator's frames and start
 * code. */
T_TEST(skipped_frames_go_first)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct tagframes t = {.root = "kind", .leaf = "kind"};
	struct skip *s;

	tp_site(p, pr,
		TP_STACK(p, "malloc - libc.so.6", "f x.c:1 prog", "main x.c:9 prog",
			 "__libc_start_main - libc.so.6", "_start - prog"),
		1, 0, 3, 0);
	label(p, 1, "kind", "fast", 0, NULL);
	s = skip_new(p, NULL);
	t.skip = s;
	T_EQ(tagframes_add(p, &t), 0);
	T_STR(stack(p, 1), "kind=fast;main;f;kind=fast");
	skip_free(s);
	prof_free(p);
}

/* The same for what a profile asks to drop, which ends a stack but for its outermost
 * frames. */
T_TEST(dropped_frames_go_first)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct tagframes t = {.root = "kind", .leaf = "kind", .drop = true};

	tp_site(p, pr,
		TP_STACK(p, "inner x.c:3 prog", "drop1 x.c:2 prog", "f x.c:1 prog",
			 "drop2 x.c:9 prog"),
		1, 0, 3, 0);
	p->drop_frames = prof_str(p, "drop.*");
	label(p, 1, "kind", "fast", 0, NULL);
	T_EQ(tagframes_add(p, &t), 0);
	T_STR(stack(p, 1), "kind=fast;drop2;f;kind=fast");
	T_EQ(p->drop_frames, 0);
	prof_free(p);
}

/* Words are the same in every profile, so two that are merged afterwards share their
 * frames. */
T_TEST(the_same_in_two_profiles)
{
	struct prof *a = make(), *b = prof_new(), *both = prof_new();
	uint32_t pr;
	struct tagframes t = {.root = "kind"};

	prof_str(b, "unrelated");
	pr = tp_process(b, "/opt/prog", 12, 10);
	tp_site(b, pr, TP_STACK(b, "f x.c:1 prog", "main x.c:9 prog"), 1, 0, 11, 0);
	label(b, 1, "kind", "fast", 0, NULL);
	tagframes_add(a, &t);
	tagframes_add(b, &t);
	prof_merge(both, a);
	prof_merge(both, b);
	T_EQ(both->nsites, 5);
	T_EQ(both->sites[4].node, both->sites[1].node);
	T_CHECK(both->sites[2].node != both->sites[1].node);
	prof_free(a);
	prof_free(b);
	prof_free(both);
}

T_MAIN()
