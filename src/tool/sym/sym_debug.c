/* SPDX-License-Identifier: MIT */
/* sym_debug.c -- where debug information and moved binaries are kept.
 *
 * The places are rows of tables: by build-id in the folders of debug files, by the name
 * in .gnu_debuglink beside the binary and in those folders, by the binary's own path with
 * ".debug", and the layout of folders that pprof looks at. A file is only taken if it has
 * the build-id that is looked for, or, where one of them has none, the checksum the link
 * asks for: names of another build would be worse than none. The checksum needs the whole
 * file read and is thus the last resort. The network comes after everything else, and
 * only if it was asked for. */
#include <dirent.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "shared/compiler.h"
#include "tool/sym/sym_priv.h"

#define SYM_DEBUG_DIRS "/usr/lib/debug"

enum sym_where { SYM_IN_ROOT, SYM_IN_DEBUG_DIRS, SYM_IN_BINARY_DIRS };

/* A place; {…} stands for a part of what is looked for, and a row that needs a part that
 * is not known is left out. */
struct sym_place {
	enum sym_where where;
	const char *pattern;
};

static const struct sym_place sym_debug_places[] = {
	{SYM_IN_DEBUG_DIRS, "/.build-id/{ab}/{cdef}.debug"},
	{SYM_IN_ROOT, "{dir}/{link}"},
	{SYM_IN_ROOT, "{dir}/.debug/{link}"},
	{SYM_IN_DEBUG_DIRS, "{dir}/{link}"},
	{SYM_IN_DEBUG_DIRS, "{path}.debug"},
	{SYM_IN_BINARY_DIRS, "/{id}/{base}"},
	{SYM_IN_BINARY_DIRS, "/{id}/*"},
	{SYM_IN_BINARY_DIRS, "{path}/{id}"},
	{SYM_IN_BINARY_DIRS, "/{ab}/{cdef}.debug"},
	{SYM_IN_BINARY_DIRS, "/.build-id/{ab}/{cdef}.debug"},
	{SYM_IN_BINARY_DIRS, "/{base}"},
	{SYM_IN_BINARY_DIRS, "{path}"},
	{SYM_IN_BINARY_DIRS, "{path}.debug"},
	{SYM_IN_BINARY_DIRS, "{dir}/.debug/{base}.debug"},
	{SYM_IN_BINARY_DIRS, "/usr/lib/debug{dir}/{base}.debug"},
};

/* For a binary that is not where it was. */
static const struct sym_place sym_binary_places[] = {
	{SYM_IN_DEBUG_DIRS, "/.build-id/{ab}/{cdef}"},
	{SYM_IN_BINARY_DIRS, "/{id}/{base}"},
	{SYM_IN_BINARY_DIRS, "/{id}/*"},
	{SYM_IN_BINARY_DIRS, "{path}/{id}"},
	{SYM_IN_BINARY_DIRS, "/{base}"},
	{SYM_IN_BINARY_DIRS, "{path}"},
	{SYM_IN_DEBUG_DIRS, "/.build-id/{ab}/{cdef}.debug"},
	{SYM_IN_BINARY_DIRS, "/{ab}/{cdef}.debug"},
	{SYM_IN_BINARY_DIRS, "/.build-id/{ab}/{cdef}.debug"},
	{SYM_IN_BINARY_DIRS, "{path}.debug"},
	{SYM_IN_BINARY_DIRS, "{dir}/.debug/{base}.debug"},
	{SYM_IN_BINARY_DIRS, "/usr/lib/debug{dir}/{base}.debug"},
};

/* What is looked for, and where it goes. */
struct sym_search {
	const struct sym_opts *opts;
	const char *binary;	 /* its path when it ran */
	const char *except;	 /* a path that is no answer */
	const char *link;	 /* NULL: none */
	const unsigned char *id; /* that the file must have; len 0: none known */
	size_t id_len;
	bool has_crc;
	uint32_t crc;
	bool any;	 /* without an id everything of that name will do */
	bool debug_only; /* it has to have debug information, or symbols at least */
	struct sym_file *ret;
	char *mismatch; /* path of a file that was refused */
};

static bool
sym_crc_is(const struct sym_file *f, uint32_t want)
{
	size_t n = 0;
	const char *bytes = elf_rawfile(f->elf, &n);
	uLong crc = crc32(0, NULL, 0);
	size_t part;

	if (bytes == NULL)
		return false;
	for (size_t at = 0; at < n; at += part) {
		part = n - at < (1u << 30) ? n - at : 1u << 30;
		crc = crc32(crc, (const Bytef *)bytes + at, (uInt)part);
	}
	return crc == want;
}

