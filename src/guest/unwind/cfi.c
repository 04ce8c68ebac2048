/* SPDX-License-Identifier: MIT */
/* cfi.c -- the call frame instructions of DWARF, as .eh_frame uses them.
 *
 * Only the row for one address is wanted, so the machine starts with the CIE's
 * instructions, runs the FDE's until they pass that address, and stops. Registers that
 * arch.h does not count (vector registers) are read over. */
#include "guest/unwind/cfi.h"

#include <string.h>

enum {
	CFA_ADVANCE = 0x40, /* these three carry an operand in the low six bits */
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE1 = 0x02,
	CFA_ADVANCE2 = 0x03,
	CFA_ADVANCE4 = 0x04,
	CFA_OFFSET_EXT = 0x05,
	CFA_RESTORE_EXT = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REG = 0x0d,
	CFA_DEF_CFA_OFF = 0x0e,
	CFA_DEF_CFA_EXPR = 0x0f,
	CFA_EXPR = 0x10,
	CFA_OFFSET_EXT_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFF_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPR = 0x16,
	CFA_NEGATE_RA_PC = 0x2c,
	CFA_NEGATE_RA = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE = 0x2f,
};

struct cfi_run {
	struct cfi_scratch *s;
	const struct eh_fde *fde;
	struct eh_cur c;
	uintptr_t loc;
	unsigned remembered;
};

static void
cfi_set(struct cfi_run *run, uint64_t reg, enum cfi_how how, int64_t value)
{
	if (reg < ARCH_REGS)
		run->s->row.regs[reg] = (struct cfi_reg){.how = how, .value = value};
}

static void
cfi_set_cfa(struct cfi_run *run, uint64_t reg, int64_t offset)
{
	struct cfi_row *row = &run->s->row;

	if (reg >= ARCH_REGS)
		run->c.bad = true;
	row->cfa = (struct cfi_reg){.how = CFI_REGISTER, .value = (int64_t)reg};
	row->cfa_offset = offset;
}

/* The address of a block, for later; moves past it. */
static int64_t
cfi_take_block(struct eh_cur *c)
{
	int64_t at = (int64_t)(uintptr_t)c->p;

	eh_skip(c, eh_uleb(c));
	return at;
}

static void
cfi_restore(struct cfi_run *run, uint64_t reg)
{
	if (reg < ARCH_REGS)
		run->s->row.regs[reg] = run->s->initial.regs[reg];
}

static void
cfi_remember(struct cfi_run *run)
{
	if (run->remembered >= CFI_REMEMBER_MAX)
		run->c.bad = true;
	else
		run->s->remembered[run->remembered++] = run->s->row;
}

static void
cfi_restore_state(struct cfi_run *run)
{
	if (run->remembered == 0)
		run->c.bad = true;
	else
		run->s->row = run->s->remembered[--run->remembered];
}

/* Instructions that say where one register is. False when `op` is none of them. */
static bool
cfi_op_register(struct cfi_run *run, uint8_t op)
{
	struct eh_cur *c = &run->c;
	int64_t align = run->fde->data_align;
	uint64_t reg;

	if (op < CFA_OFFSET_EXT || (op > CFA_REGISTER && op < CFA_EXPR) ||
	    (op > CFA_OFFSET_EXT_SF && op < CFA_VAL_OFFSET) ||
	    (op > CFA_VAL_EXPR && op != CFA_GNU_NEGATIVE))
		return false;
	reg = eh_uleb(c);
	switch (op) {
	case CFA_OFFSET_EXT:
		cfi_set(run, reg, CFI_OFFSET, (int64_t)eh_uleb(c) * align);
		break;
	case CFA_OFFSET_EXT_SF:
		cfi_set(run, reg, CFI_OFFSET, eh_sleb(c) * align);
		break;
	case CFA_GNU_NEGATIVE:
		cfi_set(run, reg, CFI_OFFSET, -(int64_t)eh_uleb(c) * align);
		break;
	case CFA_RESTORE_EXT:
		cfi_restore(run, reg);
		break;
	case CFA_UNDEFINED:
		cfi_set(run, reg, CFI_UNDEFINED, 0);
		break;
	case CFA_SAME:
		cfi_set(run, reg, CFI_SAME, 0);
		break;
	case CFA_REGISTER:
		cfi_set(run, reg, CFI_REGISTER, (int64_t)eh_uleb(c));
		break;
	case CFA_EXPR:
		cfi_set(run, reg, CFI_EXPR, cfi_take_block(c));
		break;
	case CFA_VAL_EXPR:
		cfi_set(run, reg, CFI_VAL_EXPR, cfi_take_block(c));
		break;
	case CFA_VAL_OFFSET:
		cfi_set(run, reg, CFI_VAL_OFFSET, (int64_t)eh_uleb(c) * align);
		break;
	default: /* CFA_VAL_OFFSET_SF */
		cfi_set(run, reg, CFI_VAL_OFFSET, eh_sleb(c) * align);
		break;
	}
	return true;
}

