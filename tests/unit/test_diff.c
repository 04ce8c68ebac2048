/* SPDX-License-Identifier: MIT */
/* test_diff.c -- which places of two profiles are one, what they are called, and how it
 * reads.
 *
 * Profiles are made by hand (t_prof.h); `/usr/lib/NAME` is a module without a build-id
 * unless the test gives it one. */
#include "t.h"
#include "t_prof.h"

#include "tool/analyze/diff/diff.h"
#include "tool/render/diff/diff_report.h"
#include "tool/util/file.h"

struct two {
	struct prof *p[2];
	struct skip *skip[2];
	struct diff d;
	struct buf text;
};

static void
set_build(struct prof *p, const char *module, unsigned char build)
{
	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (strcmp(file_base(prof_text(p, p->modules[i].path)), module) != 0)
			continue;
		p->modules[i].build_id_bytes = 20;
		memset(p->modules[i].build_id, build, 20);
	}
}

static void
two_init(struct two *t)
{
	memset(t, 0, sizeof *t);
	for (unsigned s = 0; s < 2; s++) {
		t->p[s] = prof_new();
		tp_process(t->p[s], "/usr/lib/prog", 100 + s, 1000);
		t->p[s]->processes[1].start_ns = 1000 + s;
		t->p[s]->columns = PROF_HAS_ALL;
	}
}

static void
two_compare(struct two *t, const struct diff_query *how)
{
	struct diff_query q = *how;
	struct diff_opts o = {.by = q.by, .bytes = true, .all = true, .frames = 8};

	diff_prepare(t->p[0], t->p[1]);
	for (unsigned s = 0; s < 2; s++) {
		t->skip[s] = skip_new(t->p[s], NULL);
		q.side[s].skip = o.skip[s] = t->skip[s];
		o.p[s] = t->p[s];
	}
	if (q.depth == 0)
		q.depth = 8;
	diff_init(&t->d, t->p[0], t->p[1], &q);
	diff_text(&t->text, &t->d, &o);
}

static void
two_done(struct two *t)
{
	diff_done(&t->d);
	buf_done(&t->text);
	for (unsigned s = 0; s < 2; s++) {
		skip_free(t->skip[s]);
		prof_free(t->p[s]);
	}
}

/* `n` blocks of `bytes` each at function:line, called from main at `from`, none freed. */
static struct prof_site *
put(struct prof *p, const char *function, unsigned line, unsigned from, uint64_t n,
    uint64_t bytes)
{
	char inner[96], outer[96];
	struct prof_site *s;

	snprintf(inner, sizeof inner, "%s a.c:%u prog", function, line);
	snprintf(outer, sizeof outer, "main a.c:%u prog", from);
	s = tp_site(p, 1, TP_STACK(p, "malloc - libseep.so", inner, outer), n, 0,
		    n * bytes, 0);
	return s;
}

/* Change in bytes of the place whose old and new figures are these; INT64_MIN: there is
 * none. */
static const struct diff_place *
find(const struct two *t, int64_t old, int64_t new)
{
	for (uint32_t i = 0; i < t->d.nplaces; i++) {
		if (t->d.places[i].value[0] == old && t->d.places[i].value[1] == new)
			return &t->d.places[i];
	}
	return NULL;
}

T_TEST(same_build_lines_do_not_move)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 12, 50, 5, 11);
	for (unsigned s = 0; s < 2; s++)
		set_build(t.p[s], "prog", 1);
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 2);
	T_CHECK(find(&t, 21, 0) != NULL && find(&t, 21, 0)->mark == DIFF_GONE);
	T_CHECK(find(&t, 0, 55) != NULL && find(&t, 0, 55)->mark == DIFF_IS_NEW);
	T_EQ(t.d.build, DIFF_BUILD_SAME);
	T_EQ(t.d.nmoved, 0);
	two_done(&t);
}

/* Lines 10 and 12 become 12 and 14: line 12 of the one is not line 12 of the other. */
T_TEST(rebuilt_lines_move_together)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[0], "f", 12, 50, 5, 11);
	put(t.p[0], "g", 20, 51, 2, 1009);
	put(t.p[1], "f", 12, 52, 3, 7);
	put(t.p[1], "f", 14, 52, 5 + 17, 11);
	put(t.p[1], "g", 22, 53, 2, 1009);
	set_build(t.p[0], "prog", 1);
	set_build(t.p[1], "prog", 2);
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 3);
	T_CHECK(find(&t, 21, 21) != NULL);
	T_CHECK(find(&t, 55, 55 + 17 * 11) != NULL);
	T_CHECK(find(&t, 2018, 2018) != NULL);
	T_EQ(t.d.places[0].beside[1] - t.d.places[0].beside[0], 17);
	T_EQ(t.d.places[0].mark, DIFF_GROWING);
	T_EQ(t.d.nmoved, 3);
	T_EQ(t.d.build, DIFF_BUILD_OTHER);
	T_CHECK(strstr(buf_str(&t.text), "3 sites matched by function and file") != NULL);
	T_CHECK(strstr(buf_str(&t.text), "rebuilt: prog") != NULL);
	two_done(&t);
}

