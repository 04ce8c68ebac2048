/* SPDX-License-Identifier: MIT */
/* skip.c -- which frames of a stack are worth showing.
 *
 * Every location is classified once, its functions through a cache by string id, so a
 * profile of many stacks costs no pattern matching per stack. The lists are plain names
 * on purpose: what is hidden from a report must be easy to look up here. */
#include "tool/analyze/sites/skip.h"

#include <fnmatch.h>
#include <string.h>

#include "tool/analyze/sites/library.h"
#include "tool/util/file.h"
#include "tool/util/map.h"

const struct skip_rule skip_allocators[] = {
	{"libseep.so*", NULL},
	{"libjemalloc*.so*", NULL},
	{"libtcmalloc*.so*", NULL},
	{"libmimalloc*.so*", NULL},
	{"libc_malloc_debug.so*", NULL},
	{NULL, "malloc"},
	{NULL, "calloc"},
	{NULL, "realloc"},
	{NULL, "reallocarray"},
	{NULL, "memalign"},
	{NULL, "aligned_alloc"},
	{NULL, "posix_memalign"},
	{NULL, "valloc"},
	{NULL, "pvalloc"},
	{NULL, "__libc_malloc"},
	{NULL, "__libc_calloc"},
	{NULL, "__libc_realloc"},
	{NULL, "__libc_memalign"},
	{NULL, "__libc_valloc"},
	{NULL, "__libc_pvalloc"},
	{NULL, "_int_malloc"},
	{NULL, "_int_realloc"},
	{NULL, "_int_memalign"},
	{NULL, "_mid_memalign"},
	{NULL, "operator new*"},
	{NULL, "__cxa_allocate_exception"},
	{NULL, "__cxa_allocate_dependent_exception"},
	{NULL, "__cxa_init_primary_exception"},
	{NULL, "std::__throw_*"},
	{NULL, "_Znwm*"},
	{NULL, "_Znam*"},
	{NULL, "__gnu_cxx::new_allocator<*"},
	{NULL, "__gnu_cxx::__alloc_traits<*"},
	{NULL, "std::__new_allocator<*"},
	{NULL, "std::allocator<*>::allocate*"},
	{NULL, "std::allocator_traits<*>::allocate*"},
	{NULL, "std::__allocate_guarded<*"},
	{NULL, "std::_Vector_base<*>::_M_allocate*"},
	{NULL, "std::__cxx11::basic_string<*>::_M_create*"},
	{NULL, "__rust_alloc*"},
	{NULL, "__rust_realloc*"},
	{NULL, "__rdl_alloc*"},
	{NULL, "__rdl_realloc*"},
	{NULL, "alloc::alloc::*"},
	{NULL, "<alloc::alloc::Global as *"},
	{NULL, "<alloc::alloc::Global>::*"},
	{NULL, NULL},
};

/* The loader allocates for whoever called dlopen, or for the program's start. */
static const struct skip_rule skip_loaders[] = {
	{"ld-linux*.so*", NULL},
	{"ld-2.*.so", NULL},
	{"ld.so*", NULL},
	{NULL, NULL},
};

/* Frames of these without a name are internal: operator new throws, a string grows. */
static const struct skip_rule skip_cxx_runtimes[] = {
	{"libstdc++.so*", NULL},
	{"libc++.so*", NULL},
	{"libc++abi.so*", NULL},
	{NULL, NULL},
};

const struct skip_rule skip_roots[] = {
	{"libseep.so*", NULL}, /* wraps main and thread functions */
	{"libc.so*", NULL},
	{"libc-2.*.so", NULL},
	{"libpthread*.so*", NULL},
	{"ld-linux*.so*", NULL},
	{"ld-2.*.so", NULL},
	{NULL, "_start"},
	{NULL, "__libc_start_main*"},
	{NULL, "__libc_start_call_main"},
	{NULL, "start_thread"},
	{NULL, "clone"},
	{NULL, "clone3"},
	{NULL, "__clone*"},
	{NULL, NULL},
};

/* Only what the library never gives back by design and the caller never sees: what a
 * caller could have freed (strdup, getline, fopen, asprintf …) must not be in here. */
