/* SPDX-License-Identifier: MIT */
/* format.c -- the table of formats and how a file finds its row.
 *
 * The first 4 KiB decide, after unpacking. seep's own files are read through their
 * descriptor, because a process may be writing them; everything else is text or bytes in
 * memory (input.h), or
 * read line by line (stream.h). A live recording whose process still runs is read as it
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

#include "input.h"
#include "shared/compiler.h"
#include "stream.h"
#include "tool/format/core/core.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pack/pack.h"
#include "tool/format/text/pmap.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/x.h"

/* In the order they are asked; those that know their files by a magic word come before
 * those that know them by their looks. */
static const struct format *const formats[] = {
	&format_pack,	   &format_live,       &format_jemalloc, &format_gperf,
	&format_heaptrack, &format_symbolized, &format_massif,	 &format_mtrace,
	&format_dhat,	   &format_folded,     &format_pprof,
};

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
	struct live_whose w = live_whose(fd);
	uint64_t ticks = w.pid != 0 ? format_process_ticks(w.pid) : 0;

	return live_load_fd(fd, ticks == 0 || ticks != w.process_ticks, p, e);
}

/* Unpacked or through a pipe: whoever wrote it writes no more. */
static int
format_live_parse(struct input *in, const struct format_opts *o, struct prof *p,
		  struct err *e)
{
	(void)o;
	return live_load(in->data, in->bytes, true, p, e);
}

static int
format_pack_parse(struct input *in, const struct format_opts *o, struct prof *p,
		  struct err *e)
{
	(void)o;
	return pack_load(in->data, in->bytes, p, e);
}

const struct format format_live = {
	.name = "live",
	.what = "recording that a process writes",
	.detect = live_detect,
	.load = format_live_load,
	.parse = format_live_parse,
};

const struct format format_pack = {
	.name = "rec",
	.what = "seep recording",
	.detect = pack_detect,
	.load = pack_load_fd,
	.parse = format_pack_parse,
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

/* Files of other tools that are recognised, but cannot be read. */
static const struct {
	const char *begin;  /* of the file */
	const char *inside; /* and further on in its head */
	const char *what;
} format_others[] = {
	{"<?xml", "<valgrindoutput>",
	 "valgrind's XML, which is a report and not a profile; for the same report: seep run "
	 "--xml PROGRAM"},
	{"==", "== Memcheck, ",
	 "a log of valgrind, which is a report and not a profile; for the same report: seep "
	 "run --format=memcheck PROGRAM"},
};

/* The first bytes of a file nobody knows, so that the user sees what it is: as text if
 * they are. */
static int
format_unknown(const unsigned char *head, size_t bytes, const char *name, struct err *e)
{
	char text[3 * 8 + 1] = "";
	size_t n = 0;

	if (bytes == 0)
		return err_set(e, -EINVAL, "%s: empty file", name);
	for (size_t i = 0; i < ARRAY_LEN(format_others); i++) {
		size_t begin = strlen(format_others[i].begin);

		if (bytes >= begin && memcmp(head, format_others[i].begin, begin) == 0 &&
		    memmem(head, bytes, format_others[i].inside,
			   strlen(format_others[i].inside)) != NULL)
			return err_set(e, -EINVAL, "%s: %s", name, format_others[i].what);
	}
	if (pmap_detect(head, bytes))
		return err_set(e, -EINVAL,
			       "%s: output of pmap; save it twice and compare the two "
			       "files: seep diff OLD.txt NEW.txt",
			       name);
	while (n < bytes && n < 24 && head[n] >= ' ' && head[n] < 0x7f)
		n++;
	if (n >= 8 || (n > 0 && n < bytes && head[n] == '\n'))
		return err_set(
			e, -EINVAL,
			"%s: unknown file format (begins with \"%.*s\"); man seep-report "
			"lists the known ones",
			name, (int)n, (const char *)head);
	for (size_t i = 0; i < bytes && i < 8; i++)
		snprintf(text + 3 * i, sizeof text - 3 * i, " %02x", head[i]);
	return err_set(
		e, -EINVAL,
		"%s: unknown file format (begins with%s); man seep-report lists the "
		"known ones",
		name, text);
}

static bool
format_is_known(const void *head, size_t bytes)
{
	return format_find(head, bytes) != NULL;
}

static int
format_parse(struct input *in, const char *name, const struct format_opts *o,
	     struct prof **ret, struct err *e)
{
	static const struct format_opts none = {0};
	size_t head = in->bytes < FORMAT_HEAD_BYTES ? in->bytes : FORMAT_HEAD_BYTES;
	const struct format *f = format_find(in->data, head);
	struct stream lines;
	struct prof *p;
	int r;

	if (f == NULL && o != NULL && head > 0 && memchr(in->data, 0, head) == NULL)
		f = o->otherwise;
	if (f == NULL)
		return format_unknown(in->data, head, name, e);
	if (o == NULL)
		o = &none;
	p = prof_new();
	if (f->stream != NULL) {
		stream_open_bytes(&lines, in->data, in->bytes);
		r = f->stream(&lines, o, p, e);
		stream_close(&lines);
	} else {
		r = f->parse(in, o, p, e);
	}
	if (in->damage != NULL)
		prof_add_damage(p, in->damage, 1);
	if (r == 0)
		*ret = TAKE(p);
	else
		r = err_wrap(e, r, "%s", name);
	prof_free(p);
	return r;
}

/* The format of a file that is read through its descriptor, or NULL. */
static const struct format *
format_of_fd(int fd)
{
	unsigned char head[FORMAT_HEAD_BYTES];
	const struct format *f = NULL;
	struct stat st;
	ssize_t got;

	if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
		return NULL;
	got = pread(fd, head, sizeof head, 0);
	if (got > 0)
		f = format_find(head, (size_t)got);
	return f != NULL && f->load != NULL ? f : NULL;
}

/* A file that is read line by line; *ret_is false: it is none, and nothing was said. */
static int
format_load_lines(int fd, const char *name, const struct format_opts *o, bool *ret_is,
		  struct prof **ret, struct err *e)
{
	static const struct format_opts none = {0};
	const struct format *f = NULL;
	struct stream in = {.fd = -1};
	struct prof *p = prof_new();
	const char *head;
	struct stat st;
	size_t n;
	int r = 0;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    stream_open_fd(&in, fd, NULL) == 0) {
		n = stream_head(&in, &head, FORMAT_HEAD_BYTES);
		f = format_find(head, n);
	}
	*ret_is = f != NULL && f->stream != NULL;
	if (*ret_is) {
		r = f->stream(&in, o != NULL ? o : &none, p, e);
		if (r == 0)
			*ret = TAKE(p);
		else
			err_wrap(e, r, "%s", name);
	}
	stream_close(&in);
	prof_free(p);
	return r;
}

