/* SPDX-License-Identifier: MIT */
/* test_report_losses.c -- what reports say of memory that is lost, from profiles built by
 * hand: seep's own words and memcheck's. */
#include "t.h"
#include "t_prof.h"
#include "tool/model/loss_kinds.h"
#include "tool/render/leaks/leak_xml.h"
#include "tool/render/leaks/memcheck.h"
#include "tool/render/report/report.h"

static struct buf out;

static const char *
render(const struct prof *p, unsigned kinds)
{
	struct report_opts o = {.leak_kinds = kinds};

	buf_clear(&out);
	report_text(&out, p, &o);
	return buf_str(&out);
}

static void
check(struct prof *p, bool done, bool loose)
{
	uint32_t row = prof_add_check(p);

	p->checks[row] = (struct prof_check){.process = 1, .done = done, .loose = loose};
	if (!done)
		p->checks[row].why = prof_str(p, "no room");
}

static void
loss(struct prof *p, uint32_t site, enum prof_loss_kind kind, uint64_t blocks,
     uint64_t bytes, uint64_t indirect)
{
	uint32_t row = prof_add_loss(p);

	p->losses[row] = (struct prof_loss){.site = site,
					    .kind = kind,
					    .blocks = blocks,
					    .bytes = bytes,
					    .indirect_bytes = indirect};
}

/* 80 blocks at site 1, 40 at site 2. */
static struct prof *
all_lost(void)
{
	struct prof *p = tp_demo();

	check(p, true, false);
	loss(p, 1, PROF_LOSS_DEFINITE, 80, (uint64_t)p->sites[1].live_bytes, 0);
	loss(p, 2, PROF_LOSS_DEFINITE, 40, (uint64_t)p->sites[2].live_bytes, 0);
	return p;
}

T_TEST(all_of_it_definitely)
{
	struct prof *p = all_lost();

	T_STR(render(p, 0),
	      "LEAK  6.13 MiB in 120 blocks lost at 2 sites, 120 times\n"
	      " 1  3.09 MiB  50 %   80 blocks, 0 freed\n"
	      "    do_something        jemalloc-demo.c:7    malloc(i * 1024);\n"
	      "    main                jemalloc-demo.c:22\n"
	      " 2  3.05 MiB  50 %   40 blocks, 0 freed\n"
	      "    do_something_else   jemalloc-demo.c:13   malloc(i * 4096);\n"
	      "    main                jemalloc-demo.c:27\n"
	      "exited 0 after 0.02 s · exact, nothing missed · 120 allocs, 0 "
	      "frees, 6,430,720 bytes · peak 6.13 MiB at 0.02 s\n"
	      "definitely lost 6.13 MiB in 120 blocks · possibly lost 0 · still reachable "
	      "0 · freed only at exit 0 · temporary 0 % of allocations\n");
	prof_free(p);
}

/* 50 of the 80 are lost in three ways, 30 and the 40 are not. */
static struct prof *
some_lost(void)
{
	struct prof *p = tp_demo();

	check(p, true, false);
	loss(p, 1, PROF_LOSS_DEFINITE, 7, 700, 4100);
	loss(p, 1, PROF_LOSS_INDIRECT, 41, 4100, 0);
	loss(p, 1, PROF_LOSS_POSSIBLE, 2, 200, 0);
	loss(p, 1, PROF_LOSS_REACHABLE, 30, 3000, 0);
	loss(p, 2, PROF_LOSS_REACHABLE, 40, 40000, 0);
	return p;
}

T_TEST(several_kinds)
{
	struct prof *p = some_lost();
	const char *got = render(p, 0);

	T_CHECK(strstr(got,
		       "LEAK (minor)  4.69 KiB in 48 blocks lost at 1 site, 7 times\n"
		       " 1  700 B + 4.00 KiB through it  100 %   7 blocks, 0 freed, 2 more "
		       "possibly lost, 30 more still reachable\n") == got);
	T_CHECK(strstr(got,
		       "\ndefinitely lost 700 B in 7 blocks · indirectly lost 4.00 KiB in "
		       "41 blocks · possibly lost 200 B in 2 blocks · still reachable 42.0 KiB in 70 "
		       "blocks · freed only at exit 0") != NULL);
	T_CHECK(strstr(got, "do_something_else") == NULL);
	got = render(p, 1u << PROF_LOSS_REACHABLE);
	T_CHECK(strstr(got,
		       "\n 1  39.1 KiB  93 %   40 blocks, 0 freed, still reachable\n") !=
		NULL);
	T_CHECK(strstr(got,
		       "\n 2  2.93 KiB   7 %   30 blocks, 0 freed, still reachable, 7 more "
		       "definitely lost, 41 more indirectly lost, 2 more possibly lost\n") !=
		NULL);
	prof_free(p);
}

