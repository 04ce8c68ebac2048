/* SPDX-License-Identifier: MIT */
/* test_growth_places.c -- growth of every place of a profile, and in reports: figures by
 * hand. */
#include "t.h"

#include <math.h>

#include "t_prof.h"
#include "tool/analyze/diff/diff.h"
#include "tool/analyze/growth/growth_places.h"
#include "tool/analyze/verdict/verdict.h"
#include "tool/render/report/report.h"
#include "tool/util/buf.h"

#define NEAR(a, b) T_CHECK(fabs((a) - (double)(b)) <= 1e-6 * (fabs((double)(b)) + 1))

static void
look(struct prof *p, uint32_t process, uint64_t ms)
{
	uint32_t row = prof_add_look(p);

	p->looks[row] =
		(struct prof_look){.process = process, .rows = p->nlook_rows, .ms = ms};
}

static void
look_row(struct prof *p, uint32_t site, int64_t allocs, int64_t bytes, int64_t frees,
	 int64_t freed)
{
	uint32_t row = prof_add_look_row(p);

	p->look_rows[row] = (struct prof_look_row){.site = site,
						   .allocs = allocs,
						   .alloc_bytes = bytes,
						   .frees = frees,
						   .free_bytes = freed};
	p->looks[p->nlooks - 1].nrows++;
}

static void
born(struct prof *p, uint32_t site, uint32_t ms, uint64_t bytes)
{
	uint32_t row = prof_add_block(p);

	p->blocks[row] = (struct prof_block){.site = site,
					     .ms = ms,
					     .bytes = bytes,
					     .process = p->sites[site].process};
}

static void
judge_places(const struct prof *p, struct growth_places *g, struct sites *ss)
{
	struct skip *s = skip_new(p, NULL);
	struct sites_query q = {0};

	sites_init(ss, p, s, &q);
	growth_places_init(g, p, ss);
	skip_free(s);
}

/* Two processes: in one a place leaks and one is steady, in the other the first leaks
 * faster. */
T_TEST(places_of_two_processes)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 13000), b = tp_process(p, "b", 13, 6500);
	uint32_t node = TP_STACK(p, "leak x.c:3 x", "main x.c:9 x");
	struct growth_places g;
	struct verdict v;
	struct sites ss;

	tp_site(p, a, node, 26, 0, 2600, 0);
	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50000, 0);
	tp_site(p, b, node, 39, 0, 3900, 0);
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, a, 1000 * i);
		look_row(p, 1, 2, 200, 0, 0);
		if (i == 1)
			look_row(p, 2, 5, 50000, 0, 0);
	}
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, b, 500 * i);
		look_row(p, 3, 3, 300, 0, 0);
	}
	for (uint32_t i = 0; i < 26; i++)
		born(p, 1, 40 + 500 * i, 100);
	for (uint32_t i = 0; i < 39; i++)
		born(p, 3, 50 + 160 * i, 100);
	judge_places(p, &g, &ss);
	T_EQ(g.word, GROWTH_GROWING);
	T_EQ(g.count[GROWTH_GROWING], 1);
	T_EQ(g.count[GROWTH_STEADY], 1);
	T_EQ(g.nranked, 1);
	T_EQ(g.ranked[0], 1); /* the smaller place */
	T_EQ(g.rows[1].processes, 2);
	T_EQ(g.rows[1].process, b); /* grows faster there */
	NEAR(g.rows[1].slope, 200 + 600);
	NEAR(g.slope, 800);
	T_EQ(g.rows[1].v.why, GROWTH_WHY_NEVER_FREED);
	T_EQ(g.rows[1].v.intervals, 10);
	T_EQ(g.rows[1].v.samples, 36);
	T_EQ(g.rows[1].v.oldest_ms, 6450);
	T_EQ(g.rows[0].v.word, GROWTH_STEADY);
	T_EQ(g.nparts, 2); /* one for each process */
	T_EQ(g.parts[0].process, a);
	T_EQ(g.parts[1].process, b);
	T_EQ(g.parts[0].row, 1);
	T_EQ(g.parts[1].row, 1);
	NEAR(g.parts[0].slope + g.parts[1].slope, g.slope);
	T_EQ(g.ms, 13000);
	T_EQ(g.intervals, 13);
	T_EQ(g.rate_bytes, 0);
	T_CHECK(growth_places_judged(&g));
	/* Both grow, so both are behind the headline. */
	p->processes[a].end = p->processes[b].end = PROF_END_RUNNING;
	verdict_init(&v, p, &ss, NULL, NULL, &g, &ss);
	T_EQ(v.all.answer.word, VERDICT_GROWING);
	T_EQ(v.each[a].answer.word, VERDICT_GROWING);
	T_EQ(v.each[b].answer.word, VERDICT_GROWING);
	T_EQ(v.nfound, 2);
	verdict_done(&v);
	growth_places_done(&g);
	sites_done(&ss);
	prof_free(p);
}

