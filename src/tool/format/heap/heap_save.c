/* SPDX-License-Identifier: MIT */
/* heap_save.c -- a profile as gperftools' heap text, which jeprof, google-pprof and Go's
 * pprof all read.
 *
 *	heap profile:  LIVE:  BYTES [ ALLOCS: BYTES] @ heapprofile
 *	    LIVE:  BYTES [ ALLOCS: BYTES] @ 0x... 0x...
 *
 *	MAPPED_LIBRARIES:
 *	start-end r-xp offset 00:00 0  path
 *
 * "heapprofile" says that figures are not to be scaled: ours are not samples any more.
 * Addresses are return addresses, innermost first. A module gets one range: that of the
 * first process that had it there, or one of our own when it would lie over another's or
 * none is known. Names are not written: readers look them up by the map. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/format/elfload.h"
#include "tool/format/format_save.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum {
	HEAP_LINE_MAX = 60000, /* Go's pprof refuses lines of 64 KiB */
	HEAP_PAGE_BYTES = 4096,
};

/* Where ranges of our own begin, and where a program that is not position-independent
 * lies. */
#define HEAP_OWN_START UINT64_C(0x100000000000)
#define HEAP_EXE_START UINT64_C(0x400000)
#define HEAP_EXE_END UINT64_C(0x80000000)
#define HEAP_NO_ADDRESS UINT64_C(1)
#define HEAP_OWN_END UINT64_C(0x700000000000)
#define HEAP_OWN_MAX UINT64_C(0x10000000000) /* no module is as large */
#define HEAP_OWN_GAP UINT64_C(0x100000000)
#define HEAP_PAGE(address) ((address) & ~(uint64_t)(HEAP_PAGE_BYTES - 1))

struct heap_module {
	uint64_t start, end; /* addresses that are written */
	uint64_t bias;	     /* what is added to the ELF's own */
	uint64_t off;	     /* in the file, of `start` */
	uint64_t low, high;  /* the ELF's own addresses that are used */
	uint32_t path;	     /* string */
	bool used;
};

struct heap_out {
	const struct prof *p;
	const struct format_save_opts *o;
	struct heap_module *modules;
	uint64_t own; /* next free range of our own */
	bool *seen;   /* nodes that were looked at */
};

/* ---- where modules lie ---- */

/* Which of the ELF's own addresses are used; false when there is no address at all. */
static bool
heap_used(struct heap_out *h)
{
	const struct prof *p = h->p;
	bool addresses = false, names = false;

	for (uint32_t i = 1; i < p->nsites; i++) {
		uint32_t node = emit_start_of(p, h->o, i).node;

		for (; node != 0 && !h->seen[node]; node = emit_caller(p, h->o, node)) {
			uint32_t loc = p->nodes[node].loc;
			const struct prof_loc *l = &p->locs[loc];
			struct heap_module *m = &h->modules[l->module];

			h->seen[node] = true;
			if (l->kind != PROF_LOC_CODE)
				continue;
			if (named_is(p, loc)) {
				names = true;
				continue;
			}
			addresses = true;
			if (l->module == 0)
				continue;
			if (!m->used || l->offset < m->low)
				m->low = l->offset;
			if (!m->used || l->offset > m->high)
				m->high = l->offset;
			m->used = true;
		}
	}
	return addresses || !names;
}

/* Whether a range is free of those that were given to modules before `module`. */
static bool
heap_is_free(const struct heap_out *h, uint32_t module, uint64_t start, uint64_t end)
{
	for (uint32_t i = 1; i < module; i++) {
		const struct heap_module *m = &h->modules[i];

		if (m->used && start < m->end && m->start < end)
			return false;
	}
	return end > start;
}

/* Gives a module its place: the ELF's own addresses from `low` to `high`, moved by
 * `bias`. Most ELFs have their code at the same place in the file; for the others, and
 * for a program with addresses of its own, the program headers know. */
