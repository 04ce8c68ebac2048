/* SPDX-License-Identifier: MIT */
/* regions.c -- names for mappings; see regions.h.
 *
 * First every area gets a kind, in the order of how certain the evidence is; then areas
 * of one kind that lie side by side, and all of one file, become regions. */
#include "tool/analyze/process/regions.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

#define ARENA_BYTES (UINT64_C(64) << 20)
#define V8_PAGE_BYTES (UINT64_C(256) << 10)
#define PYTHON_ARENA_BYTES (UINT64_C(256) << 10)
#define GO_HEAP_START UINT64_C(0xc000000000)
#define GO_HEAP_END UINT64_C(0xe000000000)
#define LIBRARIES_START UINT64_C(0x7e0000000000)
#define JAVA_HEAP_END (UINT64_C(32) << 30) /* pointers of 32 bits reach that far */

enum {
	GUARD_BYTES_MAX = 1 << 20,
	MANAGED_BYTES = 64 << 10, /* a heap's mapping has at least so many */
	STATIC_BYTES = 1 << 20,	  /* zeroed data with fewer is a part of its file */
};

static const struct {
	const char *name, *plural;
	bool can_leak;
} kinds[REGION_KINDS] = {
	[REGION_HEAP] = {"heap", "heaps", true},
	[REGION_ARENA] = {"arena", "arenas of malloc", true},
	[REGION_CHUNK] = {"chunk", "mmapped chunks", true},
	[REGION_JEMALLOC] = {"jemalloc", "jemalloc's mappings", true},
	[REGION_TCMALLOC] = {"tcmalloc", "tcmalloc's mappings", true},
	[REGION_MIMALLOC] = {"mimalloc", "mimalloc's mappings", true},
	[REGION_PYTHON] = {"pymalloc", "pymalloc's arenas", true},
	[REGION_GO] = {"go", "Go's heap", true},
	[REGION_JAVA] = {"java", "Java's heap", true},
	[REGION_V8] = {"v8", "V8's heap", true},
	[REGION_DOTNET] = {"dotnet", ".NET's heap", true},
	[REGION_PHP] = {"php", "PHP's heap", true},
	[REGION_RUBY] = {"ruby", "Ruby's heap", true},
	[REGION_BEAM] = {"erlang", "Erlang's heaps", true},
	[REGION_LUAJIT] = {"luajit", "LuaJIT's heap", true},
	[REGION_MAPPING] = {"mapping", "mappings", true},
	[REGION_STACK] = {"stack", "stacks", true},
	[REGION_THREAD_STACK] = {"thread", "thread stacks", true},
	[REGION_FILE] = {"file", "files", true},
	[REGION_STATIC] = {"static", "static data", false},
	[REGION_SHARED] = {"shared", "shared memory", true},
	[REGION_SEEP] = {"seep", "seep's own", false},
	[REGION_KERNEL] = {"kernel", "kernel's pages", false},
	[REGION_RESERVE] = {"reserve", "reserved addresses", false},
};

const char *
region_kind_name(enum region_kind kind)
{
	return kinds[kind].name;
}

const char *
region_kind_plural(enum region_kind kind)
{
	return kinds[kind].plural;
}

static const struct {
	enum region_kind kind;
	enum runtime runtime;
} managed[] = {
	{REGION_GO, RUNTIME_GO},	 {REGION_JAVA, RUNTIME_JVM},
	{REGION_V8, RUNTIME_V8},	 {REGION_PYTHON, RUNTIME_PYTHON},
	{REGION_DOTNET, RUNTIME_DOTNET}, {REGION_PHP, RUNTIME_PHP},
	{REGION_RUBY, RUNTIME_RUBY},	 {REGION_BEAM, RUNTIME_BEAM},
	{REGION_LUAJIT, RUNTIME_LUAJIT},
};

enum runtime
region_runtime(enum region_kind kind)
{
	for (size_t i = 0; i < ARRAY_LEN(managed); i++) {
		if (managed[i].kind == kind)
			return managed[i].runtime;
	}
	return RUNTIMES;
}

