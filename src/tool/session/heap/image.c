/* SPDX-License-Identifier: MIT */
/* image.c -- see image.h. */
#include "tool/session/heap/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "shared/inject.h"
#include "tool/target/attach/refusal.h"
#include "tool/target/proc/anonparts.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum { RED_ZONE = 128, STACKS_MAX = 1 << 16, FILE_PAGES = 256 };

/* As in struct user_regs_struct of x86-64. */
static const char *const register_names[IMAGE_REGS] = {
	"r15",	  "r14", "r13", "r12",	   "rbp",     "rbx", "r11",	 "r10", "r9",
	"r8",	  "rax", "rcx", "rdx",	   "rsi",     "rdi", "orig_rax", "rip", "cs",
	"eflags", "rsp", "ss",	"fs_base", "gs_base", "ds",  "es",	 "fs",	"gs",
};

const char *
image_register(unsigned number)
{
	return number < IMAGE_REGS ? register_names[number] : NULL;
}

const char *
image_what(const struct image *i, char *ret, size_t size)
{
	if (i->path != NULL)
		snprintf(ret, size, "%s (%s)", i->path, i->name);
	else
		snprintf(ret, size, "%d (%s)", i->pid, i->name);
	return ret;
}

/* ---- mappings ---- */

/* Where libc keeps its list of threads: in the loader's data, or in libpthread's of
 * old. */
static bool
has_thread_list(const char *path)
{
	const char *name = file_base(path);

	return strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2.", 5) == 0 ||
	       strncmp(name, "ld.so", 5) == 0 || strncmp(name, "ld64.so", 7) == 0 ||
	       strncmp(name, "libpthread", 10) == 0;
}

static void
take_maps(struct image *i, scan_look *look, void *ctx)
{
	i->maps.len = 0;
	for (size_t k = 0; k < i->map->areas.len; k++)
		scanmaps_add(&i->maps, &i->map->areas.data[k],
			     i->core == NULL ? &i->z : NULL);
	i->space = (struct scan_space){.maps = i->maps.data,
				       .nmaps = (uint32_t)i->maps.len,
				       .look = look,
				       .ctx = ctx};
}

/* ---- a process ---- */

/* What stands in the way of looking at all, before anything is touched. */
static int
refuse(int pid, struct err *e)
{
	struct refusal_facts f;

	refusal_read(pid, &f);
	if (!f.exists)
		return err_set(e, -ESRCH, "%d: no such process", pid);
	if (f.ourselves)
		return err_set(e, -EINVAL,
			       "%d: that is seep itself; name another process", pid);
	if (f.kernel_thread)
		return err_set(e, -EINVAL,
			       "%d (%s) is a kernel thread; it has no memory of its own",
			       pid, f.comm);
	if (f.state == 'Z' || f.state == 'X')
		return err_set(e, -ESRCH,
			       "%d (%s) has ended and only waits for its parent", pid,
			       f.comm);
	if (f.tracer > 0)
		return err_set(e, -EBUSY,
			       "%d (%s) is already traced by %d (%s); detach that first",
			       pid, f.comm, f.tracer, f.tracer_name);
	if (f.access != 0)
		return err_set(
			e, f.access,
			"%d (%s): its memory cannot be read; try sudo, and see: seep "
			"doctor %d",
			pid, f.comm, pid);
	if ((f.traits & (INSPECT_CLASS32 | INSPECT_OTHER_MACHINE)) != 0)
		return err_set(e, -ENOTSUP,
			       "%d (%s) is a 32-bit program or one for another "
			       "processor; use: seep watch %d",
			       pid, f.comm, pid);
	return 0;
}

int
image_open_process(int pid, struct image *ret, struct err *e)
{
	struct image i = IMAGE_NONE;
	struct procfs_stat st;
	int r = refuse(pid, e);

	if (r == 0)
		r = procfs_stat(pid, &st, e);
	if (r == 0)
		r = freeze_open(pid, &i.z, e);
	if (r < 0)
		return r;
	i.pid = pid;
	i.name = xstrdup(st.comm);
	if (file_proc_link(pid, "exe", &i.exe, NULL, NULL) < 0)
		i.exe = NULL;
	*ret = i;
	return 0;
}

static void
take_threads(struct image *i)
{
	for (size_t k = 0; k < i->z.threads.len; k++) {
		const struct freeze_thread *t = &i->z.threads.data[k];
		struct image_thread *to = vec_add(&i->threads);

		*to = (struct image_thread){.tid = t->tid,
					    .sp = t->sp,
					    .pc = t->pc,
					    .tp = t->tp,
					    .regs = t->regs};
		procfs_thread_name(i->pid, t->tid, to->name, sizeof to->name);
	}
}

/* What seep attach has put into it: its pointers to blocks hold nothing. */
static void
find_injected(struct image *i, const struct attach_control *c)
{
	const struct attach_range *all[] = {&c->code, &c->data};

	if (memcmp(c->magic, ATTACH_MAGIC, sizeof c->magic) != 0)
		return;
	for (size_t k = 0; k < ARRAY_LEN(all); k++) {
		if (all[k]->bytes > 0 && all[k]->bytes < UINT64_C(1) << 40)
			vec_push(&i->own,
				 (struct scan_range){all[k]->start,
						     all[k]->start + all[k]->bytes});
	}
}

