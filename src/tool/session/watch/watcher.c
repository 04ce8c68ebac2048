/* SPDX-License-Identifier: MIT */
/* watcher.c -- see watcher.h. */
#include "tool/session/watch/watcher.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/format/format.h"
#include "tool/format/text/pmap.h"
#include "tool/session/load.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/proc/databounds.h"
#include "tool/target/proc/hiding.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/run/find.h"
#include "tool/util/clean.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

#define OTHER_ALLOCATORS (REGION_HAS_JEMALLOC | REGION_HAS_TCMALLOC | REGION_HAS_MIMALLOC)

/* A heap larger than this is not gone through block by block: that would take seconds. */
#define WALK_BYTES_MAX (UINT64_C(8) << 30)

/* A heap changes while it is looked at, and its map is as old as it took to read. Where
 * malloc was once understood, or nobody has tried yet, it is worth a number of looks. */
enum { WALK_TRIES = 12, WALK_TRIES_IN_VAIN = 2 };

/* ---- beginning ---- */

static uint32_t
program_by_traits(uint32_t traits)
{
	static const struct {
		uint32_t trait, program;
	} known[] = {
		{INSPECT_JEMALLOC, REGION_HAS_JEMALLOC},
		{INSPECT_TCMALLOC, REGION_HAS_TCMALLOC},
		{INSPECT_MIMALLOC, REGION_HAS_MIMALLOC},
	};
	uint32_t program = inspect_runtimes(traits) << REGION_RUNTIMES;

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if ((traits & known[i].trait) != 0)
			program |= known[i].program;
	}
	return program;
}

/* What the program is, from its executable and from what it has loaded. */
static void
look_at_program(struct watcher *w)
{
	struct inspect_elf elf = {0};
	char link[64], *exe = NULL;
	uint32_t traits = 0;

	snprintf(link, sizeof link, "/proc/%d/exe", file_proc_task(w->mem.pid));
	if (inspect_elf(link, &elf, NULL) == 0)
		traits = elf.traits;
	if (file_proc_link(w->mem.pid, "exe", &exe, NULL, NULL) == 0)
		traits |= inspect_module_traits(exe);
	free(exe);
	for (size_t i = 0; i < w->map.areas.len; i++)
		traits |= inspect_module_traits(w->map.areas.data[i].name);
	w->program = program_by_traits(traits) | regions_program(&w->map, false);
	w->coverage = inspect_coverage(inspect_not_redirected(traits, w->mem.pid));
}

int
watcher_new(int pid, struct watcher **ret_watcher, struct err *e)
{
	struct watcher *w = xcalloc(1, sizeof *w);
	int r;

	w->mem = (struct procmem)PROCMEM_NONE;
	w->cleared_seconds = -1;
	r = procmem_open(pid, &w->mem, e);
	if (r == 0)
		r = procfs_stat(pid, &w->stat, e);
	if (r == 0)
		*ret_watcher = TAKE(w);
	watcher_free(w);
	return r;
}

void
watcher_free(struct watcher *w)
{
	if (w == NULL)
		return;
	procmem_close(&w->mem);
	memmap_done(&w->map);
	regions_done(&w->regions);
	heapmap_done(&w->heap);
	vec_done(&w->stacks);
	track_done(&w->track);
	buf_done(&w->recorded);
	buf_done(&w->next);
	free(w);
}

int
watcher_add(struct watchers *ws, const char *word, struct err *e)
{
	struct procfs_pids pids = {0};
	char *end;
	long pid = strtol(word, &end, 10);
	int r = 0;

	if (*word >= '0' && *word <= '9' && *end == '\0')
		vec_push(&pids, pid > 0 && pid <= INT32_MAX ? (int)pid : 0);
	else
		r = procfs_find(word, &pids, e);
	if (r == 0 && pids.len == 0)
		r = format_is_program(word)
			    ? load_refuse_program(word, e)
			    : err_set(e, -ESRCH, "%s: no such process", word);
	for (size_t i = 0; r == 0 && i < pids.len; i++) {
		struct watcher *w = NULL;

		r = watcher_new(pids.data[i], &w, e);
		if (r == 0)
			vec_push(ws, w);
	}
	vec_done(&pids);
	return r;
}

void
watchers_done(struct watchers *ws)
{
	for (size_t i = 0; i < ws->len; i++)
		watcher_free(ws->data[i]);
	vec_done(ws);
}

/* ---- one snapshot ---- */

static void
name_regions(struct watcher *w)
{
	struct region_facts facts = {.program = w->program,
				     .stacks = w->stacks.data,
				     .nstacks = w->stacks.len,
				     .heap = &w->heap};

	regions_done(&w->regions);
	regions_init(&w->regions, &w->map, &facts);
}

