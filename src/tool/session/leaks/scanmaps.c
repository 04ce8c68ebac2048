/* SPDX-License-Identifier: MIT */
/* scanmaps.c -- see scanmaps.h.
 *
 * A configuration that is read once and then made read-only still holds its blocks. Of
 * memory without a file every touched page was writable once; of a private mapping of a
 * file only pages that are no longer the file's were written: the others are
 * constants. */
#include "tool/session/leaks/scanmaps.h"

#include <string.h>

static uint32_t
map_flags(const struct memmap_area *a)
{
	uint32_t flags = 0;

	flags |= a->perms[0] == 'r' ? SCAN_READ : 0;
	flags |= a->perms[1] == 'w' ? SCAN_WRITE : 0;
	flags |= a->perms[2] == 'x' ? SCAN_EXEC : 0;
	if (freeze_is_device(a->name))
		flags |= SCAN_DEVICE;
	else if (a->inode != 0)
		flags |= SCAN_FILE;
	return flags;
}

static bool
may_be_sealed(const struct memmap_area *a)
{
	if (a->perms[1] == 'w' || freeze_is_device(a->name) ||
	    strcmp(a->name, "[vdso]") == 0)
		return false;
	return a->inode == 0 || freeze_is_shared_memory(a) ||
	       (a->perms[3] == 'p' && a->perms[2] != 'x');
}

void
scanmaps_add(struct scanmaps *to, const struct memmap_area *a, const struct freeze *f)
{
	struct scan_map m = {.start = a->start, .end = a->end, .flags = map_flags(a)};
	struct pagescan_run run;
	struct pagescan pages;

	if (!may_be_sealed(a)) {
		vec_push(to, m);
		return;
	}
	if (f == NULL) {
		m.flags |= a->inode == 0 ? SCAN_SEALED : 0;
		vec_push(to, m);
		return;
	}
	/* A copy has no page of shared memory. What the process had was kept before, and
	 * nothing else is there. */
	if (f->copy.pid != 0 && freeze_is_shared_memory(a)) {
		m.flags |= SCAN_SEALED;
		vec_push(to, m);
		return;
	}
	pagescan_init(&pages, &f->mem);
	pages.way = f->pages.way;
	pages.private_only = a->inode != 0 && !freeze_is_shared_memory(a);
	for (; pagescan_next(&pages, m.start, a->end, &run); m.start = run.end) {
		struct scan_map part = {run.start, run.end, m.flags | SCAN_SEALED};

		if (m.start < run.start)
			vec_push(to, (struct scan_map){m.start, run.start, m.flags});
		vec_push(to, part);
	}
	if (m.start < a->end)
		vec_push(to, m);
}
