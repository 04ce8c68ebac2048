/* SPDX-License-Identifier: MIT */
/* allocators.c -- see allocators.h.
 *
 * The process's malloc is the first in the loader's order; all functions of its family
 * are taken from the same object, for blocks never cross heaps. In a static program all
 * symbols count, elsewhere only those that others can be bound to: a private malloc in
 * some library is nobody's business until it has one of the prefixes that allocators are
 * linked in under. */
#include "tool/target/proc/allocators.h"

#include <errno.h>
#include <string.h>

#include "shared/compiler.h"
#include "shared/rec_enums.h"

static const struct known {
	const char *name;
	uint8_t shape, kind;
	bool needed;
} known[] = {
	{"malloc", BLOB_ALLOC, REC_KIND_MALLOC, true},
	{"free", BLOB_FREE, REC_KIND_MALLOC, true},
	{"calloc", BLOB_CALLOC, REC_KIND_MALLOC, true},
	{"realloc", BLOB_REALLOC, REC_KIND_MALLOC, true},
	{"memalign", BLOB_ALIGNED, REC_KIND_ALIGNED, false},
	{"aligned_alloc", BLOB_ALIGNED, REC_KIND_ALIGNED, false},
	{"posix_memalign", BLOB_POSIX, REC_KIND_ALIGNED, false},
	{"valloc", BLOB_PAGES, REC_KIND_ALIGNED, false},
	{"pvalloc", BLOB_PAGES, REC_KIND_ALIGNED, false},
	{"cfree", BLOB_FREE, REC_KIND_MALLOC, false},
	{"mallocx", BLOB_ALLOC, REC_KIND_MALLOC, false},
	{"rallocx", BLOB_REALLOC, REC_KIND_MALLOC, false},
	{"dallocx", BLOB_FREE, REC_KIND_MALLOC, false},
	{"sdallocx", BLOB_FREE, REC_KIND_MALLOC, false},
	{"free_sized", BLOB_FREE, REC_KIND_MALLOC, false},
	{"free_aligned_sized", BLOB_FREE, REC_KIND_MALLOC, false},
	{"_Znwm", BLOB_ALLOC, REC_KIND_NEW, false},
	{"_ZnwmRKSt9nothrow_t", BLOB_ALLOC, REC_KIND_NEW, false},
	{"_ZnwmSt11align_val_t", BLOB_ALLOC, REC_KIND_NEW, false},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", BLOB_ALLOC, REC_KIND_NEW, false},
	{"_Znam", BLOB_ALLOC, REC_KIND_NEW_ARRAY, false},
	{"_ZnamRKSt9nothrow_t", BLOB_ALLOC, REC_KIND_NEW_ARRAY, false},
	{"_ZnamSt11align_val_t", BLOB_ALLOC, REC_KIND_NEW_ARRAY, false},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", BLOB_ALLOC, REC_KIND_NEW_ARRAY, false},
	{"_ZdlPv", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdlPvm", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdlPvRKSt9nothrow_t", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdlPvSt11align_val_t", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdlPvmSt11align_val_t", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdlPvSt11align_val_tRKSt9nothrow_t", BLOB_FREE, REC_KIND_NEW, false},
	{"_ZdaPv", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
	{"_ZdaPvm", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
	{"_ZdaPvRKSt9nothrow_t", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
	{"_ZdaPvSt11align_val_t", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
	{"_ZdaPvmSt11align_val_t", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
	{"_ZdaPvSt11align_val_tRKSt9nothrow_t", BLOB_FREE, REC_KIND_NEW_ARRAY, false},
};

/* Longest first: _rjem_je_malloc has both. */
static const char *const prefixes[] = {"_rjem_je_", "_rjem_", "je_", "tc_", "mi_", ""};

/* What one object defines of all that. */
struct found {
	uint64_t addr[ARRAY_LEN(prefixes)][ARRAY_LEN(known)];
	uint64_t bytes[ARRAY_LEN(prefixes)][ARRAY_LEN(known)];
	bool exported[ARRAY_LEN(prefixes)][ARRAY_LEN(known)];
	uint64_t symbols;
	struct allocators *a;
};

static const struct known *
find_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (strcmp(known[i].name, name) == 0)
			return &known[i];
	}
	return NULL;
}

static void
see_other(struct allocators *a, const struct object_symbol *s)
{
	if (s->exported && strcmp(s->name, "_dl_find_object") == 0)
		a->dl_find_object = s->addr;
	else if (strcmp(s->name, "__vdso_clock_gettime") == 0)
		a->clock_gettime = s->addr;
	else if (strcmp(s->name, "__libc_start_main") == 0) {
		a->start_main = s->addr;
		a->start_main_bytes = s->bytes;
	} else if (strcmp(s->name, "mallctl") == 0)
		a->mallctl = s->addr;
	else if (strncmp(s->name, "__asan_init", 11) == 0 ||
		 strncmp(s->name, "__tsan_init", 11) == 0 ||
		 strncmp(s->name, "__msan_init", 11) == 0 ||
		 strncmp(s->name, "__lsan_init", 11) == 0)
		a->sanitizer = true;
}

static void
see_symbol(void *ctx, const struct object_symbol *s)
{
	struct found *f = ctx;
	const struct known *k;

	f->symbols += !s->exported;
	if (!s->function)
		return;
	see_other(f->a, s);
	for (size_t p = 0; p < ARRAY_LEN(prefixes); p++) {
		size_t n = strlen(prefixes[p]), i;

		if (strncmp(s->name, prefixes[p], n) != 0)
			continue;
		k = find_known(s->name + n);
		if (k == NULL)
			continue;
		i = (size_t)(k - known);
		if (f->addr[p][i] == 0 || s->exported) {
			f->addr[p][i] = s->addr;
			f->bytes[p][i] = s->bytes;
			f->exported[p][i] = f->exported[p][i] || s->exported;
		}
		return;
	}
}

static bool
has_address(const struct allocators *a, uint64_t addr)
{
	for (size_t i = 0; i < a->functions.len; i++) {
		if (a->functions.data[i].addr == addr)
			return true;
	}
	return false;
}

/* The same in the family that is being added. */
static bool
is_of_family(const struct allocators *a, uint64_t addr)
{
	for (size_t i = 0; i < a->functions.len; i++) {
		if (a->functions.data[i].addr == addr &&
		    a->functions.data[i].family == a->families)
			return true;
	}
	return false;
}

static uint64_t
addr_of(const struct found *f, size_t p, const char *name)
{
	return f->addr[p][find_known(name) - known];
}

/* Adds an allocator, if the object has one under this prefix. */
static void
add_family(struct allocators *a, const struct found *f, size_t p, size_t object,
	   bool by_name)
{
	bool plain = addr_of(f, p, "malloc") != 0 && addr_of(f, p, "free") != 0;
	bool extended = addr_of(f, p, "mallocx") != 0 &&
			(addr_of(f, p, "dallocx") != 0 || addr_of(f, p, "sdallocx") != 0);
	size_t before = a->functions.len;

	if (!plain && !extended)
		return;
	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		bool alias = has_address(a, f->addr[p][i]);

		/* The same allocator under another prefix says nothing new. */
		if (f->addr[p][i] == 0 || (alias && !is_of_family(a, f->addr[p][i])))
			continue;
		vec_push(&a->functions,
			 (struct alloc_function){
				 .name = known[i].name,
				 .prefix = prefixes[p],
				 .addr = f->addr[p][i],
				 .bytes = f->bytes[p][i],
				 .object = object,
				 .shape = known[i].shape,
				 .kind = known[i].kind,
				 .needed = known[i].needed && plain && !alias,
				 .alias = alias,
				 .by_name = by_name && f->exported[p][i],
				 .family = a->families,
			 });
	}
	if (a->functions.len > before)
		a->families++;
}

/* The files where a malloc is the process's own business: not the loader, whose malloc
 * serves itself. */
static bool
is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;

	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0 ||
	       strncmp(name, "ld.so", 5) == 0;
}

int
allocators_find(const struct tracee *t, const struct objects *os, struct allocators *ret,
		struct err *e)
{
	struct found *all = xcalloc(os->all.len, sizeof *all);
	size_t plain = ARRAY_LEN(prefixes) - 1, provider = os->all.len;
	struct allocators a = {0};
	int best = INT32_MAX, r = 0;

	for (size_t i = 0; i < os->all.len; i++) {
		const struct object *o = &os->all.data[i];
		struct err why = {0};
		bool seen;

		all[i].a = &a;
		if (strstr(o->path, "/libseep.so") != NULL)
			a.libseep = true;
		r = object_symbols(t, o, see_symbol, &all[i], &why);
		if (r == -ESTALE && e != NULL && e->code == 0)
			*e = why; /* told if nothing is found */
		seen = addr_of(&all[i], plain, "malloc") != 0 && !is_loader(o->path) &&
		       (all[i].exported[plain][0] || (o->program && !o->interpreted));
		if (o->program)
			a.stripped_program = all[i].symbols == 0;
		if (seen && o->order >= 0 && o->order < best) {
			best = o->order;
			provider = i;
		}
	}
	if (provider < os->all.len)
		add_family(&a, &all[provider], plain, provider,
			   !os->all.data[provider].program ||
				   os->all.data[provider].interpreted);
	for (size_t i = 0; i < os->all.len; i++) {
		for (size_t p = 0; p < plain; p++)
			add_family(&a, &all[i], p, i, false);
	}
	free(all);
	if (a.functions.len == 0) {
		allocators_done(&a);
		if (e != NULL && e->code == -ESTALE)
			return e->code;
		return err_set(
			e, -ENOENT, "%d: no malloc was found in it%s; use: seep watch %d",
			t->pid,
			os->loader_state == 0 ? " (a static program without symbols?)"
					      : "",
			t->pid);
	}
	if (e != NULL)
		*e = (struct err){0};
	*ret = a;
	return 0;
}

void
allocators_done(struct allocators *a)
{
	vec_done(&a->functions);
}
