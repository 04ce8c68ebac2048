/* SPDX-License-Identifier: MIT */
/* x86insn.c -- see x86insn.h.
 *
 * Two tables of 256 letters, one an opcode, for the maps of one and two bytes. The letter
 * says what follows the opcode:
 *   . nothing    m ModRM    b 1 byte    w 2 bytes    z 4 bytes (2 with 66)
 *   v 4 bytes, or 8 with REX.W    B ModRM and 1 byte    Z ModRM and z
 *   j short jump    J long jump    o 8 bytes (moffs)    e 3 bytes (enter)
 *   t test of group 3: depends on ModRM    x unknown here    p prefix */
#include "tool/target/trace/x86insn.h"

#include <string.h>

/* clang-format off */
static const char one_byte[] =
	"mmmmbzxx" "mmmmbzxx" /* 00 */
	"mmmmbzxx" "mmmmbzxx" /* 10 */
	"mmmmbzpx" "mmmmbzpx" /* 20 */
	"mmmmbzpx" "mmmmbzpx" /* 30 */
	"pppppppp" "pppppppp" /* 40: REX */
	"........" "........" /* 50 */
	"xxxmpppp" "zZbB...." /* 60 */
	"jjjjjjjj" "jjjjjjjj" /* 70 */
	"BZxBmmmm" "mmmmmmmm" /* 80 */
	"........" "..x....." /* 90 */
	"oooo...." "bz......" /* a0 */
	"bbbbbbbb" "vvvvvvvv" /* b0 */
	"BBw.xxBZ" "e.w..bx." /* c0: c4 and c5 are VEX */
	"mmmmxxx." "mmmmmmmm" /* d0 */
	"jjjjbbbb" "JJxj...." /* e0 */
	"p.pp..tt" "......mm"; /* f0 */

static const char two_byte[] =
	"mmmmx..." "..x.xm.x" /* 00 */
	"mmmmmmmm" "mmmmmmmm" /* 10 */
	"mmmmxxxx" "mmmmmmmm" /* 20 */
	"......x." "xxxxxxxx" /* 30: 38 and 3a lead on */
	"mmmmmmmm" "mmmmmmmm" /* 40 */
	"mmmmmmmm" "mmmmmmmm" /* 50 */
	"mmmmmmmm" "mmmmmmmm" /* 60 */
	"BBBBmmm." "mmxxmmmm" /* 70 */
	"JJJJJJJJ" "JJJJJJJJ" /* 80 */
	"mmmmmmmm" "mmmmmmmm" /* 90 */
	"...mBmxx" "...mBmmm" /* a0 */
	"mmmmmmmm" "mmBmmmmm" /* b0 */
	"mmBmBBBm" "........" /* c0 */
	"mmmmmmmm" "mmmmmmmm" /* d0 */
	"mmmmmmmm" "mmmmmmmm" /* e0 */
	"mmmmmmmm" "mmmmmmmm"; /* f0 */
/* clang-format on */

_Static_assert(sizeof one_byte == 257 && sizeof two_byte == 257, "a letter an opcode");

struct decoder {
	const uint8_t *p;
	size_t n, at;
	bool operand16, wide; /* prefix 66, REX.W */
	bool bad;
};

static uint8_t
take(struct decoder *d)
{
	if (d->at >= d->n || d->at >= 15) {
		d->bad = true;
		return 0;
	}
	return d->p[d->at++];
}

static void
skip(struct decoder *d, size_t bytes)
{
	while (bytes-- > 0)
		take(d);
}

/* ModRM with what belongs to it; returns the byte. */
static uint8_t
take_modrm(struct decoder *d, struct x86_insn *in)
{
	uint8_t modrm = take(d), mod = modrm >> 6, rm = modrm & 7;

	if (mod == 3)
		return modrm;
	if (rm == 4) {
		uint8_t sib = take(d);

		if (mod == 0 && (sib & 7) == 5)
			skip(d, 4);
	} else if (mod == 0 && rm == 5) {
		in->disp_at = (uint8_t)d->at;
		skip(d, 4);
	}
	if (mod == 1)
		skip(d, 1);
	else if (mod == 2)
		skip(d, 4);
	return modrm;
}

static int64_t
take_relative(struct decoder *d, size_t bytes)
{
	int32_t far = 0;
	int8_t near;

	if (bytes == 1) {
		near = (int8_t)take(d);
		return near;
	}
	if (d->at + 4 <= d->n)
		memcpy(&far, d->p + d->at, 4);
	skip(d, 4);
	return far;
}

