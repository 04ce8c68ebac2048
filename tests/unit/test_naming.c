/* SPDX-License-Identifier: MIT */
/* test_naming.c -- SEEP=name=: which patterns are taken, and what becomes of them. */
#include "t.h"

#include <stdint.h>

#include "guest/record/file/naming.h"

static char name[NAMING_FILE_BYTES + 8];

/* With `name` one longer and watched: nothing may be written behind it. */
static const char *
made(const char *pattern, const char *program, uint64_t number)
{
	struct naming n = {.program = program, .pid = 4711, .number = number};

	memset(name, 0x5a, sizeof name);
	if (!naming_expand(pattern, &n, name))
		return "too long";
	return name[NAMING_FILE_BYTES] == 0x5a ? name : "written behind";
}

T_TEST(what_is_a_pattern)
{
	static const char *const good[] = {
		"%e.%p", "a",	"%n",	    "%%",	"%e%e%e", "a.live", ".a",
		"..",	 "a b", "\xc3\xa4", "%%p.%%%p", "x=y;z",  "%n.live"};
	static const char *const wrong[] = {
		"",   ".live", "/",   "a/b", "../a", "%",  "a%",   "%%%",
		"%x", "%E",    "% p", "%5p", "a\nb", "\t", "\x7f", "%.live"};

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++)
		if (!naming_valid(good[i]))
			T_FAIL("not taken: %s", good[i]);
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (naming_valid(wrong[i]))
			T_FAIL("taken: %s", wrong[i]);
}

T_TEST(every_letter)
{
	T_STR(made("%e.%p", "/usr/bin/prog", 0), "prog.4711.live");
	T_STR(made("%p%p-%%p-%%", "/prog", 0), "47114711-%p-%.live");
	T_STR(made("x.live", "/prog", 0), "x.live");
	T_STR(made("x.live.live", "/prog", 0), "x.live.live");
	T_STR(made("live", "/prog", 0), "live.live");
	T_STR(made("%%.live", "/prog", 0), "%.live");
}

T_TEST(numbers)
{
	T_STR(made("a", "/prog", 1), "a.1.live");
	T_STR(made("a.live", "/prog", 23), "a.23.live");
	T_STR(made("a%%n", "/prog", 2), "a%n.2.live"); /* that is no number */
	T_STR(made("%n", "/prog", 0), "0.live");
	T_STR(made("a%n-%n", "/prog", 17), "a17-17.live");
	T_STR(made("%n", "/prog", UINT64_MAX), "18446744073709551615.live");
}

T_TEST(programs)
{
	T_STR(made("%e", "prog", 0), "prog.live");
	T_STR(made("%e", "", 0), "unknown.live");
	T_STR(made("%e", "/", 0), "unknown.live");
	T_STR(made("%e", "/a/b c", 0), "b c.live");
	T_STR(made("%e", "/a/prog (deleted)", 0), "prog.live");
	T_STR(made("%e", "/a/x\ny\x1b[m\x7fz", 0), "x_y_[m_z.live");
	T_STR(made("%e", "/a/caf\xc3\xa9", 0), "caf\xc3\xa9.live");
	T_STR(made("%e", "/a/%p", 0),
	      "%p.live"); /* what comes in is not looked at again */
	T_STR(made("%e",
		   "/0123456789012345678901234567890123456789012345678901234567890123X",
		   0),
	      "0123456789012345678901234567890123456789012345678901234567890123.live");
}

/* NAME_MAX is 255: as long as fits, and one more. */
T_TEST(lengths)
{
	char pattern[NAMING_PATTERN_BYTES * 4];

	for (size_t n = 248; n <= 252; n++) {
		memset(pattern, 'a', n);
		pattern[n] = '\0';
		if (n <= 250)
			T_EQ(strlen(made(pattern, "/prog", 0)), n + 5);
		else
			T_STR(made(pattern, "/prog", 0), "too long");
	}
	T_STR(made("%e%e%e%e",
		   "/0123456789012345678901234567890123456789012345678901234567890123",
		   0),
	      "too long");
}

T_MAIN()
