/* SPDX-License-Identifier: MIT */
/* test_analyze.c -- grouping, skipping, choosing, coverage and verdicts, on profiles
 * whose every figure is set by hand. */
#include <errno.h>
#include <signal.h>

#include "t.h"
#include "t_prof.h"
#include "tool/analyze/process/coverage.h"
#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/verdict/verdict.h"

/* Function at `pos`, "" when it has no name. */
static const char *
name_at(const struct prof *p, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos);

	return f != NULL ? prof_text(p, f->function) : "";
}

static void
group(struct sites *ss, const struct prof *p, enum sites_by by, unsigned depth)
{
	struct skip *s = skip_new(p, NULL);
	struct sites_query q = {.by = by, .depth = depth};

	sites_init(ss, p, s, &q);
	skip_free(s);
}

T_TEST(skip_takes_both_ends)
{
	struct prof *p = prof_new();
	uint32_t node =
		TP_STACK(p, "malloc - libseep.so", "operator___new - libstdc++.so.6",
			 "<std::allocator<long>::allocate a.h:1 app",
			 "<std::vector<long>::push_back v.h:2 app", "work w.cc:3 app",
			 "operator___new - app", "main w.cc:9 app", "0x29d90 - libc.so.6",
			 "__libc_start_main_impl - libc.so.6", "_start - app");
	struct skip *s = skip_new(p, NULL);
	struct skip_stack st = {0};

	skip_stack(s, node, &st);
	T_EQ(st.len, 4);
	T_STR(name_at(p, st.data[0]), "std::vector<long>::push_back");
	T_STR(name_at(p, st.data[1]), "work");
	T_STR(name_at(p, st.data[2]), "operator new"); /* behind a gap: stays */
	T_STR(name_at(p, st.data[3]), "main");
	vec_done(&st);
	skip_free(s);
	prof_free(p);
}

T_TEST(skip_finds_the_start_of_a_stripped_program)
{
	struct prof *p = prof_new();
	uint32_t node = TP_STACK(p, "0x1156 - app", "0x11a0 - app",
				 "__libc_start_call_main - libc.so.6", "0x1081 - app");
	uint32_t sort = TP_STACK(p, "0x1300 - app", "qsort - libc.so.6", "0x11b0 - app",
				 "__libc_start_call_main - libc.so.6", "0x1081 - app");
	struct skip *s = skip_new(p, NULL);
	struct skip_stack st = {0};

	skip_stack(s, node, &st);
	T_EQ(st.len, 2);
	skip_stack(s, sort, &st);
	T_EQ(st.len, 3);
	T_STR(name_at(p, st.data[1]), "qsort");
	vec_done(&st);
	skip_free(s);
	prof_free(p);
}

T_TEST(skip_can_be_told_more_or_off)
{
	static const char *const more[] = {"xmalloc*", "libglib*"};
	struct skip_opts add = {.more = more, .nmore = 2}, off = {.off = true};
	struct prof *p = prof_new();
	uint32_t node = TP_STACK(p, "malloc - libc.so.6", "xmalloc_array x.c:4 app",
				 "g_slice_alloc - libglib-2.0.so.0", "make m.c:7 app",
				 "_start - app");
	struct skip *s = skip_new(p, NULL);
	struct skip_stack st = {0};

	T_STR(name_at(p, skip_first(s, node)), "xmalloc_array");
	skip_free(s);
	s = skip_new(p, &add);
	T_STR(name_at(p, skip_first(s, node)), "make");
	skip_free(s);
	s = skip_new(p, &off);
	skip_stack(s, node, &st);
	T_EQ(st.len, 5);
	T_STR(name_at(p, st.data[0]), "malloc");
	T_STR(name_at(p, st.data[4]), "_start");
	vec_done(&st);
	skip_free(s);
	prof_free(p);
}

T_TEST(skip_never_leaves_nothing)
{
	struct prof *p = prof_new();
	uint32_t allocator = TP_STACK(p, "malloc - libc.so.6", "calloc - libseep.so");
	uint32_t loader =
		TP_STACK(p, "malloc - libc.so.6", "_dl_new_object - ld-linux-x86-64.so.2",
			 "_dl_start_user - ld-linux-x86-64.so.2");
	struct skip *s = skip_new(p, NULL);
	struct skip_stack st = {0};

	skip_stack(s, allocator, &st);
	T_EQ(st.len, 2);
	skip_stack(s, loader, &st);
	T_EQ(st.len, 2);
	T_STR(name_at(p, st.data[0]), "_dl_new_object");
	skip_stack(s, 0, &st);
	T_EQ(st.len, 0);
	vec_done(&st);
	skip_free(s);
	prof_free(p);
}

