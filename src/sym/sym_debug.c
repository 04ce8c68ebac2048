/* SPDX-License-Identifier: MIT */
/* sym_debug.c -- where the debug information of a stripped binary is kept.
 *
 * First by build-id, DIR/.build-id/ab/cdef….debug; then by the name in .gnu_debuglink:
 * beside the binary, in .debug/ there, and in DIR at the binary's own path. A file is
 * only taken if it has the binary's build-id, or, where one of them has none, the
 * checksum the link asks for: names of another build would be worse than none. The
 * checksum needs the whole file read and is thus the last resort. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "sym/sym_priv.h"

#define SYM_DEBUG_DIRS "/usr/lib/debug"

static const char *
sym_root(const struct sym_opts *o)
{
	return o->sysroot != NULL ? o->sysroot : "";
}

/* What is looked for, and where it goes. */
struct sym_search {
	const struct sym_opts *opts;
	const unsigned char *id; /* that the file must have; len 0: none known */
	size_t id_len;
	bool has_crc;
	uint32_t crc;
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

/* Takes the file if it is the right one. 0, or -ENOENT. */
static int
sym_search_try(struct sym_search *w, const char *path)
{
	struct sym_file f = {.fd = -1};
	const unsigned char *id = NULL;
	size_t len;
	bool right;

	if (sym_file_open(path, &f, NULL) < 0)
		return -ENOENT;
	len = sym_file_build_id(&f, &id);
	if (len > 0 && w->id_len > 0)
		right = len == w->id_len && memcmp(id, w->id, len) == 0;
	else
		right = w->has_crc && sym_crc_is(&f, w->crc);
	if (right) {
		*w->ret = f;
		return 0;
	}
	free(w->mismatch);
	w->mismatch = xstrdup(path);
	sym_file_close(&f);
	return -ENOENT;
}

/* DIR/.build-id/ab/cdef….debug in each folder. */
static int
sym_search_by_id(struct sym_search *w)
{
	const char *dirs =
		w->opts->debug_dirs != NULL ? w->opts->debug_dirs : SYM_DEBUG_DIRS;
	char hex[2 * SYM_BUILD_ID_MAX + 1];
	char *path;
	size_t n;
	int r = -ENOENT;

	if (w->id_len < 2 || w->id_len > SYM_BUILD_ID_MAX)
		return r;
	for (size_t i = 0; i < w->id_len; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->id[i]);
	for (; r < 0 && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		path = xasprintf("%s%.*s/.build-id/%.2s/%s.debug", sym_root(w->opts),
				 (int)n, dirs, hex, hex + 2);
		r = sym_search_try(w, path);
		free(path);
	}
	return r;
}

/* The places where .gnu_debuglink's file may be, given the binary's folder with its
 * slash. */
static int
sym_search_by_link(struct sym_search *w, const char *binary, const char *link)
{
	const char *dirs =
		w->opts->debug_dirs != NULL ? w->opts->debug_dirs : SYM_DEBUG_DIRS;
	const char *root = sym_root(w->opts);
	const char *slash = strrchr(binary, '/');
	int dir = slash != NULL ? (int)(slash - binary) + 1 : 0;
	char *path;
	size_t n;
	int r;

	path = xasprintf("%s%.*s%s", root, dir, binary, link);
	/* a link to itself, as some tools leave it, is no debug file */
	r = strcmp(path, binary) == 0 ? -ENOENT : sym_search_try(w, path);
	free(path);
	if (r < 0) {
		path = xasprintf("%s%.*s.debug/%s", root, dir, binary, link);
		r = sym_search_try(w, path);
		free(path);
	}
	for (; r < 0 && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
		n = strcspn(dirs, ":");
		path = xasprintf("%s%.*s%s%.*s%s", root, (int)n, dirs,
				 binary[0] == '/' ? "" : "/", dir, binary, link);
		r = sym_search_try(w, path);
		free(path);
	}
	return r;
}

void
sym_debug_open(struct sym *s)
{
	const struct sym_opts *o = &s->opts;
	struct sym_search w = {.opts = o,
			       .id = s->build_id,
			       .id_len = s->build_id_len,
			       .ret = &s->debug};
	const char *binary = o->real_path != NULL ? o->real_path : s->file.path;
	const char *link;
	GElf_Word crc = 0;
	int r;

	if (s->debug_tried || o->no_debug_files)
		return;
	s->debug_tried = true;
	r = sym_search_by_id(&w);
	if (r < 0) {
		link = dwelf_elf_gnu_debuglink(s->file.elf, &crc);
		/* only a plain name: "../../x" would lead anywhere */
		if (link != NULL && link[0] != '\0' && strchr(link, '/') == NULL) {
			w.has_crc = true;
			w.crc = crc;
			r = sym_search_by_link(&w, binary, link);
		}
	}
	if (r < 0 && w.mismatch != NULL)
		snprintf(s->reason, sizeof s->reason,
			 "debug file %s is for another build", w.mismatch);
	free(w.mismatch);
}

int
sym_debug_by_id(const unsigned char *id, size_t len, const struct sym_opts *o,
		struct sym_file *ret, struct err *e)
{
	struct sym_search w = {.opts = o, .id = id, .id_len = len, .ret = ret};
	int r = sym_search_by_id(&w);

	free(w.mismatch);
	return r < 0 ? err_set(e, r, "no debug file for this build-id") : 0;
}
