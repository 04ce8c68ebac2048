/* SPDX-License-Identifier: MIT */
/* mixed.h -- stacks of two halves: native frames, and the frames of a managed runtime
 * that runs on top of them.
 *
 * A runtime is a source (guest/lang): it gives the calling thread's chain of frames at
 * this moment, by name, and says which native code runs them. The recorder puts both
 * together. While no runtime is registered none of this is reached: r->mixed is NULL. */
#ifndef SEEP_MIXED_H
#define SEEP_MIXED_H

#include "guest/record/file/recorder.h"

enum { MIXED_SOURCES_MAX = 4 };

struct mixed_frame {
	uint32_t name; /* ref of a struct rec_name; 0 = found no room */
	bool entry;    /* native code was called to run it; else its caller's runs on */
};

/* What a thread does in one runtime. The key of the chain is `hash`: two chains that
 * differ in a frame's name or entry, or in `cut`, have different ones. */
struct mixed_chain {
	uint64_t hash;
	const struct mixed_frame *frames; /* outermost first; n = 0: none */
	uint32_t n;
	uint32_t type; /* ref of a string: of what is being allocated; 0 = not known */
	bool cut;      /* it goes on, and could not be followed to its end */
};

/* A runtime. Called on the thread in question, inside of a hook: no allocation, no lock,
 * no wait. */
struct mixed_source {
	/* The chain now, good until the next call for this thread. *state is the source's
	 * own for this thread, NULL at first, memory of rt_map. */
	void (*read)(const struct mixed_source *s, struct recorder *r, struct thread *t,
		     void **state, struct mixed_chain *ret);
	/* What is remembered of the thread is void: it jumped, or is another one. */
	void (*forget)(void *state);
	void (*free)(void *state);
	/* Is the code that returns to `pc` what runs this runtime's frames? */
	bool (*runs)(const struct mixed_source *s, uintptr_t pc);
	const void *arg; /* the source's own */
};

/* Sources are added and never removed; `n` is written last. */
struct mixed_sources {
	uint32_t n;
	struct mixed_source of[MIXED_SOURCES_MAX];
};

/* The node of the calling thread's whole stack, given that of its native half; `native`
 * itself where no runtime has a frame. `typed`: with the type of what is allocated, if a
 * runtime says it. Only while r->mixed is set. Never 0. */
uint32_t mixed_node(struct recorder *r, struct thread *t, uint32_t native, bool typed);

/* Where the thread remembers the cells of such stacks, as t->places for native ones;
 * NULL: there is no room. */
struct thread_place *mixed_places(struct thread *t);

/* What the thread remembers is void; and: give its memory back. */
void mixed_forget(struct thread *t);
void mixed_free(struct thread *t);

#endif
