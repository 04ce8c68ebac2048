/* SPDX-License-Identifier: MIT */
/* procmem.c -- see procmem.h. */
#include "tool/target/proc/procmem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/file.h"

enum {
	PRESENT_PIECE = 512,	  /* words of pagemap a read */
	COPY_PIECE_PAGES = 256,	  /* 1 MiB: larger pieces gain nothing */
	SMAPS_TEXT_MAX = 1 << 30, /* 65,530 mappings take 50 MB */
};

#define PAGEMAP_PRESENT (UINT64_C(1) << 63)

int
procmem_open(int pid, struct procmem *ret_mem, struct err *e)
{
	struct procmem m = PROCMEM_NONE;
	struct procfs_stat st;
	char path[64];
	int r = procfs_stat(pid, &st, e), fd;

	if (r < 0)
		return r;
	if (st.state == 'Z' || st.state == 'X')
		return err_set(e, -ESRCH, "%d (%s): has ended already", pid, st.comm);
	m.task = file_proc_task(pid);
	snprintf(path, sizeof path, "/proc/%d/smaps", m.task);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		r = errno == ENOENT ? -ESRCH : -errno;
		return err_set(e, r,
			       "%d (%s): its memory cannot be read: %s; see: seep "
			       "doctor %d",
			       pid, st.comm, strerror(-r), pid);
	}
	close(fd);
	m.pid = pid;
	m.start_ticks = st.start_ticks;
	m.page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof path, "/proc/%d/pagemap", m.task);
	m.pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	*ret_mem = m;
	return 0;
}

void
procmem_close(struct procmem *m)
{
	if (m->pagemap_fd >= 0)
		close(m->pagemap_fd);
	*m = (struct procmem)PROCMEM_NONE;
}

bool
procmem_alive(const struct procmem *m)
{
	return procfs_alive(m->pid, m->start_ticks);
}

int
procmem_smaps(const struct procmem *m, struct buf *ret_text, struct err *e)
{
	char path[64];
	size_t before = ret_text->len;
	int r, fd;

	snprintf(path, sizeof path, "/proc/%d/smaps", file_proc_task(m->pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_sys(e, errno == ENOENT ? -ESRCH : -errno, "%s", path);
	r = buf_read_fd(ret_text, fd, SMAPS_TEXT_MAX, path, e);
	close(fd);
	/* The file of a process that is just ending reads as empty. */
	if (r == 0 && (ret_text->len == before || !procmem_alive(m)))
		r = err_set(e, -ESRCH, "%d: has ended", m->pid);
	return r;
}

uint64_t
procmem_rollup_kib(const struct procmem *m)
{
	char path[64];
	struct buf b = {0};
	uint64_t kib = 0;
	const char *at;

	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", file_proc_task(m->pid));
	if (buf_read_file(&b, path, NULL) == 0) {
		at = strstr(buf_str(&b), "\nRss:");
		kib = at != NULL ? strtoull(at + 5, NULL, 10) : 0;
	}
	buf_done(&b);
	return kib;
}

int
procmem_read(const struct procmem *m, uint64_t addr, void *to, size_t bytes)
{
	struct iovec here = {.iov_base = to, .iov_len = bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t got;

	if (m->source != NULL)
		return m->source->read(m->source->ctx, addr, to, bytes);
	got = process_vm_readv(m->task, &here, 1, &there, 1, 0);
	if (got < 0 && errno == ESRCH) /* that thread has ended, others may go on */
		got = process_vm_readv(file_proc_task(m->pid), &here, 1, &there, 1, 0);
	return got == (ssize_t)bytes ? 0 : -EFAULT;
}

bool
procmem_present(const struct procmem *m, uint64_t addr, size_t pages, uint8_t *to)
{
	uint64_t words[PRESENT_PIECE];
	size_t done = 0;

	while (m->source != NULL && done < pages) {
		to[done] =
			m->source->present(m->source->ctx, addr + done * m->page_bytes);
		done++;
	}
	while (m->pagemap_fd >= 0 && done < pages) {
		size_t n = pages - done < PRESENT_PIECE ? pages - done : PRESENT_PIECE;
		off_t at = (off_t)((addr / m->page_bytes + done) * sizeof *words);
		ssize_t got = pread(m->pagemap_fd, words, n * sizeof *words, at);

		if (got <= 0)
			break;
		n = (size_t)got / sizeof *words;
		for (size_t i = 0; i < n; i++)
			to[done + i] = (words[i] & PAGEMAP_PRESENT) != 0;
		done += n;
	}
	if (done < pages)
		memset(to + done, 1, pages - done);
	return done == pages;
}

uint64_t
procmem_copy(const struct procmem *m, uint64_t addr, void *to, size_t bytes)
{
	uint8_t here[COPY_PIECE_PAGES];
	uint64_t page = m->page_bytes, copied = 0;
	char *out = to;

	memset(to, 0, bytes);
	for (size_t off = 0; off < bytes;) {
		uint64_t first = ALIGN_DOWN(addr + off, page);
		uint64_t last = ALIGN_UP(addr + bytes, page);
		size_t pages = (size_t)((last - first) / page);
		size_t run = 0, n;
		bool there;

		if (pages > COPY_PIECE_PAGES)
			pages = COPY_PIECE_PAGES;
		procmem_present(m, first, pages, here);
		/* One run of pages that are all there, or all not, at a time. */
		there = here[0] != 0;
		while (run < pages && (here[run] != 0) == there)
			run++;
		n = (size_t)(first + run * page - (addr + off));
		if (n > bytes - off)
			n = bytes - off;
		if (there && procmem_read(m, addr + off, out + off, n) == 0)
			copied += n;
		off += n;
	}
	return copied;
}

void
procmem_stacks(const struct procmem *m, struct procmem_words *ret_stacks)
{
	char path[64];
	struct dirent *de;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", m->pid);
	d = opendir(path);
	while (d != NULL && (de = readdir(d)) != NULL) {
		struct buf b = {0};
		char file[128];
		unsigned long long sp;
		const char *at;

		if (!isdigit((unsigned char)de->d_name[0]))
			continue;
		/* "number six-arguments sp pc", "-1 sp pc", or "running". */
		snprintf(file, sizeof file, "/proc/%d/task/%.20s/syscall", m->pid,
			 de->d_name);
		if (buf_read_file(&b, file, NULL) == 0) {
			at = strrchr(buf_str(&b), ' ');
			while (at != NULL && at > b.data && at[-1] != ' ')
				at--;
			if (at != NULL && sscanf(at, "%llx", &sp) == 1 && sp != 0)
				vec_push(ret_stacks, (uint64_t)sp);
		}
		buf_done(&b);
	}
	if (d != NULL)
		closedir(d);
}

int
procmem_clear_refs(const struct procmem *m, struct err *e)
{
	char path[64];
	int r = 0, fd;

	snprintf(path, sizeof path, "/proc/%d/clear_refs", file_proc_task(m->pid));
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		r = err_sys(e, -errno, "%s: cannot find out which memory is in use",
			    path);
	if (fd >= 0)
		close(fd);
	return r;
}
