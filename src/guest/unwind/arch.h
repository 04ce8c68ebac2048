/* SPDX-License-Identifier: MIT */
/* arch.h -- what the unwinder asks of a processor, and the one place that chooses it.
 *
 * Each arch_<name>.h defines
 *	ARCH_REGS registers tracked, numbered as in DWARF; the rest is skipped
 *	ARCH_REG_SP, _FP, _RA	stack pointer, frame pointer, return address column
 *	ARCH_REG_PC		column by which expressions mean the pc
 *	ARCH_CALLEE_SAVED	mask of registers that a call preserves
 *	ARCH_RA_FIXED		true when a call pushes the return address at CFA - 8
 *	ARCH_RED_ZONE		bytes below the stack pointer that signals leave alone
 *	ARCH_CHAIN_KEEPS_SP	true when following a frame pointer also tells the CFA
 *	ARCH_SIGNAL_TABLES	true when tables of signal frames tell all registers
 *	arch_strip(pc)		without pointer authentication bits
 *	arch_regs_here(regs)	captures the registers of the function it is used in
 *	arch_rule_*()		pack and unpack a rule, see rules.h
 * and arch_<name>.c the functions below. */
#ifndef SEEP_UNWIND_ARCH_H
#define SEEP_UNWIND_ARCH_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__x86_64__)
#	include "guest/unwind/arch_x86_64.h"
#elif defined(__aarch64__)
#	include "guest/unwind/arch_aarch64.h"
#else
#	error "the unwinder knows x86-64 and aarch64"
#endif

struct cfi_row;

/* All registers of one frame. */
struct unw_regs {
	uintptr_t r[ARCH_REGS];
	uint64_t valid; /* bit n: r[n] is known */
	uintptr_t pc;
	bool exact; /* pc is where the frame was interrupted, not a return address */
};

/* The row as a rule of a special kind (RULE_DRAP), or RULE_NONE. */
uint64_t arch_special_rule(const struct cfi_row *row, uint32_t module_id);

/* Is the code at `pc` the one the kernel has signal handlers return to? Reads a few bytes
 * at `pc`, so `pc` is known to be within a module. */
bool arch_is_sigreturn(uintptr_t pc);

/* Replaces the registers of such a frame by those of the frame that was interrupted. */
void arch_sigreturn_regs(struct unw_regs *regs);

#endif
