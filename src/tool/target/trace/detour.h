/* SPDX-License-Identifier: MIT */
/* detour.h -- a jump in place of a function's first bytes, and those bytes somewhere
 * else.
 *
 * Only where every instruction is understood: the ones that are moved, and all others of
 * the function as far as they might jump into what is replaced. Anything else is
 * refused. */
#ifndef SEEP_TARGET_DETOUR_H
#define SEEP_TARGET_DETOUR_H

#include <stddef.h>
#include <stdint.h>

#include "tool/util/err.h"

enum {
	DETOUR_JUMP_BYTES = 5,
	DETOUR_MOVED_MAX = 64, /* the moved instructions and the jump back */
};

struct detour {
	uint8_t jump[DETOUR_JUMP_BYTES]; /* to be written over the function's entry */
	uint8_t moved[DETOUR_MOVED_MAX];
	unsigned moved_bytes;
};

/* The function's code is `code` of `bytes`, standing at `at`; calls shall go to `to`, and
 * what is moved will stand at `moved_at`. -ENOTSUP with the reason when it cannot be
 * done; -ERANGE when one of the three is too far from the others. */
int detour_make(const uint8_t *code, size_t bytes, uint64_t at, uint64_t to,
		uint64_t moved_at, struct detour *ret, struct err *e);

/* Whether the function calls or jumps to `to` directly. */
int detour_calls(const uint8_t *code, size_t bytes, uint64_t at, uint64_t to);

#endif
