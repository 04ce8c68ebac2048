/* SPDX-License-Identifier: MIT */
/* ticker.c -- see ticker.h.
 *
 * Signals are blocked and waited for, so no disposition is changed that the
 * program could inherit, and none can interrupt us in the middle of something. A process
 * whose pid does not mean the same here (it lives in a pid namespace of its own) gets its
 * clock, but its memory is not looked at: those figures would be a stranger's.
 *
 * A run may have tens of thousands of processes, most of them gone: what is done in every
 * turn is done for the others only. */
#include "tool/target/run/ticker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shared/hash.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/liveobjects.h"
#include "tool/target/trace/freeze.h"
#include "tool/target/trace/tracee.h"
#include "tool/util/clock.h"
#include "tool/util/x.h"

#define MS UINT64_C(1000000)

enum {
	MEMORY_MS = 50,	     /* a process's memory is looked at so often, */
	MEMORY_SHARE = 8,    /* and while it is young after each eighth of its life, */
	MEMORY_LEAST_MS = 5, /* but no more often than this */
	PROGRESS_MS = 1000,
	TURN_MS = 5,	 /* at least: a turn reads /proc for each process */
	NAMES_MS = 1000, /* names of threads are looked at again at most so often */
	ANON_STEP_KIB = 1024,
	GROUP_MS = 50,
};

void
ticker_handled(sigset_t *set)
{
	static const int handled[] = {SIGCHLD, SIGINT,	SIGQUIT, SIGTERM,
				      SIGHUP,  SIGUSR1, SIGUSR2, SIGURG};

	sigemptyset(set);
	for (size_t i = 0; i < sizeof handled / sizeof *handled; i++)
		sigaddset(set, handled[i]);
}

void
ticker_signals(sigset_t *ret_before)
{
	sigset_t set;

	ticker_handled(&set);
	sigprocmask(SIG_BLOCK, &set, ret_before);
}

void
ticker_signals_end(const sigset_t *before)
{
	static const struct timespec now = {0};
	sigset_t set;

	/* What came with the program's own end was meant for it. */
	ticker_handled(&set);
	while (sigtimedwait(&set, NULL, &now) > 0)
		;
	sigprocmask(SIG_SETMASK, before, NULL);
}

/* ---- the recordings of the run ---- */

/* Names have 64 random bits, as 16 digits behind the pid. */
static uint64_t
name_key(const char *name)
{
	return strtoull(strchr(name, '.') + 1, NULL, 16);
}

static uint64_t
start_key(uint32_t pid, uint64_t start_ns)
{
	return hash_pair(start_ns, pid);
}

static void
tick_file(struct ticker_file *f, uint64_t now)
{
	uint64_t ms = now > f->start_mono_ns ? (now - f->start_mono_ns) / MS : 0;

	livefile_tick(&f->live, ms);
}

static void
close_memory(struct ticker_file *f)
{
	if (f->memory_fd >= 0)
		close(f->memory_fd);
	f->memory_fd = -1;
}

/* True when the file is known or need not be tried again. */
static bool
add_file(struct ticker *t, const char *name)
{
	struct livefile live = {.fd = -1};
	struct procfs_stat st;
	struct ticker_file *f;
	int r;

	if (!rundir_is_live_name(name, NULL) ||
	    map_find(&t->rows, name_key(name)) != NULL)
		return true;
	r = livefile_open(t->dir->fd, name, &live, NULL);
	if (r < 0)
		return r != -EAGAIN;
	*map_add(&t->rows, name_key(name)) = t->files.len;
	*map_add(&t->starts, start_key((uint32_t)live.pid, live.head->start_ns)) =
		t->files.len;
	vec_push(&t->living, (uint32_t)t->files.len);
	f = vec_add(&t->files);
	snprintf(f->name, sizeof f->name, "%s", name);
	f->live = live;
	f->pid = live.pid;
	f->process_ticks = live.head->process_ticks;
	f->start_ns = live.head->start_ns;
	f->start_mono_ns = live.head->start_mono_ns;
	f->looks.every_ms = t->looks_ms;
	f->memory_fd = procfs_memory_open(f->pid);
	f->seen_here = procfs_stat(f->pid, &st, NULL) == 0 &&
		       (f->process_ticks == 0 || st.start_ticks == f->process_ticks);
	if (f->seen_here) { /* it may have little time left */
		oom_look(&f->oom, f->pid);
		oom_note(&f->oom, &f->live);
	} else {
		close_memory(f);
	}
	__atomic_store_n(&live.head->tool_pid, (uint32_t)getpid(), __ATOMIC_RELAXED);
	tick_file(f, clock_ns(CLOCK_MONOTONIC));
	return true;
}

static void
try_file(struct ticker *t, const char *name)
{
	if (!add_file(t, name))
		vec_push(&t->unready, xstrdup(name));
}

