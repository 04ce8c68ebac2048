/* SPDX-License-Identifier: MIT */
/* refusal.c -- see refusal.h. */
#include "tool/target/attach/refusal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shared/recording.h"
#include "tool/target/attach/attach.h"
#include "tool/target/proc/inspect.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/proc/procstatus.h"
#include "tool/util/file.h"

enum {
	CAP_OVERRIDE = 1,
	CAP_PTRACE = 19, /* CAP_SYS_PTRACE */
	CAP_ADMIN = 21,	 /* CAP_SYS_ADMIN */
};

/* ---- facts ---- */

static void
read_program(struct refusal_facts *f)
{
	struct inspect_elf elf = {0};
	char path[64], link[256];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/exe", file_proc_task(f->pid));
	n = readlink(path, link, sizeof link);
	if (n > 0 && inspect_elf(path, &elf, NULL) == 0)
		f->traits = elf.traits;
}

static void
read_access(struct refusal_facts *f)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/mem", file_proc_task(f->pid));
	fd = open(path, O_RDWR | O_CLOEXEC);
	f->access = fd < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
}

/* Is there a recording of `seep attach` in it, and is it of this very process? */
static void
read_attached(struct refusal_facts *f)
{
	static const char name[] = "/memfd:" ATTACH_NAME;
	struct tracee t = TRACEE_NONE;
	struct procfs_maps maps = {0};
	struct procfs_map m;
	struct rec_head h;

	if (f->access != 0 || procfs_maps_open(&maps, f->pid, NULL) < 0 ||
	    tracee_open(f->pid, &t, NULL) < 0) {
		procfs_maps_close(&maps);
		return;
	}
	while (procfs_maps_next(&maps, &m)) {
		if (strncmp(m.path, name, sizeof name - 1) != 0 || m.offset != 0)
			continue;
		f->attached = true;
		f->attached_here = tracee_read(&t, m.start, &h, sizeof h, NULL) == 0 &&
				   (int)h.pid == procfs_ns_pid(f->pid);
	}
	tracee_close(&t);
	procfs_maps_close(&maps);
}

/* Between vfork and exec a child runs in its parent's memory, which other threads use
 * meanwhile. */
static bool
shares_memory(int pid, int with)
{
	enum { SAME_VM = 1 }; /* KCMP_VM */

	return with > 0 && syscall(SYS_kcmp, pid, with, SAME_VM, 0, 0) == 0;
}

static bool
descends(int pid, int from)
{
	struct procfs_stat st;

	for (int i = 0; i < 64 && pid > 1; i++) {
		if (procfs_stat(pid, &st, NULL) < 0)
			return false;
		if (st.ppid == from)
			return true;
		pid = st.ppid;
	}
	return false;
}

void
refusal_read(int pid, struct refusal_facts *ret_facts)
{
	struct refusal_facts f = {.pid = pid, .yama = -1, .seccomp = -1};
	uint64_t caps = procstatus_mask(getpid(), "CapEff");
	uint64_t bounds = procstatus_mask(getpid(), "CapBnd");
	struct procfs_stat st;
	char path[64];

	f.our_uid = geteuid();
	f.cap_ptrace = (caps >> CAP_PTRACE & 1) != 0;
	f.cap_admin = (caps >> CAP_ADMIN & 1) != 0;
	f.no_override = (caps >> CAP_OVERRIDE & 1) == 0;
	f.container = (bounds >> CAP_PTRACE & 1) == 0;
	f.yama = procfs_number("/proc/sys/kernel/yama/ptrace_scope");
	f.exists = pid > 0 && procfs_stat(pid, &st, NULL) == 0;
	if (f.exists) {
		snprintf(f.comm, sizeof f.comm, "%s", st.comm);
		f.state = st.state;
		f.kernel_thread = st.kernel_thread;
		f.ourselves = pid == getpid();
		f.our_child = descends(pid, getpid());
		f.tracer = (int)procstatus_number(pid, "TracerPid");
		if (f.tracer > 0)
			procfs_thread_name(f.tracer, f.tracer, f.tracer_name,
					   sizeof f.tracer_name);
		f.seccomp = procstatus_most(pid, "Seccomp");
		procfs_uid(pid, &f.uid);
		snprintf(path, sizeof path, "/proc/%d/ns/mnt", file_proc_task(pid));
		f.other_namespace = !file_same(path, "/proc/self/ns/mnt");
		read_program(&f);
		read_access(&f);
		read_attached(&f);
		f.shares_with = shares_memory(pid, st.ppid) ? st.ppid : 0;
	}
	*ret_facts = f;
}

/* ---- decisions ---- */

