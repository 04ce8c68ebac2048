/* SPDX-License-Identifier: MIT */
/* names.c -- fills the names into a profile.
 *
 * Module by module, so that only one binary's debug information is in memory at a time. A file
 * is tried where the recording saw it and, if it is gone or of another build, inside the
 * running process's own file system, then as that process's executable. */
#include "cli/names.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/compiler.h"
#include "sym/srcline.h"
#include "sym/sym.h"
#include "util/vec.h"
#include "util/x.h"

/* More functions inlined at one place than this are cut by sym_find. */
enum { NAMES_INLINED_MAX = 64 };

/* Libraries of the system of which functions are named and nothing more: their inner lines help
 * nobody, and to unpack the debug information that distributions ship for them takes longer
 * than all the rest. A program that is called so itself is read in full. */
static const char *const names_of_system[] = {
	"libc.so*", "libc-2.*.so", "ld-linux*.so*", "ld-2.*.so",     "libpthread*.so*",
	"libm.so*", "libdl.so*",   "librt.so*",	    "libstdc++.so*", "libgcc_s.so*",
};

struct names {
	struct prof *p;
	const struct names_opts *o;
	struct src *src;
};

/* Is this module the program of one of the processes? */
static bool
names_is_program(const struct names *n, const char *path)
{
	for (uint32_t i = 1; i < n->p->nprocesses; i++) {
		if (strcmp(prof_text(n->p, n->p->processes[i].exe), path) == 0)
			return true;
	}
	return false;
}

static bool
names_is_system(const struct names *n, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < ARRAY_LEN(names_of_system); i++) {
		if (slash != NULL && fnmatch(names_of_system[i], slash + 1, 0) == 0)
			return !names_is_program(n, path);
	}
	return false;
}

static struct sym *
names_try(const struct names *n, const struct prof_module *m, char *path, struct err *e)
{
	struct sym_opts so = {.sysroot = n->o->sysroot,
			      .debug_dirs = n->o->debug_dirs,
			      .real_path = prof_text(n->p, m->path),
			      .names_only = names_is_system(n, prof_text(n->p, m->path))};
	struct sym *s = sym_open(path, m->build_id, m->build_id_bytes, &so, e);

	free(path);
	return s;
}

/* The module's symbols; NULL with the reason in `e`. */
static struct sym *
names_open(const struct names *n, const struct prof_module *m, struct err *e)
{
	const char *path = prof_text(n->p, m->path);
	const char *root = n->o->sysroot != NULL ? n->o->sysroot : "";
	struct err other = {0};
	struct sym *s;

	if (path[0] != '/') {
		err_set(e, -ENOENT, "not a file");
		return NULL;
	}
	s = names_try(n, m, xasprintf("%s%s", root, path), e);
	if (s != NULL || n->o->pid == 0)
		return s;
	s = names_try(n, m, xasprintf("/proc/%d/root%s", n->o->pid, path), &other);
	if (s == NULL && names_is_program(n, path))
		s = names_try(n, m, xasprintf("/proc/%d/exe", n->o->pid), &other);
	return s;
}

/* A refusal of sym_open as half a sentence that stands behind the module's name. */
static const char *
names_reason(const struct err *e, const char *path)
{
	const char *at;

	if (e->code == -ENOENT && path[0] == '/')
		return "file is gone";
	if (e->code == -ESTALE)
		return "the file is of another build now";
	/* "PATH: what": the path has been said. */
	at = strrchr(e->msg, '/');
	at = at != NULL ? strstr(at, ": ") : NULL;
	return at != NULL ? at + 2 : e->msg;
}

/* The name people know: glibc's debug information says __GI__IO_puts. */
static const char *
names_public(const char *name)
{
	return strncmp(name, "__GI_", 5) == 0 && name[5] != '\0' ? name + 5 : name;
}

