/* SPDX-License-Identifier: MIT */
/* names_where.c -- see names_where.h.
 *
 * A file is tried where the recording saw it, inside the running process's own file
 * system, as that process's executable, and as what it has mapped, which is still there
 * when the file was replaced or deleted. --exe stands for the program before all of
 * these. Only then is it looked for by build-id, in the folders that src/tool/sym
 * knows. */
#include "tool/session/names/names_where.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/target/proc/procfs.h"
#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

#define NAMES_DEBUG_DIRS "/usr/lib/debug"

int
names_add_debug_dir(void *to, const struct opt *o, const struct opt_value *v,
		    struct err *e)
{
	struct names_opts *n = to;
	char *more;

	(void)o;
	if (v->text[0] == '\0')
		return err_set(e, -EINVAL,
			       "--debug-dir: the name of a folder is missing");
	more = n->debug_dirs == NULL ? xstrdup(v->text)
				     : xasprintf("%s:%s", n->debug_dirs, v->text);
	free(n->debug_dirs);
	n->debug_dirs = more;
	return 0;
}

int
names_set_exe(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	const char **exe = to;

	(void)o;
	if (access(v->text, F_OK) != 0)
		return err_set(e, -EINVAL, "--exe %s: %s", v->text, strerror(errno));
	*exe = v->text;
	return 0;
}

void
names_opts_done(struct names_opts *o)
{
	free(TAKE(o->debug_dirs));
}

/* A path below a folder that a variable or else HOME names; NULL without either. */
static char *
names_home(const char *variable, const char *below, const char *in_home)
{
	const char *value = getenv(variable), *home = getenv("HOME");

	if (value != NULL && value[0] == '/')
		return xasprintf("%s%s", value, below);
	if (home != NULL && home[0] == '/')
		return xasprintf("%s%s", home, in_home);
	return NULL;
}

/* SEEP_CACHE is "off" or a folder; the usual folder without it. */
static char *
names_cache_dir(const struct names_opts *o)
{
	const char *own = getenv("SEEP_CACHE");

	if (o->no_cache || (own != NULL && strcmp(own, "off") == 0))
		return NULL;
	if (own != NULL && own[0] == '/')
		return xstrdup(own);
	return names_home("XDG_CACHE_HOME", "/seep/sym", "/.cache/seep/sym");
}

void
names_where_init(struct names_where *w, const struct prof *p, const struct names_opts *o)
{
	const char *pprof = getenv("PPROF_BINARY_PATH");
	const unsigned char *id;
	struct sym *s;

	*w = (struct names_where){.p = p, .o = o};
	if (o->debug_dirs != NULL)
		w->debug_dirs = xasprintf("%s:" NAMES_DEBUG_DIRS, o->debug_dirs);
	if (pprof != NULL && pprof[0] != '\0')
		w->binary_dirs = xstrdup(pprof);
	else
		w->binary_dirs = names_home("", "", "/pprof/binaries");
	w->cache_dir = names_cache_dir(o);
	if (o->exe == NULL)
		return;
	s = sym_open(o->exe, NULL, 0, &(struct sym_opts){.here_only = true}, NULL);
	if (s != NULL && (w->exe_id_bytes = sym_build_id(s, &id)) <= sizeof w->exe_id)
		memcpy(w->exe_id, id, w->exe_id_bytes);
	sym_close(s);
}

void
names_where_done(struct names_where *w)
{
	free(w->debug_dirs);
	free(w->binary_dirs);
	free(w->cache_dir);
	*w = (struct names_where){0};
}

bool
names_is_program(const struct prof *p, const char *path)
{
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (strcmp(prof_text(p, p->processes[i].exe), path) == 0)
			return true;
	}
	return false;
}

/* Does --exe stand for this module? By build-id if it can be told so; else it is the
 * program, has the program's name, or is the first module where no program is known. */