/* Rows of looks that name a site of another process, or two looks that share rows:
 * neither counts twice. */
T_TEST(places_of_bent_looks)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 3000), b = tp_process(p, "b", 13, 3000);
	struct growth_places g;
	struct sites ss;

	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50, 0);
	look(p, b, 1000);
	look_row(p, 1, 5, 50, 0, 0);
	look(p, a, 1000);
	look_row(p, 1, 5, 50, 0, 0);
	look(p, a, 2000);
	p->looks[2].rows = 1;
	p->looks[2].nrows = 1;
	judge_places(p, &g, &ss);
	T_EQ(g.rows[0].v.word, GROWTH_UNKNOWN);
	NEAR(g.rows[0].slope, 0);
	growth_places_done(&g);
	sites_done(&ss);
	prof_free(p);
}

/* Without snapshots the births of live blocks tell, if there was time enough: one site
 * keeps all, one only what it made at the start, one keeps one block in ten. */
T_TEST(births)
{
	for (unsigned ms = 2000; ms <= 4000; ms += 2000) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, ms);
		struct growth_places g;
		struct sites ss;

		tp_site(p, a, TP_STACK(p, "keep x.c:3 x", "main x.c:9 x"), 40, 0, 4000,
			0);
		tp_site(p, a, TP_STACK(p, "start x.c:4 x", "main x.c:9 x"), 40, 0, 5000,
			0);
		tp_site(p, a, TP_STACK(p, "lose x.c:5 x", "main x.c:9 x"), 400, 360,
			48000, 43200);
		tp_lives(p, p->nsites - 1, 4, 360); /* 8 to 16 ms */
		for (uint32_t i = 0; i < 40; i++) {
			born(p, 1, i * ms / 40 + 5, 100);
			born(p, 2, i, 125);
			born(p, 3, i * ms / 40 + 5, 120);
		}
		judge_places(p, &g, &ss);
		T_EQ(g.count[GROWTH_LEAK], ms == 4000);
		T_EQ(g.count[GROWTH_GROWING], ms == 4000);
		T_EQ(g.count[GROWTH_UNKNOWN], ms == 4000 ? 1 : 3);
		if (ms == 4000) {
			const struct growth_place *x = &g.rows[g.ranked[0]];

			T_EQ(p->sites[3].node, ss.rows[g.ranked[0]].node);
			T_EQ(x->v.mature_ms, 16);
			NEAR(x->slope, 4800 / 3.984); /* up to 16 ms ago */
			T_EQ(x->v.oldest_ms, 3995);
			T_EQ(p->sites[1].node, ss.rows[g.ranked[1]].node);
			NEAR(g.rows[g.ranked[1]].slope, 4000 / 4.0);
		}
		T_CHECK(!growth_places_judged(&g));
		T_EQ(g.why, GROWTH_WHY_SHORT);
		T_EQ(g.ms, ms);
		T_EQ(g.intervals, 0);
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Five of six blocks are freed at once, every sixth never: it is the old ones that leak.
 * If one in ten of those that got old is freed, it is none. */
