/* SPDX-License-Identifier: MIT */
/* test_render.c -- the exact text of reports, from profiles built by hand. */
#include "tool/render/report/report.h"

#include <errno.h>
#include <signal.h>

#include "shared/recording.h"
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/sites/choose.h"
#include "tool/render/figure.h"

static struct buf render_out;

/* The report as a string that lives until the next call; the profile is freed. */
static const char *
render(struct prof *p, const struct report_opts *o)
{
	buf_clear(&render_out);
	report_text(&render_out, p, o);
	prof_free(p);
	return buf_str(&render_out);
}

/* A line of the last report that begins like this, up to its end; "" when there is
 * none. */
static const char *
line_of(const char *text, const char *begin)
{
	static char line[512];
	const char *at = text;

	line[0] = '\0';
	while (at != NULL && strncmp(at, begin, strlen(begin)) != 0) {
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	if (at != NULL)
		snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}

T_TEST(demo_after_run)
{
	struct report_opts o = {.saved = "seep.jemalloc-demo.4711.rec",
				.saved_names = true,
				.next = "seep report"};

	T_STR(render(tp_demo(), &o),
	      "NO VERDICT  6.13 MiB in 120 blocks at 2 sites not freed; no leak check: no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs\n"
	      " 1  3.09 MiB  50 %   80 blocks, 0 freed\n"
	      "    do_something        jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main                jemalloc-demo.c:22\n"
	      " 2  3.05 MiB  50 %   40 blocks, 0 freed\n"
	      "    do_something_else   jemalloc-demo.c:13   malloc(i * 4096);\n"
	      "    main                jemalloc-demo.c:27\n"
	      "exited 0 after 0.02 s · exact, nothing missed · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6.13 MiB at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n"
	      "saved seep.jemalloc-demo.4711.rec (names inside)     next: seep "
	      "report\n");
}

T_TEST(demo_report_with_tables)
{
	struct report_opts o = {.tables = true};

	T_STR(render(tp_demo(), &o),
	      "NO VERDICT  6.13 MiB in 120 blocks at 2 sites not freed; no leak check: no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs\n"
	      " 1  3.09 MiB  50 %   80 blocks, 0 freed\n"
	      "    do_something        jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main                jemalloc-demo.c:22\n"
	      " 2  3.05 MiB  50 %   40 blocks, 0 freed\n"
	      "    do_something_else   jemalloc-demo.c:13   malloc(i * 4096);\n"
	      "    main                jemalloc-demo.c:27\n"
	      "exited 0 after 0.02 s · exact, nothing missed · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6.13 MiB at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n"
	      "at the peak:\n"
	      " 1  3.09 MiB  50 %   do_something jemalloc-demo.c:7 ← main "
	      "jemalloc-demo.c:22\n"
	      " 2  3.05 MiB  50 %   do_something_else jemalloc-demo.c:13 ← "
	      "main jemalloc-demo.c:27\n"
	      "most allocations:\n"
	      " 1  80 allocs  67 %   do_something jemalloc-demo.c:7 ← main "
	      "jemalloc-demo.c:22\n"
	      " 2  40 allocs  33 %   do_something_else jemalloc-demo.c:13 ← "
	      "main jemalloc-demo.c:27\n");
}

T_TEST(demo_without_utf8)
{
	struct report_opts o = {.ascii = true};

	T_STR(line_of(render(tp_demo(), &o), "exited"),
	      "exited 0 after 0.02 s - exact, nothing missed - 120 allocs, 0 "
	      "frees, 6,430,720 bytes - peak 6.13 MiB at 0.02 s");
}

T_TEST(demo_top_in_bytes)
{
	struct report_opts o = {.top = true, .bytes = true};

	T_STR(render(tp_demo(), &o),
	      "3235840  80  do_something jemalloc-demo.c:7 ← main "
	      "jemalloc-demo.c:22\n"
	      "3194880  40  do_something_else jemalloc-demo.c:13 ← main "
	      "jemalloc-demo.c:27\n");
}

T_TEST(demo_top_for_people)
{
	struct report_opts o = {.top = true, .rows = 1, .ascii = true};

	T_STR(render(tp_demo(), &o),
	      "  3.09 MiB          80  do_something jemalloc-demo.c:7 <- main "
	      "jemalloc-demo.c:22\n");
}

T_TEST(demo_by_count_in_bytes)
{
	struct report_opts o = {.by_given = true, .by = SITES_COUNT, .bytes = true};

	T_STR(render(tp_demo(), &o),
	      "NO VERDICT  6,430,720 bytes in 120 blocks at 2 sites not freed; no leak check: no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs\n"
	      "exited 0 after 0.02 s · exact, nothing missed · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6,430,720 bytes at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n"
	      "most allocations:\n"
	      " 1  80 allocs  67 %   0 freed, 3,235,840 bytes in all\n"
	      "    do_something        jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main                jemalloc-demo.c:22\n"
	      " 2  40 allocs  33 %   0 freed, 3,194,880 bytes in all\n"
	      "    do_something_else   jemalloc-demo.c:13   malloc(i * 4096);\n"
	      "    main                jemalloc-demo.c:27\n");
}

T_TEST(demo_at_peak_and_mark)
{
	struct prof *p = tp_demo();
	uint32_t m = prof_add_mark(p), row = prof_add_mark_row(p);
	struct report_opts o = {.point = {.at = SITES_AT_PEAK}};
	bool chosen[2];
	struct err e = {0};

	p->marks[m].process = 1;
	p->marks[m].number = 3;
	p->marks[m].name = prof_str(p, "before");
	p->marks[m].rows = row;
	p->marks[m].nrows = 1;
	p->mark_rows[row] =
		(struct prof_mark_row){.site = 1, .live_bytes = 7168, .live_blocks = 4};
	T_EQ(choose_processes(p, "jemalloc-demo", chosen, &e), 0);
	T_EQ(choose_point(p, chosen, "before", &o.point, &e), 0);
	T_EQ(o.point.at, SITES_AT_MARK);
	T_EQ(choose_point(p, chosen, "3", &o.point, &e), 0);
	T_EQ(choose_point(p, chosen, "after", &o.point, &e), -ENOENT);
	T_STR(e.msg, "no mark @after here; there is @peak @exit @3 or @before");
	T_STR(render(p, &o),
	      "AT MARK 3  7.00 KiB in 4 blocks at 1 site\n"
	      " 1  7.00 KiB  100 %   4 blocks\n"
	      "    do_something   jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main           jemalloc-demo.c:22\n"
	      "exited 0 after 0.02 s · exact, nothing missed · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6.13 MiB at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n");
	o.point.at = SITES_AT_PEAK;
	T_STR(line_of(render(tp_demo(), &o), "AT"),
	      "AT PEAK  6.13 MiB in 120 blocks at 2 sites");
}

/* 2,113 blocks, all freed, 1 KiB of stdio buffer left to libc. */
static struct prof *
clean_program(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/usr/bin/idx", 99, 1234);
	struct prof_site *s;

	s = tp_site(p, pr, TP_STACK(p, "load_index idx.c:90 idx", "main idx.c:12 idx"),
		    2113, 2113, 4299161, 4299161);
	s->temps = 907;
	tp_site(p, pr,
		TP_STACK(p, "malloc - libseep.so", "_IO_file_doallocate - libc.so.6",
			 "puts - libc.so.6", "main idx.c:15 idx"),
		1, 0, 1024, 0);
	return p;
}

T_TEST(clean_program_is_ok)
{
	struct report_opts o = {0};
	struct buf out = {0};
	struct prof *p = clean_program();

	T_EQ(report_text(&out, p, &o), 0);
	T_STR(buf_str(&out),
	      "OK  everything freed but what libc keeps: 2,114 allocs, 2,113 frees; peak 4.10 MiB "
	      "in load_index idx.c:90\n"
	      "1,024 bytes kept by libc itself (stdio buffer)\n"
	      "exited 0 after 1.23 s · exact, nothing missed · 2,114 allocs, "
	      "2,113 frees, 4,300,185 bytes · peak 4.10 MiB at 1.23 s\n"
	      "temporary 43 % of allocations · freed only at exit 0\n");
	buf_done(&out);
	prof_free(p);
}

/* Memory that is freed only at exit is a figure, not a finding. */
T_TEST(held_until_exit)
{
	struct prof *p = clean_program();
	struct report_opts o = {0};
	const char *got;

	p->sites[1].at_exit_bytes = 430080;
	p->sites[1].at_exit_blocks = 105;
	got = render(p, &o);
	T_CHECK(strncmp(got, "OK  ", 4) == 0);
	T_STR(line_of(got, "temporary"),
	      "temporary 43 % of allocations · freed only at exit 420 KiB");
}

T_TEST(frames_of_all_kinds)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/app", 5, 3200), node;
	struct report_opts o = {0};

	tp_site(p, pr,
		TP_STACK(p, "operator___new - libstdc++.so.6",
			 "<std::allocator<int>::allocate alloc.h:5 app",
			 "<grow vec.h:71 app", "push app.cc:9 app",
			 "do_something - jemalloc-demo", "0x4f20 - libfoo.so",
			 "0x7f001234 - -", "main app.cc:1 app", "0x2724a - libc.so.6",
			 "_start - app"),
		3, 1, 3000, 1000);
	node = prof_node(p, 0, prof_loc(p, 0, 0, PROF_LOC_TRUNCATED, false));
	node = prof_node(p, node, prof_loc(p, 0, 41, PROF_LOC_ELIDED, false));
	node = prof_node(p, node,
			 tp_loc(p, (const char *const[]){"leaf\x1b[31m l.c:2 app"}, 1));
	tp_site(p, pr, node, 1, 0, 500, 0);
	tp_source(p, "vec.h", 71, "p = alloc.allocate(n);");
	p->modules[tp_module(p, "jemalloc-demo")].why_no_names =
		prof_str(p, "built without -g");
	p->modules[tp_module(p, "libfoo.so")].why_no_names = prof_str(p, "stripped");
	p->processes[pr].end = PROF_END_SIGNAL;
	p->processes[pr].status = SIGKILL;
	p->processes[pr].exit_ms = 0;
	T_STR(render(p, &o),
	      "KILLED  by SIGKILL: 2.44 KiB in 3 blocks live, 80 % from grow vec.h:71\n"
	      " 1  1.95 KiB  80 %   2 blocks, 1 freed\n"
	      "    grow           vec.h:71                 p = "
	      "alloc.allocate(n);  (inlined)\n"
	      "    push           app.cc:9\n"
	      "    do_something   +0x1c in jemalloc-demo   (no lines: built "
	      "without -g)\n"
	      "    0x4f20 in libfoo.so (stripped)\n"
	      "    0x7f001234 (in no module)\n"
	      "    main           app.cc:1\n"
	      " 2     500 B  20 %   1 block, 0 freed\n"
	      "    leaf?[31m      l.c:2\n"
	      "    … (about 41 frames left out)\n"
	      "    … (could not be followed further)\n"
	      "killed by SIGKILL after 3.20 s · exact, nothing missed · 4 "
	      "allocs, 1 free, 3,500 bytes · peak 3.42 KiB at 3.20 s\n"
	      "no leak check: the process was gone before its memory could be "
	      "searched\n"
	      "temporary 0 % of allocations\n");
}

