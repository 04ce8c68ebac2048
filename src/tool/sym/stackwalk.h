/* SPDX-License-Identifier: MIT */
/* stackwalk.h -- which frames are on a stack of another process that stands still, or of
 * a core: where each begins and ends.
 *
 * By the call frame information of the binaries, as libdw reads it; registers sp, bp and
 * pc are followed. Ends where a binary has none, or a rule is of a sort that code of our
 * days hardly has. x86-64. */
#ifndef SEEP_SYM_STACKWALK_H
#define SEEP_SYM_STACKWALK_H

#include <stdbool.h>
#include <stdint.h>

struct stackwalk_module {
	const char *path;
	uint64_t start, end, bias; /* address = ELF virtual address + bias */
};

struct stackwalk_frame {
	uint64_t pc; /* where it stands; of all but the first, where it is returned to */
	uint64_t start, end; /* its part of the stack */
	uint32_t module;
};

struct stackwalk {
	const struct stackwalk_module *modules;
	uint32_t nmodules;
	/* The word at `addr`; false when it cannot be had. */
	bool (*word)(void *ctx, uint64_t addr, uint64_t *ret_word);
	void *ctx;
};

/* Walks from these registers on; how many frames, at most `max`. */
uint32_t stackwalk(const struct stackwalk *w, uint64_t pc, uint64_t sp, uint64_t bp,
		   struct stackwalk_frame *ret, uint32_t max);

#endif
