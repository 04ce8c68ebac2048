/* SPDX-License-Identifier: MIT */
/* unwind.h -- from "a hooked call returns here" to the id of the whole call stack.
 *
 * The caller owns everything: memory, the list of modules, the prefix tree of stacks. The
 * unwinder keeps two things in the memory it is handed: unwinding rules by return address
 * for the process (struct unw_shared), and the last stack seen by each thread (struct
 * unw_thread), which lets it unwind only the frames that changed since.
 *
 * Nothing here allocates, locks, makes a system call or calls into libc beyond memcpy,
 * memset and memcmp. All of it may run in a signal handler, but one struct unw_thread is
 * never entered twice at the same time: the caller keeps a busy flag. Leaving by longjmp
 * is harmless.
 *
 * It reads the program's stack and .eh_frame as they are. On the stack announced with
 * unw_thread_bounds() even a wrong table cannot make it read outside of that stack,
 * unless by an expression; elsewhere (coroutines, alternate signal stacks) it believes
 * .eh_frame and follows nothing else. */
#ifndef SEEP_UNWIND_UNWIND_H
#define SEEP_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNW_MODULE_MAX ((1u << 20) - 1) /* largest module id */

/* A stack deeper than UNW_EXACT_MAX frames is kept as its UNW_KEEP_INNER innermost and
 * UNW_KEEP_OUTER outermost frames with one UNW_NODE_ELIDED between them. */
#define UNW_EXACT_MAX 1024
#define UNW_KEEP_INNER 384
#define UNW_KEEP_OUTER 128

enum {
	UNW_NODE_PC,	    /* an ordinary frame */
	UNW_NODE_TRUNCATED, /* pseudo root: the stack goes on but could not be followed */
	UNW_NODE_ELIDED,    /* pseudo frame: `pc` frames left out, rounded down to 2^n */
};

/* One ELF object as the unwinder needs it. */
struct unw_module {
	uintptr_t start, end; /* mapped range; nothing outside it is read as .eh_frame */
	const unsigned char *eh_hdr; /* PT_GNU_EH_FRAME in memory, or NULL */
	uint32_t id;		     /* 1 to UNW_MODULE_MAX; passed back to node() */
	/* Not NULL: no module, but code made at run time, whose table was registered.
	 * [start, end) is a copy of that table, this its first entry; `shift` is where it
	 * was, less where the copy is. The id is 0. */
	const unsigned char *copy;
	uintptr_t shift;
};

struct unw_ops {
	/* The module that covers `pc`; false when none does (code of a JIT). Asked once
	 * for each new return address and for each frame outside all modules. Lock-free,
	 * signal-safe. */
	bool (*find)(uintptr_t pc, struct unw_module *ret_module);
	/* The copy that find() gave is no longer looked at. NULL when it never gives
	 * one. */
	void (*done)(void);

	/* Id of the prefix-tree node (parent, pc, kind), never 0; `parent` 0 is the root.
	 * `arg` is what unw_thread_init() was given. `pc` - 1 lies within the instruction
	 * that the frame executes: pc is a return address, or the address after the one
	 * at which a signal interrupted the frame. `module_id` is 0 outside all modules
	 * and for pseudo frames. Called on the thread that unwinds. */
	uint32_t (*node)(void *arg, uint32_t parent, uintptr_t pc, uint32_t module_id,
			 unsigned kind);

	/* The id that was given to a whole stack with this hash before, or 0: saves
	 * asking for each frame. learn() may forget. Both may be NULL. Two stacks share a
	 * hash of 64 bits about once in 10^7 programs with a million stacks each. */
	uint32_t (*recall)(void *arg, uint64_t hash);
	void (*learn)(void *arg, uint64_t hash, uint32_t id);
};

/* Where to start: the state that the hooked function's caller finds when it returns. */
struct unw_start {
	uintptr_t pc; /* return address, as it is on the stack (aarch64: signed or not) */
	uintptr_t sp; /* stack pointer after the return: the hook's CFA */
	uintptr_t bp; /* frame pointer register, whatever the caller keeps in it */
};

/* What happened to the stacks of one thread. */
struct unw_stats {
	uint64_t stacks;	/* unwound in all */
	uint64_t hits;		/* of them: identical to the one before */
	uint64_t frames_fresh;	/* unwound by rules */
	uint64_t frames_reused; /* taken from the stack before, after re-reading it */
	uint64_t truncated;	/* stacks that end in UNW_NODE_TRUNCATED */
	uint64_t elided;	/* stacks with UNW_NODE_ELIDED */
	uint64_t full;		/* stacks that needed all registers */
};

struct unw_shared;
struct unw_thread;

/* Bytes to hand over for each: anonymous memory, zeroed, aligned to a page. Pages that
 * stay untouched are never needed: 16 to 300 KiB of the one, by the size of the program,
 * and about 90 KiB of the other are usual. */
size_t unw_shared_bytes(void);
size_t unw_thread_bytes(void);

/* `ops` is borrowed for good. Call before any thread is initialised. */
void unw_shared_init(struct unw_shared *s, const struct unw_ops *ops);

/* Frames whose return address lies in [start, end) are outermost: what is outside of the
 * caller's own code there is of no interest and never changes. */
void unw_shared_root(struct unw_shared *s, uintptr_t start, uintptr_t end);

/* `arg` goes to ops->node(). `t` belongs to one thread; may be initialised again for the
 * next. */
void unw_thread_init(struct unw_thread *t, struct unw_shared *s, void *arg);

/* The thread's own stack is [lo, hi). Without it frames that have no unwind table cannot
 * be followed. `lo` may be a guess (the main stack grows): only addresses above the stack
 * pointer are read. On the thread itself. */
void unw_thread_bounds(struct unw_thread *t, uintptr_t lo, uintptr_t hi);

/* Id of the stack that starts at `start`, never 0. On the thread that owns `t`, and with
 * the frames of the hook still on the stack below `start`: when a frame needs more
 * registers than three, they are found by unwinding from here. Hooks use unwind_fast.h
 * instead. */
uint32_t unw_stack(struct unw_thread *t, const struct unw_start *start);

/* The rules of [start, end) are forgotten and every memo is invalid from now on. To be
 * called when a module goes, before its addresses can be used again; with an empty range
 * after one came. Any thread, lock-free, signal-safe. */
void unw_forget(struct unw_shared *s, uintptr_t start, uintptr_t end);

/* For tests and benchmarks: the addresses that node() would get, innermost first, at most
 * `max`. Returns how many. Nothing is elided up to 16,384 frames; beyond that only the
 * UNW_KEEP_INNER innermost are given. Without `use_memo` every frame is unwound by rules
 * and the memo is left as it is. */
unsigned unw_addresses(struct unw_thread *t, const struct unw_start *start,
		       uintptr_t *ret_pcs, unsigned max, bool use_memo);

/* Figures so far. On the thread itself, or when it rests. */
void unw_thread_stats(const struct unw_thread *t, struct unw_stats *ret_stats);

#endif
