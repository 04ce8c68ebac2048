/* SPDX-License-Identifier: MIT */
/* account.c -- see account.h.
 *
 * Goes area by area. malloc's ranges are page for page what the kernel counts, but were
 * looked at a moment earlier or later: they are fitted into the area's resident size,
 * never the other way round. */
#include "tool/analyze/process/account.h"

#include <stddef.h>

static const struct {
	const char *name, *key;
} parts[ACCOUNT_PARTS] = {
	[ACCOUNT_LIVE] = {"live", "live"},
	[ACCOUNT_FREED] = {"free but kept by malloc", "free_kept"},
	[ACCOUNT_MALLOC] = {"malloc (live or free unknown)", "malloc"},
	[ACCOUNT_RUNTIME] = {"runtime's heap", "runtime"},
	[ACCOUNT_MAPPINGS] = {"mappings", "mappings"},
	[ACCOUNT_STACKS] = {"stacks", "stacks"},
	[ACCOUNT_FILES] = {"files", "files"},
	[ACCOUNT_STATIC] = {"static data", "static"},
	[ACCOUNT_SHARED] = {"shared", "shared"},
	[ACCOUNT_SEEP] = {"seep", "seep"},
	[ACCOUNT_UNEXPLAINED] = {"unexplained", "unexplained"},
};

const char *
account_part_name(enum account_part part)
{
	return parts[part].name;
}

const char *
account_part_key(enum account_part part)
{
	return parts[part].key;
}

/* The part of a region's memory that malloc has not claimed. `malloc_known`: it could
 * have; `all_known`: or it is known to be another allocator, so that mappings are not its
 * own. */
static enum account_part
part_of(enum region_kind kind, bool malloc_known, bool all_known)
{
	switch (kind) {
	case REGION_HEAP:
	case REGION_ARENA:
		return malloc_known ? ACCOUNT_UNEXPLAINED : ACCOUNT_MALLOC;
	case REGION_CHUNK:
		return malloc_known ? ACCOUNT_MAPPINGS : ACCOUNT_MALLOC;
	case REGION_JEMALLOC:
	case REGION_TCMALLOC:
	case REGION_MIMALLOC:
		return ACCOUNT_MALLOC;
	case REGION_PYTHON:
	case REGION_GO:
	case REGION_JAVA:
	case REGION_V8:
	case REGION_DOTNET:
	case REGION_PHP:
	case REGION_RUBY:
	case REGION_BEAM:
	case REGION_LUAJIT:
		return ACCOUNT_RUNTIME;
	case REGION_MAPPING:
		return all_known ? ACCOUNT_MAPPINGS : ACCOUNT_UNEXPLAINED;
	case REGION_STACK:
	case REGION_THREAD_STACK:
		return ACCOUNT_STACKS;
	case REGION_STATIC:
		return ACCOUNT_STATIC;
	case REGION_FILE:
	case REGION_KERNEL:
		return ACCOUNT_FILES;
	case REGION_SHARED:
		return ACCOUNT_SHARED;
	case REGION_SEEP:
		return ACCOUNT_SEEP;
	default:
		return ACCOUNT_UNEXPLAINED;
	}
}

/* What malloc says of one area, in bytes. */
struct claim {
	uint64_t used, freed, unknown;
};

/* A range may go over several areas: each gets its share by length. */
static void
add_claim(struct claim *c, const struct heapmap_range *r, const struct memmap_area *a)
{
	uint64_t from = r->start > a->start ? r->start : a->start;
	uint64_t to = r->end < a->end ? r->end : a->end;
	double share = (double)(to - from) / (double)(r->end - r->start);

	c->used += (uint64_t)((double)r->used_bytes * share);
	c->freed += (uint64_t)((double)r->free_bytes * share);
	c->unknown += (uint64_t)((double)r->unknown_bytes * share);
}

/* The claims of malloc's ranges on an area; *k is the first range that may be in it. */
static struct claim
claim_of(const struct heapmap *heap, const struct memmap_area *a, size_t *k)
{
	struct claim c = {0};

	while (*k < heap->ranges.len && heap->ranges.data[*k].end <= a->start)
		++*k;
	for (size_t j = *k; j < heap->ranges.len && heap->ranges.data[j].start < a->end;
	     j++)
		add_claim(&c, &heap->ranges.data[j], a);
	return c;
}