/* A process that is recorded has the recorder's memory in it, which knows addresses of
 * blocks. */
static void
find_own(struct image *i)
{
	struct anonparts_range *own;
	struct livefile f = {.fd = -1};
	uint32_t n;

	if (target_find_pid(i->pid, &f, NULL) < 0)
		return;
	for (size_t k = 0; k < i->map->areas.len; k++) {
		const struct memmap_area *a = &i->map->areas.data[k];

		if (a->inode == f.inode && a->perms[3] == 's')
			vec_push(&i->own, (struct scan_range){a->start, a->end});
	}
	if (livefile_map_all(&f, NULL) == 0) {
		find_injected(i, (const void *)((const char *)f.head + ATTACH_OFF));
		n = anonparts_own(&f, i->mem, &own);
		for (uint32_t k = 0; k < n; k++) {
			if (own[k].bytes > 0)
				vec_push(&i->own, (struct scan_range){
							  own[k].start,
							  own[k].start + own[k].bytes});
		}
		free(own);
	}
	livefile_close(&f);
}

/* Constants and code of files are read as they are asked for: a copy of a process has no
 * page of them until it looks at it, so they would seem never to have been touched. */
static const unsigned char *
look_at_file(struct image *i, uint64_t addr, uint64_t *ret_bytes)
{
	uint64_t start = ALIGN_DOWN(addr, (uint64_t)sizeof i->pages->data);
	struct image_page *p;

	if (i->pages == NULL)
		i->pages = xcalloc(FILE_PAGES, sizeof *i->pages);
	p = &i->pages[start / sizeof p->data % FILE_PAGES];
	*ret_bytes = start + sizeof p->data - addr;
	if (p->addr != start) {
		p->addr = 0;
		if (procmem_read(i->mem, start, p->data, sizeof p->data) < 0)
			return NULL;
		p->addr = start;
	}
	return p->data + (addr - start);
}

static const unsigned char *
look_at_process(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	const uint32_t constant = SCAN_FILE | SCAN_READ;
	struct image *i = ctx;

	if (i->last_map == NULL || addr < i->last_map->start || addr >= i->last_map->end)
		i->last_map = scan_map_at(&i->space, addr);
	if (i->last_map != NULL &&
	    (i->last_map->flags & (constant | SCAN_WRITE)) == constant)
		return look_at_file(i, addr, ret_bytes);
	return freeze_look(&i->z, addr, bytes, ret_bytes);
}

/* A copy of the stopped process takes its place, and it goes on. */
static void
take_copy(struct image *i)
{
	struct err why = {0};

	if (freeze_copy(&i->z, &why) == 0) {
		i->copied = true;
		image_go(i);
	} else {
		snprintf(i->instead, sizeof i->instead, "%s", why.msg);
	}
}

static int
stop_process(struct image *i, bool copy, struct err *e)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC);
	int r = freeze_stop(&i->z, 0, e);

	i->stood_ns = clock_ns(CLOCK_MONOTONIC);
	if (i->z.tracee.since_ns > start) /* before that nobody stood still */
		start = i->z.tracee.since_ns;
	i->stop_ns = i->stood_ns - start;
	i->stopped = r == 0;
	if (r == 0)
		r = freeze_maps_and_words(&i->z,
					  e); /* again: now nothing changes any more */
	if (r < 0) {
		image_go(i);
		return r;
	}
	i->mem = &i->z.mem;
	i->map = &i->z.map;
	i->words = &i->z.words;
	if (copy)
		take_copy(i);
	take_threads(i);
	take_maps(i, look_at_process, i);
	find_own(i);
	return 0;
}

/* ---- a core file ---- */

static int
core_bytes(void *ctx, uint64_t addr, void *to, size_t bytes)
{
	return core_read(ctx, addr, to, bytes) ? 0 : -EFAULT;
}

static bool
core_page(void *ctx, uint64_t addr)
{
	uint64_t n;

	return core_look(ctx, addr, 1, &n) != NULL;
}

static const unsigned char *
look_at_core(void *ctx, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	return core_look(ctx, addr, bytes, ret_bytes);
}

int
image_open_core(const char *path, const char *program, struct image *ret, struct err *e)
{
	struct image i = IMAGE_NONE;
	int r = core_open(path, program, &i.core, e);

	if (r < 0)
		return r;
	i.path = xstrdup(path);
	i.pid = i.core->pid;
	i.name = xstrdup(i.core->name);
	i.exe = i.core->exe != NULL ? xstrdup(i.core->exe) : NULL;
	*ret = i;
	return 0;
}

