/* SPDX-License-Identifier: MIT */
/* detour.c -- see detour.h.
 *
 * Moved instructions are copied as they are, but for what depends on where they stand:
 * operands addressed from the instruction pointer get another distance, short jumps
 * become long ones. A call is never moved: its return address would lie in memory that no
 * unwind table knows. */
#include "tool/target/trace/detour.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tool/target/trace/x86insn.h"

/* Where a distance of four bytes, behind which an instruction ends at `from`, has to lead
 * to `to`. */
static bool
distance(uint64_t from, uint64_t to, int32_t *ret)
{
	int64_t d = (int64_t)(to - from);

	*ret = (int32_t)d;
	return *ret == d;
}

static bool
put_jump(uint8_t *at, uint64_t stands_at, uint64_t to)
{
	int32_t d;

	if (!distance(stands_at + DETOUR_JUMP_BYTES, to, &d))
		return false;
	at[0] = 0xe9;
	memcpy(at + 1, &d, 4);
	return true;
}

/* Moves one instruction that stands at `from` to `to`. Returns its new length; 0: out of
 * reach. */
static unsigned
move(const uint8_t *code, const struct x86_insn *in, uint64_t from, uint8_t *out,
     uint64_t to)
{
	int32_t d;

	if (in->kind == X86_JMP)
		return put_jump(out, to, from + (uint64_t)in->target) ? DETOUR_JUMP_BYTES
								      : 0;
	if (in->kind == X86_JCC) {
		if (!distance(to + 6, from + (uint64_t)in->target, &d))
			return 0;
		out[0] = 0x0f;
		out[1] = 0x80 | in->cond;
		memcpy(out + 2, &d, 4);
		return 6;
	}
	memcpy(out, code, in->bytes);
	if (in->disp_at != 0) {
		memcpy(&d, code + in->disp_at, 4);
		if (!distance(to + in->bytes, from + in->bytes + (uint64_t)(int64_t)d,
			      &d))
			return 0;
		memcpy(out + in->disp_at, &d, 4);
	}
	return in->bytes;
}

/* Nothing in the function may jump to an instruction that is not there any more. */
/* The same where instructions are not understood any more: whatever could be a long jump
 * is one. */
static bool
perhaps_jumped_into(const uint8_t *code, size_t bytes, size_t from)
{
	for (size_t i = from; i + 5 <= bytes; i++) {
		int32_t d;
		int64_t to;

		if (code[i] != 0xe9 &&
		    (i == 0 || code[i - 1] != 0x0f || (code[i] & 0xf0) != 0x80))
			continue;
		memcpy(&d, code + i + 1, 4);
		to = (int64_t)i + 5 + d;
		if (to > 0 && to < DETOUR_JUMP_BYTES)
			return true;
	}
	return false;
}

static bool
jumped_into(const uint8_t *code, size_t bytes, bool *ret_unknown)
{
	struct x86_insn in;

	*ret_unknown = false;
	for (size_t i = 0; i < bytes; i += in.bytes) {
		int64_t to;

		if (!x86_decode(code + i, bytes - i, &in)) {
			/* A short jump back from behind this cannot reach the entry. */
			*ret_unknown = i < 128 + DETOUR_JUMP_BYTES;
			return perhaps_jumped_into(code, bytes, i);
		}
		if (in.kind < X86_JCC || in.kind > X86_LOOP)
			continue;
		to = (int64_t)i + in.target;
		if (to > 0 && to < DETOUR_JUMP_BYTES)
			return true;
	}
	return false;
}

int
detour_make(const uint8_t *code, size_t bytes, uint64_t at, uint64_t to,
	    uint64_t moved_at, struct detour *ret, struct err *e)
{
	struct detour d = {.moved_bytes = 0};
	size_t taken = 0;
	bool unknown, ended = false;

	while (taken < DETOUR_JUMP_BYTES) {
		struct x86_insn in;
		unsigned n;

		if (ended || taken >= bytes ||
		    !x86_decode(code + taken, bytes - taken, &in))
			return err_set(e, -ENOTSUP, "its first instructions are %s",
				       ended || taken >= bytes ? "too short"
							       : "not understood");
		if (in.kind == X86_CALL || in.kind == X86_CALL_AWAY ||
		    in.kind == X86_LOOP || d.moved_bytes + 32 > DETOUR_MOVED_MAX)
			return err_set(e, -ENOTSUP,
				       "its first instructions cannot be moved");
		n = move(code + taken, &in, at + taken, d.moved + d.moved_bytes,
			 moved_at + d.moved_bytes);
		if (n == 0)
			return err_set(e, -ERANGE, "too far from the injected code");
		ended = in.kind == X86_JMP || in.kind == X86_RET || in.kind == X86_AWAY;
		d.moved_bytes += n;
		taken += in.bytes;
	}
	if (jumped_into(code, bytes, &unknown) || unknown)
		return err_set(e, -ENOTSUP, "%s",
			       unknown ? "its code is not understood"
				       : "it jumps to its own beginning");
	if (!put_jump(d.moved + d.moved_bytes, moved_at + d.moved_bytes, at + taken) ||
	    !put_jump(d.jump, at, to))
		return err_set(e, -ERANGE, "too far from the injected code");
	d.moved_bytes += DETOUR_JUMP_BYTES;
	*ret = d;
	return 0;
}

int
detour_calls(const uint8_t *code, size_t bytes, uint64_t at, uint64_t to)
{
	struct x86_insn in;

	for (size_t i = 0; i < bytes && x86_decode(code + i, bytes - i, &in);
	     i += in.bytes) {
		if ((in.kind == X86_CALL || in.kind == X86_JMP) &&
		    at + i + (uint64_t)in.target == to)
			return 1;
	}
	return 0;
}
