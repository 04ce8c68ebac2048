/* SPDX-License-Identifier: MIT */
/* heapwalk_find.c -- where glibc's malloc keeps its state.
 *
 * The main arena lies in libc's data (or a static program's own). Versions differ in what
 * comes before its list heads, so the heads are looked for, and how far they are from the
 * arena's beginning follows from the ring of arenas, which must lead back to it. The main
 * heap is where its end is: the kernel names it in a process, but not in a core, nor
 * where brk gave nothing. */
#include "tool/target/heap/heapwalk_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/util/x.h"

enum {
	DATA_BYTES_MAX = 8 << 20,  /* of one file's writable data: libc has 10 KiB */
	GROWN_BYTES_MAX = 1 << 30, /* since the map was read */
	OFF_LEAST = 16,
	OFF_MOST = 160,
};

bool
hw_is_heap_address(const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *a = memmap_find(map, addr);

	return a != NULL && a->inode == 0 && a->perms[1] == 'w' &&
	       (a->name[0] == '\0' || strcmp(a->name, "[heap]") == 0 ||
		strncmp(a->name, "[anon:", 6) == 0);
}

/* Whether it is in a heap, or where one may have grown to since the map was read, as
 * the process runs on: the main heap into the gap behind it, another one into what it
 * has reserved. */
static bool
may_be_heap(const struct memmap *map, uint64_t addr)
{
	const struct memmap_area *a = memmap_last_before(map, addr);

	if (hw_is_heap_address(map, addr))
		return true;
	if (a == NULL || addr >= a->end)
		return a != NULL && strcmp(a->name, "[heap]") == 0 &&
		       addr - a->end < GROWN_BYTES_MAX;
	return a > map->areas.data && a->inode == 0 && a->name[0] == '\0' &&
	       a->perms[0] == '-' && a[-1].end == a->start &&
	       hw_is_heap_address(map, a[-1].start);
}

/* Whether the words at `w`, which are at `addr` in the process, are 127 list heads. */
static bool
is_bins(const struct memmap *map, const uint64_t *w, uint64_t addr)
{
	unsigned empty = 0;

	for (unsigned i = 0; i < HW_BINS; i++) {
		uint64_t self = addr - HW_TOP_BELOW + 16 * (uint64_t)i;
		uint64_t fd = w[2 * i], bk = w[2 * i + 1];

		if (fd == self && bk == self)
			empty++;
		else if (!IS_ALIGNED(fd, 16) || !IS_ALIGNED(bk, 16) ||
			 !may_be_heap(map, fd) || !may_be_heap(map, bk))
			return false;
	}
	return empty > 0;
}

/* Whether the arena at `state` lies in a heap of its own that knows it. */
static bool
is_other_arena(const struct procmem *m, const struct memmap *map, uint64_t state)
{
	uint64_t heap = ALIGN_DOWN(state, HW_HEAP_BYTES);

	return state != 0 && IS_ALIGNED(state, 16) && hw_is_heap_address(map, state) &&
	       hw_is_heap_address(map, heap) && hw_peek(m, heap) == state;
}

/* Follows the ring from the main arena at bins - off; true when it closes. */
static bool
take_ring(const struct procmem *m, const struct memmap *map, uint64_t bins, uint64_t off,
	  struct hw_state *s)
{
	uint64_t main_state = bins - off, at = main_state;

	s->arenas.len = 0;
	s->bins_off = off;
	while (s->arenas.len < HW_ARENAS_MAX) {
		uint64_t top = hw_peek(m, at + off - HW_TOP_BELOW);

		if (!may_be_heap(map, top) || !IS_ALIGNED(top, 16))
			return false;
		vec_push(&s->arenas, (struct hw_arena){.state = at, .top = top});
		at = hw_peek(m, at + off + HW_NEXT_ABOVE);
		if (at == main_state)
			return true;
		if (!is_other_arena(m, map, at))
			return false;
	}
	return false;
}

