/* SPDX-License-Identifier: MIT */
/* anonparts.h -- anonymous memory of a process by what it is: the recorder's own, stacks,
 * static data, heap.
 *
 * Reads /proc/PID/smaps, which takes about a microsecond a mapping and 64 KiB of memory:
 * for moments that are rare. */
#ifndef SEEP_TARGET_ANONPARTS_H
#define SEEP_TARGET_ANONPARTS_H

#include <stdint.h>

#include "tool/target/proc/procmem.h"
#include "tool/target/run/livefile.h"

struct anonparts {
	uint64_t own_kib;    /* the recorder's, without the recording itself */
	uint64_t stack_kib;  /* the first thread's, and those of threads that wait */
	uint64_t static_kib; /* written pages of mapped files, and .bss behind them */
	uint64_t heap_kib;   /* all else, and what is too large for a stack beside one */
};

/* -ESRCH, -EACCES: not to be had. Maps all of `f`. */
int anonparts_read(struct livefile *f, struct anonparts *ret);

/* Of a process that has nothing of a recorder's. */
int anonparts_read_plain(int pid, struct anonparts *ret);

struct anonparts_range {
	uint64_t start, bytes;
};

/* Memory of the recorder in its process, which is read through `m`: the library's
 * writable data first, then its mappings but for the recording. Returns how many;
 * *ret_own is to be freed. Needs livefile_map_all. */
uint32_t anonparts_own(const struct livefile *f, const struct procmem *m,
		       struct anonparts_range **ret_own);

/* From the text of smaps, and what is known: ranges of the recorder and stack
 * pointers. */
void anonparts_add_up(char *smaps, const struct anonparts_range *own, size_t nown,
		      const uint64_t *stacks, size_t nstacks, struct anonparts *ret);

#endif