T_TEST(deep_stacks_are_cut)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/deep", 6, 10), node = 0;
	struct report_opts o = {0};
	char text[32];
	const char *got;

	for (int i = 0; i < 30; i++) {
		snprintf(text, sizeof text, "f%d deep.c:%d deep", 29 - i, 29 - i + 1);
		node = prof_node(p, node, tp_loc(p, (const char *const[]){text}, 1));
	}
	tp_site(p, pr, node, 7, 0, 77, 0);
	got = render(p, &o);
	T_CHECK(strstr(got,
		       "    f7   deep.c:8\n    \xe2\x80\xa6 22 more frames (--all)\n") !=
		NULL);
	T_CHECK(strstr(got, "f8 ") == NULL);
}

/* 34 processes: 31 clean, 2 with the same leak, one that could not be recorded. */
static struct prof *
many_processes(void)
{
	struct prof *p = prof_new();
	uint32_t leak = TP_STACK(p, "job_new job.c:31 worker", "main job.c:90 worker");
	uint32_t fine = TP_STACK(p, "scratch job.c:55 worker", "main job.c:91 worker");

	for (unsigned i = 0; i < 34; i++) {
		uint32_t pr = tp_process(p, i == 33 ? "/bin/busybox" : "/opt/worker",
					 100 + i, 100 + i);

		if (i == 33) {
			p->processes[pr].not_recorded = prof_str(p, "statically linked");
			p->processes[pr].exit_ms = 0;
			continue;
		}
		tp_site(p, pr, fine, 11, 11, 1100, 1100);
		if (i == 7 || i == 20)
			tp_site(p, pr, leak, i, 0, i * 1000, 0);
	}
	return p;
}

