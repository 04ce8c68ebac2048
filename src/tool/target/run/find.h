/* SPDX-License-Identifier: MIT */
/* find.h -- from a PID or a process name to its live recording.
 *
 * The way goes through the target's own mappings, so it cannot be led to a file of
 * someone else's making: /proc/PID/maps names the file and its inode, it is opened
 * through /proc/PID/map_files or /proc/PID/root, and device, inode and owner are
 * compared. What `seep attach` maps has no name, and map_files is for root: others get a
 * copy of it. */
#ifndef SEEP_TARGET_FIND_H
#define SEEP_TARGET_FIND_H

#include "tool/target/run/livefile.h"
#include "tool/util/err.h"

/* Opens the live recording of `what`, a PID or the name of a process. -ENOENT: there is
 * such a process, but it is not recorded; -ESRCH: no such process; -EEXIST: the name fits
 * several recorded processes, listed in the message. */
int target_find(const char *what, struct livefile *ret_file, struct err *e);

/* The same for a number. */
int target_find_pid(int pid, struct livefile *ret_file, struct err *e);

/* The same for those who want to write into it: -EPERM if that takes other rights. */
int target_find_writable(const char *what, struct livefile *ret_file, struct err *e);

/* Path under which the recording of `f` can be opened by our own process, whatever its
 * mount namespace: /proc/self/fd/N. Good while `f` is open. `size` at least 32. */
void target_path(const struct livefile *f, char *ret_path, unsigned size);

#endif
