/* SPDX-License-Identifier: MIT */
/* databounds.c -- see databounds.h.
 *
 * Headers are read from the process's memory, if the page is resident: nothing is fetched
 * for it. Where they cannot be had, memory behind a file's data counts as the file's, as
 * it is nearly always. */
#include "tool/target/proc/databounds.h"

#include <string.h>

#include "shared/compiler.h"
#include "tool/util/elf/elfview.h"

enum { PAGE = 4096, PAGES_AT_ONCE = 256 };

uint64_t
databounds_end(const unsigned char *head, size_t bytes, uint64_t start)
{
	const struct elfview_bytes there = {head, bytes};
	uint64_t end = 0, first = UINT64_MAX;
	const Elf64_Phdr *p;
	struct elfview v;

	if (!elfview_open(&v, elfview_of_bytes, &there))
		return 0;
	for (unsigned i = 0; (p = elfview_segment(&v, PT_LOAD, i)) != NULL; i++) {
		if (p->p_vaddr + p->p_memsz < p->p_vaddr)
			continue;
		if (p->p_offset == 0 && p->p_vaddr < first)
			first = p->p_vaddr;
		if (p->p_vaddr + p->p_memsz > end)
			end = p->p_vaddr + p->p_memsz;
	}
	elfview_close(&v);
	return first <= end ? ALIGN_UP(start + (end - first), (uint64_t)PAGE) : 0;
}

static uint64_t
resident_kib(const struct procmem *m, uint64_t start, uint64_t end)
{
	uint8_t there[PAGES_AT_ONCE];
	uint64_t pages = 0;

	while (start < end) {
		uint64_t n = (end - start) / m->page_bytes;

		n = n < PAGES_AT_ONCE ? n : PAGES_AT_ONCE;
		if (n == 0 || !procmem_present(m, start, (size_t)n, there))
			return 0;
		for (uint64_t i = 0; i < n; i++)
			pages += there[i];
		start += n * m->page_bytes;
	}
	return pages * (m->page_bytes >> 10);
}

/* What lies behind `end` becomes a mapping of its own. */
static void
split(const struct procmem *m, struct memmap *map, size_t i, uint64_t end)
{
	struct memmap_area *a, *rest;
	uint64_t kib = resident_kib(m, map->areas.data[i].start, end);

	vec_add(&map->areas);
	a = &map->areas.data[i];
	rest = a + 1;
	memmove(rest, a, (map->areas.len - 1 - i) * sizeof *a);
	rest->start = a->end = end;
	rest->apart = true;
	for (unsigned f = 0; f < MEMMAP_FIGURES; f++) {
		uint64_t share = f == MEMMAP_SIZE ? (a->end - a->start) >> 10 : kib;

		if (f == MEMMAP_SWAP)
			share = 0;
		a->kib[f] = a->kib[f] < share ? a->kib[f] : share;
		rest->kib[f] -= a->kib[f];
	}
}

/* The end of the object whose first mapping is `a`; 0 = not known. */
static uint64_t
end_of(const struct procmem *m, const struct memmap_area *a)
{
	unsigned char head[PAGE];
	uint8_t there = 0;

	if (a->inode == 0 || a->offset != 0 || a->perms[0] != 'r' || a->name[0] != '/' ||
	    a->perms[3] == 's' || !procmem_present(m, a->start, 1, &there) ||
	    there == 0 || procmem_read(m, a->start, head, sizeof head) < 0)
		return 0;
	return databounds_end(head, sizeof head, a->start);
}

void
databounds_split(const struct procmem *m, struct memmap *map)
{
	size_t first = 0; /* mapping of the object that mapping i may belong to */

	for (size_t i = 1; i < map->areas.len; i++) {
		struct memmap_area *a = &map->areas.data[i];
		uint64_t end;

		if (a->inode != 0) {
			if (strcmp(a->name, map->areas.data[first].name) != 0 ||
			    a->offset == 0)
				first = i;
			continue;
		}
		if (memmap_data_of(map, a) == NULL)
			continue;
		end = end_of(m, &map->areas.data[first]);
		if (end == 0 || end >= a->end)
			continue;
		if (end <= a->start)
			a->apart = true;
		else
			split(m, map, i, end);
	}
}
