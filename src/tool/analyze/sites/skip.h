/* SPDX-License-Identifier: MIT */
/* skip.h -- which frames of a stack are worth showing, and what libc keeps for itself.
 *
 * A stack begins in the allocator and ends in the start code of libc. Neither end says
 * anything about the program, so both are left out of reports: innermost frames of
 * allocators, of the loader and of C++ and Rust allocation glue, as long as they follow
 * one another without a gap, and outermost frames of libc. What is left out is decided by
 * the const tables in skip.c, by module and by function; a caller may add patterns or
 * switch all of it off. Nothing is removed from the profile.
 *
 * Lists for people also fold the frames of a language's own library (library.h), wherever
 * in the stack they are, so that the first frame shown is the program's own. A stack
 * without a frame of the program is never folded. */
#ifndef SEEP_ANALYZE_SKIP_H
#define SEEP_ANALYZE_SKIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/util/vec.h"

struct skip;

struct skip_opts {
	const char *const
		*more; /* patterns (* and ?) of functions and modules to skip too */
	size_t nmore;
	bool off;  /* show every frame */
	bool fold; /* leave out the frames of language libraries too */
};

/* One row of a table of patterns; NULL matches anything. */
struct skip_rule {
	const char *module;   /* last part of the module's path */
	const char *function; /* as the profile names it */
};

/* Memory that libc, the loader or libstdc++ keep on purpose until the process is gone. */
struct skip_kept {
	const char *module;
	const char *function; /* of a frame between malloc and the first other module's;
				 NULL = any, but only next to malloc */
	/* every block has this size, and the loader is the caller; 0 = any */
	uint64_t bytes;
	const char *what; /* in words, for reports */
};

/* One frame of a stack: a node, and which of the functions inlined at its location. */
struct skip_pos {
	uint32_t node;
	uint32_t inl; /* 0 = innermost */
};

struct skip_stack VEC_BODY(struct skip_pos);

/* Classifies every location of `p`, whose names must be in place, and borrows it. `o` may
 * be NULL. Never NULL; free with skip_free (NULL is fine). */
struct skip *skip_new(const struct prof *p, const struct skip_opts *o);
void skip_free(struct skip *s);

/* The innermost frame to show of the stack at `node`; of a stack that is allocator frames
 * all through, its innermost frame. */
struct skip_pos skip_first(const struct skip *s, uint32_t node);

/* Steps to the caller. False at the outermost frame that is to be shown. */
bool skip_next(const struct skip *s, struct skip_pos *pos);

/* Steps to the caller, whatever it is; false at the end of the stack. Starts at inl 0. */
bool skip_step(const struct prof *p, struct skip_pos *pos);

/* All frames to show, innermost first, replacing what is in `ret_stack`. */
void skip_stack(const struct skip *s, uint32_t node, struct skip_stack *ret_stack);

/* The same with library frames folded or not, whatever `s` does: for those who say which
 * frames are folded. */
void skip_stack_as(const struct skip *s, uint32_t node, bool fold,
		   struct skip_stack *ret_stack);

/* Is the frame the program's own: not of a language's library, nor of libc or start
 * code? */
bool skip_is_own(const struct skip *s, struct skip_pos pos);

/* Is this node start code above which nothing else is? Its frames are shown only in
 * stacks that have no other. */
bool skip_is_tail(const struct skip *s, uint32_t node);

/* Row of prof.frames at `pos`, or NULL when the location has no names. */
const struct prof_frame *skip_frame(const struct prof *p, struct skip_pos pos);
const struct prof_loc *skip_loc(const struct prof *p, struct skip_pos pos);

/* What libc keeps when the site's blocks are its own, else NULL. Static text. */
const char *skip_kept_by_libc(const struct skip *s, const struct prof_site *site);

/* Do the user's patterns name this frame of another language, by its function or by the
 * last part of its file? No other list speaks of such frames. */
bool skip_asked(const struct skip_opts *o, const struct prof *p,
		const struct prof_frame *f);

/* The tables, for `--help` and documentation; each ends with an all-NULL row. */
extern const struct skip_rule skip_allocators[];
extern const struct skip_rule skip_roots[];
extern const struct skip_kept skip_kept_table[];

#endif
