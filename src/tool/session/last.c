/* SPDX-License-Identifier: MIT */
/* last.c -- see last.h. */
#include "tool/session/last.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { LAST_BYTES_MAX = 8192 };

/* ${XDG_STATE_HOME:-$HOME/.local/state}/seep, or NULL without a home. */
static char *
state_folder(void)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state != NULL && state[0] == '/')
		return xasprintf("%s/seep", state);
	if (home != NULL && home[0] == '/')
		return xasprintf("%s/.local/state/seep", home);
	return NULL;
}

/* Makes the folder and those above it. */
static int
make_folders(char *path)
{
	for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
		if (at != NULL)
			*at = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		if (at == NULL)
			return 0;
		*at = '/';
	}
}

int
last_folder(char **ret_path, struct err *e)
{
	char *folder = state_folder();
	int r;

	if (folder == NULL)
		return err_set(e, -ENOENT, "neither XDG_STATE_HOME nor HOME is set");
	r = make_folders(folder);
	if (r < 0)
		r = err_sys(e, r, "%s: cannot make the folder", folder);
	else
		*ret_path = TAKE(folder);
	free(folder);
	return r;
}

/* Path in a file of one line, to be freed; NULL when there is none. */
static char *
read_line(const char *file)
{
	struct buf b = {0};
	char *line = NULL;

	if (file_read(file, LAST_BYTES_MAX, &b, NULL) == 0 && b.len > 1) {
		if (b.data[b.len - 1] == '\n')
			b.data[--b.len] = '\0';
		line = buf_take(&b);
	}
	buf_done(&b);
	return line;
}

static bool
is_newer(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec != b->st_mtim.tv_sec
		       ? a->st_mtim.tv_sec > b->st_mtim.tv_sec
		       : a->st_mtim.tv_nsec > b->st_mtim.tv_nsec;
}

/* The recording of the run that began last, if it began after the last one was saved and
 * is there: then it runs, or was killed. To be freed; NULL when that is not so. */
static char *
begun(const char *folder)
{
	char *file = xasprintf("%s/begun", folder), *last = xasprintf("%s/last", folder);
	struct stat b, l, there;
	char *path = NULL;

	if (stat(file, &b) == 0 && (stat(last, &l) < 0 || is_newer(&b, &l)))
		path = read_line(file);
	if (path != NULL && (stat(path, &there) < 0 || is_newer(&b, &there))) {
		free(path); /* nobody has saved it yet */
		path = NULL;
	}
	free(file);
	free(last);
	return path;
}

int
last_read(char **ret_path, struct err *e)
{
	char *folder = state_folder(), *path;
	struct buf b = {0};
	int r;

	if (folder == NULL)
		return err_set(e, -ENOENT, "neither XDG_STATE_HOME nor HOME is set");
	path = begun(folder);
	if (path != NULL) {
		free(folder);
		*ret_path = path;
		return 0;
	}
	path = xasprintf("%s/last", folder);
	r = file_read(path, LAST_BYTES_MAX, &b, e);
	if (r == -ENOENT)
		r = err_set(e, r,
			    "nothing was recorded yet; start with: seep run PROGRAM");
	if (r == 0 && b.len > 0 && b.data[b.len - 1] == '\n')
		b.data[--b.len] = '\0';
	if (r == 0 && b.len == 0)
		r = err_set(e, -ENOENT, "%s is empty", path);
	if (r == 0)
		*ret_path = buf_take(&b);
	buf_done(&b);
	free(path);
	free(folder);
	return r;
}

static int
write_line(const char *name, const char *path, struct err *e)
{
	char *folder = NULL, *file, *line;
	int r = last_folder(&folder, e);

	if (r < 0)
		return r;
	file = xasprintf("%s/%s", folder, name);
	line = xasprintf("%s\n", path);
	r = file_write(file, line, strlen(line), e);
	free(line);
	free(file);
	free(folder);
	return r;
}

int
last_write(const char *path, struct err *e)
{
	return write_line("last", path, e);
}

void
last_begin(const char *path)
{
	write_line("begun", path, NULL);
}
