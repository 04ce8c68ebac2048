/* SPDX-License-Identifier: MIT */
/* cfi_expr.c -- DWARF expressions in unwind tables.
 *
 * They occur where a register and an offset do not suffice: procedure linkage tables,
 * signal frames, realigned stacks, hand-written assembly. A stack of 32 words and 512
 * operations bound what a damaged one can do. Memory is read where the expression says;
 * the lowest page, where no memory can be, is refused. What belongs to debuggers (pieces,
 * locations, threads) is refused too. */
#include "guest/unwind/cfi.h"

#include <string.h>

enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S,
	OP_CONST2U,
	OP_CONST2S,
	OP_CONST4U,
	OP_CONST4S,
	OP_CONST8U,
	OP_CONST8S,
	OP_CONSTU,
	OP_CONSTS,
	OP_DUP,
	OP_DROP,
	OP_OVER,
	OP_PICK,
	OP_SWAP,
	OP_ROT,
	OP_ABS = 0x19,
	OP_AND,
	OP_DIV,
	OP_MINUS,
	OP_MOD,
	OP_MUL,
	OP_NEG,
	OP_NOT,
	OP_OR,
	OP_PLUS,
	OP_PLUS_UCONST,
	OP_SHL,
	OP_SHR,
	OP_SHRA,
	OP_XOR,
	OP_BRA,
	OP_EQ,
	OP_GE,
	OP_GT,
	OP_LE,
	OP_LT,
	OP_NE,
	OP_SKIP,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

#define EXPR_OPS_MAX 512
#define EXPR_LOWEST 4096

struct expr {
	struct eh_cur c;
	const unsigned char *start;
	const struct unw_regs *regs;
	uintptr_t *stack;
	unsigned n;
};

static void
expr_push(struct expr *x, uintptr_t v)
{
	if (x->n >= CFI_EXPR_STACK)
		x->c.bad = true;
	else
		x->stack[x->n++] = v;
}

static uintptr_t
expr_pop(struct expr *x)
{
	if (x->n == 0) {
		x->c.bad = true;
		return 0;
	}
	return x->stack[--x->n];
}

/* The word `depth` below the top. */
static uintptr_t
expr_peek(struct expr *x, unsigned depth)
{
	if (depth >= x->n) {
		x->c.bad = true;
		return 0;
	}
	return x->stack[x->n - 1 - depth];
}

static void
expr_push_reg(struct expr *x, uint64_t reg, int64_t offset)
{
	if (reg >= ARCH_REGS || (x->regs->valid >> reg & 1) == 0)
		x->c.bad = true;
	else
		expr_push(x, x->regs->r[reg] + (uintptr_t)offset);
}

static void
expr_deref(struct expr *x, unsigned bytes)
{
	uintptr_t at = expr_pop(x), v = 0;

	if (x->c.bad || at < EXPR_LOWEST || bytes == 0 || bytes > sizeof v) {
		x->c.bad = true;
		return;
	}
	memcpy(&v, (const void *)at, bytes);
	expr_push(x, v);
}

static void
expr_jump(struct expr *x, int16_t by)
{
	ptrdiff_t to = x->c.p - x->start + by;

	if (to < 0 || to > x->c.end - x->start)
		x->c.bad = true;
	else
		x->c.p = x->start + to;
}

/* Constants and registers. False when `op` is none of them. */
static bool
expr_op_push(struct expr *x, uint8_t op)
{
	struct eh_cur *c = &x->c;
	uint64_t reg;

	if (op >= OP_LIT0 && op < OP_LIT0 + 32)
		expr_push(x, op - OP_LIT0);
	else if (op >= OP_BREG0 && op < OP_BREG0 + 32)
		expr_push_reg(x, op - OP_BREG0, eh_sleb(c));
	else if (op == OP_BREGX)
		reg = eh_uleb(c), expr_push_reg(x, reg, eh_sleb(c));
	else if (op == OP_ADDR || op == OP_CONST8U || op == OP_CONST8S)
		expr_push(x, eh_uint(c, 8));
	else if (op == OP_CONST1U)
		expr_push(x, eh_uint(c, 1));
	else if (op == OP_CONST1S)
		expr_push(x, (uintptr_t)(int8_t)eh_uint(c, 1));
	else if (op == OP_CONST2U)
		expr_push(x, eh_uint(c, 2));
	else if (op == OP_CONST2S)
		expr_push(x, (uintptr_t)(int16_t)eh_uint(c, 2));
	else if (op == OP_CONST4U)
		expr_push(x, eh_uint(c, 4));
	else if (op == OP_CONST4S)
		expr_push(x, (uintptr_t)(int32_t)eh_uint(c, 4));
	else if (op == OP_CONSTU)
		expr_push(x, eh_uleb(c));
	else if (op == OP_CONSTS)
		expr_push(x, (uintptr_t)eh_sleb(c));
	else
		return false;
	return true;
}