T_TEST(rare_path)
{
	for (unsigned freed_old = 0; freed_old <= 5; freed_old += 5) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 4100);
		struct growth_places g;
		struct sites ss;

		tp_site(p, a, TP_STACK(p, "leak x.c:3 x", "main x.c:9 x"), 246, 205,
			24600, 20500);
		tp_lives(p, 1, 0, 205 - freed_old);
		tp_lives(p, 1, 12, freed_old); /* 2 s and older */
		for (uint32_t i = 0; i < 41; i++) {
			look(p, a, 100 * i + 50);
			look_row(p, 1, 6, 600, 5, 500);
			born(p, 1, 100 * i + 20, 100);
		}
		judge_places(p, &g, &ss);
		T_EQ(g.rows[0].v.word, freed_old == 0 ? GROWTH_LEAK : GROWTH_GROWING);
		T_EQ(g.rows[0].v.why,
		     freed_old == 0 ? GROWTH_WHY_NONE : GROWTH_WHY_FREED);
		T_EQ(g.rows[0].v.mature_ms, freed_old == 0 ? 1 : 0);
		T_EQ(g.rows[0].v.mature_live, freed_old == 0 ? 41 : 0);
		T_EQ(lround(g.rows[0].slope / 10),
		     100); /* the end is off by half a look */
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Freed when exit began, or not: a growth word only if it grew while it ran. */
T_TEST(freed_by_exit)
{
	static const struct {
		int64_t left;
		enum growth_word word;
		enum growth_why why;
	} rows[] = {{0, GROWTH_GROWING, GROWTH_WHY_FREED_AT_EXIT},
		    {119999, GROWTH_GROWING, GROWTH_WHY_FREED_AT_EXIT},
		    {120001, GROWTH_GROWING, GROWTH_WHY_NEVER_FREED}};

	for (unsigned i = 0; i < 3; i++) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 12500);
		struct growth_places g;
		struct prof_site *s;
		struct sites ss;

		s = tp_site(p, a, TP_STACK(p, "hold x.c:3 x", "main x.c:9 x"), 24, 24,
			    2400000, 2400000);
		s->at_exit_blocks = 24;
		s->at_exit_bytes = 2400000;
		s->live_bytes = rows[i].left;
		s->live_blocks = rows[i].left > 0 ? 24 : 0;
		s->frees = rows[i].left > 120000 ? 0 : 24;
		p->processes[a].exit_ms = 12400;
		for (uint64_t k = 1; k <= 12; k++) {
			look(p, a, 1000 * k);
			look_row(p, 1, 2, 200000, 0, 0);
		}
		for (uint32_t k = 0; k < 24 && rows[i].left > 0; k++)
			born(p, 1, 500 * k + 20, 5000);
		judge_places(p, &g, &ss);
		T_EQ(g.word, rows[i].word);
		T_EQ(g.rows[0].v.why, rows[i].why);
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Two sites that rise by 40 KiB until exit are worth a word together, one is not. */
T_TEST(freed_by_exit_in_all)
{
	for (uint32_t sites = 1; sites <= 2; sites++) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 12500);
		struct growth_places g;
		struct sites ss;

		p->processes[a].exit_ms = 12400;
		for (uint32_t i = 0; i < sites; i++)
			tp_site(p, a,
				i == 0 ? TP_STACK(p, "one x.c:3 x", "main x.c:9 x")
				       : TP_STACK(p, "two x.c:4 x", "main x.c:9 x"),
				24, 24, 49152, 49152)
				->at_exit_bytes = 49152;
		for (uint64_t k = 1; k <= 12; k++) {
			look(p, a, 1000 * k);
			for (uint32_t i = 0; i < sites; i++)
				look_row(p, 1 + i, 2, 4096, 0, 0);
		}
		judge_places(p, &g, &ss);
		T_EQ(g.count[GROWTH_GROWING], sites == 2 ? 2 : 0);
		T_EQ(g.count[GROWTH_OK], sites == 2 ? 0 : 1);
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Nine samples of a process say nothing. */
T_TEST(few_samples)
{
	for (uint64_t samples = 9; samples <= 10; samples++) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 13000);
		struct growth_places g;
		struct prof_site *s;
		struct sites ss;

		p->processes[a].mode = PROF_SAMPLED;
		p->processes[a].rate_bytes = 32768;
		s = tp_site(p, a, TP_STACK(p, "start x.c:3 x", "main x.c:9 x"), 900, 0,
			    90000, 0);
		s->samples = s->live_samples = samples;
		for (uint64_t i = 1; i <= 12; i++)
			look(p, a, 1000 * i);
		judge_places(p, &g, &ss);
		T_EQ(g.rows[0].v.word, samples == 9 ? GROWTH_UNKNOWN : GROWTH_STEADY);
		T_EQ(g.rows[0].v.why, samples == 9 ? GROWTH_WHY_FEW : GROWTH_WHY_NONE);
		T_EQ(growth_places_judged(&g), samples == 10);
		T_EQ(g.why, samples == 9 ? GROWTH_WHY_FEW : GROWTH_WHY_NONE);
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* A process that is asked while it runs, without snapshots: flat only if the end of its
 * timeline is not above the middle by more than chance explains. Of few samples two more
 * are chance, of many points a step at the end is not. */
