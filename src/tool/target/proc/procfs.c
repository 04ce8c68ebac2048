/* SPDX-License-Identifier: MIT */
/* procfs.c -- see procfs.h.
 *
 * Small files go through one fixed buffer and one read, because the clock asks for them
 * twenty times a second. What a hostile process can write (its name, its command line) is
 * bounded and never used as a format or a path. */
#include "tool/target/proc/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/util/file.h"

enum {
	LISTED_MAX = 8,		 /* processes, in a message */
	PF_KTHREAD = 0x00200000, /* of the flags in stat */
};

/* Reads up to size - 1 bytes of a small file and ends them with a NUL. */
static int
read_small(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, text, size - 1);
	if (got < 0)
		got = errno == ESRCH ? -ESRCH : -errno;
	close(fd);
	if (got < 0)
		return (int)got;
	text[got] = '\0';
	return 0;
}

static int
read_proc(int pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	return read_small(path, text, size);
}

/* Field `n` (3 is the first behind the name) of a stat line, from `at` on. */
static uint64_t
stat_field(const char *at, int n)
{
	for (int i = 3; i < n; i++) {
		at = strchr(at, ' ');
		if (at == NULL)
			return 0;
		at++;
	}
	return strtoull(at, NULL, 10);
}

/* The first thread has ended, others may go on: the process is in their state. */
static void
take_other(int pid, struct procfs_stat *stat)
{
	struct procfs_stat other;
	int tid = file_proc_task(pid);

	if (tid == pid || procfs_stat(tid, &other, NULL) < 0 || other.state == 'Z')
		return;
	stat->state = other.state;
	stat->rss_kib = other.rss_kib;
}

int
procfs_stat(int pid, struct procfs_stat *ret_stat, struct err *e)
{
	char text[1024];
	const char *open_at, *close_at;
	size_t len;
	int r = read_proc(pid, "stat", text, sizeof text);

	if (r < 0)
		return err_set(e, r, "%d: no such process", pid);
	/* The name may hold anything, parentheses too: the last one closes it. */
	open_at = strchr(text, '(');
	close_at = strrchr(text, ')');
	if (open_at == NULL || close_at == NULL || close_at < open_at ||
	    close_at[1] != ' ')
		return err_set(e, -EIO, "/proc/%d/stat cannot be parsed", pid);
	memset(ret_stat, 0, sizeof *ret_stat);
	len = (size_t)(close_at - open_at - 1);
	if (len >= sizeof ret_stat->comm)
		len = sizeof ret_stat->comm - 1;
	memcpy(ret_stat->comm, open_at + 1, len);
	for (char *c = ret_stat->comm; *c != '\0';
	     c++) /* a newline would make rows of its own */
		if ((unsigned char)*c < 32 || *c == 127)
			*c = '?';
	ret_stat->pid = pid;
	ret_stat->state = close_at[2];
	ret_stat->ppid = (int)stat_field(close_at + 2, 4);
	ret_stat->kernel_thread = (stat_field(close_at + 2, 9) & PF_KTHREAD) != 0;
	ret_stat->cpu_ticks = stat_field(close_at + 2, 14) + stat_field(close_at + 2, 15);
	ret_stat->threads = (unsigned)stat_field(close_at + 2, 20);
	ret_stat->start_ticks = stat_field(close_at + 2, 22);
	ret_stat->rss_kib =
		stat_field(close_at + 2, 24) * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	if (ret_stat->state == 'Z' && ret_stat->threads > 1)
		take_other(pid, ret_stat);
	return 0;
}

bool
procfs_alive(int pid, uint64_t start_ticks)
{
	struct procfs_stat st;

	if (pid <= 0 || procfs_stat(pid, &st, NULL) < 0)
		return false;
	/* A first thread that has ended waits as a zombie for the others. */
	if ((st.state == 'Z' && st.threads < 2) || st.state == 'X')
		return false;
	return start_ticks == 0 || st.start_ticks == start_ticks;
}

/* The number behind `key` in the text of a status file, 0 when it is not there. */
static uint64_t
status_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

int
procfs_memory(int pid, uint64_t *ret_rss_kib, uint64_t *ret_anon_kib)
{
	char text[4096];
	int r = read_proc(file_proc_task(pid), "status", text, sizeof text);

	if (r < 0)
		return r;
	*ret_rss_kib = status_number(text, "\nVmRSS:");
	*ret_anon_kib = status_number(text, "\nRssAnon:");
	return 0;
}

