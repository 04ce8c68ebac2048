/* SPDX-License-Identifier: MIT */
/* file.c -- whole files in, whole files out.
 *
 * The new file's name is ".NAME.XXXXXXXXXXXXXXXX" with 64 random bits, opened with O_EXCL
 * and O_NOFOLLOW in the destination's own directory, so that rename stays within one file
 * system and a name planted by someone else makes us try another, never write into
 * theirs. */
#include "tool/util/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "tool/util/x.h"

#define FILE_TRIES 16
#define FILE_MARK "user.seep"

int
file_read(const char *path, size_t max_bytes, struct buf *ret_buf, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r;

	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	r = buf_read_fd(ret_buf, fd, max_bytes, path, e);
	close(fd);
	return r;
}

/* Where links and devices are what is meant. */
static bool
file_is_special(const char *path)
{
	return (strncmp(path, "/dev/", 5) == 0 && strncmp(path, "/dev/shm/", 9) != 0) ||
	       strncmp(path, "/proc/", 6) == 0;
}

/* Kinds of destination: 0 replace it, 1 write into it, negative: refuse. */
static int
file_out_kind(const char *path, struct err *e)
{
	struct stat st;

	if (file_is_special(path))
		return 1;
	if (lstat(path, &st) != 0)
		return 0; /* usually not there yet; else opening the new file says why */
	if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		return 0;
	if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		return 1;
	if (S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", path);
	return err_set(e, -EINVAL, "%s: not a file that can be written", path);
}

static int
file_out_in_place(struct file_out *f, const char *path, struct err *e)
{
	int flags = O_WRONLY | O_CLOEXEC | O_NOCTTY;
	int fd;

	/* /dev/stdout is a chain of links; elsewhere a link may be a trap */
	if (!file_is_special(path))
		flags |= O_NOFOLLOW;
	fd = open(path, flags);
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open for writing", path);
	f->fd = fd;
	f->path = xstrdup(path);
	return 0;
}

static char *
file_tmp_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash != NULL ? (int)(slash - path) + 1 : 0;
	const char *base = path + dir;
	uint64_t r = 0;

	if (getrandom(&r, sizeof r, 0) != (ssize_t)sizeof r)
		r = (uint64_t)getpid(); /* O_EXCL still keeps us safe */
	/* base is cut so that the name stays within NAME_MAX */
	return xasprintf("%.*s.%.200s.%016llx", dir, path, base, (unsigned long long)r);
}

int
file_out_open(struct file_out *f, const char *path, struct err *e)
{
	int kind = file_out_kind(path, e);
	int code = 0;

	*f = (struct file_out){.fd = -1};
	if (kind < 0)
		return kind;
	if (kind == 1)
		return file_out_in_place(f, path, e);
	for (int i = 0; i < FILE_TRIES; i++) {
		f->tmp = file_tmp_name(path);
		f->fd = open(f->tmp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			     0600);
		if (f->fd >= 0) {
			f->path = xstrdup(path);
			return 0;
		}
		code = -errno;
		free(f->tmp);
		f->tmp = NULL;
		if (code != -EEXIST)
			break;
	}
	return err_sys(e, code, "%s: cannot create", path);
}

int
file_out_check(const char *path, struct err *e)
{
	int r = file_out_kind(path, e);
	struct file_out f;

	if (r < 0)
		return r;
	if (r == 1)
		return access(path, W_OK) == 0
			       ? 0
			       : err_sys(e, -errno, "%s: cannot open for writing", path);
	r = file_out_open(&f, path, e);
	file_out_done(&f);
	return r;
}

