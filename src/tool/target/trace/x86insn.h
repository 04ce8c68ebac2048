/* SPDX-License-Identifier: MIT */
/* x86insn.h -- how long an x86-64 instruction is, and which part of it depends on where
 * it stands.
 *
 * Just enough to move the first instructions of a function elsewhere. It knows the layout
 * of instructions, not their meaning; what it does not know it says so. */
#ifndef SEEP_TARGET_X86INSN_H
#define SEEP_TARGET_X86INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum x86_kind {
	X86_PLAIN,
	X86_JCC,       /* conditional jump, relative */
	X86_JMP,       /* jump, relative */
	X86_CALL,      /* call, relative */
	X86_LOOP,      /* loop and jrcxz: short only */
	X86_RET,       /* ret, int3, ud2, hlt: nothing goes on behind it */
	X86_AWAY,      /* jump to a place that is computed */
	X86_CALL_AWAY, /* call of one */
};

struct x86_insn {
	uint8_t bytes;
	uint8_t kind; /* enum x86_kind */
	uint8_t cond; /* of X86_JCC: the low four bits of its opcode */
	/* where a displacement from the next instruction stands; 0 = none */
	uint8_t disp_at;
	int64_t target; /* of relative jumps: distance from the instruction's start */
};

/* Takes the instruction at `p` apart. false: unknown, or cut off after `n` bytes. */
bool x86_decode(const uint8_t *p, size_t n, struct x86_insn *ret);

#endif