/* Where no heap has a name: that of the memory around `top`. */
static bool
take_heap(const struct memmap *map, uint64_t top, struct hw_state *s)
{
	const struct memmap_area *a = memmap_find(map, top), *first = map->areas.data;
	const struct memmap_area *last = first + map->areas.len - 1, *end;

	if (a == NULL || !IS_ALIGNED(top, 16) || !hw_is_heap_address(map, top))
		return false;
	for (end = a; end < last && end[1].start == end->end &&
		      hw_is_heap_address(map, end[1].start);
	     end++)
		;
	while (a > first && a[-1].end == a->start && a[-1].inode == 0 &&
	       hw_is_heap_address(map, a[-1].start) && a[-1].perms[0] == 'r')
		a--;
	s->heap_start = a->start;
	s->heap_end = end->end;
	return true;
}

/* Looks through one area for list heads with a main heap behind them. */
static bool
search(const struct procmem *m, const struct memmap *map, const struct memmap_area *a,
       struct hw_state *s)
{
	size_t bytes = (size_t)(a->end - a->start);
	size_t need = HW_STATE_ABOVE + HW_TOP_BELOW;
	uint64_t *w;
	bool found = false;

	if (bytes > DATA_BYTES_MAX || bytes < need)
		return false;
	w = xmalloc(bytes);
	procmem_copy(m, a->start, w, bytes);
	for (size_t i = 2; !found && (i * HW_WORD) + HW_STATE_ABOVE <= bytes; i++) {
		uint64_t bins = a->start + i * HW_WORD, top = w[i - 2];

		if (s->unnamed ? top == 0 || !is_bins(map, w + i, bins) ||
					 !take_heap(map, top, s)
			       : top < s->heap_start ||
					 top >= s->heap_end + GROWN_BYTES_MAX ||
					 !is_bins(map, w + i, bins))
			continue;
		for (uint64_t off = OFF_LEAST; !found && off <= OFF_MOST; off += HW_WORD)
			found = take_ring(m, map, bins, off, s);
	}
	free(w);
	return found;
}

/* Names that glibc's libc goes by. */
static bool
is_libc(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;

	return strncmp(name, "libc.so.6", 9) == 0 || strncmp(name, "libc-2.", 7) == 0;
}

/* Data of a file: its own writable pages, and those behind them that began as zeroes. */
static bool
search_all(const struct procmem *m, const struct memmap *map, bool libc,
	   struct hw_state *s)
{
	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];
		const struct memmap_area *file = memmap_data_of(map, a);

		if (file == NULL || is_libc(file->name) != libc)
			continue;
		if (search(m, map, a, s))
			return true;
	}
	return false;
}

/* Reading mappings is allowed more often than reading memory. */
static bool
can_read(const struct procmem *m, const struct hw_state *s)
{
	uint8_t present;
	uint64_t word;

	procmem_present(m, s->heap_start, 1, &present);
	return present == 0 || procmem_read(m, s->heap_start, &word, sizeof word) == 0;
}

bool
hw_find_state(const struct procmem *m, const struct memmap *map,
	      struct hw_state *ret_state, struct heapmap *h)
{
	struct hw_state s = {0};
	bool named;

	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];

		if (strcmp(a->name, "[heap]") != 0)
			continue;
		if (s.heap_start == 0)
			s.heap_start = a->start;
		s.heap_end = a->end;
	}
	if (s.heap_start != 0 && !can_read(m, &s)) {
		snprintf(h->why, sizeof h->why,
			 "its memory may not be read; see: seep "
			 "doctor %d",
			 m->pid);
		return false;
	}
	named = s.heap_start != 0;
	if (named && (search_all(m, map, true, &s) || search_all(m, map, false, &s))) {
		*ret_state = s;
		return true;
	}
	s.unnamed = true;
	if (search_all(m, map, true, &s) || search_all(m, map, false, &s)) {
		*ret_state = s;
		return true;
	}
	vec_done(&s.arenas);
	snprintf(h->why, sizeof h->why, "%s",
		 named ? "glibc's malloc was not found in it, or is of an unknown "
			 "version"
		       : "it has no heap of glibc's malloc");
	return false;
}
