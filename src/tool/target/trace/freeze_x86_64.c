/* SPDX-License-Identifier: MIT */
/* freeze_x86_64.c -- stopping the threads of a process and taking their registers.
 *
 * Vector registers count: a copy under way may hold the only pointer to a block. */
#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "tool/target/trace/freeze.h"

enum { XSTATE_WORDS = 2048 }; /* 16 KiB: with room for what is to come */

static void
add_registers(struct freeze *f, int tid)
{
	static uint64_t xstate[XSTATE_WORDS];
	struct user_regs_struct regs = {0};
	struct iovec io = {xstate, sizeof xstate};
	const uint64_t *r = (const uint64_t *)(const void *)&regs;

	if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0) {
		for (size_t i = 0; i < sizeof regs / sizeof *r; i++)
			vec_push(&f->words, r[i]);
	}
	if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) == 0) {
		for (size_t i = 0; i < io.iov_len / sizeof *xstate; i++)
			vec_push(&f->words, xstate[i]);
	}
}

int
freeze_stop(struct freeze *f, int but, struct err *e)
{
	int r = f->tracee.mem_fd < 0 ? tracee_open(f->pid, &f->tracee, e) : 0;

	if (r == 0)
		r = tracee_stop(&f->tracee, e);
	/* Only root may suspend a filter of system calls; to stop and to read takes
	 * none. */
	if (r == -EPERM && f->tracee.suspend_seccomp) {
		f->tracee.suspend_seccomp = false;
		f->filtered = true;
		r = tracee_stop(&f->tracee, e);
	}
	if (r < 0)
		return r;
	f->stopped = true;
	f->threads.len = 0;
	f->words.len = 0;
	for (size_t i = 0; i < f->tracee.threads.len; i++) {
		const struct tracee_thread *t = &f->tracee.threads.data[i];

		vec_push(&f->threads,
			 (struct freeze_thread){.tid = t->tid,
						.sp = t->tid == but ? 0 : t->sp,
						.pc = t->ip,
						.tp = t->tp,
						.regs = f->words.len});
		if (t->tid != but)
			add_registers(f, t->tid);
	}
	return 0;
}

/* ---- copy ---- */

/* Most of a mapping that is looked into to see whether the program has kept it from its
 * children. */
#define WIPED_BYTES_MOST (UINT64_C(4) << 20)

/* What the copy has other bytes in than the process, or will have in a moment. */
static bool
differs(struct freeze *now, struct freeze *copy, const struct memmap_area *a)
{
	const struct memmap_area *there = memmap_find(&copy->map, a->start);
	struct pagescan_run run;

	if (freeze_is_device(a->name))
		return false;
	if (a->perms[0] != 'r' || a->perms[1] != 'w')
		return freeze_is_shared_memory(a);
	if (there == NULL || a->perms[3] == 's')
		return true;
	return a->inode == 0 && a->end - a->start <= WIPED_BYTES_MOST &&
	       !pagescan_next(&copy->pages, a->start, a->end, &run) &&
	       pagescan_next(&now->pages, a->start, a->end, &run);
}

int
freeze_copy(struct freeze *f, struct err *e)
{
	struct freeze copy = FREEZE_NONE;
	struct tracee_copy made = {0};
	int r = f->filtered
			? err_set(e, -EPERM,
				  "%d: a filter (seccomp) may forbid it to fork", f->pid)
			: tracee_copy_make(&f->tracee, &made, e);

	if (r == 0)
		r = freeze_open_bare(made.pid, &copy, e);
	if (r < 0) {
		tracee_copy_end(&made, &f->tracee);
		return r;
	}
	for (size_t i = 0; i < f->map.areas.len; i++) {
		const struct memmap_area *a = &f->map.areas.data[i];

		if ((a->inode == 0 || a->inode != f->left_out_inode) &&
		    differs(f, &copy, a) && !freeze_keep(f, a->start, a->end)) {
			freeze_close(&copy);
			tracee_copy_end(&made, &f->tracee);
			freeze_forget(f);
			return err_set(
				e, -ENOMEM,
				"%d: not enough memory to copy its shared mappings",
				f->pid);
		}
	}
	procmem_close(&f->mem);
	if (f->mem_fd > 0)
		close(f->mem_fd);
	f->mem_fd = 0;
	f->mem = copy.mem;
	copy.mem = (struct procmem)PROCMEM_NONE;
	pagescan_init(&f->pages, &f->mem);
	f->passing_start = f->passing_end = 0;
	f->copy = made;
	freeze_close(&copy);
	return 0;
}

void
freeze_go(struct freeze *f)
{
	if (f->stopped)
		tracee_go(&f->tracee);
	f->stopped = false;
}

void
freeze_late(void)
{
	tracee_late();
}