const struct skip_kept skip_kept_table[] = {
	{"libc.so*", "_IO_file_doallocate", 0, "stdio buffer"},
	{"libc.so*", "_IO_wfile_doallocate", 0, "stdio buffer"},
	{"libc.so*", "__libc_*init*", 0, "start of libc"},
	{"libc.so*", "_dl_*", 0, "loader"},
	{"libc.so*", "__new_exitfn", 0, "list of exit handlers"},
	{"libc.so*", "__cxa_atexit", 0, "list of exit handlers"},
	{"libc.so*", "_nl_*", 0, "locale"},
	{"libc.so*", "setlocale", 0, "locale"},
	{"libc.so*", "*bindtextdomain", 0, "locale"},
	{"libc.so*", "*textdomain", 0, "locale"},
	{"libc.so*", "*bind_textdomain_codeset", 0, "locale"},
	/* Tables of conversions and their modules. Not blocks of __gconv_open and
	 * __gconv_lookup_cache: these belong to the handle of iconv_open. */
	{"libc.so*", "__gconv_find_shlib", 0, "character sets"},
	{"libc.so*", "__gconv_read_conf", 0, "character sets"},
	{"libc.so*", "__gconv_load_c*", 0, "character sets"},
	{"libc.so*", "__gconv_get_*", 0, "character sets"},
	{"libc.so*", "find_derivation*", 0, "character sets"},
	{"libc.so*", "__wcsmbs_load_conv", 0, "character sets"},
	{"libc.so*", "__add_to_environ", 0, "environment"},
	{"libc.so*", "setenv", 0, "environment"},
	{"libc.so*", "putenv", 0, "environment"},
	{"libc.so*", "tzset_internal", 0, "time zone"},
	{"libc.so*", "__tzfile_*", 0, "time zone"},
	{"libc.so*", "__tzstring*", 0, "time zone"},
	/* The one buffer that all calls of these answer in. */
	{"libc.so*", "getpwuid", 0, "name service"},
	{"libc.so*", "getpwnam", 0, "name service"},
	{"libc.so*", "getpwent", 0, "name service"},
	{"libc.so*", "getgrgid", 0, "name service"},
	{"libc.so*", "getgrnam", 0, "name service"},
	{"libc.so*", "getgrent", 0, "name service"},
	{"libc.so*", "gethostbyname", 0, "name service"},
	{"libc.so*", "getservbyname", 0, "name service"},
	{"libc.so*", "__nss_*", 0, "name service"},
	{"libc.so*", "nss_*", 0, "name service"},
	{"ld-linux*.so*", NULL, 0, "loader"},
	{"libstdc++.so*", "_GLOBAL__sub_I_eh_alloc*", 0, "emergency pool for exceptions"},
	{"libstdc++.so*", "*__gnu_cxx*pool*", 0, "emergency pool for exceptions"},
	/* Its constructor is a local symbol: of a stripped library only the size is left,
	 * and that the loader called it. */
	{"libstdc++.so*", NULL, 72704, "emergency pool for exceptions"},
	{"libstdc++.so*", NULL, 73728, "emergency pool for exceptions"},
	{NULL, NULL, 0, NULL},
};

enum {
	SKIP_KNOWN = 1, /* in the cache: has been looked at */
	SKIP_ALLOC = 2,
	SKIP_LOADER = 4,
	SKIP_ROOT = 8,
	SKIP_CXX = 16,	   /* without a name: as the allocator */
	SKIP_SYSTEM = 32,  /* a module that skip_kept_table speaks of */
	SKIP_LIBRARY = 64, /* of a language's standard library */
};

struct skip {
	const struct prof *p;
	bool off, fold;
	uint8_t *modules; /* flags for every module */
	uint8_t *frames;  /* flags for every row of prof.frames */
	bool *tails;	  /* for every node: it and all outside of it is start code */
};

/* glibc's debug information names functions by their hidden aliases. */
static const char *
skip_alias(const char *function)
{
	return strncmp(function, "__GI_", 5) == 0 ? function + 5 : function;
}

static bool
skip_matches(const char *pattern, const char *text)
{
	if (pattern == NULL)
		return true;
	if (pattern[0] != '*' && pattern[0] != text[0])
		return false; /* saves nearly all calls of fnmatch */
	return fnmatch(pattern, text, 0) == 0;
}

/* Does a rule of the table speak of the module alone, or of the function alone? */
static bool
skip_in(const struct skip_rule *rules, const char *text, bool module)
{
	for (; rules->module != NULL || rules->function != NULL; rules++) {
		const char *pattern = module ? rules->module : rules->function;

		if (pattern != NULL && skip_matches(pattern, text))
			return true;
	}
	return false;
}

