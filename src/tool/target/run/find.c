/* SPDX-License-Identifier: MIT */
/* find.c -- see find.h. */
#include "tool/target/run/find.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "tool/target/proc/procfs.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* The file of one mapping, whatever mount namespace the process lives in. map_files
 * cannot be fooled but is for root only; the path can, so what it leads to is
 * compared. */
static int
open_mapping(int pid, const struct procfs_map *m)
{
	char path[512];
	struct stat st;
	int fd, task = file_proc_task(pid);

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", task,
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (size_t)snprintf(path, sizeof path, "/proc/%d/root%s", task,
				       m->path) < sizeof path)
		fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || st.st_ino != m->inode ||
	    makedev(m->dev_major, m->dev_minor) != st.st_dev) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

/* By the ending only: with SEEP=name= the rest is the user's. What it is, its head
 * tells. */
static bool
is_live_path(const char *path)
{
	static const char ending[] = ".live", deleted[] = " (deleted)";
	size_t n = strlen(path);

	/* A deleted one can still be opened through map_files. */
	if (n >= sizeof deleted && strcmp(path + n - (sizeof deleted - 1), deleted) == 0)
		n -= sizeof deleted - 1;
	return n >= sizeof ending &&
	       strncmp(path + n - (sizeof ending - 1), ending, sizeof ending - 1) == 0;
}

/* Whether it is this process that records into the file: tools and forked children have
 * it mapped too, and may have been started in the same hundredth of a second. */
static bool
is_recorder(const struct livefile *f, const struct procfs_stat *st)
{
	uint64_t ticks = f->head->process_ticks;

	return (ticks == 0 || ticks == st->start_ticks) &&
	       (int)f->head->pid == procfs_ns_pid(st->pid);
}

/* The file of a mapping, if it is the process's recording. -EBADMSG when it is something
 * else. */
static int
open_recording(const struct procfs_stat *st, const struct procfs_map *m,
	       struct livefile *ret_file, struct err *e)
{
	struct livefile f = {.fd = -1};
	int fd = open_mapping(st->pid, m), r = fd;
	bool copied = fd < 0 && m->perms[3] == 's';

	/* Without root's rights a file that has no name can only be read where it is
	 * mapped. */
	if (copied)
		fd = livefile_copy(st->pid, m->start, m->end - m->start, NULL);
	r = fd < 0 ? err_sys(e, r, "%d (%s): cannot open its recording %s", st->pid,
			     st->comm, m->path)
		   : livefile_adopt(fd, m->path, &f, e);
	if (r == 0 && copied) {
		f.copied = true;
		f.inode = m->inode;
		f.dev = makedev(m->dev_major, m->dev_minor);
	}
	if (r == 0 && !is_recorder(&f, st)) {
		livefile_close(&f);
		r = -EBADMSG;
	}
	if (r == 0)
		*ret_file = f;
	return r;
}

/* The recording among a process's mappings. If there is none, but one that could have
 * been it, says what is wrong with that. */
static int
find_mapped(const struct procfs_stat *st, struct procfs_maps *maps,
	    struct livefile *ret_file, struct err *e)
{
	struct procfs_map m;
	int r = 0;

	while (procfs_maps_next(maps, &m)) {
		struct err why = {0};
		int got;

		if (!is_live_path(m.path) || m.offset != 0)
			continue;
		got = open_recording(st, &m, ret_file, &why);
		if (got == 0)
			return 0;
		if (got != -EBADMSG && r == 0) {
			r = got;
			if (e != NULL)
				*e = why;
		}
	}
	if (r == 0)
		r = err_set(e, -ENOENT,
			    "%d (%s): not recorded; start it with seep run, or: seep "
			    "attach %d",
			    st->pid, st->comm, st->pid);
	return r;
}

int
target_find_pid(int pid, struct livefile *ret_file, struct err *e)
{
	struct procfs_stat st;
	struct livefile f = {.fd = -1};
	struct procfs_maps maps = {0};
	uid_t uid;
	int r = procfs_stat(pid, &st, e);

	if (r == 0 && procfs_uid(pid, &uid) < 0)
		r = err_set(e, -ESRCH, "%d: no such process", pid);
	if (r == 0)
		r = procfs_maps_open(&maps, pid, e);
	if (r == -EACCES || r == -EPERM)
		r = err_set(e, r,
			    "%d (%s): its memory cannot be read; %ssee: seep doctor %d",
			    pid, st.comm, geteuid() != 0 ? "try sudo, or " : "", pid);
	if (r == 0)
		r = find_mapped(&st, &maps, &f, e);
	if (r == 0 && f.uid != uid && f.uid != geteuid())
		r = err_set(e, -EPERM,
			    "%d (%s): its recording belongs to another user; use sudo",
			    pid, st.comm);
	procfs_maps_close(&maps);
	if (r < 0) {
		livefile_close(&f);
		return r;
	}
	f.pid = pid;
	*ret_file = f;
	return 0;
}

static int
find_by_name(const char *name, struct livefile *ret_file, struct err *e)
{
	struct procfs_pids pids = {0};
	struct livefile found = {.fd = -1};
	struct buf several = {0};
	int r = procfs_find(name, &pids, e);
	unsigned n = 0;

	for (size_t i = 0; r == 0 && i < pids.len; i++) {
		struct livefile f = {.fd = -1};

		if (target_find_pid(pids.data[i], &f, NULL) < 0)
			continue;
		buf_printf(&several, "%s%d", n++ > 0 ? ", " : "", pids.data[i]);
		if (n == 1)
			found = f;
		else
			livefile_close(&f);
	}
	if (r == 0 && n > 1)
		r = err_set(e, -EEXIST, "%s: %u recorded processes have that name: %s",
			    name, n, buf_str(&several));
	else if (r == 0 && n == 0 && pids.len > 1)
		r = procfs_several(name, &pids, -ENOENT, e);
	else if (r == 0 && n == 0 && pids.len > 0)
		r = err_set(
			e, -ENOENT,
			"%s: runs, but is not recorded; start it with seep run, or: seep "
			"attach %s",
			name, name);
	else if (r == 0 && n == 0)
		r = err_set(e, -ESRCH, "%s: no such process", name);
	if (r == 0)
		*ret_file = found;
	else
		livefile_close(&found);
	buf_done(&several);
	vec_done(&pids);
	return r;
}

int
target_find(const char *what, struct livefile *ret_file, struct err *e)
{
	char *end;
	long pid = strtol(what, &end, 10);

	if (*what >= '0' && *what <= '9' && *end == '\0') {
		if (pid <= 0 || pid > 0x7fffffff)
			return err_set(e, -ESRCH, "%s: no process has that number", what);
		return target_find_pid((int)pid, ret_file, e);
	}
	return find_by_name(what, ret_file, e);
}

int
target_find_writable(const char *what, struct livefile *ret_file, struct err *e)
{
	int r = target_find(what, ret_file, e);

	if (r == 0 && ret_file->copied) {
		r = err_set(e, -EPERM,
			    "%d: the recording of seep attach can be read, but only root "
			    "can write to it; try sudo",
			    ret_file->pid);
		livefile_close(ret_file);
	}
	return r;
}

void
target_path(const struct livefile *f, char *ret_path, unsigned size)
{
	snprintf(ret_path, size, "/proc/self/fd/%d", f->fd);
}
