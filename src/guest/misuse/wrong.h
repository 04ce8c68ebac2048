/* SPDX-License-Identifier: MIT */
/* wrong.h -- wrong use of the heap, as far as the hooks see it: what is freed is no
 * block, no longer one, or of another family; sizes and alignments that cannot be meant.
 *
 * Found where something is rare already: a free of what the table does not know, a kind
 * that does not fit, an allocation that failed. What is found goes into the recording;
 * the program goes on, and meets whatever its allocator does about it, unless the user
 * asked for more. */
#ifndef SEEP_WRONG_H
#define SEEP_WRONG_H

#include "guest/misuse/wrong_align.h"
#include "guest/record/file/recorder.h"

/* A function that takes blocks back. */
struct wrong_form {
	enum rec_func func;
	uint16_t kinds; /* 1 << enum rec_kind: blocks that are its own, or nobody's */
	/* Which of the arguments after the block says the size, the alignment; 0 =
	 * none. */
	uint8_t size_arg, align_arg;
};

enum {
	WRONG_OTHERS = 0xfff0, /* mappings, a program's own, from before a fork */
	WRONG_MALLOCS = WRONG_OTHERS | 1 << REC_KIND_MALLOC | 1 << REC_KIND_ALIGNED,
};

extern SEEP_OWN const struct wrong_form wrong_free, wrong_realloc;

/* A call of it, with the arguments after the block. */
struct wrong_call {
	const struct wrong_form *form;
	uintptr_t args[2];
};

/* What the user asked for beyond what costs nothing. */
struct wrong_settings {
	bool keep_going;  /* a wrong free is left out, instead of passed on */
	bool from_start;  /* recording began with the process: every block is known */
	bool stacks;	  /* frees are unwound too; */
	bool fenced;	  /* or those of blocks on fenced pages */
	bool cxx_foreign; /* operators new and delete are somebody's own */
	/* The program replaces some forms of them; some of delete. */
	bool cxx_replaced, cxx_replaced_delete;
};
extern SEEP_OWN struct wrong_settings wrong;

/* A block whose entry was `a` goes by this call: is anything wrong? */
static ALWAYS_INLINE bool
wrong_at_all(uint64_t a, const struct wrong_form *form, uintptr_t first)
{
	return (form->kinds >> (a >> REC_BLOCK_KIND_SHIFT & 15) & 1) == 0 ||
	       (form->size_arg == 1 && first != (a & REC_BLOCK_SIZE_MASK)) ||
	       form->align_arg != 0 ||
	       __atomic_load_n(&wrong_aligned, __ATOMIC_RELAXED) != 0;
}

/* Kinds of blocks that came from operator new, and what a program hands out itself. */
#define WRONG_NEWS (UINT64_C(2) << REC_BLOCK_KIND_SHIFT)

/* Recording begins with the process: what is looked for. */
struct settings;
void wrong_begin(const struct settings *s);

/* Blocks lie in more memory than they were asked for. */
bool wrong_has_layers(void);

/* Over an allocator with a sized delete of its own, which would be told of more than it
 * handed out: is `p` to be given back without it? */
bool wrong_delete_around(const void *p);

/* A real operator new or delete was found at `f`: does it hand out what malloc did? True:
 * it is the C++ library's, whose forms call each other by name. */
bool wrong_operator(const void *f);

/* The program defines forms of operator new and delete itself; some of delete? */
void wrong_operators_replaced(bool deletes);

/* Something was freed that the table does not know. Busy, before the real call. True: go
 * on with that; false: leave it. */
bool wrong_unknown(struct thread *t, uintptr_t p, const struct wrong_call *call,
		   const struct unw_start *at);

/* A known block goes, whose entry was `gone`: is that the way for it? Busy. Always go
 * on. */
void wrong_known(struct thread *t, uintptr_t p, struct rec_block gone,
		 const struct wrong_call *call, const struct unw_start *at);

/* A request failed, or is for 0 bytes: is the size fishy? Not busy. `p`: what is being
 * resized. */
void wrong_size(enum rec_func func, const void *p, size_t n, const struct unw_start *at);

/* What libseep_copy.so tells: a copy by `func` whose areas overlap. Not busy. */
void seep_copy_overlaps(unsigned func, const void *to, const void *from, size_t n,
			const struct unw_start *at);

/* A block was handed out that was not recorded: nobody may say later that it is none. */
void wrong_stray(const void *p);

#endif
