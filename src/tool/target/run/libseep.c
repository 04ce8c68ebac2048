/* SPDX-License-Identifier: MIT */
/* libseep.c -- see libseep.h.
 *
 * Beside the binary comes before the installed one, so that a build tree uses its own. */
#include "tool/target/run/libseep.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/inspect.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#ifndef SEEP_LIBDIR
#	define SEEP_LIBDIR "/usr/lib/seep"
#endif

/* Takes over `path`; fails with -ENOENT when there is no such file. */
static int
try_path(char *path, char **ret_path, struct err *e)
{
	struct inspect_elf elf;
	char *real = realpath(path, NULL);
	int r = 0;

	if (real == NULL)
		r = err_sys(e, -errno, "%s", path);
	if (r == 0 && strpbrk(real, " :") != NULL)
		r = err_set(
			e, -EINVAL,
			"%s: LD_PRELOAD cannot name a path with a space or colon; copy it "
			"elsewhere and set SEEP_LIB",
			real);
	if (r == 0)
		r = inspect_elf(real, &elf, e);
	if (r == 0 && (elf.traits & (INSPECT_OTHER_MACHINE | INSPECT_CLASS32)) != 0)
		r = err_set(e, -ENOEXEC, "%s: built for another machine", real);
	if (r == 0)
		*ret_path = TAKE(real);
	free(real);
	free(path);
	return r;
}

int
libseep_find(char **ret_path, struct err *e)
{
	const char *set = getenv("SEEP_LIB");
	char *exe = NULL, *slash;
	int r;

	if (set != NULL && *set != '\0') {
		r = try_path(xstrdup(set), ret_path, e);
		return r < 0 ? err_wrap(e, r, "SEEP_LIB") : 0;
	}
	if (file_proc_link(getpid(), "exe", &exe, NULL, NULL) == 0 &&
	    (slash = strrchr(exe, '/')) != NULL) {
		static const char *const beside[] = {"libseep.so",
						     "../lib/seep/libseep.so"};

		*slash = '\0';
		for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
			r = try_path(xasprintf("%s/%s", exe, beside[i]), ret_path, e);
			if (r != -ENOENT) {
				free(exe);
				return r;
			}
		}
	}
	free(exe);
	r = try_path(xasprintf("%s/libseep.so", SEEP_LIBDIR), ret_path, e);
	if (r == -ENOENT)
		return err_set(
			e, r,
			"libseep.so is neither beside seep nor in %s; install it there or "
			"set SEEP_LIB to its path",
			SEEP_LIBDIR);
	return r;
}