/* Which stacks are libc's own, and which only look like it. */
T_TEST(kept_by_libc_is_a_short_list)
{
	static const struct {
		const char *module_frame;
		uint64_t bytes;
		const char *what;
	} cases[] = {
		{"_IO_file_doallocate - libc.so.6", 1024, "stdio buffer"},
		{"__GI__IO_file_doallocate filedoalloc.c:78 libc.so.6", 1024,
		 "stdio buffer"},
		{"_IO_file_doallocate io.c:3 app", 1024, NULL}, /* a namesake */
		{"_dl_allocate_tls - ld-linux-x86-64.so.2", 304, "loader"},
		{"strdup - libc.so.6", 17, NULL},
		{"__GI_setlocale - libc.so.6", 17, "locale"},
		{"getdelim - libc.so.6", 120, NULL},
		{"fopen - libc.so.6", 472, NULL},
		{"vasprintf - libc.so.6", 99, NULL},
		{"main app.c:1 app", 7, NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prof *p = prof_new();
		uint32_t pr = tp_process(p, "/bin/app", 1, 1);
		uint32_t node = TP_STACK(p, "malloc - libseep.so", cases[i].module_frame,
					 "main app.c:2 app");
		struct prof_site *site = tp_site(p, pr, node, 1, 0, cases[i].bytes, 0);
		struct skip *s = skip_new(p, NULL);

		T_STR(skip_kept_by_libc(s, site), cases[i].what);
		skip_free(s);
		prof_free(p);
	}
}

/* The pool is told by its size only when the loader ran the constructor; what libc's own
 * functions allocate for libc is libc's, through strdup or not. */
T_TEST(kept_by_libc_looks_at_callers)
{
	static const struct {
		const char *first, *second;
		uint64_t bytes;
		const char *what;
	} cases[] = {
		{"0x1234 - libstdc++.so.6", "call_init - ld-linux-x86-64.so.2", 72704,
		 "emergency pool for exceptions"},
		{"0x1234 - libstdc++.so.6", "call_init - ld-linux-x86-64.so.2", 72703,
		 NULL},
		{"0x1234 - libstdc++.so.6", "init app.c:9 app", 72704, NULL},
		{"strdup - libc.so.6", "setlocale - libc.so.6", 7, "locale"},
		{"strdup - libc.so.6", "setlocale app.c:8 app", 7, NULL},
		{"tsearch - libc.so.6", "__gconv_find_shlib - libc.so.6", 7,
		 "character sets"},
		{"__gconv_lookup_cache - libc.so.6", "__wcsmbs_load_conv - libc.so.6", 7,
		 "character sets"},
		{"__gconv_lookup_cache - libc.so.6", "iconv_open - libc.so.6", 7, NULL},
		{"__gconv_open - libc.so.6", "iconv_open - libc.so.6", 7, NULL},
		{"strdup - libc.so.6", "call_init - ld-linux-x86-64.so.2", 7, NULL},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prof *p = prof_new();
		uint32_t pr = tp_process(p, "/bin/app", 1, 1);
		uint32_t node = TP_STACK(p, "malloc - libseep.so", cases[i].first,
					 cases[i].second, "main app.c:2 app");
		struct prof_site *site = tp_site(p, pr, node, 1, 0, cases[i].bytes, 0);
		struct skip *s = skip_new(p, NULL);

		T_STR(skip_kept_by_libc(s, site), cases[i].what);
		skip_free(s);
		prof_free(p);
	}
}

T_TEST(demo_has_two_places)
{
	struct prof *p = tp_demo();
	struct sites ss;
	struct verdict v;

	group(&ss, p, SITES_LIVE, 8);
	T_EQ(ss.nrows, 2);
	T_EQ(ss.rows[0].t.live_bytes, 3235840);
	T_EQ(ss.rows[0].t.live_blocks, 80);
	T_EQ(ss.rows[1].t.live_bytes, 3194880);
	T_EQ(ss.rows[1].t.live_blocks, 40);
	T_EQ(ss.total.alloc_bytes, 6430720);
	T_EQ(ss.total.allocs, 120);
	verdict_init(&v, p, &ss, NULL, NULL, NULL, NULL);
	T_EQ(v.all.answer.word, VERDICT_NO_VERDICT);
	T_EQ(v.all.bytes, 6430720);
	T_EQ(v.all.blocks, 120);
	T_EQ(v.all.places, 2);
	T_EQ(v.peak.row, 0);
	verdict_done(&v);
	sites_done(&ss);
	prof_free(p);
}

/* Same line through different instructions, allocators and processes: one place. */
T_TEST(places_are_lines_not_addresses)
{
	struct prof *p = prof_new();
	uint32_t a = tp_process(p, "/bin/a", 11, 1), b = tp_process(p, "/bin/b", 12, 1);
	uint32_t one =
		TP_STACK(p, "malloc - libseep.so", "make m.c:5 app", "main m.c:9 app");
	uint32_t two =
		TP_STACK(p, "calloc - libseep.so", "make m.c:5 app", "main m.c:9 app");
	uint32_t loc, other;
	struct sites ss;

	/* A second location with the same text, as an unrolled loop has. */
	loc = p->nodes[p->nodes[one].parent].loc;
	other = prof_loc(p, p->locs[loc].module, 0x999999, PROF_LOC_CODE, false);
	p->locs[other].frames = p->locs[loc].frames;
	p->locs[other].nframes = p->locs[loc].nframes;
	other = prof_node(p, p->nodes[p->nodes[one].parent].parent, other);
	tp_site(p, a, one, 1, 0, 101, 0);
	tp_site(p, a, two, 1, 0, 211, 0);
	tp_site(p, b, other, 1, 0, 307, 0);
	tp_site(p, b, TP_STACK(p, "make m.c:6 app", "main m.c:9 app"), 1, 0, 13, 0);
	for (unsigned depth = 0; depth <= 8; depth += 8) {
		group(&ss, p, SITES_LIVE, depth);
		T_EQ(ss.nrows, 2);
		T_EQ(ss.rows[0].t.live_bytes, 619);
		T_EQ(ss.rows[0].stacks, 3);
		T_EQ(ss.rows[0].processes, 2);
		T_EQ(ss.rows[1].t.live_bytes, 13);
		T_EQ(ss.row_of_site[4], 1);
		T_EQ(ss.row_of_site[0], UINT32_MAX);
		sites_done(&ss);
	}
	prof_free(p);
}

T_TEST(depth_joins_what_reads_the_same)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/rec", 1, 1);
	uint32_t node = TP_STACK(p, "main r.c:1 rec");
	struct sites ss;

	for (uint64_t i = 0; i < 29; i++) {
		node = prof_node(p, node,
				 tp_loc(p, (const char *const[]){"parse r.c:7 rec"}, 1));
		tp_site(p, pr, node, 1, 0, 3, 0);
	}
	group(&ss, p, SITES_LIVE, 0);
	T_EQ(ss.nrows, 29);
	sites_done(&ss);
	group(&ss, p, SITES_LIVE, 8);
	T_EQ(ss.nrows, 8); /* 1 … 7 parses and main, or 8 parses and whatever follows */
	T_EQ(ss.rows[0].stacks, 22);
	T_EQ(ss.rows[0].t.live_bytes, 66);
	sites_done(&ss);
	prof_free(p);
}