/* Moves words about on the stack, and all else that has no arithmetic. */
static bool
expr_op_stack(struct expr *x, uint8_t op)
{
	struct eh_cur *c = &x->c;
	uintptr_t a, b, d;

	switch (op) {
	case OP_NOP:
		break;
	case OP_DEREF:
		expr_deref(x, sizeof a);
		break;
	case OP_DEREF_SIZE:
		expr_deref(x, (unsigned)eh_uint(c, 1));
		break;
	case OP_DUP:
		expr_push(x, expr_peek(x, 0));
		break;
	case OP_DROP:
		expr_pop(x);
		break;
	case OP_OVER:
		expr_push(x, expr_peek(x, 1));
		break;
	case OP_PICK:
		expr_push(x, expr_peek(x, (unsigned)eh_uint(c, 1)));
		break;
	case OP_SWAP:
		a = expr_pop(x), b = expr_pop(x);
		expr_push(x, a), expr_push(x, b);
		break;
	case OP_ROT:
		a = expr_pop(x), b = expr_pop(x), d = expr_pop(x);
		expr_push(x, a), expr_push(x, d), expr_push(x, b);
		break;
	case OP_SKIP:
		expr_jump(x, (int16_t)eh_uint(c, 2));
		break;
	case OP_BRA: {
		int16_t by = (int16_t)eh_uint(c, 2);

		if (expr_pop(x) != 0)
			expr_jump(x, by);
		break;
	}
	default:
		return false;
	}
	return true;
}

/* One operand. */
static bool
expr_op_unary(struct expr *x, uint8_t op)
{
	uintptr_t a;

	if (op != OP_ABS && op != OP_NEG && op != OP_NOT && op != OP_PLUS_UCONST)
		return false;
	a = expr_pop(x);
	if (op == OP_PLUS_UCONST)
		a += eh_uleb(&x->c);
	else if (op == OP_NOT)
		a = ~a;
	else if (op == OP_NEG || (intptr_t)a < 0)
		a = -a;
	expr_push(x, a);
	return true;
}

static uintptr_t
expr_shift(uint8_t op, uintptr_t a, uintptr_t by)
{
	if (by > 63)
		return op == OP_SHRA && (intptr_t)a < 0 ? UINTPTR_MAX : 0;
	if (op == OP_SHL)
		return a << by;
	return op == OP_SHR ? a >> by : (uintptr_t)((intptr_t)a >> by);
}

/* Two operands. */
static void
expr_op_binary(struct expr *x, uint8_t op)
{
	uintptr_t b = expr_pop(x), a = expr_pop(x), v;
	intptr_t sa = (intptr_t)a, sb = (intptr_t)b;

	/* These trap on the processor; nothing sane divides by them. */
	x->c.bad |= (op == OP_DIV || op == OP_MOD) && (b == 0 || b == UINTPTR_MAX);
	if (x->c.bad)
		return;
	switch (op) {
	case OP_AND:
		v = a & b;
		break;
	case OP_OR:
		v = a | b;
		break;
	case OP_XOR:
		v = a ^ b;
		break;
	case OP_PLUS:
		v = a + b;
		break;
	case OP_MINUS:
		v = a - b;
		break;
	case OP_MUL:
		v = a * b;
		break;
	case OP_DIV:
		v = (uintptr_t)(sa / sb);
		break;
	case OP_MOD:
		v = a % b;
		break;
	case OP_SHL:
	case OP_SHR:
	case OP_SHRA:
		v = expr_shift(op, a, b);
		break;
	case OP_EQ:
		v = sa == sb;
		break;
	case OP_NE:
		v = sa != sb;
		break;
	case OP_GE:
		v = sa >= sb;
		break;
	case OP_GT:
		v = sa > sb;
		break;
	case OP_LE:
		v = sa <= sb;
		break;
	case OP_LT:
		v = sa < sb;
		break;
	default:
		x->c.bad = true;
		return;
	}
	expr_push(x, v);
}

bool
cfi_eval(struct cfi_scratch *scratch, int64_t at, const struct unw_regs *regs,
	 const uintptr_t *first, uintptr_t *ret_value)
{
	struct expr x = {.regs = regs, .stack = scratch->expr};

	if (!cfi_block(&scratch->row, at, &x.c))
		return false;
	x.start = x.c.p;
	if (first != NULL)
		expr_push(&x, *first);
	for (unsigned ops = 0; x.c.p < x.c.end && !x.c.bad; ops++) {
		uint8_t op = (uint8_t)eh_uint(&x.c, 1);

		if (ops >= EXPR_OPS_MAX)
			return false;
		if (!expr_op_push(&x, op) && !expr_op_stack(&x, op) &&
		    !expr_op_unary(&x, op))
			expr_op_binary(&x, op);
	}
	if (x.c.bad || x.n == 0)
		return false;
	*ret_value = expr_pop(&x);
	return true;
}