static bool
sym_search_is_right(const struct sym_search *w, const struct sym_file *f)
{
	const unsigned char *id = NULL;
	size_t len = sym_file_build_id(f, &id);

	if (len > 0 && w->id_len > 0)
		return len == w->id_len && memcmp(id, w->id, len) == 0;
	if (w->id_len == 0 && w->any)
		return true;
	return w->has_crc && sym_crc_is(f, w->crc);
}

/* Takes the file if it is the right one. 0, or -ENOENT. */
static int
sym_search_try(struct sym_search *w, const char *path)
{
	struct sym_file f = {.fd = -1};

	/* a link to itself, as some tools leave it, is no debug file */
	if ((w->except != NULL && strcmp(path, w->except) == 0) ||
	    sym_file_open(w->opts->sysroot, path, &f, NULL) < 0)
		return -ENOENT;
	if (!sym_search_is_right(w, &f)) {
		free(w->mismatch);
		w->mismatch = xstrdup(path);
	} else if (!w->debug_only || sym_file_has_dwarf(&f) || sym_file_has_symtab(&f)) {
		*w->ret = f;
		return 0;
	}
	sym_file_close(&f);
	return -ENOENT;
}

/* Appends what a {word} of `n` bytes stands for; false when that is not known. */
static bool
sym_pattern_word(const struct sym_search *w, const char *word, size_t n, struct buf *b)
{
	const char *slash = strrchr(w->binary, '/');
	const char *base = slash != NULL ? slash + 1 : w->binary;
	bool first = strncmp(word, "ab", n) == 0;

	if (first || strncmp(word, "cdef", n) == 0 || strncmp(word, "id", n) == 0) {
		if (w->id_len < 2)
			return false;
		for (size_t i = word[0] == 'c'; i < (first ? 1 : w->id_len); i++)
			buf_printf(b, "%02x", w->id[i]);
		return true;
	}
	if (strncmp(word, "link", n) == 0) {
		buf_add_str(b, w->link != NULL ? w->link : "");
		return w->link != NULL;
	}
	if (strncmp(word, "base", n) == 0) {
		buf_add_str(b, base);
		return base[0] != '\0';
	}
	if (w->binary[0] != '/' && b->len > 0)
		buf_add_char(b, '/');
	if (strncmp(word, "path", n) == 0)
		buf_add_str(b, w->binary);
	else if (slash != NULL) /* {dir} */
		buf_add(b, w->binary, (size_t)(slash - w->binary));
	else
		buf_add_char(b, '.');
	return true;
}

/* The row's path inside `folder`; false when a part of it is not known. */
static bool
sym_pattern(const struct sym_search *w, const char *folder, size_t folder_bytes,
	    const char *pattern, struct buf *ret)
{
	size_t n;

	buf_add(ret, folder, folder_bytes);
	while (*pattern != '\0') {
		if (*pattern != '{') {
			buf_add_char(ret, *pattern++);
			continue;
		}
		n = strcspn(++pattern, "}");
		if (!sym_pattern_word(w, pattern, n, ret))
			return false;
		pattern += n + 1;
	}
	return true;
}

/* Every file of a folder whose path ends in "*". */
static int
sym_search_all(struct sym_search *w, const char *path)
{
	char *folder = xmemdup0(path, strlen(path) - 1), *file;
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int r = -ENOENT;

	while (dir != NULL && r < 0 && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		file = xasprintf("%s%s", folder, entry->d_name);
		r = sym_search_try(w, file);
		free(file);
	}
	if (dir != NULL)
		closedir(dir);
	free(folder);
	return r;
}

static int
sym_search_in(struct sym_search *w, const char *folder, size_t folder_bytes,
	      const char *pattern)
{
	struct buf path = {0};
	int r = -ENOENT;

	if (sym_pattern(w, folder, folder_bytes, pattern, &path)) {
		if (path.data[path.len - 1] == '*')
			r = sym_search_all(w, path.data);
		else
			r = sym_search_try(w, path.data);
	}
	buf_done(&path);
	return r;
}

/* The row in each of the folders in `dirs`, which are separated by ':', below `root`. */
static int
sym_search_dirs(struct sym_search *w, const char *root, const char *dirs,
		const char *pattern)
{
	char *folder;
	size_t n;
	int r = -ENOENT;

	for (; r < 0 && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		if (n == 0)
			continue;
		folder = xasprintf("%s%.*s", root, (int)n, dirs);
		r = sym_search_in(w, folder, strlen(folder), pattern);
		free(folder);
	}
	return r;
}

