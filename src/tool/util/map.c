/* SPDX-License-Identifier: MIT */
/* map.c -- the hash tables of map.h.
 *
 * Linear probing; removal shifts the followers back, so there are no tombstones. Integer
 * keys are mixed with two multiplications, strings are eaten eight bytes at a time with
 * the same mixer. The seed is drawn once per process. */
#include "tool/util/map.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "tool/util/x.h"

#define MAP_FIRST_SLOTS 16

static uint64_t
map_seed(void)
{
	static _Atomic uint64_t shared; /* 0 until the first thread has drawn one */
	uint64_t seed = atomic_load_explicit(&shared, memory_order_relaxed);
	uint64_t fresh = 0;

	if (seed != 0)
		return seed;
	if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
		fresh = (uint64_t)getpid() * 0x9e3779b97f4a7c15u;
	fresh |= 1;
	return atomic_compare_exchange_strong(&shared, &seed, fresh) ? fresh : seed;
}

static uint64_t
map_mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ (x >> 32);
}

static size_t
map_home(const struct map *m, uint64_t key)
{
	return (size_t)map_mix(key ^ map_seed()) & (m->cap - 1);
}

uint64_t *
map_find(const struct map *m, uint64_t key)
{
	size_t i;

	if (key == 0)
		return m->has_zero ? (uint64_t *)&m->zero_value : NULL;
	if (m->cap == 0)
		return NULL;
	for (i = map_home(m, key); m->slots[i].key != 0; i = (i + 1) & (m->cap - 1))
		if (m->slots[i].key == key)
			return &m->slots[i].value;
	return NULL;
}

static void
map_grow_to(struct map *m, size_t cap)
{
	struct map old = *m;
	size_t i, at;

	m->cap = cap;
	m->slots = xcalloc(m->cap, sizeof *m->slots);
	for (i = 0; i < old.cap; i++) {
		if (old.slots[i].key == 0)
			continue;
		at = map_home(m, old.slots[i].key);
		while (m->slots[at].key != 0)
			at = (at + 1) & (m->cap - 1);
		m->slots[at] = old.slots[i];
	}
	free(old.slots);
}

void
map_reserve(struct map *m, size_t n)
{
	size_t cap = m->cap ? m->cap : MAP_FIRST_SLOTS;

	while (cap / 4 * 3 < n && cap <= SIZE_MAX / 2)
		cap *= 2;
	if (cap > m->cap)
		map_grow_to(m, cap);
}

