/* SPDX-License-Identifier: MIT */
/* freeze_x86_64.c -- stopping the threads of a process and taking their registers.
 *
 * Vector registers count: a copy under way may hold the only pointer to a block. */
#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "target/freeze.h"

enum { XSTATE_WORDS = 2048 }; /* 16 KiB: with room for what is to come */

static void
add_registers(struct freeze *f, int tid)
{
	static uint64_t xstate[XSTATE_WORDS];
	struct user_regs_struct regs;
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
	if (r < 0)
		return r;
	f->stopped = true;
	f->threads.len = 0;
	f->words.len = 0;
	for (size_t i = 0; i < f->tracee.threads.len; i++) {
		const struct tracee_thread *t = &f->tracee.threads.data[i];

		vec_push(&f->threads,
			 (struct freeze_thread){.tid = t->tid,
						.sp = t->tid == but ? 0 : t->sp});
		if (t->tid != but)
			add_registers(f, t->tid);
	}
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
