/* SPDX-License-Identifier: MIT */
/* eh_frame.h -- finds the unwind table entry of an address in a module's .eh_frame. */
#ifndef SEEP_UNWIND_EH_FRAME_H
#define SEEP_UNWIND_EH_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/unwind/unwind.h"

/* Reads foreign bytes; past the end it yields zeros and stays `bad`. */
struct eh_cur {
	const unsigned char *p, *end;
	bool bad;
};

uint64_t eh_uint(struct eh_cur *c, unsigned bytes); /* 1, 2, 4 or 8 */
uint64_t eh_uleb(struct eh_cur *c);
int64_t eh_sleb(struct eh_cur *c);
void eh_skip(struct eh_cur *c, uint64_t bytes);

/* A pointer encoded as `enc` says (DW_EH_PE_*), `data_base` for the data-relative
 * ones. */
uintptr_t eh_pointer(struct eh_cur *c, uint8_t enc, uintptr_t data_base);

/* One function's entry (FDE) with what it shares with others (CIE). */
struct eh_fde {
	uintptr_t start, end;
	struct eh_cur ins;     /* its instructions */
	struct eh_cur cie_ins; /* to be run before them */
	uint64_t code_align;
	int64_t data_align;
	uintptr_t shift; /* to add to pointers that are relative to their own place */
	uint8_t ra;	 /* column of the return address */
	uint8_t enc;	 /* of pointers */
	bool signal;	 /* the frame below was interrupted, not called */
	bool aug;	 /* the FDE has augmentation data */
};

/* The entry that covers `addr`, false when there is none or it is damaged. Reads nothing
 * outside the module's range. */
bool eh_find(const struct unw_module *m, uintptr_t addr, struct eh_fde *ret_fde);

/* From the lowest to the highest address that a copied table speaks of; empty when there
 * is none. */
void eh_range(const struct unw_module *m, uintptr_t *ret_start, uintptr_t *ret_end);

#endif
