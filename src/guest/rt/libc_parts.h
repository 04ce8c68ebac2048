/* SPDX-License-Identifier: MIT */
/* libc_parts.h -- parts of glibc that releases from 2.31 on may lack: weak references.
 *
 * The headers of an older release do not declare them either. */
#ifndef SEEP_LIBC_PARTS_H
#define SEEP_LIBC_PARTS_H

#include <dlfcn.h>
#include <features.h>

#if !__GLIBC_PREREQ(2, 35)
struct dl_find_object {
	unsigned long long dlfo_flags;
	void *dlfo_map_start, *dlfo_map_end;
	struct link_map *dlfo_link_map;
	void *dlfo_eh_frame;
	unsigned long long reserved[7];
};
#endif

/* Since glibc 2.35; else NULL. Call loaded_find (guest/hooks/loaded.h) instead. */
int _dl_find_object(void *at, struct dl_find_object *ret)
	__attribute__((weak, nothrow, leaf));

/* Since glibc 2.32; else at NULL. Call proc_one_thread (guest/rt/rt_proc.h) instead. */
extern char __libc_single_threaded __attribute__((weak));

#endif
