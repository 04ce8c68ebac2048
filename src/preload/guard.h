/* SPDX-License-Identifier: MIT */
/* guard.h -- when the recording's file is cut under us; when the kernel may not be asked. */
#ifndef SEEP_GUARD_H
#define SEEP_GUARD_H

/* Be there when a store into the recording meets SIGBUS. Once for a recording. */
void guard_install(void);

#endif
