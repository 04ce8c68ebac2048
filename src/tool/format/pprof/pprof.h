/* SPDX-License-Identifier: MIT */
/* pprof.h -- pprof's protobuf profiles of memory: what Go, tcmalloc, jemalloc_pprof,
 * async-profiler and Parca write, and what every pprof reads.
 *
 * The nine messages of profile.proto are read and written by hand, straight from and into
 * bytes; there are no message objects in between. Profiles of anything but memory are
 * refused. */
#ifndef SEEP_FORMAT_PPROF_H
#define SEEP_FORMAT_PPROF_H

#include <stdbool.h>
#include <stddef.h>

struct emit_out;
struct err;
struct format_save_opts;
struct prof;

/* Whether bytes (unpacked) begin like such a profile. Protobuf has no magic number, so
 * this asks whether the fields make sense, and must be asked last. */
bool pprof_detect(const void *head, size_t bytes);

/* Reads a profile, unpacked, into `p`, which must be empty. What cannot be believed is
 * left out and counted as damage. On failure `p` may hold a part, and the message does
 * not name the file. */
int pprof_load(const void *data, size_t bytes, struct prof *p, struct err *e);

/* Writes the profile as gzip-compressed protobuf, uncompressed when `plain`. */
int pprof_write(const struct prof *p, const struct format_save_opts *o, bool plain,
		struct emit_out *out, struct err *e);

#endif
