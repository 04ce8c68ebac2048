/* SPDX-License-Identifier: MIT */
/* attached.c -- see attached.h. */
#include "tool/session/attach/attached.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tool/format/format.h"
#include "tool/format/live/live_load.h"
#include "tool/session/attach/attached_beat.h"
#include "tool/session/attach/attached_check.h"
#include "tool/session/attach/attached_old.h"
#include "tool/session/load.h"
#include "tool/session/loop.h"
#include "tool/session/run/save.h"
#include "tool/session/watch/outside.h"
#include "tool/target/proc/cgroup.h"
#include "tool/target/run/find.h"
#include "tool/target/run/rundir.h"
#include "tool/util/clock.h"
#include "tool/util/cmdline/note.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum {
	FAMILY_MAX = 4096, /* descendants that are looked at */
	/* Sparing looks for children: */
	KIN_REST = 19,		 /* so many times as long as the last one took */
	KIN_MOST_NS = 250000000, /* after which a look ends */
	KIN_AGE_NS = 250000000,	 /* of a child, at least */
};

/* ---- which ---- */

int
attached_pids(const char *word, struct procfs_pids *pids, struct err *e)
{
	struct procfs_pids found = {0};
	char *end;
	long pid = strtol(word, &end, 10);
	int r;

	if (*word >= '0' && *word <= '9' && *end == '\0') {
		if (pid <= 0 || pid > INT32_MAX)
			return err_set(e, -ESRCH, "%s: no process has that number", word);
		procfs_pids_add(pids, (int)pid);
		return 0;
	}
	r = procfs_find(word, &found, e);
	for (size_t i = 0; r == 0 && i < found.len; i++) {
		if (found.data[i] != getpid())
			procfs_pids_add(pids, found.data[i]);
	}
	if (r == 0 && found.len == 0)
		r = format_is_program(word)
			    ? load_refuse_program(word, e)
			    : err_set(e, -ESRCH, "%s: no such process", word);
	vec_done(&found);
	return r;
}

int
attached_cgroup(const char *path, struct procfs_pids *pids, struct err *e)
{
	struct procfs_pids found = {0};
	int r = cgroup_processes(path, &found, e);

	for (size_t i = 0; i < found.len; i++) {
		if (found.data[i] != getpid())
			procfs_pids_add(pids, found.data[i]);
	}
	if (r == 0 && found.len == 0)
		r = err_set(e, -ESRCH, "%s: no process is in that control group", path);
	vec_done(&found);
	return r;
}

/* ---- the loop ---- */

void
attached_ignore_limits(void)
{
	signal(SIGXFSZ, SIG_IGN);
}

void
attached_signals(void)
{
	sigset_t set;

	loop_ending(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN); /* who reads our report may leave before it is over */
	attached_ignore_limits();
}

static int
open_one(int pid, const struct session_settings *s, struct attached_sessions *ss,
	 struct err *e)
{
	struct session *n = xcalloc(1, sizeof *n);
	struct session_settings own = *s;
	struct oldblocks old = {0};
	int r;

	*n = (struct session)SESSION_NONE;
	attached_beat_begin(ss);
	if (s->looks_ms > 0 && !s->from_start) {
		attached_old_choose(pid, &old);
		own.old = &old;
	}
	r = session_open(pid, &own, n, e);
	oldblocks_done(&old);
	attached_beat_end();
	if (r < 0)
		free(n);
	else
		vec_push(ss, n);
	return r;
}

int
attached_open(const struct procfs_pids *pids, const struct session_settings *s,
	      struct attached_sessions *ret, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < pids->len; i++) {
		r = open_one(pids->data[i], s, ret, e);
		if (r < 0 && pids->len > 1)
			note("%s", e->msg);
	}
	if (ret->len > 0)
		return (int)ret->len;
	return pids->len > 1
		       ? err_set(e, -EPERM,
				 "none of %zu processes could be attached to; for the reasons: seep doctor PID",
				 pids->len)
		       : r;
}

/* The recording of process `pid` in a folder; it stays there when the process is gone. */
static int
find_in_folder(int pid, const struct rundir *dir, struct livefile *ret, struct err *e)
{
	struct rundir_names names = {0};
	int r = err_set(e, -ENOENT, "the command was not recorded; see: seep doctor"), of;

	rundir_files(dir, &names);
	for (size_t i = 0; i < names.len; i++) {
		if (rundir_is_live_name(names.data[i], &of) && of == pid) {
			r = livefile_open(dir->fd, names.data[i], ret, e);
			break;
		}
	}
	rundir_names_done(&names);
	if (r == 0)
		ret->pid = pid;
	return r;
}

