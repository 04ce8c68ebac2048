/* SPDX-License-Identifier: MIT */
/* sym_cache.c -- indexes of binaries kept in a folder, one file a build-id.
 *
 * A file is mapped when a binary of its build-id is asked about, and then the debug
 * information is only opened for units that are not in there. What is read beyond that is
 * added when the binary is closed, if reading took long enough to be worth it: a new file
 * takes the old one's place by rename.
 *
 * Only complete answers are kept, so that installing a debug file later is not hidden by
 * what was kept before. Of a binary without one, only the symbols are kept, which is an
 * index without units: it is used as long as still no debug file is found. Build-ids can
 * be forged, so nothing is kept of files that belong to another user than root or the
 * caller, and only files and a folder of the caller's own are read: as root, that is
 * root's. Whatever cannot be read or written is as if there were no cache.
 *
 * The folder holds at most so many bytes; what was used longest ago goes first. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tool/sym/sym_index.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"

#define SYM_CACHE_SUFFIX ".idx"
#define SYM_CACHE_MOST_BYTES ((uint64_t)512 << 20)
/* What is read faster than this is read again: a file costs about a tenth of it. */
#define SYM_CACHE_WORTH_NS 5000000u
#define SYM_CACHE_TOUCH_S 3600

struct sym_cache {
	bool tried, usable;
	void *map;
	size_t map_bytes;
	struct sym_index index;
	unsigned new_units;
	uint64_t spent_ns;
};

void
sym_cache_count(struct sym *s, unsigned units, uint64_t began_ns)
{
	if (s->cache == NULL)
		return;
	s->cache->new_units += units;
	s->cache->spent_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_ns;
}

/* "4ab8….idx" */
static void
sym_cache_name(const struct sym *s, char ret[static 2 * SYM_BUILD_ID_MAX + 8])
{
	for (size_t i = 0; i < s->build_id_len; i++)
		snprintf(ret + 2 * i, 3, "%02x", s->build_id[i]);
	memcpy(ret + 2 * s->build_id_len, SYM_CACHE_SUFFIX, sizeof SYM_CACHE_SUFFIX);
}

/* Nobody but us can have written it. */
static bool
sym_cache_is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* The folder, or -1 when it is not there or not to be trusted. */
static int
sym_cache_folder(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) != 0 || !sym_cache_is_ours(&st))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Remembers that it was used, but not every time. */
static void
sym_cache_touch(int fd, const struct stat *st)
{
	if (time(NULL) - st->st_mtime > SYM_CACHE_TOUCH_S)
		futimens(fd, NULL);
}

static void
sym_cache_map(struct sym *s, struct sym_cache *c)
{
	char name[2 * SYM_BUILD_ID_MAX + 8];
	int folder = sym_cache_folder(s->opts.cache_dir), fd = -1;
	struct stat st;

	if (folder < 0)
		return;
	sym_cache_name(s, name);
	fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	close(folder);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && sym_cache_is_ours(&st) &&
	    st.st_size > 0) {
		c->map_bytes = (size_t)st.st_size;
		c->map = mmap(NULL, c->map_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (c->map == MAP_FAILED)
			c->map = NULL;
	}
	if (c->map != NULL && sym_index_open(c->map, c->map_bytes, s->build_id,
					     s->build_id_len, &c->index) == 0) {
		c->usable = true;
		sym_cache_touch(fd, &st);
	}
	close(fd);
}

/* The cache if there is one and it can be used, or NULL. */
static struct sym_cache *
sym_cache_get(struct sym *s)
{
	if (s->opts.cache_dir == NULL || s->opts.names_only || s->build_id_len == 0)
		return NULL;
	if (s->cache == NULL)
		s->cache = xcalloc(1, sizeof *s->cache);
	if (!s->cache->tried) {
		s->cache->tried = true;
		sym_cache_map(s, s->cache);
	}
	return s->cache->usable ? s->cache : NULL;
}