/* Books the claim, which is not more than the area's memory; what is left of that. */
static uint64_t
book_claim(struct account *acc, struct claim c, uint64_t rss_kib)
{
	uint64_t sum = c.used + c.freed + c.unknown;
	double fit = sum > rss_kib << 10 ? (double)(rss_kib << 10) / (double)sum : 1;
	uint64_t used = (uint64_t)((double)c.used * fit / 1024 + 0.5);
	uint64_t freed = (uint64_t)((double)c.freed * fit / 1024 + 0.5);
	uint64_t unknown = (uint64_t)((double)c.unknown * fit / 1024 + 0.5);

	if (used > rss_kib)
		used = rss_kib;
	if (freed > rss_kib - used)
		freed = rss_kib - used;
	if (unknown > rss_kib - used - freed)
		unknown = rss_kib - used - freed;
	acc->kib[ACCOUNT_LIVE] += used;
	acc->kib[ACCOUNT_FREED] += freed;
	acc->kib[ACCOUNT_MALLOC] += unknown;
	/* Headers at a heap's ends, rounded: no reason to speak of them. */
	return rss_kib - used - freed - unknown;
}

/* Moves up to `kib` from one part to another. */
static uint64_t
move(struct account *acc, enum account_part from, enum account_part to, uint64_t kib)
{
	if (kib > acc->kib[from])
		kib = acc->kib[from];
	acc->kib[from] -= kib;
	acc->kib[to] += kib;
	return kib;
}

/* What malloc could not tell itself, a recording may. */
static void
use_recording(struct account *acc, const struct account_recording *rec)
{
	uint64_t live = rec->live_bytes >> 10, own = rec->own_bytes >> 10;

	own -= move(acc, ACCOUNT_MAPPINGS, ACCOUNT_SEEP, own);
	move(acc, ACCOUNT_UNEXPLAINED, ACCOUNT_SEEP, own);
	if (acc->told_by_malloc || acc->kib[ACCOUNT_MALLOC] == 0)
		return;
	move(acc, ACCOUNT_MALLOC, ACCOUNT_LIVE, live);
	move(acc, ACCOUNT_MALLOC, ACCOUNT_FREED, UINT64_MAX);
	acc->told_by_recording = true;
	acc->estimate = !rec->exact;
}

void
account_init(struct account *ret_account, const struct memmap *map,
	     const struct regions *rs, const struct heapmap *heap,
	     const struct account_recording *recording, uint64_t rss_kib)
{
	struct account acc = {.rss_kib = rss_kib};
	bool known = heap != NULL && heap->known;
	uint64_t sum = memmap_total_kib(map, MEMMAP_RSS);
	/* What another allocator has not claimed itself is not its own. */
	bool other = false, walked = known && heap->others;
	size_t k = 0;

	/* Where another allocator has its own mappings, those of no kind are the
	 * program's. */
	for (size_t i = 0; i < rs->list.len; i++) {
		enum region_kind kind = rs->list.data[i].kind;

		other = other || region_is_guessed(kind) || kind == REGION_GO;
	}
	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];
		enum region_kind kind = rs->list.data[rs->of_area[i]].kind;
		struct claim c = known ? claim_of(heap, a, &k) : (struct claim){0};
		uint64_t rest = book_claim(&acc, c, a->kib[MEMMAP_RSS]);

		acc.kib[walked && region_is_guessed(kind)
				? ACCOUNT_MAPPINGS
				: part_of(kind, known, known || other)] += rest;
	}
	if (known)
		move(&acc, ACCOUNT_LIVE, ACCOUNT_FREED, heap->cached_bytes >> 10);
	acc.told_by_malloc = known && acc.kib[ACCOUNT_LIVE] + acc.kib[ACCOUNT_FREED] > 0;
	if (recording->there)
		use_recording(&acc, recording);
	if (acc.rss_kib == 0)
		acc.rss_kib = sum;
	if (acc.rss_kib > sum)
		acc.kib[ACCOUNT_UNEXPLAINED] += acc.rss_kib - sum;
	else
		acc.rss_kib = sum;
	*ret_account = acc;
}