static void
stop_core(struct image *i)
{
	i->core_mem.page_bytes = 4096;
	i->source = (struct procmem_source){
		.read = core_bytes, .present = core_page, .ctx = i->core};
	i->core_mem.source = &i->source;
	i->mem = &i->core_mem;
	i->map = &i->core->map;
	for (size_t k = 0; k < i->core->threads.len; k++) {
		const struct core_thread *t = &i->core->threads.data[k];
		struct image_thread *to = vec_add(&i->threads);

		*to = (struct image_thread){.tid = t->tid,
					    .sp = t->sp,
					    .pc = t->pc,
					    .tp = t->tp,
					    .regs = i->core_words.len};
		for (size_t w = 0; w < t->nwords; w++)
			vec_push(&i->core_words, t->words[w]);
	}
	i->words = &i->core_words;
	take_maps(i, look_at_core, i->core);
}

/* ---- both ---- */

int
image_stop(struct image *i, bool copy, struct err *e)
{
	if (i->core == NULL)
		return stop_process(i, copy, e);
	stop_core(i);
	return 0;
}

void
image_go(struct image *i)
{
	if (!i->stopped)
		return;
	freeze_go(&i->z);
	i->stopped = false;
	i->pause_ns = clock_ns(CLOCK_MONOTONIC) - i->stood_ns;
}

int
image_again(struct image *i, struct err *e)
{
	image_go(i);
	i->copied = false;
	i->instead[0] = '\0';
	i->threads.len = 0;
	i->own.len = 0;
	i->last_map = NULL;
	i->space.seen_start = i->space.seen_end = 0;
	free(i->pages);
	i->pages = NULL;
	return freeze_again(&i->z, e);
}

void
image_close(struct image *i)
{
	image_go(i);
	freeze_close(&i->z);
	core_close(i->core);
	vec_done(&i->threads);
	vec_done(&i->maps);
	vec_done(&i->core_words);
	vec_done(&i->own);
	free(i->pages);
	free(i->stacks);
	free(i->name);
	free(i->path);
	free(i->exe);
	*i = (struct image)IMAGE_NONE;
}

size_t
image_read(const struct image *i, uint64_t addr, void *to, size_t bytes)
{
	size_t done = 0;

	while (done < bytes) {
		uint64_t n = 0;
		const unsigned char *p =
			i->space.look(i->space.ctx, addr + done, bytes - done, &n);

		if (p == NULL || n == 0)
			break;
		n = n < bytes - done ? n : bytes - done;
		memcpy((char *)to + done, p, (size_t)n);
		done += (size_t)n;
	}
	return done;
}

/* ---- roots ---- */

static void
find_stacks(struct image *i)
{
	i->stacks = xcalloc(STACKS_MAX, sizeof *i->stacks);
	for (size_t k = 0; k < i->map->areas.len; k++) {
		const struct memmap_area *a = &i->map->areas.data[k];

		if (a->inode != 0 && a->perms[1] == 'w' && has_thread_list(a->name))
			i->nstacks += roots_stacks(
				&i->space, (struct scan_range){a->start, a->end},
				i->stacks + i->nstacks, STACKS_MAX - i->nstacks);
	}
}

/* Where the dead part of a stack begins whose live part begins at `sp`. */
static uint64_t
stack_start(const struct image *i, uint64_t sp)
{
	const struct roots_stack *s = roots_stack_of(i->stacks, i->nstacks, sp);
	const struct memmap_area *a;

	if (s != NULL)
		return s->range.start;
	a = memmap_find(i->map, sp);
	return a != NULL && strcmp(a->name, "[stack]") == 0 ? a->start : sp;
}

static void
add_stack_holes(struct image *i, struct image_ranges *holes)
{
	find_stacks(i);
	for (uint32_t k = 0; k < i->nstacks; k++) {
		if (i->stacks[k].ended)
			vec_push(holes, i->stacks[k].range);
	}
	for (size_t k = 0; k < i->threads.len; k++) {
		uint64_t sp = i->threads.data[k].sp, start;

		if (sp <= RED_ZONE)
			continue;
		start = stack_start(i, sp);
		if (start < sp - RED_ZONE)
			vec_push(holes, (struct scan_range){start, sp - RED_ZONE});
	}
}

void
image_roots(struct image *i, const struct heapblocks *h, struct image_ranges *ret)
{
	struct image_ranges holes = {0};

	for (size_t k = 0; k < h->heaps.len; k++)
		vec_push(&holes, (struct scan_range){h->heaps.data[k].start,
						     h->heaps.data[k].end});
	for (size_t k = 0; k < h->blocks.len; k++) {
		const struct heapblock *b = &h->blocks.data[k];

		if (b->arena == HEAPBLOCKS_MAPPED)
			vec_push(&holes,
				 (struct scan_range){b->addr, b->addr + b->bytes});
	}
	for (size_t k = 0; k < i->own.len; k++)
		vec_push(&holes, i->own.data[k]);
	add_stack_holes(i, &holes);
	vec_reserve(ret, i->maps.len + holes.len + h->gaps.len + 1);
	ret->len = roots_ranges(&i->space, holes.data, (uint32_t)holes.len, ret->data);
	for (size_t k = 0; k < h->gaps.len; k++)
		vec_push(ret,
			 (struct scan_range){h->gaps.data[k].start, h->gaps.data[k].end});
	vec_done(&holes);
}