T_TEST(rebuilt_without_a_move)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[0], "f", 12, 50, 5, 11);
	put(t.p[1], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 12, 50, 5, 11);
	put(t.p[1], "f", 14, 50, 1, 13);
	set_build(t.p[0], "prog", 1);
	set_build(t.p[1], "prog", 2);
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 3);
	T_CHECK(find(&t, 21, 21) != NULL && find(&t, 55, 55) != NULL);
	T_CHECK(find(&t, 0, 13) != NULL && find(&t, 0, 13)->mark == DIFF_IS_NEW);
	T_EQ(t.d.nmoved, 0);
	two_done(&t);
}

/* One line became two others: nothing says which of them it is. */
T_TEST(doubt_stays_apart)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 12, 50, 3, 7);
	put(t.p[1], "f", 15, 50, 3, 7);
	set_build(t.p[0], "prog", 1);
	set_build(t.p[1], "prog", 2);
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 3);
	T_EQ(t.d.nmoved, 0);
	two_done(&t);
}

/* Without build-ids: where two files name one address differently, they are of two
 * builds. */
T_TEST(builds_told_by_their_addresses)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 10, 50, 4, 7);
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.build, DIFF_BUILD_SAME);
	two_done(&t);

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 10, 50, 4, 7);
	for (uint32_t i = 0; i < t.p[1]->nframes; i++) {
		if (t.p[1]->frames[i].line == 10)
			t.p[1]->frames[i].line = 11;
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.build, DIFF_BUILD_OTHER);
	T_EQ(t.d.nplaces, 1);
	T_EQ(t.d.nmoved, 1);
	two_done(&t);
}

/* The same build, named on one side only. */
T_TEST(names_are_shared)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 3, 7);
	put(t.p[1], "f", 10, 50, 4, 7);
	for (unsigned s = 0; s < 2; s++)
		set_build(t.p[s], "prog", 9);
	for (uint32_t i = 1; i < t.p[1]->nlocs; i++) {
		if (t.p[1]->locs[i].module == t.p[1]->locs[t.p[1]->nodes[1].loc].module)
			t.p[1]->locs[i].nframes = 0;
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 1);
	T_EQ(t.d.places[0].value[1] - t.d.places[0].value[0], 7);
	T_CHECK(strstr(buf_str(&t.text), "f a.c:10") != NULL);
	two_done(&t);
}

/* Other folders on another machine: the file's own name decides. */
T_TEST(folders_differ)
{
	struct two t;

	two_init(&t);
	for (unsigned s = 0; s < 2; s++) {
		put(t.p[s], "f", 10, 50, 3 + s, 7);
		for (uint32_t i = 0; i < t.p[s]->nframes; i++) {
			if (t.p[s]->frames[i].line != 0)
				t.p[s]->frames[i].file = prof_str(
					t.p[s], s ? "/src/here/a.c" : "/build/a.c");
		}
		set_build(t.p[s], "prog", (unsigned char)(1 + s));
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 1);
	T_EQ(t.d.nmoved, 0);
	two_done(&t);
}

T_TEST(noise_is_folded)
{
	struct two t;
	struct prof_site *s;
	struct buf out = {0};
	struct diff_opts o = {0};

	two_init(&t);
	for (unsigned k = 0; k < 2; k++) {
		t.p[k]->processes[1].mode = PROF_SAMPLED;
		t.p[k]->processes[1].rate_bytes = 4096;
		s = put(t.p[k], "f", 10, 50, 1000, k ? 1100 : 1000);
		s->samples = s->live_samples = 100;
		s->var_live_bytes = s->var_alloc_bytes = 3.6e9; /* +- 60,000 */
		s = put(t.p[k], "g", 20, 51, k ? 3000 : 1000, 1000);
		s->samples = s->live_samples = 100;
		s->var_live_bytes = s->var_alloc_bytes = 3.6e9;
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.answer.word, VERDICT_GROWING);
	T_CHECK(!find(&t, 1000000, 3000000)->noise);
	T_EQ(find(&t, 1000000, 3000000)->mark, DIFF_GROWING);
	T_CHECK(find(&t, 1000000, 1100000)->noise);
	T_CHECK(find(&t, 1000000, 1100000)->var == 7.2e9);
	o.bytes = true;
	o.frames = 8;
	for (unsigned k = 0; k < 2; k++) {
		o.p[k] = t.p[k];
		o.skip[k] = t.skip[k];
	}
	diff_text(&out, &t.d, &o);
	T_CHECK(strstr(buf_str(&out), "1 more site within sampling noise, net +100,000 "
				      "\xc2\xb1 84,853 (--all)\n") != NULL);
	T_CHECK(strstr(buf_str(&out), "+2,000,000 \xc2\xb1 84,853") != NULL);
	buf_done(&out);
	two_done(&t);
}

