/* SPDX-License-Identifier: MIT */
/* stack_text.h -- stacks written as hexadecimal addresses become nodes of a profile. */
#ifndef SEEP_FORMAT_STACK_TEXT_H
#define SEEP_FORMAT_STACK_TEXT_H

#include "lines.h"
#include "tool/model/prof.h"
#include "tool/util/vec.h"

struct maps;

struct stack_text_frame {
	size_t tail; /* bytes from the blank before its address to the end of the stack */
	uint32_t loc, node;
};

struct stack_text_addr {
	uint64_t addr;
	uint32_t loc; /* 0 = free */
};

struct stack_text {
	struct prof *p;
	const struct maps *maps;
	struct stack_text_addr *addrs; /* hash table */
	size_t cap;
	uint32_t naddrs;
	VEC(uint32_t) child; /* of a node: the first that was met, 0 = none */
	struct line last;    /* the stack before, and its frames */
	VEC(struct stack_text_frame) frames; /* outermost first */
	VEC(struct stack_text_frame) fresh;  /* scratch: innermost first */
};

/* `maps` says what addresses belong to; both must outlive it. */
void stack_text_init(struct stack_text *s, struct prof *p, const struct maps *maps);
void stack_text_done(struct stack_text *s);

/* Node of the stack ` 0x1 0x2 …`, innermost first; 0 = it is empty. The text must stay
 * where it is until the next call. Where something is no address, *ret_bad is set and the
 * frames before it are kept. Addresses are return addresses. */
uint32_t stack_text_node(struct stack_text *s, struct line text, bool *ret_bad);

/* Row of the location of an address seen in a stack; 0 = in none. */
uint32_t stack_text_loc(const struct stack_text *s, uint64_t addr);

#endif
