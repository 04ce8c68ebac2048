/* SPDX-License-Identifier: MIT */
/* keep.c -- the recordings of dead processes beyond the newest N are removed. See keep.h.
 *
 * Dead means: no process has the pid and the start time in the head, and nobody has the
 * file locked. The recorder locks its file (flock) and closes it; the mapping keeps the
 * lock for as long as any process has it, which also tells of those in another pid
 * namespace, whose pid means nothing here.
 *
 * Two processes that begin at once must not both clean up: what one has found dead the
 * other may remove, and a third take the name. So the folder is locked meanwhile, without
 * waiting.
 *
 * Of a folder with more entries than are looked at some stay that could go. None goes
 * that should stay: what is not among the newest of a part is not among the newest of
 * all. */
#include "guest/record/file/keep.h"

#include "guest/rt/rt_map.h"
#include "guest/rt/rt_proc.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"
#include "shared/compiler.h"
#include "shared/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { NAME_BYTES = 256 };

struct dead {
	int64_t seconds, ns; /* modified */
	uint64_t inode;
	char name[NAME_BYTES];
};

/* Too much for somebody else's stack. */
struct work {
	int folder;
	uint32_t uid;
	uint32_t looked_at, ndead;
	_Alignas(8) char entries[32 << 10];
	struct rec_head head;
	struct dead dead[KEEP_LOOKED_AT_MAX];
};

static bool
is_live_name(const char *name)
{
	size_t n = text_len(name);

	return n > 5 && n < NAME_BYTES && memcmp(name + n - 5, ".live", 5) == 0;
}

/* A regular file of ours, and no link to one. */
static bool
is_our_file(const struct work *w, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == w->uid &&
	       st->st_size >= REC_CHUNKS_OFF;
}

/* Does the process that made the recording run? Yes, if we cannot tell. */
static bool
is_alive(const struct rec_head *h)
{
	int64_t ticks = proc_start_ticks(h->pid);

	if (ticks == -ENOENT || ticks == -ESRCH)
		return false;
	return ticks <= 0 || h->process_ticks == 0 || (uint64_t)ticks == h->process_ticks;
}

static bool
is_dead_recording(struct work *w, int fd)
{
	struct rec_head *h = &w->head;

	if (sys_read(fd, h, sizeof(*h)) != (long)sizeof(*h) ||
	    memcmp(h->magic, REC_MAGIC, sizeof(h->magic)) != 0 ||
	    h->version != REC_VERSION || h->head_bytes != sizeof(*h) || h->pid == 0 ||
	    is_alive(h))
		return false;
	/* Another answer than this one comes from a file system that has no locks. */
	return SYS2(SYS_flock, fd, LOCK_EX | LOCK_NB) != -EWOULDBLOCK;
}

static void
look_at(struct work *w, const char *name)
{
	struct stat named, opened;
	struct dead *d = &w->dead[w->ndead];
	long fd;

	/* Looked at before it is opened: opening a device or a pipe could do
	 * something. */
	if (SYS4(SYS_newfstatat, w->folder, name, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !is_our_file(w, &named))
		return;
	fd = SYS4(SYS_openat, w->folder, name,
		  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (SYS2(SYS_fstat, fd, &opened) == 0 && is_our_file(w, &opened) &&
	    is_dead_recording(w, (int)fd)) {
		d->seconds = opened.st_mtim.tv_sec;
		d->ns = opened.st_mtim.tv_nsec;
		d->inode = opened.st_ino;
		memcpy(d->name, name, text_len(name) + 1);
		w->ndead++;
	}
	sys_close((int)fd);
}

static void
look_at_all(struct work *w)
{
	long got;

	while ((got = SYS3(SYS_getdents64, w->folder, w->entries, sizeof(w->entries))) >
	       0) {
		for (long at = 0; at < got;) {
			const struct proc_dirent *e = (const void *)(w->entries + at);

			if (w->looked_at++ == KEEP_LOOKED_AT_MAX)
				return;
			if (is_live_name(e->name))
				look_at(w, e->name);
			at += e->bytes;
		}
	}
}

static bool
is_older(const struct dead *a, const struct dead *b)
{
	if (a->seconds != b->seconds)
		return a->seconds < b->seconds;
	return a->ns != b->ns ? a->ns < b->ns : a->inode < b->inode;
}

/* Let the entry at `i` of a heap with the newest on top sink to its place. */
static void
sink(uint16_t *heap, const struct dead *dead, uint32_t i, uint32_t n)
{
	uint16_t moving = heap[i];
	uint32_t child;

	for (; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && is_older(&dead[heap[child]], &dead[heap[child + 1]]))
			child++;
		if (!is_older(&dead[moving], &dead[heap[child]]))
			break;
		heap[i] = heap[child];
	}
	heap[i] = moving;
}

/* Indices of the dead, oldest first, in the room of the entries, which are read. */
static const uint16_t *
oldest_first(struct work *w)
{
	uint16_t *order = (void *)w->entries;

	_Static_assert(sizeof(w->entries) >= KEEP_LOOKED_AT_MAX * sizeof(*order),
		       "order");
	for (uint32_t i = 0; i < w->ndead; i++)
		order[i] = (uint16_t)i;
	for (uint32_t i = w->ndead / 2; i-- > 0;)
		sink(order, w->dead, i, w->ndead);
	for (uint32_t n = w->ndead; n > 1;) {
		uint16_t newest = order[0];

		order[0] = order[--n];
		order[n] = newest;
		sink(order, w->dead, 0, n);
	}
	return order;
}

static void
remove_oldest(struct work *w, uint32_t newest)
{
	const uint16_t *order = oldest_first(w);
	struct stat st;

	for (uint32_t i = 0; i + newest < w->ndead; i++) {
		const struct dead *d = &w->dead[order[i]];

		/* Whoever else may have put another file in its place, it is not for
		 * us. */
		if (SYS4(SYS_newfstatat, w->folder, d->name, &st, AT_SYMLINK_NOFOLLOW) ==
			    0 &&
		    is_our_file(w, &st) && st.st_ino == d->inode)
			SYS3(SYS_unlinkat, w->folder, d->name, 0);
	}
}

void
keep_newest(const char *dir, uint32_t newest)
{
	struct work *w;
	long fd;

	if (newest == KEEP_ALL || rt_sealed || proc_start_ticks(0) <= 0)
		return;
	fd = sys_open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	w = rt_map(sizeof(*w));
	if (w != NULL && SYS2(SYS_flock, fd, LOCK_EX | LOCK_NB) != -EWOULDBLOCK) {
		w->folder = (int)fd;
		w->uid = (uint32_t)SYS0(SYS_geteuid);
		look_at_all(w);
		if (w->ndead > newest)
			remove_oldest(w, newest);
		SYS2(SYS_flock, fd, LOCK_UN); /* a child forked meanwhile has it too */
	}
	rt_unmap(w, sizeof(*w));
	sys_close((int)fd);
}
