/* SPDX-License-Identifier: MIT */
/* attach_begin.c -- the recording that seep attach puts into a process: its head, and its
 * file.
 *
 * What the recorder of libseep.so finds out for itself is found out here from outside,
 * before the process is stopped; the first pages are made present by us, so that its
 * first events find room. */
#include "tool/target/attach/attach_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "shared/recording_columns.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/liveobjects.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

#ifndef MADV_POPULATE_WRITE
#	define MADV_POPULATE_WRITE 23
#endif

enum {
	READY_BYTES = 512 << 10, /* of chunks, made present at the start */
	SEALED_BYTES = 8 << 20,	 /* the same where the process cannot do it */
};

/* The text page, and whether something did not fit. */
static bool
read_text(int pid, char ret[REC_TEXT_BYTES])
{
	static const char *const links[] = {"exe", "cwd"};
	struct buf b = {0}, args = {0};
	char path[64];
	bool cut;

	for (size_t i = 0; i < ARRAY_LEN(links); i++) {
		char *target = NULL;
		bool deleted;

		file_proc_link(pid, links[i], &target, &deleted, NULL);
		buf_printf(&b, "%.*s", REC_TEXT_BYTES / 4 - 1,
			   target != NULL ? target : "");
		buf_add_char(&b, '\0');
		free(target);
	}
	snprintf(path, sizeof path, "/proc/%d/cmdline", file_proc_task(pid));
	buf_read_file(&args, path, NULL);
	if (args.len > 0)
		buf_add(&b, args.data, args.len);
	cut = b.len > REC_TEXT_BYTES - 1;
	if (cut)
		b.len = REC_TEXT_BYTES - 1;
	memcpy(ret, b.data, b.len);
	buf_done(&b);
	buf_done(&args);
	return cut;
}

void
attach_begin(int pid, struct attach_beginning *b, const struct attach_settings *s)
{
	struct rec_head *h = &b->head;
	struct procfs_stat st = {0};
	struct utsname un;
	uid_t uid = 0;

	procfs_stat(pid, &st, NULL);
	procfs_uid(pid, &uid);
	h->version = REC_VERSION;
	h->arch = REC_ARCH_X86_64;
	h->head_bytes = sizeof *h;
	h->chunk_bytes = REC_CHUNK_BYTES;
	h->file_bytes = s->max_bytes;
	h->pid = (uint32_t)procfs_ns_pid(pid);
	h->ppid = (uint32_t)st.ppid;
	h->uid = uid;
	h->mode = s->mode;
	h->process_ticks = st.start_ticks;
	h->rate_bytes = s->mode == REC_MODE_SAMPLE ? s->rate_bytes : 0;
	h->rates[0] = h->rate_bytes;
	h->point_every_ms = 10;
	h->moment_every_ms = 10;
	h->tool_pid = (uint32_t)getpid();
	h->clock_ms = 1;
	if (uname(&un) == 0)
		memcpy(h->host, un.nodename, sizeof h->host - 1);
	if (read_text(pid, b->text))
		h->flags |= REC_FLAG_TEXT_CUT;
	memcpy(h->magic, REC_MAGIC, sizeof h->magic);
}

/* By its name it is found again. */
static bool
is_named(int pid, uint64_t fd)
{
	char *target = NULL, name[32];
	bool same;

	snprintf(name, sizeof name, "fd/%d", (int)fd);
	same = file_proc_link(pid, name, &target, NULL, NULL) == 0 &&
	       strcmp(target, "/memfd:" ATTACH_NAME) == 0;
	free(target);
	return same;
}

int
attach_recording(struct attach *a, uint64_t fd, const struct attach_settings *s,
		 const struct attach_beginning *begin, struct err *e)
{
	uint64_t ready =
		REC_CHUNKS_OFF + (s->suspend_seccomp ? SEALED_BYTES : READY_BYTES);
	struct rec_head *h;
	struct stat st;
	char path[64];
	int our;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", file_proc_task(a->pid), (int)fd);
	our = open(path, O_RDWR | O_CLOEXEC);
	if (our < 0)
		return err_sys(e, -errno, "%d: cannot open its new recording", a->pid);
	/* Whoever shares its descriptors, and is not stopped, can have put another file
	 * there, and we may be root. A new memfd has no name, no bytes, and one owner. */
	if (fstat(our, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 0 ||
	    st.st_size != 0 || fcntl(our, F_GET_SEALS) < 0) {
		close(our);
		return err_set(e, -EPERM, "%d: its new recording was replaced; try again",
			       a->pid);
	}
	if (!is_named(a->pid, fd)) {
		close(our);
		return err_set(e, -EAGAIN,
			       "%d: its new recording has another name; try again",
			       a->pid);
	}
	if (ftruncate(our, (off_t)s->max_bytes) < 0) {
		close(our);
		return err_sys(e, -errno, "%d: no room for a recording", a->pid);
	}
	h = mmap(NULL, ready, PROT_READ | PROT_WRITE, MAP_SHARED, our, 0);
	if (h == MAP_FAILED || madvise(h, ready, MADV_POPULATE_WRITE) < 0) {
		int err = errno;

		if (h != MAP_FAILED)
			munmap(h, ready);
		if (h == MAP_FAILED ||
		    (err != EINVAL && posix_fallocate(our, 0, (off_t)ready) != 0)) {
			close(our);
			return err_sys(e, -err, "%d: no room for a recording", a->pid);
		}
		h = mmap(NULL, ready, PROT_READ | PROT_WRITE, MAP_SHARED, our, 0);
	}
	memcpy(h, begin, sizeof *begin);
	rec_columns_write(h);
	h->start_ns = clock_ns(CLOCK_REALTIME);
	h->start_mono_ns = clock_ns(CLOCK_MONOTONIC);
	if (a->plan.direct_calls)
		h->flags |= REC_FLAG_DIRECT_CALLS;
	h->populated = (uint32_t)((ready - REC_CHUNKS_OFF) / REC_CHUNK_BYTES);
	munmap(h, ready);
	if (livefile_adopt(our, ATTACH_NAME, &a->live, e) < 0)
		return e != NULL ? e->code : -EIO;
	a->live.pid = a->pid;
	if (livefile_map_all(&a->live, e) < 0)
		return e != NULL ? e->code : -EIO;
	a->control = (struct attach_control *)(void *)((char *)a->live.head + ATTACH_OFF);
	return 0;
}
