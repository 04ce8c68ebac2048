/* SPDX-License-Identifier: MIT */
/* inspect.c -- see inspect.h: lookup, scripts, privileges, refusals. ELF is elfscan.c's.
 *
 * What the kernel would do is followed step by step, but a file may change between this
 * look and the exec: then the exec hook in libseep.so is the second line, and the report
 * says what was not recorded. */
#include "tool/target/proc/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/run/held.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	SCRIPT_LEVELS_MAX = 4,
	FIRST_BYTES = 256, /* as much as the kernel looks at */
};

/* ---- lookup ---- */

/* 0 when `path` can be executed, else the negative errno that exec would give. */
static int
executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

/* As execvp: the first executable file of PATH, but EACCES is remembered. */
static int
lookup_path(const char *name, char **ret_path)
{
	const char *path = getenv("PATH");
	char fallback[128] = "/bin:/usr/bin";
	int best = -ENOENT;

	if (path == NULL) {
		confstr(_CS_PATH, fallback, sizeof fallback);
		path = fallback;
	}
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, ":");
		char *full = len == 0 ? xasprintf("./%s", name)
				      : xasprintf("%.*s/%s", (int)len, at, name);
		int r = executable(full);

		if (r == 0) {
			*ret_path = full;
			return 0;
		}
		free(full);
		if (r == -EACCES)
			best = r;
		at += len;
		if (*at == '\0')
			return best;
	}
}

static int
lookup(const char *name, char **ret_path)
{
	int r;

	if (*name == '\0')
		return -ENOENT;
	if (strchr(name, '/') == NULL)
		return lookup_path(name, ret_path);
	r = executable(name);
	if (r == 0)
		*ret_path = xstrdup(name);
	return r;
}

/* ---- what a file is ---- */

/* The loader ignores LD_PRELOAD when exec gave the program more rights than we have. */
static bool
gains_rights(const char *path)
{
	struct statvfs fs;
	struct stat st;

	if (stat(path, &st) < 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return false;
	if (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID) != 0)
		return false;
	if ((st.st_mode & S_ISUID) != 0 && st.st_uid != getuid())
		return true;
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) &&
	    st.st_gid != getgid())
		return true;
	return getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0;
}

static const struct refusal {
	uint32_t trait;
	const char *text;
} refusals[] = {
	{INSPECT_OTHER_MACHINE,
	 "built for another kind of processor; record it on a machine of that kind"},
	{INSPECT_CLASS32,
	 "a 32-bit program; seep records 64-bit programs, build it without -m32"},
	{INSPECT_STATIC, "statically linked, so its malloc cannot be wrapped; link it "
			 "dynamically"},
	{INSPECT_MUSL,
	 "linked with musl, and libseep.so needs glibc; build it with glibc"},
	{INSPECT_SANITIZER,
	 "built with a sanitizer, which has taken malloc over; build it without -fsanitize"},
};

/* Whether libseep.so would not be loaded by it, or would not be asked for memory; but the
 * recorder can be put into it in another way. */
static bool
needs_inject(const struct inspect_elf *elf)
{
	const uint32_t passes_by = INSPECT_STATIC | INSPECT_MUSL | INSPECT_OWN_MALLOC |
				   INSPECT_JEMALLOC | INSPECT_TCMALLOC | INSPECT_MIMALLOC;

	return held_possible() && (elf->traits & passes_by) != 0 &&
	       inspect_without_malloc(elf->traits) == NULL;
}

/* Why the ELF file cannot be recorded, or NULL. */
static const char *
refusal(const char *path, const struct inspect_elf *elf)
{
	uint32_t traits = elf->traits;

	if (inspect_without_malloc(traits) != NULL)
		return inspect_without_malloc(traits);
	if (needs_inject(elf))
		traits &= ~(uint32_t)(INSPECT_STATIC | INSPECT_MUSL);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		if ((traits & refusals[i].trait) != 0)
			return refusals[i].text;
	}
	if (gains_rights(path))
		return "setuid, setgid or with capabilities, so the loader ignores LD_PRELOAD; "
		       "run a copy without them, or seep as that user";
	return NULL;
}

/* Says no; for a script also how we came to `path`. */
static int
refuse(struct inspect *in, const char *name, const char *path, const char *why,
       struct err *e)
{
	in->exit_status = INSPECT_FAILED;
	if (strcmp(path, in->path) == 0)
		return err_set(e, -EPERM, "%s: %s", name, why);
	return err_set(e, -EPERM, "%s: run by %s, which is %s", name, path, why);
}

static int
not_executable(struct inspect *in, int code)
{
	in->exit_status = INSPECT_NOT_EXECUTABLE;
	return code;
}

