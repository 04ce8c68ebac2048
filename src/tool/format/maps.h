/* SPDX-License-Identifier: MIT */
/* maps.h -- the memory map at the end of a heap profile: which file an address is of.
 *
 * Lines as in /proc/PID/maps, as gperftools rewrites them, and the short forms that Go's
 * pprof reads (`start-end: file`, `start-end file (@offset) build-id`, `name=value` for
 * `$name`). Only code counts. An address becomes the ELF virtual address of its file: by
 * the program headers where the file can be read, else as if virtual addresses were file
 * offsets. */
#ifndef SEEP_FORMAT_MAPS_H
#define SEEP_FORMAT_MAPS_H

#include "lines.h"
#include "tool/model/prof.h"
#include "tool/util/vec.h"

struct maps_range {
	uint64_t start, end, off;
	uint32_t path; /* string of the profile; 0 = none */
	uint32_t module;
	uint8_t build_id[PROF_BUILD_ID_MAX];
	uint8_t build_id_bytes;
};

struct maps {
	struct prof *p;
	VEC(struct maps_range) ranges; /* ascending once finished */
	uint64_t lines;		       /* that were looked at */
	uint32_t program; /* string: path of the main binary; 0 = not known */
	uint32_t orphans; /* module of addresses in no range; 0 = none of ours */
};

/* Finds the line that begins the map in the last part of a file, which is where it is:
 * its offset, or `bytes` when there is none. *ret_body is where its own lines begin. */
size_t maps_where(const void *data, size_t bytes, size_t *ret_body);

/* Whether this line begins a map. */
bool maps_begins(const struct line *l);

/* Reads a map from there to the end of `in`. `exe` as in format_opts. Adds the modules,
 * their ranges under `process`, and names the process's program. Call it also with an
 * empty `in`. */
void maps_read(struct maps *m, struct prof *p, uint32_t process, struct lines in,
	       const char *exe);
void maps_done(struct maps *m);

/* Module of an address and its ELF virtual address there; 0 and the address itself when
 * it is in none. */
uint32_t maps_find(const struct maps *m, uint64_t addr, uint64_t *ret_offset);

#endif