static bool
heap_place(struct heap_out *h, uint32_t module, uint64_t low, uint64_t high,
	   uint64_t bias)
{
	struct heap_module *m = &h->modules[module];
	struct elfload *loads = NULL;
	uint64_t off = bias == 0 && low >= HEAP_EXE_START ? low - HEAP_EXE_START : low;
	uint32_t n = 0;

	if (elfload_read(prof_text(h->p, h->p->modules[module].path), &loads, &n)) {
		for (uint32_t i = 0; i < n; i++) {
			uint64_t from = HEAP_PAGE(loads[i].vaddr);

			if (!loads[i].exec || m->low < from ||
			    m->high > loads[i].vaddr + loads[i].bytes)
				continue;
			low = from;
			high = loads[i].vaddr + loads[i].bytes;
			off = loads[i].off - (loads[i].vaddr - from);
			break;
		}
	}
	free(loads);
	if (!heap_is_free(h, module, low + bias, high + bias))
		return false;
	m->start = low + bias;
	m->end = high + bias;
	m->bias = bias;
	m->off = off;
	return true;
}

/* Where a process had it. */
static bool
heap_place_as_was(struct heap_out *h, uint32_t module)
{
	const struct heap_module *m = &h->modules[module];

	for (uint32_t i = 0; i < h->p->nranges; i++) {
		const struct prof_range *r = &h->p->ranges[i];

		if (r->module != module || m->low + r->bias < r->start ||
		    m->high + r->bias > r->end)
			continue;
		return heap_place(h, module, r->start - r->bias, r->end - r->bias,
				  r->bias);
	}
	return false;
}

static bool
heap_is_program(const struct heap_out *h, uint32_t module)
{
	for (uint32_t i = 1; i < h->p->nprocesses; i++) {
		if (h->p->processes[i].exe == h->p->modules[module].path)
			return true;
	}
	return false;
}

/* A module that no room can be found for keeps its own addresses, outside of the map. */
static void
heap_place_own(struct heap_out *h, uint32_t module)
{
	struct heap_module *m = &h->modules[module];
	uint64_t low = HEAP_PAGE(m->low),
		 bytes = HEAP_PAGE(m->high - low) + HEAP_PAGE_BYTES;

	if (m->low >= HEAP_EXE_START && m->high < HEAP_EXE_END &&
	    heap_is_program(h, module) &&
	    heap_place(h, module, HEAP_EXE_START, HEAP_PAGE(m->high) + HEAP_PAGE_BYTES,
		       0))
		return;
	/* The segment may be larger than what is used of it: leave room. */
	if (bytes < HEAP_OWN_MAX && h->own < HEAP_OWN_END &&
	    heap_place(h, module, low, low + bytes, h->own - low)) {
		h->own = HEAP_PAGE(m->end) + HEAP_OWN_GAP;
		return;
	}
	m->used = false;
	m->bias = 0;
}

static int
heap_place_all(struct heap_out *h, struct err *e)
{
	if (!heap_used(h))
		return err_set(
			e, -ENODATA,
			"heap text holds addresses, and this profile has only names");
	h->own = HEAP_OWN_START;
	for (uint32_t i = 1; i < h->p->nmodules; i++) {
		if (h->modules[i].used && !heap_place_as_was(h, i))
			heap_place_own(h, i);
	}
	return 0;
}

/* ---- lines ---- */

struct heap_row {
	int64_t live, live_bytes, allocs, alloc_bytes;
};

/* A site's figures; false when there is nothing to write. Go's pprof refuses bytes
 * without blocks, so where only bytes are known it is one block; below 0 nobody but Go
 * reads them, and `count` counts them. */
static bool
heap_row(const struct heap_out *h, uint32_t site, bool count, struct heap_row *ret)
{
	const struct prof_site *s = &h->p->sites[site];
	struct heap_row x = {0};

	if (prof_has_value(h->p, PROF_LIVE)) {
		x.live = prof_figure(s, PROF_LIVE, true);
		x.live_bytes = prof_figure(s, PROF_LIVE, false);
	}
	if (prof_has_value(h->p, PROF_ALLOCATED)) {
		x.allocs = prof_figure(s, PROF_ALLOCATED, true);
		x.alloc_bytes = prof_figure(s, PROF_ALLOCATED, false);
	}
	if (x.live < 0 || x.live_bytes < 0) {
		if (count)
			emit_left_out(h->o);
		return false;
	}
	if (x.live == 0 && x.live_bytes != 0)
		x.live = 1;
	if (x.allocs == 0 && x.alloc_bytes != 0)
		x.allocs = 1;
	*ret = x;
	return (x.live | x.live_bytes | x.allocs | x.alloc_bytes) != 0;
}