T_TEST(clean_processes_are_folded)
{
	struct report_opts o = {0};

	T_STR(render(many_processes(), &o),
	      "NO VERDICT  26.4 KiB in 27 blocks at 1 site not freed, in 2 of 34 "
	      "processes; no leak check: no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs\n"
	      " 1  26.4 KiB  100 %   27 blocks, 0 freed, in 2 processes\n"
	      "    job_new   job.c:31\n"
	      "    main      job.c:90\n"
	      "worker (120): 19.5 KiB in 20 blocks at 1 site · exited 0 after "
	      "0.12 s\n"
	      "worker (107): 6.84 KiB in 7 blocks at 1 site · exited 0 after "
	      "0.11 s\n"
	      "31 processes: everything freed\n"
	      "busybox (133) not recorded: statically linked\n"
	      "34 processes: 34 exited 0 · exact, but not everything was recorded · 390 allocs, "
	      "363 frees, 63,300 bytes · highest peak 20.6 KiB at 0.12 s in "
	      "worker (120)\n"
	      "temporary 0 % of allocations · freed only at exit 0\n");
}

T_TEST(one_of_many_processes)
{
	struct prof *p = many_processes();
	bool chosen[35];
	struct err e = {0};
	struct report_opts o = {.chosen = chosen};

	T_EQ(choose_processes(p, "107", chosen, &e), 0);
	T_STR(line_of(render(p, &o), "NO VERDICT"),
	      "NO VERDICT  6.84 KiB in 7 blocks at 1 site not freed; no leak check: no tool could search its memory when it ended; use seep run, inside its container if it has one, or seep leaks PID while it runs");
	p = many_processes();
	T_EQ(choose_processes(p, "busybox", chosen, &e), 0);
	T_STR(render(p, &o),
	      "NO VERDICT  busybox (133) was not recorded: statically linked\n");
	p = many_processes();
	T_EQ(choose_processes(p, "nginx", chosen, &e), -ENOENT);
	T_CHECK(strncmp(e.msg,
			"no process nginx in this recording; it has worker (100), ",
			56) == 0);
	prof_free(p);
}

