/* SPDX-License-Identifier: MIT */
/* freeze.c -- see freeze.h. */
#include "tool/target/trace/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/heap/heapwalk_impl.h"
#include "tool/target/proc/cgroup.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	PIECE_SHIFT = 16,
	PIECE_BYTES = 1 << PIECE_SHIFT,
	PIECES_LEAST = 16,
	PASSING_BYTES = 256 << 10, /* read at a time what is not kept */
	READABLE_TRIES = 16,
	KEPT_SHARE = 4, /* 1 / share of the memory that is left */
	PIECES_CACHED = (48 << 20) / PIECE_BYTES,
	PIECES_WHOLE = (192 << 20) / PIECE_BYTES, /* of a process that has no more */
	LITTLE_BYTES = 4096,
	LITTLE_ROWS = 64, /* more than classify.c asks for ahead */
	LITTLE_RECENT = 256,
};

/* Where pointers lead to any place of a heap that is larger than what may be kept of it,
 * a piece would be read for each of its blocks. Then only the block is read, unless its
 * piece was asked for a moment ago, too. */
struct freeze_little {
	struct {
		uint64_t start, bytes;
		unsigned char data[LITTLE_BYTES];
	} rows[LITTLE_ROWS];
	uint64_t recent[LITTLE_RECENT]; /* pieces */
};

/* Bytes that may still be used before somebody's limit is met. */
static uint64_t
room_left(int pid)
{
	uint64_t least = UINT64_MAX;
	int pids[2] = {pid, (int)getpid()};

	for (int i = 0; i < 2; i++) {
		struct cgroup_memory m;
		uint64_t left;

		cgroup_memory(pids[i], &m);
		left = m.limit_bytes > m.used_bytes ? m.limit_bytes - m.used_bytes : 0;
		least = left < least ? left : least;
	}
	return least;
}

int
freeze_open_bare(int pid, struct freeze *ret_freeze, struct err *e)
{
	struct freeze f = FREEZE_NONE;
	int r = procmem_open(pid, &f.mem, e);

	f.pid = pid;
	f.pieces = (struct pieces){.piece_bytes = PIECE_BYTES, .most = PIECES_LEAST};
	pagescan_init(&f.pages, &f.mem);
	if (r == 0)
		r = freeze_maps(&f, e);
	if (r < 0)
		freeze_close(&f);
	else
		*ret_freeze = f;
	return r;
}

int
freeze_open(int pid, struct freeze *ret_freeze, struct err *e)
{
	uint64_t rss_kib, anon_kib;
	int r = freeze_open_bare(pid, ret_freeze, e);

	if (r < 0)
		return r;
	ret_freeze->room_bytes = room_left(pid);
	ret_freeze->pieces.most = ret_freeze->room_bytes / KEPT_SHARE / PIECE_BYTES;
	if (ret_freeze->pieces.most < PIECES_LEAST)
		ret_freeze->pieces.most = PIECES_LEAST;
	ret_freeze->pieces.others_most = PIECES_CACHED;
	if (procfs_memory(pid, &rss_kib, &anon_kib) == 0 &&
	    anon_kib / (PIECE_BYTES >> 10) < PIECES_WHOLE)
		ret_freeze->pieces.others_most = PIECES_WHOLE;
	return 0;
}

void
freeze_close(struct freeze *f)
{
	freeze_go(f);
	tracee_close(&f->tracee);
	tracee_copy_end(&f->copy, NULL);
	procmem_close(&f->mem);
	if (f->mem_fd > 0)
		close(f->mem_fd);
	f->mem_fd = 0;
	memmap_done(&f->map);
	vec_done(&f->threads);
	vec_done(&f->words);
	vec_done(&f->kernel);
	pieces_done(&f->pieces);
	map_done(&f->empty);
	map_done(&f->whole);
	free(f->little);
	f->little = NULL;
	free(f->passing);
	f->passing = NULL;
}

int
freeze_again(struct freeze *f, struct err *e)
{
	uint64_t left_out = f->left_out_inode;
	int pid = f->pid, r;

	freeze_close(f);
	*f = (struct freeze)FREEZE_NONE;
	r = freeze_open(pid, f, e);
	f->left_out_inode = left_out;
	return r;
}

int
freeze_maps(struct freeze *f, struct err *e)
{
	struct procfs_maps maps;
	struct procfs_map m;
	int r = procfs_maps_open(&maps, f->pid, e);

	if (r == 0 && maps.text.len == 0)
		r = err_set(e, -ESRCH, "%d: it has ended", f->pid);
	memmap_done(&f->map);
	pagescan_forget(&f->pages);
	f->passing_start = f->passing_end = 0;
	while (r == 0 && procfs_maps_next(&maps, &m)) {
		struct memmap_area *a = vec_add(&f->map.areas);

		a->start = m.start;
		a->end = m.end;
		a->offset = m.offset;
		a->inode = m.inode;
		a->kib[MEMMAP_RSS] = 1; /* not known: look and see */
		a->name = arena_strdup(&f->map.strings, m.path);
		memcpy(a->perms, m.perms, sizeof a->perms);
	}
	procfs_maps_close(&maps);
	return r;
}

