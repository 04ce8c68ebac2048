/* SPDX-License-Identifier: MIT */
/* environment.c -- secure_getenv, which libseep.so stands in front of, answers as getenv does.
 *
 * Prints what it gives for names that are there, are not, are empty, are the beginning of others,
 * and after changes; and errno, which it must leave alone. */
/* cflags: -g -D_GNU_SOURCE */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static void
ask(const char *name)
{
	const char *value;

	errno = 77;
	value = secure_getenv(name);
	printf("%s=%s %s errno %d\n", name, value == NULL ? "(null)" : value,
	       value == getenv(name) ? "same" : "DIFFERENT", errno);
}

int
main(void)
{
	static char *const odd[] = {"=nameless", "A", "AB=two", "A=one", "A=three", NULL};
	extern char **environ;

	ask("PATH");
	ask("PAT");
	ask("MALLOC_CONF");
	ask("SEEP_NO_SUCH");
	setenv("LATER", "it", 1);
	ask("LATER");
	unsetenv("LATER");
	ask("LATER");
	environ = (char **)odd;
	ask("");
	ask("A");
	ask("AB");
	environ = NULL;
	ask("A");
	return 0;
}