/* What belongs to a process that is gone cannot be had any more: -ESRCH says so. */
static int
read_map(struct watcher *w, struct memmap *ret_map, struct err *e)
{
	struct buf text = {0};
	int r = procfs_stat(w->mem.pid, &w->stat, e);

	if (r == 0 && (w->stat.start_ticks != w->mem.start_ticks ||
		       w->stat.state == 'Z' || w->stat.state == 'X'))
		r = -ESRCH;
	if (r == 0)
		r = procmem_smaps(&w->mem, &text, e);
	if (r == 0)
		r = pmap_parse(text.data, text.len, ret_map, e);
	if (r == 0) {
		databounds_split(&w->mem, ret_map);
		arenahead_check(&w->mem, ret_map);
	}
	buf_done(&text);
	return r;
}

static void
keep_map(struct watcher *w, struct memmap *map)
{
	memmap_done(&w->map);
	w->map = *map;
	*map = (struct memmap){0};
}

/* Looks for malloc's heaps, with the map that was read last and then with newer ones. */
static void
look_at_heap(struct watcher *w, const struct heapwalk_opts *o)
{
	unsigned tries = w->heap_in_vain ? WALK_TRIES_IN_VAIN : WALK_TRIES;
	struct memmap map = {0};

	for (;;) {
		heapmap_done(&w->heap);
		heapwalk(&w->mem, &w->map, o, &w->heap);
		if (w->heap.known || (w->program & OTHER_ALLOCATORS) != 0 ||
		    --tries == 0 || read_map(w, &map, NULL) < 0)
			break;
		keep_map(w, &map);
	}
	w->heap_in_vain = !w->heap.known;
}

/* Takes the new map over; the first one also tells what the program is. */
static void
take_map(struct watcher *w, struct memmap *map, bool cold)
{
	struct heapwalk_opts where = {.ranges_only = true};

	keep_map(w, map);
	if (w->snapshots == 0)
		look_at_program(w);
	if (w->stack_threads != w->stat.threads) {
		w->stacks.len = 0;
		procmem_stacks(&w->mem, &w->stacks);
		w->stack_threads = w->stat.threads;
	}
	/* Looking into its memory is touching it. */
	if (w->snapshots == 0 || !cold)
		look_at_heap(w, &where);
	name_regions(w);
}

static bool
is_power_of_2(unsigned n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

static int
clear_refs(struct watcher *w, double seconds, struct err *e)
{
	int r = 0;

	w->cold_seconds = w->cleared_seconds >= 0 ? seconds - w->cleared_seconds : 0;
	if (is_power_of_2(w->snapshots)) {
		r = procmem_clear_refs(&w->mem, e);
		w->cleared_seconds = seconds;
	}
	return r;
}

int
watcher_look(struct watcher *w, double seconds, bool cold, struct err *e)
{
	struct memmap map = {0};
	int r;

	if (w->ended)
		return 0;
	r = read_map(w, &map, e);
	/* While it ends, its memory is gone before the process is. */
	if (r == -ESRCH || (r < 0 && !procmem_alive(&w->mem))) {
		w->ended = true;
		return 0;
	}
	if (r < 0)
		return err_wrap(e, r, "%d", w->mem.pid);
	take_map(w, &map, cold);
	cgroup_memory(w->mem.pid, &w->limit);
	track_add(&w->track, seconds, &w->regions);
	w->snapshots++;
	return cold ? clear_refs(w, seconds, e) : 0;
}

/* ---- the account ---- */

/* Whose malloc it is, where that explains why its lists were not found. */
static void
explain_heap(struct watcher *w)
{
	static const struct {
		uint32_t program;
		const char *name;
	} others[] = {
		{REGION_HAS_JEMALLOC, "jemalloc"},
		{REGION_HAS_TCMALLOC, "tcmalloc"},
		{REGION_HAS_MIMALLOC, "mimalloc"},
	};

	for (size_t i = 0; !w->heap.known && i < ARRAY_LEN(others); i++) {
		if ((w->program & others[i].program) != 0)
			snprintf(w->heap.why, sizeof w->heap.why,
				 "its malloc is %s, whose own lists could not be read; "
				 "use a recording",
				 others[i].name);
	}
}

/* What a recording of the process says. */
static void
ask_recording(struct watcher *w, struct account_recording *ret)
{
	struct livefile f = {.fd = -1};

	buf_clear(&w->recorded);
	if (target_find_pid(w->mem.pid, &f, NULL) == 0 &&
	    livefile_map_all(&f, NULL) == 0) {
		ret->there = true;
		ret->exact = livefile_head(&f).mode == REC_MODE_EXACT;
		ret->live_bytes = livefile_live_bytes(&f);
		ret->own_bytes = livefile_head(&f).own_kib * 1024;
		buf_printf(&w->recorded, "%s, %s live",
			   ret->exact ? "every allocation" : "samples",
			   fmt_size(ret->live_bytes).s);
	}
	livefile_close(&f);
}

void
watcher_account(struct watcher *w)
{
	struct heapwalk_opts all = {.max_bytes = WALK_BYTES_MAX};
	struct account_recording rec = {0};
	struct memmap map = {0};

	/* Of a process that has ended there is nothing left to go through. */
	if (w->ended || read_map(w, &map, NULL) < 0)
		return;
	keep_map(w, &map);
	look_at_heap(w, &all);
	w->stacks.len = 0;
	procmem_stacks(&w->mem, &w->stacks);
	name_regions(w);
	/* Regions have names by glibc's heaps alone. */
	if ((w->program & OTHER_ALLOCATORS) != 0 || !w->heap.known)
		heapwalk_others(&w->mem, &w->heap);
	explain_heap(w);
	ask_recording(w, &rec);
	account_init(&w->account, &w->map, &w->regions, &w->heap, &rec,
		     procmem_rollup_kib(&w->mem));
	w->has_account = true;
}

/* ---- what to show ---- */

static uint64_t
up_ns(const struct watcher *w)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start = w->stat.start_ticks * (UINT64_C(1000000000) / hz),
		 now = clock_ns(CLOCK_BOOTTIME);

	return now > start ? now - start : 0;
}