T_TEST(partial_coverage_gives_no_verdict)
{
	struct prof *p = tp_demo();
	struct report_opts o = {.rows = 1};

	p->processes[1].anon_kib = 143 << 10;
	p->processes[1].rss_kib = 140 << 10;
	p->processes[1].rss_peak_kib = 151 << 10;
	p->processes[1].recorder_kib = 777;
	p->processes[1].coverage =
		prof_str(p, "python3 keeps its objects in pymalloc; run: "
			    "PYTHONMALLOC=malloc seep run \xe2\x80\xa6");
	T_STR(render(p, &o),
	      "PARTIAL  recorded 6.14 MiB of 143 MiB anonymous memory (4.3 %): "
	      "python3 keeps its objects in pymalloc; run: PYTHONMALLOC=malloc "
	      "seep run …\n"
	      " 1  3.09 MiB  50 %   80 blocks, 0 freed\n"
	      "    do_something   jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main           jemalloc-demo.c:22\n"
	      "    1 more site, 3.05 MiB (--all)\n"
	      "exited 0 after 0.02 s · exact, but not everything was recorded · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6.13 MiB at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n"
	      "RSS 151 MiB peak, 140 MiB when last seen · anonymous 143 MiB · "
	      "recorded peak 6.13 MiB · seep 777 KiB\n");
	p = tp_demo();
	p->processes[1].anon_kib = 9 << 10;
	T_STR(line_of(render(p, &o), "recorded"),
	      "recorded 6.14 MiB of 9.00 MiB anonymous memory (68 %)");
}

