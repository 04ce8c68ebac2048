/* SPDX-License-Identifier: MIT */
/* rt_proc.h -- what /proc says about this process and others, read without libc. */
#ifndef SEEP_RT_PROC_H
#define SEEP_RT_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Contents of a small file of /proc. Returns the bytes read, with a NUL behind them, or
 * -errno. */
long proc_slurp(const char *path, char *buf, size_t cap);

/* When process `pid` (0: this one) was started, in the ticks of field 22 of its stat
 * file, which tell a recycled pid; 0 when the file does not say, -errno when it cannot be
 * read. */
int64_t proc_start_ticks(uint32_t pid);

/* Has this process a single thread? false if that is not known. */
bool proc_one_thread(void);

/* The kernel's struct linux_dirent64, as SYS_getdents64 lays one after the other. */
struct proc_dirent {
	uint64_t ino;
	int64_t off;
	uint16_t bytes; /* of this entry: the next one is so far away */
	uint8_t type;
	char name[];
};

/* Value of a variable of the environment, or NULL. Nothing has the empty name. */
const char *proc_variable(const char *name);

#endif
