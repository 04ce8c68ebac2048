/* SPDX-License-Identifier: MIT */
/* attach.c -- see attach.h.
 *
 * Everything is worked out while the process runs (attach_plan.c). Then, with all threads
 * stopped, one of them makes all system calls in one go: the memfd, which we open through
 * its /proc/PID/fd and fill while the thread waits, so that the control page in there
 * says what is about to be done; then the mappings of it, of code and of private memory,
 * at addresses that we chose. The image is written, and last the jumps are. If a thread
 * is just in the bytes to be replaced, all are let go for a moment.
 */
#include "tool/target/attach/attach_impl.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procstatus.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

#ifndef MAP_FIXED_NOREPLACE
#	define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MADV_WIPEONFORK
#	define MADV_WIPEONFORK 18
#endif
#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum {
	WINDOW_TRIES = 400, /* a thread was in the bytes to be replaced */
	PLAN_TRIES = 3,	    /* an address was taken meanwhile */
	/* bytes from the thread pointer on, where libc keeps a thread's id */
	TID_LOOK = 2048,
	TID_OFF_GLIBC = 720,
	TID_THREADS = 8,
	MODULE_TABLE_BYTES = 256 << 10,
	LITTLE_BYTES = 16 << 20, /* a recording in a process that has little room */
};

/* ---- the control page ---- */

static void
fill_control(struct attach *a, const struct attach_settings *s)
{
	struct attach_control *c = a->control;
	struct attach_patch *patches = (struct attach_patch *)(c + 1);
	const struct plan *p = &a->plan;

	c->code = p->code;
	c->data = p->data;
	c->self = p->self;
	c->stubs = plan_stubs(p);
	for (unsigned i = 1; i < p->islands_used; i++)
		c->islands[i - 1] = (struct attach_range){
			p->islands[i].at, ALIGN_UP(p->islands[i].bytes.len, 4096ul)};
	memcpy(patches, p->patches.data, p->patches.len * sizeof *patches);
	c->patches = (uint32_t)p->patches.len;
	c->stay = s->stay;
	c->heartbeat = 1;
	COMPILER_BARRIER();
	memcpy(c->magic, ATTACH_MAGIC, sizeof c->magic);
}

/* ---- the image and its surroundings ---- */

uint32_t
attach_tid_off(const struct tracee *t)
{
	bool fits[TID_LOOK / 4], same = procfs_ns_pid(t->pid) == t->pid;
	uint32_t words[TID_LOOK / 4], found = 0;
	unsigned n = 0;

	memset(fits, 1, sizeof fits);
	for (size_t i = 0; i < t->threads.len && i < TID_THREADS; i++) {
		const struct tracee_thread *th = &t->threads.data[i];
		uint32_t tid = (uint32_t)(same ? th->tid : procfs_ns_pid(th->tid));
		size_t got;

		if (th->tp == 0)
			return 0;
		/* What it has there may be the end of its memory. */
		got = tracee_read_some(t, th->tp, words, sizeof words) / sizeof *words;
		for (size_t k = 0; k < ARRAY_LEN(words); k++)
			fits[k] = k < got && fits[k] && words[k] == tid;
	}
	if (fits[TID_OFF_GLIBC / 4])
		return TID_OFF_GLIBC;
	for (size_t k = 1; k < ARRAY_LEN(fits); k++) {
		if (fits[k]) {
			n++;
			found = (uint32_t)k * 4;
		}
	}
	return n == 1 ? found : 0;
}

struct table {
	struct blob_module rows[BLOB_MODULES_MAX];
	char text[MODULE_TABLE_BYTES - BLOB_MODULES_MAX * sizeof(struct blob_module)];
};

_Static_assert(sizeof(struct table) == MODULE_TABLE_BYTES, "a whole number of pages");

static void
add_module(struct table *tb, size_t *rows, size_t *used, uint64_t table_at,
	   const struct object *o)
{
	size_t n = strlen(o->path) + 1;

	if (*rows == BLOB_MODULES_MAX || n > sizeof tb->text - *used)
		return;
	memcpy(tb->text + *used, o->path, n);
	tb->rows[(*rows)++] = (struct blob_module){
		.start = o->start,
		.end = o->end,
		.bias = o->bias,
		.eh_hdr = o->eh_hdr,
		.path = table_at + offsetof(struct table, text) + *used,
	};
	*used += n;
}

