/* SPDX-License-Identifier: MIT */
/* test_focus.c -- which processes a report is about, what they are called, and what a
 * report of many of them says; with frames that belong to nobody's program. */
#include <stdbool.h>

#include "shared/recording.h"
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/process/coverage.h"
#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/verdict/focus.h"
#include "tool/render/report/report.h"
#include "tool/util/file.h"

enum { MOST = 64 };

/* A process that began at `start`, with 7 blocks of 101 bytes left at a place of its
 * own. */
static uint32_t
add(struct prof *p, const char *exe, unsigned pid, unsigned start)
{
	uint32_t i = tp_process(p, exe, pid, 13);
	char frame[96];

	p->processes[i].start_ns = start;
	snprintf(frame, sizeof frame, "make_%u a.c:3 %s", start, file_base(exe));
	tp_site(p, i, tp_stack(p, (const char *const[]){frame, NULL}), 7, 0, 707, 0);
	return i;
}

/* Focus as text, one sign a process: '+' in, '.' out. */
static const char *
focus(const struct prof *p)
{
	static char text[MOST];
	bool in[MOST];
	uint32_t n = focus_of(p, NULL, in), counted = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		text[i - 1] = in[i] ? '+' : '.';
		counted += in[i];
	}
	text[p->nprocesses - 1] = '\0';
	T_EQ(n, counted);
	return text;
}

T_TEST(own_programs_of_a_script)
{
	struct prof *p = prof_new();

	add(p, "/usr/bin/dash", 100, 1);
	add(p, "/usr/bin/ls", 101, 2);
	T_STR(focus(p), "+."); /* no other: the shell is what was started */
	add(p, "/opt/server", 102, 3);
	T_STR(focus(p), "..+");
	add(p, "/usr/local/bin/tool", 103, 4);
	T_STR(focus(p), "..++");
	prof_free(p);
}

T_TEST(what_was_started_is_always_in)
{
	struct prof *p = prof_new();

	add(p, "/usr/bin/ls", 109, 5);
	add(p, "/usr/bin/python3.11", 100, 1); /* the first, though not in the table */
	add(p, "/opt/helper", 102, 3);
	add(p, "/usr/bin/python3.11", 103, 4); /* forked by it */
	T_STR(focus(p), ".+++");
	prof_free(p);
}

T_TEST(exec_goes_on_under_the_same_pid)
{
	struct prof *p = prof_new();
	uint32_t shell = add(p, "/usr/bin/dash", 100, 1);

	p->processes[shell].end = PROF_END_EXEC;
	add(p, "/usr/bin/ls", 100, 2);
	add(p, "/usr/bin/dash", 104, 3);
	T_STR(focus(p), "++.");
	prof_free(p);
}

T_TEST(nothing_recorded_is_no_focus)
{
	struct prof *p = prof_new();
	uint32_t i = add(p, "/opt/static", 100, 1);

	p->processes[i].not_recorded = prof_str(p, "statically linked");
	add(p, "/usr/bin/ls", 101, 2);
	add(p, "/usr/bin/date", 102, 3);
	T_STR(focus(p), "+++");
	prof_free(p);
}

/* Started by a program of one's own: what is built beside it belongs to it. */
T_TEST(same_tree)
{
	static const struct {
		const char *named, *other;
		bool in;
	} cases[] = {
		{"/var/me/proj/build/t", "/var/me/proj/bin/x", true},
		{"/var/me/proj/build/t", "/var/me/other/x", false},
		{"/opt/shop/bin/server", "/opt/shop/libexec/worker", true},
		{"/opt/shop/bin/server", "/opt/vendor/bin/tool", false},
		{"/tmp/a/t", "/tmp/b/t2", false},
		{"/usr/local/bin/a", "/usr/local/bin/b", false},
		{"/var/me/proj/t", "/usr/bin/sort", false},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct prof *p = prof_new();

		add(p, cases[i].named, 100, 1);
		add(p, cases[i].other, 101, 2);
		T_STR(focus(p), cases[i].in ? "++" : "+.");
		prof_free(p);
	}
}