static int
format_load_any(int fd, const char *name, const struct format_opts *o, struct prof **ret,
		struct err *e)
{
	const struct format *f = format_of_fd(fd);
	struct input in = {0};
	struct prof *p;
	bool lines;
	int r;

	if (f == NULL) {
		r = format_load_lines(fd, name, o, &lines, ret, e);
		if (lines)
			return r;
		r = input_open_fd(&in, fd, name, format_is_known, e);
		if (r == 0)
			r = format_parse(&in, name, o, ret, e);
		input_close(&in);
		return r;
	}
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
format_load_fd(int fd, const char *name, struct prof **ret, struct err *e)
{
	return format_load_any(fd, name, NULL, ret, e);
}

int
format_load_bytes(const void *data, size_t bytes, const char *name,
		  const struct format_opts *o, struct prof **ret, struct err *e)
{
	struct input in = {0};
	struct buf raw = {0};
	int r;

	buf_add(&raw, data, bytes);
	r = input_open_buf(&in, &raw, name, format_is_known, e);
	if (r == 0)
		r = format_parse(&in, name, o, ret, e);
	input_close(&in);
	return r;
}

static int
format_load_url(const char *url, const struct format_opts *o, struct prof **ret,
		struct err *e)
{
	struct input in = {0};
	struct buf body = {0};
	int r = input_fetch(url, &body, e);

	if (r == 0)
		r = input_open_buf(&in, &body, url, format_is_known, e);
	if (r == 0)
		r = format_parse(&in, url, o, ret, e);
	input_close(&in);
	return r;
}

int
format_load_with(const char *source, const struct format_opts *o, struct prof **ret,
		 struct err *e)
{
	int fd, r;

	if (input_is_url(source))
		return format_load_url(source, o, ret, e);
	if (strcmp(source, "-") == 0)
		return format_load_any(STDIN_FILENO, "standard input", o, ret, e);
	/* Without waiting: a FIFO may never have a writer (input.c gives it some
	 * time). */
	fd = open(source, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", source);
	r = format_load_any(fd, source, o, ret, e);
	close(fd);
	return r;
}

int
format_load(const char *source, struct prof **ret, struct err *e)
{
	return format_load_with(source, NULL, ret, e);
}

bool
format_is_program(const char *path)
{
	static const char magic[4] = {0x7f, 'E', 'L', 'F'};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	char head[64] = "";
	ssize_t got = 0;
	bool is;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		got = pread(fd, head, sizeof head, 0);
	is = got >= (ssize_t)sizeof magic && memcmp(head, magic, sizeof magic) == 0 &&
	     !core_detect(head, (size_t)got);
	close(fd);
	return is;
}