int
freeze_maps_and_words(struct freeze *f, struct err *e)
{
	int r = freeze_maps(f, e);

	if (r == 0)
		kernelwords_read(f->pid, &f->kernel);
	return r;
}

bool
freeze_is_device(const char *name)
{
	return (strncmp(name, "/dev/", 5) == 0 && strncmp(name, "/dev/zero", 9) != 0 &&
		strncmp(name, "/dev/shm/", 9) != 0) ||
	       strncmp(name, "[vvar", 5) == 0 || strcmp(name, "[vsyscall]") == 0;
}

bool
freeze_is_shared_memory(const struct memmap_area *a)
{
	return a->perms[3] == 's' && (strncmp(a->name, "/memfd:", 7) == 0 ||
				      strncmp(a->name, "/dev/shm/", 9) == 0 ||
				      strncmp(a->name, "/dev/zero", 9) == 0 ||
				      strncmp(a->name, "/SYSV", 5) == 0);
}

bool
freeze_readable(const struct freeze *f)
{
	unsigned tried = 0;

	for (size_t i = 0; i < f->map.areas.len && tried < READABLE_TRIES; i++) {
		const struct memmap_area *a = &f->map.areas.data[i];
		uint64_t word;

		if (a->perms[0] != 'r' || freeze_is_device(a->name))
			continue;
		if (procmem_read(&f->mem, a->start, &word, sizeof word) == 0)
			return true;
		tried++;
	}
	return false;
}

unsigned
freeze_thread_count(const struct freeze *f)
{
	struct procfs_stat st;

	return procfs_stat(f->pid, &st, NULL) == 0 ? st.threads : 0;
}

bool
freeze_malloc_state(struct freeze *f, struct tracee_span *ret_span)
{
	struct heapmap unused = {0};
	struct hw_state s = {0};

	if (!hw_find_state(&f->mem, &f->map, &s, &unused))
		return false;
	ret_span->start = s.arenas.data[0].state;
	ret_span->end = ret_span->start + s.bins_off + HW_STATE_ABOVE;
	vec_done(&s.arenas);
	return true;
}

/* ---- memory ---- */

/* A page that the program has closed (PROT_NONE): process_vm_readv respects that,
 * /proc/PID/mem does not. It would also read devices, so only memory of no file and
 * shared memory is read in this way. */
