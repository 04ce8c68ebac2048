/* SPDX-License-Identifier: MIT */
/* procstatus.h -- single lines of /proc/PID/status. */
#ifndef SEEP_TARGET_PROCSTATUS_H
#define SEEP_TARGET_PROCSTATUS_H

#include <stdint.h>

/* First number behind "NAME:", in the base that the kernel writes it in; -1 when there is
 * none. */
int64_t procstatus_number(int pid, const char *name);
/* The largest that a thread of it has. */
int64_t procstatus_most(int pid, const char *name);
/* The same for masks such as CapEff, which are hexadecimal; 0 when there is none. */
uint64_t procstatus_mask(int pid, const char *name);

#endif