bool
region_can_leak(enum region_kind kind)
{
	return kinds[kind].can_leak;
}

bool
region_is_guessed(enum region_kind kind)
{
	return kind == REGION_JEMALLOC || kind == REGION_TCMALLOC ||
	       kind == REGION_MIMALLOC;
}

/* ---- kinds of areas ---- */

struct naming {
	const struct memmap *map;
	const struct region_facts *facts;
	enum region_kind *kind; /* of each area */
	bool *decided;
	/* of threads' stacks with their guard pages; 0 = not known */
	uint64_t stack_bytes;
};

static bool
begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool
ends(const char *text, const char *with)
{
	size_t n = strlen(text), m = strlen(with);

	return n >= m && strcmp(text + n - m, with) == 0;
}

static bool
is_anonymous(const struct memmap_area *a)
{
	return a->name[0] == '\0' || begins(a->name, "[anon:");
}

static bool
is_reserve(const struct memmap_area *a)
{
	return is_anonymous(a) && begins(a->perms, "---");
}

/* Kinds that a name tells for certain. */
static bool
kind_by_name(const struct memmap_area *a, enum region_kind *ret)
{
	static const struct {
		const char *begin;
		enum region_kind kind;
	} names[] = {
		{"[heap]", REGION_HEAP},
		{"[stack:", REGION_THREAD_STACK},
		{"[stack]", REGION_STACK},
		{"[anon: glibc: malloc arena", REGION_ARENA},
		{"[anon: glibc: malloc", REGION_CHUNK},
		{"[anon: glibc: pthread stack", REGION_THREAD_STACK},
		{"[anon:jemalloc", REGION_JEMALLOC},
		{"[anon: Go: ", REGION_GO},
		{"[anon:Go", REGION_GO},
		{"[anon:v8", REGION_V8},
		{"[anon:tcmalloc", REGION_TCMALLOC},
		{"[anon:mimalloc", REGION_MIMALLOC},
		{"[anon_shmem:", REGION_SHARED},
		{"[vdso]", REGION_KERNEL},
		{"[vvar", REGION_KERNEL},
		{"[vsyscall]", REGION_KERNEL},
		{"[uprobes]", REGION_KERNEL},
		{"/memfd:", REGION_SHARED},
		{"/dev/shm/", REGION_SHARED},
		{"/dev/zero", REGION_SHARED},
		{"/SYSV", REGION_SHARED},
	};

	if (ends(a->name, ".live") || ends(a->name, ".live (deleted)") ||
	    begins(file_last_part(a->name), "libseep.so")) {
		*ret = REGION_SEEP;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (begins(a->name, names[i].begin)) {
			*ret = names[i].kind;
			return true;
		}
	}
	if (!is_anonymous(a)) {
		*ret = REGION_FILE;
		return true;
	}
	return false;
}

static void
decide(struct naming *n, size_t i, enum region_kind kind)
{
	n->kind[i] = kind;
	n->decided[i] = true;
}

/* The guard page below the area `i`, if there is one. */
static const struct memmap_area *
guard_below(const struct naming *n, size_t i)
{
	const struct memmap_area *a = &n->map->areas.data[i];
	const struct memmap_area *below = i > 0 ? a - 1 : NULL;

	if (below == NULL || below->end != a->start || !is_reserve(below) ||
	    below->end - below->start > GUARD_BYTES_MAX)
		return NULL;
	return below;
}

/* Go has the stacks of its threads in its heap. */
static bool
is_go_heap(const struct naming *n, const struct memmap_area *a)
{
	return (n->facts->program & REGION_HAS_GO) != 0 && a->start >= GO_HEAP_START &&
	       a->start < GO_HEAP_END;
}

/* Areas that a thread's stack pointer is in. How large such stacks are tells those of
 * threads that were not waiting, or that have ended. */