static bool
read_closed(struct freeze *f, uint64_t at, unsigned char *to, size_t bytes)
{
	const struct memmap_area *a = memmap_find(&f->map, at);
	char path[64];

	if (a == NULL || a->perms[0] == 'r' || f->mem.pid <= 0 ||
	    (a->inode != 0 && !freeze_is_shared_memory(a)) || freeze_is_device(a->name))
		return false;
	if (f->mem_fd <= 0) {
		snprintf(path, sizeof path, "/proc/%d/mem", file_proc_task(f->mem.pid));
		f->mem_fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	return f->mem_fd > 0 && pread(f->mem_fd, to, bytes, (off_t)at) == (ssize_t)bytes;
}

/* One page at a time where a run cannot be had as a whole: not all of it may be
 * readable. */
static void
read_run(struct freeze *f, uint64_t start, uint64_t end, unsigned char *to)
{
	size_t page = (size_t)f->mem.page_bytes;

	if (procmem_read(&f->mem, start, to, (size_t)(end - start)) == 0)
		return;
	for (uint64_t at = start; at < end; at += page, to += page) {
		if (procmem_read(&f->mem, at, to, page) < 0 &&
		    !read_closed(f, at, to, page))
			memset(to, 0, page);
	}
}

/* What was touched of a piece, and zeroes. Nothing else is read, so nothing is made by
 * reading. Whether all of it was touched. */
static bool
read_piece(struct freeze *f, uint64_t start, unsigned char *to)
{
	uint64_t at = start, end = start + PIECE_BYTES;
	struct pagescan_run run;
	bool whole = true;

	while (at < end) {
		if (!pagescan_next(&f->pages, at, end, &run))
			run = (struct pagescan_run){end, end};
		memset(to + (at - start), 0, (size_t)(run.start - at));
		whole &= run.start == at;
		if (run.start < run.end)
			read_run(f, run.start, run.end, to + (run.start - start));
		at = run.end;
	}
	return whole;
}

/* Some bytes of a piece for which there is no place; NULL: the piece must be read. */
static const unsigned char *
look_little(struct freeze *f, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t number = addr >> PIECE_SHIFT, *recent;
	size_t row = (addr >> 4) % LITTLE_ROWS;

	if (f->little == NULL)
		f->little = xcalloc(1, sizeof *f->little);
	recent = &f->little->recent[number % LITTLE_RECENT];
	if (bytes > ((number + 1) << PIECE_SHIFT) - addr)
		bytes = ((number + 1) << PIECE_SHIFT) - addr;
	if (f->little->rows[row].start != addr || f->little->rows[row].bytes < bytes) {
		if (*recent == number || map_find(&f->whole, number) == NULL)
			return NULL;
		*recent = number;
		f->little->rows[row].start = 0;
		if (procmem_read(&f->mem, addr, f->little->rows[row].data, bytes) < 0)
			return NULL;
		f->little->rows[row].start = addr;
		f->little->rows[row].bytes = bytes;
	}
	*ret_bytes = f->little->rows[row].bytes;
	return f->little->rows[row].data;
}

/* Memory that is looked through from end to end, and never again: taken in as it goes by.
 * What is kept comes first. */
static const unsigned char *
pass(struct freeze *f, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	uint64_t end = addr + bytes;
	struct pagescan_run run;

	if (addr < f->passing_start || addr >= f->passing_end) {
		if (!pagescan_next(&f->pages, addr, end, &run))
			run = (struct pagescan_run){end, end};
		if (run.start > addr) {
			*ret_bytes = run.start - addr;
			return NULL;
		}
		if (run.end > addr + PASSING_BYTES)
			run.end = addr + PASSING_BYTES;
		for (uint64_t n = (addr >> PIECE_SHIFT) + 1; n << PIECE_SHIFT < run.end;
		     n++) {
			if (pieces_has(&f->pieces, n))
				run.end = n << PIECE_SHIFT;
		}
		if (f->passing == NULL)
			f->passing = xmalloc(PASSING_BYTES);
		read_run(f, addr, run.end, f->passing);
		f->passing_start = addr;
		f->passing_end = run.end;
	}
	*ret_bytes = f->passing_end - addr;
	return f->passing + (addr - f->passing_start);
}

static volatile sig_atomic_t interrupted;

void
freeze_interrupt(void)
{
	interrupted = 1;
}

bool
freeze_interrupted(void)
{
	return interrupted != 0;
}

const unsigned char *
freeze_look(void *freeze, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	struct freeze *f = freeze;
	uint64_t number = addr >> PIECE_SHIFT, start = number << PIECE_SHIFT;
	uint64_t end = start + PIECE_BYTES, wanted = addr + bytes;
	const unsigned char *little;
	struct pagescan_run run;
	unsigned char *piece;

	*ret_bytes = end - addr;
	if (interrupted != 0)
		return NULL;
	if (f->last != NULL && number == f->last_number)
		return f->last + (addr - start);
	piece = pieces_find(&f->pieces, number);
	if (piece != NULL) {
		f->last = piece;
		f->last_number = number;
		return piece + (addr - start);
	}
	if (map_find(&f->empty, number) != NULL)
		return NULL;
	if (f->once && bytes >= PIECE_BYTES)
		return pass(f, addr, bytes, ret_bytes);
	if (bytes <= LITTLE_BYTES && pieces_full(&f->pieces) &&
	    (little = look_little(f, addr, bytes, ret_bytes)) != NULL)
		return little;
	wanted = wanted > end ? wanted : end;
	if (!pagescan_next(&f->pages, start, wanted, &run))
		run.start = wanted;
	if (run.start >= end) { /* nothing is there before that */
		map_add(&f->empty, number);
		*ret_bytes = run.start - addr;
		return NULL;
	}
	f->last = NULL; /* it may be the one that goes */
	piece = pieces_room(&f->pieces, number);
	if (piece == NULL)
		return NULL;
	if (read_piece(f, start, piece))
		map_add(&f->whole, number);
	return piece + (addr - start);
}

static void
forget(struct freeze *f, bool kept_too)
{
	pieces_drop(&f->pieces, kept_too);
	map_done(&f->empty);
	map_done(&f->whole);
	free(f->little);
	f->little = NULL;
	f->last = NULL;
}

bool
freeze_keep(struct freeze *f, uint64_t start, uint64_t end)
{
	struct pagescan_run run;

	if (f->pieces.held.len != f->pieces.kept || f->empty.len != 0)
		forget(f, false);
	for (uint64_t at = start; pagescan_next(&f->pages, at, end, &run); at = run.end) {
		uint64_t first = run.start >> PIECE_SHIFT,
			 last = (run.end - 1) >> PIECE_SHIFT;

		for (uint64_t n = first; n <= last; n++) {
			unsigned char *piece;

			if (pieces_has(&f->pieces, n))
				continue;
			piece = pieces_keep(&f->pieces, n);
			if (piece == NULL)
				return false;
			read_piece(f, n << PIECE_SHIFT, piece);
		}
	}
	return true;
}

void
freeze_forget(struct freeze *f)
{
	forget(f, true);
}
