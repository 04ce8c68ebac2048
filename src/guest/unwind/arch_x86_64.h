/* SPDX-License-Identifier: MIT */
/* arch_x86_64.h -- x86-64 for arch.h. Include that.
 *
 * A rule is kind:4 | module:20 | cfa:26 | bp:14 from the lowest bit, offsets signed and
 * in words of 8 bytes: frames to 256 MiB, and a saved rbp within 64 KiB of the CFA. */
#ifndef SEEP_UNWIND_ARCH_X86_64_H
#define SEEP_UNWIND_ARCH_X86_64_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_REGS 17
#define ARCH_REG_FP 6
#define ARCH_REG_SP 7
#define ARCH_REG_RA 16
#define ARCH_REG_PC 16
/* rbx, rbp, rsp, r12 to r15 */
#define ARCH_CALLEE_SAVED (1u << 3 | 1u << 6 | 1u << 7 | 0xfu << 12)
#define ARCH_RA_FIXED true
#define ARCH_RED_ZONE 128
#define ARCH_CHAIN_KEEPS_SP true
#define ARCH_SIGNAL_TABLES true

static inline uintptr_t
arch_strip(uintptr_t pc)
{
	return pc;
}

static inline int64_t
arch_rule_cfa(uint64_t rule)
{
	return ((int64_t)(rule << 14) >> 38) * 8;
}

/* Offset of the saved frame pointer from the CFA, 0 when the register is unchanged. */
static inline int64_t
arch_rule_bp(uint64_t rule)
{
	return ((int64_t)rule >> 50) * 8;
}

static inline int64_t
arch_rule_ra(uint64_t rule)
{
	(void)rule;
	return -8;
}

static inline bool
arch_rule_fits(int64_t cfa, int64_t bp, int64_t ra)
{
	return ((cfa | bp) & 7) == 0 && cfa >= -(1 << 28) && cfa < 1 << 28 &&
	       bp >= -(1 << 16) && bp < 1 << 16 && ra == -8;
}

static inline uint64_t
arch_rule_offsets(int64_t cfa, int64_t bp, int64_t ra)
{
	(void)ra;
	return ((uint64_t)(cfa / 8) & 0x3ffffff) << 24 | (uint64_t)(bp / 8) << 50;
}

/* Must be a macro: the registers are those of the function that uses it. */
#define arch_regs_here(regs)                                                             \
	do {                                                                             \
		uintptr_t *r_ = (regs)->r;                                               \
		__asm__ volatile("movq %%rbx, 24(%1)\n\t"                                \
				 "movq %%rbp, 48(%1)\n\t"                                \
				 "movq %%rsp, 56(%1)\n\t"                                \
				 "movq %%r12, 96(%1)\n\t"                                \
				 "movq %%r13, 104(%1)\n\t"                               \
				 "movq %%r14, 112(%1)\n\t"                               \
				 "movq %%r15, 120(%1)\n\t"                               \
				 "leaq 0(%%rip), %0"                                     \
				 : "=r"((regs)->pc)                                      \
				 : "r"(r_)                                               \
				 : "memory");                                            \
		(regs)->valid = ARCH_CALLEE_SAVED;                                       \
		(regs)->exact = true;                                                    \
	} while (0)

#endif
