/* SPDX-License-Identifier: MIT */
/* recorder.c -- a recording begins: the file, its head, the recorder's private memory.
 *
 * Everything that can be refused is asked for here, once: the sparse file of full size,
 * its mapping, the private tables. The limits of the process are read first, because
 * growing a file past RLIMIT_FSIZE is answered with a signal. The descriptor is closed at
 * once: programs close what they do not know, and the mapping is all we need. */
#include "guest/record/file/recorder.h"

#include "guest/record/file/keep.h"
#include "guest/record/file/space.h"
#include "guest/record/mixed/rec_names.h"
#include "guest/record/modules.h"
#include "guest/record/sample.h"
#include "guest/record/stacks.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "shared/recording_columns.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum {
	FILE_BYTES_MIN = 2 << 20, /* below this a recording is not worth beginning */
	PREFILL_BYTES =
		64 << 20, /* what is made at once where pages cannot be asked for later */
	CREATE_FLAGS = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
};

static uint32_t
node_for_unwinder(void *arg, uint32_t parent, uintptr_t pc, uint32_t module,
		  unsigned kind)
{
	struct thread *t = arg;
	static const unsigned char kinds[] = {[UNW_NODE_PC] = REC_NODE_PC,
					      [UNW_NODE_TRUNCATED] = REC_NODE_TRUNCATED,
					      [UNW_NODE_ELIDED] = REC_NODE_ELIDED};

	return stacks_node(t->recorder, parent, pc, module, kinds[kind], t->me);
}

static uint32_t
recall_for_unwinder(void *arg, uint64_t hash)
{
	return stacks_recall(((struct thread *)arg)->recorder, hash);
}

static void
learn_for_unwinder(void *arg, uint64_t hash, uint32_t node)
{
	stacks_learn(((struct thread *)arg)->recorder, hash, node);
}

static void
done_for_unwinder(void)
{
	recorder_now->host->table_done();
}

static const struct unw_ops unwinder_ops = {
	.find = modules_find,
	.done = done_for_unwinder,
	.node = node_for_unwinder,
	.recall = recall_for_unwinder,
	.learn = learn_for_unwinder,
};

static uint64_t
limit_of(int resource)
{
	struct rlimit64 {
		uint64_t cur, max;
	} lim = {0, 0};

	if (SYS4(SYS_prlimit64, 0, resource, 0, &lim) < 0)
		return UINT64_MAX;
	return lim.cur;
}

uint64_t
recorder_space_limit(void)
{
	return rt_sealed ? UINT64_MAX : limit_of(RLIMIT_AS);
}

/* Bytes of address space, resident, and resident with a file or shared; 0s when not
 * known. */
struct memory_used {
	uint64_t space, resident, shared;
};

static struct memory_used
memory_used(void)
{
	uint64_t fields[3] = {0, 0, 0};
	unsigned i = 0;
	char buf[128];

	proc_slurp("/proc/self/statm", buf, sizeof(buf));
	for (const char *s = buf; *s != '\0' && i < 3; s++) {
		if (*s >= '0' && *s <= '9')
			fields[i] = fields[i] * 10 + (uint64_t)(*s - '0');
		else
			i++;
	}
	return (struct memory_used){fields[0] * 4096, fields[1] * 4096, fields[2] * 4096};
}

uint64_t
recorder_anon_kib(void)
{
	struct memory_used m = memory_used();
	uint64_t own = rt_map_resident(), anon = m.resident - m.shared;

	if (m.resident <= m.shared)
		return 0;
	recorder_now->head->own_kib = own >> 10;
	return anon > own ? (anon - own) >> 10 : 1;
}

uint64_t
recorder_rss_kib(void)
{
	return memory_used().resident >> 10;
}

/* How large the recording may get, given the process's limits; 0 when too small to begin.
 * *ret_limit: the flag of the limit that made it smaller than asked for, or 0. */
