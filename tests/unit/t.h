/* SPDX-License-Identifier: MIT */
/* t.h -- the unit tests' own small frame: one binary a module, no library behind it.
 *
 * 	T_TEST(cursor_stops_at_end)
 * 	{
 * 		T_EQ(cur_left(&c), 0);
 * 	}
 * 	T_MAIN()
 *
 * A test registers itself before main() and goes on after a failed check, so that one run
 * shows everything that is wrong. The run ends with `N passed, N failed` (and `, N
 * skipped`) and status 1 when anything failed, or when nothing ran at all. Arguments pick
 * tests by a part of their name. Tests run one after the other in one process: a crash
 * ends them all, and tools/run-tests counts that binary as failed. Include it once, in
 * the test's own .c. */
#ifndef SEEP_TESTS_T_H
#define SEEP_TESTS_T_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct t_test {
	const char *name;
	void (*run)(void);
	struct t_test *next;
};

static struct t_test *t_first, **t_tail = &t_first;
static bool t_failed, t_skipped; /* of the test that runs now */

/* Defines and registers a test; the body follows. `name` is an identifier. */
#define T_TEST(name_)                                                                    \
	static void t_run_##name_(void);                                                 \
	static struct t_test t_test_##name_ = {.name = #name_, .run = t_run_##name_};    \
	__attribute__((constructor)) static void t_add_##name_(void)                     \
	{                                                                                \
		*t_tail = &t_test_##name_;                                               \
		t_tail = &t_test_##name_.next;                                           \
	}                                                                                \
	static void t_run_##name_(void)

/* The condition holds. */
#define T_CHECK(cond)                                                                    \
	do {                                                                             \
		if (!(cond))                                                             \
			t_fail(__FILE__, __LINE__, "not true: %s", #cond);               \
	} while (0)

/* Two integers (or pointers) are equal; both are cast to long long first. */
#define T_EQ(a, b) t_eq(__FILE__, __LINE__, #a, (long long)(a), #b, (long long)(b))

/* Two strings are equal; NULL equals only NULL. */
#define T_STR(a, b) t_str(__FILE__, __LINE__, #a, (a), #b, (b))

/* Two ranges of `n` bytes are equal; says where they first differ. */
#define T_MEM(a, b, n) t_mem(__FILE__, __LINE__, #a, (a), #b, (b), (n))

/* Leaves the test, counted as skipped. For what this machine cannot do, and only for
 * that. */
#define T_SKIP(why)                                                                      \
	do {                                                                             \
		printf("    skipped: %s\n", why);                                        \
		t_skipped = true;                                                        \
		return;                                                                  \
	} while (0)

#define T_MAIN()                                                                         \
	int main(int argc, char **argv)                                                  \
	{                                                                                \
		return t_main(argc, argv);                                               \
	}

#define T_FAIL(...) t_fail(__FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused, format(printf, 3, 4))) static void
t_fail(const char *file, int line, const char *fmt, ...)
{
	__builtin_va_list ap;

	t_failed = true;
	printf("    %s:%d: ", file, line);
	__builtin_va_start(ap, fmt);
	vprintf(fmt, ap);
	__builtin_va_end(ap);
	putchar('\n');
}

__attribute__((unused)) static void
t_eq(const char *file, int line, const char *as, long long a, const char *bs, long long b)
{
	if (a != b)
		t_fail(file, line, "%s is %lld (0x%llx), %s is %lld (0x%llx)", as, a,
		       (unsigned long long)a, bs, b, (unsigned long long)b);
}

__attribute__((unused)) static void
t_str(const char *file, int line, const char *as, const char *a, const char *bs,
      const char *b)
{
	if (a == b || (a != NULL && b != NULL && strcmp(a, b) == 0))
		return;
	t_fail(file, line, "%s is \"%s\", %s is \"%s\"", as, a != NULL ? a : "(NULL)", bs,
	       b != NULL ? b : "(NULL)");
}

__attribute__((unused)) static void
t_mem(const char *file, int line, const char *as, const void *a, const char *bs,
      const void *b, size_t n)
{
	const unsigned char *x = a, *y = b;

	for (size_t i = 0; i < n; i++) {
		if (x[i] != y[i]) {
			t_fail(file, line, "%s[%zu] is 0x%02x, %s[%zu] is 0x%02x", as, i,
			       x[i], bs, i, y[i]);
			return;
		}
	}
}

static bool
t_chosen(const struct t_test *t, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		if (strstr(t->name, argv[i]) != NULL)
			return true;
	}
	return argc < 2;
}

static int
t_main(int argc, char **argv)
{
	unsigned passed = 0, failed = 0, skipped = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* what was said before a crash is not lost */
	for (struct t_test *t = t_first; t != NULL; t = t->next) {
		if (!t_chosen(t, argc, argv))
			continue;
		t_failed = t_skipped = false;
		printf("  %s\n", t->name);
		t->run();
		if (t_failed) {
			failed++;
			printf("FAILED %s\n", t->name);
		} else if (t_skipped) {
			skipped++;
		} else {
			passed++;
		}
	}
	printf("%u passed, %u failed", passed, failed);
	if (skipped > 0)
		printf(", %u skipped", skipped);
	putchar('\n');
	return failed > 0 || passed + skipped == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