/* Private memory begins with a page that tells forks, and the table of modules: ours, and
 * all others where libc cannot be asked. */
static int
write_data(const struct tracee *t, struct plan *p, struct err *e)
{
	struct blob_config *c = plan_config(p);
	struct table *tb = xcalloc(1, sizeof *tb);
	uint64_t whose = BLOB_FORK_OWN, table_at = p->data.start + 4096;
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)(const void *)p->image;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(const void *)(p->image + eh->e_phoff);
	struct object own = {
		.path = (char *)"[seep]",
		.start = p->code.start,
		.end = p->code.start + p->image_bytes,
		.bias = p->code.start,
	};
	size_t rows = 0, used = 0;
	int r;

	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			own.eh_hdr = own.bias + ph[i].p_vaddr;
	}
	add_module(tb, &rows, &used, table_at, &own);
	for (size_t i = 0; c->dl_find_object == 0 && i < p->objects.all.len; i++)
		add_module(tb, &rows, &used, table_at, &p->objects.all.data[i]);
	c->fork_page = p->data.start;
	c->modules = table_at;
	c->module_count = rows;
	c->arena = table_at + sizeof *tb;
	c->arena_bytes = p->data.start + p->data.bytes - c->arena;
	r = tracee_write(t, table_at, tb, sizeof tb->rows + used, e);
	if (r == 0)
		r = tracee_write(t, p->data.start, &whose, sizeof whose, e);
	free(tb);
	return r;
}

static int
write_image(const struct tracee *t, const struct plan *p, struct err *e)
{
	int r = tracee_write(t, p->code.start, p->image, p->text_bytes, e);

	/* Of what follows only the beginning is not zero. */
	if (r == 0)
		r = tracee_write(t, p->code.start + p->text_bytes,
				 p->image + p->text_bytes,
				 ALIGN_UP(sizeof(struct blob_config), 4096ul), e);
	for (unsigned i = 0; r == 0 && i < p->islands_used; i++) {
		if (p->islands[i].bytes.len > 0)
			r = tracee_write(t, p->islands[i].at, p->islands[i].bytes.data,
					 p->islands[i].bytes.len, e);
	}
	return r;
}

/* ---- what the process does for us, all of it in one go ---- */

enum { MAKE_CALLS = 16 };

struct making {
	struct attach *a;
	struct tracee *t;
	const struct attach_settings *s;
	const struct attach_beginning *begin;
	struct tracee_call calls[MAKE_CALLS];
	const char *what[MAKE_CALLS]; /* each is for, in words */
	unsigned n;
};

enum { MAKE_MEMFD, MAKE_RECORDING, MAKE_CLOSE }; /* the first ones */

/* It has made the memfd and waits: the recording is filled, and says what will be
 * made. */
static int
fill_recording(void *ctx, struct err *e)
{
	struct making *m = ctx;
	int r;

	tracee_point(TRACEE_MEMFD);
	r = attach_recording(m->a, (uint64_t)m->calls[MAKE_MEMFD].value, m->s, m->begin,
			     e);
	if (r == 0)
		fill_control(m->a, m->s);
	tracee_point(TRACEE_FILLED);
	return r;
}

static struct tracee_call *
add_call(struct making *m, const char *what, long nr, const uint64_t args[6])
{
	struct tracee_call *c = &m->calls[m->n];

	*c = (struct tracee_call){.nr = nr};
	memcpy(c->args, args, sizeof c->args);
	m->what[m->n++] = what;
	return c;
}

static struct tracee_call *
add_mmap(struct making *m, const char *what, const struct attach_range *r, uint64_t flags,
	 uint64_t fd)
{
	struct tracee_call *c = add_call(
		m, what, SYS_mmap,
		(uint64_t[6]){r->start, r->bytes, PROT_READ | PROT_WRITE,
			      flags | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0});

	c->maps = true; /* kernels before 4.17 take the address for a wish */
	return c;
}