/* A child of ours that has ended; it can still be waited for. */
static bool
has_ended(int pid)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == pid;
}

int
attached_recorded(int pid, const struct rundir *dir, unsigned wait_ms,
		  struct attached_sessions *ret, struct err *e)
{
	struct session *n = xcalloc(1, sizeof *n);
	bool over = false;
	int r;

	*n = (struct session)SESSION_NONE;
	n->pid = pid;
	n->armed = true;
	for (unsigned ms = 0;; ms += ATTACHED_TICK_NS / 1000000) {
		r = find_in_folder(pid, dir, &n->attach.live, e);
		if (r == 0 || over || ms >= wait_ms)
			break;
		over = has_ended(pid); /* then one more look */
		if (!over)
			clock_nap(ATTACHED_TICK_NS);
	}
	procfs_stat(pid, &n->stat, NULL);
	if (r < 0)
		free(n);
	else
		vec_push(ret, n);
	return r;
}

static bool
is_open(const struct attached_sessions *ss, int pid)
{
	for (size_t i = 0; i < ss->len; i++) {
		if (ss->data[i]->pid == pid)
			return true;
	}
	return false;
}

/* Adds all that descend from the process. */
static void
family(int pid, struct procfs_pids *pids)
{
	struct procfs_pids children = {0};

	procfs_children(pid, &children);
	for (size_t i = 0; i < children.len && pids->len < FAMILY_MAX; i++) {
		size_t n = pids->len;

		procfs_pids_add(pids, children.data[i]);
		if (pids->len > n)
			family(children.data[i], pids);
	}
	vec_done(&children);
}

/* Connections and commands that are over at once are not worth stopping: most would end
 * on the way. */
static bool
is_too_young(int pid)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK), now = clock_ns(CLOCK_BOOTTIME);
	struct procfs_stat st;

	return procfs_stat(pid, &st, NULL) < 0 || hz == 0 ||
	       now < st.start_ticks * (1000000000 / hz) + KIN_AGE_NS;
}

void
attached_children(struct attached_sessions *ss, const struct session_settings *s,
		  struct attached_kin *kin)
{
	uint64_t spent = clock_ns(CLOCK_PROCESS_CPUTIME_ID), rest = 0;
	bool sparing = kin->sparing && kin->again;
	struct procfs_pids pids = {0};

	if (clock_ns(CLOCK_MONOTONIC) < kin->next_ns)
		return;
	for (size_t i = 0; i < ss->len; i++) {
		if (!ss->data[i]->ended)
			family(ss->data[i]->pid, &pids);
	}
	for (size_t i = 0; i < pids.len; i++) {
		struct err e = {0};

		if (sparing && clock_ns(CLOCK_PROCESS_CPUTIME_ID) - spent > KIN_MOST_NS)
			break;
		/* One that has just been forked and will be another program at once may
		 * be gone. */
		if (pids.data[i] != getpid() && !is_open(ss, pids.data[i]) &&
		    !(sparing && is_too_young(pids.data[i])))
			open_one(pids.data[i], s, ss, &e);
	}
	vec_done(&pids);
	if (sparing)
		rest = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - spent) * KIN_REST;
	kin->next_ns =
		clock_ns(CLOCK_MONOTONIC) + (rest > kin->every_ns ? rest : kin->every_ns);
	kin->again = true;
}

void
attached_tick(struct attached_sessions *ss)
{
	for (size_t i = 0; i < ss->len; i++) {
		struct session *s = ss->data[i];
		uint64_t due = s->looks.next_ms;

		session_tick(s);
		if (s->looks.next_ms != due && !s->ended)
			outside_look((struct outside **)&s->ctx, &s->attach.live,
				     session_age_ms(s));
	}
}

bool
attached_all_ended(const struct attached_sessions *ss)
{
	for (size_t i = 0; i < ss->len; i++) {
		if (!ss->data[i]->ended)
			return false;
	}
	return true;
}

