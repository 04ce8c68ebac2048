/* SPDX-License-Identifier: MIT */
/* arch_x86_64.c -- the parts of x86-64 that are more than a number: realigned stacks and
 * the kernel's signal frame. */
#include "guest/unwind/arch.h"

#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "guest/unwind/rules.h"

enum {
	OP_DEREF = 0x06,
	OP_BREG_FP = 0x70 + ARCH_REG_FP,
};

/* Is the block "frame pointer plus offset", and then read from there when `deref`? */
static bool
arch_fp_block(const struct cfi_row *row, int64_t at, bool deref, int64_t *ret_offset)
{
	struct eh_cur c;
	int64_t offset;

	if (!cfi_block(row, at, &c) || eh_uint(&c, 1) != OP_BREG_FP)
		return false;
	offset = eh_sleb(&c);
	if (deref && eh_uint(&c, 1) != OP_DEREF)
		return false;
	if (c.bad || c.p != c.end)
		return false;
	*ret_offset = offset;
	return true;
}

/* A function that realigns its stack keeps the CFA in memory, at a fixed place below rbp,
 * because the distance is not known to the compiler. */
uint64_t
arch_special_rule(const struct cfi_row *row, uint32_t module_id)
{
	struct cfi_reg ra = row->regs[ARCH_REG_RA], fp = row->regs[ARCH_REG_FP];
	int64_t cfa_at, fp_at;

	if (row->cfa.how != CFI_VAL_EXPR || fp.how != CFI_EXPR || ra.how != CFI_OFFSET ||
	    row->regs[ARCH_REG_SP].how != CFI_UNSAID)
		return RULE_NONE;
	if (!arch_fp_block(row, row->cfa.value, true, &cfa_at) ||
	    !arch_fp_block(row, fp.value, false, &fp_at) ||
	    !arch_rule_fits(cfa_at, fp_at, ra.value))
		return RULE_NONE;
	return rule_make(RULE_DRAP, module_id) |
	       arch_rule_offsets(cfa_at, fp_at, ra.value);
}

bool
arch_is_sigreturn(uintptr_t pc)
{
	/* mov $15, %rax; syscall -- in either encoding of the move */
	static const unsigned char wide[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const unsigned char narrow[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};

	return memcmp((const void *)pc, wide, sizeof wide) == 0 ||
	       memcmp((const void *)pc, narrow, sizeof narrow) == 0;
}

void
arch_sigreturn_regs(struct unw_regs *regs)
{
	/* The handler's return popped its address, so rsp points at the ucontext. Its
	 * general registers are in this order; rip follows rsp. */
	static const unsigned char order[] = {8, 9, 10, 11, 12, 13, 14, 15,
					      5, 4, 6,	3,  1,	0,  2,	7};
	const uintptr_t *saved = (const uintptr_t *)(regs->r[ARCH_REG_SP] +
						     offsetof(ucontext_t, uc_mcontext));

	for (unsigned i = 0; i < sizeof order; i++)
		regs->r[order[i]] = saved[i];
	regs->pc = saved[sizeof order];
	regs->valid = 0xffff;
	regs->exact = true;
}
