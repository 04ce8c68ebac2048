/* SPDX-License-Identifier: MIT */
/* core_impl.h -- what the files of core.h share. */
#ifndef SEEP_FORMAT_CORE_IMPL_H
#define SEEP_FORMAT_CORE_IMPL_H

#include "shared/cursor.h"
#include "tool/format/core/core.h"

enum { CORE_PAGE = 4096 };

/* ---- core_notes.c ---- */

/* One file's part in the address space, from NT_FILE. */
struct core_file {
	uint64_t start, end, off; /* bytes */
	const char *name;	  /* in the core's map */
};

struct core_file_vec VEC_BODY(struct core_file);

/* Reads a segment of notes: threads, program, files. What makes no sense is left out. */
void core_notes(struct core *c, struct cur *notes, struct core_file_vec *files);

/* ---- core_files.c ---- */

/* Maps the files of mappings whose bytes are not in the core, where they are those of
 * then. */
void core_map_files(struct core *c);

/* The mappings of the program that ran get the name `path`. */
int core_use_program(struct core *c, const char *path, struct err *e);

#endif
