/* SPDX-License-Identifier: MIT */
/* names_elf.c -- names of native code, from the binaries' symbol tables and debug
 * information.
 *
 * Module by module, so that only one binary's debug information is in memory at a time.
 * Where binaries are looked for is the matter of names_where.c. */
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/session/names/names_provider.h"
#include "tool/session/names/names_where.h"
#include "tool/sym/source_text.h"
#include "tool/sym/sym.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

/* More functions inlined at one place than this are cut by sym_find. */
enum { NAMES_INLINED_MAX = 64 };

/* Libraries of the system of which functions are named and nothing more: their inner
 * lines help nobody, and to unpack the debug information that distributions ship for them
 * takes longer than all the rest. A program that is called so itself is read in full. */
static const char *const names_of_system[] = {
	"libc.so*", "libc-2.*.so", "ld-linux*.so*", "ld-2.*.so",     "libpthread*.so*",
	"libm.so*", "libdl.so*",   "librt.so*",	    "libstdc++.so*", "libgcc_s.so*",
};

struct names {
	struct prof *p;
	const struct names_opts *o;
	struct src *src;
	struct names_where where;
	/* address of a string of the open binary -> string of the profile */
	struct map strings;
	struct map
		calls; /* location that memory was lost from -> name of what it called */
};

static bool
names_is_system(const struct names *n, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (size_t i = 0; i < ARRAY_LEN(names_of_system); i++) {
		if (slash != NULL && fnmatch(names_of_system[i], slash + 1, 0) == 0)
			return !names_is_program(n->p, path);
	}
	return false;
}

/* A refusal as half a sentence that stands behind the module's name. */
static char *
names_refusal(const struct err *e, const char *path)
{
	const char *at = strstr(e->msg, "build-id differs: ");

	if (e->code == -ENOENT && path[0] == '/')
		return xstrdup("file is gone; try --debug-dir, --sysroot or --exe");
	if (e->code == -ESTALE && at != NULL)
		return xasprintf("the file is of another build now: %s",
				 at + strlen("build-id differs: "));
	/* "PATH: what": the path has been said. */
	at = strrchr(e->msg, '/');
	at = at != NULL ? strstr(at, ": ") : NULL;
	return xstrdup(at != NULL ? at + 2 : e->msg);
}

/* What is missing in a binary that was found, and how to get it if that is worth it. */
static char *
names_lack(struct sym *s, bool names_only, const struct names_opts *o)
{
	const char *why = sym_reason(s);
	const unsigned char *id;

	if (why == NULL || names_only || strcmp(why, "stripped") != 0)
		return xstrdup(why);
	if (sym_build_id(s, &id) == 0 || o->debuginfod)
		return xstrdup("stripped, and no debug file was found");
	return xstrdup("stripped; install its debug symbols, or try --debuginfod");
}

/* The name people know: glibc's debug information says __GI__IO_puts. */
static const char *
names_public(const char *name)
{
	return strncmp(name, "__GI_", 5) == 0 && name[5] != '\0' ? name + 5 : name;
}

/* The profile's copy of a string that stays where it is while the binary is open. */
static uint32_t
names_string(struct names *n, const char *text)
{
	uint64_t *id;

	if (text[0] == '\0')
		return 0;
	id = map_add(&n->strings, (uintptr_t)text);
	if (*id == 0)
		*id = prof_str(n->p, text);
	return (uint32_t)*id;
}

