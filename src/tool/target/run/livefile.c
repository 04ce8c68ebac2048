/* SPDX-License-Identifier: MIT */
/* livefile.c -- see livefile.h.
 *
 * The header's own words (chunks, populated) are read each time they are needed and
 * capped by the file's size: the process they come from may write anything there. */
#include "tool/target/run/livefile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "shared/recording_columns.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

static int
check_head(const struct rec_head *h, const char *name, struct err *e)
{
	if (memcmp(h->magic, REC_MAGIC, sizeof h->magic) != 0) {
		if (h->magic[0] == '\0')
			return err_set(e, -EAGAIN, "%s: still being made; try again",
				       name);
		return err_set(e, -EBADMSG, "%s: not a live recording", name);
	}
	if (h->version != REC_VERSION || h->head_bytes != sizeof *h ||
	    h->chunk_bytes != REC_CHUNK_BYTES)
		return err_set(
			e, -EPROTO,
			"%s: recorded by another version of seep (format %u, not %u); read it with that version",
			name, h->version, REC_VERSION);
	return 0;
}

/* Whether its objects are laid out as ours are: we write to them. */
static int
check_columns(int fd, const char *name, struct err *e)
{
	struct rec_column dir[ARRAY_LEN(rec_columns)];

	if (pread(fd, dir, sizeof dir, REC_COLUMNS_OFF) != (ssize_t)sizeof dir ||
	    memcmp(dir, rec_columns, sizeof dir) != 0)
		return err_set(
			e, -EPROTO,
			"%s: recorded by another version of seep (format %u with other "
			"columns); read it with that version",
			name, REC_VERSION);
	return 0;
}

int
livefile_adopt(int fd, const char *name, struct livefile *ret_file, struct err *e)
{
	struct livefile f = {.fd = fd};
	struct stat st;
	int r = 0;

	if (fstat(fd, &st) < 0)
		r = err_sys(e, -errno, "%s", name);
	else if (!S_ISREG(st.st_mode) || (st.st_uid != geteuid() && geteuid() != 0))
		r = err_set(e, -EPERM, "%s: not a file of seep; name a recording", name);
	else if (st.st_size < REC_CHUNKS_OFF)
		r = err_set(e, -EAGAIN, "%s: still being made; try again", name);
	if (r == 0) {
		f.file_bytes = (uint64_t)st.st_size;
		f.inode = st.st_ino;
		f.dev = st.st_dev;
		f.uid = st.st_uid;
		f.head = mmap(NULL, REC_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
		if (f.head == MAP_FAILED) {
			f.head = NULL;
			r = err_sys(e, -errno, "%s: cannot map", name);
		}
	}
	if (r == 0) {
		f.mapped_bytes = REC_PAGE_BYTES;
		f.pid = (int)f.head->pid;
		r = check_head(f.head, name, e);
		if (r == 0)
			r = check_columns(fd, name, e);
	}
	if (r < 0) {
		livefile_close(&f);
		return r;
	}
	*ret_file = f;
	return 0;
}

static bool
all_zero(const char *p, size_t n)
{
	return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0);
}

