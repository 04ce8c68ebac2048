/* SPDX-License-Identifier: MIT */
/* mtrace_file.c -- the log of mtrace, written with system calls from memory of our own.
 *
 * Lines come at any rate. The first after a pause of 10 ms is written at once; those that
 * follow closely are collected and written, whole, as soon as there are 2 KiB of them:
 * that much, some 50 lines, is lost when the process is killed. exit, _exit and SIGTERM
 * at its default write the rest. (A mapping of the file would lose nothing, but make the
 * program die of SIGBUS should anybody truncate the log.) Each write looks first whether
 * the descriptor is still our file, because programs close what they do not know; then
 * the file is opened again by its full path, and never somebody else's file written to.
 *
 * fork: the child writes a log of its own, FILE.<pid>, begun at its first line with a
 * copy of the parent's up to the fork if that is not large, so that it can be read by
 * itself. A second process that is told to write where a living one does evades in the
 * same way (flock).
 *
 * Full disk, file size limit, file gone: the log ends there, with one line to standard
 * error. */
#include "guest/dropin/mtrace/mtrace_file.h"

#include "guest/dropin/mtrace/mtrace_where.h"
#include "guest/life/loader.h"
#include "guest/rt/lock.h"
#include "guest/rt/rt_map.h"
#include "guest/rt/rt_text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum {
	HELD_BYTES = 2048,
	ROOM_BYTES = 8192, /* more than one line of the longest */
	LINE_TAIL = 64,	   /* of a line, what follows the location */
	COPY_BYTES = 4 << 20,
	SMALL_FD = 256, /* ours is above those that programs count on */
	NESTED_LEAST = 512,
	PAUSE_NS = 10000000,
};

_Static_assert(HELD_BYTES + WHERE_TEXT_MAX + LINE_TAIL < ROOM_BYTES, "a line fits");

/* On a page that fork wipes. */
struct own {
	uint32_t lock;
	/* pid. 0 while a log is open: a forked child has to begin its own */
	uint32_t alive;
	uintptr_t holder; /* where on its stack the lock's owner is */
};

static struct own *own;
static struct {
	bool on;
	bool at_once; /* the process ends: hold nothing back */
	bool regular; /* a plain file, not a terminal or pipe */
	int fd;
	uint64_t dev, ino;
	uint64_t written, most; /* bytes, and how many there may be */
	uint64_t flushed_ns;	/* when it was written to last */
	uint32_t taken, done;	/* bytes of `room` given out, and filled */
	char base[4096];	/* as it was asked for */
	char path[4096];	/* as it is, from the root */
	char room[ROOM_BYTES];
} mlog;

static long
identity(int fd, struct stat *st)
{
	return SYS4(SYS_newfstatat, fd, "", st, AT_EMPTY_PATH);
}

static bool
is_ours(int fd)
{
	struct stat st;

	return identity(fd, &st) == 0 && st.st_dev == mlog.dev && st.st_ino == mlog.ino;
}

/* Out of the way of the program's own descriptors. */
static int
moved_up(int fd)
{
	long up = SYS3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, SMALL_FD);

	if (up < 0)
		return fd;
	sys_close(fd);
	return (int)up;
}

static void
give_up(const char *why)
{
	char line[256];
	struct text t = text_on(line, sizeof(line));

	mlog.on = false;
	text_add(&t, "<seep>: mtrace: ");
	text_add(&t, why);
	text_add(&t, "; the log ends here\n");
	SYS3(SYS_write, 2, line, t.len);
}

static bool
write_all(const char *p, size_t n)
{
	while (n > 0) {
		long got = SYS3(SYS_write, mlog.fd, p, n);

		if (got == -EINTR || got == -EAGAIN)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
		mlog.written += (uint64_t)got;
	}
	return true;
}

static bool
reopen(void)
{
	long fd = sys_open(mlog.path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY, 0);

	if (fd < 0)
		return false;
	if (!is_ours((int)fd)) {
		sys_close((int)fd);
		return false;
	}
	mlog.fd = moved_up((int)fd);
	return true;
}