/* The others: the CFA, remembered rows, and what is read over. */
static void
cfi_op_rest(struct cfi_run *run, uint8_t op)
{
	struct cfi_row *row = &run->s->row;
	struct eh_cur *c = &run->c;
	uint64_t reg;

	switch (op) {
	case CFA_NOP:
	case CFA_NEGATE_RA_PC:
	case CFA_NEGATE_RA: /* signed return addresses are stripped, signed or not */
		break;
	case CFA_GNU_ARGS_SIZE:
		eh_uleb(c);
		break;
	case CFA_REMEMBER:
		cfi_remember(run);
		break;
	case CFA_RESTORE_STATE:
		cfi_restore_state(run);
		break;
	case CFA_DEF_CFA:
		reg = eh_uleb(c);
		cfi_set_cfa(run, reg, (int64_t)eh_uleb(c));
		break;
	case CFA_DEF_CFA_SF:
		reg = eh_uleb(c);
		cfi_set_cfa(run, reg, eh_sleb(c) * run->fde->data_align);
		break;
	case CFA_DEF_CFA_REG:
		cfi_set_cfa(run, eh_uleb(c), row->cfa_offset);
		break;
	case CFA_DEF_CFA_OFF:
		row->cfa_offset = (int64_t)eh_uleb(c);
		break;
	case CFA_DEF_CFA_OFF_SF:
		row->cfa_offset = eh_sleb(c) * run->fde->data_align;
		break;
	case CFA_DEF_CFA_EXPR:
		row->cfa =
			(struct cfi_reg){.how = CFI_VAL_EXPR, .value = cfi_take_block(c)};
		break;
	default:
		c->bad = true;
	}
}

/* Instructions that move on to another address. False when `op` is none of them. */
static bool
cfi_op_advance(struct cfi_run *run, uint8_t op)
{
	uint64_t by;

	if ((op & 0xc0) == CFA_ADVANCE)
		by = op & 0x3f;
	else if (op == CFA_ADVANCE1)
		by = eh_uint(&run->c, 1);
	else if (op == CFA_ADVANCE2)
		by = eh_uint(&run->c, 2);
	else if (op == CFA_ADVANCE4)
		by = eh_uint(&run->c, 4);
	else
		return false;
	run->loc += by * run->fde->code_align;
	return true;
}

/* Runs `ins` until it is at its end or beyond `addr`. */
static bool
cfi_run(struct cfi_run *run, struct eh_cur ins, uintptr_t addr)
{
	run->c = ins;
	while (run->c.p < run->c.end && !run->c.bad) {
		uint8_t op = (uint8_t)eh_uint(&run->c, 1);

		if (op == CFA_SET_LOC) {
			run->loc =
				eh_pointer(&run->c, run->fde->enc, 0) + run->fde->shift;
			if (run->loc > addr)
				break;
		} else if (cfi_op_advance(run, op)) {
			if (run->loc > addr)
				break;
		} else if ((op & 0xc0) == CFA_OFFSET) {
			int64_t by = (int64_t)eh_uleb(&run->c) * run->fde->data_align;

			cfi_set(run, op & 0x3f, CFI_OFFSET, by);
		} else if ((op & 0xc0) == CFA_RESTORE) {
			cfi_restore(run, op & 0x3f);
		} else if (!cfi_op_register(run, op)) {
			cfi_op_rest(run, op);
		}
	}
	return !run->c.bad;
}

bool
cfi_row(struct cfi_scratch *scratch, const struct unw_module *m, const struct eh_fde *fde,
	uintptr_t addr)
{
	struct cfi_run run = {.s = scratch, .fde = fde, .loc = fde->start};
	struct cfi_row *row = &scratch->row;

	memset(row, 0, sizeof *row);
	row->end = (const unsigned char *)m->end;
	row->signal = fde->signal;
	row->ra = fde->ra;
	if (fde->ra >= ARCH_REGS || !cfi_run(&run, fde->cie_ins, UINTPTR_MAX))
		return false;
	scratch->initial = *row;
	run.loc = fde->start;
	run.remembered = 0;
	if (!cfi_run(&run, fde->ins, addr))
		return false;
	return row->cfa.how != CFI_UNSAID;
}

bool
cfi_block(const struct cfi_row *row, int64_t at, struct eh_cur *ret_block)
{
	struct eh_cur c = {.p = (const unsigned char *)(uintptr_t)at, .end = row->end};
	uint64_t bytes = eh_uleb(&c);

	if (c.bad || bytes > (uint64_t)(c.end - c.p))
		return false;
	*ret_block = (struct eh_cur){.p = c.p, .end = c.p + bytes};
	return true;
}