static uint8_t
skip_classify(const struct skip_opts *o, const char *text, bool module)
{
	uint8_t flags = SKIP_KNOWN;

	if (skip_in(skip_allocators, text, module))
		flags |= SKIP_ALLOC;
	if (skip_in(skip_loaders, text, module))
		flags |= SKIP_LOADER;
	if (skip_in(skip_roots, text, module))
		flags |= SKIP_ROOT;
	if (skip_in(skip_cxx_runtimes, text, module))
		flags |= SKIP_CXX;
	for (size_t i = 0; o != NULL && i < o->nmore; i++) {
		if (fnmatch(o->more[i], text, 0) == 0)
			flags |= SKIP_ALLOC;
	}
	return flags;
}

static uint8_t
skip_classify_module(const struct skip_opts *o, const char *name)
{
	uint8_t flags = skip_classify(o, name, true);

	if (library_module(name))
		flags |= SKIP_LIBRARY;
	for (const struct skip_kept *k = skip_kept_table; k->what != NULL; k++) {
		if (skip_matches(k->module, name))
			return flags | SKIP_SYSTEM;
	}
	return flags;
}

static uint8_t
skip_flags(const struct skip *s, uint32_t loc, uint32_t inl)
{
	const struct prof_loc *l = &s->p->locs[loc];
	uint8_t flags;

	if (l->kind != PROF_LOC_CODE)
		return 0;
	flags = l->module < s->p->nmodules ? s->modules[l->module] : 0;
	if (inl < l->nframes)
		flags = (uint8_t)((flags & ~SKIP_CXX) | s->frames[l->frames + inl]);
	return flags;
}

/* Every frame of the location is start code. */
static bool
skip_loc_is_root(const struct skip *s, uint32_t loc)
{
	uint32_t n = s->p->locs[loc].nframes;

	for (uint32_t i = 0; i < n; i++) {
		if ((skip_flags(s, loc, i) & SKIP_ROOT) == 0)
			return false;
	}
	return n > 0 || (skip_flags(s, loc, 0) & SKIP_ROOT) != 0;
}

/* The outermost frame of a stripped program is its _start, without the name. */
static bool
skip_may_be_start(const struct prof *p, uint32_t node)
{
	const struct prof_loc *l = &p->locs[p->nodes[node].loc];

	return p->nodes[node].parent == 0 && l->kind == PROF_LOC_CODE && l->nframes == 0;
}

/* A frame of libseep.so itself that is start code, not a hook: the function around main.
 * What called it could not be followed, but is not worth a word either. */
static bool
skip_is_wrapper(const struct skip *s, uint32_t node)
{
	const struct prof *p = s->p;
	uint32_t parent = p->nodes[node].parent;
	uint8_t both = SKIP_ALLOC | SKIP_ROOT;

	return (s->modules[p->locs[p->nodes[node].loc].module] & both) == both &&
	       p->locs[p->nodes[parent].loc].kind != PROF_LOC_CODE;
}

static void
skip_find_tails(struct skip *s)
{
	const struct prof *p = s->p;

	for (uint32_t i = 1; i < p->nnodes; i++) {
		uint32_t parent = p->nodes[i].parent;

		/* Parents are added before their children. */
		if (!skip_loc_is_root(s, p->nodes[i].loc) || parent >= i)
			continue;
		s->tails[i] = parent == 0 || s->tails[parent] ||
			      skip_may_be_start(p, parent) || skip_is_wrapper(s, i);
	}
}

/* Is row `i` of prof.frames code of a language's library? `files` caches: 1 no, 2 yes. */
static bool
skip_frame_is_library(const struct prof *p, uint32_t i, struct map *files)
{
	const struct prof_frame *f = &p->frames[i];
	uint64_t *known;

	if (f->file == 0)
		return library_function(prof_text(p, f->function),
					prof_text(p, f->linkage));
	known = map_add(files, f->file);
	if (*known == 0)
		*known = library_file(prof_text(p, f->file)) ? 2 : 1;
	return *known == 2;
}

