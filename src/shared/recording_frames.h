/* SPDX-License-Identifier: MIT */
/* recording_frames.h -- the frames of stacks in a live recording: by address, or by
 * name. */
#ifndef SEEP_RECORDING_FRAMES_H
#define SEEP_RECORDING_FRAMES_H

#include <stdint.h>

/* One frame of a stack: (parent, pc). A stack is named by the ref of its innermost node.
 * pc - 1 lies inside the instruction that the frame executes: pc is a return address, or
 * one more than the address at which a signal interrupted the frame. */
enum rec_node_kind {
	REC_NODE_PC = 0,
	REC_NODE_TRUNCATED = 1, /* root of a stack that could not be followed further */
	REC_NODE_ELIDED = 2,	/* pc = about how many frames were left out here */
	REC_NODE_CLASS = 3,	/* pc = enum rec_class: not malloc's memory but this */
	REC_NODE_NAMED = 4,	/* pc = ref of a struct rec_name: a name and no address */
	REC_NODE_TYPE =
		5, /* pc = ref of a struct rec_string: the type of blocks made here */
};

struct rec_node {
	uint64_t pc;
	uint32_t parent; /* ref, 0 = outermost */
	uint32_t next;	 /* hash chain, of no use to readers */
	/* bits 0-23: number of the module (its place in the table), 24-31: kind */
	uint32_t module;
	uint32_t site; /* ref of the totals, 0 = nothing was allocated exactly here */
};

/* A frame that has a name instead of an address: of an interpreter, or of code that a
 * runtime made. Copied in when the first node of it is made. Longer texts are cut at
 * their end. */
struct rec_name {
	uint32_t function; /* refs of struct rec_string; 0 = not known */
	uint32_t file;
	uint32_t line;	   /* 0 = not known */
	uint32_t language; /* enum rec_language */
};

enum { REC_NAME_MAX = 511 }; /* bytes of a function, a file or a type */

_Static_assert(sizeof(struct rec_node) == 24, "node");
_Static_assert(sizeof(struct rec_name) == 16, "name");

#endif