/* In one process the blocks that stay are the same samples: only what came is
 * uncertain. */
T_TEST(one_process_shares_samples)
{
	struct two t;
	struct prof_site *s;

	two_init(&t);
	for (unsigned k = 0; k < 2; k++) {
		t.p[k]->processes[1].pid = 7;
		t.p[k]->processes[1].start_ns = 1000;
		t.p[k]->processes[1].duration_ms = 1000 + 500 * k;
		t.p[k]->processes[1].mode = PROF_SAMPLED;
		t.p[k]->processes[1].rate_bytes = 4096;
		s = put(t.p[k], "f", 10, 50, k ? 1100 : 1000, 1000);
		s->samples = s->live_samples = k ? 110 : 100;
		s->var_live_bytes = s->var_alloc_bytes = k ? 3.7e9 : 3.6e9;
	}
	two_compare(&t, &(struct diff_query){0});
	T_CHECK(t.d.same_process);
	T_CHECK(t.d.has_ms && t.d.ms == 500);
	T_CHECK(t.d.places[0].var > 0.99e8 && t.d.places[0].var < 1.01e8);
	T_CHECK(!t.d.places[0].noise);
	two_done(&t);
}

/* One process that was attached to twice: each recording counts from its attach, so less
 * on the new side is no all-clear. */
T_TEST(attached_to_twice)
{
	struct two t;

	two_init(&t);
	for (unsigned k = 0; k < 2; k++) {
		uint32_t old = prof_add_old(t.p[k]);

		t.p[k]->olds[old].process = 1;
		t.p[k]->processes[1].pid = 7;
		t.p[k]->processes[1].process_ticks = 4711;
		put(t.p[k], "f", 10, 50, k ? 530 : 910, 1000);
	}
	two_compare(&t, &(struct diff_query){0});
	T_CHECK(t.d.apart && !t.d.same_process);
	T_EQ(t.d.answer.word, VERDICT_NO_VERDICT);
	T_EQ(t.d.places[0].mark, DIFF_PLAIN);
	T_CHECK(strstr(buf_str(&t.text), "NO VERDICT  live ") != NULL);
	T_CHECK(strstr(buf_str(&t.text), " (each since its own attach); ") != NULL);
	T_CHECK(strstr(buf_str(&t.text), "seep attach PID --around COMMAND\n") != NULL);
	T_CHECK(strstr(buf_str(&t.text), ", same process") != NULL);
	two_done(&t);
}

static void
range(struct prof *p, const char *path, uint64_t start)
{
	uint32_t row = prof_add_range(p);

	p->ranges[row].process = 1;
	p->ranges[row].module = prof_module(p, path, NULL, 0);
	p->ranges[row].start = start;
	p->ranges[row].end = start + 0x1000;
}

/* Two profiles of another tool with the same maps are of one process only if something in
 * them is at an address that no other process would have. */
T_TEST(maps_that_prove_something)
{
	static const struct {
		uint64_t program, library;
		bool surely;
	} rows[] = {
		{0x400000, 0x7f1234567000, true},
		{0x55d0c0ffe000, 0, true},
		{0x400000, 0, false},
		{0x555555554000, 0x7ffff7dd0000, false}, /* no randomisation */
		{0xaaaaaaaa0000, 0xfffff7fc0000, false},
	};

	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct prof *p[2];

		for (unsigned k = 0; k < 2; k++) {
			p[k] = prof_new();
			prof_add_process(p[k]);
			p[k]->format = prof_str(p[k], "heap_v2");
			range(p[k], "/opt/prog", rows[i].program);
			if (rows[i].library != 0)
				range(p[k], "/lib/libc.so.6", rows[i].library);
		}
		T_CHECK(diff_same_process(p[0], p[1]));
		T_EQ(diff_surely_same_process(p[0], p[1]), rows[i].surely);
		p[1]->ranges[p[1]->nranges - 1].start += 0x1000;
		T_CHECK(!diff_surely_same_process(p[0], p[1]));
		prof_free(p[0]);
		prof_free(p[1]);
	}
}

