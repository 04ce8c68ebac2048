/* SPDX-License-Identifier: MIT */
/* arch_aarch64.c -- the kernel's signal frame on aarch64.
 *
 * Its trampoline in the vDSO has had no unwind table since Linux 5.8, and before that one
 * that loses the interrupted pc, so it is known by its two instructions. */
#include "guest/unwind/arch.h"

#include <string.h>

#include "guest/unwind/rules.h"

/* The kernel's struct rt_sigframe. By number, since analysers read this file on x86-64,
 * too. */
enum {
	SIGINFO_BYTES = 128,
	UC_MCONTEXT_OFF = 176, /* in ucontext_t */
	FAULT_ADDRESS_BYTES = 8,
};

/* Compilers here keep the CFA at a known distance from x29 even in realigned frames. */
uint64_t
arch_special_rule(const struct cfi_row *row, uint32_t module_id)
{
	(void)row;
	(void)module_id;
	return RULE_NONE;
}

bool
arch_is_sigreturn(uintptr_t pc)
{
	static const uint32_t code[] = {0xd2801168,
					0xd4000001}; /* mov x8, #139; svc #0 */

	return (pc & 3) == 0 && memcmp((const void *)pc, code, sizeof code) == 0;
}

void
arch_sigreturn_regs(struct unw_regs *regs)
{
	/* sp points at siginfo, then ucontext; its registers follow the fault address:
	 * x0 to x30, sp, pc. */
	const uintptr_t *saved =
		(const uintptr_t *)(regs->r[ARCH_REG_SP] + SIGINFO_BYTES +
				    UC_MCONTEXT_OFF + FAULT_ADDRESS_BYTES);

	/* cppcheck reads this file with the sizes of x86-64 */
	/* cppcheck-suppress bufferAccessOutOfBounds */
	memcpy(regs->r, saved, 32 * sizeof saved[0]);
	regs->pc = saved[32];
	regs->valid = UINT64_C(0xffffffff);
	regs->exact = true;
}
