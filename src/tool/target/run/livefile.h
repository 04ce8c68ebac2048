/* SPDX-License-Identifier: MIT */
/* livefile.h -- a live recording as the tool touches it: opened safely, checked, mapped.
 *
 * The file belongs to a process that may be hostile to us or die at any moment, so the
 * size comes from the file and not from its header, and nothing beyond what the recorder
 * made present is touched: reading a hole of a full tmpfs would be SIGBUS. Reading a
 * recording for a report is src/tool/format's business; this is for control, marks and
 * the clock. What lies in the file is liveobjects.h, which src/tool/target and the leak
 * check include. */
#ifndef SEEP_TARGET_LIVEFILE_H
#define SEEP_TARGET_LIVEFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "shared/rec_enums.h"
#include "tool/util/err.h"

struct rec_head;

/* Start with `= {.fd = -1}`; livefile_close is legal at any time. */
struct livefile {
	int fd;
	/* as the tool's /proc numbers it; differs from head->pid in containers */
	int pid;
	uint64_t file_bytes;
	uint64_t inode;
	dev_t dev;
	uid_t uid;
	struct rec_head *head; /* mapped, shared, writable */
	uint64_t mapped_bytes; /* from the start of the file */
	/* a copy, as the file itself cannot be opened: nothing that is written there is
	 * seen */
	bool copied;
};

/* Takes over `fd` (also on failure) and maps the first page. Refused: not a regular file,
 * owner neither we nor, for root, anyone; wrong magic, version or sizes. -EAGAIN: still
 * being made. */
int livefile_adopt(int fd, const char *name, struct livefile *ret_file, struct err *e);

/* Copies a recording that process `pid` has mapped at `at`, `bytes` long, into a file of
 * our own: for those who may read its memory but not open the file, which has no name.
 * The process is not stopped. The descriptor, or why not. */
int livefile_copy(int pid, uint64_t at, uint64_t bytes, struct err *e);

/* Opens `name` in the folder `dirfd`, without following links. */
int livefile_open(int dirfd, const char *name, struct livefile *ret_file, struct err *e);

/* Maps everything that chunks may take up to now and in future; head may move. */
int livefile_map_all(struct livefile *f, struct err *e);

void livefile_close(struct livefile *f);

/* What its head says at this moment; shared/recording.h explains each. */
struct livefile_head {
	uint64_t start_ns, start_mono_ns, clock_ms, run_id, own_kib;
	int64_t peak_bytes, live_bytes; /* about, see livefile_live_bytes */
	uint32_t pid, ppid, tool_pid, before_kib, flags;
	enum rec_mode mode;
	bool paused;
};
struct livefile_head livefile_head(const struct livefile *f);

/* Advances its clock; never to 0, which would mean that nobody keeps it. */
void livefile_tick(struct livefile *f, uint64_t ms);

/* Bytes from the start of the file up to the last chunk that was given out. */
uint64_t livefile_used_bytes(const struct livefile *f);

/* Whether its process still runs. */
bool livefile_alive(const struct livefile *f);

/* Milliseconds since it began; for a process that lives and whose clock nobody may
 * keep. */
uint64_t livefile_age_ms(const struct livefile *f);

/* Whether somebody has deleted the file: then what `f` holds is the last way to it. */
bool livefile_deleted(const struct livefile *f);

/* Bytes live in the program now: the sum over all cells, as head's own figure is kept
 * only once there are threads. May be off by the calls under way. Needs
 * livefile_map_all. */
uint64_t livefile_live_bytes(const struct livefile *f);

/* Bytes the recorder holds: the file's present part and its own memory. */
uint64_t livefile_held_bytes(const struct livefile *f);

/* Names of running threads into their records, where they changed. Needs
 * livefile_map_all. */
void livefile_refresh_names(struct livefile *f);

#endif
