/* SPDX-License-Identifier: MIT */
/* rundir.h -- the folder in which the processes of one run keep their live recordings.
 *
 *	/dev/shm/seep-<uid>-<16 hex digits>/    0700
 *	    owner                               who made it, for what; locked while it
 *                                          lives
 *	    <pid>.<16 hex digits>.live          one a process, made by the recorder
 *
 * A folder outlives its owner when daemons still record into it, or when the owner was
 * killed. The next run, ps or doctor finds it, saves what is inside and removes it once
 * no process has it mapped any more. Folders of other users are never touched. */
#ifndef SEEP_TARGET_RUNDIR_H
#define SEEP_TARGET_RUNDIR_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/err.h"
#include "tool/util/vec.h"

/* Start with `= {.fd = -1, .lock_fd = -1}`, or RUNDIR_NONE; rundir_close is legal at any
 * time. */
struct rundir {
	int fd;	     /* the folder */
	int lock_fd; /* the owner file, locked: ours. -1: only looking */
	char *path;
	uint64_t run_id;
	int owner_pid;
	uint64_t owner_ticks;
	char *output;  /* absolute path of the file to be saved; "" unknown */
	char *command; /* for people */
};

struct rundir_names VEC_BODY(char *);

#define RUNDIR_NONE                                                                      \
	{                                                                                \
		.fd = -1, .lock_fd = -1                                                  \
	}

/* A fresh folder on tmpfs with room: /dev/shm, $XDG_RUNTIME_DIR, else /tmp. */
int rundir_new(const char *command, struct rundir *ret_dir, struct err *e);

/* Notes where the recording will be saved, for whoever has to do it after us. */
int rundir_set_output(struct rundir *d, const char *path, struct err *e);

/* Free bytes of the file system it is on. */
uint64_t rundir_room_bytes(const struct rundir *d);

/* Opens an existing folder: must be ours, 0700 and no link. */
int rundir_open(const char *path, struct rundir *ret_dir, struct err *e);

/* Opens the folder of this path or, without a slash, of this name (seep-<uid>-<16 hex
 * digits>), which must be a run folder's. -ENOENT: it is neither, or gone. */
int rundir_find(const char *name, struct rundir *ret_dir, struct err *e);

/* The last part of its path: what rundir_find takes. */
const char *rundir_name(const struct rundir *d);

/* Closes without removing anything. */
void rundir_close(struct rundir *d);

/* Removes the folder, then closes it; only for an owned one (lock_fd). With `known`, a
 * folder that has recordings of other names is left as it is: -ENOTEMPTY, and `d` stays
 * open. NULL removes whatever is inside; processes that still record go on in memory that
 * nobody sees. */
int rundir_remove(struct rundir *d, const struct rundir_names *known, struct err *e);

/* Whether its owner runs. */
bool rundir_owned(const struct rundir *d);

/* Makes a folder without an owner ours; -EBUSY when somebody else has it. */
int rundir_take(struct rundir *d, struct err *e);

/* Paths of all run folders of this user. Free with rundir_names_done. */
void rundir_list(struct rundir_names *ret_paths);

/* Names of the live recordings in a folder. */
void rundir_files(const struct rundir *d, struct rundir_names *ret_names);
void rundir_names_done(struct rundir_names *v);

/* How many recordings of the folder have a living process, and of these how many pids
 * went into `ret_pids` (NULL: only count). Looks into every process's maps when the pid
 * alone does not tell, as after a fork into another pid namespace. */
unsigned rundir_living(const struct rundir *d, int *ret_pids, unsigned max);

/* How many processes with a number above `after` were forked by a recorded one and have
 * not yet begun a recording of their own: they still have their parent's mapped. */
unsigned rundir_forked(const struct rundir *d, int after);

/* Whether a name is one that the recorder gives; *ret_pid may be NULL. */
bool rundir_is_live_name(const char *name, int *ret_pid);

#endif
