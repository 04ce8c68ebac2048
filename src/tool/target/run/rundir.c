/* SPDX-License-Identifier: MIT */
/* rundir.c -- see rundir.h.
 *
 * The owner file holds fields that each end with a NUL: pid, start ticks, run id, output,
 * command. Whoever has it locked owns the folder; pid and ticks say the same to tools
 * that may not open it for writing, and survive file systems where locks do not work. */
#include "tool/target/run/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/livefile.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"

enum {
	OWNER_BYTES_MAX = 64 << 10,
	YOUNG_SECONDS = 10, /* a folder without an owner file may be in the making */
};

#define ROOM_WANTED_BYTES (UINT64_C(256) << 20)
#define ROOM_LEAST_BYTES (UINT64_C(4) << 20)

/* ---- places ---- */

/* The i-th place for run folders, or NULL at the end; "" stands for one that is not
 * there. */
static const char *
place(unsigned i)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");

	switch (i) {
	case 0:
		return "/dev/shm";
	case 1:
		/* SEEP= separates its settings by commas. */
		return runtime == NULL || runtime[0] != '/' ||
				       strchr(runtime, ',') != NULL
			       ? ""
			       : runtime;
	case 2:
		return "/tmp";
	default:
		return NULL;
	}
}

/* Free bytes of a folder we can write to, 0 when it is no good. */
static uint64_t
place_room(const char *path, bool *ret_tmpfs)
{
	struct statfs fs;

	if (*path == '\0' || statfs(path, &fs) < 0 || access(path, W_OK | X_OK) < 0)
		return 0;
	*ret_tmpfs = fs.f_type == TMPFS_MAGIC;
	return (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
}

/* The first tmpfs with plenty of room; if there is none, the place with most of it. */
static const char *
choose_place(void)
{
	const char *best = NULL, *p;
	uint64_t most = ROOM_LEAST_BYTES;

	for (unsigned i = 0; (p = place(i)) != NULL; i++) {
		bool tmpfs = false;
		uint64_t room = place_room(p, &tmpfs);

		if (tmpfs && room >= ROOM_WANTED_BYTES)
			return p;
		if (room > most) {
			most = room;
			best = p;
		}
	}
	return best;
}

uint64_t
rundir_room_bytes(const struct rundir *d)
{
	struct statvfs fs;

	if (fstatvfs(d->fd, &fs) < 0)
		return 0;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* ---- the owner file ---- */

static int
owner_write(struct rundir *d, struct err *e)
{
	struct buf b = {0};
	int r = 0;

	buf_printf(&b, "%d%c%" PRIu64 "%c%016" PRIx64 "%c", d->owner_pid, 0,
		   d->owner_ticks, 0, d->run_id, 0);
	buf_add(&b, d->output, strlen(d->output) + 1);
	buf_add(&b, d->command, strlen(d->command) + 1);
	if (pwrite(d->lock_fd, b.data, b.len, 0) != (ssize_t)b.len ||
	    ftruncate(d->lock_fd, (off_t)b.len) < 0)
		r = err_sys(e, errno != 0 ? -errno : -EIO, "%s/owner: cannot write",
			    d->path);
	buf_done(&b);
	return r;
}

/* The field at *at, moved behind it; "" when there are no more. */
static const char *
next_field(const char **at, const char *end)
{
	const char *field = *at;

	if (field >= end)
		return "";
	*at = field + strlen(field) + 1;
	return field;
}

static void
owner_read(struct rundir *d)
{
	struct buf b = {0};
	const char *at, *end;
	int fd = openat(d->fd, "owner", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0 && buf_read_fd(&b, fd, OWNER_BYTES_MAX, "owner", NULL) == 0 &&
	    b.len > 0) {
		at = b.data;
		end = b.data + b.len;
		d->owner_pid = atoi(next_field(&at, end));
		d->owner_ticks = strtoull(next_field(&at, end), NULL, 10);
		d->run_id = strtoull(next_field(&at, end), NULL, 16);
		d->output = xstrdup(next_field(&at, end));
		d->command = xstrdup(next_field(&at, end));
	} else {
		d->output = xstrdup("");
		d->command = xstrdup("");
	}
	buf_done(&b);
	if (fd >= 0)
		close(fd);
}

static void
owner_set_self(struct rundir *d)
{
	struct procfs_stat st;

	d->owner_pid = getpid();
	d->owner_ticks = procfs_stat(getpid(), &st, NULL) == 0 ? st.start_ticks : 0;
}

int
rundir_set_output(struct rundir *d, const char *path, struct err *e)
{
	free(d->output);
	d->output = xstrdup(path);
	return owner_write(d, e);
}

/* ---- making, opening, removing ---- */

int
rundir_new(const char *command, struct rundir *ret_dir, struct err *e)
{
	struct rundir d = RUNDIR_NONE;
	const char *where = choose_place();
	uint64_t random[2];
	int r = 0;

	if (where == NULL)
		return err_set(
			e, -ENOSPC,
			"no room for a recording in /dev/shm, $XDG_RUNTIME_DIR or /tmp; free some space there or use a smaller --max-size");
	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
		return err_sys(e, -errno, "no random numbers");
	d.run_id = random[1];
	d.path = xasprintf("%s/seep-%u-%016" PRIx64, where, (unsigned)geteuid(),
			   random[0]);
	d.command = xstrdup(command);
	d.output = xstrdup("");
	owner_set_self(&d);
	if (mkdir(d.path, 0700) < 0)
		r = err_sys(e, -errno, "%s: cannot make the run folder", d.path);
	if (r == 0) {
		d.fd = open(d.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (d.fd >= 0)
			d.lock_fd = openat(
				d.fd, "owner",
				O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (d.lock_fd < 0 || flock(d.lock_fd, LOCK_EX | LOCK_NB) < 0)
			r = err_sys(e, -errno, "%s: cannot use the run folder", d.path);
	}
	if (r == 0)
		r = owner_write(&d, e);
	if (r < 0) {
		if (d.lock_fd >= 0)
			rundir_remove(&d, NULL, NULL);
		rundir_close(&d);
		return r;
	}
	*ret_dir = d;
	return 0;
}

int
rundir_open(const char *path, struct rundir *ret_dir, struct err *e)
{
	struct rundir d = RUNDIR_NONE;
	struct stat st;

	d.fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (d.fd < 0)
		return err_sys(e, -errno, "%s", path);
	if (fstat(d.fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0) {
		close(d.fd);
		return err_set(e, -EPERM, "%s: not a run folder of seep", path);
	}
	d.path = xstrdup(path);
	owner_read(&d);
	*ret_dir = d;
	return 0;
}

void
rundir_close(struct rundir *d)
{
	if (d->fd >= 0)
		close(d->fd);
	if (d->lock_fd >= 0)
		close(d->lock_fd);
	free(d->path);
	free(d->output);
	free(d->command);
	*d = (struct rundir)RUNDIR_NONE;
}

static bool
is_known(const struct rundir_names *known, const char *name)
{
	for (size_t i = 0; i < known->len; i++) {
		if (strcmp(known->data[i], name) == 0)
			return true;
	}
	return false;
}

/* Removes what is inside, but for the owner file, which tells whose the folder is. */
static void
empty_folder(const struct rundir *d)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		if (de->d_name[0] != '.' && strcmp(de->d_name, "owner") != 0)
			unlinkat(d->fd, de->d_name, 0);
	}
	if (dir != NULL)
		closedir(dir);
}

int
rundir_remove(struct rundir *d, const struct rundir_names *known, struct err *e)
{
	struct rundir_names names = {0};
	bool strange = false;
	int r = 0;

	if (d->lock_fd < 0)
		return err_set(
			e, -EPERM,
			"%s: belongs to another user; run as that user or with sudo",
			d->path);
	rundir_files(d, &names);
	for (size_t i = 0; known != NULL && i < names.len; i++)
		strange = strange || !is_known(known, names.data[i]);
	rundir_names_done(&names);
	if (strange)
		return err_set(e, -ENOTEMPTY, "%s: has new recordings", d->path);
	fchmod(d->fd, 0700); /* somebody may have made it read-only */
	empty_folder(d);
	unlinkat(d->fd, "owner", 0);
	if (rmdir(d->path) < 0)
		r = err_sys(e, -errno, "%s: cannot remove", d->path);
	if (r == -ENOTEMPTY || r == -EEXIST) {
		/* One came in this very moment: it needs an owner file to be found by. */
		close(d->lock_fd);
		d->lock_fd = openat(d->fd, "owner",
				    O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (d->lock_fd >= 0 && flock(d->lock_fd, LOCK_EX | LOCK_NB) == 0)
			owner_write(d, NULL);
		return -ENOTEMPTY;
	}
	rundir_close(d);
	return r;
}

/* ---- whose, and who is inside ---- */

/* True when a lock on the owner file can not be had, that is, the owner runs. */
static bool
is_locked(const struct rundir *d)
{
	int fd = openat(d->fd, "owner", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool locked;

	if (fd < 0)
		return false;
	locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(fd);
	return locked;
}

bool
rundir_owned(const struct rundir *d)
{
	struct stat st;

	if (d->lock_fd >= 0 || is_locked(d))
		return true;
	if (d->owner_pid != 0)
		return procfs_alive(d->owner_pid, d->owner_ticks);
	return fstat(d->fd, &st) == 0 && time(NULL) - st.st_mtime < YOUNG_SECONDS;
}

int
rundir_take(struct rundir *d, struct err *e)
{
	struct stat at_path, opened;
	int fd;

	if (d->lock_fd >= 0)
		return 0;
	if (rundir_owned(d))
		return err_set(e, -EBUSY,
			       "%s: its owner, process %d, runs; wait for its end",
			       d->path, d->owner_pid);
	fd = openat(d->fd, "owner", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_sys(e, -errno, "%s/owner", d->path);
	/* Somebody may have removed the folder between our open and our lock. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &opened) < 0 ||
	    fstatat(d->fd, "owner", &at_path, AT_SYMLINK_NOFOLLOW) < 0 ||
	    at_path.st_ino != opened.st_ino) {
		close(fd);
		return err_set(e, -EBUSY, "%s: another seep reads it; try again",
			       d->path);
	}
	d->lock_fd = fd;
	return 0;
}

/* ---- lists ---- */

static bool
is_run_name(const char *name)
{
	char mine[32];
	int n = snprintf(mine, sizeof mine, "seep-%u-", (unsigned)geteuid());

	return strncmp(name, mine, (size_t)n) == 0 && strlen(name + n) == 16 &&
	       strspn(name + n, "0123456789abcdef") == 16;
}

bool
rundir_is_live_name(const char *name, int *ret_pid)
{
	char *end;
	long pid = strtol(name, &end, 10);

	if (pid <= 0 || pid > 0x7fffffff || *end != '.' || strlen(end + 1) != 16 + 5 ||
	    strspn(end + 1, "0123456789abcdef") != 16 || strcmp(end + 17, ".live") != 0)
		return false;
	if (ret_pid != NULL)
		*ret_pid = (int)pid;
	return true;
}

static int
compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
rundir_list(struct rundir_names *ret_paths)
{
	const char *p;

	for (unsigned i = 0; (p = place(i)) != NULL; i++) {
		DIR *dir = *p != '\0' ? opendir(p) : NULL;
		struct dirent *de;

		while (dir != NULL && (de = readdir(dir)) != NULL) {
			if (is_run_name(de->d_name))
				vec_push(ret_paths, xasprintf("%s/%s", p, de->d_name));
		}
		if (dir != NULL)
			closedir(dir);
	}
	vec_sort(ret_paths, compare_names);
}

void
rundir_files(const struct rundir *d, struct rundir_names *ret_names)
{
	int fd = openat(d->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *de;

	while (dir != NULL && (de = readdir(dir)) != NULL) {
		if (rundir_is_live_name(de->d_name, NULL))
			vec_push(ret_names, xstrdup(de->d_name));
	}
	if (dir != NULL)
		closedir(dir);
	vec_sort(ret_names, compare_names);
}

void
rundir_names_done(struct rundir_names *v)
{
	for (size_t i = 0; i < v->len; i++)
		free(v->data[i]);
	vec_done(v);
}

const char *
rundir_name(const struct rundir *d)
{
	return strrchr(d->path, '/') + 1;
}

int
rundir_find(const char *name, struct rundir *ret_dir, struct err *e)
{
	const char *slash = strrchr(name, '/'), *last = slash != NULL ? slash + 1 : name;
	struct rundir_names paths = {0};
	int r = -ENOENT;

	if (is_run_name(last))
		rundir_list(&paths);
	for (size_t i = 0; r == -ENOENT && i < paths.len; i++) {
		if (strcmp(slash != NULL ? paths.data[i]
					 : strrchr(paths.data[i], '/') + 1,
			   name) == 0)
			r = rundir_open(paths.data[i], ret_dir, e);
	}
	rundir_names_done(&paths);
	return r == -ENOENT
		       ? err_set(e, r, "%s: no left-over recording of that name", name)
		       : r;
}

/* ---- who still records ---- */

/* Whether a process has one of the files mapped: their names have 64 random bits, while
 * two file systems have the same inode numbers. Maps that we may not read belong to other
 * users, who cannot be inside. */
static bool
maps_one_of(int pid, const struct rundir_names *files)
{
	struct procfs_maps maps;
	struct procfs_map m;
	bool found = false;

	procfs_maps_open(&maps, pid, NULL);
	while (!found && procfs_maps_next(&maps, &m)) {
		for (size_t i = 0; i < files->len && strstr(m.path, ".live") != NULL; i++)
			found = found || strstr(m.path, files->data[i]) != NULL;
	}
	procfs_maps_close(&maps);
	return found;
}

/* Those of our own pid namespace were told by their pid. */
static bool
is_elsewhere(int pid, const char *own_ns)
{
	char *ns = NULL;
	bool other = file_proc_link(pid, "ns/pid", &ns, NULL, NULL) == 0 &&
		     strcmp(ns, own_ns) != 0;

	free(ns);
	return other;
}

static unsigned
count_elsewhere(const struct rundir_names *files, int *ret_pids, unsigned max)
{
	struct procfs_pids pids = {0};
	char *own_ns = NULL;
	unsigned n = 0;

	if (files->len > 0 && procfs_pids(&pids, NULL) == 0 &&
	    file_proc_link(getpid(), "ns/pid", &own_ns, NULL, NULL) == 0) {
		for (size_t i = 0; i < pids.len; i++) {
			if (!is_elsewhere(pids.data[i], own_ns) ||
			    !maps_one_of(pids.data[i], files))
				continue;
			if (ret_pids != NULL && n < max)
				ret_pids[n] = pids.data[i];
			n++;
		}
	}
	free(own_ns);
	vec_done(&pids);
	return n;
}

unsigned
rundir_living(const struct rundir *d, int *ret_pids, unsigned max)
{
	struct rundir_names names = {0};
	struct rundir_names silent = {0};
	unsigned n = 0;

	rundir_files(d, &names);
	for (size_t i = 0; i < names.len; i++) {
		struct livefile f = {.fd = -1};

		if (livefile_open(d->fd, names.data[i], &f, NULL) < 0)
			continue;
		if (f.head->life == REC_LIFE_EXEC) {
			/* the pid lives on with another recording, or without one */
		} else if (livefile_alive(&f)) {
			if (ret_pids != NULL && n < max)
				ret_pids[n] = f.pid;
			n++;
		} else if (f.head->life != REC_LIFE_EXITED) {
			vec_push(&silent, xstrdup(names.data[i]));
		}
		livefile_close(&f);
	}
	n += count_elsewhere(&silent, ret_pids != NULL && n < max ? ret_pids + n : NULL,
			     n < max ? max - n : 0);
	rundir_names_done(&silent);
	rundir_names_done(&names);
	return n;
}

unsigned
rundir_forked(const struct rundir *d, int after)
{
	struct rundir_names names = {0};
	struct procfs_pids pids = {0};
	unsigned n = 0;

	rundir_files(d, &names);
	if (names.len > 0 && procfs_pids(&pids, NULL) == 0) {
		for (size_t i = 0; i < pids.len; i++) {
			bool recorder = false;

			for (size_t k = 0; k < names.len; k++) {
				int pid = 0;

				rundir_is_live_name(names.data[k], &pid);
				recorder = recorder || pid == pids.data[i];
			}
			if (pids.data[i] > after && pids.data[i] != getpid() && !recorder)
				n += maps_one_of(pids.data[i], &names);
		}
	}
	vec_done(&pids);
	rundir_names_done(&names);
	return n;
}