/* Lock held. */
static void
flush(void)
{
	uint32_t n = mlog.done;

	mlog.taken = 0;
	mlog.done = 0;
	if (n == 0 || !mlog.on)
		return;
	if (rt_sealed)
		give_up("a seccomp filter came");
	else if (mlog.written + n > mlog.most)
		give_up("limit on file sizes reached");
	else if (!is_ours(mlog.fd) && !reopen())
		give_up("the file is gone");
	else if (!write_all(mlog.room, n))
		give_up("cannot write");
}

/* ---- opening ---- */

static void
learn_path(void)
{
	char link[40];
	struct text t = text_on(link, sizeof(link));
	long n;

	text_add(&t, "/proc/self/fd/");
	text_dec(&t, (uint64_t)mlog.fd);
	n = SYS4(SYS_readlinkat, AT_FDCWD, link, mlog.path, sizeof(mlog.path) - 1);
	mlog.path[n > 0 ? n : 0] = '\0';
}

static uint64_t
size_limit(void)
{
	struct {
		uint64_t cur, max;
	} lim = {UINT64_MAX, 0};

	SYS4(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, &lim);
	return lim.cur;
}

static bool
open_at(const char *path, bool shared)
{
	const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY;
	long fd = sys_open(path, flags, 0666);
	struct stat st;

	if (fd < 0 || identity((int)fd, &st) != 0)
		return false;
	if (shared && S_ISREG(st.st_mode) &&
	    SYS2(SYS_flock, fd, LOCK_EX | LOCK_NB) == -EWOULDBLOCK) {
		sys_close((int)fd);
		return false;
	}
	mlog.regular = S_ISREG(st.st_mode);
	if (mlog.regular)
		sys_ftruncate((int)fd, 0);
	mlog.fd = moved_up((int)fd);
	mlog.dev = st.st_dev;
	mlog.ino = st.st_ino;
	mlog.written = 0;
	mlog.most = mlog.regular ? size_limit() : UINT64_MAX;
	learn_path();
	return true;
}

static bool
open_beside(void)
{
	static char path[sizeof(mlog.base) + 16]; /* under the lock */
	struct text t = text_on(path, sizeof(path));

	text_add(&t, mlog.base);
	text_add(&t, ".");
	text_dec(&t, (uint64_t)sys_getpid());
	return open_at(path, false);
}

/* Room for `n` bytes, lock held. */
static char *
take(size_t n)
{
	char *p = mlog.room + mlog.taken;

	if (n > sizeof(mlog.room) - mlog.taken)
		return NULL;
	mlog.taken += (uint32_t)n;
	return p;
}

static void
put(const char *s)
{
	size_t n = text_len(s);
	char *p = take(n);

	if (p == NULL)
		return;
	memcpy(p, s, n);
	mlog.done = mlog.taken;
}

/* The parent's log, as far as it had come at the fork. */
static void
copy_from(const char *path, uint64_t bytes)
{
	long fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0);
	enum { STEP = 64 << 10 };
	char *buf = rt_map(STEP);
	long got;

	while (fd >= 0 && buf != NULL && bytes > 0 &&
	       (got = sys_read((int)fd, buf, bytes < STEP ? bytes : STEP)) > 0 &&
	       write_all(buf, (size_t)got))
		bytes -= (uint64_t)got;
	if (fd >= 0)
		sys_close((int)fd);
	if (buf != NULL)
		rt_unmap(buf, STEP);
}

/* First line of a forked child. Lock held. */
static COLD void
begin_child(void)
{
	static char parent[sizeof(mlog.path)]; /* under the lock; stacks may be small */
	uint64_t upto = mlog.written;

	own->alive = (uint32_t)sys_getpid();
	mlog.taken = mlog.done;
	mlog.at_once = false;
	if (!mlog.regular)
		return;
	memcpy(parent, mlog.path, sizeof(parent));
	if (is_ours(mlog.fd))
		sys_close(mlog.fd);
	if (!open_beside()) {
		give_up("cannot open a log for this child");
	} else if (upto > COPY_BYTES) {
		mlog.taken = 0;
		put("= Start\n");
	} else {
		copy_from(parent, upto);
	}
}

/* ---- lock ---- */

enum held { HELD_NOT, HELD_OURS, HELD_NESTED };

/* Nested: a signal handler runs on top of a line being written by this thread. One that
 * was left by longjmp looks the same until the stack is above it again. */