int
procfs_memory_open(int pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/statm", file_proc_task(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

int
procfs_memory_read(int fd, uint64_t *ret_rss_kib, uint64_t *ret_anon_kib)
{
	uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024, rss, shared;
	char text[256], *at;
	ssize_t got = pread(fd, text, sizeof text - 1, 0);

	if (got <= 0)
		return got < 0 ? -errno : -ESRCH;
	text[got] = '\0';
	strtoull(text, &at, 10); /* the size of its address space */
	rss = strtoull(at, &at, 10);
	shared = strtoull(at, &at, 10);
	*ret_rss_kib = rss * page_kib;
	*ret_anon_kib = rss > shared ? (rss - shared) * page_kib : 0;
	return 0;
}

int
procfs_uid(int pid, uid_t *ret_uid)
{
	char text[4096];
	int r = read_proc(pid, "status", text, sizeof text);

	if (r < 0)
		return r;
	if (strstr(text, "\nUid:") == NULL)
		return -EIO;
	*ret_uid = (uid_t)status_number(text, "\nUid:");
	return 0;
}

void
procfs_ids(int pid, uid_t *ret_uid, gid_t *ret_gid)
{
	enum { NOBODY = 65534 };
	char text[4096];
	bool known = read_proc(pid, "status", text, sizeof text) >= 0 &&
		     strstr(text, "\nUid:") != NULL && strstr(text, "\nGid:") != NULL;

	*ret_uid = known ? (uid_t)status_number(text, "\nUid:") : NOBODY;
	*ret_gid = known ? (gid_t)status_number(text, "\nGid:") : NOBODY;
}

int
procfs_ns_pid(int pid)
{
	char text[4096], *at, *end;

	if (read_proc(pid, "status", text, sizeof text) < 0)
		return pid;
	at = strstr(text, "\nNSpid:");
	if (at == NULL)
		return pid;
	at += strlen("\nNSpid:");
	at[strcspn(at, "\n")] = '\0';
	/* One number for each namespace, the innermost last. */
	end = strrchr(at, '\t');
	return end != NULL ? atoi(end + 1) : pid;
}

void
procfs_thread_name(int pid, int tid, char *ret_name, size_t size)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/task/%d/comm", pid, tid);
	if (read_small(path, ret_name, size) < 0)
		ret_name[0] = '\0';
	ret_name[strcspn(ret_name, "\n")] = '\0';
}

bool
procfs_next_map(char **at, struct procfs_map *ret_map)
{
	while (**at != '\0') {
		struct procfs_map m = {.path = ""};
		char *line = *at, *end = strchr(line, '\n');
		int used = 0, n;

		if (end != NULL)
			*end = '\0';
		*at = end != NULL ? end + 1 : line + strlen(line);
		n = sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 "%n",
			   &m.start, &m.end, m.perms, &m.offset, &m.dev_major,
			   &m.dev_minor, &m.inode, &used);
		if (n < 7)
			continue;
		m.path = line + used + strspn(line + used, " ");
		*ret_map = m;
		return true;
	}
	return false;
}

int
procfs_maps_open(struct procfs_maps *ret_maps, int pid, struct err *e)
{
	char path[64];
	int r;

	*ret_maps = (struct procfs_maps){0};
	snprintf(path, sizeof path, "/proc/%d/maps", file_proc_task(pid));
	r = buf_read_file(&ret_maps->text, path, e);
	if (r == 0)
		ret_maps->at = ret_maps->text.data;
	return r;
}

bool
procfs_maps_next(struct procfs_maps *m, struct procfs_map *ret_map)
{
	return m->at != NULL && procfs_next_map(&m->at, ret_map);
}

void
procfs_maps_close(struct procfs_maps *m)
{
	buf_done(&m->text);
	m->at = NULL;
}

void
procfs_pids_add(struct procfs_pids *pids, int pid)
{
	for (size_t i = 0; i < pids->len; i++) {
		if (pids->data[i] == pid)
			return;
	}
	vec_push(pids, pid);
}

int
procfs_pids(struct procfs_pids *ret_pids, struct err *e)
{
	DIR *d = opendir("/proc");
	struct dirent *de;

	if (d == NULL)
		return err_sys(e, -errno, "/proc: cannot read");
	while ((de = readdir(d)) != NULL) {
		if (isdigit((unsigned char)de->d_name[0]))
			vec_push(ret_pids, atoi(de->d_name));
	}
	closedir(d);
	return 0;
}

void
procfs_children(int pid, struct procfs_pids *ret_pids)
{
	char path[128];
	struct dirent *de;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	while (d != NULL && (de = readdir(d)) != NULL) {
		struct buf b = {0};
		char *at, *word;

		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", pid,
			 de->d_name);
		if (buf_read_file(&b, path, NULL) == 0 && b.len > 0) {
			at = b.data;
			while ((word = strsep(&at, " \n")) != NULL) {
				if (*word != '\0')
					vec_push(ret_pids, atoi(word));
			}
		}
		buf_done(&b);
	}
	if (d != NULL)
		closedir(d);
}

/* Whether the executable of `pid` is called `name`, or is the file `name` if that is a
 * path: also one that was built anew since. */