T_TEST(ranked_by_each_column)
{
	static const uint64_t allocs[] = {2, 1000, 50};
	static const uint64_t bytes[] = {9000, 4000, 800};
	static const uint64_t temps[] = {0, 3, 49};
	static const unsigned first[SITES_BY_MAX] = {2, 1, 1, 0, 2};
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/app", 1, 1);
	struct sites ss;

	for (unsigned i = 0; i < 3; i++) {
		char text[32];
		struct prof_site *s;

		snprintf(text, sizeof text, "f%u f.c:%u app", i, i + 1);
		s = tp_site(p, pr, TP_STACK(p, text), allocs[i], allocs[i] - 1, bytes[i],
			    bytes[i] - (i + 1));
		s->temps = temps[i];
		s->at_peak_bytes = i == 1 ? 500 : 100;
	}
	for (unsigned by = 0; by < SITES_BY_MAX; by++) {
		char want[8];

		group(&ss, p, by, 8);
		snprintf(want, sizeof want, "f%u", first[by]);
		T_STR(name_at(p, (struct skip_pos){.node = ss.rows[0].node}), want);
		sites_done(&ss);
	}
	prof_free(p);
}

static struct verdict_answer
answer_of(struct prof *p)
{
	struct sites ss;
	struct verdict v;
	struct verdict_answer a;

	group(&ss, p, SITES_LIVE, 8);
	verdict_init(&v, p, &ss, NULL, NULL, NULL, NULL);
	a = v.all.answer;
	verdict_done(&v);
	sites_done(&ss);
	return a;
}