static int
check_elf(struct inspect *in, const char *name, const char *path, int fd, struct err *e)
{
	const char *why;
	int r = inspect_elf_fd(fd, path, &in->elf, e);

	if (r < 0)
		return not_executable(in, r);
	why = refusal(path, &in->elf);
	if (why != NULL)
		return refuse(in, name, path, why, e);
	if (in->elf.interp[0] != '\0' && access(in->elf.interp, F_OK) < 0) {
		in->exit_status = INSPECT_NOT_FOUND;
		return err_sys(e, -errno, "%s: its loader %s", path, in->elf.interp);
	}
	free(in->binary);
	in->binary = xstrdup(path);
	in->inject = needs_inject(&in->elf);
	return 0;
}

/* ---- scripts ---- */

/* The word at *at, NUL-terminated in place; NULL at the end. */
static char *
next_word(char **at)
{
	char *word = *at + strspn(*at, " \t");
	size_t len = strcspn(word, " \t");

	if (len == 0)
		return NULL;
	*at = word + len;
	if (**at != '\0')
		*(*at)++ = '\0';
	return word;
}

/* Program that a `#!` line starts, to be freed. env is stepped over, as it only looks up
 * the next one; when that is not found, env itself is what runs, and it will say so. */
static char *
script_program(char *line)
{
	char *interp, *word, *found = NULL;

	line[strcspn(line, "\n")] = '\0';
	line[strcspn(line, "\r")] = '\0';
	interp = next_word(&line);
	if (interp == NULL)
		return NULL;
	word = strrchr(interp, '/');
	if (strcmp(word != NULL ? word + 1 : interp, "env") == 0) {
		do {
			word = next_word(&line);
		} while (word != NULL && (*word == '-' || strchr(word, '=') != NULL));
		if (word != NULL && lookup(word, &found) == 0)
			return found;
	}
	return xstrdup(interp);
}

/* Follows `path` to the ELF file that runs in the end. */
static int
follow(struct inspect *in, const char *name, const char *path, int level, struct err *e)
{
	char first[FIRST_BYTES + 1];
	char *next = NULL;
	ssize_t got;
	int r = 0, fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0) /* may be executed but not read: nothing is known, which is no harm */
		return 0;
	got = pread(fd, first, FIRST_BYTES, 0);
	if (got < 0)
		got = 0;
	first[got] = '\0';
	if (got >= SELFMAG && elfview_is_elf(first)) {
		r = check_elf(in, name, path, fd, e);
	} else if (strncmp(first, "#!", 2) == 0) {
		next = script_program(first + 2);
		if (next == NULL)
			r = err_set(e, -ENOEXEC, "%s: #! without an interpreter", path);
		else if (level >= SCRIPT_LEVELS_MAX)
			r = err_set(e, -ELOOP, "%s: too many levels of #!", path);
		else if ((r = executable(next)) < 0)
			r = err_sys(e, r, "%s: its interpreter %s", path, next);
		r = r < 0 ? not_executable(in, r) : follow(in, name, next, level + 1, e);
	} else if (memchr(first, '\0', (size_t)got) != NULL || level > 0) {
		r = err_set(e, -ENOEXEC, "%s: neither a program nor a script", path);
		r = not_executable(in, r);
	} else {
		in->by_shell = true;
		r = follow(in, name, "/bin/sh", level + 1, e);
	}
	free(next);
	close(fd);
	return r;
}

int
inspect_program(const char *name, struct inspect *ret_inspect, struct err *e)
{
	struct inspect in = {0};
	int r = lookup(name, &in.path);

	if (r == -ENOENT || r == -ENOTDIR) {
		in.exit_status = INSPECT_NOT_FOUND;
		if (strchr(name, '/') != NULL)
			err_set(e, r, "%s: no such file", name);
		else if (executable(name) == 0)
			err_set(e, r,
				"%s: not found in PATH; the one in this folder is "
				"./%s",
				name, name);
		else
			err_set(e, r, "%s: not found in PATH", name);
	} else if (r < 0) {
		in.exit_status = INSPECT_NOT_EXECUTABLE;
		if (r == -EACCES && strchr(name, '/') != NULL && file_is_regular(name))
			err_set(e, r,
				"%s: Permission denied; to make it executable: "
				"chmod +x %s",
				name, name);
		else
			err_sys(e, r, "%s", name);
	} else {
		r = follow(&in, name, in.path, 0, e);
	}
	*ret_inspect = in;
	return r;
}

void
inspect_done(struct inspect *in)
{
	free(in->path);
	free(in->binary);
	memset(in, 0, sizeof *in);
}