int
file_out_write(struct file_out *f, const void *p, size_t n, struct err *e)
{
	const char *at = p;
	ssize_t put;

	while (n > 0) {
		put = write(f->fd, at, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return err_sys(e, -errno, "%s: cannot write", f->path);
		at += put;
		n -= (size_t)put;
	}
	return 0;
}

/* "user.seep" of a file: its size and time of change when it was complete. */
struct file_mark {
	char s[64];
};

static struct file_mark
file_mark(const struct stat *st)
{
	struct file_mark m;

	snprintf(m.s, sizeof m.s, "%lld %lld.%09ld", (long long)st->st_size,
		 (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	return m;
}

static void
file_set_mark(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		fsetxattr(fd, FILE_MARK, file_mark(&st).s, strlen(file_mark(&st).s), 0);
}

bool
file_is_ours(const char *path)
{
	struct file_mark m;
	struct stat st;
	ssize_t n = getxattr(path, FILE_MARK, m.s, sizeof m.s - 1);

	if (n <= 0 || stat(path, &st) < 0)
		return false;
	m.s[n] = '\0';
	return strcmp(m.s, file_mark(&st).s) == 0;
}

int
file_out_commit(struct file_out *f, struct err *e)
{
	int fd = f->fd;
	int r = 0;

	if (f->tmp != NULL)
		file_set_mark(fd);
	f->fd = -1;
	if (close(fd) != 0 && errno != EINTR) /* NFS and quotas report here */
		r = err_sys(e, -errno, "%s: cannot write", f->path);
	if (r == 0 && f->tmp != NULL) {
		if (rename(f->tmp, f->path) != 0) {
			r = err_sys(e, -errno, "%s: cannot replace", f->path);
		} else {
			free(f->tmp);
			f->tmp = NULL; /* nothing left to remove */
		}
	}
	file_out_done(f);
	return r;
}

void
file_out_done(struct file_out *f)
{
	if (f->path == NULL)
		return;
	if (f->fd >= 0)
		close(f->fd);
	if (f->tmp != NULL)
		unlink(f->tmp);
	free(f->tmp);
	free(f->path);
	*f = (struct file_out){.fd = -1};
}

int
file_write(const char *path, const void *p, size_t n, struct err *e)
{
	struct file_out f = {0};
	int r = file_out_open(&f, path, e);

	if (r == 0)
		r = file_out_write(&f, p, n, e);
	if (r == 0)
		r = file_out_commit(&f, e);
	file_out_done(&f);
	return r;
}

int
file_readlink(const char *path, char **ret_target, struct err *e)
{
	size_t cap = 256;
	char *s = NULL;
	ssize_t n;

	for (;;) {
		s = xrealloc(s, cap);
		n = readlink(path, s, cap);
		if (n < 0) {
			int code = -errno;

			free(s);
			return err_sys(e, code, "%s: cannot read link", path);
		}
		if ((size_t)n < cap)
			break;
		cap *= 2; /* it may have been cut */
	}
	s[n] = '\0';
	*ret_target = s;
	return 0;
}

/* State of a thread, as in its stat file; 'X' when it is gone. */
static char
thread_state(int tid)
{
	char path[64], text[256], *at;
	int fd;
	ssize_t got;

	snprintf(path, sizeof path, "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 'X';
	got = read(fd, text, sizeof text - 1);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	at = strrchr(text, ')'); /* the name may hold anything */
	return at != NULL && at[1] == ' ' ? at[2] : 'X';
}

int
file_proc_task(int pid)
{
	char path[64];
	struct dirent *d;
	DIR *dir;
	int found = pid;

	if (thread_state(pid) != 'Z')
		return pid;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	while (found == pid && dir != NULL && (d = readdir(dir)) != NULL) {
		int tid = atoi(d->d_name);
		char state = tid > 0 && tid != pid ? thread_state(tid) : 'X';

		if (state != 'Z' && state != 'X')
			found = tid;
	}
	if (dir != NULL)
		closedir(dir);
	return found;
}

static int
read_proc_link(int tid, const char *name, char **ret_target, struct err *e)
{
	char *path = xasprintf("/proc/%d/%s", tid, name);
	int r = file_readlink(path, ret_target, e);

	free(path);
	return r;
}

int
file_proc_link(int pid, const char *name, char **ret_target, bool *ret_deleted,
	       struct err *e)
{
	static const char gone[] = " (deleted)";
	char *target = NULL;
	size_t n;
	bool cut = false;
	int r = read_proc_link(pid, name, &target, NULL);

	if (r < 0)
		r = read_proc_link(file_proc_task(pid), name, &target, e);
	if (r < 0)
		return r;
	n = strlen(target);
	if (n > sizeof gone - 1 && strcmp(target + n - (sizeof gone - 1), gone) == 0) {
		target[n - (sizeof gone - 1)] = '\0';
		cut = true;
	}
	*ret_target = target;
	if (ret_deleted != NULL)
		*ret_deleted = cut;
	return 0;
}

bool
file_is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool
file_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

bool
file_head(const char *path, void *ret_head, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	bool all;

	if (fd < 0)
		return false;
	all = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	      pread(fd, ret_head, n, 0) == (ssize_t)n;
	close(fd);
	return all;
}

const char *
file_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

const char *
file_last_part(const char *path)
{
	const char *base = file_base(path);

	return base[0] != '\0' ? base : path;
}