/* Many small blocks: what PARTIAL has in addition to the peak is said. */
T_TEST(mallocs_share_of_what_was_recorded)
{
	static const char *const lines[][2] = {
		{"PARTIAL",
		 "PARTIAL  recorded 6.82 MiB of 143 MiB anonymous memory (4.8 %): "
		 "node keeps memory in V8"},
		{"RSS", "RSS 151 MiB peak \xc2\xb7 anonymous 143 MiB \xc2\xb7 "
			"recorded peak 6.13 MiB + 704 KiB for malloc's headers"},
	};
	struct report_opts o = {.rows = 1};

	for (unsigned i = 0; i < 2; i++) {
		struct prof *p = tp_demo();

		p->processes[1].anon_kib = 143 << 10;
		p->processes[1].rss_peak_kib = 151 << 10;
		p->processes[1].coverage = prof_str(p, "node keeps memory in V8");
		p->sites[1].at_peak_blocks = 30000;
		T_STR(line_of(render(p, &o), lines[i][0]), lines[i][1]);
	}
}

/* A child with its own tables, of a parent too large to list its blocks for it. */
T_TEST(memory_from_a_large_parent_is_covered)
{
	struct prof *p = tp_demo();
	struct report_opts o = {.rows = 1};
	uint32_t child = tp_process(p, "/bin/jemalloc-demo", 4712, 1);

	p->processes[1].peak_bytes = 40 << 20;
	p->processes[1].anon_kib = 43 << 10;
	p->processes[child].exe = p->processes[1].exe;
	p->processes[child].start_ns = p->processes[1].start_ns + 1;
	p->processes[child].flags |= REC_FLAG_FORKED;
	p->processes[child].peak_bytes = 127;
	p->processes[child].anon_kib = 42 << 10;
	T_CHECK(strstr(render(p, &o), "PARTIAL") == NULL);
	/* What it has beyond that is its own. */
	p = tp_demo();
	child = tp_process(p, "/bin/jemalloc-demo", 4712, 1);
	p->processes[1].peak_bytes = 40 << 20;
	p->processes[child].exe = p->processes[1].exe;
	p->processes[child].start_ns = p->processes[1].start_ns + 1;
	p->processes[child].flags |= REC_FLAG_FORKED;
	p->processes[child].anon_kib = 142 << 10;
	T_STR(line_of(render(p, &o), "PARTIAL"),
	      "PARTIAL  recorded 40.0 MiB of 142 MiB anonymous memory (28 %): the rest did not come from malloc (mmap, static data, or an allocator of its own); --mmap records mappings too");
}

T_TEST(the_sum_of_peaks_has_every_process)
{
	struct prof *p = tp_demo();
	struct report_opts o = {.rows = 1};
	uint32_t killed = tp_process(p, "/bin/jemalloc-demo", 4712, 1);

	p->processes[1].rss_kib = p->processes[1].rss_peak_kib = 9 << 10;
	p->processes[1].peak_bytes = 5 << 20;
	p->processes[killed].peak_bytes = 30 << 20;
	T_STR(line_of(render(p, &o), "RSS"),
	      "RSS 9.00 MiB peak · recorded peak 35.0 MiB · sums over all processes, 1 of which ended before RSS was read");
}

