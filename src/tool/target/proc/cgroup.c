/* SPDX-License-Identifier: MIT */
/* cgroup.c -- see cgroup.h.
 *
 * A process in another cgroup namespace may have a path that does not exist here; going
 * up from it ends at the root of our mount, whose limit holds for it in any case. */
#include "tool/target/proc/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/target/proc/procfs.h"
#include "tool/util/buf.h"
#include "tool/util/x.h"

/* The files of one version. */
struct cgroup_files {
	const char *mount; /* below /sys/fs/cgroup */
	const char *limit, *usage, *inactive, *most, *events;
};

static const struct cgroup_files cgroup_v1 = {"/memory",
					      "memory.limit_in_bytes",
					      "memory.usage_in_bytes",
					      "total_inactive_file",
					      "memory.max_usage_in_bytes",
					      "memory.oom_control"};
static const struct cgroup_files cgroup_v2 = {"",
					      "memory.max",
					      "memory.current",
					      "inactive_file",
					      "memory.peak",
					      "memory.events"};
static const struct cgroup_files cgroup_hybrid = {"/unified",	    "memory.max",
						  "memory.current", "inactive_file",
						  "memory.peak",    "memory.events"};

/* The number behind `key` at the beginning of a line; 0 when there is none. */
static uint64_t
cgroup_field(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = text; at != NULL && *at != '\0';) {
		if (strncmp(at, key, n) == 0 && (at[n] == ' ' || at[n] == ':'))
			return strtoull(at + n + 1, NULL, 10);
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	return 0;
}

static uint64_t
cgroup_inactive(const char *folder, const char *key)
{
	char path[PATH_MAX];
	struct buf b = {0};
	uint64_t n = 0;

	if ((size_t)snprintf(path, sizeof path, "%s/memory.stat", folder) < sizeof path &&
	    buf_read_file(&b, path, NULL) == 0)
		n = cgroup_field(buf_str(&b), key);
	buf_done(&b);
	return n;
}

static uint64_t
cgroup_number(const char *folder, const char *name)
{
	char path[PATH_MAX];
	int64_t n = -1;

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
		n = procfs_number(path);
	return n > 0 ? (uint64_t)n : 0;
}

static void
cgroup_read_oom(const struct cgroup_files *f, struct cgroup_memory *c)
{
	char path[PATH_MAX];
	struct buf b = {0};

	c->held_bytes = cgroup_number(c->folder, f->usage);
	c->most_bytes = cgroup_number(c->folder, f->most);
	snprintf(path, sizeof path, "%s/%s", c->folder, f->events);
	if (buf_read_file(&b, path, NULL) == 0)
		c->oom_kills = cgroup_field(buf_str(&b), "oom_kill");
	buf_done(&b);
}

void
cgroup_again(struct cgroup_memory *c)
{
	bool v1;
	char path[PATH_MAX];

	if (c->folder[0] == '\0')
		return;
	snprintf(path, sizeof path, "%s/%s", c->folder, cgroup_v1.limit);
	v1 = access(path, F_OK) == 0;
	cgroup_read_oom(v1 ? &cgroup_v1 : &cgroup_v2, c);
}

/* Takes the limit of the group `path` if it is smaller than what is known. */
static void
cgroup_look(const char *sys, const struct cgroup_files *f, const char *path,
	    struct cgroup_memory *c)
{
	char folder[PATH_MAX - 64], file[PATH_MAX];
	int64_t limit, used;
	uint64_t inactive;

	if ((size_t)snprintf(folder, sizeof folder, "%s%s%s", sys, f->mount, path) >=
	    sizeof folder)
		return;
	snprintf(file, sizeof file, "%s/%s", folder, f->limit);
	limit = procfs_number(file);
	if (limit <= 0 || (uint64_t)limit >= c->limit_bytes)
		return;
	snprintf(file, sizeof file, "%s/%s", folder, f->usage);
	used = procfs_number(file);
	inactive = cgroup_inactive(folder, f->inactive);
	c->limit_bytes = (uint64_t)limit;
	c->used_bytes =
		used > 0 && (uint64_t)used > inactive ? (uint64_t)used - inactive : 0;
	c->machine = false;
	snprintf(c->group, sizeof c->group, "%.*s", (int)sizeof c->group - 1,
		 *path != '\0' ? path : "/");
	snprintf(c->folder, sizeof c->folder, "%.*s", (int)sizeof c->folder - 1, folder);
	cgroup_read_oom(f, c);
}

static void
cgroup_up(const char *sys, const struct cgroup_files *f, const char *from,
	  struct cgroup_memory *c)
{
	char path[PATH_MAX];
	char *slash;

	snprintf(path, sizeof path, "%s", from);
	if (strcmp(path, "/") == 0)
		path[0] = '\0';
	for (;;) {
		cgroup_look(sys, f, path, c);
		slash = strrchr(path, '/');
		if (slash == NULL)
			return;
		*slash = '\0';
	}
}