T_TEST(live_without_snapshots)
{
	static const struct {
		int64_t middle, end; /* samples of 32 KiB that are live */
		bool sampled, judged, rose;
	} rows[] = {
		{20, 20, true, true, false},	{20, 22, true, true, false},
		{20, 40, true, false, true},	{3, 20, true, false, true},
		{20, 20, false, true, false},	{20, 22, false, false, true},
		{200, 205, false, true, false},
	};

	for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 20000);
		int64_t end = rows[i].end, rate = 32768;
		struct growth_places g;
		struct prof_site *s;
		struct sites ss;

		p->processes[a].end = PROF_END_RUNNING;
		p->processes[a].exit_ms = 0;
		p->processes[a].mode = rows[i].sampled ? PROF_SAMPLED : PROF_EXACT;
		p->processes[a].rate_bytes = rows[i].sampled ? (uint64_t)rate : 0;
		s = tp_site(p, a, TP_STACK(p, "hold x.c:3 x", "main x.c:9 x"),
			    (uint64_t)end, 0, (uint64_t)(end * rate), 0);
		s->samples = s->live_samples = rows[i].sampled ? (uint64_t)end : 0;
		s->var_live_bytes =
			rows[i].sampled ? (double)(end * rate) * (double)rate : 0;
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t row = prof_add_point(p);

			p->points[row] = (struct prof_point){
				.process = a,
				.ms = k == 0   ? 0
				      : k == 1 ? 14000
					       : 20000,
				.live_bytes = (k == 0 ? rows[i].middle : end) * rate};
		}
		for (int64_t k = 0; k < end; k++)
			born(p, 1, k < rows[i].middle ? 1 : 14000, (uint64_t)rate);
		judge_places(p, &g, &ss);
		T_EQ(g.rose, rows[i].rose);
		T_EQ(growth_places_judged(&g), rows[i].judged);
		growth_places_done(&g);
		sites_done(&ss);
		prof_free(p);
	}
}

/* Three places that all grew by 24 blocks from one recording to the next and freed none.
 * While the second ran, one grew all the time, one was full early on, and one was not
 * looked at. */
T_TEST(marks_of_a_diff)
{
	static const char *const marks[] = {"GROWING", "", "GROWING"};
	struct prof *p[2];
	struct skip *s[2];
	struct diff_query q = {0};
	struct diff d;

	for (unsigned side = 0; side < 2; side++) {
		uint32_t a, b;

		p[side] = prof_new();
		a = tp_process(p[side], "a", 11, 13000);
		b = tp_process(p[side], "b", 13, 13000);
		tp_site(p[side], a, TP_STACK(p[side], "leak x.c:3 x", "main x.c:9 x"),
			2 + 24 * side, 0, 300 * (2 + 24 * side), 0);
		tp_site(p[side], a, TP_STACK(p[side], "fill x.c:4 x", "main x.c:9 x"),
			2 + 24 * side, 0, 200 * (2 + 24 * side), 0);
		tp_site(p[side], b, TP_STACK(p[side], "other x.c:5 x", "main x.c:9 x"),
			2 + 24 * side, 0, 100 * (2 + 24 * side), 0);
	}
	for (uint64_t i = 1; i <= 12; i++) {
		look(p[1], 1, 1000 * i);
		look_row(p[1], 1, 2, 600, 0, 0);
		if (i <= 4)
			look_row(p[1], 2, i == 1 ? 8 : 6, i == 1 ? 1600 : 1200, 0, 0);
	}
	for (unsigned side = 0; side < 2; side++)
		q.side[side].skip = s[side] = skip_new(p[side], NULL);
	for (uint32_t i = 0; i < 26; i++)
		born(p[1], 1, i * 500, 300);
	for (uint32_t i = 0; i < 26; i++)
		born(p[1], 2, i * 150, 200);
	diff_init(&d, p[0], p[1], &q);
	T_EQ(d.nplaces, 3);
	for (unsigned i = 0; i < 3; i++)
		T_STR(diff_mark_name(d.places[i].mark), marks[i]);
	T_EQ(d.places[0].growth, GROWTH_GROWING);
	T_EQ(d.places[1].growth, GROWTH_STEADY);
	T_EQ(d.places[2].growth, GROWTH_UNKNOWN);
	diff_done(&d);
	for (unsigned side = 0; side < 2; side++) {
		skip_free(s[side]);
		prof_free(p[side]);
	}
}

/* ---- reports ---- */

