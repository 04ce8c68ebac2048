/* SPDX-License-Identifier: MIT */
/* holders_modules.c -- the binaries that a process or core has mapped; see holders.h.
 *
 * What they are is read from memory: headers, build-id, thread-local data. A file is
 * asked for names only when it has that build-id: a wrong name is worse than none. Files
 * of a running process are opened through its own root. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/session/heap/holders.h"
#include "tool/sym/objsym.h"
#include "tool/target/proc/databounds.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { HEAD_BYTES = 4096, TLS_MOST = 1 << 20 };

struct mapped {
	const struct image *image;
	uint64_t start;
};

static bool
read_mapped(const void *ctx, uint64_t off, void *to, size_t n)
{
	const struct mapped *m = ctx;

	return off < UINT64_C(1) << 40 &&
	       image_read(m->image, m->start + off, to, n) == n;
}

/* What the headers in memory at m->start say; false when that is no ELF object. */
static bool
read_headers(struct holders *h, struct holders_module *m)
{
	const struct mapped at = {h->image, m->start};
	unsigned char head[HEAD_BYTES];
	uint64_t vaddr = 0;
	const Elf64_Phdr *p;
	struct elfview v;

	if (!elfview_open(&v, read_mapped, &at))
		return false;
	for (unsigned i = 0; (p = elfview_segment(&v, PT_LOAD, i)) != NULL; i++) {
		if (p->p_offset == 0)
			vaddr = p->p_vaddr;
	}
	for (unsigned i = 0; (p = elfview_segment(&v, PT_TLS, i)) != NULL; i++) {
		if (p->p_memsz < TLS_MOST && p->p_align <= 4096)
			h->tls_bytes += p->p_memsz + p->p_align;
	}
	elfview_build_id(&v, &m->build_id);
	elfview_close(&v);
	m->bias = m->start - vaddr;
	m->end = databounds_end(head, image_read(h->image, m->start, head, sizeof head),
				m->start);
	return true;
}

void
holders_modules(struct holders *h)
{
	const struct memmap *map = h->image->map;

	/* Mappings of one file that follow each other, and the zeroed data behind
	 * them. */
	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];
		struct holders_module m = {.path = a->name, .start = a->start};
		uint64_t data_end;

		if (a->inode == 0 || a->offset != 0 || a->name[0] != '/' ||
		    !read_headers(h, &m))
			continue;
		data_end = m.end != 0 ? m.end : UINT64_MAX;
		m.end = a->end;
		while (i + 1 < map->areas.len) {
			const struct memmap_area *next = &map->areas.data[i + 1];
			bool same = next->inode != 0 && strcmp(next->name, m.path) == 0;
			bool bss = next->inode == 0 && memmap_data_of(map, next) != NULL;

			if (!same && (!bss || next->start >= data_end))
				break;
			m.end = bss && next->end > data_end ? data_end : next->end;
			i++;
			if (bss)
				break;
		}
		m.file = h->image->path == NULL
				 ? xasprintf("/proc/%d/root%s",
					     file_proc_task(h->image->pid), m.path)
				 : xstrdup(m.path);
		vec_push(&h->modules, m);
	}
}

struct holders_module *
holders_module(struct holders *h, uint64_t addr)
{
	size_t low = 0, high = h->modules.len; /* ascending, as mappings are */

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->modules.data[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < h->modules.len && h->modules.data[low].start <= addr
		       ? &h->modules.data[low]
		       : NULL;
}

struct sym *
holders_sym(const struct holders_module *m)
{
	struct sym_opts o = {.real_path = m->path, .here_only = true};

	return sym_open(m->file, m->build_id.data, m->build_id.bytes, &o, NULL);
}

void
holders_open(struct holders *h, struct holders_module *m)
{
	struct sym *s;

	if (m->tried)
		return;
	m->tried = true;
	/* A core may name any file: without a build-id nobody knows whether it is that
	 * one. */
	if (h->image->path != NULL && m->build_id.bytes == 0)
		return;
	s = holders_sym(m);
	if (s != NULL)
		m->symbols = objsym_read(m->file, sym_debug_path(s));
	sym_close(s);
}