/* The slot of `key`, or the free one where it belongs. There is a free one. */
static size_t
map_slot(const struct map *m, uint64_t key)
{
	size_t i = map_home(m, key);

	while (m->slots[i].key != 0 && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

uint64_t *
map_add(struct map *m, uint64_t key)
{
	size_t i;

	if (key == 0) {
		m->len += !m->has_zero;
		m->zero_value = m->has_zero ? m->zero_value : 0;
		m->has_zero = true;
		return &m->zero_value;
	}
	if (m->cap == 0)
		map_reserve(m, 1);
	i = map_slot(m, key);
	if (m->slots[i].key == key)
		return &m->slots[i].value;
	if (m->len + 1 > m->cap / 4 * 3) {
		map_grow_to(m, m->cap * 2);
		i = map_slot(m, key);
	}
	m->slots[i] = (struct map_slot){.key = key};
	m->len++;
	return &m->slots[i].value;
}

bool
map_del(struct map *m, uint64_t key)
{
	uint64_t *found = map_find(m, key);
	size_t hole, i, home;

	if (found == NULL)
		return false;
	m->len--;
	if (key == 0) {
		m->has_zero = false;
		return true;
	}
	hole = (size_t)((struct map_slot *)((char *)found -
					    offsetof(struct map_slot, value)) -
			m->slots);
	for (i = (hole + 1) & (m->cap - 1); m->slots[i].key != 0;
	     i = (i + 1) & (m->cap - 1)) {
		/* A follower may fill the hole unless its home lies behind the hole. */
		home = map_home(m, m->slots[i].key);
		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].key = 0;
	return true;
}

bool
map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value)
{
	size_t i = *pos;

	if (i == 0 && m->has_zero) {
		*pos = 1;
		*ret_key = 0;
		*ret_value = m->zero_value;
		return true;
	}
	for (i = i ? i - 1 : 0; i < m->cap; i++) {
		if (m->slots[i].key == 0)
			continue;
		*pos = i + 2; /* one more than the next index: 0 means the beginning */
		*ret_key = m->slots[i].key;
		*ret_value = m->slots[i].value;
		return true;
	}
	*pos = i + 1;
	return false;
}

void
map_done(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

static uint32_t
strtab_hash(const void *p, size_t n)
{
	const unsigned char *s = p;
	uint64_t h = map_seed() ^ n, word;

	for (; n >= 8; s += 8, n -= 8) {
		memcpy(&word, s, 8);
		h = map_mix(h ^ word);
	}
	if (n != 0) {
		word = 0;
		memcpy(&word, s, n);
		h = map_mix(h ^ word);
	}
	return (uint32_t)h;
}

static size_t
strtab_slot(const struct strtab *t, const void *p, size_t n, uint32_t hash)
{
	const struct strtab_entry *x;
	size_t i;

	for (i = hash & (t->cap - 1); t->slots[i] != 0; i = (i + 1) & (t->cap - 1)) {
		x = &t->entries[t->slots[i]];
		if (x->hash == hash && x->len == n && memcmp(x->s, p, n) == 0)
			break;
	}
	return i;
}

static void
strtab_grow(struct strtab *t)
{
	size_t i, at;

	free(t->slots);
	t->cap = t->cap ? t->cap * 2 : MAP_FIRST_SLOTS;
	t->slots = xcalloc(t->cap, sizeof *t->slots);
	for (i = 1; i < t->len; i++) {
		at = t->entries[i].hash & (t->cap - 1);
		while (t->slots[at] != 0)
			at = (at + 1) & (t->cap - 1);
		t->slots[at] = (uint32_t)i;
	}
}

bool
strtab_find(const struct strtab *t, const void *p, size_t n, uint32_t *ret_id)
{
	uint32_t found;

	if (n == 0) {
		*ret_id = 0;
		return true;
	}
	if (t->cap == 0 || n >= UINT32_MAX)
		return false;
	found = t->slots[strtab_slot(t, p, n, strtab_hash(p, n))];
	if (found == 0)
		return false;
	*ret_id = found;
	return true;
}

uint32_t
strtab_addn(struct strtab *t, const void *p, size_t n)
{
	uint32_t hash;
	size_t slot;

	if (n == 0)
		return 0;
	if (n >= UINT32_MAX || t->len >= UINT32_MAX)
		x_oom(n);
	if (t->len == 0)
		t->len = 1; /* entry 0 is "" */
	if (t->len > t->cap / 4 * 3)
		strtab_grow(t);
	hash = strtab_hash(p, n);
	slot = strtab_slot(t, p, n, hash);
	if (t->slots[slot] != 0)
		return t->slots[slot];
	if (t->len >= t->entries_cap) {
		t->entries_cap = t->entries_cap ? t->entries_cap * 2 : MAP_FIRST_SLOTS;
		t->entries =
			xreallocarray(t->entries, t->entries_cap, sizeof *t->entries);
		t->entries[0] = (struct strtab_entry){.s = ""};
	}
	t->entries[t->len] = (struct strtab_entry){
		.s = arena_memdup0(&t->bytes, p, n), .len = (uint32_t)n, .hash = hash};
	t->slots[slot] = (uint32_t)t->len;
	return (uint32_t)t->len++;
}

uint32_t
strtab_add(struct strtab *t, const char *s)
{
	return strtab_addn(t, s, strlen(s));
}

const char *
strtab_str(const struct strtab *t, uint32_t id)
{
	return id != 0 && id < t->len ? t->entries[id].s : "";
}

size_t
strtab_len(const struct strtab *t, uint32_t id)
{
	return id != 0 && id < t->len ? t->entries[id].len : 0;
}

size_t
strtab_count(const struct strtab *t)
{
	return t->len ? t->len : 1;
}

void
strtab_done(struct strtab *t)
{
	arena_done(&t->bytes);
	free(t->entries);
	free(t->slots);
	*t = (struct strtab){0};
}