static bool
names_is_exe(const struct names_where *w, const struct prof_module *m)
{
	const char *path = prof_text(w->p, m->path);
	bool known = false;

	if (w->o->exe == NULL)
		return false;
	if (m->build_id_bytes > 0 && w->exe_id_bytes == m->build_id_bytes &&
	    memcmp(m->build_id, w->exe_id, w->exe_id_bytes) == 0)
		return true;
	for (uint32_t i = 1; i < w->p->nprocesses; i++)
		known |= w->p->processes[i].exe != 0;
	return names_is_program(w->p, path) ||
	       strcmp(file_base(path), file_base(w->o->exe)) == 0 ||
	       (!known && m == &w->p->modules[1]);
}

/* What is tried, one file after the other. */
struct names_try {
	const struct names_where *w;
	const struct prof_module *m;
	bool names_only;
	struct sym *found;
	struct err
		*e; /* the first failure; one that tells of another build counts more */
};

/* Takes over `path`. `root` is where it lies in. */
static void
names_try(struct names_try *t, const char *root, char *path, bool here_only)
{
	struct sym_opts so = {.sysroot = root,
			      .debug_dirs = t->w->debug_dirs,
			      .binary_dirs = t->w->binary_dirs,
			      .real_path = prof_text(t->w->p, t->m->path),
			      .debuginfod = t->w->o->debuginfod,
			      .cache_dir = t->w->cache_dir,
			      .names_only = t->names_only,
			      .here_only = here_only};
	struct err e = {0};

	if (t->found == NULL) {
		t->found = sym_open(path, t->m->build_id, t->m->build_id_bytes, &so, &e);
		if (t->found == NULL &&
		    (t->e->code == 0 || (e.code == -ESTALE && t->e->code != -ESTALE)))
			*t->e = e;
	}
	free(path);
}

/* /proc/PID/map_files/… of a file that was mapped from `path`, or NULL. Only root may
 * look. */
static char *
names_mapped(int pid, const char *path)
{
	struct procfs_maps maps;
	struct procfs_map m;
	char *found = NULL;

	procfs_maps_open(&maps, pid, NULL);
	while (found == NULL && procfs_maps_next(&maps, &m)) {
		if (strncmp(m.path, path, strlen(path)) == 0 &&
		    strcmp(m.path + strlen(path), " (deleted)") == 0)
			found = xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
					  file_proc_task(pid), m.start, m.end);
	}
	procfs_maps_close(&maps);
	return found;
}

static void
names_try_process(struct names_try *t, const char *path, int pid)
{
	int task = file_proc_task(pid);
	char *root = xasprintf("/proc/%d/root", task), *mapped;

	names_try(t, root, xasprintf("%s%s", root, path), true);
	if (t->found == NULL && names_is_program(t->w->p, path))
		names_try(t, NULL, xasprintf("/proc/%d/exe", task), true);
	if (t->found == NULL && (mapped = names_mapped(pid, path)) != NULL)
		names_try(t, NULL, mapped, true);
	free(root);
}

struct sym *
names_open(const struct names_where *w, const struct prof_module *m, bool names_only,
	   struct err *e)
{
	const char *path = prof_text(w->p, m->path), *root = w->o->sysroot;
	struct names_try t = {.w = w, .m = m, .names_only = names_only, .e = e};

	if (names_is_exe(w, m))
		names_try(&t, NULL, xstrdup(w->o->exe), true);
	if (path[0] != '/' && m->build_id_bytes == 0 && t.found == NULL) {
		if (t.e->code == 0)
			err_set(e, -ENOENT, "not a file");
		return NULL;
	}
	for (unsigned i = 0; i < w->o->nfiles; i++) {
		if (strcmp(w->o->files[i].path, path) == 0)
			names_try(&t, NULL,
				  xasprintf("/proc/self/fd/%d", w->o->files[i].fd), true);
	}
	if (path[0] == '/')
		names_try(&t, root, xasprintf("%s%s", root ? root : "", path), true);
	if (w->o->pid != 0 && path[0] == '/' && t.found == NULL)
		names_try_process(&t, path, w->o->pid);
	/* Everywhere else, by build-id. */
	names_try(&t, root, xasprintf("%s%s", root ? root : "", path), false);
	return t.found;
}
