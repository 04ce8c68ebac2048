/* SPDX-License-Identifier: MIT */
/* emit_frame.h -- frames and stacks by name, for formats that have no addresses.
 *
 * Two addresses of one function are one frame here, and stacks whose frames have the same
 * names are one stack, with their figures summed. What tells frames apart is the caller's
 * choice. */
#ifndef SEEP_FORMAT_EMIT_FRAME_H
#define SEEP_FORMAT_EMIT_FRAME_H

#include <stdint.h>

#include "format_save.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

struct prof;
struct prof_loc;

enum emit_detail { EMIT_BY_NAME, EMIT_BY_FILE, EMIT_BY_LINE };

/* A frame as it is told apart; what the detail leaves out is 0. */
struct emit_frame {
	uint32_t name;	       /* in emit_stacks.names */
	uint32_t file, module; /* strings of the profile */
	uint32_t line;
};

struct emit_node {
	uint32_t parent; /* 0 = outermost */
	uint32_t frame;
};

/* Frames of a stack, outermost first. */
struct emit_path VEC_BODY(uint32_t);

struct emit_stacks {
	const struct prof *p;
	enum emit_detail detail;
	struct strtab names;
	struct strtab keys; /* of struct emit_frame, as bytes; row 0 is no frame */
	VEC(struct emit_node) nodes; /* node 0 is the empty stack */
	struct map children;	     /* parent and frame -> node */
	VEC(uint32_t) loc_frames;    /* frames of all locations, innermost first */
	uint32_t *loc_first;	     /* where in it, and the end */
	uint32_t *of_node;	     /* node of the profile -> node here */
	uint32_t *of_site;	     /* stack of every site; 0 = empty */
};

/* Takes in the stacks of all sites. Free with emit_stacks_done. */
void emit_stacks_init(struct emit_stacks *s, const struct prof *p,
		      const struct format_save_opts *o, enum emit_detail detail);
void emit_stacks_done(struct emit_stacks *s);

struct emit_frame emit_stacks_frame(const struct emit_stacks *s, uint32_t frame);

/* The frames of the stack at a node, replacing what is in `ret_path`. */
void emit_stacks_path(const struct emit_stacks *s, uint32_t node,
		      struct emit_path *ret_path);

/* Appends what a location is called that has no function's name: its module and offset,
 * or in words what it stands for. */
void emit_frame_unnamed(const struct prof *p, const struct prof_loc *l, struct buf *out);

#endif
