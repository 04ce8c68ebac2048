/* SPDX-License-Identifier: MIT */
/* freeze.h -- a process that stands still, to be looked through: its mappings, its
 * threads' registers, its memory.
 *
 * A process with one thread that waits for us needs no more than that. Others are stopped
 * with tracee.h and go on afterwards. Memory is read in pieces of 64 KiB, of which few
 * are kept, and more if the same ones are asked for again: 48 MiB at most (192 MiB if
 * that is all of it), and never more than a quarter of what is left below a memory limit,
 * for it is the process that would be killed for it. Then little is read at a time. Pages
 * that were never touched are not read. Nothing is written into the process, but what it
 * takes to make a copy of it (tracee.h). */
#ifndef SEEP_TARGET_FREEZE_H
#define SEEP_TARGET_FREEZE_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/target/proc/kernelwords.h"
#include "tool/target/proc/pagescan.h"
#include "tool/target/proc/procmem.h"
#include "tool/target/trace/tracee.h"
#include "tool/util/map.h"
#include "tool/util/pieces.h"

struct freeze_thread {
	int tid;
	uint64_t sp;	 /* 0 = not known */
	uint64_t pc, tp; /* where it is, and its thread pointer */
	size_t regs;	 /* first of its registers in freeze.words */
};

/* Start with `= FREEZE_NONE`; freeze_close is legal at any time. */
struct freeze {
	int pid;
	struct procmem mem;
	struct tracee tracee;
	bool stopped;
	bool filtered;	   /* its system calls: none must be made in its name */
	struct memmap map; /* mappings with names, without figures */
	VEC(struct freeze_thread) threads;
	struct procmem_words words; /* registers of the stopped threads */
	struct kernelwords kernel;  /* pointers that the kernel keeps for it */
	struct pagescan pages;	    /* which were touched, and how that is told */
	/* private: what was read */
	int mem_fd;		      /* /proc/PID/mem, for closed pages; 0 = not open */
	struct pieces pieces;	      /* of 64 KiB */
	struct map empty;	      /* numbers of those in which nothing is, */
	struct map whole;	      /* and of those that were touched from end to end */
	struct freeze_little *little; /* read without a piece */
	uint64_t last_number; /* the piece that was looked at last, and where it is */
	const unsigned char *last; /* NULL = none */
	bool once;		   /* large looks are for once: read, and not kept */
	unsigned char *passing;	   /* what was read last in that way, */
	uint64_t passing_start, passing_end; /* and where it is from */
	struct tracee_copy copy;
	/* set by the caller: shared memory not to be read; 0 = none */
	uint64_t left_out_inode;
	/* memory that is left to whoever shares a limit with it, or with us */
	uint64_t room_bytes;
};

#define FREEZE_NONE                                                                      \
	{                                                                                \
		.mem = PROCMEM_NONE, .tracee = TRACEE_NONE                               \
	}

/* Opens, and reads its mappings. Nothing is stopped yet. */
int freeze_open(int pid, struct freeze *ret_freeze, struct err *e);
void freeze_close(struct freeze *f);

/* Lets it go on and forgets all that was read, for another look at it. */
int freeze_again(struct freeze *f, struct err *e);

/* The same, and quickly: how much memory is left is not asked, and next to nothing
 * kept. */
int freeze_open_bare(int pid, struct freeze *ret_freeze, struct err *e);

/* Reads the mappings anew. */
int freeze_maps(struct freeze *f, struct err *e);

/* Mappings, and the pointers that the kernel keeps: for a leak check. */
int freeze_maps_and_words(struct freeze *f, struct err *e);

/* Whether a mapping of that name is one that reading might do something to. */
bool freeze_is_device(const char *name);

/* Whether it is memory that several mappings may share, and no file on a disk. */
bool freeze_is_shared_memory(const struct memmap_area *a);

/* Whether its memory can be read at all: the right to see its mappings is not enough. */
bool freeze_readable(const struct freeze *f);

/* How many threads it has; 0 when it is gone. */
unsigned freeze_thread_count(const struct freeze *f);

/* Stops all threads and takes their registers, but those of the thread `but`, which waits
 * for us by itself; 0 = of all. */
int freeze_stop(struct freeze *f, int but, struct err *e);

/* Stopped: makes a copy of the process that is looked at from now on in its place, so
 * that it can go on; and reads what the copy lacks or shares. On failure all is as
 * before. */
int freeze_copy(struct freeze *f, struct err *e);

/* Lets them go on. One that did not stop in time is let go when it does, which SIGCHLD
 * tells: who keeps that blocked calls freeze_late when it came. */
void freeze_go(struct freeze *f);
void freeze_late(void);

/* Where glibc's malloc keeps its lists of free memory, outside of its heaps; false: not
 * found. */
bool freeze_malloc_state(struct freeze *f, struct tracee_span *ret_span);

/* Reads a range now, and keeps it; false: there is no room for it. freeze_forget: all of
 * them. */
bool freeze_keep(struct freeze *f, uint64_t start, uint64_t end);
void freeze_forget(struct freeze *f);

/* From a signal handler: every look from now on finds nothing, so that a check comes to
 * its end soon and takes its copy out of the process. Its result means nothing then. */
void freeze_interrupt(void);
bool freeze_interrupted(void);

/* Bytes at `addr`, as scan_look wants them. */
const unsigned char *freeze_look(void *freeze, uint64_t addr, uint64_t bytes,
				 uint64_t *ret_bytes);

#endif
