/* SPDX-License-Identifier: MIT */
/* leak_cases.h -- what the programs leak_*.c share: small cases, one a run, each with its truth.
 *
 *	LEAK_CASE(ring, "definite=48/1 indirect=192/4")
 *	{
 *		...
 *	}
 *	LEAK_MAIN()
 *
 * `PROG list` prints the names; `PROG NAME` prints `expect` and what memcheck's rules make of the case,
 * kind=bytes/blocks, kinds that are not named are 0, and in parentheses what memcheck finds if that is
 * something else; then it runs the case. `PROG each N OF` runs every
 * OF-th case from the N-th on in a child of its own and prints `case NAME PID`: valgrind takes its time to
 * start, and forks quickly. Nothing here allocates.
 * Cases are called through a pointer, and the stack below main is cleared afterwards, so that
 * nothing of theirs lies about. */
#ifndef SEEP_LEAK_CASES_H
#define SEEP_LEAK_CASES_H

#ifndef _GNU_SOURCE
#	define _GNU_SOURCE
#endif

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct leak_case {
	const char *name, *expect;
	void (*run)(void);
	struct leak_case *next;
};

static struct leak_case *leak_first;

#define LEAK_CASE(name_, expect_)                                                        \
	static void leak_run_##name_(void);                                              \
	static struct leak_case leak_case_##name_ = {#name_, expect_, leak_run_##name_,  \
						     NULL};                              \
	__attribute__((constructor)) static void leak_add_##name_(void)                  \
	{                                                                                \
		leak_case_##name_.next = leak_first;                                     \
		leak_first = &leak_case_##name_;                                         \
	}                                                                                \
	static void leak_run_##name_(void)

static inline void
leak_say(const char *a, const char *b)
{
	char line[256];
	size_t n = strlen(a), m = strlen(b);

	memcpy(line, a, n);
	memcpy(line + n, b, m);
	line[n + m] = '\n';
	if (write(1, line, n + m + 1) < 0)
		_exit(99);
}

/* Overwrites what calls have left on the stack. */
__attribute__((noinline)) static void
leak_wipe(void)
{
	volatile char room[16384];

	for (size_t i = 0; i < sizeof room; i++)
		room[i] = 0;
}

/* So that the compiler neither drops an allocation nor knows what is in a pointer. */
__attribute__((noinline)) static void *
leak_hide(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

static inline void
leak_run(struct leak_case *c)
{
	leak_say("expect ", c->expect);
	c->run();
	leak_wipe();
}

/* The number of a process after a word. */
static inline void
leak_say_pid(const char *word, pid_t pid)
{
	char text[64], *at = text + sizeof text;
	size_t n = strlen(word);

	*--at = '\0';
	for (; pid > 0; pid /= 10)
		*--at = (char)('0' + pid % 10);
	*--at = ' ';
	at -= n;
	memcpy(at, word, n);
	leak_say("case ", at);
}

/* Returns in the children as well, once their case has been run. */
static inline void
leak_run_each(int n, int of)
{
	int status;

	for (struct leak_case *c = leak_first; c != NULL; c = c->next, n--) {
		pid_t pid;

		if (n % of != 0)
			continue;
		pid = fork();
		if (pid == 0) {
			leak_run(c);
			return;
		}
		leak_say_pid(c->name, pid);
		waitpid(pid, &status, 0);
	}
}

#define LEAK_MAIN()                                                                      \
	int main(int argc, char **argv)                                                  \
	{                                                                                \
		if (argc == 4 && strcmp(argv[1], "each") == 0) {                         \
			leak_run_each(atoi(argv[2]), atoi(argv[3]));                     \
			return 0;                                                        \
		}                                                                        \
		for (struct leak_case *c = leak_first; c != NULL; c = c->next) {         \
			if (argc == 2 && strcmp(argv[1], "list") == 0)                   \
				leak_say("", c->name);                                   \
			if (argc == 2 && strcmp(argv[1], c->name) == 0)                  \
				leak_run(c);                                             \
		}                                                                        \
		return 0;                                                                \
	}

#endif
