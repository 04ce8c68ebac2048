/* SPDX-License-Identifier: MIT */
/* heapcheck.c -- see heapcheck.h.
 *
 * A running process stands still until every block is told reachable or lost, and its
 * bytes have been looked at; names are found afterwards. */
#include "tool/session/heap/heapcheck.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "shared/compiler.h"
#include "tool/session/heap/foreign.h"
#include "tool/session/heap/heap_groups.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/clock.h"
#include "tool/util/cmdline/doing.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum {
	ROOM_BYTES_LEAST = 16 << 20,
	MISSED_LEAST = 1 << 20, /* of an arena, to be worth a word */
	WALK_TRIES_MORE = 5,
	WALK_NAP_NS = 1000000,
};

/* ---- blocks ---- */

/* The table of dynamic TLS of the thread whose control block is at `tcb`. */
static void
mark_tls_table(struct heapcheck *c, uint64_t tcb)
{
	struct scan_block *b;
	uint64_t table;

	if (tcb == 0 || !scan_word(&c->image.space, tcb + 8, &table))
		return;
	b = scan_find(&c->index, table - 16);
	if (b != NULL && (b->addr == table - 16 || (b->flags & SCAN_BLOCK_INNER) != 0))
		b->flags |= SCAN_BLOCK_ROOT;
}

/* Blocks of dynamic TLS hang on tables that libc finds by a pointer into their middle.
 * Ended threads leave theirs behind, with their stacks, for the next thread. */
static void
mark_tls_tables(struct heapcheck *c)
{
	for (size_t i = 0; i < c->image.threads.len; i++)
		mark_tls_table(c, c->image.threads.data[i].tp);
	for (uint32_t i = 0; i < c->image.nstacks; i++)
		mark_tls_table(c, c->image.stacks[i].tcb);
}

/* Whether the arena is one of glibc's. */
static bool
is_glibc(const struct heapblocks *h, unsigned arena)
{
	bool glibc = false;

	for (size_t i = 0; arena != HEAPBLOCKS_MAPPED && i < h->owners.len; i++) {
		if (h->owners.data[i].arena <= arena)
			glibc = !h->owners.data[i].classes;
	}
	return glibc;
}

/* How exact the sizes of an arena's blocks are, and what lies behind them. */
static uint8_t
arena_flags(const struct heapblocks *h, unsigned arena)
{
	if (is_glibc(h, arena))
		return SCAN_BLOCK_ROUNDED | SCAN_BLOCK_HEADER;
	return arena == HEAPBLOCKS_MAPPED ? SCAN_BLOCK_ROUNDED : SCAN_BLOCK_CLASS;
}

static void
take_blocks(struct heapcheck *c)
{
	uint32_t n = (uint32_t)c->heap.blocks.len;
	unsigned arena = HEAPBLOCKS_MAPPED;
	uint8_t flags = arena_flags(&c->heap, arena);

	vec_reserve(&c->blocks, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct heapblock *b = &c->heap.blocks.data[i];

		if (b->arena != arena) {
			arena = b->arena;
			flags = arena_flags(&c->heap, arena);
		}
		vec_push(&c->blocks,
			 (struct scan_block){
				 .addr = b->addr,
				 .bytes = b->bytes,
				 .flags = (uint8_t)(flags |
						    (b->inner ? SCAN_BLOCK_INNER : 0) |
						    (b->root ? SCAN_BLOCK_ROOT : 0))});
	}
	vec_done(&c->heap.blocks); /* as many bytes as the copy's half */
	c->index_memory = xmalloc(scan_index_bytes(c->blocks.data, n) + 8);
	scan_index_init(&c->index, c->blocks.data, n, c->index_memory);
	mark_tls_tables(c);
}

bool
heapcheck_is_header(const struct heapcheck *c, uint64_t word)
{
	const struct scan_block *b = scan_find(&c->index, word);

	return b != NULL && scan_is_header(b, word);
}

