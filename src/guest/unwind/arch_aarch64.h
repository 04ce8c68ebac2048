/* SPDX-License-Identifier: MIT */
/* arch_aarch64.h -- aarch64 for arch.h. Include that.
 *
 * A rule is kind:4 | module:20 | record:1 | saved:20 | cfa:19 from the lowest bit,
 * offsets signed and in words of 8 bytes. With `record` the frame pointer is at CFA +
 * saved and the return address in the next word, which is how compilers save the two;
 * without it only the return address is saved. All else is a hard rule.
 *
 * Frame records are what is left where there is no table. They are not preferred to
 * tables: code built without frame pointers uses x29 as it likes, and a walk along
 * records would silently leave out callers; with the rule cached a table costs no
 * more. */
#ifndef SEEP_UNWIND_ARCH_AARCH64_H
#define SEEP_UNWIND_ARCH_AARCH64_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_REGS 33
#define ARCH_REG_FP 29
#define ARCH_REG_RA 30
#define ARCH_REG_SP 31
#define ARCH_REG_PC 32
#define ARCH_CALLEE_SAVED (UINT64_C(0x7ff) << 19 | UINT64_C(1) << 31) /* x19 to x29, sp */
#define ARCH_RA_FIXED false
#define ARCH_RED_ZONE 0
#define ARCH_CHAIN_KEEPS_SP false
#define ARCH_SIGNAL_TABLES false /* those of Linux before 5.8 lose the interrupted pc */

/* XPACLRI, an instruction that processors without pointer authentication pass over. */
static inline uintptr_t
arch_strip(uintptr_t pc)
{
	register uintptr_t lr __asm__("x30") = pc;

	__asm__("hint #7" : "+r"(lr));
	return lr;
}

static inline int64_t
arch_rule_cfa(uint64_t rule)
{
	return ((int64_t)rule >> 45) * 8;
}

static inline int64_t
arch_rule_saved(uint64_t rule)
{
	return ((int64_t)(rule << 19) >> 44) * 8;
}

/* Offset of the saved frame pointer from the CFA, 0 when the register is unchanged. */
static inline int64_t
arch_rule_bp(uint64_t rule)
{
	return (rule >> 24 & 1) != 0 ? arch_rule_saved(rule) : 0;
}

static inline int64_t
arch_rule_ra(uint64_t rule)
{
	return arch_rule_saved(rule) + ((rule >> 24 & 1) != 0 ? 8 : 0);
}

static inline bool
arch_rule_fits(int64_t cfa, int64_t bp, int64_t ra)
{
	return ((cfa | bp | ra) & 7) == 0 && (bp == 0 || ra == bp + 8) &&
	       cfa >= -(1 << 21) && cfa < 1 << 21 && ra > -(1 << 22) && ra < 1 << 22;
}

static inline uint64_t
arch_rule_offsets(int64_t cfa, int64_t bp, int64_t ra)
{
	int64_t saved = bp != 0 ? bp : ra;

	return (uint64_t)(cfa / 8) << 45 | ((uint64_t)(saved / 8) & 0xfffff) << 25 |
	       (uint64_t)(bp != 0) << 24;
}

/* Must be a macro: the registers are those of the function that uses it. */
#define arch_regs_here(regs)                                                             \
	do {                                                                             \
		uintptr_t *r_ = (regs)->r, pc_;                                          \
		__asm__ volatile("stp x19, x20, [%1, #152]\n\t"                          \
				 "stp x21, x22, [%1, #168]\n\t"                          \
				 "stp x23, x24, [%1, #184]\n\t"                          \
				 "stp x25, x26, [%1, #200]\n\t"                          \
				 "stp x27, x28, [%1, #216]\n\t"                          \
				 "str x29, [%1, #232]\n\t"                               \
				 "mov %0, sp\n\t"                                        \
				 "str %0, [%1, #248]\n\t"                                \
				 "adr %0, ."                                             \
				 : "=&r"(pc_)                                            \
				 : "r"(r_)                                               \
				 : "memory");                                            \
		(regs)->pc = pc_;                                                        \
		(regs)->valid = ARCH_CALLEE_SAVED;                                       \
		(regs)->exact = true;                                                    \
	} while (0)

#endif
