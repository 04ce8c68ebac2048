/* SPDX-License-Identifier: MIT */
/* run_output.c -- see run_output.h. */
#include "tool/session/run/run_output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/session/out_file.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* A name that a file can have. */
static int
check_name(const char *output, struct err *e)
{
	struct stat st;

	if (file_base(output)[0] == '\0' ||
	    (stat(output, &st) == 0 && S_ISDIR(st.st_mode)))
		return err_set(e, -EISDIR, "%s: a folder; use --dir for that", output);
	if (stat(output, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return err_set(e, -EINVAL,
			       "%s: a pipe or socket; a recording needs a file", output);
	return out_check(output, "rec", e);
}

/* Written into where it is; nothing is made in its folder. */
static bool
is_device(const char *output)
{
	struct stat st;

	return output != NULL && stat(output, &st) == 0 && S_ISCHR(st.st_mode);
}

static char *
folder_of(const char *output)
{
	const char *slash = strrchr(output, '/');

	if (slash == NULL)
		return xstrdup(".");
	return xmemdup0(output, slash == output ? 1 : (size_t)(slash - output));
}

int
run_output(const char *output, const char *dir, char **ret_folder, char **ret_output,
	   struct err *e)
{
	char *folder =
		output != NULL ? folder_of(output) : xstrdup(dir != NULL ? dir : ".");
	int ret = output != NULL ? check_name(output, e) : 0;

	*ret_folder = realpath(*folder != '\0' ? folder : ".", NULL);
	if (ret == 0 && *ret_folder == NULL)
		ret = err_sys(e, -errno, "%s: cannot save the recording there", folder);
	if (ret == 0 && !is_device(output) && access(*ret_folder, W_OK | X_OK) < 0)
		ret = err_set(e, -errno,
			      "%s: cannot save the recording there (%s); use -o or --dir",
			      *ret_folder, strerror(errno));
	if (ret == 0 && output != NULL)
		*ret_output = xasprintf("%s/%s", *ret_folder, file_base(output));
	free(folder);
	return ret;
}

char *
run_output_name(const char *folder, const char *program, int pid)
{
	char *path = xasprintf("%s/seep.%s.%d.rec", folder, program, pid);

	for (unsigned i = 2; i < 10000 && access(path, F_OK) == 0; i++) {
		free(path);
		path = xasprintf("%s/seep.%s.%d-%u.rec", folder, program, pid, i);
	}
	return path;
}
