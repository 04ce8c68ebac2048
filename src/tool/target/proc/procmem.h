/* SPDX-License-Identifier: MIT */
/* procmem.h -- looks into a running process without stopping it: its mappings, which
 * pages are resident, its bytes, where its threads' stacks are.
 *
 * Reads only, through /proc and process_vm_readv. Pages that are not resident are never
 * touched: that would fetch them from swap or make new ones, and change what is being
 * measured. The process goes on meanwhile, so what is read may be torn; whoever follows
 * pointers checks every one. The one thing that writes is procmem_clear_refs. */
#ifndef SEEP_TARGET_PROCMEM_H
#define SEEP_TARGET_PROCMEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

/* Memory that is no process's any more, such as a core file's. */
struct procmem_source {
	/* 0, or -EFAULT when not all bytes are there. */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t bytes);
	/* Whether anything is known of the page at `addr`. */
	bool (*present)(void *ctx, uint64_t addr);
	void *ctx;
};

/* Start with `= PROCMEM_NONE`; procmem_close is legal at any time. */
struct procmem {
	int pid;			     /* 0: none, bytes come from `source` */
	int task;			     /* file_proc_task, when it was opened */
	const struct procmem_source *source; /* borrowed; NULL = a process */
	uint64_t start_ticks; /* so that a pid that was given to another is noticed */
	int pagemap_fd;
	uint64_t page_bytes;
};

#define PROCMEM_NONE                                                                     \
	{                                                                                \
		.pagemap_fd = -1                                                         \
	}

/* -ESRCH: no such process; -EACCES: not ours to look into, and the message says what
 * helps. */
int procmem_open(int pid, struct procmem *ret_mem, struct err *e);
void procmem_close(struct procmem *m);

/* Whether it is still that process, and not a zombie. */
bool procmem_alive(const struct procmem *m);

/* Text of /proc/PID/smaps, appended. A process that ends meanwhile is -ESRCH. */
int procmem_smaps(const struct procmem *m, struct buf *ret_text, struct err *e);

/* Resident KiB as smaps_rollup adds them up, in one go of the kernel; 0 when it has
 * none. */
uint64_t procmem_rollup_kib(const struct procmem *m);

/* Reads `bytes` at `addr`; 0, or -EFAULT when they are not all there. Touches whatever it
 * finds: for ranges that procmem_present said are there. */
int procmem_read(const struct procmem *m, uint64_t addr, void *to, size_t bytes);

/* Which of `pages` from `addr` on are resident: to[i] is 1 or 0. Without pagemap all are
 * said to be: false. */
bool procmem_present(const struct procmem *m, uint64_t addr, size_t pages, uint8_t *to);

/* Reads resident pages of a range and leaves others zero. How many bytes were there. */
uint64_t procmem_copy(const struct procmem *m, uint64_t addr, void *to, size_t bytes);

struct procmem_words VEC_BODY(uint64_t);

/* Stack pointers of all threads that wait in the kernel; those that run have none to
 * tell. */
void procmem_stacks(const struct procmem *m, struct procmem_words *ret_stacks);

/* From now on "Referenced" in smaps means: touched since. Costs the process a flush of
 * its address translations and the kernel a walk over its page tables. */
int procmem_clear_refs(const struct procmem *m, struct err *e);

#endif