static void
classify(struct heapcheck *c)
{
	uint32_t *stack = xcalloc(c->blocks.len + 1, sizeof *stack);
	struct classify k;

	classify_init(&k, &c->image.space, &c->index, CLASSIFY_ALL_HEURISTICS, stack);
	for (size_t i = 0; i < c->roots.len; i++)
		classify_root_range(&k, c->roots.data[i]);
	for (size_t i = 0; i < c->image.words->len; i++) {
		if (!heapcheck_is_header(c, c->image.words->data[i]))
			classify_root_word(&k, c->image.words->data[i]);
	}
	for (size_t i = 0; i < c->image.z.kernel.len; i++)
		classify_root_word(&k, c->image.z.kernel.data[i].word);
	classify_finish(&k);
	/* In a core that is cut off, what is missing may hold what nothing else points
	 * to. */
	for (size_t i = 0;
	     c->image.core != NULL && c->image.core->cut_bytes > 0 && i < c->blocks.len;
	     i++) {
		if (c->blocks.data[i].state < CLASSIFY_POSSIBLE)
			c->blocks.data[i].state = CLASSIFY_POSSIBLE;
	}
	free(stack);
}

/* ---- all of it ---- */

static void
take_arenas(struct heapcheck *c)
{
	struct heapscan *s = &c->scan;

	for (size_t i = 0; i < c->heap.arenas.len; i++) {
		const struct heapblocks_arena *a = &c->heap.arenas.data[i];

		vec_push(&s->arenas, (struct heapscan_arena){
					     .system_bytes = a->system_bytes,
					     .used_bytes = a->used_bytes,
					     .used_blocks = a->used_blocks,
					     .free_bytes = a->free_bytes,
					     .free_blocks = a->free_blocks,
					     .largest_free = a->largest_free,
					     .top_bytes = a->top_bytes,
					     .cached_bytes = a->cached_bytes,
					     .gap_bytes = a->gap_bytes,
					     .heaps = a->heaps,
				     });
	}
	s->mapped.blocks = c->heap.mapped_blocks;
	s->mapped.bytes = c->heap.mapped_bytes;
	s->missed.blocks = c->heap.missed_blocks;
	s->missed.bytes = c->heap.missed_bytes;
}

static void
take_notes(struct heapcheck *c)
{
	struct heapscan *s = &c->scan;
	uint64_t gaps = 0;

	for (size_t i = 0; i < c->heap.gaps.len; i++)
		gaps += c->heap.gaps.data[i].end - c->heap.gaps.data[i].start;
	if (gaps > 0)
		heapscan_note(
			s, "%s of the heap could not be parsed; all pointers in it count",
			fmt_size(gaps).s);
	for (size_t i = 0; i < c->heap.owners.len; i++) {
		const struct heapblocks_owner *w = &c->heap.owners.data[i];

		if (w->unread_caches > 0)
			heapscan_note(s,
				      "%s: %s thread cache%s could not be read; freed "
				      "blocks in %s count as used",
				      w->name, fmt_count(w->unread_caches).s,
				      w->unread_caches == 1 ? "" : "s",
				      w->unread_caches == 1 ? "it" : "them");
	}
	for (size_t i = 0; i < c->heap.arenas.len; i++) {
		const struct heapblocks_arena *a = &c->heap.arenas.data[i];
		uint64_t found = a->used_bytes + a->free_bytes + a->top_bytes +
				 a->cached_bytes + a->gap_bytes;

		if (is_glibc(&c->heap, (unsigned)i) && a->system_bytes > found &&
		    a->system_bytes - found > MISSED_LEAST)
			heapscan_note(s,
				      "arena %zu has %s by malloc's own count, but "
				      "only %s were found; blocks in the rest are "
				      "missing here",
				      i, fmt_size(a->system_bytes).s, fmt_size(found).s);
	}
	if (c->heap.mapped_expected >= 0 &&
	    (uint64_t)c->heap.mapped_expected != c->heap.mapped_blocks)
		heapscan_note(s,
			      "malloc counts %s blocks with mappings of their own, %s "
			      "were found",
			      fmt_count((uint64_t)c->heap.mapped_expected).s,
			      fmt_count(c->heap.mapped_blocks).s);
	if (c->image.instead[0] != '\0')
		heapscan_note(s, "it was stopped for the whole leak check: %s",
			      c->image.instead);
	if (c->image.core == NULL)
		return;
	s->missing_bytes = c->image.core->cut_bytes;
	if (c->image.core->stale_files > 0)
		heapscan_note(s,
			      "%u file%s that the core refers to %s of another or an "
			      "unknown build",
			      c->image.core->stale_files,
			      c->image.core->stale_files == 1 ? "" : "s",
			      c->image.core->stale_files == 1 ? "is" : "are");
}