T_TEST(same_package)
{
	struct prof *p = prof_new();

	add(p, "/usr/bin/x86_64-linux-gnu-gcc-12", 100, 1);
	add(p, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", 101, 2);
	add(p, "/usr/bin/x86_64-linux-gnu-as", 102, 3);
	T_STR(focus(p), "++.");
	prof_free(p);
	p = prof_new();
	add(p, "/usr/bin/git", 100, 1);
	add(p, "/usr/lib/git-core/git-remote-http", 101, 2);
	add(p, "/usr/bin/less", 102, 3);
	T_STR(focus(p), "++.");
	prof_free(p);
	/* a pipeline: the shell was named, and the others have nothing to do with it */
	p = prof_new();
	add(p, "/usr/bin/bash", 100, 1);
	add(p, "/usr/bin/bashful", 101, 2);
	T_STR(focus(p), "+.");
	prof_free(p);
}

static const char *
called(const char *exe, const char *cmdline)
{
	static struct choose_name name;
	struct prof *p = prof_new();
	uint32_t i = tp_process(p, exe, 7, 7);

	p->processes[i].cmdline = prof_str(p, cmdline);
	name = choose_process_name(p, i);
	prof_free(p);
	return name.s;
}

T_TEST(names_that_people_know)
{
	T_STR(called("/usr/bin/dash", "sh -c ls"), "sh");
	T_STR(called("/usr/bin/redis-check-rdb", "/usr/bin/redis-server *:6379"),
	      "redis-server");
	T_STR(called("/usr/sbin/nginx", "nginx: worker process"), "nginx");
	T_STR(called("/usr/bin/bash", "-bash"), "bash");
	T_STR(called("/opt/my prog/x", "/opt/my prog/x -v"), "x");
	T_STR(called("/usr/bin/ls", ""), "ls");
	T_STR(called("/usr/bin/ls", " odd"), "ls");
	T_STR(called("", ""), "?");
}

T_TEST(all_names_choose)
{
	struct prof *p = prof_new();
	uint32_t i = add(p, "/usr/bin/dash", 100, 1);
	struct err e = {0};
	bool chosen[MOST];

	p->processes[i].cmdline = prof_str(p, "sh -c ls");
	T_EQ(choose_processes(p, "sh", chosen, &e), 0);
	T_EQ(choose_processes(p, "dash", chosen, &e), 0);
	T_EQ(choose_processes(p, "/usr/bin/dash", chosen, &e), 0);
	T_EQ(choose_processes(p, "100", chosen, &e), 0);
	T_CHECK(choose_processes(p, "bash", chosen, &e) < 0);
	T_STR(e.msg, "no process bash in this recording; it has sh (100)");
	prof_free(p);
}

/* All that the process left is lost. */
static void
lose(struct prof *p, uint32_t process)
{
	uint32_t c = prof_add_check(p);

	p->checks[c].process = process;
	p->checks[c].done = true;
	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t l;

		if (p->sites[i].process != process)
			continue;
		l = prof_add_loss(p);
		p->losses[l].site = i;
		p->losses[l].kind = PROF_LOSS_DEFINITE;
		p->losses[l].blocks = 7;
		p->losses[l].bytes = 707;
	}
}

/* A script with 11 programs of the system, one of its own and the shell. */
T_TEST(others_that_leak_share_a_line)
{
	struct report_opts o = {0};
	struct prof *p = prof_new();
	struct buf out = {0};

	add(p, "/usr/bin/dash", 100, 1);
	for (unsigned i = 0; i < 11; i++)
		lose(p, add(p, i < 5 ? "/usr/bin/ls" : "/usr/bin/sort", 101 + i, 2 + i));
	lose(p, add(p, "/opt/server", 131, 31));
	T_EQ(report_text(&out, p, &o), 1);
	T_STR(buf_str(&out),
	      "LEAK (minor)  707 B in 7 blocks lost at 1 site, 7 times, in server (131)\n"
	      " 1  707 B  100 %   7 blocks, 0 freed\n"
	      "    make_31   a.c:3\n"
	      "2 other programs leak: sort × 6: 4.14 KiB in 42 blocks, ls × 5: 3.45 KiB in "
	      "35 blocks (--process NAME lists their sites)\n"
	      "1 process of other programs: no verdict\n"
	      "13 processes: 13 exited 0 · exact, nothing missed · 91 allocs, 0 frees, "
	      "9,191 bytes · highest peak 707 B at 0.01 s in dash (100)\n"
	      "definitely lost 707 B in 7 blocks · possibly lost 0 · still reachable 0 · "
	      "freed only at exit 0 · temporary 0 % of allocations\n");
	buf_clear(&out);
	o.all = true;
	T_EQ(report_text(&out, p, &o), 1);
	T_CHECK(strncmp(buf_str(&out),
			"LEAK (minor)  8.29 KiB in 84 blocks lost at 12 sites, 84 times, in "
			"12 of 13 processes\n",
			86) == 0);
	T_CHECK(strstr(buf_str(&out), "\nsort (111): ") != NULL);
	T_CHECK(strstr(buf_str(&out), "other program") == NULL);
	buf_done(&out);
	prof_free(p);
}

