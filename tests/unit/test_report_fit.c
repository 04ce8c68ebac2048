/* SPDX-License-Identifier: MIT */
/* test_report_fit.c -- a report fits on a screen of 80 columns and 25 lines, unless the
 * user asks for more. */
#include "tool/render/report/report.h"

#include <stdio.h>

#include "t.h"
#include "t_prof.h"

static struct buf out;

/* `sites` sites of a program, each with a stack of ten frames in which the user's own is
 * frame `own`. The first loses most. */
static struct prof *
lost(unsigned sites, unsigned own, unsigned bytes)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/usr/lib/prog", 11, 10), row = prof_add_check(p);

	p->checks[row] = (struct prof_check){.process = pr, .done = true};
	for (unsigned i = 0; i < sites; i++) {
		char text[10][40];
		const char *frames[12] = {"malloc - libc.so.6"};
		uint64_t lost_bytes = (uint64_t)bytes * (sites - i);

		for (unsigned k = 0; k < 10; k++) {
			if (k < own)
				snprintf(text[k], sizeof text[k], "f%u_%u - libx.so", i,
					 k);
			else
				snprintf(text[k], sizeof text[k], "f%u_%u p.c:%u prog", i,
					 k, 100 * i + k + 1);
			frames[k + 1] = text[k];
		}
		tp_site(p, pr, tp_stack(p, frames), 1, 0, lost_bytes, 0);
		row = prof_add_loss(p);
		p->losses[row] = (struct prof_loss){.site = i + 1,
						    .kind = PROF_LOSS_DEFINITE,
						    .blocks = 1,
						    .bytes = lost_bytes};
	}
	return p;
}

static unsigned
count(const char *text, const char *what)
{
	unsigned n = 0;

	for (; (text = strstr(text, what)) != NULL; text++)
		n++;
	return n;
}

static const char *
render(const struct prof *p, struct report_opts *o)
{
	static struct term term = {.columns = 80};

	o->term = &term;
	o->saved = "prog.rec";
	o->next = "seep report";
	buf_clear(&out);
	report_text(&out, p, o);
	return buf_str(&out);
}

T_TEST(however_many_sites)
{
	for (unsigned sites = 1; sites < 30; sites++) {
		for (unsigned own = 0; own < 10; own += 3) {
			struct prof *p = lost(sites, own, 65537);
			const char *got = render(p, &(struct report_opts){0});
			char user[40];

			snprintf(user, sizeof user, "\n    f0_%u ", own);
			T_CHECK(strncmp(got, "LEAK  ", 6) == 0);
			T_CHECK(count(got, "\n") <= 25);
			T_CHECK(strstr(got, user) != NULL);
			/* the same with tables */
			got = render(p, &(struct report_opts){.tables = true});
			T_CHECK(count(got, "\n") <= 25);
			T_CHECK(strstr(got, user) != NULL);
			prof_free(p);
		}
	}
}

T_TEST(one_site_has_all_its_frames)
{
	struct prof *p = lost(1, 0, 65537);
	const char *got = render(p, &(struct report_opts){0});

	T_EQ(count(got, "\n    f0_"), 8);
	T_CHECK(strstr(got, "\n    \xe2\x80\xa6 2 more frames (--all)\n") != NULL);
	prof_free(p);
}

T_TEST(further_sites_have_fewer)
{
	struct prof *p = lost(3, 2, 65537);

	T_STR(render(p, &(struct report_opts){0}),
	      "LEAK  384 KiB in 3 blocks lost at 3 sites, 3 times\n"
	      " 1   192 KiB  50 %   1 block, 0 freed\n"
	      "    f0_0   +0x1c in libx.so\n"
	      "    f0_1   +0x1c in libx.so\n"
	      "    f0_2   p.c:3\n"
	      "    f0_3   p.c:4\n"
	      "    f0_4   p.c:5\n"
	      "    f0_5   p.c:6\n"
	      "    f0_6   p.c:7\n"
	      "    f0_7   p.c:8\n"
	      " 2   128 KiB  33 %   1 block, 0 freed\n"
	      "    f1_0   +0x1c in libx.so\n"
	      "    f1_1   +0x1c in libx.so\n"
	      "    f1_2   p.c:103\n"
	      " 3  64.0 KiB  17 %   1 block, 0 freed\n"
	      "    f2_0   +0x1c in libx.so\n"
	      "    f2_1   +0x1c in libx.so\n"
	      "    f2_2   p.c:203\n"
	      "    (16 callers left out, --all shows them)\n"
	      "exited 0 after 0.01 s \xc2\xb7 exact, nothing missed \xc2\xb7\n"
	      "    3 allocs, 0 frees, 393,222 bytes \xc2\xb7 peak 384 KiB at 0.01 s\n"
	      "definitely lost 384 KiB in 3 blocks \xc2\xb7 possibly lost 0 \xc2\xb7 "
	      "still reachable 0 \xc2\xb7\n"
	      "    freed only at exit 0 \xc2\xb7 temporary 0 % of allocations\n"
	      "saved prog.rec (without names)     next: seep report\n");
	prof_free(p);
}

T_TEST(the_user_asks_for_more)
{
	struct prof *p = lost(20, 0, 65537);
	const char *got = render(p, &(struct report_opts){.all = true});

	T_EQ(count(got, "   1 block, 0 freed\n"), 20);
	T_EQ(count(got, " p.c:"), 200);
	got = render(p, &(struct report_opts){.rows = 20});
	T_EQ(count(got, "   1 block, 0 freed\n"), 20);
	T_EQ(count(got, " p.c:"), 160);
	prof_free(p);
}

T_TEST(a_minor_leak_has_three_sites)
{
	struct prof *p = lost(20, 0, 16);
	const char *got = render(p, &(struct report_opts){0});

	T_CHECK(strncmp(got, "LEAK (minor)  ", 14) == 0);
	T_EQ(count(got, "   1 block, 0 freed\n"), 3);
	T_EQ(count(got, "\n    f0_"), 5);
	T_EQ(count(got, "\n    f1_"), 3);
	T_EQ(count(got, "\n    f2_"), 3);
	T_CHECK(strstr(got, "\n    17 more sites, 2.39 KiB (--all)\n") != NULL);
	T_CHECK(count(got, "\n") <= 25);
	prof_free(p);
}

T_MAIN()