static void
name_stacks(struct naming *n)
{
	for (size_t k = 0; k < n->facts->nstacks; k++) {
		const struct memmap_area *a = memmap_find(n->map, n->facts->stacks[k]);
		size_t i = a != NULL ? (size_t)(a - n->map->areas.data) : 0;
		const struct memmap_area *guard;

		if (a == NULL || n->decided[i] || !is_anonymous(a) ||
		    a->perms[1] != 'w' || is_go_heap(n, a))
			continue;
		decide(n, i, REGION_THREAD_STACK);
		guard = guard_below(n, i);
		if (guard != NULL)
			n->stack_bytes = a->end - guard->start;
	}
	for (size_t i = 0; i < n->map->areas.len; i++) {
		const struct memmap_area *a = &n->map->areas.data[i];
		const struct memmap_area *guard = guard_below(n, i);

		if (!n->decided[i] && guard != NULL && is_anonymous(a) &&
		    a->perms[1] == 'w' && n->stack_bytes != 0 &&
		    a->end - guard->start == n->stack_bytes)
			decide(n, i, REGION_THREAD_STACK);
	}
}

/* Areas that malloc itself says are its own, for the larger part of what is in use. */
static void
name_malloc(struct naming *n)
{
	const struct heapmap *h = n->facts->heap;
	size_t k = 0;

	for (size_t i = 0; h != NULL && i < n->map->areas.len; i++) {
		const struct memmap_area *a = &n->map->areas.data[i];
		uint64_t covered = 0;
		enum heapmap_kind kind = HEAPMAP_CHUNK;

		while (k < h->ranges.len && h->ranges.data[k].end <= a->start)
			k++;
		for (size_t j = k; j < h->ranges.len && h->ranges.data[j].start < a->end;
		     j++) {
			const struct heapmap_range *r = &h->ranges.data[j];
			uint64_t from = r->start > a->start ? r->start : a->start;
			uint64_t to = r->end < a->end ? r->end : a->end;

			covered += to - from;
			kind = r->kind;
		}
		if (!n->decided[i] && is_anonymous(a) && covered * 2 > a->end - a->start)
			decide(n, i, kind == HEAPMAP_ARENA ? REGION_ARENA : REGION_CHUNK);
	}
}

/* A heap of 64 MiB, begun at a multiple of that: used part, then reserve up to its
 * end. */
static bool
is_arena(const struct naming *n, size_t i)
{
	const struct memmap_area *a = &n->map->areas.data[i];
	const struct memmap_area *next = i + 1 < n->map->areas.len ? a + 1 : NULL;

	if (!IS_ALIGNED(a->start, ARENA_BYTES) || a->perms[1] != 'w' ||
	    a->perms[2] == 'x' || a->no_arena || is_go_heap(n, a))
		return false;
	return next != NULL && next->start == a->end && is_reserve(next) &&
	       next->end >= a->start + ARENA_BYTES && a->end < a->start + ARENA_BYTES;
}

/* Zeroed data of the file whose writable pages end where this begins. */
static bool
is_bss(const struct naming *n, size_t i)
{
	const struct memmap_area *a = &n->map->areas.data[i];
	const struct memmap_area *below = i > 0 ? a - 1 : NULL;

	return below != NULL && !a->apart && below->end == a->start &&
	       a->perms[1] == 'w' && n->kind[i - 1] == REGION_FILE &&
	       below->perms[1] == 'w' && below->name[0] != '\0' && below->perms[3] != 's';
}

/* pmap -x does not name the heap: it is the first writable memory of no file behind the
 * program itself, and far below all libraries. */
static void
guess_heap(struct naming *n)
{
	const struct memmap_area *first = n->map->areas.data;

	for (size_t i = 1; n->facts->guess_heap && i < n->map->areas.len; i++) {
		const struct memmap_area *a = &n->map->areas.data[i];

		if (a->start >= LIBRARIES_START)
			return;
		if (n->decided[i] || !is_anonymous(a) || a->perms[1] != 'w' ||
		    first->name[0] == '\0' || is_bss(n, i))
			continue;
		decide(n, i, REGION_HEAP);
		return;
	}
}