/* The name of what grows most: of many regions of a kind, the first that does. */
static const char *
growing_region(const struct watcher *w, const struct track_verdict *d)
{
	const char *name = region_kind_name(d->kind);
	size_t *order;

	if (d->row != SIZE_MAX)
		return w->track.rows.data[d->row].last.name;
	order = track_order(&w->track);
	for (size_t i = w->track.rows.len; i > 0; i--) {
		const struct track_row *r = &w->track.rows.data[order[i - 1]];

		if (r->last.kind == d->kind && !r->gone)
			name = r->last.name;
	}
	free(order);
	return name;
}

/* The one command that leads on from what was seen. */
static void
choose_next(struct watcher *w)
{
	struct track_verdict d;
	int pid = w->mem.pid;

	buf_clear(&w->next);
	track_judge(&w->track, &d);
	if (d.word != TRACK_GROWING) {
		buf_printf(&w->next, "seep watch %d --for 10m", pid);
		return;
	}
	if (region_runtime(d.kind) != RUNTIMES) {
		runtime_add_grows(&w->next, region_runtime(d.kind), pid);
		return;
	}
	switch (d.kind) {
	case REGION_HEAP:
	case REGION_ARENA:
	case REGION_CHUNK:
	case REGION_JEMALLOC:
	case REGION_TCMALLOC:
	case REGION_MIMALLOC:
		if (w->recorded.len > 0)
			buf_printf(&w->next, "seep report %d", pid);
		else
			buf_printf(&w->next, "seep attach %d --for 60s", pid);
		break;
	default:
		buf_printf(&w->next, "seep dump %d ", pid);
		clean_shell(&w->next, growing_region(w, &d));
	}
}

struct watch_view
watcher_view(struct watcher *w)
{
	choose_next(w);
	return (struct watch_view){
		.pid = w->mem.pid,
		.name = w->stat.comm,
		.up_ns = up_ns(w),
		.threads = w->stat.threads,
		.map = &w->map,
		.regions = &w->regions,
		.track = &w->track,
		.account = w->has_account ? &w->account : NULL,
		.heap = &w->heap,
		.limit_bytes = w->limit.limit_bytes,
		.limit_used_bytes = w->limit.used_bytes,
		.limit_machine = w->limit.machine,
		.limit_group = w->limit.group,
		.cold_seconds = w->cold_seconds,
		.coverage = w->coverage,
		.recorded = w->recorded.len > 0 ? buf_str(&w->recorded) : NULL,
		.next = buf_str(&w->next),
		.ended = w->ended,
	};
}

int
watcher_once(int pid, struct watcher **ret_watcher, struct err *e)
{
	struct watcher *w = NULL;
	int r = watcher_new(pid, &w, e);

	if (r == 0)
		r = watcher_look(w, 0, false, e);
	if (r == 0 && w->ended)
		r = err_set(e, -ESRCH, "%d: has ended", pid);
	if (r == 0)
		*ret_watcher = TAKE(w);
	watcher_free(w);
	return r;
}
