/* SPDX-License-Identifier: MIT */
/* cflags: -O2 -g -rdynamic */
/* lsan_defaults.cpp -- a program that sets LeakSanitizer's defaults by its functions, and one array of no elements.
 *
 * Loses 13 blocks of 101 bytes (in a function that its own suppressions name), 7 of 211 (named by none) and holds new
 * T[0]. Arguments: `off` turns the check off, `asks` calls __lsan_do_leak_check, `exit7` sets another exit status. */
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" void __lsan_do_leak_check(void) __attribute__((weak));

static int off, exit7;

extern "C" const char *
__lsan_default_options()
{
	return exit7 ? "report_objects=1:exitcode=7" : "report_objects=1";
}

extern "C" const char *
__lsan_default_suppressions()
{
	return "leak:known_loss\n";
}

extern "C" int
__lsan_is_turned_off()
{
	return off;
}

struct element {
	~element() { puts("never"); }
};

element *empty;
static char *volatile last;

__attribute__((noinline)) static void
known_loss()
{
	for (int i = 0; i < 13; i++)
		last = static_cast<char *>(malloc(101));
}

__attribute__((noinline)) static void
loss()
{
	for (int i = 0; i < 7; i++)
		last = static_cast<char *>(malloc(211));
	printf("last lost %p\n", static_cast<void *>(last));
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	off = strcmp(what, "off") == 0;
	exit7 = strcmp(what, "exit7") == 0;
	empty = new element[argc - (argc > 1 ? 2 : 1)];
	known_loss();
	loss();
	last = nullptr;
	if (strcmp(what, "asks") == 0 && __lsan_do_leak_check != nullptr)
		__lsan_do_leak_check();
	puts("at the end");
	return 0;
}
