/* SPDX-License-Identifier: MIT */
/* source_text.c -- source files in memory, with the places where their lines begin.
 *
 * Paths come out of debug information, which anybody may have written: only regular files
 * of reasonable size are opened, and what is shown cannot move the terminal's cursor. */
#include "tool/sym/source_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/util/buf.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

#define SRC_LARGEST ((size_t)64 << 20)

struct src_file {
	const char *why_not; /* NULL: it was read */
	struct timespec mtime;
	struct buf text;
	VEC(size_t) lines; /* offsets of their first bytes */
};

struct src {
	struct strtab paths;
	VEC(struct src_file) files; /* by path id - 1 */
	struct strtab shown;	    /* lines handed out */
};

struct src *
src_new(void)
{
	return xcalloc(1, sizeof(struct src));
}

void
src_free(struct src *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->files.len; i++) {
		buf_done(&s->files.data[i].text);
		vec_done(&s->files.data[i].lines);
	}
	vec_done(&s->files);
	strtab_done(&s->paths);
	strtab_done(&s->shown);
	free(s);
}

static const char *
src_read(struct src_file *f, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const char *why = NULL;
	struct stat st;

	if (fd < 0)
		return errno == EACCES ? "source file may not be read"
				       : "source file is gone";
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
		why = "source is not a regular file";
	else if (st.st_size > (off_t)SRC_LARGEST)
		why = "source file is too large";
	else if (buf_read_fd(&f->text, fd, SRC_LARGEST, path, NULL) != 0)
		why = "source file cannot be read";
	else
		f->mtime = st.st_mtim;
	close(fd);
	return why;
}

static void
src_file_load(struct src_file *f, const char *path)
{
	const char *text, *nl;
	size_t at = 0;

	f->why_not = src_read(f, path);
	if (f->why_not != NULL)
		return;
	text = buf_str(&f->text);
	while (at < f->text.len) {
		vec_push(&f->lines, at);
		nl = memchr(text + at, '\n', f->text.len - at);
		at = nl != NULL ? (size_t)(nl - text) + 1 : f->text.len;
	}
}

static const struct src_file *
src_file_get(struct src *s, const char *path)
{
	uint32_t id = strtab_add(&s->paths, path);

	if (id > s->files.len) /* ids come one after the other */
		src_file_load(vec_add(&s->files), path);
	return &s->files.data[id - 1];
}

static bool
src_is_newer(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static bool
src_is_blank(unsigned char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static const char *
src_show(struct src *s, const struct src_file *f, uint32_t line)
{
	size_t from = f->lines.data[line - 1];
	size_t to = line < f->lines.len ? f->lines.data[line] : f->text.len;
	const char *text = f->text.data;
	struct buf b = {0};
	const char *shown;
	unsigned char c;

	while (from < to && src_is_blank((unsigned char)text[from]))
		from++;
	while (to > from && src_is_blank((unsigned char)text[to - 1]))
		to--;
	for (; from < to; from++) {
		c = (unsigned char)text[from];
		buf_add_char(&b, src_is_blank(c)	 ? ' '
				 : c < 0x20 || c == 0x7f ? '?'
							 : (char)c);
	}
	shown = strtab_str(&s->shown, strtab_addn(&s->shown, buf_str(&b), b.len));
	buf_done(&b);
	return shown;
}

const char *
src_line(struct src *s, const char *path, uint32_t line, const struct timespec *built,
	 const char **ret_reason)
{
	const struct src_file *f;
	const char *why;

	if (path == NULL || path[0] == '\0' || line == 0) {
		why = "line is unknown";
	} else {
		f = src_file_get(s, path);
		why = f->why_not;
		if (why == NULL && built != NULL && src_is_newer(&f->mtime, built))
			why = "source is newer than the binary";
		else if (why == NULL && line > f->lines.len)
			why = "source has no such line";
		if (why == NULL)
			return src_show(s, f, line);
	}
	if (ret_reason != NULL)
		*ret_reason = why;
	return NULL;
}
