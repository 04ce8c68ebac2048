/* SPDX-License-Identifier: MIT */
/* names_confined.c -- see names_confined.h.
 *
 * The files that the process has mapped are opened before, by us: their folders may be
 * closed to its user, while the files themselves are readable to all as a rule. They are
 * only opened, never read here. */
#include "tool/session/names/names_confined.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool/format/pack/pack.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	FILES_MAX = 512,
	CPU_SECONDS = 300,
};

#define RESULT_MAX ((off_t)2 << 30)
#define MEMORY_MAX ((rlim_t)16 << 30)

/* ---- its files ---- */

/* What is mapped there, whatever its name leads to by now. */
static int
open_mapped(int pid, const struct procfs_map *m)
{
	char path[96];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", file_proc_task(pid),
		 (unsigned long long)m->start, (unsigned long long)m->end);
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void
open_files(int pid, struct names_file *files, unsigned *ret_n)
{
	struct procfs_maps maps;
	struct procfs_map m;

	*ret_n = 0;
	procfs_maps_open(&maps, pid, NULL);
	while (*ret_n < FILES_MAX && procfs_maps_next(&maps, &m)) {
		struct names_file f = {.fd = -1};

		if (m.inode != 0 && m.offset == 0 && m.path[0] == '/')
			f.fd = open_mapped(pid, &m);
		if (f.fd < 0)
			continue;
		f.path = xstrdup(m.path);
		files[(*ret_n)++] = f;
	}
	procfs_maps_close(&maps);
}

static void
close_files(struct names_file *files, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		close(files[i].fd);
		free(files[i].path);
	}
}

/* ---- the child ---- */

static bool
give_up_rights(const struct names_opts *o, uid_t uid, gid_t gid)
{
	struct rlimit cpu = {CPU_SECONDS, CPU_SECONDS}, memory = {MEMORY_MAX, MEMORY_MAX};
	struct rlimit none = {0, 0};

	if (!o->debuginfod)
		unshare(CLONE_NEWNET); /* where that is possible */
	setrlimit(RLIMIT_CPU, &cpu);
	setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && setuid(0) < 0;
}

static void __attribute__((noreturn))
read_names(struct prof *p, const struct names_opts *o, uid_t uid, gid_t gid, int result)
{
	struct names_opts own = *o;
	struct buf b = {0};
	size_t done = 0;

	own.no_cache = true; /* nothing of his is to be believed the next time */
	if (!give_up_rights(&own, uid, gid))
		_exit(2);
	names_resolve(p, &own);
	pack_write(p, &b);
	while (done < b.len) {
		ssize_t n = write(result, b.data + done, b.len - done);

		if (n <= 0)
			_exit(3);
		done += (size_t)n;
	}
	_exit(0);
}

/* ---- the parent ---- */

/* What the child left, in the place of what it was given. */
static int
take_result(struct prof **p, int result, struct err *e)
{
	struct prof *got;
	struct stat st;
	int r;

	if (fstat(result, &st) < 0 || st.st_size == 0 || st.st_size > RESULT_MAX)
		return err_set(e, -EIO, "it left nothing");
	if (lseek(result, 0, SEEK_SET) < 0)
		return err_sys(e, -errno, "cannot read its result");
	got = prof_new();
	r = pack_load_fd(result, got, e);
	if (r == 0 && (got->nsites != (*p)->nsites || got->nnodes != (*p)->nnodes))
		r = err_set(e, -EBADMSG, "it left another profile");
	if (r < 0) {
		prof_free(got);
		return r;
	}
	prof_free(*p);
	*p = got;
	return 0;
}

static void
confined(struct prof **p, const struct names_opts *o, uid_t uid, gid_t gid)
{
	int result = memfd_create("seep names", MFD_CLOEXEC), status = 0;
	struct err e = {0};
	pid_t child = -1;
	char why[160];

	if (result >= 0)
		child = fork();
	if (child == 0)
		read_names(*p, o, uid, gid, result);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		err_sys(&e, -errno, "cannot start a process for it");
	else if (WIFSIGNALED(status))
		err_set(&e, -EIO, "the process that reads them died of signal %d",
			WTERMSIG(status));
	else if (status != 0)
		err_set(&e, -EIO, "the process that reads them failed (%d)",
			WEXITSTATUS(status));
	else
		take_result(p, result, &e);
	if (e.code != 0) {
		snprintf(why, sizeof why, "no names: %.130s", e.msg);
		prof_add_damage(*p, why, 1);
	}
	if (result >= 0)
		close(result);
}

void
names_resolve_confined(struct prof **p, const struct names_opts *o, uid_t uid, gid_t gid)
{
	struct names_file *files;
	struct names_opts own = *o;
	unsigned n = 0;

	if (geteuid() != 0 || uid == 0) {
		names_resolve(*p, o);
		return;
	}
	files = xcalloc(FILES_MAX, sizeof *files);
	if (o->pid != 0)
		open_files(o->pid, files, &n);
	own.files = files;
	own.nfiles = n;
	confined(p, &own, uid, gid);
	close_files(files, n);
	free(files);
}
