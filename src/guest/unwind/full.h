/* SPDX-License-Identifier: MIT */
/* full.h -- unwinds one frame with all registers, by the letter of its table. Inside the
 * unwinder only. */
#ifndef SEEP_UNWIND_FULL_H
#define SEEP_UNWIND_FULL_H

#include "guest/unwind/rules.h"

enum full_how {
	FULL_TABLE,	/* scratch->row describes the frame */
	FULL_SIGRETURN, /* the kernel's signal frame, without a table */
	FULL_CHAIN,	/* nothing known */
};

/* The address by which the frame is known: pc, or pc + 1 when it was interrupted
 * there. */
static inline uintptr_t
full_address(const struct unw_regs *regs)
{
	return regs->exact ? regs->pc + 1 : regs->pc;
}

/* How the frame at `regs` is to be left; its rule goes to *ret_rule. Reads tables
 * only. */
enum full_how full_find(const struct unw_shared *s, struct cfi_scratch *scratch,
			const struct unw_regs *regs, uint64_t *ret_rule);

/* Leaves the frame as scratch->row says. False when a register it needs is not known. */
bool full_apply(struct cfi_scratch *scratch, struct unw_regs *regs);

/* Leaves it by its frame record, which the caller found plausible. */
void full_apply_chain(struct unw_regs *regs);

#endif
