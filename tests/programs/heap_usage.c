/* SPDX-License-Identifier: MIT */
/* cflags: -O1 -g -fno-builtin */
/* heap_usage.c -- small single-threaded programs in one, to be compared with
 * valgrind's own count.
 *
 *	heap_usage list      names of the cases, one a line
 *	heap_usage CASE      runs it
 *
 * Each uses the heap in another way: through libc's functions that allocate for
 * themselves, with resizing, with much freed and little kept. Nothing here says how
 * much: valgrind is the truth. */
#define _GNU_SOURCE
#include <errno.h>
#include <glob.h>
#include <malloc.h>
#include <regex.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static uint64_t seed = 88172645463325252u;

static unsigned
random_number(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33);
}

static void
churn(void)
{
	void *slots[211] = {NULL};

	for (unsigned i = 0; i < 10007; i++) {
		unsigned k = random_number() % 211;

		free(slots[k]);
		slots[k] = malloc(random_number() % 5000);
	}
}

static void
resizes(void)
{
	void *slots[53] = {NULL};

	for (unsigned i = 0; i < 5003; i++) {
		unsigned k = random_number() % 53;
		size_t n = 1 + random_number() % (k == 0 ? 3000000 : 3000);

		slots[k] =
			i % 3 == 0 ? reallocarray(slots[k], n, 3) : realloc(slots[k], n);
	}
}

static void
aligned(void)
{
	void *slots[31] = {NULL};

	for (unsigned i = 0; i < 1009; i++) {
		unsigned k = random_number() % 31;
		size_t n = random_number() % 3001;

		free(slots[k]);
		switch (random_number() % 4) {
		case 0:
			slots[k] = memalign(128, n);
			break;
		case 1:
			slots[k] = aligned_alloc(64, n);
			break;
		case 2:
			slots[k] = valloc(n);
			break;
		default:
			if (posix_memalign(&slots[k], 4096, n) != 0)
				slots[k] = NULL;
		}
	}
}

static void
zeroed(void)
{
	for (unsigned i = 0; i < 503; i++) {
		char *p = calloc(1 + i % 17, 1 + random_number() % 997);

		if (i % 7 != 0)
			free(p);
	}
	free(malloc(0));
	free(NULL);
}

static void
streams(void)
{
	char *text = NULL, *line = NULL;
	size_t bytes = 0, room = 0;
	FILE *out = open_memstream(&text, &bytes), *in;

	for (unsigned i = 0; i < 2003; i++)
		fprintf(out, "%u: %*d\n", i, (int)(random_number() % 200), i);
	fclose(out);
	in = fmemopen(text, bytes, "r");
	while (getline(&line, &room, in) > 0)
		continue;
	fclose(in);
	free(line);
	free(text);
	in = fopen("/etc/passwd", "r");
	if (in != NULL)
		fclose(in);
	printf("stdout has a buffer\n");
}

static void
strings(void)
{
	char *made[101];

	for (unsigned i = 0; i < 101; i++) {
		char *s = strdup("one hundred and one");

		if (asprintf(&made[i], "%s %u %*s", s, i, (int)(i * 3), "x") < 0)
			abort();
		free(s);
	}
	for (unsigned i = 0; i < 101; i += 2)
		free(made[i]);
	free(getcwd(NULL, 0));
	free(realpath("/usr/bin", NULL));
	free(strndup(made[1], 5));
}

static void
patterns(void)
{
	regex_t re;
	glob_t found;

	for (unsigned i = 0; i < 7; i++) {
		if (regcomp(&re, "^(a|b)+[[:digit:]]{2,5}(xyz|q.*r)?$", REG_EXTENDED) !=
		    0)
			abort();
		regexec(&re, "abab1234qzzzzr", 0, NULL, 0);
		if (i % 3 != 0)
			regfree(&re);
	}
	if (glob("/etc/*", GLOB_MARK, NULL, &found) == 0)
		globfree(&found);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void
trees(void)
{
	static char keys[307][16];
	void *root = NULL;
	char *sorted = malloc(sizeof(keys));

	for (unsigned i = 0; i < 307; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%u", random_number());
		tsearch(keys[i], &root, compare);
	}
	for (unsigned i = 0; i < 307; i += 3)
		tdelete(keys[i], &root, compare);
	memcpy(sorted, keys, sizeof(keys));
	qsort(sorted, 307, 16, compare); /* takes scratch memory */
	free(sorted);
	hcreate(97);
	hdestroy();
}

static void
environment(void)
{
	char name[32];

	clearenv(); /* both tools add variables, and the list is copied when it grows */
	for (unsigned i = 0; i < 61; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%u", i);
		setenv(name, "value", 1);
		setenv(name, "another value, and longer", 1);
		if (i % 4 == 0)
			unsetenv(name);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"churn", churn},	{"resizes", resizes}, {"aligned", aligned},
	{"zeroed", zeroed},	{"streams", streams}, {"strings", strings},
	{"patterns", patterns}, {"trees", trees},     {"environment", environment},
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (argc < 2 || strcmp(argv[1], "list") == 0) {
			puts(cases[i].name);
		} else if (strcmp(argv[1], cases[i].name) == 0) {
			cases[i].run();
			return 0;
		}
	}
	return argc > 1 && strcmp(argv[1], "list") != 0;
}