static int
sym_search_row(struct sym_search *w, const struct sym_place *row)
{
	const struct sym_opts *o = w->opts;
	const char *root = o->sysroot != NULL ? o->sysroot : "";
	const char *dirs = o->debug_dirs != NULL ? o->debug_dirs : SYM_DEBUG_DIRS;
	int r;

	switch (row->where) {
	case SYM_IN_ROOT:
		return sym_search_in(w, root, strlen(root), row->pattern);
	case SYM_IN_DEBUG_DIRS:
		r = sym_search_dirs(w, root, dirs, row->pattern);
		/* what is found by id is right wherever it lies */
		if (r < 0 && root[0] != '\0' && strstr(row->pattern, "{ab}") != NULL)
			r = sym_search_dirs(w, "", dirs, row->pattern);
		return r;
	case SYM_IN_BINARY_DIRS:
		return o->binary_dirs != NULL
			       ? sym_search_dirs(w, "", o->binary_dirs, row->pattern)
			       : -ENOENT;
	}
	return -ENOENT;
}

static int
sym_search_rows(struct sym_search *w, const struct sym_place *rows, size_t n)
{
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < n; i++)
		r = sym_search_row(w, &rows[i]);
	return r;
}

void
sym_debug_open(struct sym *s)
{
	const struct sym_opts *o = &s->opts;
	struct sym_search w = {.opts = o,
			       .binary = o->real_path ? o->real_path : s->file.path,
			       .except = s->file.path,
			       .id = s->build_id,
			       .id_len = s->build_id_len,
			       .debug_only = true,
			       .ret = &s->debug};
	struct err e = {0};
	GElf_Word crc = 0;
	int r;

	if (s->debug_tried || o->no_debug_files || s->file.elf == NULL)
		return;
	s->debug_tried = true;
	w.link = dwelf_elf_gnu_debuglink(s->file.elf, &crc);
	/* only a plain name: "../../x" would lead anywhere */
	if (w.link != NULL && (w.link[0] == '\0' || strchr(w.link, '/') != NULL))
		w.link = NULL;
	w.has_crc = w.link != NULL;
	w.crc = crc;
	r = sym_search_rows(&w, sym_debug_places, ARRAY_LEN(sym_debug_places));
	if (r < 0 && o->debuginfod && s->build_id_len > 0)
		r = sym_fetch(SYM_FETCH_DEBUG, s->build_id, s->build_id_len, &s->debug,
			      &e);
	if (r < 0 && w.mismatch != NULL)
		snprintf(s->reason, sizeof s->reason,
			 "debug file %s is for another build", w.mismatch);
	else if (r < 0 && r != -ENOENT)
		snprintf(s->reason, sizeof s->reason, "%s", e.msg);
	free(w.mismatch);
}

int
sym_binary_find(const struct sym_opts *o, const char *path, const unsigned char *id,
		size_t id_len, struct sym_file *ret)
{
	struct sym_search w = {.opts = o,
			       .binary = o->real_path ? o->real_path : path,
			       .id = id,
			       .id_len = id_len,
			       .any = true,
			       .ret = ret};
	int r;

	if (o->no_debug_files)
		return -ENOENT;
	r = sym_search_rows(&w, sym_binary_places, ARRAY_LEN(sym_binary_places));
	if (r < 0 && o->debuginfod && id_len > 0)
		r = sym_fetch(SYM_FETCH_BINARY, id, id_len, ret, NULL);
	if (r < 0 && o->debuginfod && id_len > 0)
		r = sym_fetch(SYM_FETCH_DEBUG, id, id_len, ret, NULL);
	free(w.mismatch);
	return r < 0 ? -ENOENT : 0;
}

int
sym_alt_find(const struct sym *s, const char *name, const unsigned char *id,
	     size_t id_len, struct sym_file *ret)
{
	static const struct sym_place rows[] = {
		{SYM_IN_ROOT, "{path}"}, /* as the link says */
		{SYM_IN_ROOT, "{dir}/{link}"},
		{SYM_IN_DEBUG_DIRS, "/.build-id/{ab}/{cdef}.debug"},
		{SYM_IN_DEBUG_DIRS, "/.dwz/{link}"},
		{SYM_IN_BINARY_DIRS, "/{base}"},
	};
	const struct sym_file *f = s->debug.elf != NULL ? &s->debug : &s->file;
	const char *slash = strrchr(name, '/'), *folder = strrchr(f->path, '/');
	char *path =
		name[0] == '/' || folder == NULL
			? xstrdup(name)
			: xasprintf("%.*s/%s", (int)(folder - f->path), f->path, name);
	struct sym_search w = {.opts = &s->opts,
			       .binary = path,
			       .link = slash != NULL ? slash + 1 : name,
			       .id = id,
			       .id_len = id_len,
			       .ret = ret};
	/* beside a debug file found under the root, its path has the root in it
	 * already */
	int r = sym_search_try(&w, path);

	if (r < 0)
		r = sym_search_rows(&w, rows, ARRAY_LEN(rows));
	if (r < 0 && s->opts.debuginfod && id_len > 0)
		r = sym_fetch(SYM_FETCH_DEBUG, id, id_len, ret, NULL);
	free(w.mismatch);
	free(path);
	return r < 0 ? -ENOENT : 0;
}