T_TEST(everything_lost_has_a_line)
{
	struct prof *p = tp_demo();
	struct report_opts o = {.rows = 1};
	const char *got;

	for (unsigned i = 0; i < REC_LOST_EXEC + 1; i++)
		p->processes[1].lost[i] = 1001 + i;
	p->processes[1].lost[REC_LOST_MARK] = 1;
	p->processes[1].frees_inherited = 2001;
	p->processes[1].frees_unknown = 2002;
	p->processes[1].paused_allocs = 2003;
	p->processes[1].flags = REC_FLAG_SEALED;
	p->blocks_dropped = 2004;
	prof_add_damage(p, "names of 2 modules", 2005);
	prof_add_damage(p, "cut off", 1);
	got = render(p, &o);
	T_CHECK(strstr(got, "nothing missed") == NULL);
	T_STR(strstr(got, "temporary"),
	      "temporary 0 % of allocations · freed only at exit 0\n"
	      "not recorded: 1,001 allocations (no room, and a seccomp filter keeps the "
	      "recording from growing)\n"
	      "not recorded: 1,002 calls from signal handlers that interrupted "
	      "the recorder\n"
	      "not recorded: 1,003 events (a lock stayed taken)\n"
	      "not recorded: 1,004 blocks above the addresses that the table "
	      "covers\n"
	      "1,005 stacks could not be unwound to main\n"
	      "1,006 stacks were too deep: their middle frames are omitted\n"
	      "not recorded: 1,007 forked children\n"
	      "not recorded: 1,008 blocks from before the real allocator was "
	      "known\n"
	      "1 mark found no room\n"
	      "1,010 modules found no room: their frames have no names\n"
	      "1,011 threads are counted under \"other threads\"\n"
	      "not recorded: 1,012 programs that were started and cannot be "
	      "recorded\n"
	      "not recorded: 2,003 allocations while paused\n"
	      "2,001 frees of blocks from before the fork\n"
	      "2,002 frees of blocks never seen (allocated before or beside "
	      "the recording)\n"
	      "1 process installed a seccomp filter: the recording could not "
	      "grow after it\n"
	      "2,004 live blocks are only in the totals, not listed by address\n"
	      "damaged file: names of 2 modules (2,005 times)\n"
	      "damaged file: cut off\n");
}

T_TEST(inherited_blocks_have_a_line)
{
	struct report_opts o = {.rows = 1};
	struct prof *p = tp_demo();
	const char *got;

	p->processes[1].inherited_blocks = 1204;
	p->processes[1].inherited_bytes = 3250586;
	p->processes[1].inherited_frees = 1200;
	p->processes[1].frees_inherited = 3;
	got = render(p, &o);
	T_STR(line_of(got, "inherited"),
	      "inherited from its parent: 1,204 blocks, 3.10 MiB, 1,200 freed here");
	T_STR(line_of(got, "3 frees"), "3 frees of blocks from before the fork");
	T_CHECK(strstr(got, "120 allocs, 0 frees, 6,430,720 bytes") != NULL);
	/* Of several processes only the sum. */
	p = tp_demo();
	p->processes[1].inherited_blocks = 1204;
	p->processes[1].inherited_frees = 1200;
	p->processes[1].frees_inherited = 3;
	tp_process(p, "/bin/other", 4712, 3);
	got = render(p, &o);
	T_STR(line_of(got, "inherited"), "");
	T_STR(line_of(got, "1,203 frees"), "1,203 frees of blocks from before the fork");
}