/* By the runtime that is in the process. */
static enum region_kind
kind_by_program(const struct naming *n, const struct memmap_area *a)
{
	uint32_t p = n->facts->program;
	uint64_t bytes = a->end - a->start;

	if ((p & REGION_HAS_GO) != 0)
		return REGION_GO;
	if ((p & REGION_HAS_JVM) != 0 && (a->start < JAVA_HEAP_END || a->perms[2] == 'x'))
		return REGION_JAVA;
	if ((p & REGION_HAS_V8) != 0 &&
	    (a->perms[2] == 'x' || IS_ALIGNED(a->start, V8_PAGE_BYTES)))
		return REGION_V8;
	if (a->perms[1] != 'w')
		return REGION_MAPPING;
	if ((p & REGION_HAS_JEMALLOC) != 0)
		return REGION_JEMALLOC;
	if ((p & REGION_HAS_TCMALLOC) != 0)
		return REGION_TCMALLOC;
	if ((p & REGION_HAS_MIMALLOC) != 0)
		return REGION_MIMALLOC;
	if ((p & REGION_HAS_PYTHON) != 0 && bytes >= PYTHON_ARENA_BYTES)
		return REGION_PYTHON;
	/* Others have no shape of their own: what nothing else explains. */
	for (size_t i = 0; i < ARRAY_LEN(managed); i++) {
		if (managed[i].kind >= REGION_DOTNET && bytes >= MANAGED_BYTES &&
		    (p >> REGION_RUNTIMES & RUNTIME_BIT(managed[i].runtime)) != 0)
			return managed[i].kind;
	}
	return REGION_MAPPING;
}

static void
name_rest(struct naming *n)
{
	for (size_t i = 0; i < n->map->areas.len; i++) {
		const struct memmap_area *a = &n->map->areas.data[i];

		if (n->decided[i])
			continue;
		if (is_reserve(a))
			decide(n, i, REGION_RESERVE);
		else if (is_arena(n, i))
			decide(n, i, REGION_ARENA);
		else if (is_bss(n, i))
			decide(n, i,
			       a->end - a->start < STATIC_BYTES ? REGION_FILE
								: REGION_STATIC);
		else if (a->perms[3] == 's')
			decide(n, i, REGION_SHARED);
		else
			decide(n, i, kind_by_program(n, a));
	}
}

/* ---- regions ---- */

static void
add_figures(struct region *r, const struct memmap_area *a)
{
	for (unsigned f = 0; f < MEMMAP_FIGURES; f++)
		r->kib[f] += a->kib[f];
	if (a->end > r->end)
		r->end = a->end;
	r->areas++;
}

/* Is the name that the kernel has the region's? */
static bool
has_own_name(enum region_kind kind)
{
	return kind == REGION_FILE || kind == REGION_SHARED || kind == REGION_SEEP ||
	       kind == REGION_KERNEL;
}

static const char *
make_name(struct arena *strings, enum region_kind kind, const struct memmap_area *a)
{
	if (kind == REGION_HEAP || kind == REGION_STACK)
		return region_kind_name(kind);
	if (has_own_name(kind) && a->name[0] != '\0')
		return arena_strdup(strings, a->name);
	return arena_printf(strings, "%s@%" PRIx64, region_kind_name(kind), a->start);
}

/* The region that the area goes on with, or UINT32_MAX. */
static uint32_t
goes_on(const struct regions *rs, const struct naming *n, size_t i, struct map *files,
	struct strtab *names)
{
	const struct memmap_area *a = &n->map->areas.data[i];
	enum region_kind kind = n->kind[i];
	uint32_t before = i > 0 ? rs->of_area[i - 1] : UINT32_MAX;
	bool beside =
		i > 0 && (a - 1)->end == a->start && rs->list.data[before].kind == kind;