T_TEST(normalized)
{
	struct two t;

	two_init(&t);
	put(t.p[0], "f", 10, 50, 100, 10);
	put(t.p[0], "g", 20, 51, 100, 30);
	put(t.p[1], "f", 10, 50, 200, 10);
	put(t.p[1], "g", 20, 51, 200, 30);
	two_compare(&t, &(struct diff_query){.normalize = true});
	T_CHECK(t.d.scale == 0.5);
	T_EQ(t.d.answer.word, VERDICT_STEADY);
	T_CHECK(find(&t, 1000, 1000) != NULL && find(&t, 3000, 3000) != NULL);
	two_done(&t);
}

/* All freed on both sides: no place at all, and none that is unchanged. */
T_TEST(freed_places_are_left_out)
{
	struct two t;
	struct prof_site *x;

	two_init(&t);
	for (unsigned s = 0; s < 2; s++) {
		put(t.p[s], "f", 10, 50, 3, 7);
		x = put(t.p[s], "g", 20, 51, 1009, 64);
		x->frees = x->allocs;
		x->free_bytes = x->alloc_bytes;
		x->live_blocks = x->live_bytes = 0;
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 1);
	two_done(&t);
	two_init(&t);
	for (unsigned s = 0; s < 2; s++) {
		x = put(t.p[s], "g", 20, 51, 1009 + s, 64);
		x->live_blocks = x->live_bytes = 0;
	}
	two_compare(&t, &(struct diff_query){.by = SITES_COUNT});
	T_EQ(t.d.nplaces, 1);
	T_EQ(t.d.value[1] - t.d.value[0], 1);
	two_done(&t);
}

/* Two places of one function and caller are told apart by the callers above. */
T_TEST(callers_are_added)
{
	struct two t;

	two_init(&t);
	for (unsigned s = 0; s < 2; s++) {
		for (unsigned k = 0; k < 2; k++)
			tp_site(t.p[s], 1,
				TP_STACK(t.p[s], "malloc - libseep.so", "f a.c:1 prog",
					 "g a.c:2 prog",
					 k ? "one a.c:3 prog" : "two a.c:4 prog",
					 "main a.c:5 prog"),
				3 + k + s, 0, 70 * (3 + k + s), 0);
	}
	two_compare(&t, &(struct diff_query){0});
	T_EQ(t.d.nplaces, 2);
	T_CHECK(strstr(buf_str(&t.text),
		       "f a.c:1 \xe2\x86\x90 g a.c:2 \xe2\x86\x90 one a.c:3\n") != NULL);
	T_CHECK(strstr(buf_str(&t.text), "g a.c:2 \xe2\x86\x90 two a.c:4\n") != NULL);
	two_done(&t);
}

/* The example of the manual page, in its units. */
T_TEST(reads_as_promised)
{
	struct diff_place places[] = {
		{.there = {true, true},
		 .value = {100873012, 151204660},
		 .beside = {1, 12289},
		 .allocs = 12289,
		 .mark = DIFF_LIKELY},
		{.there = {true, true},
		 .value = {6291456, 4823450},
		 .beside = {400, 50},
		 .allocs = 100,
		 .frees = 93},
	};
	struct diff d = {.places = places,
			 .nplaces = 2,
			 .value = {851862323, 910268825},
			 .answer = {.word = VERDICT_LEAK_LIKELY},
			 .grew = true,
			 .in_bytes = true,
			 .has_blocks = true,
			 .same_process = true,
			 .process_known = true,
			 .build = DIFF_BUILD_SAME,
			 .has_ms = true,
			 .ms = 900000,
			 .has_rss = true,
			 .rss_kib = {1069547, 1132462}};
	struct prof *p = prof_new();
	struct diff_opts o = {.p = {p, p}, .frames = 8, .target = {"a", "4711@after"}};
	struct buf out = {0};

	tp_process(p, "/opt/me/x", 4711, 20);
	diff_text(&out, &d, &o);
	T_STR(buf_str(&out),
	      "LEAK likely  live 812.4 \xe2\x86\x92 868.1 MiB (+55.7, +6.9 %) in 15 min; RSS 1.02 "
	      "\xe2\x86\x92 1.08 GiB\n"
	      "       growth  before \xe2\x86\x92 after MiB   blocks  freed\n"
	      " 1  +48.0 MiB    96.2 \xe2\x86\x92 144.2      +12,288    0 %  LEAK likely  (no stack)\n"
	      " 2   \xe2\x88\x92"
	      "1.4 MiB     6.0 \xe2\x86\x92   4.6         \xe2\x88\x92"
	      "350   93 %"
	      "               (no stack)\n"
	      "exact, same process, same build \xc2\xb7 next: seep report 4711@after\n");
	buf_done(&out);
	prof_free(p);
}

T_MAIN()
