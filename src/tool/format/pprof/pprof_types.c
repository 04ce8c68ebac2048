/* SPDX-License-Identifier: MIT */
/* pprof_types.c -- sample types of pprof's profiles and the columns they are.
 *
 * The names that are written come first, in the order in which they are written: a reader
 * that is told nothing shows the last. The rest are what others call the same. */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "pprof_impl.h"
#include "shared/compiler.h"

#define BLOCKS(name_, column_, field, has_, ...)                                         \
	{                                                                                \
		.name = (name_), .column = (column_),                                    \
		.off = offsetof(struct prof_site, field), .has = (has_), __VA_ARGS__     \
	}
#define BYTES(name_, column_, field, has_, ...)                                          \
	BLOCKS(name_, column_, field, has_, .bytes = true, __VA_ARGS__)
#define SIGNED .is_signed = true
#define OURS .ours = true

const struct pprof_type pprof_types[] = {
	BLOCKS("temporary_objects", "temporary blocks", temps, PROF_HAS_TEMPS, OURS),
	BYTES("temporary_space", "temporary bytes", temp_bytes, PROF_HAS_TEMPS, OURS),
	BLOCKS("peak_objects", "blocks at the peak", at_peak_blocks, PROF_HAS_PEAK,
	       SIGNED, OURS),
	BYTES("peak_space", "bytes at the peak", at_peak_bytes, PROF_HAS_PEAK, SIGNED,
	      OURS),
	BLOCKS("alloc_objects", "allocations", allocs, PROF_HAS_ALLOCS, 0),
	BYTES("alloc_space", "allocated bytes", alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("inuse_objects", "live blocks", live_blocks, PROF_HAS_LIVE, SIGNED),
	BYTES("inuse_space", "live bytes", live_bytes, PROF_HAS_LIVE, SIGNED),
	/* tcmalloc, gperftools, Node.js */
	BLOCKS("objects", NULL, live_blocks, PROF_HAS_LIVE, SIGNED),
	BYTES("space", NULL, live_bytes, PROF_HAS_LIVE, SIGNED),
	BLOCKS("allocated_objects", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("allocated_space", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("deallocated_objects", NULL, frees, PROF_HAS_ALLOCS, 0),
	BYTES("deallocated_space", NULL, free_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("censored_allocated_objects", NULL, live_blocks, PROF_HAS_LIVE, SIGNED),
	BYTES("censored_allocated_space", NULL, live_bytes, PROF_HAS_LIVE, SIGNED),
	/* async-profiler: the unit tells which */
	BLOCKS("allocations", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("allocations", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("malloc", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("malloc", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	/* Java's flight recorder, as Pyroscope stores it: both kinds together are all */
	BLOCKS("alloc_in_new_tlab_objects", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("alloc_in_new_tlab_bytes", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("alloc_outside_tlab_objects", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("alloc_outside_tlab_bytes", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("alloc_sample_objects", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("alloc_sample_bytes", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	/* Datadog */
	BLOCKS("alloc_samples", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("alloc_size", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("heap_live_samples", NULL, live_blocks, PROF_HAS_LIVE, SIGNED),
	BYTES("heap_live_size", NULL, live_bytes, PROF_HAS_LIVE, SIGNED),
	/* Android's heapprofd */
	BLOCKS("total_malloc_count", NULL, allocs, PROF_HAS_ALLOCS, 0),
	BYTES("total_malloc_size", NULL, alloc_bytes, PROF_HAS_ALLOCS, 0),
	BLOCKS("unreleased_malloc_count", NULL, live_blocks, PROF_HAS_LIVE, SIGNED),
	BYTES("unreleased_malloc_size", NULL, live_bytes, PROF_HAS_LIVE, SIGNED),
	{0},
};

/* "heap-live-size" and "Total malloc size" are written with other marks between words. */
static bool
pprof_type_is(const char *name, const char *text)
{
	for (; *name != '\0' && *text != '\0'; name++, text++) {
		char c = (char)tolower((unsigned char)*text);

		if (*name != (c == '-' || c == ' ' ? '_' : c))
			return false;
	}
	return *name == *text;
}

const struct pprof_type *
pprof_type_find(const char *name, const char *unit)
{
	bool bytes = strncmp(unit, "byte", 4) == 0;

	for (const struct pprof_type *t = pprof_types; t->name != NULL; t++) {
		if (t->bytes == bytes && pprof_type_is(t->name, name))
			return t;
	}
	return NULL;
}

bool
pprof_label_in_bytes(const char *key)
{
	return strcmp(key, "bytes") == 0 || strcmp(key, "request") == 0 ||
	       strcmp(key, "alignment") == 0;
}

int64_t
pprof_type_get(const struct pprof_type *t, const struct prof_site *s)
{
	int64_t v;

	memcpy(&v, (const char *)s + t->off, sizeof v);
	return !t->is_signed && v < 0 ? INT64_MAX : v;
}

bool
pprof_type_add(const struct pprof_type *t, struct prof_site *s, int64_t v)
{
	int64_t old, sum;

	if (!t->is_signed && v < 0)
		return false;
	memcpy(&old, (const char *)s + t->off, sizeof old);
	if (__builtin_add_overflow(old, v, &sum))
		return false;
	memcpy((char *)s + t->off, &sum, sizeof sum);
	return true;
}
