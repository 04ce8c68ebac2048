/* SPDX-License-Identifier: MIT */
/* test_report_frames.c -- which frames of a stack are listed, and whose source is
 * quoted. */
#include "tool/render/report/report.h"

#include "t.h"
#include "t_prof.h"

static struct buf out;

/* The lines of the list that show the stack of the only site. */
static const char *
listed(struct prof *p)
{
	struct report_opts o = {.by_given = true};
	char *at;

	buf_clear(&out);
	report_text(&out, p, &o);
	at = strstr(buf_str(&out), "\n 1  ");
	if (at == NULL)
		return buf_str(&out);
	at = strchr(at + 1, '\n') + 1;
	if (strstr(at, "\nexited") != NULL)
		strstr(at, "\nexited")[1] = '\0';
	return at;
}

static struct prof *
begin(void)
{
	struct prof *p = prof_new();

	tp_process(p, "/usr/lib/prog", 11, 10);
	return p;
}

static void
quote(struct prof *p, const char *function, const char *text)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (strcmp(prof_text(p, p->frames[i].function), function) == 0)
			p->frames[i].source = prof_str(p, text);
	}
}

T_TEST(the_programs_line_behind_libc)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "strdup - libc.so.6", "copy c.c:4 prog",
			 "main c.c:9 prog"),
		1, 0, 100, 0);
	quote(p, "copy", "return strdup(s);");
	quote(p, "main", "copy(argv[1]);");
	T_STR(listed(p), "    strdup   +0x1c in libc.so.6\n"
			 "    copy     c.c:4                return strdup(s);\n"
			 "    main     c.c:9\n");
	prof_free(p);
}

T_TEST(the_programs_frame_is_shown_however_deep)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "a - libx.so", "b - libx.so",
			 "c - libx.so", "d - libx.so", "e - libx.so", "f - libx.so",
			 "g - libx.so", "h - libx.so", "i - libx.so", "own - prog",
			 "run - prog", "main - prog"),
		1, 0, 100, 0);
	T_STR(listed(p), "    a     +0x1c in libx.so\n"
			 "    b     +0x1c in libx.so\n"
			 "    c     +0x1c in libx.so\n"
			 "    d     +0x1c in libx.so\n"
			 "    e     +0x1c in libx.so\n"
			 "    f     +0x1c in libx.so\n"
			 "    g     +0x1c in libx.so\n"
			 "    \xe2\x80\xa6 2 more frames (--all)\n"
			 "    own   +0x1c in prog\n"
			 "    \xe2\x80\xa6 2 more frames (--all)\n");
	prof_free(p);
}

T_TEST(why_there_are_no_lines_is_said_once)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "a - libx.so", "own - prog",
			 "b - libx.so", "main - prog"),
		1, 0, 100, 0);
	for (uint32_t i = 1; i < p->nmodules; i++)
		p->modules[i].why_no_names = prof_str(p, "built without -g");
	T_STR(listed(p), "    a      +0x1c in libx.so   (no lines: built without -g)\n"
			 "    own    +0x1c in prog      (no lines: built without -g)\n"
			 "    b      +0x1c in libx.so\n"
			 "    main   +0x1c in prog\n");
	prof_free(p);
}

T_TEST(no_line_for_one_more_frame)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "a a.c:1 prog", "b a.c:2 prog",
			 "c a.c:3 prog", "d a.c:4 prog", "e a.c:5 prog", "f a.c:6 prog",
			 "g a.c:7 prog", "h a.c:8 prog", "main a.c:9 prog"),
		1, 0, 100, 0);
	T_CHECK(strstr(listed(p), "more frame") == NULL);
	T_CHECK(strstr(listed(p), "    main   a.c:9\n") != NULL);
	prof_free(p);
}

T_TEST(addresses_in_one_module_share_a_line)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "0x10 - libx.so", "0x11 - libx.so",
			 "0x20 - prog", "0x21 - prog", "0x22 - prog", "0x23 - prog",
			 "named - prog", "0x24 - prog", "0x25 - prog", "0x26 - prog"),
		1, 0, 100, 0);
	p->modules[p->locs[p->nlocs - 1].module].why_no_names = prof_str(p, "stripped");
	T_STR(listed(p), "    0x10 in libx.so\n"
			 "    0x11 in libx.so\n"
			 "    0x20 and 3 callers in prog\n"
			 "    named   +0x1c in prog\n"
			 "    0x24 and 2 callers in prog\n");
	prof_free(p);
}

T_TEST(a_line_that_calls_itself_is_shown_once)
{
	struct prof *p = begin();

	tp_site(p, 1,
		TP_STACK(p, "malloc - libc.so.6", "make a.c:1 prog", "walk a.c:2 prog",
			 "walk a.c:2 prog", "walk a.c:2 prog", "walk a.c:2 prog",
			 "walk a.c:3 prog", "walk a.c:3 prog", "main a.c:9 prog"),
		1, 0, 100, 0);
	T_STR(listed(p), "    make   a.c:1\n"
			 "    walk   a.c:2   (4 times)\n"
			 "    walk   a.c:3\n"
			 "    walk   a.c:3\n"
			 "    main   a.c:9\n");
	prof_free(p);
}

T_MAIN()
