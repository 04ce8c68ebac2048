/* SPDX-License-Identifier: MIT */
/* access.c -- see access.h.
 *
 * The width is read off the instruction, for the common ones that move, compare and
 * compute; what is not among them has none. */
#include "guest/misuse/access.h"

#include <ucontext.h>

#if defined(__x86_64__)

struct insn {
	const unsigned char *at;
	unsigned width; /* of a full operand: 2, 4 or 8 */
	unsigned char rep;
	bool wide; /* prefix 66 */
};

static struct insn
prefixes(const unsigned char *at)
{
	struct insn x = {.at = at, .width = 4};

	for (;; x.at++) {
		if (*x.at == 0x66) {
			x.wide = true;
			x.width = 2;
		} else if (*x.at == 0xf2 || *x.at == 0xf3) {
			x.rep = *x.at;
		} else if (*x.at != 0x2e && *x.at != 0x3e && *x.at != 0x64 &&
			   *x.at != 0x65) {
			break;
		}
	}
	if ((*x.at & 0xf0) == 0x40) { /* REX */
		if ((*x.at & 8) != 0)
			x.width = 8;
		x.at++;
	}
	return x;
}

/* Opcodes of two bytes. */
static unsigned
width_0f(const struct insn *x)
{
	switch (x->at[1]) {
	case 0xb6:
	case 0xbe:
		return 1;
	case 0xb7:
	case 0xbf:
		return 2;
	case 0x10:
	case 0x11:
		return x->rep == 0xf3 ? 4 : x->rep == 0xf2 ? 8 : 16;
	case 0x12:
	case 0x13:
	case 0x16:
	case 0x17:
	case 0xd6:
		return 8;
	case 0x6e:
	case 0x7e:
		return x->rep == 0xf3 || x->width == 8 ? 8 : 4;
	case 0x28:
	case 0x29:
	case 0x6f:
	case 0x74:
	case 0x7f:
	case 0xe7:
		return 16;
	default:
		return 0;
	}
}

static unsigned
width_of(const unsigned char *at)
{
	struct insn x = prefixes(at);
	unsigned char op = *x.at;

	if (op == 0x0f)
		return width_0f(&x);
	if (op == 0xc5) /* VEX */
		return (x.at[1] & 4) != 0 ? 32 : 16;
	if (op == 0xc4)
		return (x.at[2] & 4) != 0 ? 32 : 16;
	if (op == 0x63)
		return 4;
	/* add, or … cmp; test, mov; string moves: the lowest bit says whether it is a
	 * byte. */
	if ((op < 0x40 && (op & 7) < 4) || (op >= 0x84 && op <= 0x8b) ||
	    (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) || op == 0x80 ||
	    op == 0x81 || op == 0xc6 || op == 0xc7 || op == 0xf6 || op == 0xf7 ||
	    op == 0xfe || op == 0xff)
		return (op & 1) != 0 ? x.width : 1;
	return op == 0x83 ? x.width : 0;
}

struct access
access_of(const void *context)
{
	const ucontext_t *uc = context;
	const greg_t *r = uc->uc_mcontext.gregs;

	return (struct access){
		.write = (r[REG_ERR] & 2) != 0,
		.bytes = width_of((const unsigned char *)r[REG_RIP]),
		/* One more than the address: it is no return address. */
		.at = {.pc = (uintptr_t)r[REG_RIP] + 1,
		       .sp = (uintptr_t)r[REG_RSP],
		       .bp = (uintptr_t)r[REG_RBP]},
	};
}

#elif defined(__aarch64__)

/* The kernel adds the reason of the fault to the context: bit 6 says that it was a
 * write. */
static bool
was_write(const ucontext_t *uc)
{
	const unsigned char *at = (const void *)uc->uc_mcontext.__reserved;
	const unsigned char *end = at + sizeof(uc->uc_mcontext.__reserved);

	while (at + 16 <= end) {
		uint32_t magic = *(const uint32_t *)(const void *)at;
		uint32_t bytes = *(const uint32_t *)(const void *)(at + 4);

		if (magic == 0x45535201)
			return (*(const uint64_t *)(const void *)(at + 8) & 64) != 0;
		if (magic == 0 || bytes < 8)
			break;
		at += bytes;
	}
	return false;
}

struct access
access_of(const void *context)
{
	const ucontext_t *uc = context;

	return (struct access){
		.write = was_write(uc),
		.at = {.pc = uc->uc_mcontext.pc + 1,
		       .sp = uc->uc_mcontext.sp,
		       .bp = uc->uc_mcontext.regs[29]},
	};
}

#endif