static void
take_operands(struct decoder *d, char how, uint8_t opcode, struct x86_insn *in)
{
	size_t z = d->operand16 ? 2 : 4;

	switch (how) {
	case '.':
		break;
	case 'm':
		take_modrm(d, in);
		break;
	case 'b':
		skip(d, 1);
		break;
	case 'w':
		skip(d, 2);
		break;
	case 'z':
		skip(d, z);
		break;
	case 'v':
		skip(d, d->wide ? 8 : z);
		break;
	case 'B':
		take_modrm(d, in);
		skip(d, 1);
		break;
	case 'Z':
		take_modrm(d, in);
		skip(d, z);
		break;
	case 'o':
		skip(d, 8);
		break;
	case 'e':
		skip(d, 3);
		break;
	case 't':
		if ((take_modrm(d, in) >> 3 & 7) < 2)
			skip(d, opcode == 0xf6 ? 1 : z);
		break;
	default:
		d->bad = true;
	}
}

/* VEX: the map in the prefix says whether a byte follows. */
static void
take_vex(struct decoder *d, uint8_t first, struct x86_insn *in)
{
	uint8_t map = 1, opcode;

	if (first == 0xc4)
		map = take(d) & 31;
	skip(d, 1);
	opcode = take(d);
	if (map == 1 && opcode == 0x77) /* vzeroupper */
		return;
	if (map < 1 || map > 3) {
		d->bad = true;
		return;
	}
	take_modrm(d, in);
	if (map == 3 || (map == 1 && two_byte[opcode] == 'B'))
		skip(d, 1);
}

static void
take_two(struct decoder *d, struct x86_insn *in)
{
	uint8_t opcode = take(d);

	if (opcode == 0x38 || opcode == 0x3a) {
		skip(d, 1);
		take_modrm(d, in);
		if (opcode == 0x3a)
			skip(d, 1);
	} else if ((opcode & 0xf0) == 0x80) {
		in->kind = X86_JCC;
		in->cond = opcode & 15;
		in->target = take_relative(d, 4);
		d->bad = d->bad || d->operand16;
	} else {
		if (opcode == 0x0b)
			in->kind = X86_RET;
		/* endbr64 and the like are no-ops with a ModRM. */
		take_operands(d, two_byte[opcode], opcode, in);
	}
}

/* inc, dec, call, far call, jmp, far jmp, push, nothing */
static const uint8_t group_five[8] = {
	[2] = X86_CALL_AWAY, [3] = X86_CALL_AWAY, [4] = X86_AWAY, [5] = X86_AWAY};

static void
take_one(struct decoder *d, uint8_t opcode, struct x86_insn *in)
{
	char how = one_byte[opcode];

	if (how == 'j' || how == 'J') {
		in->kind = opcode == 0xe8		      ? X86_CALL
			   : opcode == 0xe9 || opcode == 0xeb ? X86_JMP
			   : (opcode & 0xf0) == 0x70	      ? X86_JCC
							      : X86_LOOP;
		in->cond = opcode & 15;
		in->target = take_relative(d, how == 'j' ? 1 : 4);
		/* Processors disagree about how long that is. */
		d->bad = d->bad || (d->operand16 && how == 'J');
		return;
	}
	if (opcode == 0xc3 || opcode == 0xc2 || opcode == 0xcc || opcode == 0xf4 ||
	    (opcode >= 0xca && opcode <= 0xcf && opcode != 0xcd))
		in->kind = X86_RET;
	if (opcode == 0xff && d->at < d->n)
		in->kind = group_five[d->p[d->at] >> 3 & 7];
	/* XOP and XBEGIN look like others, and are not: one is longer, one jumps. */
	if (d->at < d->n && ((opcode == 0x8f && (d->p[d->at] & 0x38) != 0) ||
			     (opcode == 0xc7 && (d->p[d->at] & 0x38) != 0)))
		d->bad = true;
	take_operands(d, how, opcode, in);
}

bool
x86_decode(const uint8_t *p, size_t n, struct x86_insn *ret)
{
	struct decoder d = {.p = p, .n = n};
	struct x86_insn in = {0};
	uint8_t opcode = take(&d);

	while (!d.bad && one_byte[opcode] == 'p' && (opcode & 0xf0) != 0x40) {
		d.operand16 = d.operand16 || opcode == 0x66;
		/* An address of four bytes: nobody compiles that for this processor. */
		d.bad = d.bad || opcode == 0x67;
		opcode = take(&d);
	}
	if ((opcode & 0xf0) == 0x40) {
		d.wide = (opcode & 8) != 0;
		opcode = take(&d);
	}
	if (opcode == 0x0f)
		take_two(&d, &in);
	else if (opcode == 0xc4 || opcode == 0xc5)
		take_vex(&d, opcode, &in);
	else
		take_one(&d, opcode, &in);
	if (d.bad)
		return false;
	in.bytes = (uint8_t)d.at;
	if (in.kind >= X86_JCC && in.kind <= X86_LOOP)
		in.target += in.bytes;
	*ret = in;
	return true;
}
