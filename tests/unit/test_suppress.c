/* SPDX-License-Identifier: MIT */
/* test_suppress.c -- suppressions of valgrind and LSan: reading, messages, matching,
 * order of use. */
#include "t.h"
#include "tool/analyze/verdict/suppress_match.h"
#include "tool/format/text/suppress_read.h"
#include "tool/model/loss_kinds.h"

static struct suppress_set set;
static struct err e;

static int
load(const char *text)
{
	suppress_done(&set);
	e = (struct err){0};
	return suppress_read(&set, "f.supp", text, strlen(text), &e);
}

/* ---- reading ---- */

T_TEST(an_entry)
{
	T_EQ(load("# comment\n\n{\n   a name of it  \n\tMemcheck:Leak\n"
		  "  match-leak-kinds: definite, reachable\n   fun:mal*\n   ...\n"
		  "   obj:*/libx.so\n   src:a.c:7\n}\n"),
	     0);
	T_EQ(set.all.len, 1);
	T_STR(set.all.data[0].name, "a name of it");
	T_EQ(set.all.data[0].line, 4);
	T_EQ(set.all.data[0].about, SUPPRESS_LEAK);
	T_EQ(set.all.data[0].kinds, 1 << PROF_LOSS_DEFINITE | 1 << PROF_LOSS_REACHABLE);
	T_EQ(set.all.data[0].frames.len, 4);
	T_EQ(set.all.data[0].frames.data[1].part, SUPPRESS_FRAMES);
	T_STR(set.all.data[0].frames.data[2].pattern, "*/libx.so");
	T_EQ(set.all.data[0].frames.data[3].part, SUPPRESS_SOURCE);
	T_STR(set.files.data[0], "f.supp");
}

T_TEST(both_kinds_of_files_in_one)
{
	T_EQ(load("leak:first\r\n{\nx\nHelgrind,Memcheck:Leak\nfun:f\n}\n  leak:second*\n"),
	     0);
	T_EQ(set.all.len, 3);
	T_EQ(set.all.data[0].about, SUPPRESS_LSAN);
	T_STR(set.all.data[0].name, "first");
	T_EQ(set.all.data[1].kinds, LOSS_KINDS_ALL);
	T_STR(set.all.data[2].name, "second*");
	T_EQ(set.all.data[2].line, 7);
}

/* Those of other tools, and of other errors, are read and have no effect. */
T_TEST(others)
{
	T_EQ(load("{\nrace\nHelgrind:Race\nwhatever they write\nfun:f\n}\n"
		  "{\np\nMemcheck:Param\nwrite(buf)\nfun:write\n...\n}\n"
		  "{\nc\nMemcheck:Cond\nfun:f\n}\n{\nfree\nMemcheck:Free\nfun:free\n}\n"),
	     0);
	T_EQ(set.all.len, 4);
	T_EQ(set.all.data[0].about, SUPPRESS_OTHER);
	T_EQ(set.all.data[1].about, SUPPRESS_OTHER);
	T_EQ(set.all.data[1].frames.len, 2);
	T_EQ(set.all.data[3].about, SUPPRESS_FREE);
}

static void
refused(const char *text, const char *message)
{
	T_CHECK(load(text) < 0);
	T_STR(e.msg, message);
}

T_TEST(what_is_wrong_and_where)
{
	char many[512] = "{\nx\nMemcheck:Leak\n";

	refused("{\nx\nMemcheck:Leak\nfun:f\n",
		"f.supp:4: the file ends inside of a suppression: } is missing");
	refused("{\nx\n", "f.supp:2: the file ends inside of a suppression");
	refused("\n{\n}\n", "f.supp:3: a suppression without a name");
	refused("{\nx\nLeak\nfun:f\n}\n",
		"f.supp:3: \"Leak\": want the tool and kind of error, as Memcheck:Leak");
	refused("{\nx\nMemcheck:Lek\nfun:f\n}\n",
		"f.supp:3: \"Lek\": not a kind of Memcheck's errors");
	refused("{\nx\nMemcheck:Leak\nfn:f\n}\n",
		"f.supp:4: \"fn:f\": want fun:, obj:, src:, ... or }");
	refused("{\nx\nMemcheck:Leak\nfun:\n}\n", "f.supp:4: nothing behind \"fun:\"");
	refused("{\nx\nMemcheck:Leak\n}\n", "f.supp:4: no frames in it");
	refused("{\nx\nMemcheck:Leak\n...\n}\n",
		"f.supp:5: only \"...\" in it: at least one frame must be named");
	refused("{\nx\nMemcheck:Leak\nmatch-leak-kinds: lost\nfun:f\n}\n",
		"f.supp:4: match-leak-kinds: want definite, indirect, possible, reachable, "
		"all or none");
	refused("leak:a\nrace:b\n", "f.supp:2: \"race:b\": want { or leak:PATTERN");
	refused("leak:\n", "f.supp:1: \"leak:\": want { or leak:PATTERN");
	for (int i = 0; i < 25; i++)
		strncat(many, "fun:f\n", sizeof many - strlen(many) - 1);
	refused(many, "f.supp:28: more than 24 frames");
	T_CHECK(suppress_read(&set, "g", "leak:a\nle\0ak", 12, &e) < 0);
	T_STR(e.msg, "g:2: a NUL byte: not a text file");
}

/* ---- matching ---- */