static bool
exe_is(int pid, const char *name)
{
	char *target = NULL, *path = NULL;
	bool same = false;
	const char *slash;

	if (file_proc_link(pid, "exe", &target, NULL, NULL) == 0) {
		slash = strrchr(target, '/');
		if (strchr(name, '/') != NULL)
			path = realpath(name, NULL);
		if (path != NULL)
			same = strcmp(target, path) == 0;
		else
			same = strcmp(slash != NULL ? slash + 1 : target, name) == 0;
	}
	free(path);
	free(target);
	return same;
}

int
procfs_find(const char *name, struct procfs_pids *ret_pids, struct err *e)
{
	struct procfs_pids all = {0};
	int r = procfs_pids(&all, e);

	for (size_t i = 0; i < all.len; i++) {
		struct procfs_stat st;

		if (all.data[i] == getpid() || procfs_stat(all.data[i], &st, NULL) < 0)
			continue;
		/* The kernel cuts names to 15 bytes. */
		if (strncmp(st.comm, name, 15) == 0 &&
		    (strlen(name) <= 15 || exe_is(all.data[i], name)))
			vec_push(ret_pids, all.data[i]);
		else if (exe_is(all.data[i], name))
			vec_push(ret_pids, all.data[i]);
	}
	vec_done(&all);
	return r;
}

int
procfs_several(const char *word, const struct procfs_pids *pids, int code, struct err *e)
{
	struct buf list = {0};

	for (size_t i = 0; i < pids->len && i < LISTED_MAX; i++)
		buf_printf(&list, "%s%d", i > 0 ? ", " : "", pids->data[i]);
	err_set(e, code, "%s: %zu processes %s, give a PID: %s%s", word, pids->len,
		strchr(word, '/') != NULL ? "run it" : "have that name", buf_str(&list),
		pids->len > LISTED_MAX ? ", ..." : "");
	buf_done(&list);
	return code;
}

int
procfs_find_one(const char *word, int *ret_pid, struct err *e)
{
	struct procfs_pids pids = {0};
	char *end;
	long pid = strtol(word, &end, 10);
	int r;

	if (*word >= '0' && *word <= '9' && *end == '\0') {
		*ret_pid = pid <= INT32_MAX ? (int)pid : 0;
		return *ret_pid > 0 ? 0 : err_set(e, -ESRCH, "%s: no such process", word);
	}
	r = procfs_find(word, &pids, e);
	if (r == 0 && pids.len == 0)
		r = err_set(e, -ESRCH, "%s: no such process", word);
	else if (r == 0 && pids.len > 1)
		r = procfs_several(word, &pids, -ENOTUNIQ, e);
	else if (r == 0)
		*ret_pid = pids.data[0];
	vec_done(&pids);
	return r;
}

int64_t
procfs_number(const char *path)
{
	char text[64];
	char *end;
	unsigned long long n;

	if (read_small(path, text, sizeof text) < 0)
		return -1;
	errno = 0;
	n = strtoull(text, &end, 10);
	/* "max" in version 2, and a huge number in version 1, both mean no limit. */
	return end == text || errno != 0 || n > INT64_MAX ? -1 : (int64_t)n;
}

/* Smallest limit in the file `leaf` of the folder root/path and those above it. */
static uint64_t
cgroup_limit(const char *root, char *path, const char *leaf, uint64_t least)
{
	char file[PATH_MAX];

	for (;;) {
		char *slash;
		int64_t n;

		if ((size_t)snprintf(file, sizeof file, "%s%s/%s", root, path, leaf) <
		    sizeof file) {
			n = procfs_number(file);
			if (n > 0 && (uint64_t)n < least)
				least = (uint64_t)n;
		}
		slash = strrchr(path, '/');
		if (slash == NULL)
			return least;
		*slash = '\0';
	}
}

uint64_t
procfs_memory_limit_bytes(void)
{
	uint64_t least =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	struct buf b = {0};
	char *at, *line;

	if (least == 0)
		least = UINT64_C(1) << 30;
	if (buf_read_file(&b, "/proc/self/cgroup", NULL) < 0 || b.len == 0)
		return least;
	/* Lines are NUMBER:CONTROLLERS:PATH; version 2 has no controllers. Inside a
	 * container the path may not exist below our mount; the walk upwards ends at its
	 * root anyway. */
	at = b.data;
	while ((line = strsep(&at, "\n")) != NULL) {
		char *controllers = strchr(line, ':');
		char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;

		if (path == NULL)
			continue;
		*path++ = '\0';
		controllers++;
		if (*controllers == '\0') {
			char again[PATH_MAX];

			snprintf(again, sizeof again, "%s", path);
			least = cgroup_limit("/sys/fs/cgroup", path, "memory.max", least);
			least = cgroup_limit("/sys/fs/cgroup/unified", again,
					     "memory.max", least);
		} else if (strstr(controllers, "memory") != NULL) {
			least = cgroup_limit("/sys/fs/cgroup/memory", path,
					     "memory.limit_in_bytes", least);
		}
	}
	buf_done(&b);
	return least;
}
