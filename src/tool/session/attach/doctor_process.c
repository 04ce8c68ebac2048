/* SPDX-License-Identifier: MIT */
/* doctor_process.c -- see doctor_process.h.
 *
 * Watching needs to read smaps, which ptrace_scope does not forbid; telling live from
 * freed memory, dumping and attaching need its memory, which it may. So each is tried for
 * itself. What is said about attaching is what `seep attach` would say. */
#include "tool/session/attach/doctor_process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tool/session/watch/watcher.h"
#include "tool/target/attach/armed.h"
#include "tool/target/attach/attach.h"
#include "tool/target/attach/session.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/target/proc/cgroup.h"
#include "tool/target/proc/procmem.h"
#include "tool/target/trace/tracee_nice.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"

static void say_to(doctor_sayer *say, enum doctor_mark mark, const char *what,
		   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static void
say_to(doctor_sayer *say, enum doctor_mark mark, const char *what, const char *fmt, ...)
{
	struct buf b = {0};
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&b, fmt, ap);
	va_end(ap);
	say(mark, what, buf_str(&b));
	buf_done(&b);
}

const char *
doctor_no_access(const struct refusal_facts *f, bool contents)
{
	static char text[256];
	const char *command = contents ? "dump" : "watch";

	if (f->our_uid == 0 && !f->cap_ptrace)
		snprintf(text, sizeof text,
			 "CAP_SYS_PTRACE is missing here; start the container with "
			 "--cap-add=SYS_PTRACE (Kubernetes: securityContext: "
			 "{capabilities: {add: [SYS_PTRACE]}}), or run seep on the host");
	else if (f->uid != f->our_uid && !f->cap_ptrace)
		snprintf(text, sizeof text, "it belongs to uid %u; run: sudo seep %s %d",
			 (unsigned)f->uid, command, f->pid);
	else if (contents && f->yama == 3)
		snprintf(
			text, sizeof text,
			"kernel.yama.ptrace_scope=3 forbids it until the next boot, also "
			"to root; use: seep watch %d",
			f->pid);
	else if (contents && f->yama > 0 && !f->cap_ptrace)
		snprintf(text, sizeof text,
			 "kernel.yama.ptrace_scope=%d forbids it; run: sudo seep %s %d",
			 (int)f->yama, command, f->pid);
	else if (!f->cap_ptrace)
		snprintf(text, sizeof text,
			 "it protects itself (not dumpable, or it gained rights when it "
			 "was started); run: sudo seep %s %d",
			 command, f->pid);
	else
		snprintf(
			text, sizeof text,
			"a security module (SELinux, AppArmor) or another user namespace "
			"forbids it; run seep on the host");
	return text;
}

/* ---- checks ---- */

/* Its memory may be read: something that every process has mapped is tried. */
static bool
can_read(const struct procmem *m, const struct memmap *map)
{
	for (size_t i = 0; i < map->areas.len; i++) {
		const struct memmap_area *a = &map->areas.data[i];
		uint64_t word;

		if (a->perms[0] == 'r' && a->kib[MEMMAP_RSS] > 0 && a->inode != 0)
			return procmem_read(m, a->start, &word, sizeof word) == 0;
	}
	return false;
}

static void
check_contents(struct watcher *w, const struct refusal_facts *f, bool cannot,
	       doctor_sayer *say)
{
	if (!can_read(&w->mem, &w->map)) {
		say_to(say, DOCTOR_NOTE, "contents",
		       "cannot separate live memory from freed, nor dump it: %s",
		       doctor_no_access(f, true));
		return;
	}
	if (w->heap.known)
		say_to(say, DOCTOR_OK, "contents",
		       "readable; malloc is glibc's, with %u arena%s", w->heap.arenas,
		       w->heap.arenas == 1 ? "" : "s");
	else if (cannot)
		say_to(say, DOCTOR_NOTE, "contents",
		       "readable, but watch cannot separate live memory from freed: %s",
		       w->heap.why);
	else
		say_to(say, DOCTOR_NOTE, "contents",
		       "readable, but watch cannot separate live memory from freed: %s; "
		       "try: seep leaks %d",
		       w->heap.why, w->mem.pid);
}

