/* SPDX-License-Identifier: MIT */
/* test_log_name.c -- names of report files: pid, number and variables in them, and what
 * is refused. */
#include "tool/session/log_name.h"

#include <stdlib.h>

#include "t.h"

static struct err e;

static char *
name(const char *pattern)
{
	static char *got;

	free(got);
	got = NULL;
	e = (struct err){0};
	return log_name(pattern, 4711, 3, &got, &e) == 0 ? got : "(refused)";
}

T_TEST(names)
{
	setenv("SEEP_TEST_NAME", "a/b", 1);
	T_STR(name("x.log"), "x.log");
	T_STR(name("x.%p.%n.log"), "x.4711.3.log");
	T_STR(name("%q{SEEP_TEST_NAME}/%%p%p"), "a/b/%p4711");
	T_CHECK(log_name_differs("x.%p"));
	T_CHECK(log_name_differs("%%%n"));
	T_CHECK(!log_name_differs("x.%%p"));
	T_CHECK(!log_name_differs("x%"));
	T_CHECK(!log_name_differs("%q{P}"));
}

T_TEST(refused)
{
	unsetenv("SEEP_TEST_NAME");
	T_STR(name("%q{SEEP_TEST_NAME}"), "(refused)");
	T_STR(e.msg, "%q{SEEP_TEST_NAME}: the variable SEEP_TEST_NAME is not set");
	T_STR(name("%qX"), "(refused)");
	T_STR(e.msg, "%qX: want %q{NAME}");
	T_STR(name("a%"), "(refused)");
	T_STR(name("%d"), "(refused)");
	T_STR(e.msg, "%d: only %p, %n, %q{NAME} and %% stand for something");
	T_STR(name(""), "(refused)");
}

T_MAIN()