static void
add_range(struct making *m, const struct attach_range *r, uint32_t made,
	  enum tracee_point point)
{
	struct tracee_call *c =
		add_mmap(m, "map memory", r, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1);

	c->word = m->a->plan.self.start + ATTACH_OFF +
		  offsetof(struct attach_control, made);
	c->bits = made;
	c->point = point;
}

static struct tracee_call *
add_executable(struct making *m, uint64_t at, uint64_t bytes)
{
	return add_call(m, "map executable memory (SELinux execmem?)", SYS_mprotect,
			(uint64_t[6]){at, bytes, PROT_READ | PROT_EXEC});
}

static void
add_all(struct making *m)
{
	const struct plan *p = &m->a->plan;
	struct tracee_call *c;

	add_call(m, "make a memfd", SYS_memfd_create,
		 (uint64_t[6]){tracee_text_at(m->t), MFD_CLOEXEC});
	c = add_mmap(m, "map the recording", &p->self, MAP_SHARED, 0);
	c->first_arg = 5;
	c->before = fill_recording;
	c->ctx = m;
	c->point = TRACEE_MAPPED;
	c = add_call(m, "close", SYS_close, (uint64_t[6]){0});
	c->first_arg = 1;
	c->point = TRACEE_CLOSED;
	add_range(m, &p->code, ATTACH_MADE_CODE, TRACEE_CODE);
	add_range(m, &p->data, ATTACH_MADE_DATA, TRACEE_DATA);
	for (unsigned i = 1; i < p->islands_used; i++)
		add_range(
			m,
			&(struct attach_range){p->islands[i].at,
					       ALIGN_UP(p->islands[i].bytes.len, 4096ul)},
			(uint32_t)ATTACH_MADE_ISLAND << (i - 1), 0);
	add_call(m, "set up memory", SYS_madvise,
		 (uint64_t[6]){p->data.start, 4096, MADV_WIPEONFORK});
	add_executable(m, p->code.start, p->text_bytes);
	for (unsigned i = 1; i < p->islands_used; i++)
		add_executable(m, p->islands[i].at,
			       ALIGN_UP(p->islands[i].bytes.len, 4096ul));
	c = add_executable(m, p->islands[0].at,
			   p->code.start + p->code.bytes - p->islands[0].at);
	c->point = TRACEE_EXECUTABLE;
}

_Static_assert(MAKE_CALLS >= 7 + 1 + 2 * ATTACH_ISLANDS, "room for every call");

/* What became of the calls. */
static int
check_made(struct making *m, struct err *e)
{
	for (unsigned i = 0; i < m->n; i++) {
		const struct tracee_call *c = &m->calls[i];

		if (c->made && c->value < 0 && c->value > -4096)
			return err_sys(e, (int)c->value, "%d: it cannot %s", m->t->pid,
				       m->what[i]);
		if (c->made && (!c->maps || c->value == (int64_t)c->args[0])) {
			if (c->bits != 0)
				m->a->control->made |= c->bits;
			continue;
		}
		if (c->made) /* elsewhere */
			tracee_syscall(m->t, SYS_munmap,
				       (uint64_t[6]){(uint64_t)c->value, c->args[1]},
				       &(int64_t){0}, NULL);
		return err_set(e, -EEXIST,
			       "%d: an address was taken meanwhile; try again",
			       m->t->pid);
	}
	return 0;
}

/* The recording and all memory. */
static int
make_all(struct attach *a, struct tracee *t, const struct attach_settings *s,
	 const struct attach_beginning *begin, struct err *e)
{
	struct making m = {.a = a, .t = t, .s = s, .begin = begin};
	const struct tracee_call *memfd = &m.calls[MAKE_MEMFD];
	int r;

	add_all(&m);
	t->text = ATTACH_NAME;
	r = tracee_calls(t, m.calls, m.n, e);
	t->text = NULL;
	if (r == 0)
		r = check_made(&m, e);
	if (r < 0 && memfd->made && memfd->value >= 0 && !m.calls[MAKE_CLOSE].made)
		tracee_syscall(t, SYS_close, (uint64_t[6]){(uint64_t)memfd->value},
			       &(int64_t){0}, NULL);
	return r;
}