static uint64_t
size_allowed(const struct recorder_settings *s, uint32_t *ret_limit)
{
	uint64_t bytes = s->max_bytes;
	uint64_t file = limit_of(RLIMIT_FSIZE);
	uint64_t space = limit_of(RLIMIT_AS);

	*ret_limit = 0;
	if (s->dir[0] != '\0' && bytes > file) {
		bytes = file;
		*ret_limit = REC_FLAG_LIMIT_FILE;
	}
	if (space != UINT64_MAX) {
		uint64_t used = memory_used().space;

		/* An eighth of what is left: the program's own room comes first. */
		space = space > used ? (space - used) / 8 : 0;
		if (bytes > space) {
			bytes = space;
			*ret_limit = REC_FLAG_LIMIT_SPACE;
		}
	}
	bytes = ALIGN_DOWN(bytes, (uint64_t)REC_POPULATE_BYTES);
	return bytes < FILE_BYTES_MIN ? 0 : bytes;
}

static uint64_t
random_u64(void)
{
	uint64_t x = 0;
	struct timespec ts;

	if (SYS3(SYS_getrandom, &x, sizeof(x), 1 /* GRND_NONBLOCK */) == sizeof(x))
		return x;
	SYS2(SYS_clock_gettime, CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_nsec * UINT64_C(0x9E3779B97F4A7C15) ^ (uintptr_t)&x;
}

static uint64_t
wall_ns(int clock)
{
	struct timespec ts = {0, 0};

	SYS2(SYS_clock_gettime, clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Create the file by the user's pattern, its name put at `name`, the end of `path`. */
static long
create_named(const char *pattern, const char *path, char *name)
{
	char *program = rt_map(REC_PAGE_BYTES); /* PATH_MAX; too much for a small stack */
	struct naming n = {.program = "", .pid = (uint32_t)sys_getpid()};
	long fd = -EEXIST;

	if (program != NULL &&
	    SYS4(SYS_readlinkat, -100, "/proc/self/exe", program, REC_PAGE_BYTES - 1) > 0)
		n.program = program;
	for (unsigned i = 0; i <= NAMING_TRIES && fd == -EEXIST; i++) {
		/* So many, and all taken: any number, then. */
		n.number = i < NAMING_TRIES ? i : random_u64();
		fd = naming_expand(pattern, &n, name) ? sys_open(path, CREATE_FLAGS, 0600)
						      : -ENAMETOOLONG;
	}
	rt_unmap(program, REC_PAGE_BYTES);
	return fd;
}

/* Create <dir>/<name> and leave its path in `path`, which has room for both. Returns the
 * descriptor. */
static long
create_file(const struct recorder_settings *s, char *path, size_t cap)
{
	struct text t = text_on(path, cap);

	text_add(&t, s->dir);
	text_add(&t, "/");
	if (s->name[0] != '\0')
		return create_named(s->name, path, path + t.len);
	text_dec(&t, (uint64_t)sys_getpid());
	text_add(&t, ".");
	text_hex(&t, random_u64(), 16);
	text_add(&t, ".live");
	return sys_open(path, CREATE_FLAGS, 0600);
}

/* A recording that is in no folder; the tool finds it among our mappings all the same. */
static long
map_nameless(uint64_t bytes)
{
	long fd = -1, r = -1;

	if (limit_of(RLIMIT_FSIZE) >=
	    bytes) /* else growing it is answered with a signal */
		fd = SYS2(SYS_memfd_create, "libseep.live", MFD_CLOEXEC);
	if (fd >= 0 && sys_ftruncate((int)fd, bytes) >= 0)
		r = rt_mmap(bytes, MAP_SHARED | MAP_NORESERVE, (int)fd);
	if (fd >= 0)
		sys_close((int)fd);
	if (r > 0 || r < -4095)
		return r;
	return rt_mmap(bytes, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

/* Map the recording's file, or memory when there is no directory. */
static long
map_file(const struct recorder_settings *s, uint64_t bytes, bool *prefilled)
{
	char path[sizeof(s->dir) + NAMING_FILE_BYTES];
	long fd, r;

	if (s->dir[0] == '\0')
		return s->own_memory
			       ? rt_mmap(bytes,
					 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1)
			       : map_nameless(bytes);
	keep_newest(s->dir, s->keep);
	fd = create_file(s, path, sizeof(path));
	if (fd < 0)
		return fd;
	/* The mapping will hold the lock: whoever may remove it sees that it is in use
	 * (keep.c). */
	SYS2(SYS_flock, fd, LOCK_SH | LOCK_NB);
	r = sys_ftruncate((int)fd, bytes);
	if (r >= 0)
		r = rt_mmap(bytes, MAP_SHARED | MAP_NORESERVE, (int)fd);
	if (r > 0 || r < -4095) {
		/* Of the timeline one page: the rest comes with its points. */
		long p = sys_madvise((void *)r, REC_POINTS_OFF + REC_PAGE_BYTES,
				     MADV_POPULATE_WRITE);

		if (p >= 0)
			p = sys_madvise((unsigned char *)r + REC_ROOT_OFF,
					REC_CHUNKS_OFF - REC_ROOT_OFF,
					MADV_POPULATE_WRITE);

		if (p == -EINVAL) { /* before Linux 5.14 */
			p = SYS4(SYS_fallocate, fd, 0, 0,
				 bytes < PREFILL_BYTES ? bytes : PREFILL_BYTES);
			*prefilled = true;
		}
		if (p < 0) {
			sys_munmap((void *)r, bytes);
			r = p;
		}
	}
	sys_close((int)fd);
	if (r < 0 && r > -4096)
		sys_unlink(path);
	return r;
}

/* Text page: executable, NUL, directory, NUL, arguments each with a NUL. */
static void
fill_text(const struct host *host, struct rec_head *h, unsigned char *base)
{
	char *at = (char *)base + REC_TEXT_OFF;
	size_t n = 0;
	long got, r = 0;

	if (host->program_path != NULL)
		r = host->program_path(at, REC_TEXT_BYTES / 4);
	if (r <= 0)
		r = SYS4(SYS_readlinkat, -100, "/proc/self/exe", at, REC_TEXT_BYTES / 4);
	n = r > 0 ? (size_t)r + 1 : 1;
	r = SYS2(SYS_getcwd, at + n, REC_TEXT_BYTES / 4);
	n += r > 0 ? (size_t)r : 1;
	got = proc_slurp("/proc/self/cmdline", at + n, REC_TEXT_BYTES - n);
	if (got > 0 && n + (size_t)got + 1 >= REC_TEXT_BYTES)
		h->flags |= REC_FLAG_TEXT_CUT;
}

static void
fill_head(struct recorder *r, const struct recorder_settings *s)
{
	struct rec_head *h = r->head;
	struct utsname un;
	int64_t ticks;

	h->version = REC_VERSION;
#if defined(__x86_64__)
	h->arch = REC_ARCH_X86_64;
#else
	h->arch = REC_ARCH_AARCH64;
#endif
	h->head_bytes = sizeof(*h);
	h->chunk_bytes = REC_CHUNK_BYTES;
	rec_columns_write(h);
	h->file_bytes = r->bytes;
	h->pid = (uint32_t)sys_getpid();
	h->ppid = (uint32_t)SYS0(SYS_getppid);
	h->uid = (uint32_t)SYS0(SYS_getuid);
	h->mode = s->mode;
	h->start_ns = wall_ns(CLOCK_REALTIME);
	h->start_mono_ns = wall_ns(CLOCK_MONOTONIC);
	ticks = proc_start_ticks(0);
	h->process_ticks = ticks > 0 ? (uint64_t)ticks : 0;
	h->rate_bytes = s->mode == REC_MODE_SAMPLE ? s->rate_bytes : 0;
	h->rates[0] = h->rate_bytes;
	h->run_id = s->run_id;
	h->flags =
		(s->forked ? REC_FLAG_FORKED : 0) | (s->mmap_class ? REC_FLAG_MMAP : 0);
	h->forked_threads = s->forked ? s->forked_threads : 0;
	h->point_every_ms = 10;
	h->moment_every_ms = 10;
	if (SYS1(SYS_uname, &un) == 0)
		memcpy(h->host, un.nodename, sizeof(h->host) - 1);
	fill_text(r->host, h, r->base);
}

/* The private tables, one mapping; kept from the parent where a fork left it. */
static unsigned char *private_at;
static size_t private_bytes;

static bool
private_memory(struct recorder *r)
{
	unsigned char *at = private_at;
	size_t heads = RECORDER_NODE_HEADS * sizeof(*r->node_heads);
	/* Probing may run past the end of the index. */
	size_t index = ALIGN_UP((((size_t)1 << STACKS_INDEX_BITS) + 64) *
					sizeof(*r->stack_index),
				(size_t)4096);
	size_t modules =
		ALIGN_UP(RECORDER_MODULES_MAX * sizeof(*r->modules), (size_t)4096);
	size_t sample = ALIGN_UP(sample_filter_bytes(), (size_t)4096);
	size_t names = ALIGN_UP(rec_names_bytes(), (size_t)4096);
	size_t tables = heads + index + modules + sample + names + RECORDER_SCRATCH_BYTES;
	size_t all = tables + unw_shared_bytes();

	if (at != NULL)
		rt_map_reset(at, all);
	else
		at = rt_map(all);
	if (at == NULL)
		return false;
	private_at = at;
	private_bytes = all;
	r->node_heads = (void *)at;
	r->stack_index = (void *)(at + heads);
	r->index_mask = (1 << STACKS_INDEX_FIRST_BITS) - 1;
	r->modules = (void *)(at + heads + index);
	r->sample = (void *)(at + heads + index + modules);
	r->names = (void *)(at + heads + index + modules + sample);
	r->scratch = (char *)(at + heads + index + modules + sample + names);
	r->unw = (void *)(at + tables);
	sample_filter_init(r->sample);
	return true;
}

int
recorder_begin(struct recorder *r, struct recorder *fresh, uint32_t me)
{
	static const char unknown = 0; /* as if there were several threads */
	const struct host *host = fresh->host;
	unsigned char *base = fresh->base;

	if (!private_memory(fresh))
		return -ENOMEM;
	fresh->loader_busy = (const int *)host->loader_busy;
	fresh->single_threaded = (const char *)host->single_threaded;
	if (fresh->single_threaded == NULL)
		fresh->single_threaded = &unknown;
	fresh->single = *fresh->single_threaded != 0;
	fresh->exact = fresh->head->mode == REC_MODE_EXACT;
	fresh->hot = fresh->exact;
	recorder_now = r;
	unw_shared_init(fresh->unw, &unwinder_ops);
	unw_shared_root(fresh->unw, (uintptr_t)host->root_start,
			(uintptr_t)host->root_end);
	fresh->overflow_node = stacks_node(fresh, 0, 1, 0, REC_NODE_TRUNCATED, me);
	if (fresh->overflow_node == 0 ||
	    stacks_site(fresh, fresh->overflow_node, 0, me) == NULL)
		return -ENOSPC;
	memcpy(fresh->head->magic, REC_MAGIC, sizeof(fresh->head->magic));
	fresh->base = NULL;
	fresh->begins = r->begins;
	*r = *fresh;
	__atomic_store_n(&r->base, base, __ATOMIC_RELEASE);
	return 0;
}

int
recorder_start(struct recorder *r, const struct recorder_settings *s,
	       const struct host *host, uint64_t id)
{
	uint32_t limit;
	uint64_t bytes = size_allowed(s, &limit);
	bool prefilled = false;
	struct recorder fresh = {.host = host, .id = id, .bytes = bytes};
	long map;
	int ret;

	if (bytes == 0)
		return -EFBIG;
	map = map_file(s, bytes, &prefilled);
	if (map < 0 && map > -4096)
		return (int)map;
	sys_madvise((void *)map, bytes, MADV_DONTDUMP);
	fresh.base = (unsigned char *)map;
	fresh.head = (struct rec_head *)map;
	if (prefilled && fresh.bytes > PREFILL_BYTES)
		fresh.bytes = PREFILL_BYTES;
	fresh.prefilled = prefilled;
	fresh.own_memory = s->own_memory && s->dir[0] == '\0';
	fresh.by_use = s->dir[0] != '\0' && !prefilled;
	fresh.space_limited = recorder_space_limit() != UINT64_MAX;
	fill_head(&fresh, s);
	fresh.head->flags |= limit;
	ret = recorder_begin(r, &fresh, lock_id());
	if (ret < 0)
		sys_munmap((void *)map, bytes);
	return ret;
}

void
recorder_forget(unsigned char *base, uint64_t bytes)
{
	if (base != NULL)
		sys_munmap(base, bytes);
}

void
recorder_forget_private(struct recorder *r)
{
	void *gone = private_at;

	private_at = NULL;
	r->node_heads = NULL;
	r->unw = NULL;
	COMPILER_BARRIER(); /* a handler finds nothing that leads there */
	rt_unmap(gone, private_bytes);
}
