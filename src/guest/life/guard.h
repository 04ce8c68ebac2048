/* SPDX-License-Identifier: MIT */
/* guard.h -- when the recording's file is cut under us; when the kernel may not be
 * asked. */
#ifndef SEEP_GUARD_H
#define SEEP_GUARD_H

#include <signal.h>

/* Handle a signal while the program leaves it at its default; it does not see that we
 * do. */
void guard_handle(int sig, void (*handler)(int, siginfo_t *, void *));

/* Be there when a store into the recording meets SIGBUS. Once for a recording. */
void guard_install(void);

#endif