static int
write_patches(const struct tracee *t, struct attach *a, struct err *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < a->plan.patches.len; i++) {
		const struct attach_patch *p = &a->plan.patches.data[i];

		r = tracee_write(t, p->addr, p->after, p->bytes, e);
		if (i == 0)
			tracee_point(TRACEE_PATCHED_ONE);
	}
	return r;
}

/* Is what we are going to replace still what it was? */
static int
check_patches(const struct tracee *t, const struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->patches.len; i++) {
		const struct attach_patch *pt = &p->patches.data[i];
		uint8_t now[ATTACH_PATCH_BYTES];
		int r;

		if (pt->addr - p->code.start < p->code.bytes)
			continue; /* our own, and not there yet */
		r = tracee_read(t, pt->addr, now, pt->bytes, e);
		if (r < 0)
			return r;
		/* A word that is not bound yet has another value; code has not. */
		if (pt->bytes != 8 && memcmp(now, pt->before, pt->bytes) != 0)
			return err_set(e, -EAGAIN,
				       "%d: its code is being changed; try again",
				       t->pid);
	}
	return 0;
}

/* Somebody else may have been faster, since it was asked whether it is attached to. */
static int
check_alone(const struct tracee *t, struct err *e)
{
	static const char name[] = "/memfd:" ATTACH_NAME;
	struct procfs_maps maps;
	struct procfs_map m;
	struct rec_head h;
	int r = procfs_maps_open(&maps, t->pid, e);

	while (r == 0 && procfs_maps_next(&maps, &m)) {
		if (strncmp(m.path, name, sizeof name - 1) == 0 && m.offset == 0 &&
		    tracee_read(t, m.start, &h, sizeof h, NULL) == 0 &&
		    (int)h.pid == procfs_ns_pid(t->pid))
			r = err_set(
				e, -EBUSY,
				"%d: somebody else has just attached to it; see: seep ps",
				t->pid);
	}
	procfs_maps_close(&maps);
	return r;
}

static int
put_in(struct attach *a, struct tracee *t, const struct attach_settings *s,
       const struct attach_beginning *begin, struct err *e)
{
	int r = check_patches(t, &a->plan, e);

	if (r == 0)
		r = check_alone(t, e);
	if (r < 0)
		return r;
	a->begun = true;
	r = make_all(a, t, s, begin, e);
	if (r < 0)
		return r;
	plan_config(&a->plan)->recording = a->plan.self.start;
	plan_config(&a->plan)->recording_bytes = a->plan.self.bytes;
	plan_config(&a->plan)->sealed = s->suspend_seccomp;
	plan_config(&a->plan)->tid_off = attach_tid_off(t);
	r = write_data(t, &a->plan, e);
	if (r == 0)
		r = write_image(t, &a->plan, e);
	tracee_point(TRACEE_IMAGE);
	if (r < 0)
		return r;
	a->control->config = a->plan.code.start + a->plan.text_bytes;
	a->control->state = ATTACH_PATCHING;
	r = write_patches(t, a, e);
	if (r == 0)
		a->control->state = ATTACH_ON;
	tracee_point(TRACEE_PATCHED);
	return r;
}

/* Stops all threads, none of them in the middle of what will be replaced. */
static int
stop_outside(struct tracee *t, const struct plan *p, struct err *e)
{
	struct tracee_span *spans = xcalloc(p->patches.len, sizeof *spans);
	unsigned n = 0;
	int r;

	for (size_t i = 0; i < p->patches.len; i++) {
		if (p->patches.data[i].bytes != 8)
			spans[n++] = (struct tracee_span){
				p->patches.data[i].addr + 1,
				p->patches.data[i].addr + p->patches.data[i].bytes};
	}
	for (int tries = 0;; tries++) {
		r = tracee_stop(t, e);
		if (r < 0 || !tracee_inside(t, spans, n))
			break;
		tracee_go(t);
		if (tries == WINDOW_TRIES) {
			r = err_set(
				e, -EBUSY,
				"%d: its threads did not leave the allocator's entry; try again",
				t->pid);
			break;
		}
		clock_nap(300000);
	}
	free(spans);
	return r;
}