/* Why its memory is closed to us. */
static int
refuse_access(const struct refusal_facts *f, struct err *e)
{
	if (f->our_uid == 0 && !f->cap_ptrace)
		return err_set(
			e, -EPERM,
			"%d (%s): CAP_SYS_PTRACE is missing here; start the container "
			"with --cap-add=SYS_PTRACE (Kubernetes: securityContext: "
			"{capabilities: {add: [SYS_PTRACE]}}), or run seep on the host",
			f->pid, f->comm);
	if (f->uid != f->our_uid && !f->cap_ptrace)
		return err_set(e, -EPERM,
			       "%d (%s) belongs to uid %u; run: sudo seep attach %d",
			       f->pid, f->comm, (unsigned)f->uid, f->pid);
	if (!f->cap_ptrace && f->yama == 1 && !f->our_child)
		return err_set(
			e, -EPERM,
			"%d (%s): kernel.yama.ptrace_scope=1 allows tracing one's own "
			"children only; run: sudo seep attach %d",
			f->pid, f->comm, f->pid);
	if (!f->cap_ptrace && f->yama == 2)
		return err_set(
			e, -EPERM,
			"%d (%s): kernel.yama.ptrace_scope=2 leaves tracing to root; "
			"run: sudo seep attach %d",
			f->pid, f->comm, f->pid);
	if (!f->cap_ptrace)
		return err_set(
			e, -EPERM,
			"%d (%s) protects itself (not dumpable, or it gained rights "
			"when it was started); run: sudo seep attach %d",
			f->pid, f->comm, f->pid);
	if (f->no_override && f->uid != f->our_uid)
		return err_set(
			e, -EPERM,
			"%d (%s) belongs to uid %u, and CAP_DAC_OVERRIDE is missing "
			"here; start the container with --cap-add=DAC_OVERRIDE "
			"(Kubernetes: securityContext: {capabilities: {add: "
			"[DAC_OVERRIDE]}}), or run seep on the host",
			f->pid, f->comm, (unsigned)f->uid);
	return err_sys(e, f->access,
		       "%d (%s): a security module (SELinux, AppArmor) or another user "
		       "namespace keeps us from its memory; run seep on the host as root",
		       f->pid, f->comm);
}

static int
refuse_state(const struct refusal_facts *f, struct err *e)
{
	if (!f->exists)
		return err_set(e, -ESRCH, "%d: no such process", f->pid);
	if (f->ourselves)
		return err_set(e, -EINVAL,
			       "%d: that is seep itself; name another process", f->pid);
	if (f->state == 'Z' || f->state == 'X')
		return err_set(
			e, -ESRCH,
			"%d (%s) has ended and only waits for its parent; there is "
			"nothing left to attach to",
			f->pid, f->comm);
	if (f->kernel_thread)
		return err_set(e, -EINVAL,
			       "%d (%s) is a kernel thread; it has no memory of "
			       "its own",
			       f->pid, f->comm);
	if (f->tracer > 0)
		return err_set(e, -EBUSY,
			       "%d (%s) is already traced by %d (%s); detach that "
			       "first",
			       f->pid, f->comm, f->tracer, f->tracer_name);
	if (f->state == 'T' || f->state == 't')
		return err_set(e, -EBUSY,
			       "%d (%s) is stopped; let it go on first: kill -CONT %d",
			       f->pid, f->comm, f->pid);
	return 0;
}

int
refusal_check(const struct refusal_facts *f, struct err *e)
{
	int r = refuse_state(f, e);

	if (r < 0)
		return r;
	if (!f->cap_ptrace && f->yama == 3)
		return err_set(
			e, -EPERM,
			"%d (%s): kernel.yama.ptrace_scope=3 forbids tracing until "
			"the next boot; use: seep watch %d",
			f->pid, f->comm, f->pid);
	if (f->access != 0)
		return refuse_access(f, e);
	if ((f->traits & (INSPECT_CLASS32 | INSPECT_OTHER_MACHINE)) != 0)
		return err_set(
			e, -ENOTSUP,
			"%d (%s) is a program for another processor or a 32-bit one; "
			"use: seep watch %d",
			f->pid, f->comm, f->pid);
	if ((f->traits & INSPECT_SANITIZER) != 0)
		return err_set(
			e, -ENOTSUP,
			"%d (%s) was built with a sanitizer, which has a malloc of its "
			"own that checks every call; use a build without it",
			f->pid, f->comm);
	if (inspect_without_malloc(f->traits) != NULL)
		return err_set(e, -ENOTSUP, "%d (%s) is %s %d", f->pid, f->comm,
			       inspect_without_malloc(f->traits), f->pid);
	if (f->seccomp > 0 && !f->cap_admin)
		return err_set(
			e, -EPERM,
			"%d (%s) runs under seccomp, and what we would do in it could "
			"kill it; run: sudo seep attach %d",
			f->pid, f->comm, f->pid);
	if (f->seccomp == 1)
		return err_set(
			e, -ENOTSUP,
			"%d (%s) runs under strict seccomp: it may not map memory; use: "
			"seep watch %d",
			f->pid, f->comm, f->pid);
	if (f->shares_with > 0)
		return err_set(
			e, -EBUSY,
			"%d (%s) shares the memory of %d until it starts a program; "
			"attach to that one",
			f->pid, f->comm, f->shares_with);
	if (f->attached_here)
		return err_set(
			e, -EBUSY,
			"%d (%s) is attached to already; see: seep report %d, or end "
			"that: seep detach %d",
			f->pid, f->comm, f->pid, f->pid);
	return 0;
}