/* Rows are the sites of roots, ranked by what would be freed with them. */
T_TEST(indirect_losses_count_at_their_roots)
{
	struct prof *p = tp_demo();
	struct skip *s = skip_new(p, NULL);
	struct sites ss;
	const char *got;

	check(p, true, false);
	loss(p, 1, PROF_LOSS_DEFINITE, 7, 700, 41000);
	loss(p, 2, PROF_LOSS_INDIRECT, 40, 41000, 0);
	got = render(p, 0);
	T_CHECK(strstr(got,
		       " lost at 1 site, 7 times\n"
		       " 1  700 B + 40.0 KiB through it  100 %   7 blocks, 0 freed\n"
		       "    do_something   jemalloc-demo.c:7    malloc(i * 1024);\n") !=
		NULL);
	T_CHECK(strstr(got, "do_something_else") == NULL);
	T_CHECK(strstr(got, "\ndefinitely lost 700 B in 7 blocks · indirectly lost 40.0 "
			    "KiB in 40 blocks · ") != NULL);
	got = render(p, 1u << PROF_LOSS_DEFINITE | 1u << PROF_LOSS_INDIRECT);
	T_CHECK(strstr(got, " 1  40.0 KiB   98 %   40 blocks, 0 freed, indirectly lost\n"
			    "    do_something_else ") != NULL);
	T_CHECK(strstr(got, " 2     700 B  1.7 %   7 blocks, 0 freed\n") != NULL);

	/* A root with much behind it comes before one that is larger itself. */
	loss(p, 2, PROF_LOSS_DEFINITE, 3, 30000, 0);
	sites_init(&ss, p, s, &(struct sites_query){.by = SITES_LOST, .depth = 8});
	T_EQ(ss.rows[0].t.lost_bytes, 700);
	T_EQ(ss.rows[0].t.through_bytes, 41000);
	T_EQ(sites_value(&ss.rows[0].t, SITES_LOST), 41700);
	T_EQ(sites_value(&ss.rows[1].t, SITES_LOST), 30000);
	T_EQ(sites_value(&ss.total, SITES_LOST), 71700);
	sites_done(&ss);
	skip_free(s);
	prof_free(p);
}

/* A suppression hides the roots: what is left has rows of its own. */
T_TEST(indirect_losses_without_roots)
{
	struct prof *p = tp_demo();

	check(p, true, false);
	loss(p, 1, PROF_LOSS_SUPPRESSED, 7, 700, 41000);
	loss(p, 2, PROF_LOSS_INDIRECT, 40, 41000, 0);
	T_CHECK(strstr(render(p, 0), " 1  40.0 KiB  100 %   40 blocks, 0 freed, "
				     "indirectly lost\n") != NULL);
	prof_free(p);
}

T_TEST(only_possibly)
{
	struct prof *p = tp_demo();

	check(p, true, false);
	loss(p, 1, PROF_LOSS_POSSIBLE, 3, 300, 0);
	T_CHECK(strncmp(render(p, 0), "OK  no leak: 120 allocs, 0 frees; peak ", 39) ==
		0);
	T_CHECK(strstr(render(p, 0), "\n 1  ") == NULL);
	T_CHECK(strstr(render(p, 1u << PROF_LOSS_POSSIBLE),
		       "\n 1  300 B  100 %   3 blocks, 0 freed, possibly lost\n") !=
		NULL);
	prof_free(p);
}

T_TEST(nothing_lost)
{
	struct prof *p = tp_demo();
	const char *got;

	check(p, true, false);
	loss(p, 1, PROF_LOSS_REACHABLE, 80, 3000, 0);
	got = render(p, 0);
	T_CHECK(strncmp(got, "OK  no leak: 120 allocs, 0 frees; peak ", 39) == 0);
	T_CHECK(strstr(got, "still reachable 2.93 KiB in 80 blocks") != NULL);
	T_CHECK(strstr(got, "\n 1  ") == NULL);
	prof_free(p);
}