static enum verdict_word
word_of(struct prof *p)
{
	return answer_of(p).word;
}

/* Two processes of one program, sampled, with so many samples each; the first one of them
 * runs on. */
static struct verdict_answer
answer_of_two(uint64_t first, uint64_t second, uint32_t *ret_found)
{
	struct prof *p = prof_new();
	uint32_t pr[2] = {tp_process(p, "app", 11, 20000),
			  tp_process(p, "app", 13, 20000)};
	uint64_t samples[2] = {first, second};
	struct verdict_answer a;
	struct verdict v;
	struct sites ss;

	for (unsigned i = 0; i < 2; i++) {
		struct prof_site *s = tp_site(
			p, pr[i], TP_STACK(p, "use x.c:3 x", "main x.c:9 x"), samples[i],
			samples[i], samples[i] * 100, samples[i] * 100);

		s->samples = samples[i];
		p->processes[pr[i]].mode = PROF_SAMPLED;
		p->processes[pr[i]].rate_bytes = 1000;
	}
	group(&ss, p, SITES_LIVE, 8);
	verdict_init(&v, p, &ss, NULL, NULL, NULL, NULL);
	a = v.all.answer;
	*ret_found = v.nfound;
	verdict_done(&v);
	sites_done(&ss);
	prof_free(p);
	return a;
}

/* An idle process beside a busy one does not take the answer away: what it may have lost
 * is within the limit that is stated. */
T_TEST(few_samples_of_one_of_two)
{
	uint32_t found;

	T_EQ(answer_of_two(0, 100, &found).word, VERDICT_OK);
	T_EQ(found, 2);
	T_EQ(answer_of_two(100, 3, &found).word, VERDICT_OK);
	T_EQ(found, 2);
	T_EQ(answer_of_two(6, 7, &found).word, VERDICT_OK);
	T_EQ(found, 2);
	T_EQ(answer_of_two(4, 5, &found).why, VERDICT_WHY_FEW_SAMPLES);
}

/* What became of the process decides what can be said of its unfreed memory. */
T_TEST(verdict_knows_how_it_ended)
{
	static const struct {
		uint8_t end;
		uint64_t exit_ms;
		enum verdict_word word;
		enum verdict_why why;
	} cases[] = {
		{PROF_END_EXITED, 5, VERDICT_NO_VERDICT, VERDICT_WHY_NO_CHECK},
		{PROF_END_EXITED, 0, VERDICT_NO_VERDICT,
		 VERDICT_WHY_NO_CHECK}, /* _exit */
		{PROF_END_UNKNOWN, 5, VERDICT_NO_VERDICT, VERDICT_WHY_NO_CHECK},
		{PROF_END_UNKNOWN, 0, VERDICT_NO_VERDICT, VERDICT_WHY_NO_CHECK},
		{PROF_END_RUNNING, 0, VERDICT_NO_VERDICT, VERDICT_WHY_EARLY},
		{PROF_END_SIGNAL, 0, VERDICT_KILLED, VERDICT_WHY_NONE},
		{PROF_END_EXEC, 0, VERDICT_NO_VERDICT, VERDICT_WHY_NOT_RECORDED},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prof *p = tp_demo();
		struct verdict_answer a;

		p->processes[1].end = cases[i].end;
		p->processes[1].status = 9;
		p->processes[1].exit_ms = cases[i].exit_ms;
		a = answer_of(p);
		T_EQ(a.word, cases[i].word);
		T_EQ(a.why, cases[i].why);
		prof_free(p);
	}
}

