/* SPDX-License-Identifier: MIT */
/* format.c -- the table of formats and how a file finds its row.
 *
 * The first 4 KiB decide. A live recording whose process still runs is read as it
 * stands; from one whose process is gone, calls that were under way are undone. Which
 * of the two it is, is asked of /proc: same pid, same start time. */
#include "format.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/recording.h"
#include "live_load.h"
#include "model/prof.h"
#include "pack.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/x.h"

static const struct format *const formats[] = {&format_pack, &format_live};

/* Start time of a process in clock ticks: field 22 of /proc/PID/stat; 0 when there is
 * none. The second field is a name in parentheses and may hold anything. */
static uint64_t
format_process_ticks(uint32_t pid)
{
	char path[64];
	struct buf text = {0};
	uint64_t ticks = 0;
	const char *at;

	snprintf(path, sizeof path, "/proc/%u/stat", pid);
	if (buf_read_file(&text, path, NULL) == 0) {
		at = strrchr(buf_str(&text), ')');
		for (unsigned field = 2; at != NULL && field < 22; field++)
			at = strchr(at + 1, ' ');
		if (at != NULL)
			ticks = strtoull(at + 1, NULL, 10);
	}
	buf_done(&text);
	return ticks;
}

static int
format_live_load(int fd, struct prof *p, struct err *e)
{
	struct rec_head h = {0};
	uint64_t ticks = 0;

	if (pread(fd, &h, sizeof h, 0) == (ssize_t)sizeof h)
		ticks = format_process_ticks(h.pid);
	return live_load_fd(fd, ticks == 0 || ticks != h.process_ticks, p, e);
}

const struct format format_live = {
	.name = "live",
	.what = "recording that a process writes",
	.detect = live_detect,
	.load = format_live_load,
};

const struct format format_pack = {
	.name = "rec",
	.what = "seep recording",
	.detect = pack_detect,
	.load = pack_load_fd,
};

const struct format *
format_find(const void *head, size_t bytes)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (formats[i]->detect(head, bytes))
			return formats[i];
	}
	return NULL;
}

/* The first bytes of a file nobody knows, so that the user sees what it is. */
static int
format_unknown(const unsigned char *head, size_t bytes, const char *name, struct err *e)
{
	char text[3 * 8 + 1] = "";

	if (bytes == 0)
		return err_set(e, -EINVAL, "%s: empty file", name);
	for (size_t i = 0; i < bytes && i < 8; i++)
		snprintf(text + 3 * i, sizeof text - 3 * i, " %02x", head[i]);
	return err_set(e, -EINVAL, "%s: in no format that seep knows (begins with%s)",
		       name, text);
}

int
format_load_fd(int fd, const char *name, struct prof **ret, struct err *e)
{
	unsigned char head[FORMAT_HEAD_BYTES];
	const struct format *f;
	struct prof *p;
	struct stat st;
	ssize_t got;
	int r;

	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
		return err_set(e, -EISDIR, "%s: is a directory", name);
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode))
		return err_set(e, -ESPIPE, "%s: not a file that can be read anywhere",
			       name);
	got = pread(fd, head, sizeof head, 0);
	if (got < 0)
		return err_sys(e, -errno, "%s: cannot read", name);
	f = format_find(head, (size_t)got);
	if (f == NULL)
		return format_unknown(head, (size_t)got, name, e);
	p = prof_new();
	r = f->load(fd, p, e);
	if (r == 0)
		*ret = TAKE(p);
	else
		r = err_wrap(e, r, "%s", name);
	prof_free(p);
	return r;
}

int
format_load(const char *path, struct prof **ret, struct err *e)
{
	/* Without waiting: a FIFO may never have a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r;

	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	r = format_load_fd(fd, path, ret, e);
	close(fd);
	return r;
}