/* A site that holds five blocks, and one that loses two of twelve each second. */
static struct prof *
leaking(enum prof_end end)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "/opt/a", 11, 13000);

	p->processes[a].end = end;
	p->processes[a].status = end == PROF_END_SIGNAL ? 15 : 0;
	if (end != PROF_END_EXITED)
		p->processes[a].exit_ms = 0;
	tp_site(p, a, TP_STACK(p, "keep x.c:5 x", "main x.c:9 x"), 5, 0, 50000, 0);
	tp_site(p, a, TP_STACK(p, "leak x.c:3 x", "main x.c:9 x"), 156, 130, 159744,
		133120);
	tp_lives(p, p->nsites - 1, 9, 130);
	for (uint64_t i = 1; i <= 12; i++) {
		look(p, a, 1000 * i);
		look_row(p, 2, 12, 12288, 10, 10240);
		if (i == 1)
			look_row(p, 1, 5, 50000, 0, 0);
	}
	for (uint32_t i = 0; i < 26; i++)
		born(p, 2, 500 * i, 1024);
	return p;
}

/* The first lines of a report. */
static void
expect_report(const struct prof *p, const struct report_opts *o, const char *lines)
{
	struct buf b = {0};

	report_text(&b, p, o);
	buf_add_char(&b, '\0');
	if (strncmp(b.data, lines, strlen(lines)) != 0)
		T_STR(b.data, lines);
	buf_done(&b);
}

#define LEAK_LINES                                                                       \
	"LEAK likely  1 site: +120 \xc2\xb1 24 KiB/min\n"                                \
	"a leak of fewer than 20 blocks would not show in 13 s\n"                        \
	" 1  +120 \xc2\xb1 24 KiB/min   LEAK likely   live 26.0 KiB in 26 blocks\n"      \
	"    most blocks are freed within 0.51 s; of 25 blocks that lived longer than "  \
	"0.51 s none was freed (oldest: 13 s)\n"                                         \
	"    leak   x.c:3\n"                                                             \
	"    main   x.c:9\n"                                                             \
	"other live memory, largest first:\n"

T_TEST(text_reports)
{
	struct prof *p = leaking(PROF_END_EXITED);
	struct report_opts o = {.rows = 1};

	expect_report(p, &o,
		      LEAK_LINES " 1  48.8 KiB  65 %   5 blocks, 0 freed\n"
				 "    keep   x.c:5\n"
				 "    main   x.c:9\n"
				 "exited 0 after 13 s");
	prof_free(p);
	p = leaking(PROF_END_SIGNAL);
	expect_report(
		p, &o,
		"KILLED  by SIGTERM: 74.8 KiB in 31 blocks live, 65 % from keep x.c:5\n" LEAK_LINES
		" 1  48.8 KiB");
	/* the same without the leak */
	p->nsites = 2;
	p->nblocks = 0;
	expect_report(p, &o,
		      "KILLED  by SIGTERM: 48.8 KiB in 5 blocks live, 100 % from keep "
		      "x.c:5\n"
		      " 1  48.8 KiB  100 %   5 blocks, 0 freed\n"
		      "    keep   x.c:5\n"
		      "    main   x.c:9\n"
		      "killed by SIGTERM after 13 s");
	p->processes[1].end = PROF_END_UNKNOWN;
	expect_report(
		p, &o,
		"NO VERDICT  48.8 KiB in 5 blocks at 1 site not freed; no leak check: the "
		"process was gone before its memory could be searched\n"
		" 1  48.8 KiB  100 %   5 blocks, 0 freed\n"
		"    keep   x.c:5\n"
		"    main   x.c:9\n"
		"ended (how is unknown: seep did not wait for it) after 13 s");
	p->processes[1].end = PROF_END_RUNNING;
	expect_report(p, &o,
		      "STEADY  live 48.8 KiB in 5 blocks at 1 site; a leak of fewer than "
		      "20 blocks would not show in 13 s\n");
	/* and with too few looks to say anything */
	p->nlooks = 5;
	expect_report(p, &o,
		      "NO VERDICT  live 48.8 KiB in 5 blocks at 1 site; too early to "
		      "judge growth; what is lost already: seep leaks 11\n");
	prof_free(p);
}