int
livefile_copy(int pid, uint64_t at, uint64_t bytes, struct err *e)
{
	enum { PIECE = 64 << 10 };
	static char piece[PIECE];
	struct iovec to = {piece, sizeof(struct rec_head)};
	struct iovec from = {(void *)(uintptr_t)at, sizeof(struct rec_head)};
	const struct rec_head *h = (const void *)piece;
	uint64_t present;
	int fd, r = 0, task = file_proc_task(pid);

	if (bytes < REC_CHUNKS_OFF ||
	    process_vm_readv(task, &to, 1, &from, 1, 0) != (ssize_t)sizeof *h)
		return err_set(e, -EIO, "%d: cannot read its recording", pid);
	present = REC_CHUNKS_OFF + (uint64_t)h->populated * REC_CHUNK_BYTES;
	fd = memfd_create("seep copy", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		r = err_sys(e, -errno, "no memory for a copy");
	for (uint64_t off = 0; r == 0 && off < present && off < bytes; off += PIECE) {
		size_t want = bytes - off < PIECE ? (size_t)(bytes - off) : PIECE;
		ssize_t n;

		to = (struct iovec){piece, want};
		from = (struct iovec){(void *)(uintptr_t)(at + off), want};
		n = process_vm_readv(task, &to, 1, &from, 1, 0);
		if (n < 0)
			r = err_sys(e, -errno, "%d: cannot read its recording", pid);
		else if (!all_zero(piece, (size_t)n) &&
			 pwrite(fd, piece, (size_t)n, (off_t)off) != n)
			r = err_sys(e, -errno, "no memory for a copy");
	}
	if (r < 0 && fd >= 0)
		close(fd);
	return r < 0 ? r : fd;
}

int
livefile_open(int dirfd, const char *name, struct livefile *ret_file, struct err *e)
{
	int fd = openat(dirfd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return err_sys(e, -errno, "%s", name);
	return livefile_adopt(fd, name, ret_file, e);
}

int
livefile_map_all(struct livefile *f, struct err *e)
{
	void *p;

	if (f->mapped_bytes == f->file_bytes)
		return 0;
	p = mmap(NULL, f->file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
		 f->fd, 0);
	if (p == MAP_FAILED)
		return err_sys(e, -errno, "cannot map the recording of process %d",
			       f->pid);
	munmap(f->head, f->mapped_bytes);
	f->head = p;
	f->mapped_bytes = f->file_bytes;
	return 0;
}

void
livefile_close(struct livefile *f)
{
	if (f->head != NULL)
		munmap(f->head, f->mapped_bytes);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct livefile){.fd = -1};
}

struct livefile_head
livefile_head(const struct livefile *f)
{
	const struct rec_head *h = f->head;

	return (struct livefile_head){
		.start_ns = h->start_ns,
		.start_mono_ns = h->start_mono_ns,
		.clock_ms = h->clock_ms,
		.run_id = h->run_id,
		.own_kib = h->own_kib,
		.peak_bytes = __atomic_load_n(&h->peak_bytes, __ATOMIC_RELAXED),
		.live_bytes = __atomic_load_n(&h->live_bytes, __ATOMIC_RELAXED),
		.pid = h->pid,
		.ppid = h->ppid,
		.tool_pid = h->tool_pid,
		.before_kib = h->before_kib,
		.flags = h->flags,
		.mode = h->mode,
		.paused = h->paused == 1,
	};
}

void
livefile_tick(struct livefile *f, uint64_t ms)
{
	__atomic_store_n(&f->head->clock_ms, ms > 0 ? ms : 1, __ATOMIC_RELAXED);
}

uint64_t
livefile_used_bytes(const struct livefile *f)
{
	return REC_CHUNKS_OFF + (uint64_t)f->head->chunks * REC_CHUNK_BYTES;
}

bool
livefile_alive(const struct livefile *f)
{
	return f->head != NULL && procfs_alive(f->pid, f->head->process_ticks);
}

uint64_t
livefile_age_ms(const struct livefile *f)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), start = f->head->start_mono_ns;

	return now > start ? (now - start) / 1000000 : 0;
}

bool
livefile_deleted(const struct livefile *f)
{
	struct stat st;

	return f->fd >= 0 && fstat(f->fd, &st) == 0 && st.st_nlink == 0;
}

/* Bytes from the start of the file that can be touched without a fault. */
static uint64_t
present_bytes(const struct livefile *f)
{
	uint64_t n = __atomic_load_n(&f->head->populated, __ATOMIC_ACQUIRE);

	n = REC_CHUNKS_OFF + n * REC_CHUNK_BYTES;
	return n < f->mapped_bytes ? n : f->mapped_bytes;
}

struct rec_chunk *
livefile_chunk(const struct livefile *f, uint32_t index)
{
	uint64_t off;

	if (index == 0)
		return NULL;
	off = REC_CHUNKS_OFF + (uint64_t)(index - 1) * REC_CHUNK_BYTES;
	if (off + REC_CHUNK_BYTES > present_bytes(f))
		return NULL;
	return (struct rec_chunk *)((char *)f->head + off);
}

void *
livefile_at(const struct livefile *f, uint32_t ref, uint64_t bytes)
{
	uint64_t off = (uint64_t)ref * 8, end = present_bytes(f);

	if (off < REC_CHUNKS_OFF || off > end || bytes > end - off)
		return NULL;
	return (char *)f->head + off;
}

