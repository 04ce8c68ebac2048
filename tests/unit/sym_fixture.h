/* SPDX-License-Identifier: MIT */
/* sym_fixture.h -- a folder of its own for a test of src/tool/sym, and programs made in
 * it.
 *
 * Include it once, in the test's own .c, behind t.h. The folder is removed at the end,
 * also after a run of chosen tests or a failed one; KEEP in the environment leaves it. */
#ifndef SEEP_TESTS_SYM_FIXTURE_H
#define SEEP_TESTS_SYM_FIXTURE_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "tool/util/x.h"

static char dir[64];

static void
clean_up(void)
{
	char *cmd = xasprintf("chmod -R u+w %s; rm -rf %s", dir, dir);

	if (getenv("KEEP") == NULL && system(cmd) != 0)
		fprintf(stderr, "%s: not removed\n", dir);
	free(cmd);
}

/* Makes the folder; false when that is not possible. */
static bool
make_dir(void)
{
	snprintf(dir, sizeof dir, "/tmp/seep-test-sym.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return false;
	atexit(clean_up);
	return true;
}

/* Runs a command in the folder; its exit status. What it prints goes to the file log. */
__attribute__((format(printf, 1, 2))) static int
sh(const char *fmt, ...)
{
	va_list ap;
	char *cmd, *all;
	int r;

	va_start(ap, fmt);
	cmd = x_vasprintf(fmt, ap);
	va_end(ap);
	all = xasprintf("cd %s && { %s; } >log 2>&1", dir, cmd);
	r = system(all);
	free(all);
	free(cmd);
	return r;
}

/* Path of a file in the folder; good for a few more calls. */
static const char *
at(const char *name)
{
	static char paths[8][200];
	static unsigned next;
	char *p = paths[next++ % 8];

	snprintf(p, sizeof paths[0], "%s/%s", dir, name);
	return p;
}

#endif