/* The same, and what it keeps is more than symbols. */
static struct sym_cache *
sym_cache_get_units(struct sym *s)
{
	struct sym_cache *c = sym_cache_get(s);

	return c != NULL && c->index.head->nunits > 0 ? c : NULL;
}

bool
sym_cache_units(struct sym *s, struct sym_units *ret)
{
	struct sym_cache *c = sym_cache_get_units(s);
	const struct sym_index *x;

	if (c == NULL)
		return false;
	x = &c->index;
	if (x->head->base != s->base) {
		sym_cache_forget(s);
		return false;
	}
	/* one more than there are, so that there is something to copy to */
	vec_reserve(&ret->all, (size_t)x->head->nunits + 1);
	memset(ret->all.data, 0, x->head->nunits * sizeof *ret->all.data);
	ret->all.len = x->head->nunits;
	vec_reserve(&ret->spans, (size_t)x->head->nspans + 1);
	memcpy(ret->spans.data, x->spans, x->head->nspans * sizeof *x->spans);
	ret->spans.len = x->head->nspans;
	vec_reserve(&ret->blind, (size_t)x->head->nblind + 1);
	memcpy(ret->blind.data, x->blind, x->head->nblind * sizeof *x->blind);
	ret->blind.len = x->head->nblind;
	return true;
}

bool
sym_cache_part(struct sym *s, uint32_t unit, struct sym_part *ret)
{
	struct sym_cache *c = sym_cache_get_units(s);

	return c != NULL && unit < c->index.head->nunits &&
	       sym_index_part(&c->index, unit, ret);
}

bool
sym_cache_symbols(struct sym *s)
{
	struct sym_cache *c = sym_cache_get(s);

	if (c == NULL || c->index.head->base != s->base)
		return false;
	if (c->index.head->nunits == 0) {
		sym_debug_open(s);
		if (s->debug.elf != NULL)
			return false;
	}
	return sym_index_part(&c->index, c->index.head->nunits, &s->symbols);
}

bool
sym_cache_gone(struct sym *s)
{
	struct sym_cache *c = sym_cache_get_units(s);

	if (c == NULL)
		return false;
	s->base = c->index.head->base;
	s->file.mtime.tv_sec = (time_t)c->index.head->built_s;
	s->file.mtime.tv_nsec = c->index.head->built_ns;
	for (uint32_t i = 0; i < c->index.head->ncode; i++)
		vec_push(&s->code,
			 (struct sym_range){c->index.code[i].lo, c->index.code[i].hi, 0});
	return true;
}

void
sym_cache_forget(struct sym *s)
{
	if (s->cache != NULL)
		s->cache->usable = false;
}

void
sym_cache_close(struct sym *s)
{
	if (s->cache != NULL && s->cache->map != NULL)
		munmap(s->cache->map, s->cache->map_bytes);
	free(s->cache);
	s->cache = NULL;
}

/* ---- writing ---- */

/* Makes the folder and those above it, but none inside of another user's: as root with
 * that user's HOME, what root leaves there would be in his way. */
static int
sym_cache_make(const char *folder)
{
	char *path = xstrdup(folder), *slash;
	struct stat st;
	int r = 0;

	if (stat(path, &st) != 0) {
		slash = strrchr(path, '/');
		if (errno != ENOENT || slash == NULL || slash == path) {
			r = -ENOENT;
		} else {
			*slash = '\0';
			r = sym_cache_make(path);
			if (r == 0 && (stat(path, &st) != 0 ||
				       (st.st_uid != geteuid() && st.st_uid != 0)))
				r = -EPERM;
			*slash = '/';
			if (r == 0 && mkdir(path, 0700) != 0 && errno != EEXIST)
				r = -errno;
		}
	}
	free(path);
	return r;
}

struct sym_cache_file {
	char *name;
	struct timespec used;
	uint64_t bytes;
};