uint64_t
livefile_held_bytes(const struct livefile *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return 0;
	return (uint64_t)st.st_blocks * 512 + f->head->own_kib * 1024;
}

void
livefile_each(const struct livefile *f, enum rec_chunk_kind kind, uint32_t first,
	      uint32_t bytes, livefile_visitor *each, void *ctx)
{
	uint32_t index = __atomic_load_n(&f->head->chunk_lists[kind], __ATOMIC_ACQUIRE);
	uint32_t most =
		f->head->chunks; /* a list cannot be longer, also if it bites its tail */

	for (uint32_t n = 0; index != 0 && n < most; n++) {
		struct rec_chunk *c = livefile_chunk(f, index);
		uint32_t used;

		if (c == NULL)
			return;
		used = c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES;
		for (uint32_t at = first; at + bytes <= used; at += bytes)
			each(ctx, f, (char *)c + at);
		index = c->next;
	}
}

void
livefile_each_cell(const struct livefile *f, livefile_visitor *each, void *ctx)
{
	/* A site begins with one. */
	livefile_each(f, REC_CHUNK_SITE, sizeof(struct rec_chunk),
		      sizeof(struct rec_site), each, ctx);
	livefile_each(f, REC_CHUNK_CELL, sizeof(struct rec_chunk), REC_CELL_BYTES, each,
		      ctx);
}

enum { CELLS_MAX = 1 << 20 }; /* of one site; more is a list that bites its tail */

uint32_t
livefile_site_ref(const struct livefile *f, const struct rec_site *s)
{
	return (uint32_t)((uint64_t)((const char *)s - (const char *)f->head) / 8);
}

void
livefile_each_cell_of(const struct livefile *f, const struct rec_site *s,
		      livefile_visitor *each, void *ctx)
{
	uint32_t ended = __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE), absorbed = 0;
	uint32_t ref = __atomic_load_n(&s->cells, __ATOMIC_ACQUIRE);
	uint32_t own = livefile_site_ref(f, s);
	struct rec_cell *c = livefile_at(f, ended, sizeof *c);

	if (c != NULL && c->site == own) {
		absorbed = c->absorbed;
		each(ctx, f, c);
	}
	for (uint32_t n = 0; ref != 0 && n < CELLS_MAX; n++) {
		c = livefile_at(f, ref, sizeof *c);
		if (c == NULL || c->site != own)
			return;
		if (ref != absorbed)
			each(ctx, f, c);
		ref = c->next;
	}
}

static void
add_live(void *ctx, const struct livefile *f, void *object)
{
	const struct rec_cell *c = object;

	(void)f;
	if (c->site != 0)
		*(int64_t *)ctx += (int64_t)(c->alloc_bytes - c->free_bytes);
}

uint64_t
livefile_live_bytes(const struct livefile *f)
{
	int64_t sum = 0;

	livefile_each_cell(f, add_live, &sum);
	return sum > 0 ? (uint64_t)sum : 0;
}

static void
refresh_name(void *ctx, const struct livefile *f, void *object)
{
	struct rec_thread *t = object;
	union {
		char text[sizeof t->name + 1];
		uint64_t words[2];
	} name = {.words = {0}};
	uint64_t *to = (uint64_t *)(void *)t->name;
	uint32_t tid = __atomic_load_n(&t->tid, __ATOMIC_RELAXED);

	(void)ctx;
	if (t->state != REC_THREAD_LIVE || tid == 0)
		return;
	procfs_thread_name(f->pid, (int)tid, name.text, sizeof name.text);
	if (name.text[0] == '\0' || strncmp(name.text, t->name, sizeof t->name) == 0)
		return;
	memset(name.text + strlen(name.text), 0, sizeof t->name - strlen(name.text));
	/* The record may have gone to another thread meanwhile: then the name is not its
	 * own. */
	if (__atomic_load_n(&t->tid, __ATOMIC_RELAXED) != tid)
		return;
	__atomic_store_n(&to[0], name.words[0], __ATOMIC_RELAXED);
	__atomic_store_n(&to[1], name.words[1], __ATOMIC_RELAXED);
}

void
livefile_refresh_names(struct livefile *f)
{
	livefile_each(f, REC_CHUNK_THREAD, sizeof(struct rec_thread),
		      sizeof(struct rec_thread), refresh_name, NULL);
}