/* A process that locks its memory gets every page of a mapping at once, one with a limit
 * on its address space has need of it: both get little of ours. */
static bool
is_short_of_memory(int pid)
{
	struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY}, data = space;

	prlimit(pid, RLIMIT_AS, NULL, &space);
	prlimit(pid, RLIMIT_DATA, NULL,
		&data); /* private memory counts, since Linux 4.7 */
	return procstatus_number(pid, "VmLck") > 0 || space.rlim_cur != RLIM_INFINITY ||
	       data.rlim_cur != RLIM_INFINITY;
}

static uint64_t
data_bytes(int pid)
{
	bool little = is_short_of_memory(pid);
	struct procfs_stat st = {0};

	procfs_stat(pid, &st, NULL);
	return ((little ? UINT64_C(8) : UINT64_C(64)) << 20) +
	       ((uint64_t)st.threads + (little ? 2 : 32)) * (UINT64_C(2) << 20);
}

static struct attach_settings
fitting(int pid, const struct attach_settings *s)
{
	struct attach_settings fits = *s;

	if (is_short_of_memory(pid) && fits.max_bytes > LITTLE_BYTES)
		fits.max_bytes = LITTLE_BYTES;
	return fits;
}

int
attach_look(int pid, const struct attach_settings *s, struct attach *ret, struct err *e)
{
	struct attach_settings fits = fitting(pid, s);
	struct tracee t = TRACEE_NONE;
	int r = tracee_open(pid, &t, e);

	if (r == 0)
		r = plan_make(&t, data_bytes(pid), fits.max_bytes, &ret->plan, e);
	ret->pid = pid;
	tracee_close(&t);
	return r;
}

static int
try_once(struct attach *a, struct tracee *t, const struct attach_settings *s,
	 struct err *e)
{
	struct attach_beginning *begin;
	int r = plan_make(t, data_bytes(t->pid), s->max_bytes, &a->plan, e);

	if (r < 0)
		return r;
	begin = xcalloc(1, sizeof *begin);
	attach_begin(t->pid, begin, s);
	r = stop_outside(t, &a->plan, e);
	if (r == 0) {
		r = put_in(a, t, s, begin, e);
		tracee_go(t);
		a->stopped_ns = clock_ns(CLOCK_MONOTONIC) - t->since_ns;
	}
	free(begin);
	return r;
}

int
attach_process(int pid, const struct attach_settings *s, struct attach *ret,
	       struct err *e)
{
	struct attach_settings fits = fitting(pid, s);
	struct attach a = ATTACH_NOTHING;
	struct tracee t = TRACEE_NONE;
	int r = tracee_open(pid, &t, e);

	a.pid = pid;
	t.suspend_seccomp = s->suspend_seccomp;
	for (int i = 0; r == 0; i++) {
		bool begun;

		r = try_once(&a, &t, &fits, e);
		if (r == 0)
			break;
		begun = a.begun;
		attach_close(&a);
		a.pid = pid;
		/* Whatever was made is known to the recording, if it got so far. What is
		 * there and was not made by us is another's, and stays. */
		if (begun && detach_patches(pid, NULL, NULL) == 0)
			detach_unmap(pid, NULL, NULL);
		/* -EIO: we did not get a processor for so long that a thread went back by
		 * itself. */
		if ((r == -EEXIST || r == -EAGAIN || r == -EIO) && i < PLAN_TRIES)
			r = 0;
	}
	tracee_close(&t);
	if (r < 0)
		attach_close(&a);
	else
		*ret = a;
	return r;
}

uint64_t
attach_cycles(void)
{
	return __builtin_ia32_rdtsc();
}

void
attach_close(struct attach *a)
{
	livefile_close(&a->live);
	plan_done(&a->plan);
	*a = (struct attach)ATTACH_NOTHING;
}