static void
scan_folder(struct ticker *t)
{
	struct rundir_names names = {0};

	rundir_names_done(&t->unready);
	rundir_files(t->dir, &names);
	for (size_t i = 0; i < names.len; i++)
		try_file(t, names.data[i]);
	rundir_names_done(&names);
}

/* Takes in the recordings that were made since the last call, and those that were not
 * ready then. The whole folder is looked at only when the kernel lost count. */
static void
add_new_files(struct ticker *t)
{
	_Alignas(struct inotify_event) char events[4096];
	struct rundir_names again = t->unready;
	bool all = t->notify_fd >= 0;
	ssize_t got;

	t->unready = (struct rundir_names){0};
	for (size_t i = 0; i < again.len; i++)
		try_file(t, again.data[i]);
	rundir_names_done(&again);
	while (t->notify_fd >= 0 &&
	       (got = read(t->notify_fd, events, sizeof events)) > 0) {
		for (char *at = events; at < events + got;) {
			const struct inotify_event *ev =
				(const struct inotify_event *)(void *)at;

			if ((ev->mask & IN_Q_OVERFLOW) != 0)
				all = false;
			else if (ev->len > 0)
				try_file(t, ev->name);
			at += sizeof *ev + ev->len;
		}
	}
	if (!all)
		scan_folder(t);
}

/* Forgets the files of processes that are gone. */
static void
drop_gone(struct ticker *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->living.len; i++) {
		if (!t->files.data[t->living.data[i]].gone)
			t->living.data[n++] = t->living.data[i];
	}
	t->living.len = n;
}

/* ---- memory and names ---- */

static void
look_at_names(struct ticker_file *f, uint64_t now, bool always)
{
	uint64_t seen = f->live.head->threads_seen;

	if (!always && (seen == f->named_threads || now < f->named_ns + NAMES_MS * MS))
		return;
	f->named_threads = seen;
	f->named_ns = now;
	if (f->seen_here && livefile_map_all(&f->live, NULL) == 0)
		livefile_refresh_names(&f->live);
}

static uint64_t
without_own(const struct ticker_file *f, uint64_t anon)
{
	return anon > f->parts.own_kib ? anon - f->parts.own_kib : 0;
}

/* What of it is the program's. The parts are read anew when that seems to be more than
 * ever by a sixteenth, so a few dozen times in a long life; and at its end. */
static void
look_at_anon(struct ticker_file *f, uint64_t anon, bool held)
{
	uint64_t own = without_own(f, anon);
	struct livefile_head h;

	if (f->seen_here &&
	    (held || own > f->anon_kib + f->anon_kib / 16 + ANON_STEP_KIB) &&
	    anonparts_read(&f->live, &f->parts) == 0) {
		own = without_own(f, anon);
		__atomic_store_n(&f->live.head->own_kib, f->parts.own_kib,
				 __ATOMIC_RELAXED);
	}
	if (own > f->anon_kib)
		f->anon_kib = own;
	h = livefile_head(&f->live);
	covered_look(&f->covered, h.peak_bytes, h.live_bytes, own);
}

/* `held`: the process waits at its end. */
static void
look_at_file(struct ticker_file *f, uint64_t now, bool held)
{
	uint64_t rss = 0, anon = 0;
	int r = f->memory_fd >= 0 ? procfs_memory_read(f->memory_fd, &rss, &anon)
				  : procfs_memory(f->pid, &rss, &anon);

	if ((r < 0 || rss == 0) && f->memory_fd >= 0 && livefile_alive(&f->live)) {
		/* The thread whose file that is has ended, others have not. */
		close_memory(f);
		f->memory_fd = procfs_memory_open(f->pid);
		r = procfs_memory(f->pid, &rss, &anon);
	}
	if (r < 0 || ((rss == 0 || f->memory_fd < 0) && !livefile_alive(&f->live))) {
		f->gone = true;
		close_memory(f);
		if (!livefile_deleted(&f->live))
			livefile_close(&f->live);
		return;
	}
	look_at_names(f, now, false);
	if (rss == 0) /* its memory is already gone, it only waits to be reaped */
		return;
	f->rss_kib = rss;
	if (rss > f->rss_peak_kib)
		f->rss_peak_kib = rss;
	look_at_anon(f, anon, held);
	__atomic_store_n(&f->live.head->rss_kib, rss, __ATOMIC_RELAXED);
}

/* Soon again for a young process: a short life may end at its largest. */
static uint64_t
look_after_ns(const struct ticker_file *f, uint64_t now)
{
	uint64_t wait =
		now > f->start_mono_ns ? (now - f->start_mono_ns) / MEMORY_SHARE : 0;

	if (wait < MEMORY_LEAST_MS * MS)
		return MEMORY_LEAST_MS * MS;
	return wait < MEMORY_MS * MS ? wait : MEMORY_MS * MS;
}