/* bash started python by exec: one process, two recordings, one memory. */
T_TEST(replaced_by_exec_counts_once)
{
	struct prof *p = prof_new();
	struct sites ss;
	struct verdict v;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t pr = tp_process(p, i == 1 ? "/bin/python3" : "/bin/bash",
					 800 + i / 2, 9);

		tp_site(p, pr, TP_STACK(p, "main b.c:1 bash"), 1, 0, 1000 + i, 0);
		p->processes[pr].start_ns = 100 + i;
		p->processes[pr].process_ticks = 55;
		p->processes[pr].anon_kib = 2 << 10;
	}
	group(&ss, p, SITES_LIVE, 8);
	verdict_init(&v, p, &ss, NULL, NULL, NULL, NULL);
	T_EQ(v.state[1], VERDICT_REPLACED);
	T_EQ(v.each[2].answer.word, VERDICT_NO_VERDICT);
	T_EQ(v.each[3].answer.word, VERDICT_NO_VERDICT); /* another pid */
	T_EQ(v.coverage.anon_bytes, 4 << 20);
	verdict_done(&v);
	sites_done(&ss);
	prof_free(p);
}

T_TEST(verdict_of_many_is_the_worst)
{
	struct prof *p = prof_new();
	uint32_t leak = TP_STACK(p, "leak l.c:1 app"),
		 fine = TP_STACK(p, "fine l.c:2 app");
	struct sites ss;
	struct verdict v;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t pr = tp_process(p, "/bin/app", 50 + i, 3);

		tp_site(p, pr, fine, 3, 3, 300, 300);
		if (i == 1 || i == 3)
			tp_site(p, pr, leak, i, 0, i * 11, 0);
		if (i == 3)
			p->processes[pr].end = PROF_END_EXEC;
	}
	group(&ss, p, SITES_LIVE, 8);
	verdict_init(&v, p, &ss, NULL, NULL, NULL, NULL);
	T_EQ(v.all.answer.word, VERDICT_NO_VERDICT);
	T_EQ(v.all.bytes,
	     11); /* the 33 bytes of the replaced one are not held against it */
	T_EQ(v.nfound, 1);
	T_EQ(v.each[1].answer.word, VERDICT_OK);
	T_EQ(v.state[4], VERDICT_REPLACED);
	T_EQ(v.each[2].places, 1);
	T_EQ(v.each[1].places, 0);
	verdict_done(&v);
	sites_done(&ss);
	prof_free(p);
}

T_TEST(kept_by_libc_alone_is_ok)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/app", 1, 3);

	tp_site(p, pr,
		TP_STACK(p, "malloc - libseep.so", "_IO_file_doallocate - libc.so.6",
			 "puts - libc.so.6", "main a.c:1 app"),
		1, 0, 1024, 0);
	T_EQ(word_of(p), VERDICT_OK);
	tp_site(p, pr, TP_STACK(p, "strdup - libc.so.6", "main a.c:2 app"), 1, 0, 1, 0);
	T_EQ(word_of(p), VERDICT_NO_VERDICT);
	prof_free(p);
}

static struct coverage
covered(uint64_t anon_kib, int64_t peak_bytes, const char *where)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/usr/bin/python3", 1, 3);
	struct coverage c;

	p->processes[pr].anon_kib = anon_kib;
	p->processes[pr].peak_bytes = peak_bytes;
	p->processes[pr].coverage = prof_str(p, where);
	c = coverage_of(p, NULL);
	prof_free(p);
	return c;
}

T_TEST(coverage_speaks_up_when_it_means_something)
{
	T_CHECK(covered(143 << 10, 4 << 20, "pymalloc").partial);
	T_CHECK(covered(143 << 10, 4 << 20, NULL).partial);
	T_CHECK(!covered(143 << 10, 72 << 20, NULL).partial);
	T_CHECK(covered(143 << 10, 72 << 20, NULL).say);
	T_CHECK(!covered(8191, 1000, NULL).say);     /* one KiB under the limit */
	T_CHECK(!covered(8192, 1000, NULL).partial); /* 1,000 bytes under the limit */
	T_CHECK(covered(8193, 1000, NULL).partial);
	T_CHECK(!covered(8191, 1000, "pymalloc").partial);
	T_CHECK(covered(8191, 0, "pymalloc").partial); /* nothing at all was seen */
	T_CHECK(!covered(8191, 6 << 20, "pymalloc").say);
	T_CHECK(!covered(0, 1000, "pymalloc").say); /* nobody looked */
	T_EQ(covered(143 << 10, 4 << 20, NULL).recorded_bytes, 4 << 20);
	T_EQ(covered(1 << 10, 4 << 20, NULL).recorded_bytes, 1 << 20);
}