static void
take_head(struct heapcheck *c)
{
	struct heapscan *s = &c->scan;
	uint64_t rss_kib, anon_kib;
	char what[600], names[200];
	struct stat st;

	s->what = strtab_add(&s->strings, image_what(&c->image, what, sizeof what));
	s->program = strtab_add(&s->strings, c->image.name);
	s->allocators =
		strtab_add(&s->strings, walker_names(&c->heap, names, sizeof names));
	if (foreign_collects(&c->image) != NULL)
		s->managed = strtab_add(&s->strings, foreign_collects(&c->image));
	if (foreign_objects(&c->image) != NULL)
		s->objects = strtab_add(&s->strings, foreign_objects(&c->image));
	if (foreign_hides(&c->image) != NULL)
		s->hides = strtab_add(&s->strings, foreign_hides(&c->image));
	s->pid = c->image.pid;
	s->threads = (uint32_t)c->image.threads.len;
	s->stop_ns = c->image.stop_ns;
	s->pause_ns = c->image.pause_ns;
	s->snapshot = c->image.copied;
	s->time_ns = (uint64_t)time(NULL) * 1000000000;
	if (c->image.path != NULL) {
		s->core = strtab_add(&s->strings, c->image.path);
		s->time_ns = stat(c->image.path, &st) == 0
				     ? (uint64_t)st.st_mtim.tv_sec * 1000000000
				     : 0;
	} else if (procfs_memory(c->image.pid, &rss_kib, &anon_kib) == 0) {
		s->anon_bytes = anon_kib << 10;
	}
}

/* What is needed for so many blocks must fit beside the process. */
static int
check_room(const struct heapcheck *c, struct err *e)
{
	uint64_t need = c->heap.blocks.len * (sizeof(struct heapblock) +
					      sizeof(struct scan_block) + 24) +
			ROOM_BYTES_LEAST;

	if (c->image.core == NULL && need > c->image.z.room_bytes)
		return err_set(
			e, -ENOMEM,
			"the leak check needs %s of memory, but only %s is available; "
			"free some, or check a core elsewhere (gcore)",
			fmt_size(need).s, fmt_size(c->image.z.room_bytes).s);
	return 0;
}

/* What is resident of the heaps of allocators other than glibc's. Pages that are not in
 * use belong to none of their blocks, used or free. */
static uint64_t
resident_extent(const struct heapcheck *c)
{
	enum { PAGES = 4096 };
	const struct heapblocks *h = &c->heap;
	uint8_t present[PAGES];
	uint64_t pages = 0, page_bytes = c->image.mem->page_bytes;
	bool glibc = false;

	for (size_t i = 0; i < h->owners.len; i++)
		glibc = glibc || !h->owners.data[i].classes;
	for (size_t i = 0; !glibc && i < h->heaps.len; i++) {
		uint64_t at = ALIGN_DOWN(h->heaps.data[i].start, page_bytes);

		for (; at < h->heaps.data[i].end; at += PAGES * page_bytes) {
			uint64_t n = (h->heaps.data[i].end - at) / page_bytes;

			n = n < PAGES ? n : PAGES;
			if (!procmem_present(c->image.mem, at, n, present))
				return 0;
			for (uint64_t k = 0; k < n; k++)
				pages += present[k];
		}
	}
	return pages * page_bytes;
}

static bool
has_kinds(const struct heapcheck *c, unsigned kinds)
{
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		if ((kinds & 1u << i) != 0 && c->scan.sums[i].blocks > 0)
			return true;
	}
	return false;
}

static void
walk(struct heapcheck *c)
{
	struct procmem_words threads = {0};
	struct walker_memory m = {.mem = c->image.mem,
				  .map = c->image.map,
				  .look = c->image.space.look,
				  .ctx = c->image.space.ctx};

	for (size_t i = 0; i < c->image.threads.len; i++)
		vec_push(&threads, c->image.threads.data[i].tp);
	m.thread_pointers = threads.data;
	m.nthreads = threads.len;
	walker_find(&m, WALKER_ALL, &c->heap);
	vec_done(&threads);
}