/* The machine: all of its memory, and what is not available of it. */
static void
cgroup_machine(const char *proc, struct cgroup_memory *c)
{
	char path[PATH_MAX];
	struct buf b = {0};
	uint64_t total = 0, available = 0;

	snprintf(path, sizeof path, "%s/meminfo", proc);
	if (buf_read_file(&b, path, NULL) == 0) {
		total = cgroup_field(buf_str(&b), "MemTotal") << 10;
		available = cgroup_field(buf_str(&b), "MemAvailable") << 10;
	}
	buf_done(&b);
	c->limit_bytes = total > 0 ? total : UINT64_MAX;
	c->used_bytes = total > available ? total - available : 0;
	c->machine = true;
}

void
cgroup_memory_at(const char *proc, const char *sys, int pid,
		 struct cgroup_memory *ret_memory)
{
	struct cgroup_memory c = {0};
	char path[PATH_MAX];
	struct buf b = {0};
	char *at, *line;

	cgroup_machine(proc, &c);
	snprintf(path, sizeof path, "%s/%d/cgroup", proc, pid);
	at = buf_read_file(&b, path, NULL) == 0 ? b.data : NULL;
	/* Lines are NUMBER:CONTROLLERS:PATH; version 2 has no controllers. */
	while (at != NULL && (line = strsep(&at, "\n")) != NULL) {
		char *controllers = strchr(line, ':');
		char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (group == NULL)
			continue;
		*group++ = '\0';
		controllers++;
		if (*controllers == '\0') {
			cgroup_up(sys, &cgroup_v2, group, &c);
			cgroup_up(sys, &cgroup_hybrid, group, &c);
		} else if (strstr(controllers, "memory") != NULL) {
			cgroup_up(sys, &cgroup_v1, group, &c);
		}
	}
	buf_done(&b);
	*ret_memory = c;
}

void
cgroup_memory(int pid, struct cgroup_memory *ret_memory)
{
	cgroup_memory_at("/proc", "/sys/fs/cgroup", pid, ret_memory);
}

/* ---- who is in it ---- */

enum { DEPTH_MAX = 16 };

static bool
is_group(const char *folder)
{
	char *file = xasprintf("%s/cgroup.procs", folder);
	bool there = access(file, F_OK) == 0;

	free(file);
	return there;
}

/* A group that cannot be read (one of threads) may have others below it. */
static void
add_group(const char *folder, unsigned depth, struct procfs_pids *pids)
{
	char *path = xasprintf("%s/cgroup.procs", folder);
	struct buf b = {0};
	int r = buf_read_file(&b, path, NULL);
	struct dirent *d;
	DIR *dir;

	free(path);
	for (char *at = b.data; r == 0 && at != NULL && *at != '\0';) {
		int pid = atoi(at);

		if (pid > 0) /* 0: in a pid namespace that we do not see into */
			procfs_pids_add(pids, pid);
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	buf_done(&b);
	dir = depth < DEPTH_MAX ? opendir(folder) : NULL;
	while (dir != NULL && (d = readdir(dir)) != NULL) {
		if (d->d_type != DT_DIR || d->d_name[0] == '.')
			continue;
		path = xasprintf("%s/%s", folder, d->d_name);
		add_group(path, depth + 1, pids);
		free(path);
	}
	if (dir != NULL)
		closedir(dir);
}

static bool
try_group(const char *sys, const char *hierarchy, const char *path,
	  struct procfs_pids *pids)
{
	char *folder = xasprintf("%s%s%s/%s", sys, *hierarchy != '\0' ? "/" : "",
				 hierarchy, path);
	bool found = is_group(folder);

	if (found)
		add_group(folder, 0, pids);
	free(folder);
	return found;
}

int
cgroup_processes_at(const char *sys, const char *path, struct procfs_pids *pids,
		    struct err *e)
{
	const char *below = path + strspn(path, "/");
	bool found = false;
	struct dirent *d;
	DIR *dir;

	if (*path == '/' && is_group(path)) {
		add_group(path, 0, pids);
		return 0;
	}
	/* Mounted there itself, version 2 has its groups at once; else what is below are
	 * hierarchies. */
	if (is_group(sys)) {
		found = try_group(sys, "", below, pids);
	} else if ((dir = opendir(sys)) != NULL) {
		while ((d = readdir(dir)) != NULL) {
			if (d->d_name[0] != '.')
				found = try_group(sys, d->d_name, below, pids) || found;
		}
		closedir(dir);
	}
	return found ? 0
		     : err_set(e, -ENOENT,
			       "%s: no such control group; see: cat /proc/PID/cgroup",
			       path);
}

int
cgroup_processes(const char *path, struct procfs_pids *pids, struct err *e)
{
	return cgroup_processes_at("/sys/fs/cgroup", path, pids, e);
}
