/* SPDX-License-Identifier: MIT */
/* tracee_mem.c -- memory of another process. See tracee.h. */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tool/target/trace/tracee.h"

size_t
tracee_read_some(const struct tracee *t, uint64_t at, void *ret, size_t n)
{
	struct iovec to = {ret, n}, from = {(void *)(uintptr_t)at, n};
	ssize_t got = process_vm_readv(t->pid, &to, 1, &from, 1, 0);

	if (got < (ssize_t)n && t->mem_fd >= 0)
		got = pread(t->mem_fd, ret, n, (off_t)at);
	return got > 0 ? (size_t)got : 0;
}

int
tracee_read(const struct tracee *t, uint64_t at, void *ret, size_t n, struct err *e)
{
	if (tracee_read_some(t, at, ret, n) != n)
		return err_set(e, -EFAULT, "%d: cannot read %zu bytes at %#llx", t->pid,
			       n, (unsigned long long)at);
	return 0;
}

/* Word by word through the tracer's own way, for kernels that forbid the other. */
static int
poke(const struct tracee *t, uint64_t at, const unsigned char *from, size_t n)
{
	int tid = t->threads.len > 0 ? t->threads.data[0].tid : t->pid;

	while (n > 0) {
		uint64_t word = at & ~UINT64_C(7);
		size_t off = (size_t)(at - word), part = 8 - off < n ? 8 - off : n;
		long value;

		errno = 0;
		value = ptrace(PTRACE_PEEKDATA, tid, (void *)(uintptr_t)word, NULL);
		if (errno != 0)
			return -errno;
		memcpy((char *)&value + off, from, part);
		if (ptrace(PTRACE_POKEDATA, tid, (void *)(uintptr_t)word, (void *)value) <
		    0)
			return -errno;
		at += part;
		from += part;
		n -= part;
	}
	return 0;
}

int
tracee_write(const struct tracee *t, uint64_t at, const void *from, size_t n,
	     struct err *e)
{
	ssize_t put = pwrite(t->mem_fd, from, n, (off_t)at);
	int r = put == (ssize_t)n ? 0 : poke(t, at, from, n);

	if (r < 0)
		return err_sys(e, r, "%d: cannot write %zu bytes at %#llx", t->pid, n,
			       (unsigned long long)at);
	return 0;
}
