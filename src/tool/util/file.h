/* SPDX-License-Identifier: MIT */
/* file.h -- reading whole files, and replacing files so that nobody sees half of one.
 *
 * What is written goes to a new file of mode 0600 beside the destination, with a name
 * that cannot be guessed, and is renamed over it when complete: on any failure the old
 * file is untouched and the new one is gone. A symbolic link at the destination is
 * replaced, never followed. It is not synced to the disk: rename orders well enough
 * against a crash of the program, and a power cut is not what a profile has to
 * survive. */
#ifndef SEEP_UTIL_FILE_H
#define SEEP_UTIL_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Appends the file to `ret_buf`; more than `max_bytes` is -EFBIG. On failure `ret_buf` is
 * as it was. */
int file_read(const char *path, size_t max_bytes, struct buf *ret_buf, struct err *e);

/* A file being written. Start with `= {0}`; file_out_done is legal at any time. */
struct file_out {
	int fd;	    /* valid while path is set */
	char *path; /* destination; NULL = not open */
	char *tmp;  /* the new file's name; NULL when written in place (see below) */
};

/* Begins writing `path`. Pipes, terminals and character devices, and everything under
 * /dev/ and /proc/, are written in place, as there is nothing to replace; directories,
 * block devices and sockets are refused. */
int file_out_open(struct file_out *f, const char *path, struct err *e);

/* Writes all `n` bytes. */
int file_out_write(struct file_out *f, const void *p, size_t n, struct err *e);

/* Makes the new contents the file's. On failure the old file stays. Ends the writing. */
int file_out_commit(struct file_out *f, struct err *e);

/* Whether file_out_commit made this file and nobody has changed it since. Kept in an
 * extended attribute; where the file system has none, no file is. */
bool file_is_ours(const char *path);

/* Gives up whatever was not committed and frees everything. */
void file_out_done(struct file_out *f);

/* Whether `path` could be written now, for what is to be written much later: nothing is
 * left behind, and a pipe is not opened, since its reader would see it end. */
int file_out_check(const char *path, struct err *e);

/* All three steps for contents that are in memory. */
int file_write(const char *path, const void *p, size_t n, struct err *e);

/* The number under which /proc shows the memory and the files of a process: `pid`, or, if
 * its first thread has ended, that of another one. Of a thread that has ended, also of
 * the first, /proc shows neither. `pid` as well when no thread is left. */
int file_proc_task(int pid);

/* Target of a symbolic link of any length, to be freed by the caller. */
int file_readlink(const char *path, char **ret_target, struct err *e);

/* The same for /proc/PID/NAME ("exe", "cwd", "fd/3"). A trailing " (deleted)" that the
 * kernel added is cut off and told in *ret_deleted, which may be NULL. */
int file_proc_link(int pid, const char *name, char **ret_target, bool *ret_deleted,
		   struct err *e);

/* Whether it is a regular file, and whether both names are of one file; links are
 * followed. */
bool file_is_regular(const char *path);
bool file_same(const char *a, const char *b);

/* The first `n` bytes of a regular file that has as many. Does not wait, as for a pipe's
 * writer. */
bool file_head(const char *path, void *ret_head, size_t n);

/* The name without the folders in front; and the same, but all of it where nothing would
 * be left. Borrowed from `path`. */
const char *file_base(const char *path);
const char *file_last_part(const char *path);

#endif