static void
look_at_memory(struct ticker *t, uint64_t now)
{
	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];

		/* A recording left behind by exec has the pid of its successor. */
		if (!f->gone && f->live.head->life == REC_LIFE_EXEC) {
			f->gone = true;
			close_memory(f);
			livefile_close(&f->live);
		}
		if (f->gone || !f->seen_here || now < f->next_look_ns)
			continue;
		look_at_file(f, now, false);
		f->next_look_ns = now + look_after_ns(f, now);
	}
}

static void
look_at_totals(struct ticker *t, uint64_t now)
{
	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];
		uint64_t ms = now > f->start_mono_ns ? (now - f->start_mono_ns) / MS : 0;

		if (f->gone || !looks_due(&f->looks, ms))
			continue;
		looks_take(&f->looks, &f->live, ms);
		if (t->looked != NULL && f->seen_here)
			t->looked(f, ms);
	}
}

/* How full its memory limit is, in the recordings: they may be all that is left in the
 * end. */
static void
look_at_group(struct ticker *t, uint64_t now)
{
	uint64_t n = 0;

	if (now < t->next_oom_ns)
		return;
	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];

		if (f->gone || !f->seen_here)
			continue;
		oom_look(&f->oom, f->pid);
		oom_note(&f->oom, &f->live);
		n++;
	}
	t->next_oom_ns = now + (t->sampled ? 5 : 1) * (n + 1) * GROUP_MS * MS;
}

/* ---- checkpoints ---- */

static void
checkpoint_start(struct ticker *t)
{
	if (t->checkpoint == NULL || t->checkpoint_pid != 0)
		return;
	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];

		if (!f->gone)
			look_at_names(f, clock_ns(CLOCK_MONOTONIC), true);
	}
	t->checkpoint_pid = fork();
	if (t->checkpoint_pid == 0)
		_exit(t->checkpoint(t->ctx));
	if (t->checkpoint_pid < 0) {
		t->checkpoint_pid = 0;
		t->checkpoints_failed++;
	}
}

static void
checkpoint_ended(struct ticker *t, int status)
{
	t->checkpoint_pid = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		t->checkpoints++;
	else
		t->checkpoints_failed++;
}

/* ---- the loop ---- */

/* SI_KERNEL: the terminal sent it. */
void
ticker_pass_on(int pid, const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL && info->si_pid != pid)
		kill(pid, info->si_signo);
}

/* Takes in all children that ended. True when the program is one of them. */
static bool
reap(struct ticker *t)
{
	bool ended;
	int status, pid;

	pid = waitpid(t->child, &status, WNOHANG);
	if (pid == t->child && tracee_was_late(pid, status))
		pid = 0;
	if (pid == t->child)
		t->wait_status = status;
	/* ECHILD: somebody else has taken it in, which is no reason to wait for ever. */
	ended = pid == t->child || (pid < 0 && errno == ECHILD);
	if (t->checkpoint_pid != 0) {
		pid = waitpid(t->checkpoint_pid, &status, WNOHANG);
		if (pid == t->checkpoint_pid)
			checkpoint_ended(t, status);
	}
	return ended;
}

/* What is due besides the clock. */
static void
turn(struct ticker *t, uint64_t now)
{
	add_new_files(t);
	look_at_memory(t, now);
	look_at_totals(t, now);
	look_at_group(t, now);
	drop_gone(t);
	if (t->progress != NULL && now >= t->next_progress_ns) {
		t->progress(t->ctx, t);
		t->next_progress_ns = now + PROGRESS_MS * MS;
	}
	if (t->checkpoint_ns > 0 && now >= t->next_checkpoint_ns) {
		checkpoint_start(t);
		t->next_checkpoint_ns = now + t->checkpoint_ns;
	}
}

static void
start(struct ticker *t)
{
	t->start_ns = clock_ns(CLOCK_MONOTONIC);
	t->next_progress_ns = t->start_ns + PROGRESS_MS * MS;
	t->next_checkpoint_ns = t->start_ns + t->checkpoint_ns;
	t->notify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (t->notify_fd >= 0 &&
	    inotify_add_watch(t->notify_fd, t->dir->path, IN_CREATE | IN_MOVED_TO) < 0) {
		close(t->notify_fd);
		t->notify_fd = -1;
	}
}

/* ---- processes at their end ---- */

/* A process waits: if at its end, that was when it got there. All that comes after is our
 * doing. */