static int
sym_cache_compare(const void *pa, const void *pb)
{
	const struct sym_cache_file *a = pa, *b = pb;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return (a->used.tv_nsec > b->used.tv_nsec) - (a->used.tv_nsec < b->used.tv_nsec);
}

/* "4ab8….idx", or ".4ab8….idx.0123" of one whose writer was killed. */
static bool
sym_cache_is_name(const char *name)
{
	static const char hex[] = "0123456789abcdef";
	size_t n;

	name += name[0] == '.';
	n = strspn(name, hex);
	if (n == 0 || strncmp(name + n, SYM_CACHE_SUFFIX, strlen(SYM_CACHE_SUFFIX)) != 0)
		return false;
	name += n + strlen(SYM_CACHE_SUFFIX);
	return name[0] == '\0' ||
	       (name[0] == '.' && name[1 + strspn(name + 1, hex)] == '\0');
}

/* Removes the oldest files until the rest fits. */
static void
sym_cache_prune(const char *folder, uint64_t most)
{
	VEC(struct sym_cache_file) all = {0};
	int fd = sym_cache_folder(folder);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	uint64_t total = 0;
	struct stat st;

	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (!sym_cache_is_name(entry->d_name) ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		vec_push(&all, (struct sym_cache_file){xstrdup(entry->d_name), st.st_mtim,
						       (uint64_t)st.st_size});
		total += (uint64_t)st.st_size;
	}
	vec_sort(&all, sym_cache_compare);
	for (size_t i = 0; i < all.len; i++) {
		if (total > most && unlinkat(fd, all.data[i].name, 0) == 0)
			total -= all.data[i].bytes;
		free(all.data[i].name);
	}
	vec_done(&all);
	closedir(dir);
}

static bool
sym_cache_may_keep(const struct sym_file *f)
{
	return f->elf == NULL || f->uid == 0 || f->uid == geteuid();
}

/* Nothing but the symbols is known, and they were read from the binary just now. */
static bool
sym_cache_is_plain(const struct sym *s)
{
	return s->dwarf == NULL && s->file.elf != NULL && s->debug.elf == NULL &&
	       s->alt.elf == NULL && s->units.all.len == 0 && s->symbols_loaded &&
	       s->symbols.text == NULL;
}

static bool
sym_cache_is_worth(const struct sym *s, const struct sym_cache *c)
{
	if (!sym_cache_is_plain(s) &&
	    (s->dwarf == NULL || s->reason[0] != '\0' || !s->units_attached ||
	     (c->new_units == 0 && c->usable)))
		return false;
	if (c->spent_ns < SYM_CACHE_WORTH_NS && !s->opts.cache_all)
		return false;
	return sym_cache_may_keep(&s->file) && sym_cache_may_keep(&s->debug) &&
	       sym_cache_may_keep(&s->alt);
}

void
sym_cache_save(struct sym *s)
{
	struct sym_cache *c = s->cache;
	uint64_t most = s->opts.cache_most_bytes != 0 ? s->opts.cache_most_bytes
						      : SYM_CACHE_MOST_BYTES;
	char name[2 * SYM_BUILD_ID_MAX + 8];
	const struct sym_index *old;
	struct buf out = {0};
	char *path;
	int folder;

	if (c == NULL || !sym_cache_is_worth(s, c) ||
	    sym_cache_make(s->opts.cache_dir) < 0)
		return;
	folder = sym_cache_folder(s->opts.cache_dir);
	if (folder < 0)
		return;
	close(folder);
	sym_symbol_find(s, 0); /* reads them, if nobody did */
	sym_cache_name(s, name);
	path = xasprintf("%s/%s", s->opts.cache_dir, name);
	old = c->usable && c->index.head->nunits > 0 ? &c->index : NULL;
	if (sym_index_write(s, old, most / 2, &out) == 0 &&
	    file_write(path, out.data, out.len, NULL) == 0)
		sym_cache_prune(s->opts.cache_dir, most);
	free(path);
	buf_done(&out);
}