	if (kind == REGION_HEAP) {
		for (uint32_t r = 0; r < rs->list.len; r++) {
			if (rs->list.data[r].kind == kind)
				return r;
		}
		return UINT32_MAX;
	}
	if (has_own_name(kind) && a->name[0] != '\0') {
		uint64_t *found = map_find(files, strtab_add(names, a->name));

		return found != NULL ? (uint32_t)*found : UINT32_MAX;
	}
	if (kind == REGION_THREAD_STACK || !beside)
		return UINT32_MAX;
	/* Arenas of 64 MiB may lie side by side. */
	if (kind == REGION_ARENA && IS_ALIGNED(a->start, ARENA_BYTES))
		return UINT32_MAX;
	return before;
}

static void
make_regions(struct regions *rs, const struct naming *n)
{
	struct strtab names = {0};
	struct map files = {0};

	for (size_t i = 0; i < n->map->areas.len; i++) {
		const struct memmap_area *a = &n->map->areas.data[i];
		uint32_t at = goes_on(rs, n, i, &files, &names);

		if (at == UINT32_MAX) {
			struct region *r = vec_add(&rs->list);

			at = (uint32_t)rs->list.len - 1;
			r->kind = n->kind[i];
			r->start = a->start;
			r->name = make_name(&rs->strings, r->kind, a);
			if (has_own_name(r->kind) && a->name[0] != '\0')
				*map_add(&files, strtab_add(&names, a->name)) = at;
		}
		add_figures(&rs->list.data[at], a);
		rs->of_area[i] = at;
	}
	map_done(&files);
	strtab_done(&names);
}

uint32_t
regions_program(const struct memmap *map, bool names)
{
	static const struct {
		const char *library;
		uint32_t program;
	} known[] = {
		{"libjemalloc", REGION_HAS_JEMALLOC},
		{"libtcmalloc", REGION_HAS_TCMALLOC},
		{"libmimalloc", REGION_HAS_MIMALLOC},
	};
	uint32_t program = 0;

	for (size_t i = 0; i < map->areas.len; i++) {
		const char *path = map->areas.data[i].name;

		/* Ours is called so too, and has no heap. */
		if (path[0] == '[' || strstr(path, "/seep/compat/") != NULL)
			continue;
		program |= (runtimes_of_module(path) |
			    (names ? runtimes_of_program(path) : 0))
			   << REGION_RUNTIMES;
		for (size_t k = 0; k < ARRAY_LEN(known); k++) {
			if (begins(file_last_part(path), known[k].library))
				program |= known[k].program;
		}
	}
	return program;
}

void
regions_init(struct regions *ret_regions, const struct memmap *map,
	     const struct region_facts *facts)
{
	size_t len = map->areas.len;
	struct naming n = {.map = map, .facts = facts};
	struct regions rs = {.nareas = len};

	n.kind = xcalloc(len, sizeof *n.kind);
	n.decided = xcalloc(len, sizeof *n.decided);
	rs.of_area = xcalloc(len, sizeof *rs.of_area);
	for (size_t i = 0; i < len; i++)
		n.decided[i] = kind_by_name(&map->areas.data[i], &n.kind[i]);
	guess_heap(&n);
	name_malloc(&n);
	name_stacks(&n);
	name_rest(&n);
	make_regions(&rs, &n);
	free(n.kind);
	free(n.decided);
	*ret_regions = rs;
}

void
regions_done(struct regions *rs)
{
	vec_done(&rs->list);
	free(rs->of_area);
	arena_done(&rs->strings);
	*rs = (struct regions){0};
}

const struct region *
regions_find(const struct regions *rs, const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *a = memmap_find(map, addr);

	if (a == NULL)
		return NULL;
	return &rs->list.data[rs->of_area[a - map->areas.data]];
}

const struct region *
regions_named(const struct regions *rs, const char *name)
{
	const struct region *found = NULL;
	unsigned several = 0;

	for (size_t i = 0; i < rs->list.len; i++) {
		const struct region *r = &rs->list.data[i];

		if (strcmp(r->name, name) == 0)
			return r;
		if (strcmp(region_kind_name(r->kind), name) == 0 ||
		    (r->kind == REGION_FILE &&
		     strcmp(file_last_part(r->name), name) == 0)) {
			found = r;
			several++;
		}
	}
	return several == 1 ? found : NULL;
}