static const struct loss_frame stack_frames[] = {
	{.function = "calloc", .linkage = "calloc", .module = "/usr/lib/libseep.so"},
	{.function = "get<int const&>",
	 .linkage = "get<int const&>",
	 .whole = "ns::get<int const&>",
	 .file = "/src/in.h",
	 .line = 5,
	 .module = "/opt/prog",
	 .inlined = true},
	{.function = "ns::make(int)",
	 .linkage = "_ZN2ns4makeEi",
	 .whole = "ns::make(int)",
	 .file = "/src/make.cc",
	 .line = 12,
	 .module = "/opt/prog"},
	{.module = "/opt/lib/libx.so.1"},
	{.function = "main",
	 .linkage = "main",
	 .file = "/src/main.c",
	 .line = 3,
	 .module = "/opt/prog"},
};

static size_t
find(const char *text, enum prof_loss_kind kind)
{
	struct loss_stack stack = {0};
	size_t at;

	T_EQ(load(text), 0);
	for (size_t i = 0; i < sizeof stack_frames / sizeof *stack_frames; i++)
		vec_push(&stack.frames, stack_frames[i]);
	at = suppress_find(&set, SUPPRESS_LEAK, 1u << kind, &stack);
	loss_stack_done(&stack);
	return at;
}

#define ENTRY(frames) "{\nx\nMemcheck:Leak\n" frames "}\n"
#define HIDES(frames) T_CHECK(find(ENTRY(frames), PROF_LOSS_DEFINITE) == 0)
#define HIDES_NOT(frames) T_CHECK(find(ENTRY(frames), PROF_LOSS_DEFINITE) == SIZE_MAX)

T_TEST(frames)
{
	HIDES("fun:calloc\n");
	HIDES("fun:?alloc\nfun:g*t*\nfun:_ZN2ns*\n");
	HIDES("fun:calloc\nfun:get<const int&>\n");
	HIDES_NOT("fun:calloc\nfun:set<int const&>\n");
	HIDES_NOT("fun:get\n");
	HIDES_NOT("fun:malloc\n");
	HIDES_NOT("fun:calloc\nfun:_ZN2ns4makeEi\n");
	HIDES("...\nfun:main\n");
	HIDES("fun:calloc\n...\nfun:main\n...\n");
	HIDES("...\nfun:calloc\n");
	HIDES_NOT("...\nfun:main\nfun:*\n");
	HIDES("fun:calloc\nobj:/opt/prog\nsrc:make.cc\nobj:*libx*\n");
	HIDES("fun:calloc\nsrc:/src/in.h:5\n");
	HIDES_NOT("fun:calloc\nsrc:in.h:6\n");
	HIDES("...\nfun:???\nfun:main\n");
	HIDES("...\nfun:_ZN2ns4makeEi.isra.0\n...\n");
	HIDES("fun:*\nfun:*\nfun:*\nfun:*\nfun:*\n");
	HIDES_NOT("fun:*\nfun:*\nfun:*\nfun:*\nfun:*\nfun:*\n");
}

T_TEST(kinds)
{
	static const char text[] =
		"{\nx\nMemcheck:Leak\nmatch-leak-kinds: possible\nfun:calloc\n}\n";

	T_CHECK(find(text, PROF_LOSS_POSSIBLE) == 0);
	T_CHECK(find(text, PROF_LOSS_DEFINITE) == SIZE_MAX);
}

T_TEST(lsan)
{
	T_CHECK(find("leak:make\n", PROF_LOSS_DEFINITE) == 0);
	T_CHECK(find("leak:^ns::make(int)$\n", PROF_LOSS_INDIRECT) == 0);
	T_CHECK(find("leak:^make\n", PROF_LOSS_DEFINITE) == SIZE_MAX);
	T_CHECK(find("leak:ns*int\n", PROF_LOSS_DEFINITE) == 0);
	T_CHECK(find("leak:ns::get\n", PROF_LOSS_DEFINITE) == 0);
	T_CHECK(find("leak:libx.so\n", PROF_LOSS_DEFINITE) == 0);
	T_CHECK(find("leak:/src/main.c\n", PROF_LOSS_DEFINITE) == 0);
	T_CHECK(find("leak:nothing\n", PROF_LOSS_DEFINITE) == SIZE_MAX);
	T_CHECK(find("leak:main\n", PROF_LOSS_REACHABLE) == SIZE_MAX);
}

/* What was read last is tried first; what was used comes before all others. */
T_TEST(order)
{
	T_CHECK(find("{\na\nMemcheck:Leak\nfun:c*\n}\n{\nb\nMemcheck:Leak\nfun:cal*\n}\n",
		     PROF_LOSS_DEFINITE) == 1);
	T_STR(set.all.data[set.order.data[1]].name, "b");
	suppress_used(&set, 0);
	T_STR(set.all.data[set.order.data[1]].name, "a");
	T_EQ(set.all.data[0].count, 1);
	T_EQ(set.all.data[1].count, 0);
}

T_TEST(patterns)
{
	T_CHECK(suppress_glob("", ""));
	T_CHECK(suppress_glob("*", ""));
	T_CHECK(!suppress_glob("?", ""));
	T_CHECK(suppress_glob("a*b*c", "axxbyyc"));
	T_CHECK(!suppress_glob("a*b*c", "axxcyyb"));
	T_CHECK(suppress_glob("*aab", "aaaaaab"));
	T_CHECK(!suppress_glob("a", "ab"));
	T_CHECK(suppress_glob("[x]", "[x]")); /* no sets in valgrind's */
	T_CHECK(suppress_template("b*d", "abcde"));
	T_CHECK(!suppress_template("b$", "abc"));
	T_CHECK(suppress_template("^", "x"));
	T_CHECK(!suppress_template("x", ""));
}

T_MAIN()
