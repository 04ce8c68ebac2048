/* SPDX-License-Identifier: MIT */
/* procstatus.c -- see procstatus.h. */
#include "tool/target/proc/procstatus.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/buf.h"

static bool
find_number(int pid, const char *name, int base, uint64_t *ret)
{
	struct buf b = {0};
	size_t n = strlen(name);
	char path[64];
	bool found = false;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	if (buf_read_file(&b, path, NULL) == 0) {
		for (const char *at = buf_str(&b); at != NULL && !found;) {
			if (strncmp(at, name, n) == 0 && at[n] == ':') {
				char *end;

				*ret = strtoull(at + n + 1, &end, base);
				found = end > at + n + 1;
			}
			at = strchr(at, '\n');
			at = at != NULL ? at + 1 : NULL;
		}
	}
	buf_done(&b);
	return found;
}

int64_t
procstatus_number(int pid, const char *name)
{
	uint64_t n;

	return find_number(pid, name, 10, &n) ? (int64_t)n : -1;
}

int64_t
procstatus_most(int pid, const char *name)
{
	int64_t most = procstatus_number(pid, name);
	struct dirent *d;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		int tid = atoi(d->d_name);
		int64_t n = tid > 0 ? procstatus_number(tid, name) : -1;

		if (n > most)
			most = n;
	}
	if (dir != NULL)
		closedir(dir);
	return most;
}

uint64_t
procstatus_mask(int pid, const char *name)
{
	uint64_t n;

	return find_number(pid, name, 16, &n) ? n : 0;
}