/* A malloc of its own, gone before anybody could look at its memory. */
T_TEST(nothing_of_a_known_hider_is_partial)
{
	struct prof *p = prof_new();
	uint32_t i = tp_process(p, "/opt/rustc", 100, 13);
	struct report_opts o = {0};
	struct buf out = {0};

	T_EQ(coverage_of(p, NULL).partial, false);
	p->processes[i].coverage = prof_str(p, "it has a malloc of its own");
	T_EQ(coverage_of(p, NULL).partial, true);
	report_text(&out, p, &o);
	T_STR(buf_str(&out),
	      "PARTIAL  nothing was recorded: it has a malloc of its own\n"
	      "exited 0 after 0.01 s · exact, but not everything was recorded · 0 allocs, 0 "
	      "frees, 0 bytes · peak 0 B\n"
	      "freed only at exit 0\n");
	p->processes[i].peak_bytes = 4099;
	T_EQ(coverage_of(p, NULL).partial, false);
	buf_done(&out);
	prof_free(p);
}

/* Does the report begin with this line? */
static bool
begins(const struct buf *out, const char *line)
{
	size_t n = strlen(line);

	return strncmp(buf_str(out), line, n) == 0 && buf_str(out)[n] == '\n';
}

/* More that found no room than did: no verdict, and the reason that is true. */
T_TEST(mostly_missed_has_no_verdict)
{
	struct prof *p = prof_new();
	uint32_t i = add(p, "/opt/server", 100, 1);
	struct report_opts o = {0};
	struct buf out = {0};

	p->processes[i].lost[REC_LOST_SPACE] = 13;
	report_text(&out, p, &o);
	T_CHECK(begins(&out, "NO VERDICT  recorded 7 of 20 allocations (35 %); no "
			     "room: raise --max-size"));
	T_CHECK(strstr(buf_str(&out), "\nnot recorded: 13 allocations (no room: raise "
				      "--max-size)\n") != NULL);
	buf_clear(&out);
	p->processes[i].flags = REC_FLAG_SEALED;
	report_text(&out, p, &o);
	T_CHECK(begins(&out,
		       "NO VERDICT  recorded 7 of 20 allocations (35 %); no "
		       "room, and a seccomp filter keeps the recording from growing"));
	buf_done(&out);
	prof_free(p);
}

/* Frames shown, counted. */
static size_t
shown(const struct prof *p, uint32_t node, const char **ret_first)
{
	struct skip *s = skip_new(p, NULL);
	struct skip_stack st = {0};
	const struct prof_frame *f;
	size_t n;

	skip_stack(s, node, &st);
	n = st.len;
	f = n > 0 ? skip_frame(p, st.data[0]) : NULL;
	*ret_first = f != NULL ? prof_text(p, f->function) : "";
	vec_done(&st);
	skip_free(s);
	return n;
}

T_TEST(what_is_ours_is_never_shown)
{
	struct prof *p = prof_new();
	const char *first;
	uint32_t cut = prof_node(p, 0, prof_loc(p, 0, 0, PROF_LOC_TRUNCATED, false));
	uint32_t node = TP_STACK(p, "_IO_file_doallocate - libc.so.6", "puts - libc.so.6",
				 "exit - libc.so.6", "main_then_exit - libseep.so",
				 "__libc_start_main_impl - libc.so.6", "_start - app");

	T_EQ(shown(p, node, &first), 3);
	/* main, called by what could not be followed further */
	node = prof_node(
		p, cut,
		tp_loc(p, (const char *const[]){"main_then_exit - libseep.so"}, 1));
	node = prof_node(p, node, tp_loc(p, (const char *const[]){"main a.c:3 app"}, 1));
	T_EQ(shown(p, node, &first), 1);
	T_STR(first, "main");
	prof_free(p);
}

T_TEST(exceptions_belong_to_who_throws)
{
	struct prof *p = prof_new();
	const char *first;
	uint32_t thrown = TP_STACK(
		p, "malloc - libc.so.6", "__cxa_allocate_exception - libstdc++.so.6",
		"0x9d500 - libstdc++.so.6", "operator___new - libstdc++.so.6",
		"with_failing t.cc:6 app", "main t.cc:9 app");
	uint32_t named =
		TP_STACK(p, "malloc - libc.so.6", "0x9d500 - libstdc++.so.6",
			 "std::string::append - libstdc++.so.6", "main t.cc:9 app");

	T_EQ(shown(p, thrown, &first), 2);
	T_STR(first, "with_failing");
	T_EQ(shown(p, named, &first), 2);
	T_STR(first, "std::string::append");
	prof_free(p);
}

T_MAIN()
