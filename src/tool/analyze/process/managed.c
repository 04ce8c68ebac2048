/* SPDX-License-Identifier: MIT */
/* managed.c -- see managed.h. */
#include "tool/analyze/process/managed.h"

#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* Libraries that allocate for whoever calls them: strdup, pthread_create. */
static bool
is_libc(const char *path)
{
	static const char *const names[] = {"libc.so", "libc-", "ld-linux", "libpthread"};
	const char *name = file_base(path);

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

struct skip_pos
managed_user_frame(const struct prof *p, const struct skip *s, uint32_t node)
{
	struct skip_pos pos = skip_first(s, node), outside = pos;
	bool found = false;

	do {
		const struct prof_frame *f = skip_frame(p, pos);

		if (is_libc(prof_text(p, p->modules[skip_loc(p, pos)->module].path)))
			continue;
		if (f != NULL && f->file != 0 && f->line != 0)
			return pos;
		if (!found)
			outside = pos;
		found = true;
	} while (skip_next(s, &pos));
	return outside;
}

/* For every module the runtime with a collector that it is: a library by its name, a
 * program if functions of the runtime are in it, too. Free with free(). */
static const struct runtime_info **
runtime_modules(const struct prof *p)
{
	const struct runtime_info **ret = xcalloc(p->nmodules, sizeof *ret);
	const struct runtime_info **named = xcalloc(p->nmodules, sizeof *named);

	for (uint32_t i = 1; i < p->nmodules; i++) {
		const char *path = prof_text(p, p->modules[i].path);

		ret[i] = runtime_collecting(runtimes_of_module(path));
		named[i] = runtime_collecting(runtimes_of_program(path));
	}
	for (uint32_t i = 0; i < p->nlocs; i++) {
		const struct prof_loc *l = &p->locs[i];
		const struct runtime_info *r =
			l->module < p->nmodules ? named[l->module] : NULL;

		for (uint32_t k = 0;
		     r != NULL && ret[l->module] == NULL && k < l->nframes; k++) {
			const struct prof_frame *f = &p->frames[l->frames + k];

			if (runtime_has_function(r, prof_text(p, f->function)) ||
			    runtime_has_function(r, prof_text(p, f->linkage)))
				ret[l->module] = r;
		}
	}
	free(named);
	return ret;
}

/* The runtime whose code asked for the memory of a site; NULL = another's. */
static const struct runtime_info *
runtime_of(const struct prof *p, const struct skip *s, const struct prof_site *site,
	   const struct runtime_info **modules)
{
	struct skip_pos pos;

	if (site->node == 0)
		return NULL;
	pos = skip_first(s, site->node);
	do {
		uint32_t module = skip_loc(p, pos)->module;

		if (!is_libc(prof_text(p, p->modules[module].path)))
			return modules[module];
	} while (skip_next(s, &pos));
	return NULL;
}

const struct runtime_info **
managed_losses(const struct prof *p, const struct skip *s)
{
	const struct runtime_info **ret = xcalloc(p->nlosses, sizeof *ret);
	const struct runtime_info **of = xcalloc(p->nprocesses, sizeof *of);
	const struct runtime_info **modules = runtime_modules(p);

	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (l->kind > PROF_LOSS_INDIRECT || l->site >= p->nsites)
			continue;
		ret[i] = runtime_of(p, s, &p->sites[l->site], modules);
		if (ret[i] != NULL && l->kind == PROF_LOSS_DEFINITE)
			of[p->sites[l->site].process] = ret[i];
	}
	/* What hangs on lost blocks may hang on the runtime's. */
	for (uint32_t i = 0; i < p->nlosses; i++) {
		const struct prof_loss *l = &p->losses[i];

		if (ret[i] == NULL && l->kind == PROF_LOSS_INDIRECT &&
		    l->site < p->nsites)
			ret[i] = of[p->sites[l->site].process];
	}
	free(modules);
	free(of);
	return ret;
}