static void
note_stand(struct ticker_file *f)
{
	uint64_t now = clock_ns(CLOCK_MONOTONIC), waited;
	struct rec_hold at;

	/* No more than the first page need be mapped. */
	if (pread(f->live.fd, &at, sizeof at, REC_HOLD_OFF) != (ssize_t)sizeof at)
		return;
	waited = (uint64_t)((uint32_t)(now / MS) - at.stood_ms) * MS;
	if (at.why == REC_HOLD_ASKED || waited >= now - f->start_mono_ns + MS)
		return;
	f->stood_ns = now - waited;
	if (f->stood_ns <= f->start_mono_ns) /* both are that of a millisecond */
		f->stood_ns = f->start_mono_ns + 1;
}

/* True: it was looked at. SIGCHLD may have come meanwhile, and been taken by who stops
 * threads. */
static bool
look_if_held(struct ticker *t, struct ticker_file *f)
{
	if (__atomic_load_n(&f->live.head->hold, __ATOMIC_ACQUIRE) != REC_HOLD_WAITS)
		return false;
	note_stand(f);
	/* What it holds now is what it will end with. */
	if (f->seen_here)
		look_at_file(f, clock_ns(CLOCK_MONOTONIC), true);
	if (!f->gone && t->held != NULL)
		t->held(t->ctx, f);
	return true;
}

/* Nobody will look from now on: processes that go on need not wait at their end. */
static void
hold_no_more(struct ticker *t)
{
	for (size_t i = 0; i < t->files.len; i++) {
		struct rec_head *h = t->files.data[i].live.head;

		if (h == NULL)
			continue;
		__atomic_store_n(&h->hold, REC_HOLD_GO, __ATOMIC_RELEASE);
		syscall(SYS_futex, &h->hold, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	}
}

void
ticker_start(struct ticker *t, uint64_t *ret_tick_ns)
{
	start(t);
	scan_folder(t);
	pace_start(&t->pace, t->sampled, t->start_ns);
	*ret_tick_ns = t->pace.tick_ns;
}

bool
ticker_step(struct ticker *t, int sig, const siginfo_t *info, uint64_t now_ns,
	    uint64_t *ret_tick_ns)
{
	bool ended = false;

	if (sig == SIGCHLD) {
		freeze_late();
		ended = reap(t);
	} else if (sig == SIGURG) { /* from a process at its end, perhaps a new one */
		add_new_files(t);
	} else if (sig > 0) {
		ticker_pass_on(t->child, info);
	}
	for (size_t i = 0; i < t->living.len; i++) {
		struct ticker_file *f = &t->files.data[t->living.data[i]];

		if (f->gone)
			continue;
		tick_file(f, now_ns);
		if (look_if_held(t, f)) {
			freeze_late();
			ended = reap(t) || ended;
		}
	}
	if (now_ns >= t->next_turn_ns) {
		turn(t, now_ns);
		t->next_turn_ns = now_ns + TURN_MS * MS;
	}
	pace_adjust(&t->pace, now_ns);
	*ret_tick_ns = t->pace.tick_ns;
	return ended;
}

void
ticker_end(struct ticker *t)
{
	t->end_ns = clock_ns(CLOCK_MONOTONIC);
	if (t->checkpoint_pid != 0) {
		int status = 0;

		while (waitpid(t->checkpoint_pid, &status, 0) < 0 && errno == EINTR)
			;
		checkpoint_ended(t, status);
	}
	scan_folder(t);
	hold_no_more(t);
}

bool
ticker_runs(const struct ticker_file *f)
{
	const struct rec_head *h = f->live.head;

	return !f->gone && f->seen_here && h != NULL && h->life == REC_LIFE_RUNNING &&
	       __atomic_load_n(&h->hold, __ATOMIC_ACQUIRE) != REC_HOLD_WAITS;
}

const struct ticker_file *
ticker_find(const struct ticker *t, uint32_t pid, uint64_t start_ns)
{
	const uint64_t *row = map_find(&t->starts, start_key(pid, start_ns));
	const struct ticker_file *f = row != NULL ? &t->files.data[*row] : NULL;

	return f != NULL && (uint32_t)f->pid == pid && f->start_ns == start_ns ? f : NULL;
}

void
ticker_done(struct ticker *t)
{
	for (size_t i = 0; i < t->files.len; i++) {
		struct rec_head *h = t->files.data[i].live.head;

		if (h != NULL) {
			__atomic_store_n(&h->clock_ms, 0, __ATOMIC_RELAXED);
			__atomic_store_n(&h->tool_pid, 0, __ATOMIC_RELAXED);
		}
		livefile_close(&t->files.data[i].live);
		close_memory(&t->files.data[i]);
		looks_done(&t->files.data[i].looks);
	}
	vec_done(&t->files);
	vec_done(&t->living);
	map_done(&t->rows);
	map_done(&t->starts);
	rundir_names_done(&t->unready);
	if (t->notify_fd > 0)
		close(t->notify_fd);
	t->notify_fd = -1;
}
