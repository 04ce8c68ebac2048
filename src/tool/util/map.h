/* SPDX-License-Identifier: MIT */
/* map.h -- two hash tables: 64-bit key to 64-bit value, and strings to small numbers.
 *
 * Both are open-addressed with linear probing, start with `= {0}`, cost nothing while
 * empty and grow at three quarters full. The hash is seeded per process, so keys chosen
 * by a hostile file cannot make them slow. Not thread safe. Out of memory aborts
 * (x.h). */
#ifndef SEEP_UTIL_MAP_H
#define SEEP_UTIL_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/arena.h"

/* ---- u64 -> u64; every key is legal, 0 too ---- */

struct map_slot {
	uint64_t key; /* 0 = free; the key 0 itself lives in struct map */
	uint64_t value;
};

struct map {
	struct map_slot *slots;
	size_t cap; /* power of two or 0 */
	size_t len; /* keys held, the key 0 included */
	bool has_zero;
	uint64_t zero_value;
};

/* Address of the value of `key`, or NULL. Good until the map is next changed. */
uint64_t *map_find(const struct map *m, uint64_t key);

/* Address of the value of `key`, added as 0 when absent. Good until the next change. */
uint64_t *map_add(struct map *m, uint64_t key);

/* Room for `n` keys in all, where that is known: a table that grows puts each of them in
 * again. */
void map_reserve(struct map *m, size_t n);

/* Removes `key`; false when it was not there. */
bool map_del(struct map *m, uint64_t key);

/* Iterates in no order: start with *pos = 0; false at the end. No change meanwhile. */
bool map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value);

/* Empties and frees; the map may be used again. */
void map_done(struct map *m);

/* ---- strings: one id per distinct run of bytes, in order of first sight, 0 = "" --- */

struct strtab_entry {
	const char *s;
	uint32_t len;
	uint32_t hash;
};

struct strtab {
	struct arena bytes;
	struct strtab_entry *entries; /* [0] is "" */
	uint32_t *slots;	      /* index into entries, 0 = free */
	size_t len, entries_cap, cap;
};

/* Id of the string, which is copied when new. Bytes may be anything, NUL too. More than
 * 2^32 - 2 strings or one string of 4 GiB end as out of memory. */
uint32_t strtab_add(struct strtab *t, const char *s);
uint32_t strtab_addn(struct strtab *t, const void *p, size_t n);

/* The same without adding: false when unknown. */
bool strtab_find(const struct strtab *t, const void *p, size_t n, uint32_t *ret_id);

/* The string, NUL-terminated, never NULL ("" for an id never given out). Borrowed for the
 * life of the table: strings do not move. */
const char *strtab_str(const struct strtab *t, uint32_t id);
size_t strtab_len(const struct strtab *t, uint32_t id);

/* Ids in use are 0 … strtab_count - 1; at least 1. */
size_t strtab_count(const struct strtab *t);

void strtab_done(struct strtab *t);

#endif