struct skip *
skip_new(const struct prof *p, const struct skip_opts *o)
{
	struct skip *s = xcalloc(1, sizeof *s);
	struct map functions = {0}, files = {0};

	s->p = p;
	s->off = o != NULL && o->off;
	s->fold = o != NULL && o->fold && !o->off;
	s->modules = xcalloc(p->nmodules, 1);
	s->frames = xcalloc(p->nframes, 1);
	s->tails = xcalloc(p->nnodes, sizeof *s->tails);
	for (uint32_t i = 1; i < p->nmodules; i++)
		s->modules[i] = skip_classify_module(
			o, file_base(prof_text(p, p->modules[i].path)));
	for (uint32_t i = 0; i < p->nframes; i++) {
		uint32_t name = p->frames[i].function;
		uint64_t *flags;

		if (p->frames[i].lang != PROF_NATIVE) {
			s->frames[i] = skip_asked(o, p, &p->frames[i]) ? SKIP_ALLOC : 0;
			continue;
		}
		flags = map_add(&functions, name);
		if (*flags == 0)
			*flags = skip_classify(o, skip_alias(prof_text(p, name)), false);
		s->frames[i] = (uint8_t)*flags;
		if (skip_frame_is_library(p, i, &files))
			s->frames[i] |= SKIP_LIBRARY;
	}
	if (!s->off)
		skip_find_tails(s);
	map_done(&functions);
	map_done(&files);
	return s;
}

void
skip_free(struct skip *s)
{
	if (s == NULL)
		return;
	free(s->modules);
	free(s->frames);
	free(s->tails);
	free(s);
}

bool
skip_step(const struct prof *p, struct skip_pos *pos)
{
	const struct prof_node *n = &p->nodes[pos->node];

	if (pos->inl + 1 < p->locs[n->loc].nframes) {
		pos->inl++;
		return true;
	}
	if (n->parent == 0)
		return false;
	*pos = (struct skip_pos){.node = n->parent};
	return true;
}

/* The innermost frame that has none of `flags`; false when there is no such frame. */
static bool
skip_past(const struct skip *s, struct skip_pos *pos, unsigned flags)
{
	while ((skip_flags(s, s->p->nodes[pos->node].loc, pos->inl) & flags) != 0) {
		if (!skip_step(s->p, pos))
			return false;
	}
	return true;
}

static uint8_t
skip_flags_at(const struct skip *s, struct skip_pos pos)
{
	return skip_flags(s, s->p->nodes[pos.node].loc, pos.inl);
}

bool
skip_is_own(const struct skip *s, struct skip_pos pos)
{
	return skip_loc(s->p, pos)->kind == PROF_LOC_CODE && !s->tails[pos.node] &&
	       (skip_flags_at(s, pos) &
		(SKIP_LIBRARY | SKIP_ROOT | SKIP_ALLOC | SKIP_LOADER | SKIP_SYSTEM)) == 0;
}

/* libc between frames of the library, as when std::call_once calls pthread_once. */
static bool
skip_is_between(const struct skip *s, struct skip_pos *pos)
{
	struct skip_pos at = *pos;

	while ((skip_flags_at(s, at) & (SKIP_ROOT | SKIP_LIBRARY)) == SKIP_ROOT) {
		if (!skip_step(s->p, &at))
			return false;
	}
	if (s->tails[at.node] || (skip_flags_at(s, at) & SKIP_LIBRARY) == 0)
		return false;
	*pos = at;
	return true;
}

/* The C function around a Rust program's main, which rustc makes. */
static bool
skip_is_rust_main(const struct prof *p, struct skip_pos inner, struct skip_pos pos)
{
	const struct prof_frame *f = skip_frame(p, pos), *in = skip_frame(p, inner);

	return f != NULL && in != NULL && f->line == 0 &&
	       strcmp(prof_text(p, f->function), "main") == 0 &&
	       strncmp(prof_text(p, in->function), "std::rt::", 9) == 0;
}

/* Steps out of the library: to the first frame that is not its own, which may be the one
 * at `pos`. False, and no step, when only start code or nothing comes then. */
static bool
skip_fold(const struct skip *s, struct skip_pos *pos)
{
	struct skip_pos at = *pos, inner = at;

	for (;;) {
		if (s->tails[at.node])
			return false;
		if ((skip_flags_at(s, at) & SKIP_LIBRARY) == 0 &&
		    !skip_is_between(s, &at) && !skip_is_rust_main(s->p, inner, at))
			break;
		inner = at;
		if (!skip_step(s->p, &at))
			return false;
	}
	/* A gap says nothing about who allocates. */
	if (skip_loc(s->p, at)->kind != PROF_LOC_CODE && at.node != pos->node)
		return false;
	*pos = at;
	return true;
}

