/* SPDX-License-Identifier: MIT */
/* mtrace_file.h -- the log of mtrace: lines of glibc's grammar into a file. How:
 * mtrace_file.c. */
#ifndef SEEP_MTRACE_FILE_H
#define SEEP_MTRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begin a log at `path`, emptied; beside it, with the process's number, when another
 * living process writes one there. false when it cannot be written or one is open
 * already. */
bool mtrace_file_open(const char *path);

/* `= End`, and the file is closed. Without one: nothing. */
void mtrace_file_close(void);

/* Is a log open? Any thread. */
bool mtrace_file_on(void);

/* One line: where it was called, what was done with `addr`, and with how many bytes. `op`
 * is one of + < > - ! and only + > ! have a size. Any thread, signal-safe, errno
 * untouched. */
void mtrace_file_line(uintptr_t ra, char op, uintptr_t addr, size_t bytes);

/* The process is about to end: write what is held back, and from now on each line at
 * once. */
void mtrace_file_leaving(void);

#endif
