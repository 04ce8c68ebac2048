/* SPDX-License-Identifier: MIT */
/* sys.h -- system calls without libc: no errno, no cancellation point, nothing
 * interposed.
 *
 * Each returns what the kernel returns: a negative number is -errno. Only the calls that
 * the recorder makes are here, so that this file is also the list of what it may ask of
 * the kernel. */
#ifndef SEEP_SYS_H
#define SEEP_SYS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#	include "guest/rt/sys_x86_64.h"
#elif defined(__aarch64__)
#	include "guest/rt/sys_aarch64.h"
#endif

#define SYS0(nr) sys_raw(nr, 0, 0, 0, 0, 0, 0)
#define SYS1(nr, a) sys_raw(nr, (long)(a), 0, 0, 0, 0, 0)
#define SYS2(nr, a, b) sys_raw(nr, (long)(a), (long)(b), 0, 0, 0, 0)
#define SYS3(nr, a, b, c) sys_raw(nr, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define SYS4(nr, a, b, c, d) sys_raw(nr, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)

static inline long
sys_open(const char *path, int flags, int mode)
{
	return SYS4(SYS_openat, -100 /* AT_FDCWD */, path, flags, mode);
}

static inline long
sys_close(int fd)
{
	return SYS1(SYS_close, fd);
}

static inline long
sys_read(int fd, void *buf, size_t bytes)
{
	return SYS3(SYS_read, fd, buf, bytes);
}

static inline long
sys_unlink(const char *path)
{
	return SYS3(SYS_unlinkat, -100, path, 0);
}

static inline long
sys_ftruncate(int fd, uint64_t bytes)
{
	return SYS2(SYS_ftruncate, fd, bytes);
}

static inline long
sys_mmap(void *addr, size_t bytes, int prot, int flags, int fd)
{
	return sys_raw(SYS_mmap, (long)addr, (long)bytes, prot, flags, fd, 0);
}

static inline long
sys_munmap(void *addr, size_t bytes)
{
	return SYS2(SYS_munmap, addr, bytes);
}

static inline long
sys_madvise(void *addr, size_t bytes, int advice)
{
	return SYS3(SYS_madvise, addr, bytes, advice);
}

static inline int
sys_gettid(void)
{
	return (int)SYS0(SYS_gettid);
}

static inline int
sys_getpid(void)
{
	return (int)SYS0(SYS_getpid);
}

static inline long
sys_yield(void)
{
	return SYS0(SYS_sched_yield);
}

#endif
