/* SPDX-License-Identifier: MIT */
/* chain.h -- a runtime's chain of frames in memory, and what a thread remembers of it.
 *
 * A frame is a structure that leads to its caller's. The layout says at which offsets it
 * has what; who runs the code and where the chain begins is the source's matter. */
#ifndef SEEP_CHAIN_H
#define SEEP_CHAIN_H

#include "guest/lang/peek.h"
#include "guest/record/mixed/mixed.h"

enum {
	CHAIN_MAX = 1024,  /* frames: of a longer one the innermost */
	CHAIN_KNOWN = 512, /* names that a thread remembers by where they come from */
	CHAIN_NONE = -1,   /* an offset of what there is not */
};

/* Offsets in a frame, in bytes. Pointers but for `line`, an int, and `entry`, a byte. */
struct chain_layout {
	int32_t prev; /* the caller's frame; NULL = outermost */
	int32_t code; /* a structure that has `function` and `file`; else the frame has */
	int32_t function, file; /* texts */
	int32_t line;
	/* not 0: native code was called for it; without: for every frame */
	int32_t entry;
	int32_t type;  /* a text: what is being allocated, of the innermost frame */
	uint32_t span; /* bytes of a frame that are read */
	enum rec_language language;
};

/* What is read of a frame, as it is there. Who `a` and `b` belong to is said by the
 * layout: the code, or the texts. And the hashes of its name, and of it and all
 * outside. */
struct chain_level {
	uintptr_t frame, prev, a, b;
	int32_t line;
	uint8_t entry;
	bool named; /* frames[] and `own` are of these words */
	uint64_t own, hash;
};

struct chain_known {
	uintptr_t a, b;
	int32_t line;
	uint32_t name;
	bool known;
};

/* A thread's own: about 170 KiB, of which a shallow chain touches 30. All zero at
 * first. */
struct chain {
	struct peek peek;
	uint32_t n; /* levels that are there, outermost first */
	bool cut;
	unsigned changes; /* the runtime's count when they were found */
	uintptr_t type_text;
	uint32_t type;
	uint16_t index[CHAIN_MAX]; /* by frame's address: level + 1, a guess */
	struct chain_known known[CHAIN_KNOWN];
	char function[REC_NAME_MAX + 1], file[REC_NAME_MAX + 1];
	struct mixed_frame frames[CHAIN_MAX];
	struct chain_level levels[CHAIN_MAX];
	struct chain_level fresh[CHAIN_MAX]; /* innermost first */
};

/* The chain that begins at `head`, 0 = none. `changes` counts how often texts or code
 * went away: another number makes void what was remembered by address. */
void chain_read(struct chain *c, const struct chain_layout *l, struct recorder *r,
		struct thread *t, uintptr_t head, unsigned changes,
		struct mixed_chain *ret);

/* Nothing is remembered. */
void chain_forget(struct chain *c);

#endif
