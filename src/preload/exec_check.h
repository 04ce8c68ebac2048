/* SPDX-License-Identifier: MIT */
/* exec_check.h -- may libseep.so be preloaded into this program? */
#ifndef SEEP_EXEC_CHECK_H
#define SEEP_EXEC_CHECK_H

#include <stdbool.h>

/* false: the loader would complain, or the program would refuse to run: 32-bit or another
 * machine, not glibc's loader, a sanitizer's runtime that must come first. Scripts are judged by
 * their interpreter. What cannot be read is judged true: exec itself will say what is wrong. Only
 * raw system calls and the stack: fit for the child of a vfork. */
bool exec_takes_us(const char *path);

#endif