/* Blocks that nobody knows of may be lost: no OK. But what was found is found. */
T_TEST(not_all_blocks_known)
{
	struct prof *p = tp_demo();

	check(p, true, true);
	loss(p, 1, PROF_LOSS_REACHABLE, 80, 3000, 0);
	T_CHECK(strncmp(render(p, 0), "NO VERDICT  ", 12) == 0);
	T_CHECK(strstr(render(p, 0),
		       "\nno leak check: not all of the program's blocks are known\n") !=
		NULL);
	loss(p, 2, PROF_LOSS_DEFINITE, 1, 100, 0);
	T_CHECK(strncmp(render(p, 0),
			"LEAK (minor)  100 B in 1 block lost at 1 site, once\n",
			52) == 0);
	prof_free(p);
}

T_TEST(not_looked_at)
{
	struct prof *p = tp_demo();

	check(p, false, false);
	T_CHECK(strncmp(render(p, 0),
			"NO VERDICT  6.13 MiB in 120 blocks at 2 sites not freed; no leak "
			"check: no room\n",
			80) == 0);
	T_CHECK(strstr(render(p, 0), "\nno leak check: no room\n") != NULL);
	prof_free(p);
}

/* ---- memcheck's words ---- */

static const char *
memcheck(const struct prof *p, unsigned kinds)
{
	struct memcheck_opts o = {
		.show = kinds, .errors = LOSS_KINDS_ERRORS, .level = MEMCHECK_FULL};
	struct skip *s = skip_new(p, NULL);

	buf_clear(&out);
	memcheck_text(&out, p, s, 1, &o);
	skip_free(s);
	return buf_str(&out);
}

T_TEST(memcheck_words)
{
	struct prof *p = some_lost();
	const char *got;

	p->processes[1].pid = 4711;
	got = memcheck(p, 15);
	T_CHECK(strstr(got,
		       "==4711== \n"
		       "==4711== HEAP SUMMARY:\n"
		       "==4711==     in use at exit: 48,000 bytes in 120 blocks\n"
		       "==4711==   total heap usage: 120 allocs, 0 frees, 6,430,720 bytes "
		       "allocated\n"
		       "==4711== \n"
		       "==4711== 200 bytes in 2 blocks are possibly lost in loss record 1 of "
		       "5\n") == got);
	T_CHECK(strstr(got,
		       "==4711== 4,800 (700 direct, 4,100 indirect) bytes in 7 blocks are "
		       "definitely lost in loss record 4 of 5\n") != NULL);
	T_CHECK(strstr(got,
		       "==4711== LEAK SUMMARY:\n"
		       "==4711==    definitely lost: 700 bytes in 7 blocks\n"
		       "==4711==    indirectly lost: 4,100 bytes in 41 blocks\n"
		       "==4711==      possibly lost: 200 bytes in 2 blocks\n"
		       "==4711==    still reachable: 43,000 bytes in 70 blocks\n"
		       "==4711==         suppressed: 0 bytes in 0 blocks\n"
		       "==4711== \n"
		       "==4711== For lists of detected and suppressed errors, rerun with: "
		       "-s\n"
		       "==4711== ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 0 "
		       "from 0)\n") != NULL);
	got = memcheck(p, 1u << PROF_LOSS_DEFINITE);
	T_CHECK(strstr(got, "possibly lost in loss record") == NULL);
	T_CHECK(strstr(got, "definitely lost in loss record 4 of 5\n") != NULL);
	T_CHECK(strstr(got,
		       "Reachable blocks (those to which a pointer was found) are not "
		       "shown.\n") != NULL);
	prof_free(p);
}

T_TEST(memcheck_without_a_check)
{
	struct prof *p = tp_demo();
	const char *got;

	p->processes[1].pid = 4711;
	got = memcheck(p, 15);
	T_CHECK(strstr(got,
		       "==4711==     in use at exit: 6,430,720 bytes in 120 blocks\n") !=
		NULL);
	T_CHECK(strstr(got, "==4711== No leak check\n==4711== \n") != NULL);
	T_CHECK(strstr(got, "ERROR SUMMARY: 0 errors from 0 contexts") != NULL);
	prof_free(p);
}

