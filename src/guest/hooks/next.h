/* SPDX-License-Identifier: MIT */
/* next.h -- the allocator underneath: whatever malloc would have been without us. */
#ifndef SEEP_NEXT_H
#define SEEP_NEXT_H

#include "shared/compiler.h"

#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Every function we stand in front of. NULL until next_find, and after it where the
 * allocator underneath has none and no stand-in exists either. */
struct next {
	void *(*malloc)(size_t);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	void *(*reallocarray)(void *, size_t, size_t);
	void (*free)(void *);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
	void *(*mmap)(void *, size_t, int, int, int, off_t);
	int (*munmap)(void *, size_t);
	void *(*mremap)(void *, size_t, size_t, int, ...);
	int (*brk)(void *);
	void *(*sbrk)(intptr_t);
	int (*mlockall)(int);
	/* Looked up early, because they are called where dlsym must not be: between fork
	 * and exec, in signal handlers. */
	int (*execve)(const char *, char *const *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			   const posix_spawnattr_t *, char *const *, char *const *);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *,
			    const posix_spawnattr_t *, char *const *, char *const *);
	int (*system)(const char *);
	void *(*popen)(const char *, const char *);
	pid_t (*fork)(void);
	pid_t (*_Fork)(void);
	void (*exit)(int);
	void (*quick_exit)(int);
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	sighandler_t (*signal)(int, sighandler_t);
	long (*syscall)(long, long, long, long, long, long, long);
	int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);
	void *(*dlopen)(const char *, int);
	int (*dlclose)(void *);
	void *(*dlmopen)(long, const char *, int);
	/* The malloc that was found, whatever stands in front of it in `malloc` now. */
	void *(*malloc_found)(size_t);
	/* __libc_malloc and so on, where they are something else than `malloc`. NULL: the
	 * same. */
	struct {
		void *(*malloc)(size_t);
		void *(*calloc)(size_t, size_t);
		void *(*realloc)(void *, size_t);
		void (*free)(void *);
		void *(*memalign)(size_t, size_t);
		void *(*valloc)(size_t);
		void *(*pvalloc)(size_t);
	} libc;
};

extern SEEP_OWN struct next next;

/* Look all of them up; dlsym may allocate, which boot.c serves. Safe to call again and
 * from any thread. false while it is already under way further up this thread's stack. */
bool next_find(void);

/* The loader's dlsym, also while next_find is under way: dlsym is a hook of ours. */
void *next_dlsym(void);

/* A function that may come later, with a library opened at run time; NULL when it is
 * nowhere. `library` is asked when nothing after us has it, if it is loaded. */
void *next_late(const char *name, const char *library);

/* *slot is a copy of next.free, and remains one when mtrace puts another there
 * (next_renew). For at most NEXT_COPIES_MAX of them. */
enum { NEXT_COPIES_MAX = 12 };
void next_copy_free(void **slot);
void next_renew(void);

/* Does whoever calls `name` call us? Is what comes after us that of `library`? */
bool next_is_ours(const char *name);
bool next_is_from(const char *name, const char *library);

#endif