/* Stops it and finds its blocks. A thread may stand in the middle of a call of the
 * allocator: then it runs for another millisecond. */
static int
stop_and_walk(struct heapcheck *c, const struct heapcheck_opts *o, struct err *e)
{
	for (unsigned i = 0;; i++) {
		int r = image_stop(&c->image, o->copy || o->only_copy, e);

		if (r < 0)
			return r;
		if (o->only_copy && !c->image.copied) {
			image_go(&c->image);
			return err_set(e, -ENOTSUP, "it could not be copied: %s",
				       c->image.instead);
		}
		walk(c);
		if (c->image.core != NULL || i == WALK_TRIES_MORE ||
		    walker_is_consistent(&c->heap))
			return 0;
		heapblocks_done(&c->heap);
		r = image_again(&c->image, e);
		if (r < 0)
			return r;
		clock_nap(WALK_NAP_NS);
	}
}

/* Its malloc is there, but no block of it can be read: the scan says why. */
static int
refuse(struct heapcheck *c, struct err *e)
{
	char why[300];
	int r = foreign_refuse(&c->image, &c->heap, why, sizeof why, e);

	take_head(c);
	if (why[0] != '\0')
		c->scan.unreadable = strtab_add(&c->scan.strings, why);
	return r;
}

static int
look(struct heapcheck *c, const struct heapcheck_opts *o, struct err *e)
{
	bool held = false;
	struct looked_vec rows = {0};
	int r = stop_and_walk(c, o, e);

	if (r < 0)
		return r;
	if (!c->heap.known || c->heap.inconsistent || c->heap.refused)
		r = refuse(c, e);
	if (r == 0)
		r = check_room(c, e);
	if (r == 0) {
		image_roots(&c->image, &c->heap, &c->roots);
		take_blocks(c);
		classify(c);
		holders_init(&c->holders, &c->image);
		if (c->image.core == NULL && !o->states_only)
			c->scan.extent_bytes = resident_extent(c);
	}
	if (r == 0 && !o->states_only) {
		groups_find(c, &rows);
		groups_fold(c, &rows);
		held = has_kinds(c, o->held);
		if (o->then != NULL || o->holders || held)
			groups_name(c, &rows);
		if (o->holders)
			heapcheck_holders(c);
		else if (held)
			heapcheck_held(c);
		if (o->then != NULL)
			o->then(c, o->ctx);
	}
	if (r == 0 && c->image.core == NULL && !freeze_readable(&c->image.z))
		r = err_set(e, -ESRCH, "%d: it ended during the leak check",
			    c->image.pid);
	image_go(&c->image);
	if (r == 0 && !o->states_only) {
		if (o->then == NULL && !o->holders && !held)
			groups_name(c, &rows);
		take_arenas(c);
		take_head(c);
		take_notes(c);
	}
	vec_done(&rows);
	return r;
}

int
heapcheck_process(struct heapcheck *c, const struct heapcheck_opts *o, struct err *e)
{
	int r;

	doing("scanning the heap of a process");
	r = look(c, o, e);
	doing_end();
	return freeze_interrupted() ? err_set(e, -EINTR, HEAPCHECK_INTERRUPTED) : r;
}

int
heapcheck_core(struct heapcheck *c, const char *path, const struct heapcheck_opts *o,
	       struct err *e)
{
	int r = image_open_core(path, o->program, &c->image, e);

	doing("scanning the heap in %s", path);
	if (r == 0)
		r = look(c, o, e);
	doing_end();
	return r;
}

void
heapcheck_done(struct heapcheck *c)
{
	paths_done(&c->paths);
	free(c->held);
	holders_done(&c->holders);
	vec_done(&c->blocks);
	vec_done(&c->roots);
	heapblocks_done(&c->heap);
	heapscan_done(&c->scan);
	free(c->index_memory);
	image_close(&c->image);
	*c = (struct heapcheck)HEAPCHECK_NONE;
}