static void
names_add(struct names *n, struct sym *s, const struct sym_frame *f)
{
	struct prof *p = n->p;
	struct timespec built = sym_mtime(s);
	uint32_t function = prof_str(p, names_public(f->short_name));
	uint32_t linkage = prof_str(p, f->linkage);
	uint32_t row = prof_add_frame(p); /* the table may move */
	struct prof_frame *to = &p->frames[row];
	const char *text = NULL;

	to->function = function;
	to->linkage = linkage == function ? 0 : linkage;
	to->line = f->line;
	to->symbol_off = f->offset > UINT32_MAX ? 0 : (uint32_t)f->offset;
	to->inlined = f->inlined;
	to->lang = PROF_NATIVE;
	if (f->line == 0 || f->file[0] == '\0')
		return;
	to->file = prof_str(p, f->file);
	if (!n->o->no_source)
		text = src_line(n->src, f->file, f->line, &built, NULL);
	to->source = prof_str(p, text);
}

static void
names_locate(struct names *n, struct sym *s, uint32_t loc)
{
	struct prof *p = n->p;
	uint64_t at = p->locs[loc].offset;
	struct sym_frame frames[NAMES_INLINED_MAX];
	uint32_t first = p->nframes;
	unsigned count;

	/* A return address belongs to the call before it, which may be the last of its line,
	 * of an inlined function, or of the whole function. */
	if (!p->locs[loc].exact && at > 0)
		at--;
	count = sym_find(s, at, frames, NAMES_INLINED_MAX);
	if (count == 0)
		return;
	for (unsigned i = 0; i < count; i++)
		names_add(n, s, &frames[i]);
	p->locs[loc].frames = first;
	p->locs[loc].nframes = count;
}

static void
names_module(struct names *n, uint32_t module, const uint32_t *locs, size_t nlocs)
{
	struct prof_module *m = &n->p->modules[module];
	struct err e = {0};
	struct sym *s = names_open(n, m, &e);
	const char *why;

	if (s == NULL) {
		m->why_no_names =
			prof_str(n->p, names_reason(&e, prof_text(n->p, m->path)));
		return;
	}
	for (size_t i = 0; i < nlocs; i++)
		names_locate(n, s, locs[i]);
	why = sym_reason(s);
	m->why_no_names = prof_str(n->p, why);
	sym_close(s);
}

/* Locations without names in the order of their modules; `ret_starts` has one entry more than
 * there are modules. To be freed by the caller, as is the result. */
static uint32_t *
names_by_module(const struct prof *p, size_t **ret_starts)
{
	size_t *starts = xcalloc(p->nmodules + 1, sizeof *starts);
	size_t *at = xcalloc(p->nmodules + 1, sizeof *at);
	uint32_t *order = xcalloc(p->nlocs, sizeof *order);

	for (uint32_t i = 1; i < p->nlocs; i++) {
		if (p->locs[i].kind == PROF_LOC_CODE && p->locs[i].nframes == 0)
			starts[p->locs[i].module + 1]++;
	}
	for (uint32_t i = 0; i < p->nmodules; i++)
		starts[i + 1] += starts[i];
	memcpy(at, starts, (p->nmodules + 1) * sizeof *at);
	for (uint32_t i = 1; i < p->nlocs; i++) {
		if (p->locs[i].kind == PROF_LOC_CODE && p->locs[i].nframes == 0)
			order[at[p->locs[i].module]++] = i;
	}
	free(at);
	*ret_starts = starts;
	return order;
}

void
names_resolve(struct prof *p, const struct names_opts *o)
{
	static const struct names_opts usual = {0};
	struct names n = {.p = p, .o = o != NULL ? o : &usual};
	uint32_t *order;
	size_t *starts;

	if (p->has_names)
		return;
	n.src = src_new();
	order = names_by_module(p, &starts);
	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (starts[i + 1] > starts[i])
			names_module(&n, i, order + starts[i], starts[i + 1] - starts[i]);
	}
	p->has_names = true;
	free(order);
	free(starts);
	src_free(n.src);
}