static void
names_add(struct names *n, struct sym *s, const struct sym_frame *f)
{
	struct prof *p = n->p;
	struct timespec built = sym_mtime(s);
	uint32_t function = names_string(n, names_public(f->short_name));
	uint32_t linkage = names_string(n, f->linkage);
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
	to->file = names_string(n, f->file);
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

	/* A return address belongs to the call before it, which may be the last of its
	 * line, of an inlined function, or of the whole function. */
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

/* Which function handed out the memory that was lost from there. */
static void
names_call(struct names *n, struct sym *s, uint32_t loc)
{
	static const char *const allocators[] = {
		"malloc",	 "calloc",	   "realloc", "reallocarray", "memalign",
		"aligned_alloc", "posix_memalign", "valloc",  "pvalloc",
	};
	uint64_t *to = map_find(&n->calls, loc);
	const char *name;

	if (to == NULL || n->p->locs[loc].exact)
		return;
	name = sym_callee(s, n->p->locs[loc].offset);
	if (name == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(allocators); i++) {
		if (strcmp(name, allocators[i]) == 0)
			*to = prof_str(n->p, name);
	}
	if (strncmp(name, "_Znw", 4) == 0 || strncmp(name, "_Zna", 4) == 0)
		*to = prof_str(n->p, name);
}

/* The places that memory was lost from. */
static void
names_calls(struct names *n)
{
	const struct prof *p = n->p;

	for (uint32_t i = 0; i < p->nlosses; i++) {
		uint32_t node = p->sites[p->losses[i].site].node;

		map_add(&n->calls, p->nodes[node].loc);
	}
}

/* Where the call does not tell it, the kind of the block does in part. */
static void
names_called(struct names *n)
{
	static const char *const usual[] = {
		[REC_KIND_MALLOC] = "malloc",
		[REC_KIND_ALIGNED] = "memalign",
		[REC_KIND_NEW] = "_Znwm",
		[REC_KIND_NEW_ARRAY] = "_Znam",
	};
	struct prof *p = n->p;
	uint8_t *kinds = xcalloc(p->nsites, sizeof *kinds);

	for (uint32_t i = 0; p->nlosses > 0 && i < p->nblocks; i++) {
		if (p->blocks[i].kind < ARRAY_LEN(usual))
			kinds[p->blocks[i].site] = p->blocks[i].kind;
	}
	for (uint32_t i = 0; i < p->nlosses; i++) {
		uint32_t site = p->losses[i].site;
		const uint64_t *name =
			map_find(&n->calls, p->nodes[p->sites[site].node].loc);

		if (name != NULL && *name != 0)
			p->losses[i].called = (uint32_t)*name;
		else
			p->losses[i].called = prof_str(p, usual[kinds[site]]);
	}
	free(kinds);
	map_done(&n->calls);
}

/* Variables that were freed. */
static void
names_errors(struct names *n, struct sym *s, uint32_t module)
{
	for (uint32_t i = 0; i < n->p->nerrors; i++) {
		struct prof_error *e = &n->p->errors[i];
		const char *name;

		if (e->where_module != module || e->symbol != 0)
			continue;
		name = sym_data(s, e->where_off, &e->symbol_off);
		e->symbol = prof_str(n->p, name);
	}
}

static bool
names_has_error(const struct prof *p, uint32_t module)
{
	for (uint32_t i = 0; i < p->nerrors; i++) {
		if (p->errors[i].where_module == module)
			return true;
	}
	return false;
}

static void
names_module(struct names *n, uint32_t module, const uint32_t *locs, size_t nlocs)
{
	struct prof_module *m = &n->p->modules[module];
	const char *path = prof_text(n->p, m->path);
	bool names_only = names_is_system(n, path);
	struct err e = {0};
	struct sym *s = names_open(&n->where, m, names_only, &e);
	char *why;

	if (s == NULL) {
		why = names_refusal(&e, path);
	} else {
		for (size_t i = 0; i < nlocs; i++) {
			names_locate(n, s, locs[i]);
			names_call(n, s, locs[i]);
		}
		names_errors(n, s, module);
		why = names_lack(s, names_only, n->o);
		sym_close(s);
		map_done(&n->strings);
	}
	m->why_no_names = prof_str(n->p, why);
	free(why);
}

/* Locations without names in the order of their modules; `ret_starts` has one entry more
 * than there are modules. To be freed by the caller, as is the result. */
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

static void
names_elf_resolve(const struct names_job *job)
{
	struct prof *p = job->p;
	struct names n = {.p = p, .o = job->o, .src = job->src};
	uint32_t *order;
	size_t *starts;

	names_where_init(&n.where, p, n.o);
	names_calls(&n);
	order = names_by_module(p, &starts);
	for (uint32_t i = 1; i < p->nmodules; i++) {
		if (starts[i + 1] > starts[i] || names_has_error(p, i))
			names_module(&n, i, order + starts[i], starts[i + 1] - starts[i]);
	}
	names_called(&n);
	free(order);
	free(starts);
	names_where_done(&n.where);
}

const struct names_provider names_elf = {"native code", names_elf_resolve};