/* A million blocks of one byte fill 32 MB: that is malloc's doing and not a gap. */
T_TEST(coverage_counts_what_malloc_adds)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/tiny", 1, 3);
	struct coverage c;

	tp_site(p, pr, TP_STACK(p, "main t.c:1 tiny"), 1000003, 0, 1000003, 0);
	p->processes[pr].anon_kib = 32000096 / 1024;
	c = coverage_of(p, NULL);
	T_EQ(c.recorded_bytes, 1000003 * 25);
	T_CHECK(!c.partial);
	prof_free(p);
}

/* A forked child may use nothing but what it was forked with. */
T_TEST(coverage_counts_what_was_inherited)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/bin/child", 1, 3);
	struct prof_process *x = &p->processes[pr];
	struct coverage c;

	x->anon_kib = 100 << 10;
	x->peak_bytes = 0;
	x->inherited_blocks = 1009;
	x->inherited_bytes = 61 << 20;
	x->inherited_at_peak_bytes = 7;
	c = coverage_of(p, NULL);
	T_EQ(c.recorded_bytes, (61 << 20) + 1009 * 24);
	T_CHECK(!c.partial);
	/* It has freed most of that when it has its own peak. */
	x->peak_bytes = 41 << 20;
	x->inherited_at_peak_bytes = 2 << 20;
	x->inherited_at_peak_blocks = 31;
	c = coverage_of(p, NULL);
	T_EQ(c.recorded_bytes, (43 << 20) + 31 * 24);
	T_CHECK(c.partial);
	prof_free(p);
}

T_TEST(choosing_by_name_and_pid)
{
	struct prof *p = prof_new();
	bool chosen[4];
	struct err e = {0};
	enum sites_by by;

	tp_process(p, "/usr/sbin/nginx", 70, 1);
	tp_process(p, "/opt/nginx", 71, 1);
	tp_process(p, "/bin/sh", 72, 1);
	T_EQ(choose_processes(p, "nginx", chosen, &e), 0);
	T_CHECK(!chosen[0] && chosen[1] && chosen[2] && !chosen[3]);
	T_EQ(choose_processes(p, "/opt/nginx", chosen, &e), 0);
	T_CHECK(!chosen[1] && chosen[2] && !chosen[3]);
	T_EQ(choose_processes(p, "72", chosen, &e), 0);
	T_CHECK(!chosen[1] && !chosen[2] && chosen[3]);
	T_EQ(choose_processes(p, NULL, chosen, &e), 0);
	T_CHECK(!chosen[0] && chosen[1] && chosen[2] && chosen[3]);
	T_EQ(choose_processes(p, "7", chosen, &e), -ENOENT);
	T_STR(e.msg,
	      "no process 7 in this recording; it has nginx (70), nginx (71), sh (72)");
	T_EQ(choose_by("temporary", &by, &e), 0);
	T_EQ(by, SITES_TEMPORARY);
	T_EQ(choose_by("size", &by, &e), -EINVAL);
	prof_free(p);
}

/* Errors of sampled figures: as recorded, or shares of these. */
T_TEST(variances_of_samples)
{
	struct sites_total t = {.allocs = 6400,
				.alloc_bytes = 1000000,
				.at_peak_bytes = 250000,
				.live_bytes = 40000,
				.samples = 64,
				.temps = 1600,
				.var_alloc_bytes = 4e8,
				.var_live_bytes = 9e6,
				.var_allocs = 800 * 800};

	T_EQ(sites_variance(&t, SITES_LIVE), 9000000);
	T_EQ(sites_variance(&t, SITES_ALLOCATED), 400000000);
	T_EQ(sites_variance(&t, SITES_PEAK), 100000000);
	T_EQ(sites_variance(&t, SITES_COUNT), 800 * 800);
	T_EQ(sites_variance(&t, SITES_TEMPORARY), 400 * 400); /* a quarter of them */
	/* Blocks of one size are as far off as their bytes: 30 of 3,000 bytes, 1 %. */
	T_EQ(sites_blocks_variance(700, 3000, 30 * 30), 7 * 7);
	T_EQ(sites_blocks_variance(700, 0, 30 * 30), 0);
	t.samples = 0;
	T_EQ(sites_variance(&t, SITES_COUNT), 0);
}

T_MAIN()
