/* SPDX-License-Identifier: MIT */
/* test_runtimes.c -- the table of language runtimes. */
#include "tool/model/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "t.h"

static const struct {
	const char *path;
	uint32_t program, module;
} names[] = {
	{"/usr/bin/python3.11", RUNTIME_BIT(RUNTIME_PYTHON), 0},
	{"/usr/bin/pythonic", 0, 0},
	{"/usr/lib/libpython3.11.so.1.0", 0, RUNTIME_BIT(RUNTIME_PYTHON)},
	{"/usr/lib/jvm/lib/server/libjvm.so", 0, RUNTIME_BIT(RUNTIME_JVM)},
	{"/usr/bin/node", RUNTIME_BIT(RUNTIME_V8), 0},
	{"/usr/bin/node-gyp", 0, 0},
	{"/usr/sbin/php-fpm8.2", RUNTIME_BIT(RUNTIME_PHP), 0},
	{"/usr/bin/ruby3.1", RUNTIME_BIT(RUNTIME_RUBY), 0},
	{"/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1", 0, RUNTIME_BIT(RUNTIME_RUBY)},
	{"/usr/bin/lua5.4", RUNTIME_BIT(RUNTIME_LUA), 0},
	{"/usr/bin/luajit-2.1.0", RUNTIME_BIT(RUNTIME_LUAJIT), 0},
	{"/usr/lib/libluajit-5.1.so.2", 0, RUNTIME_BIT(RUNTIME_LUAJIT)},
	{"/usr/bin/perl5.36.0", RUNTIME_BIT(RUNTIME_PERL), 0},
	{"/usr/lib/erlang/erts/bin/beam.smp", RUNTIME_BIT(RUNTIME_BEAM), 0},
	{"/usr/lib/libnode.so.108", 0, RUNTIME_BIT(RUNTIME_V8)},
	{"/usr/lib/liblua5.3-c++.so.0.0.0", 0, RUNTIME_BIT(RUNTIME_LUA)},
	{"/usr/lib/libpython3.7m.so.1.0", 0, RUNTIME_BIT(RUNTIME_PYTHON)},
	{"/usr/lib/libperl.so.5.36", 0, RUNTIME_BIT(RUNTIME_PERL)},
	{"/opt/librubyist.so", 0, 0},
	{"/opt/libperlite.so.1", 0, 0},
	{"/opt/libjvm.so.old-copy", 0, 0},
	{"libc.so.6", 0, 0},
};

T_TEST(recognised_by_name)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		T_EQ(runtimes_of_program(names[i].path), names[i].program);
		T_EQ(runtimes_of_module(names[i].path), names[i].module);
	}
}

/* Every runtime has a name and a way to recognise it; one with a heap of its own has the
 * words for it. */
T_TEST(complete)
{
	for (unsigned r = 0; r < RUNTIMES; r++) {
		const struct runtime_info *x = runtime_info(r);

		T_CHECK(x->name != NULL);
		T_CHECK(r == RUNTIME_GO || x->programs[0] != NULL ||
			x->libraries[0] != NULL);
		if (x->programs[0] != NULL && x->collected)
			T_CHECK(x->functions[0] != NULL);
		T_EQ(x->heap != NULL, x->keeps != NULL);
		T_EQ(x->heap != NULL, x->grows != NULL);
		T_EQ(x->variable != NULL, x->value != NULL);
	}
}

T_TEST(judged)
{
	T_STR(runtime_collecting(RUNTIME_BIT(RUNTIME_RUBY))->name, "Ruby");
	T_STR(runtime_collecting(RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PERL))
		      ->name,
	      "Perl");
	T_CHECK(runtime_collecting(RUNTIME_BIT(RUNTIME_PYTHON)) == NULL);
	T_CHECK(runtime_collecting(0) == NULL);
	T_CHECK(runtime_has_function(runtime_info(RUNTIME_V8), "v8::Isolate::New"));
	T_CHECK(!runtime_has_function(runtime_info(RUNTIME_V8), "main"));
	T_CHECK(!runtime_has_function(runtime_info(RUNTIME_PERL), ""));
}

T_TEST(what_helps)
{
	struct buf b = {0};

	runtime_add_grows(&b, RUNTIME_JVM, 4711);
	T_STR(buf_str(&b), "jcmd 4711 GC.class_histogram");
	buf_clear(&b);
	runtime_add_grows(&b, RUNTIME_PYTHON, 4711);
	T_STR(buf_str(&b), "PYTHONMALLOC=malloc seep run python3 ...");
	buf_done(&b);
	unsetenv("USE_ZEND_ALLOC");
	T_CHECK(strstr(runtimes_coverage(RUNTIME_BIT(RUNTIME_PHP)), "USE_ZEND_ALLOC=0") !=
		NULL);
	setenv("USE_ZEND_ALLOC", "0", 1);
	T_CHECK(runtimes_coverage(RUNTIME_BIT(RUNTIME_PHP)) == NULL);
	T_CHECK(runtimes_coverage(RUNTIME_BIT(RUNTIME_PERL)) == NULL);
	/* of several, the one that explains most */
	T_CHECK(strncmp(runtimes_coverage(RUNTIME_BIT(RUNTIME_GO) |
					  RUNTIME_BIT(RUNTIME_PYTHON)),
			"Go ", 3) == 0);
}

T_MAIN()
