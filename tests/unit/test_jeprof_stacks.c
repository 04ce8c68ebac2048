/* SPDX-License-Identifier: MIT */
/* Tests of src/tool/compat/jeprof/jeprof_{frames,stacks}.c: what jeprof shows of stacks,
 * summed by graph.h under names of the caller's. */
#include "tool/compat/jeprof/jeprof_frames.h"

#include "t.h"
#include "t_prof.h"
#include "tool/util/re.h"

/* "name flat cum" of every entry, largest cum first, and the total behind. */
static const char *
table(const struct jeprof_stacks *s)
{
	static struct buf b;
	uint32_t *rank = calloc(s->g.nentries, sizeof *rank);

	buf_clear(&b);
	graph_rank(&s->g, GRAPH_BY_CUM | GRAPH_SIGNED, rank);
	for (uint32_t i = 0; i + 1 < s->g.nentries; i++)
		buf_printf(&b, "%s %.0f %.0f, ", jeprof_text(s, rank[i]),
			   s->g.entries[rank[i]].flat, s->g.entries[rank[i]].cum);
	buf_printf(&b, "of %.0f", s->g.unfiltered);
	free(rank);
	return buf_str(&b);
}

static const char *
rows(const struct prof *p, uint32_t nsites, bool drop_negative,
     const struct jeprof_rules *o)
{
	double *figures = jeprof_figures(p, nsites, PROF_LIVE, false, drop_negative);
	struct jeprof_frames f;
	struct jeprof_stacks s;
	const char *text;

	jeprof_frames_init(&f, p, o);
	jeprof_stacks_init(&s, &f, figures, NULL);
	text = table(&s);
	jeprof_stacks_done(&s);
	jeprof_frames_done(&f);
	free(figures);
	return text;
}

/* malloc in the middle of a stack, as of an allocator that calls back. */
static struct prof *
program(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);

	tp_site(p, pr,
		TP_STACK(p, "malloc m.c:1 prog", "a x.c:1 prog", "main x.c:9 prog"), 1, 0,
		7, 0);
	tp_site(p, pr,
		TP_STACK(p, "hook x.c:5 prog", "malloc m.c:1 prog", "b x.c:2 prog",
			 "main x.c:9 prog"),
		1, 0, 11, 0);
	tp_site(p, pr, TP_STACK(p, "a x.c:1 prog", "a x.c:1 prog", "main x.c:9 prog"), 1,
		0, 13, 0);
	tp_site(p, pr, TP_STACK(p, "a x.c:1 prog", "malloc m.c:1 prog"), 1, 0, 17, 0);
	return p;
}

T_TEST(stacks_end_at_the_allocator)
{
	struct jeprof_rules o = {0};
	struct prof *p = program();

	T_STR(rows(p, p->nsites, false, &o), "main 0 31, a 20 20, b 11 11, of 48");
	o.google = true;
	T_STR(rows(p, p->nsites, false, &o),
	      "a 37 37, main 0 31, b 0 11, hook 11 11, of 48");
	o.grain = JEPROF_LINES;
	T_STR(rows(p, p->nsites, false, &o),
	      "a x.c:1 37 37, main x.c:9 0 31, b x.c:2 0 11, hook x.c:5 11 11, of 48");
	prof_free(p);
}

T_TEST(frames_that_are_left_out)
{
	struct jeprof_rules o = {0};
	struct prof *p = program();
	struct re *a = NULL, *b = NULL;
	struct err e = {0};

	T_EQ(re_new("^a$", &a, &e), 0);
	T_EQ(re_new("^b$", &b, &e), 0);
	o.exclude = a;
	T_STR(rows(p, p->nsites, false, &o), "main 20 31, b 11 11, of 48");
	o.focus = b;
	T_STR(rows(p, p->nsites, false, &o), "b 11 11, main 0 11, of 48");
	o = (struct jeprof_rules){.ignore = b};
	T_STR(rows(p, p->nsites, false, &o), "a 20 20, main 0 20, of 48");
	o = (struct jeprof_rules){.retain = a};
	T_STR(rows(p, p->nsites, false, &o), "a 20 20, of 48");
	re_free(a);
	re_free(b);
	prof_free(p);
}

T_TEST(a_base_is_taken_off_stack_by_stack)
{
	struct jeprof_rules o = {0};
	struct prof *p = program(), *base = prof_new();
	uint32_t nsites = p->nsites, pr = tp_process(base, "/opt/prog", 12, 10);

	tp_site(base, pr,
		TP_STACK(base, "malloc m.c:1 prog", "a x.c:1 prog", "main x.c:9 prog"), 1,
		0, 2, 0);
	tp_site(base, pr,
		TP_STACK(base, "hook x.c:5 prog", "malloc m.c:1 prog", "b x.c:2 prog",
			 "main x.c:9 prog"),
		1, 0, 14, 0);
	prof_merge(p, base);
	T_STR(rows(p, nsites, false, &o), "a 18 18, main 0 15, b -3 -3, of 32");
	T_STR(rows(p, nsites, true, &o), "a 18 18, main 0 18, of 35");
	prof_free(base);
	prof_free(p);
}

T_TEST(stacks_in_the_order_of_the_profile)
{
	struct jeprof_rules o = {0};
	struct prof *p = program();
	double *figures = jeprof_figures(p, p->nsites, PROF_LIVE, false, false);
	struct jeprof_frames f;
	struct jeprof_stacks s;
	uint32_t *number;

	jeprof_frames_init(&f, p, &o);
	jeprof_stacks_init(&s, &f, figures, NULL);
	number = jeprof_number(&s);
	T_EQ(s.list.len, 3); /* of one stack nothing is left */
	T_EQ(s.list.data[0].value, 7);
	T_EQ(s.list.data[1].value, 11);
	T_EQ(s.list.data[2].value, 13);
	T_STR(jeprof_text(&s, s.g.nodes[s.list.data[1].node].entry), "b");
	T_EQ(number[s.g.nodes[s.list.data[0].node].entry], 1);
	T_EQ(number[s.g.nodes[s.list.data[1].node].entry], 3);
	free(number);
	jeprof_stacks_done(&s);
	jeprof_frames_done(&f);
	free(figures);
	prof_free(p);
}

T_MAIN()
