/* SPDX-License-Identifier: MIT */
/* test_peer_opts.c -- option words as Perl's Getopt::Long and Go's flag package read
 * them. */
#include "tool/compat/peer_opts.h"

#include <string.h>

#include "t.h"

static struct given {
	bool text, test, show_bytes;
	const char *base;
	uint64_t count;
	double part;
} given;

#define AT(member) .at = offsetof(struct given, member)

static const struct opt table[] = {
	{"text", 0, OPT_NONE, AT(text)},
	{"test", 0, OPT_NONE, AT(test)},
	{"show_bytes", 0, OPT_NONE, AT(show_bytes)},
	{"base", 0, OPT_STRING, AT(base)},
	{"nodecount", 0, OPT_U64, AT(count)},
	{"nodefraction", 0, OPT_FLOAT, AT(part)},
	{0},
};

static struct peer_words words;
static struct err e;

/* Reads up to eight words. */
static int
take(enum peer_style style, const char *line)
{
	static char copy[200];
	char *argv[8], *save = NULL;
	int argc = 0;

	given = (struct given){0};
	words.len = 0;
	e = (struct err){0};
	snprintf(copy, sizeof copy, "%s", line);
	for (char *s = strtok_r(copy, " ", &save); s != NULL && argc < 8;
	     s = strtok_r(NULL, " ", &save))
		argv[argc++] = s;
	return peer_opts(style, table, argc, argv, &given, &words, &e);
}

T_TEST(order_and_values)
{
	T_EQ(take(PEER_PERL,
		  "prog --base=a --text heap --nodecount 7 --nodefraction=1e-10"),
	     0);
	T_STR(given.base, "a");
	T_CHECK(given.text && !given.test);
	T_EQ(given.count, 7);
	T_CHECK(given.part == 1e-10);
	T_EQ(words.len, 2);
	T_STR(words.data[0], "prog");
	T_STR(words.data[1], "heap");
}

T_TEST(abbreviations)
{
	T_EQ(take(PEER_PERL, "-tex --SHOW_B --ba x"), 0);
	T_CHECK(given.text && given.show_bytes);
	T_STR(given.base, "x");
	T_EQ(take(PEER_PERL, "--te"), -22);
	T_STR(e.msg, "--te could be --text or --test");
	T_EQ(take(PEER_GO, "-tex"), -22);
	T_STR(e.msg, "unknown option -tex");
}

T_TEST(switches)
{
	T_EQ(take(PEER_PERL, "--text --notext --test --no-test"), 0);
	T_CHECK(!given.text && !given.test);
	T_EQ(take(PEER_GO, "-text=true -test=false --show_bytes=1"), 0);
	T_CHECK(given.text && !given.test && given.show_bytes);
	T_EQ(take(PEER_GO, "-text=perhaps"), -22);
	/* Not a switch, and so nothing to turn off: nodecount is a name, "no" and
	 * "decount" is not. */
	T_EQ(take(PEER_PERL, "--nodec=3"), 0);
	T_EQ(given.count, 3);
	T_EQ(take(PEER_PERL, "--nobase"), -22);
}

T_TEST(ends)
{
	T_EQ(take(PEER_PERL, "--text -- --test -"), 0);
	T_CHECK(given.text && !given.test);
	T_EQ(words.len, 2);
	T_EQ(take(PEER_PERL, "--base"), -22);
	T_STR(e.msg, "--base needs an argument");
	T_EQ(take(PEER_PERL, "--base --text"), 0);
	T_STR(given.base, "--text"); /* whatever it begins with */
	T_EQ(take(PEER_GO, "-nodecount=x"), -22);
	vec_done(&words);
}

T_MAIN()
