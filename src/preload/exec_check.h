/* SPDX-License-Identifier: MIT */
/* exec_check.h -- may libseep.so be preloaded into this program? */
#ifndef SEEP_EXEC_CHECK_H
#define SEEP_EXEC_CHECK_H

enum exec_fit {
	EXEC_FOLLOWED, /* will be recorded */
	EXEC_STATIC,   /* takes no notice of LD_PRELOAD: runs as it is, unrecorded */
	EXEC_REFUSES,  /* must be started without it */
};

/* Refuses: the loader would complain, or the program would refuse to run: 32-bit or another
 * machine, not glibc's loader, a sanitizer's runtime that must come first. Scripts are judged by
 * their interpreter. What cannot be read counts as followed: exec itself will say what is wrong. Only
 * raw system calls and the stack: fit for the child of a vfork. */
enum exec_fit exec_fit(const char *path);

#endif
