/* SPDX-License-Identifier: MIT */
/* cfi.h -- where a frame keeps its caller's registers: runs the instructions of one
 * FDE. */
#ifndef SEEP_UNWIND_CFI_H
#define SEEP_UNWIND_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/unwind/arch.h"
#include "guest/unwind/eh_frame.h"

enum cfi_how {
	CFI_UNSAID,	/* unchanged when a call preserves it, else lost */
	CFI_SAME,	/* unchanged */
	CFI_UNDEFINED,	/* lost; for the return address: this is the outermost frame */
	CFI_OFFSET,	/* saved at CFA + value */
	CFI_VAL_OFFSET, /* is CFA + value */
	CFI_REGISTER,	/* is in register `value` */
	CFI_EXPR,	/* saved at the address that the expression at `value` gives */
	CFI_VAL_EXPR,	/* is what the expression at `value` gives */
};

struct cfi_reg {
	enum cfi_how how;
	int64_t value;
};

/* The rules that hold at one address. */
struct cfi_row {
	struct cfi_reg cfa; /* CFI_REGISTER with cfa_offset, or CFI_VAL_EXPR */
	int64_t cfa_offset;
	struct cfi_reg regs[ARCH_REGS];
	const unsigned char *end; /* no expression reaches beyond this */
	bool signal;
	uint8_t ra; /* column of the return address */
};

#define CFI_REMEMBER_MAX 8
#define CFI_EXPR_STACK 32

/* Room to work in. It is not on the stack because that may be a signal's small one. */
struct cfi_scratch {
	struct cfi_row row, initial, remembered[CFI_REMEMBER_MAX];
	uintptr_t expr[CFI_EXPR_STACK];
	struct unw_regs next;
};

/* Computes scratch->row for `addr`, which `fde` covers. False when the instructions are
 * damaged or of an unknown kind. */
bool cfi_row(struct cfi_scratch *scratch, const struct unw_module *m,
	     const struct eh_fde *fde, uintptr_t addr);

/* An expression's block (length first) at `at`, not beyond row->end. */
bool cfi_block(const struct cfi_row *row, int64_t at, struct eh_cur *ret_block);

/* Evaluates it with these registers; `first` is on the stack at the start unless NULL. */
bool cfi_eval(struct cfi_scratch *scratch, int64_t at, const struct unw_regs *regs,
	      const uintptr_t *first, uintptr_t *ret_value);

#endif
