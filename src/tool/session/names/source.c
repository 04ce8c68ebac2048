/* SPDX-License-Identifier: MIT */
/* source.c -- see source.h. Files are read whole, each once. */
#include "tool/session/names/source.h"

#include <stdlib.h>
#include <string.h>

#include "tool/util/file.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

enum { SOURCE_MAX = 64 << 20 };

struct source_file {
	struct buf text;
	VEC(size_t) starts; /* of every line, and behind the last */
	bool usable;
};

struct source {
	const struct prof *p;
	struct strtab names;
	VEC(struct source_file) files; /* by id of the name */
	struct map recorded; /* (string of the file, line) -> string of the text */
	struct buf line;
};

struct source *
source_new(const struct prof *p)
{
	struct source *s = xcalloc(1, sizeof *s);

	s->p = p;
	for (uint32_t i = 0; i < p->nframes; i++) {
		const struct prof_frame *f = &p->frames[i];

		if (f->source != 0 && f->line != 0)
			*map_add(&s->recorded, (uint64_t)f->file << 32 | f->line) =
				f->source;
	}
	return s;
}

void
source_free(struct source *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->files.len; i++) {
		buf_done(&s->files.data[i].text);
		vec_done(&s->files.data[i].starts);
	}
	vec_done(&s->files);
	strtab_done(&s->names);
	map_done(&s->recorded);
	buf_done(&s->line);
	free(s);
}

/* Line `line` of a file into s->line; false when it has no such line. */
static bool
source_take(struct source *s, const struct source_file *f, uint32_t line)
{
	size_t from, to;

	if (line == 0 || line >= f->starts.len)
		return false;
	from = f->starts.data[line - 1];
	to = f->starts.data[line];
	while (to > from && strchr("\r\n", f->text.data[to - 1]) != NULL)
		to--;
	buf_clear(&s->line);
	buf_add(&s->line, f->text.data + from, to - from);
	return true;
}

/* The same text, whatever blanks and control characters are around and inside it? */
static bool
source_same(const char *a, const char *b)
{
	for (;;) {
		while (*a != '\0' && ((unsigned char)*a <= ' ' || *a == '?'))
			a++;
		while (*b != '\0' && ((unsigned char)*b <= ' ' || *b == '?'))
			b++;
		if (*a == '\0' || *b == '\0')
			return *a == *b;
		if (*a++ != *b++)
			return false;
	}
}

/* Does the file read as it did when the recording was made? */
static bool
source_agrees(struct source *s, const struct source_file *f, uint32_t file)
{
	uint64_t key, text;
	size_t pos = 0;

	while (map_next(&s->recorded, &pos, &key, &text)) {
		if (key >> 32 != file)
			continue;
		if (!source_take(s, f, (uint32_t)key) ||
		    !source_same(buf_str(&s->line), prof_text(s->p, (uint32_t)text)))
			return false;
	}
	return true;
}

static void
source_read(struct source *s, struct source_file *f, const char *path)
{
	struct err e = {0};
	uint32_t id = 0;

	/* A profile may name anything, also what never ends or waits for somebody. */
	if (path[0] != '/' || !file_is_regular(path) ||
	    file_read(path, SOURCE_MAX, &f->text, &e) < 0)
		return;
	vec_push(&f->starts, 0);
	for (size_t i = 0; i < f->text.len; i++) {
		if (f->text.data[i] == '\n')
			vec_push(&f->starts, i + 1);
	}
	if (*vec_last(&f->starts) != f->text.len)
		vec_push(&f->starts, f->text.len);
	f->usable = !strtab_find(s->p->strings, path, strlen(path), &id) ||
		    source_agrees(s, f, id);
}

const char *
source_line(void *ctx, const char *file, uint32_t line)
{
	struct source *s = ctx;
	uint32_t name = strtab_add(&s->names, file), id;
	const uint64_t *text;

	while (s->files.len <= name) {
		struct source_file *f = vec_add(&s->files);

		source_read(s, f, strtab_str(&s->names, (uint32_t)s->files.len - 1));
	}
	if (s->files.data[name].usable)
		return source_take(s, &s->files.data[name], line) ? buf_str(&s->line)
								  : NULL;
	if (!strtab_find(s->p->strings, file, strlen(file), &id))
		return NULL;
	text = map_find(&s->recorded, (uint64_t)id << 32 | line);
	return text != NULL ? prof_text(s->p, (uint32_t)*text) : NULL;
}
