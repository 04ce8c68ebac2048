/* SPDX-License-Identifier: MIT */
/* full.c -- unwinding with all registers: slow, and right where rules in one word are
 * not.
 *
 * Used for the few frames whose CFA is in another register or behind an expression, and
 * for signal frames, where every register comes out of memory. Nothing is cached: what
 * costs is running the instructions again, about a microsecond a frame.
 *
 * A register counts as known only if it was captured, restored by a rule, or is one that
 * calls preserve. A rule that asks for an unknown one ends the walk instead of
 * guessing. */
#include "guest/unwind/full.h"

#include <string.h>

enum full_how
full_find(const struct unw_shared *s, struct cfi_scratch *scratch,
	  const struct unw_regs *regs, uint64_t *ret_rule)
{
	uintptr_t addr = full_address(regs);
	struct unw_module m;

	switch (rules_row(s, scratch, addr, &m)) {
	case ROW_FOUND:
		*ret_rule = rules_from_row(&scratch->row, m.id);
		if (!ARCH_SIGNAL_TABLES && scratch->row.signal && arch_is_sigreturn(addr))
			return FULL_SIGRETURN;
		return FULL_TABLE;
	case ROW_NO_TABLE:
		if (regs->exact || !arch_is_sigreturn(addr)) {
			*ret_rule = rule_chain(m.id);
			return FULL_CHAIN;
		}
		*ret_rule = rule_make(RULE_HARD, m.id);
		return FULL_SIGRETURN;
	default:
		*ret_rule = rule_chain(0);
		return FULL_CHAIN;
	}
}

static bool
full_known(const struct unw_regs *regs, uint64_t reg)
{
	return reg < ARCH_REGS && (regs->valid >> reg & 1) != 0;
}

static bool
full_cfa(struct cfi_scratch *scratch, const struct unw_regs *regs, uintptr_t *ret_cfa)
{
	const struct cfi_row *row = &scratch->row;

	if (row->cfa.how == CFI_VAL_EXPR)
		return cfi_eval(scratch, row->cfa.value, regs, NULL, ret_cfa);
	if (!full_known(regs, (uint64_t)row->cfa.value))
		return false;
	*ret_cfa = regs->r[row->cfa.value] + (uintptr_t)row->cfa_offset;
	return true;
}

/* The caller's value of `reg`; false when it is lost. */
static bool
full_register(struct cfi_scratch *scratch, const struct unw_regs *regs, unsigned reg,
	      uintptr_t cfa, uintptr_t *ret_value)
{
	const struct cfi_reg *how = &scratch->row.regs[reg];
	uintptr_t at = cfa + (uintptr_t)how->value;

	switch (how->how) {
	case CFI_UNSAID:
		if (reg == ARCH_REG_SP) {
			*ret_value = cfa;
			return true;
		}
		if ((ARCH_CALLEE_SAVED >> reg & 1) == 0 && reg != scratch->row.ra)
			return false;
		FALLTHROUGH;
	case CFI_SAME:
		*ret_value = regs->r[reg];
		return full_known(regs, reg);
	case CFI_UNDEFINED:
		return false;
	case CFI_VAL_OFFSET:
		*ret_value = at;
		return true;
	case CFI_REGISTER:
		if (!full_known(regs, (uint64_t)how->value))
			return false;
		*ret_value = regs->r[how->value];
		return true;
	case CFI_VAL_EXPR:
		return cfi_eval(scratch, how->value, regs, &cfa, ret_value);
	case CFI_EXPR:
		if (!cfi_eval(scratch, how->value, regs, &cfa, &at))
			return false;
		FALLTHROUGH;
	case CFI_OFFSET:
		if (at < 4096)
			return false; /* no memory is there */
		memcpy(ret_value, (const void *)at, sizeof *ret_value);
		return true;
	}
	return false;
}

bool
full_apply(struct cfi_scratch *scratch, struct unw_regs *regs)
{
	struct unw_regs *next = &scratch->next;
	unsigned ra = scratch->row.ra;
	uintptr_t cfa;

	regs->r[ARCH_REG_PC] = regs->pc;
	regs->valid |= (uint64_t)1 << ARCH_REG_PC;
	if (!full_cfa(scratch, regs, &cfa))
		return false;
	next->valid = 0;
	for (unsigned i = 0; i < ARCH_REGS; i++) {
		if (full_register(scratch, regs, i, cfa, &next->r[i]))
			next->valid |= (uint64_t)1 << i;
	}
	if (!full_known(next, ra) || !full_known(next, ARCH_REG_SP))
		return false;
	next->pc = arch_strip(next->r[ra]);
	next->exact = scratch->row.signal;
	/* Its value was for this return; the next frame has to say where its own is. */
	if (!scratch->row.signal)
		next->valid &= ~((uint64_t)1 << ra);
	*regs = *next;
	return true;
}

void
full_apply_chain(struct unw_regs *regs)
{
	const uintptr_t *record = (const uintptr_t *)regs->r[ARCH_REG_FP];

	regs->r[ARCH_REG_SP] = (uintptr_t)(record + 2);
	regs->r[ARCH_REG_FP] = record[0];
	regs->pc = arch_strip(record[1]);
	regs->valid = (uint64_t)1 << ARCH_REG_SP | (uint64_t)1 << ARCH_REG_FP;
	regs->exact = false;
}