T_TEST(sampled_figures_have_errors)
{
	struct prof *p = tp_demo();
	struct report_opts o = {0};

	p->processes[1].mode = PROF_SAMPLED;
	p->processes[1].rate_bytes = 65536;
	for (uint32_t i = 1; i <= 2; i++) {
		p->sites[i].samples = p->sites[i].live_samples = i * 16;
		p->sites[i].var_live_bytes = p->sites[i].var_alloc_bytes =
			(double)(i * 400 * 1024) * (double)(i * 400 * 1024);
	}
	T_STR(render(p, &o),
	      "NO VERDICT  about 6.13 ± 0.87 MiB in 120 ± 14 blocks at 2 "
	      "sites not freed; no leak check: it needs an exact recording (seep run "
	      "--exact)\n"
	      " 1  3.09 ± 0.39 MiB  50 %   80 ± 10 blocks, 0 freed\n"
	      "    do_something        jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main                jemalloc-demo.c:22\n"
	      " 2  3.05 ± 0.78 MiB  50 %   40 ± 10 blocks, 0 freed\n"
	      "    do_something_else   jemalloc-demo.c:13   malloc(i * 4096);\n"
	      "    main                jemalloc-demo.c:27\n"
	      "exited 0 after 0.02 s · sampled, one per ~64.0 KiB, 48 samples "
	      "· 120 ± 14 allocs, 0 frees, 6.13 ± 0.87 MiB · peak 6.13 ± "
	      "0.87 MiB at 0.02 s\n"
	      "temporary 0 % of allocations · freed only at exit 0\n");
}

T_TEST(empty_says_why)
{
	struct report_opts o = {0};
	struct prof *p = prof_new();

	T_STR(render(p, &o), "NO VERDICT  there is no process in this recording\n");
	p = prof_new();
	tp_process(p, "/bin/true", 3, 4);
	T_STR(render(p, &o),
	      "OK  nothing was allocated\n"
	      "exited 0 after 4.0 ms · exact, nothing missed · 0 allocs, 0 "
	      "frees, 0 bytes · peak 0 B\n"
	      "freed only at exit 0\n");
	p = prof_new();
	tp_process(p, "/bin/true", 3, 12000);
	p->processes[1].end = PROF_END_RUNNING;
	p->processes[1].exit_ms = 0;
	T_STR(render(p, &o),
	      "NO VERDICT  live 0 B in 0 blocks at 0 sites; too early to judge growth; "
	      "what is lost already: seep leaks 3\n"
	      "running for 12 s · exact, nothing missed · 0 allocs, 0 frees, 0 "
	      "bytes · peak 0 B\n");
}

T_TEST(colour_only_on_a_terminal)
{
	struct term t = {.tty = true, .colour = true, .columns = 50};
	struct report_opts o = {.term = &t};
	const char *got = render(tp_demo(), &o);

	T_CHECK(strncmp(got, "\x1b[", 2) == 0);
	T_CHECK(strstr(got, "NO VERDICT\x1b[") != NULL);
	/* 50 columns: the source line is cut, in the last of them. */
	T_STR(line_of(got, "    do_something  "),
	      "    do_something        jemalloc-demo.c:7    mall\xe2\x80\xa6");
	t = (struct term){0};
	T_CHECK(strchr(render(tp_demo(), &o), '\x1b') == NULL);
}

T_TEST(figures)
{
	T_STR(figure_bytes(6430720, 0, false).s, "6.13 MiB");
	T_STR(figure_bytes(6430720, 0, true).s, "6,430,720 bytes");
	T_STR(figure_bytes(1, 0, true).s, "1 byte");
	T_STR(figure_bytes(-5, 0, false).s, "0 B");
	/* 6.13 MiB ± 0.82 MiB, and an error larger than the value */
	T_STR(figure_bytes(6430720, 859832.0 * 859832.0, false).s,
	      "6.13 \xc2\xb1 0.82 MiB");
	T_STR(figure_bytes(2000, 40960.0 * 40960.0, false).s, "2 \xc2\xb1 40 KiB");
	T_STR(figure_count(120, 121).s, "120 \xc2\xb1 11");
	T_STR(figure_count(7, 0.16).s, "7");
	T_STR(figure_count(122566, 2023.0 * 2023.0).s, "122,600 ± 2,000");
	T_STR(figure_bytes(5000000, 123456.0 * 123456.0, true).s,
	      "5,000,000 ± 120,000 bytes");
	T_STR(figure_things(1, 0, "block").s, "1 block");
	T_STR(figure_things(0, 0, "block").s, "0 blocks");
	T_STR(figure_signal(SIGKILL).s, "SIGKILL");
	T_STR(figure_signal(63).s, "signal 63");
	T_STR(figure_ms(3200).s, "3.20 s");
	T_EQ((long long)(figure_sqrt(2.25e20) / 1e6), 15000);
	T_EQ((long long)(figure_sqrt(1e-6) * 1e9), 1000000);
	T_EQ((long long)figure_sqrt(-1), 0);
}