static void
check_watch(int pid, const struct refusal_facts *f, bool cannot, doctor_sayer *say)
{
	struct watcher *w = NULL;
	struct err e = {0};

	if (watcher_once(pid, &w, &e) == -ESRCH) {
		say_to(say, DOCTOR_BAD, "watch", "%s", e.msg);
	} else if (w == NULL) {
		say_to(say, DOCTOR_BAD, "watch", "%s", doctor_no_access(f, false));
	} else {
		say_to(say, DOCTOR_OK, "watch", "works: %zu mappings, %zu regions",
		       w->map.areas.len, w->regions.list.len);
		check_contents(w, f, cannot, say);
	}
	watcher_free(w);
}

static void
check_attach(const struct refusal_facts *f, doctor_sayer *say)
{
	struct attach_settings s = {.mode = REC_MODE_SAMPLE,
				    .rate_bytes = SESSION_RATE_DEFAULT,
				    .max_bytes = UINT64_C(256) << 20};
	struct attach a = ATTACH_NOTHING;
	struct err e = {0};

	/* As far as it goes without touching it. */
	if (refusal_check(f, &e) < 0 ||
	    (!armed_loaded(f->pid) && attach_look(f->pid, &s, &a, &e) < 0))
		say_to(say, DOCTOR_BAD, "attach", "%s", e.msg);
	else
		say_to(say, DOCTOR_OK, "attach", "works: seep attach %d", f->pid);
	attach_close(&a);
}

/* Whether two names lead to the same namespace; so it is when one cannot be read. */
static bool
same_namespace(int pid, const char *name)
{
	char its[64], ours[64];
	struct stat a, b;

	snprintf(its, sizeof its, "/proc/%d/ns/%s", file_proc_task(pid), name);
	snprintf(ours, sizeof ours, "/proc/self/ns/%s", name);
	return stat(its, &a) < 0 || stat(ours, &b) < 0 ||
	       (a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

static void
check_surroundings(int pid, const struct refusal_facts *f, doctor_sayer *say)
{
	struct cgroup_memory c;
	bool user = !same_namespace(pid, "user"), mounts = !same_namespace(pid, "mnt");
	bool pids = !same_namespace(pid, "pid");

	if (user)
		say_to(say, DOCTOR_NOTE, "namespaces",
		       "its own users: only root of this side can look into it; sudo");
	else if (mounts || pids)
		say_to(say, DOCTOR_NOTE, "namespaces",
		       "its own %s%s%s; its files are read through /proc/%d/root, and %d "
		       "is its number here",
		       mounts ? "files" : "", mounts && pids ? " and " : "",
		       pids ? "process numbers" : "", pid, pid);
	if (f->seccomp > 0)
		say_to(say, DOCTOR_NOTE, "seccomp",
		       "it filters its system calls; watching is not affected");
	cgroup_memory(pid, &c);
	if (c.machine)
		say_to(say, DOCTOR_OK, "memory limit", "none but the machine's %s",
		       fmt_size(c.limit_bytes).s);
	else
		say_to(say, DOCTOR_OK, "memory limit", "%s, %s used, by cgroup %s",
		       fmt_size(c.limit_bytes).s,
		       fmt_percent(c.used_bytes, c.limit_bytes).s, c.group);
}

void
doctor_process(int pid, bool cannot, doctor_sayer *say)
{
	struct tracee_nice_left left;
	struct refusal_facts f;

	refusal_read(pid, &f);
	if (!f.exists)
		return;
	check_watch(pid, &f, cannot, say);
	if (tracee_nice_left(pid, &left))
		say_to(say, DOCTOR_BAD, "priority",
		       "a seep that was killed left its thread %d at nice %d instead of "
		       "%d; run: seep detach -q %d",
		       left.tid, TRACEE_NICE_MOST, left.nice, pid);
	check_attach(&f, say);
	check_surroundings(pid, &f, say);
}