/* Sampled, and nothing is left: one limit is stated, that of the samples. */
T_TEST(one_limit)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 13000);
	struct prof_site *s = tp_site(p, a, TP_STACK(p, "use x.c:3 x", "main x.c:9 x"),
				      120, 120, 120000, 120000);
	struct report_opts o = {.rows = 1};
	struct buf out = {0};

	s->samples = 120;
	p->processes[a].mode = PROF_SAMPLED;
	p->processes[a].rate_bytes = 1000;
	for (uint64_t k = 1; k <= 12; k++) {
		look(p, a, 1000 * k);
		look_row(p, 1, 10, 10000, 10, 10000);
	}
	report_text(&out, p, &o);
	T_CHECK(strstr(buf_str(&out), "a loss under 2.93 KiB may not show") != NULL);
	T_CHECK(strstr(buf_str(&out), "would not show") == NULL);
	buf_clear(&out);
	/* With something left, both say something. */
	p->sites[1].live_bytes = 5000;
	p->sites[1].live_blocks = p->sites[1].live_samples = 5;
	report_text(&out, p, &o);
	T_CHECK(strncmp(buf_str(&out), "OK  no growth; ", 15) == 0);
	T_CHECK(strstr(buf_str(&out), "would not show in 13 s") != NULL);
	buf_done(&out);
	prof_free(p);
}

static const char *
first_line(struct buf *b)
{
	char *end;

	buf_add_char(b, '\0');
	end = strchr(b->data, '\n');
	if (end != NULL)
		*end = '\0';
	return b->data;
}

/* A leak at a site that is not growing by its own figures: the share of the process's
 * growth is that of its losses. */
T_TEST(share_of_a_leak)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "a", 11, 20000), row;
	struct report_opts o = {.rows = 1};
	struct buf out = {0};

	p->processes[a].end = PROF_END_RUNNING;
	p->processes[a].exit_ms = 0;
	tp_site(p, a, TP_STACK(p, "lose x.c:3 x", "main x.c:9 x"), 12, 0, 3600000, 0);
	for (uint32_t k = 0; k < 12; k++) /* too few to call it growth */
		born(p, 1, 1600 * k, 300000);
	row = prof_add_check(p);
	p->checks[row] = (struct prof_check){.process = a, .done = true};
	row = prof_add_loss(p);
	p->losses[row] = (struct prof_loss){
		.site = 1, .kind = PROF_LOSS_DEFINITE, .blocks = 12, .bytes = 3600000};
	row = prof_add_memory(p);
	p->memories[row] = (struct prof_memory){
		.process = a, .limit_bytes = 100000000, .used_bytes = 40000000};
	for (uint32_t k = 0; k <= 20; k++) {
		row = prof_add_point(p);
		/* 225,000 bytes a second, of which 180,000 are lost */
		p->points[row] = (struct prof_point){.process = a,
						     .ms = 1000 * k,
						     .rss_kib = 4000 + k * 225000 / 1024,
						     .own_kib = 1000};
	}
	report_text(&out, p, &o);
	T_STR(first_line(&out),
	      "LEAK  3.43 MiB in 12 blocks lost at 1 site, +10.3 MiB/min; the process +12.9 MiB/min, memory "
	      "limit reached in about 4 min (80 % of the growth)");
	buf_done(&out);
	prof_free(p);
}

/* A site that only allocates, in a process that does not become larger: that is said
 * beside its rate. */
T_TEST(process_is_flat)
{
	for (uint32_t kib = 0; kib <= 200; kib += 200) {
		struct prof *p = prof_new();
		uint32_t a = tp_process(p, "a", 11, 20000), row;
		struct report_opts o = {.rows = 1};
		struct buf out = {0};

		p->processes[a].end = PROF_END_RUNNING;
		p->processes[a].exit_ms = 0;
		tp_site(p, a, TP_STACK(p, "put x.c:3 x", "main x.c:9 x"), 40, 0, 4000000,
			0);
		for (uint32_t k = 0; k < 40; k++)
			born(p, 1, 500 * k, 100000);
		for (uint32_t k = 0; k <= 20; k++) {
			row = prof_add_point(p);
			p->points[row] = (struct prof_point){
				.process = a, .ms = 1000 * k, .rss_kib = 4000 + k * kib};
		}
		report_text(&out, p, &o);
		T_EQ(strstr(buf_str(&out), "GROWING  1 site: ") != NULL, true);
		T_EQ(strstr(first_line(&out),
			    "; resident memory does not grow with it") != NULL,
		     kib == 0);
		buf_done(&out);
		prof_free(p);
	}
}

T_MAIN()
