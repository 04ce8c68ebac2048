/* SPDX-License-Identifier: MIT */
/* memmap.c -- the memory of a process at one moment; see memmap.h. */
#include "tool/model/memmap.h"

#include <stdlib.h>
#include <string.h>

uint64_t
memmap_total_kib(const struct memmap *m, enum memmap_figure figure)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < m->areas.len; i++)
		sum += m->areas.data[i].kib[figure];
	return sum;
}

const struct memmap_area *
memmap_last_before(const struct memmap *m, uint64_t addr)
{
	size_t low = 0, high = m->areas.len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->areas.data[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? &m->areas.data[low - 1] : NULL;
}

const struct memmap_area *
memmap_find(const struct memmap *m, uint64_t addr)
{
	const struct memmap_area *a = memmap_last_before(m, addr);

	return a != NULL && addr < a->end ? a : NULL;
}

const struct memmap_area *
memmap_data_of(const struct memmap *m, const struct memmap_area *a)
{
	const struct memmap_area *before = a - 1;

	if (a->perms[0] != 'r' || a->perms[1] != 'w' || a->perms[3] == 's')
		return NULL;
	if (a->inode != 0)
		return a;
	if (a->apart || a == m->areas.data || before->end != a->start ||
	    before->inode == 0 || before->perms[3] == 's' ||
	    (a->name[0] != '\0' && strncmp(a->name, "[anon", 5) != 0))
		return NULL;
	return before;
}

void
memmap_sort(struct memmap *m)
{
	vec_sort(&m->areas, vec_compare_by(struct memmap_area, start));
}

void
memmap_done(struct memmap *m)
{
	vec_done(&m->areas);
	arena_done(&m->strings);
	*m = (struct memmap){0};
}

void
heapmap_done(struct heapmap *h)
{
	vec_done(&h->ranges);
	*h = (struct heapmap){0};
}