static const char *
function(const char *name)
{
	buf_clear(&render_out);
	figure_function(&render_out, name, 48);
	return buf_str(&render_out);
}

T_TEST(functions_as_people_say_them)
{
	T_STR(function("main"), "main");
	T_STR(function("std::vector<int, std::allocator<int> >::push_back"),
	      "std::vector<int>::push_back");
	T_STR(function("f<std::__cxx11::basic_string<char, std::char_traits<char>, "
		       "std::allocator<char> > >"),
	      "f<std::string>");
	T_STR(function(
		      "std::map<int, std::vector<a::very_long_name_of_a_class, std::allocator<"
		      "a::very_long_name_of_a_class> >, std::less<int> >::insert"),
	      "std::map<…>::insert");
	T_STR(function("operator<<"), "operator<<");
	T_STR(function(
		      "a_namespace::another_one::operator<< <a_namespace::another_type_x>"),
	      "a_namespace::another_one::operator<< <…>");
	T_STR(function("ptr<a_type_with_a_long_name_000000000000000000000>::operator->"),
	      "ptr<…>::operator->");
	T_STR(function("broken<never<closed"), "broken<never<closed");
	T_STR(function("f<\x1b[31m>"), "f<?[31m>");
}

T_TEST(json_is_complete)
{
	struct prof *p = tp_demo();
	struct report_opts o = {0};
	struct buf out = {0};
	const char *s;

	p->processes[1].lost[REC_LOST_TRUNCATED] = 13;
	T_EQ(report_json(&out, p, &o), 0);
	s = buf_str(&out);
	T_CHECK(strstr(s, "\"seep_json\":3") != NULL);
	T_CHECK(strstr(s,
		       "\"verdict\":\"NO VERDICT\",\"severity\":\"unknown\",\"also\":[],\"no_verdict_because\":\"no-leak-check\"") !=
		NULL);
	T_CHECK(strstr(s, "\"left_bytes\":6430720") != NULL);
	T_CHECK(strstr(s, "\"live_bytes\":3235840,\"live_blocks\":80") != NULL);
	T_CHECK(strstr(s, "\"truncated\":13") != NULL);
	T_CHECK(strstr(s, "\"file\":\"jemalloc-demo.c\",\"line\":13,"
			  "\"source\":\"malloc(i * 4096);\"") != NULL);
	T_CHECK(strstr(s, "\"function\":\"malloc\"") != NULL); /* not shown, but there */
	T_CHECK(strstr(s,
		       "\"stack\":[0,1,2,3,4],\"shown_from\":1,\"shown\":2,\"folded\":[]}") !=
		NULL);
	T_EQ(s[out.len - 1], '\n');
	buf_done(&out);
	prof_free(p);
}

/* A word for the shell, as it is shown. */
static const char *
shell(const char *word)
{
	static struct buf b;

	buf_clear(&b);
	clean_shell(&b, word);
	return buf_str(&b);
}

T_TEST(words_for_the_shell)
{
	T_STR(shell("4711"), "4711");
	T_STR(shell("/tmp/a-b_c.rec@10:31"), "/tmp/a-b_c.rec@10:31");
	T_STR(shell("my recording.rec"), "'my recording.rec'");
	T_STR(shell("/dev/zero (deleted)"), "'/dev/zero (deleted)'");
	T_STR(shell("it's $HOME"), "'it'\\''s $HOME'");
	T_STR(shell("-x.rec"), "-- -x.rec");
	T_STR(shell("-a b"), "-- '-a b'");
	T_STR(shell("a;b"), "'a;b'");
	T_STR(shell(""), "''");
}

T_MAIN()
