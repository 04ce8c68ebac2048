/* SPDX-License-Identifier: MIT */
/* core.h -- a process that has died, as the kernel or gcore wrote it down: mappings,
 * bytes, registers of its threads.
 *
 * An ELF file of type CORE, 64-bit, x86-64. Its segments are the mappings; NT_FILE says
 * which of them are of files, NT_PRSTATUS and NT_X86_XSTATE what was in the registers.
 * What was not written because it is in a file is read from that file, if its build-id is
 * that of the program that died. A core that breaks off is read as far as it goes, and
 * what is missing is counted. The file is mapped, never copied; one that is cut off
 * meanwhile is the caller's SIGBUS. */
#ifndef SEEP_FORMAT_CORE_H
#define SEEP_FORMAT_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/model/memmap.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

enum { CORE_REGS = 27 }; /* general registers, as in struct user_regs_struct */

struct core_thread {
	int tid;
	uint64_t sp, pc, tp;
	uint64_t *words; /* CORE_REGS general ones, then the vectors */
	size_t nwords;
};

/* Where the bytes of one mapping are. */
struct core_segment {
	uint64_t start, end;
	char perms[5];
	const unsigned char *data; /* in the core; `bytes` of them from `start` on */
	uint64_t bytes;
	const unsigned char *file; /* the same mapping in its file; NULL = not had */
	uint64_t file_bytes;
};

struct core_segment_vec VEC_BODY(struct core_segment);

/* Fields are read only. */
struct core {
	int pid;
	char *name;    /* of the program, as the kernel knows it */
	char *exe;     /* its path, by the mappings; NULL = not known */
	char *program; /* the file that is read in its place; NULL = exe */
	struct memmap map;
	VEC(struct core_thread) threads;
	uint64_t cut_bytes; /* promised by its headers, but the file ends before */
	/* of readable mappings: neither in the core nor in a file */
	uint64_t absent_bytes;
	uint64_t file_bytes;  /* taken from files */
	unsigned stale_files; /* that are not those of then, or cannot be told to be */
	uint64_t entry_auxv, random_auxv, vdso_auxv;
	/* private */
	struct core_segment_vec segments; /* one for each area of the map */
	struct core_mapped {
		void *at;
		size_t bytes;
	} * files;
	size_t nfiles;
	const unsigned char *data;
	size_t bytes;
};

/* Whether the file is a core, of whatever machine: by its first bytes. */
bool core_detect(const void *head, size_t bytes);
bool core_is_one(const char *path);

/* Opens; free with core_close. Messages name the file. `program`, unless NULL, is read in
 * place of the file that the core says it ran; -EINVAL if its build-id is another one. */
int core_open(const char *path, const char *program, struct core **ret_core,
	      struct err *e);

/* The same of bytes in memory, which must outlive it; no other file is opened. `name` is
 * for messages. */
int core_parse(const void *data, size_t bytes, const char *name, struct core **ret_core,
	       struct err *e);
void core_close(struct core *c); /* NULL is fine */

/* All `bytes` at `addr`; false when some are not there. */
bool core_read(const struct core *c, uint64_t addr, void *to, size_t bytes);

/* Bytes at `addr`, as many as lie in one piece; NULL: nothing for the next *ret_bytes. */
const unsigned char *core_look(const struct core *c, uint64_t addr, uint64_t bytes,
			       uint64_t *ret_bytes);

#endif