static void
heap_put_row(struct buf *out, const struct heap_row *x)
{
	buf_printf(out, "%6" PRId64 ": %8" PRId64 " [%6" PRId64 ": %8" PRId64 "] @",
		   x->live, x->live_bytes, x->allocs, x->alloc_bytes);
}

static void
heap_put_address(struct buf *out, uint64_t address)
{
	static const char digits[] = "0123456789abcdef";
	char text[3 + 16];
	int at = sizeof text, least = 8;

	for (; address != 0 || least > 0; address >>= 4, least--)
		text[--at] = digits[address & 15];
	text[--at] = 'x';
	text[--at] = '0';
	text[--at] = ' ';
	buf_add(out, text + at, sizeof text - (size_t)at);
}

static void
heap_put_stack(const struct heap_out *h, uint32_t site, struct buf *out)
{
	const struct prof *p = h->p;
	uint32_t node = emit_start_of(p, h->o, site).node;
	size_t start = out->len;

	for (; node != 0 && out->len - start < HEAP_LINE_MAX;
	     node = emit_caller(p, h->o, node)) {
		uint32_t loc = p->nodes[node].loc;
		const struct prof_loc *l = &p->locs[loc];

		if (l->kind == PROF_LOC_CODE && !named_is(p, loc))
			heap_put_address(out, l->offset + h->modules[l->module].bias +
						      (l->exact ? 1 : 0));
	}
	if (out->len == start)
		heap_put_address(out, HEAP_NO_ADDRESS);
	buf_add_char(out, '\n');
}

/* Ascending; the rows are not needed as such any more. */
static void
heap_put_map(struct heap_out *h, struct buf *out)
{
	buf_add_str(out, "\nMAPPED_LIBRARIES:\n");
	qsort(h->modules, h->p->nmodules, sizeof *h->modules,
	      vec_compare_by(struct heap_module, start));
	for (uint32_t i = 0; i < h->p->nmodules; i++) {
		const struct heap_module *m = &h->modules[i];
		size_t from;

		if (!m->used || m->path == 0)
			continue;
		buf_printf(out,
			   "%08" PRIx64 "-%08" PRIx64 " r-xp %08" PRIx64
			   " 00:00 0                          ",
			   m->start, m->end, m->off);
		from = out->len;
		buf_add_str(out, prof_text(h->p, m->path));
		for (; from < out->len; from++) {
			if ((unsigned char)out->data[from] < ' ')
				out->data[from] = '?';
		}
		buf_add_char(out, '\n');
	}
}

static int
heap_put(struct heap_out *h, struct emit_out *out, struct err *e)
{
	struct heap_row total = {0}, x;
	int r = 0;

	/* The head has the totals, so the figures are asked for twice. */
	for (uint32_t i = 1; i < h->p->nsites; i++) {
		if (!heap_row(h, i, true, &x))
			continue;
		total.live = emit_sum(total.live, x.live);
		total.live_bytes = emit_sum(total.live_bytes, x.live_bytes);
		total.allocs = emit_sum(total.allocs, x.allocs);
		total.alloc_bytes = emit_sum(total.alloc_bytes, x.alloc_bytes);
	}
	buf_add_str(out->buf, "heap profile: ");
	heap_put_row(out->buf, &total);
	buf_add_str(out->buf, " heapprofile\n");
	for (uint32_t i = 1; i < h->p->nsites && r == 0; i++) {
		if (!heap_row(h, i, false, &x))
			continue;
		heap_put_row(out->buf, &x);
		heap_put_stack(h, i, out->buf);
		r = emit_flush(out, false, e);
	}
	heap_put_map(h, out->buf);
	return r;
}

static int
heap_save(const struct prof *p, const struct format_save_opts *o, struct emit_out *out,
	  struct err *e)
{
	struct heap_out h = {.p = p, .o = o};
	int r;

	h.modules = xcalloc(p->nmodules, sizeof *h.modules);
	h.seen = xcalloc(p->nnodes, sizeof *h.seen);
	for (uint32_t i = 1; i < p->nmodules; i++)
		h.modules[i].path = p->modules[i].path;
	r = heap_place_all(&h, e);
	if (r == 0)
		r = heap_put(&h, out, e);
	free(h.modules);
	free(h.seen);
	return r;
}

const struct format_writer emit_heap = {
	.name = "heap",
	.what = "heap text of gperftools, for jeprof and any pprof",
	.endings = ".heap .prof",
	.write = heap_save,
};