bool
attached_detach(struct attached_sessions *ss)
{
	struct procfs_pids pids = {0};
	bool all = true;

	attached_beat_begin(ss); /* the last ones go on recording meanwhile */
	for (size_t i = 0; i < ss->len; i++) {
		struct err e = {0};

		family(ss->data[i]->pid, &pids);
		if (!ss->data[i]->ended)
			outside_last((struct outside **)&ss->data[i]->ctx,
				     &ss->data[i]->attach.live,
				     session_age_ms(ss->data[i]), ss->data[i]->anon_kib,
				     false);
		if (session_detach(ss->data[i], &e) < 0) {
			note("%s; try: seep detach %d", e.msg, ss->data[i]->pid);
			all = false;
		}
	}
	attached_beat_end();
	/* What was forked has our code too, and never records. */
	for (size_t i = 0; i < pids.len; i++) {
		struct detached d = {0};

		if (!is_open(ss, pids.data[i]) && pids.data[i] != getpid() &&
		    detach_patches(pids.data[i], &d, NULL) == 0 && d.found)
			detach_unmap(pids.data[i], NULL, NULL);
	}
	vec_done(&pids);
	return all;
}

void
attached_done(struct attached_sessions *ss)
{
	for (size_t i = 0; i < ss->len; i++) {
		outside_free(ss->data[i]->ctx);
		session_close(ss->data[i]);
		free(ss->data[i]);
	}
	vec_done(ss);
}

/* ---- results ---- */

int
attached_load_one(const struct session *s, struct prof *p, struct err *e)
{
	bool over = s->ended || (s->detached.found && s->detached.kept == 0);
	int r = live_load_fd(s->attach.live.fd, over, p, e);
	struct prof_process *pr;

	if (r < 0)
		return r;
	save_looks(p, p->nprocesses - 1, &s->looks);
	pr = &p->processes[p->nprocesses - 1];
	if (!s->ended || s->taken_out) {
		pr->end = PROF_END_RUNNING;
		pr->duration_ms = s->recorded_ms != 0 ? s->recorded_ms
						      : livefile_age_ms(&s->attach.live);
		pr->paused = false;
	}
	if (s->replaced) {
		pr->replaced_by = prof_str(p, s->replaced_by);
		pr->duration_ms = s->replaced_ms;
	}
	if (s->late)
		attached_old_save(p, p->nprocesses - 1, &s->old);
	pr->rss_kib = s->rss_kib;
	pr->rss_peak_kib = s->rss_peak_kib;
	outside_save(s->ctx, p, p->nprocesses - 1, &s->covered, !s->late);
	if (!s->ended)
		attached_limit(p, p->nprocesses - 1, s->pid,
			       livefile_head(&s->attach.live).before_kib);
	return 0;
}

/* Children that allocated something and are not recorded. */
static uint64_t
missed_children(const struct attached_sessions *ss, const struct session *parent)
{
	int parent_pid = (int)livefile_head(&parent->attach.live).pid;
	uint64_t n = parent->armed || parent->attach.control == NULL
			     ? 0
			     : __atomic_load_n(&parent->attach.control->forked,
					       __ATOMIC_RELAXED);

	for (size_t i = 0; i < ss->len && n > 0; i++)
		n -= ss->data[i]->counted_by == parent_pid;
	return n;
}

struct prof *
attached_load(const struct attached_sessions *ss, struct attached_check *checks,
	      bool children)
{
	struct prof *p = prof_new();

	for (size_t i = 0; i < ss->len; i++) {
		struct err e = {0};

		if (attached_load_one(ss->data[i], p, &e) < 0) {
			prof_add_damage(p, e.msg, 1);
			continue;
		}
		if (checks != NULL)
			attached_check_save(&checks[i], p, p->nprocesses - 1);
		if (children)
			p->processes[p->nprocesses - 1].lost[REC_LOST_MISSED] =
				missed_children(ss, ss->data[i]);
	}
	return p;
}

void
attached_limit(struct prof *p, uint32_t process, int pid, uint64_t before_kib)
{
	struct prof_memory m = {.process = process, .before_kib = before_kib};
	uint64_t own = p->processes[process].recorder_kib << 10;
	struct cgroup_memory c;
	uint32_t row;

	cgroup_memory(pid, &c);
	if (c.limit_bytes > 0 && c.limit_bytes < UINT64_MAX) {
		m.limit_bytes = c.limit_bytes;
		m.used_bytes = c.used_bytes > own ? c.used_bytes - own : 0;
		m.limit_machine = c.machine;
	}
	row = prof_add_memory(p);
	p->memories[row] = m;
}
