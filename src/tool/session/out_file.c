/* SPDX-License-Identifier: MIT */
/* out_file.c -- see out_file.h. */
#include "tool/session/out_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/format/format.h"
#include "tool/format/live/live_load.h"
#include "tool/format/pack/pack.h"
#include "tool/format/text/scan_file.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/file.h"

enum { OUT_HEAD_BYTES = 4096 };

struct out_head {
	char bytes[OUT_HEAD_BYTES + 1]; /* a NUL behind */
	size_t n;
};

/* ---- what seep writes begins with ---- */

struct out_format {
	const char *name;
	const char *what;   /* for people */
	const char *begins; /* NULL: see `has` */
	const char *has;    /* somewhere in the first bytes; NULL: anything */
};

static const struct out_format out_formats[] = {
	{"flame", "a flame graph", "<?xml ", "<!-- made by seep "},
	{"html", "a page", "<!DOCTYPE html>",
	 "<meta name=\"generator\" content=\"seep\">"},
	{"json", "a report", "{\"seep_json\":", NULL},
	{"dot", "a graph", "digraph \"", "legend [shape=box fontsize=16 label="},
	{"csv", "a table", "function,file,line,module,", NULL},
	{"speedscope", "a speedscope profile", "{\"$schema\":", "\"exporter\":\"seep@"},
	{"metrics", "a file of metrics", "# HELP seep_", NULL},
	{"rec", "a recording", NULL, NULL}, /* these two by their readers */
	{"scan", "a file of seep scan --save", NULL, NULL},
};

static const struct out_format *
out_format(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(out_formats); i++) {
		if (strcmp(out_formats[i].name, name) == 0)
			return &out_formats[i];
	}
	return NULL;
}

static bool
out_is_format(const struct out_head *h, const char *name)
{
	const struct out_format *f = out_format(name);

	if (strcmp(name, "rec") == 0)
		return pack_detect(h->bytes, h->n);
	if (strcmp(name, "scan") == 0)
		return scan_file_detect(h->bytes, h->n);
	if (f == NULL || strncmp(h->bytes, f->begins, strlen(f->begins)) != 0)
		return false;
	return f->has == NULL || strstr(h->bytes, f->has) != NULL;
}

/* Formats without anything to recognise them by: a file that seep made, and in none of
 * the others. */
static bool
out_is_marked(const struct out_head *h, const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(out_formats); i++) {
		if (out_is_format(h, out_formats[i].name))
			return false;
	}
	return file_is_ours(path);
}

/* Recordings and what else cannot be made again. */
static bool
out_is_recording(const struct out_head *h)
{
	return pack_detect(h->bytes, h->n) || live_detect(h->bytes, h->n) ||
	       scan_file_detect(h->bytes, h->n);
}

/* ---- the file that is there ---- */

/* Reads how it begins. False: there is nothing to lose. */
static bool
out_read_head(const char *path, struct out_head *ret)
{
	struct stat st;
	ssize_t got;
	int fd;

	ret->n = 0;
	if (strcmp(path, "-") == 0 || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size == 0)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	got = fd >= 0 ? pread(fd, ret->bytes, OUT_HEAD_BYTES, 0) : 0;
	if (fd >= 0)
		close(fd);
	ret->n = got > 0 ? (size_t)got : 0;
	ret->bytes[ret->n] = '\0';
	return true;
}

static int
out_refuse_recording(const char *path, struct err *e)
{
	return err_set(e, -EEXIST,
		       "%s: is a recording and would be overwritten; name another file "
		       "to write",
		       path);
}

int
out_check(const char *path, const char *format, struct err *e)
{
	const struct out_format *f = out_format(format);
	struct out_head h;

	if (!out_read_head(path, &h) || out_is_format(&h, format))
		return 0;
	if (out_is_recording(&h))
		return out_refuse_recording(path, e);
	if (f == NULL && out_is_marked(&h, path))
		return 0;
	if (f == NULL && strncmp(format, "a ", 2) != 0)
		return err_set(e, -EEXIST,
			       "%s: exists and is not a file in %s format that seep "
			       "wrote; remove it or name another file",
			       path, format);
	return err_set(e, -EEXIST,
		       "%s: exists and is not %s that seep wrote; remove it or name "
		       "another file",
		       path, f != NULL ? f->what : format);
}

/* An executable, a library, or a script. */
static bool
out_is_program(const struct out_head *h)
{
	return elfview_is_elf(h->bytes) || strncmp(h->bytes, "#!", 2) == 0;
}

int
out_check_log(const char *path, struct err *e)
{
	struct out_head h;

	if (!out_read_head(path, &h))
		return 0;
	if (out_is_recording(&h))
		return out_refuse_recording(path, e);
	if (out_is_program(&h))
		return err_set(e, -EEXIST,
			       "%s: is a program and would be overwritten; name another "
			       "file to write",
			       path);
	return 0;
}

bool
out_is_same(const char *a, const char *b)
{
	return a != NULL && b != NULL && strcmp(a, "-") != 0 &&
	       (strcmp(a, b) == 0 || file_same(a, b));
}