/* skip_first without folding. */
static struct skip_pos
skip_innermost(const struct skip *s, uint32_t node)
{
	struct skip_pos pos = {.node = node};

	if (s->off || node == 0)
		return pos;
	if (skip_past(s, &pos, SKIP_ALLOC | SKIP_LOADER | SKIP_CXX) &&
	    !s->tails[pos.node])
		return pos;
	/* Nothing but the loader and start code: without the allocator at least. */
	pos = (struct skip_pos){.node = node};
	if (skip_past(s, &pos, SKIP_ALLOC))
		return pos;
	return (struct skip_pos){.node = node};
}

struct skip_pos
skip_first(const struct skip *s, uint32_t node)
{
	struct skip_pos pos = skip_innermost(s, node);

	if (s->fold && node != 0)
		skip_fold(s, &pos);
	return pos;
}

bool
skip_next(const struct skip *s, struct skip_pos *pos)
{
	struct skip_pos next = *pos;

	if (pos->node == 0 || !skip_step(s->p, &next))
		return false;
	/* A stack that is start code all through is shown, but for what is ours. */
	if (!s->off && s->tails[next.node] &&
	    (!s->tails[pos->node] ||
	     ((skip_flags(s, s->p->nodes[next.node].loc, 0) & SKIP_ALLOC) != 0 &&
	      (skip_flags(s, s->p->nodes[pos->node].loc, pos->inl) & SKIP_ALLOC) == 0)))
		return false;
	/* A stack that could not be folded has no frame of the program. */
	if (s->fold && !skip_fold(s, &next) && skip_is_own(s, *pos))
		return false;
	*pos = next;
	return true;
}

void
skip_stack_as(const struct skip *s, uint32_t node, bool fold,
	      struct skip_stack *ret_stack)
{
	struct skip as = *s;

	as.fold = fold && !s->off;
	skip_stack(&as, node, ret_stack);
}

void
skip_stack(const struct skip *s, uint32_t node, struct skip_stack *ret_stack)
{
	struct skip_pos pos = skip_first(s, node);

	ret_stack->len = 0;
	if (node == 0)
		return;
	do {
		vec_push(ret_stack, pos);
	} while (skip_next(s, &pos));
}

bool
skip_is_tail(const struct skip *s, uint32_t node)
{
	return s->tails[node];
}

const struct prof_loc *
skip_loc(const struct prof *p, struct skip_pos pos)
{
	return &p->locs[p->nodes[pos.node].loc];
}

/* Last part of the path of the module at `pos`. */
static const char *
skip_module(const struct prof *p, struct skip_pos pos)
{
	return file_base(prof_text(p, p->modules[skip_loc(p, pos)->module].path));
}

const struct prof_frame *
skip_frame(const struct prof *p, struct skip_pos pos)
{
	const struct prof_loc *l = skip_loc(p, pos);

	return pos.inl < l->nframes ? &p->frames[l->frames + pos.inl] : NULL;
}

/* The rule that the frame at `pos` fits, innermost or further out; NULL when there is
 * none. */
static const struct skip_kept *
skip_kept_rule(const struct prof *p, struct skip_pos pos, const struct prof_site *site,
	       bool innermost)
{
	const struct prof_frame *f = skip_frame(p, pos);
	const char *module = skip_module(p, pos), *function = "", *linkage = "";

	if (f != NULL) {
		function = skip_alias(prof_text(p, f->function));
		linkage = skip_alias(prof_text(p, f->linkage));
	}
	for (const struct skip_kept *k = skip_kept_table; k->what != NULL; k++) {
		if (!skip_matches(k->module, module))
			continue;
		if (k->function == NULL && !innermost)
			continue;
		if (!skip_matches(k->function, function) &&
		    !skip_matches(k->function, linkage))
			continue;
		if (k->bytes == 0)
			return k;
		if (site->allocs > 0 && site->alloc_bytes == k->bytes * site->allocs &&
		    skip_step(p, &pos) &&
		    skip_in(skip_loaders, skip_module(p, pos), true))
			return k;
	}
	return NULL;
}

const char *
skip_kept_by_libc(const struct skip *s, const struct prof_site *site)
{
	struct skip_pos pos = {.node = site->node};
	bool innermost = true;

	if (site->node == 0 || !skip_past(s, &pos, SKIP_ALLOC))
		return NULL;
	/* Through the library's own frames: setlocale calls strdup, and keeps it. */
	while ((s->modules[skip_loc(s->p, pos)->module] & SKIP_SYSTEM) != 0) {
		const struct skip_kept *k = skip_kept_rule(s->p, pos, site, innermost);

		if (k != NULL)
			return k->what;
		innermost = false;
		if (!skip_step(s->p, &pos))
			break;
	}
	return NULL;
}
