/* SPDX-License-Identifier: MIT */
/* live_load.h -- reads a live recording (shared/recording.h) into a profile, as one more
 * process.
 *
 * The recording may belong to a process that runs, that is stopped, or that died in
 * the middle of a store; it may be cut off anywhere and hold any bytes. What cannot be
 * read is counted with prof_add_damage and the rest is kept. Names are not resolved
 * here. */
#ifndef SEEP_FORMAT_LIVE_LOAD_H
#define SEEP_FORMAT_LIVE_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct prof;

/* Adds the recording in the `bytes` bytes at `map` to `p`. The bytes are copied first,
 * so they may change meanwhile. `stopped`: nobody writes any more, so calls that were
 * under way are undone; else they are read as they stand. On failure (not a recording,
 * or of another version) `p` is as it was; the message does not name the file. */
int live_load(const void *map, size_t bytes, bool stopped, struct prof *p, struct err *e);

/* The same from a file, at any position of `fd`, without mapping it: a file that is
 * truncated meanwhile is then short, not a bus error, and holes cost nothing. */
int live_load_fd(int fd, bool stopped, struct prof *p, struct err *e);

/* Of whose process the recording in a file is; all 0 when that cannot be read. */
struct live_whose {
	uint64_t start_ns, process_ticks;
	uint32_t pid;
};
struct live_whose live_whose(int fd);

/* Whether the first `bytes` bytes of a file are those of a live recording. */
bool live_detect(const void *head, size_t bytes);

#endif