T_TEST(memcheck_all_freed)
{
	struct prof *p = tp_demo();
	const char *got;

	p->processes[1].pid = 4711;
	check(p, true, false);
	got = memcheck(p, 15);
	T_CHECK(strstr(got,
		       "==4711== All heap blocks were freed -- no leaks are possible\n") !=
		NULL);
	T_CHECK(strstr(got, "LEAK SUMMARY") == NULL);
	prof_free(p);
}

/* Wrong use of the heap, as memcheck tells it: twice with -s, in the order of how
 * often. */
T_TEST(memcheck_wrong_use)
{
	struct prof *p = some_lost();
	struct suppress_set set = {0};
	struct memcheck_error wrong[] = {
		{.kind = "InvalidFree",
		 .what = "Invalid free() / delete / delete[] / realloc()",
		 .process = 1,
		 .count = 3,
		 .at = {p->sites[1].node, "free"},
		 .about = "Address 0x10 is 0 bytes inside a block of size 10 free'd",
		 .freed = {p->sites[2].node, "free"},
		 .block = "Block was alloc'd at",
		 .allocated = {p->sites[1].node, "malloc"}},
		{.kind = "Overlap",
		 .what = "not to be told",
		 .process = 1,
		 .count = 5,
		 .suppressed = true},
		{.kind = "MismatchedFree",
		 .what = "Mismatched free() / delete / delete []",
		 .process = 1,
		 .count = 1,
		 .at = {p->sites[2].node, "_ZdlPv"}},
	};
	struct memcheck_opts o = {.show = 0,
				  .errors = LOSS_KINDS_ERRORS,
				  .level = MEMCHECK_FULL,
				  .set = &set,
				  .wrong = wrong,
				  .nwrong = 3};
	struct skip *s = skip_new(p, NULL);
	const char *got, *first;

	p->processes[1].pid = 4711;
	buf_clear(&out);
	memcheck_text(&out, p, s, 1, &o);
	got = buf_str(&out);
	T_CHECK(strstr(got, "==4711== Invalid free() / delete / delete[] / realloc()\n"
			    "==4711==    at 0x0: free (in libseep.so)\n") == got);
	T_CHECK(strstr(got,
		       "==4711==  Address 0x10 is 0 bytes inside a block of size 10 free'd\n"
		       "==4711==    at 0x0: free (in libseep.so)\n") != NULL);
	T_CHECK(strstr(got, "==4711==  Block was alloc'd at\n"
			    "==4711==    at 0x0: malloc (in libseep.so)\n") != NULL);
	T_CHECK(strstr(got, "not to be told") == NULL);
	first = strstr(got,
		       "ERROR SUMMARY: 6 errors from 4 contexts (suppressed: 5 from 1)\n"
		       "==4711== \n"
		       "==4711== 1 errors in context 1 of 4:\n"
		       "==4711== Mismatched free() / delete / delete []\n");
	T_CHECK(first != NULL);
	T_CHECK(first != NULL &&
		strstr(first, "==4711== 3 errors in context 2 of 4:\n") != NULL);
	T_CHECK(first != NULL && strstr(first + 1, "ERROR SUMMARY: 6 errors") != NULL);
	buf_clear(&out);
	leak_xml(&out, p, s, 1, &o, &(struct leak_xml_args){0});
	got = buf_str(&out);
	T_CHECK(strstr(got,
		       "<error>\n  <unique>0x0</unique>\n  <tid>1</tid>\n"
		       "  <kind>InvalidFree</kind>\n"
		       "  <what>Invalid free() / delete / delete[] / realloc()</what>\n"
		       "  <stack>\n") != NULL);
	T_CHECK(strstr(got, "  <auxwhat>Block was alloc'd at</auxwhat>\n  <stack>\n") !=
		NULL);
	T_CHECK(strstr(got, "<errorcounts>\n  <pair>\n    <count>1</count>\n"
			    "    <unique>0x1</unique>\n  </pair>\n  <pair>\n"
			    "    <count>3</count>\n    <unique>0x0</unique>\n  </pair>\n"
			    "</errorcounts>\n") != NULL);
	skip_free(s);
	prof_free(p);
}

T_MAIN()
