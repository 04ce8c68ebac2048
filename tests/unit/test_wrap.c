/* SPDX-License-Identifier: MIT */
/* test_wrap.c -- reports on a narrow terminal: lines break between words, long names are
 * cut and source lines are not; and classes of sizes and ages in words. */
#include "tool/render/wrap.h"

#include "t.h"
#include "t_prof.h"
#include "tool/render/figure.h"
#include "tool/render/report/report.h"

/* `text` wrapped at 40 columns. */
static const char *
wrapped(const char *text)
{
	static struct buf out;

	buf_clear(&out);
	buf_add_str(&out, text);
	wrap_text(&out, 0, 40);
	return buf_str(&out);
}

T_TEST(lines_break_between_words)
{
	T_STR(wrapped("OK  short\n"), "OK  short\n");
	T_STR(wrapped("exited 0 after 5 ms \xc2\xb7 exact \xc2\xb7 79 allocs, 5 frees\n"),
	      "exited 0 after 5 ms \xc2\xb7 exact \xc2\xb7\n    79 allocs, 5 frees\n");
	/* a dot stays with the fact before it */
	T_STR(wrapped("definitely lost 8 KiB in all of its 240s \xc2\xb7 possibly lost 0\n"),
	      "definitely lost 8 KiB in all of its\n    240s \xc2\xb7 possibly lost 0\n");
	/* a number stays with its unit */
	T_STR(wrapped("LEAK  5.77 KiB in a few times about 1234 blocks lost\n"),
	      "LEAK  5.77 KiB in a few times about\n    1234 blocks lost\n");
	T_STR(wrapped("LEAK  5.77 KiB in a few times or about 72 blocks\n"),
	      "LEAK  5.77 KiB in a few times or about\n    72 blocks\n");
	/* a command stays in one piece */
	T_STR(wrapped("saved a.rec (names inside)     next: seep report --all a.rec\n"),
	      "saved a.rec (names inside)\n    next: seep report --all a.rec\n");
	T_STR(wrapped("next: seep attach 4711 --for 10m --exact --children\nb\n"),
	      "next: seep attach 4711 --for 10m --exact --children\nb\n");
	T_STR(wrapped("next: seep leaks 4711 (who holds it) \xc2\xb7 seep attach 4711\n"),
	      "next: seep leaks 4711 (who holds it) \xc2\xb7\n    seep attach 4711\n");
	/* a word cannot be broken, and colours take no room */
	T_STR(wrapped("0123456789012345678901234567890123456789012345\n"),
	      "0123456789012345678901234567890123456789012345\n");
	T_STR(wrapped("\033[1;31mLEAK\033[0m  that is 40 columns wide, no more\n"),
	      "\033[1;31mLEAK\033[0m  that is 40 columns wide, no more\n");
	T_STR(wrapped("    main +0x1c in prog   (no lines: built without -g)\n"),
	      "    main +0x1c in prog   (no lines:\n      built without -g)\n");
}

T_TEST(long_names_leave_room_for_the_source)
{
	struct term t = {.columns = 80};
	struct report_opts o = {.term = &t, .by_given = true};
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 10);
	struct buf out = {0};
	const char *line;

	tp_site(p, pr,
		TP_STACK(p,
			 "company::project::module::make_a_very_long_name_of_a_thing "
			 "a_long_name_of_a_source_file.cc:1234 prog",
			 "main a.c:90 prog"),
		1, 0, 100, 0);
	for (uint32_t i = 0; i < p->nframes; i++)
		p->frames[i].source = prof_str(p, "return new thing(with, arguments);");
	report_text(&out, p, &o);
	T_CHECK(strstr(buf_str(&out),
		       "\n    company::\xe2\x80\xa6"
		       "long_name_of_a_thing   a_long\xe2\x80\xa6"
		       "_file.cc:1234   return new thing(wi\xe2\x80\xa6\n") != NULL);
	for (line = buf_str(&out); *line != '\0'; line += strcspn(line, "\n") + 1) {
		char one[400];

		snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
		T_CHECK(figure_width(one) <= 80);
	}
	buf_done(&out);
	prof_free(p);
}

T_TEST(classes_of_sizes_and_ages)
{
	T_STR(figure_size_range(0, 16).s, "1\xe2\x80\x93"
					  "16 B");
	T_STR(figure_size_range(64, 128).s, "65\xe2\x80\x93"
					    "128 B");
	T_STR(figure_size_range(512, 1024).s, "512 B\xe2\x80\x93"
					      "1 KiB");
	T_STR(figure_size_range(65536, 131072).s, "64\xe2\x80\x93"
						  "128 KiB");
	T_STR(figure_size_range(262144, UINT64_MAX).s, "over 256 KiB");
	T_STR(figure_ms_range(0, 1).s, "0\xe2\x80\x93"
				       "1 ms");
	T_STR(figure_ms_range(256, 512).s, "256\xe2\x80\x93"
					   "512 ms");
	T_STR(figure_ms_range(512, 1024).s, "0.5\xe2\x80\x93"
					    "1.0 s");
	T_STR(figure_ms_range(8192, 16384).s, "8.2\xe2\x80\x93"
					      "16 s");
	T_STR(figure_ms_range(65536, 131072).s, "1.1\xe2\x80\x93"
						"2.2 min");
	T_STR(figure_ms_range(UINT64_C(1) << 26, UINT64_MAX).s, "over 19 h");
}

T_MAIN()