static enum held
hold(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uint32_t me = lock_id();

	if (__atomic_load_n(&own->lock, __ATOMIC_RELAXED) == me &&
	    here + NESTED_LEAST < own->holder)
		return HELD_NESTED;
	if (!lock_take(&own->lock, me))
		return HELD_NOT;
	own->holder = here;
	if (UNLIKELY(mlog.on && own->alive == 0))
		begin_child();
	return HELD_OURS;
}

static void
let_go(enum held h)
{
	if (h == HELD_OURS)
		lock_drop(&own->lock);
}

/* ---- the lines ---- */

static char *
put_hex(char *p, uint64_t n)
{
	unsigned digits = (67 - (unsigned)__builtin_clzll(n | 1)) / 4;

	*p++ = '0';
	*p++ = 'x';
	for (unsigned i = digits; i-- > 0;)
		*p++ = "0123456789abcdef"[n >> (4 * i) & 15];
	return p;
}

/* What follows the location; returns the length. */
static size_t
tail(char *p, char op, uintptr_t addr, size_t bytes)
{
	char *start = p;

	*p++ = op;
	*p++ = ' ';
	if (addr == 0) {
		memcpy(p, "(nil)", 5);
		p += 5;
	} else {
		p = put_hex(p, addr);
	}
	if (op != '-' && op != '<') {
		*p++ = ' ';
		if (bytes == 0)
			*p++ = '0';
		else
			p = put_hex(p, bytes);
	}
	*p++ = '\n';
	return (size_t)(p - start);
}

static bool
was_quiet(void)
{
	uint64_t now = loader_host.clock_ns();

	if (now - mlog.flushed_ns < PAUSE_NS)
		return false;
	mlog.flushed_ns = now;
	return true;
}

void
mtrace_file_line(uintptr_t ra, char op, uintptr_t addr, size_t bytes)
{
	static char scratch[WHERE_TEXT_MAX]; /* under the lock */
	char end[LINE_TAIL];
	size_t n = tail(end, op, addr, bytes), len = 0;
	const char *where = "";
	enum held h;
	char *p;

	if (!mlog.on || own == NULL || (h = hold()) == HELD_NOT)
		return;
	if (h == HELD_OURS) /* nested: the look-up may be what was interrupted */
		where = where_text(ra, scratch, &len);
	if (h == HELD_OURS && len + n > sizeof(mlog.room) - mlog.taken)
		flush();
	p = take(len + n);
	if (p != NULL) {
		memcpy(p, where, len);
		memcpy(p + len, end, n);
		if (h == HELD_OURS)
			mlog.done = mlog.taken;
	}
	if (h == HELD_OURS && (mlog.done >= HELD_BYTES || mlog.at_once || was_quiet()))
		flush();
	let_go(h);
}

bool
mtrace_file_on(void)
{
	return mlog.on;
}

bool
mtrace_file_open(const char *path)
{
	struct text t = text_on(mlog.base, sizeof(mlog.base));
	enum held h;

	if (own == NULL && (own = rt_map_wiped(sizeof(*own))) == NULL)
		return false;
	h = hold();
	if (h != HELD_OURS || mlog.on) {
		let_go(h);
		return false;
	}
	text_add(&t, path);
	if (!t.cut && (open_at(path, true) || open_beside())) {
		own->alive = (uint32_t)sys_getpid();
		mlog.on = true;
		mlog.taken = mlog.done = 0;
		put("= Start\n");
	}
	let_go(h);
	return mlog.on;
}

void
mtrace_file_close(void)
{
	enum held h;

	if (!mlog.on || (h = hold()) != HELD_OURS)
		return;
	if (sizeof(mlog.room) - mlog.taken < LINE_TAIL)
		flush();
	put("= End\n");
	flush();
	mlog.on = false;
	if (is_ours(mlog.fd))
		sys_close(mlog.fd);
	let_go(h);
}

void
mtrace_file_leaving(void)
{
	enum held h;

	/* A child without a line of its own leaves none; a vfork's is no process in this
	 * sense. */
	if (!mlog.on || rt_sealed || own->alive != (uint32_t)sys_getpid() ||
	    (h = hold()) != HELD_OURS)
		return;
	mlog.at_once = true;
	flush();
	let_go(h);
}
