/* SPDX-License-Identifier: MIT */
/* tracee_inside.c -- where stopped threads are, and will come back to. See tracee.h. */
#include <sys/ptrace.h>
#include <sys/user.h>

#include "tool/target/trace/tracee_impl.h"

enum {
	STACK_LOOK =
		64 << 10, /* bytes of a stack that are looked at, from its pointer on */
	RED_ZONE = 128,
};

bool
tracee_in_spans(uint64_t word, const struct tracee_span *spans, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (word >= spans[i].start && word < spans[i].end)
			return true;
	}
	return false;
}

static bool
thread_inside(const struct tracee *t, const struct tracee_thread *th,
	      const struct tracee_span *spans, unsigned n)
{
	static uint64_t words[STACK_LOOK / 8];
	struct user_regs_struct regs;
	const uint64_t *r = (const uint64_t *)(const void *)&regs;
	uint64_t at = (th->sp - RED_ZONE) & ~UINT64_C(7);
	size_t got;

	if (ptrace(PTRACE_GETREGS, th->tid, NULL, &regs) < 0)
		return true; /* who knows */
	for (size_t i = 0; i < sizeof regs / sizeof *r; i++) {
		if (tracee_in_spans(r[i], spans, n))
			return true;
	}
	got = tracee_read_some(t, at, words, sizeof words); /* or up to its end */
	for (size_t i = 0; i < got / 8; i++) {
		if (tracee_in_spans(words[i], spans, n))
			return true;
	}
	return false;
}

bool
tracee_inside(struct tracee *t, const struct tracee_span *spans, unsigned n)
{
	for (size_t i = 0; i < t->threads.len; i++) {
		if (thread_inside(t, &t->threads.data[i], spans, n))
			return true;
	}
	return false;
}
