/* SPDX-License-Identifier: MIT */
/* core_files.c -- what a core leaves out because it is in a file: code, constants, data
 * that was never written to.
 *
 * A file is used only when it is the one that was mapped then: the build-id in the core's
 * copy of its first page must be that of the file. Files without one are left alone:
 * wrong bytes are worse than none. Paths come from the core, which anyone may have made,
 * so only regular files are opened, and nothing is waited for. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_impl.h"
#include "shared/compiler.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/x.h"

/* Bytes of an ELF file: in the core at `base`, or in `file`. */
struct elf_bytes {
	const struct core *c;
	uint64_t base;
	const unsigned char *file;
	size_t bytes;
};

static bool
elf_read(const void *ctx, uint64_t off, void *to, size_t n)
{
	const struct elf_bytes *b = ctx;
	const struct elfview_bytes file = {b->file, b->bytes};

	if (b->file == NULL)
		return off < UINT64_C(1) << 40 && core_read(b->c, b->base + off, to, n);
	return elfview_of_bytes(&file, off, to, n);
}

static bool
read_build_id(const struct elf_bytes *b, struct elfview_id *ret)
{
	struct elfview v;
	bool found;

	if (!elfview_open(&v, elf_read, b))
		return false;
	found = elfview_build_id(&v, ret);
	elfview_close(&v);
	return found;
}

static bool
same_id(const struct elfview_id *a, const struct elfview_id *b)
{
	return a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0;
}

/* Maps a regular file, to be unmapped by the caller. */
static bool
map_whole(const char *path, struct elf_bytes *ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return false;
	*ret = (struct elf_bytes){.file = at, .bytes = (size_t)st.st_size};
	return true;
}

/* Maps the file if it is the one that was mapped at `base`. */
static const unsigned char *
map_same(struct core *c, const char *path, uint64_t base, size_t *ret_bytes)
{
	struct elfview_id then = {0}, now = {0};
	struct elf_bytes memory = {.c = c, .base = base}, file;

	if (path[0] != '/' || !read_build_id(&memory, &then) || !map_whole(path, &file))
		return NULL;
	if (!read_build_id(&file, &now) || !same_id(&now, &then)) {
		munmap((void *)file.file, file.bytes);
		return NULL;
	}
	c->files = xreallocarray(c->files, c->nfiles + 1, sizeof *c->files);
	c->files[c->nfiles++] = (struct core_mapped){(void *)file.file, file.bytes};
	*ret_bytes = file.bytes;
	return file.file;
}

/* Whether both build-ids are known, and differ. */
static bool
is_other(const struct core *c, uint64_t base, const char *path)
{
	struct elfview_id then = {0}, now = {0};
	struct elf_bytes memory = {.c = c, .base = base}, file;
	bool other;

	if (!read_build_id(&memory, &then) || !map_whole(path, &file))
		return false;
	other = read_build_id(&file, &now) && !same_id(&now, &then);
	munmap((void *)file.file, file.bytes);
	return other;
}

int
core_use_program(struct core *c, const char *path, struct err *e)
{
	struct memmap_area *areas = c->map.areas.data;

	c->program = realpath(path, NULL);
	if (c->program == NULL)
		return err_sys(e, -errno, "%s: cannot open", path);
	for (size_t i = 0; i < c->map.areas.len && c->exe != NULL; i++) {
		if (areas[i].inode == 0 || strcmp(areas[i].name, c->exe) != 0)
			continue;
		if (areas[i].offset == 0 && is_other(c, areas[i].start, path))
			return err_set(e, -EINVAL,
				       "%s is another program or build than the core's, "
				       "%s: their build-ids differ; leave it out, or "
				       "name the right one",
				       path, c->exe);
		areas[i].name = c->program;
	}
	return 0;
}

static bool
is_missing(const struct core *c, size_t i)
{
	const struct core_segment *s = &c->segments.data[i];

	return c->map.areas.data[i].perms[0] == 'r' && s->bytes < s->end - s->start;
}

/* The mappings [from, to) are of one file. */
static void
map_file(struct core *c, size_t from, size_t to)
{
	const struct memmap_area *areas = c->map.areas.data;
	const unsigned char *file;
	bool missing = false;
	size_t bytes = 0;

	for (size_t i = from; i < to; i++)
		missing = missing || is_missing(c, i);
	if (!missing)
		return;
	file = areas[from].offset == 0
		       ? map_same(c, areas[from].name, areas[from].start, &bytes)
		       : NULL;
	if (file == NULL) {
		c->stale_files++;
		return;
	}
	for (size_t i = from; i < to; i++) {
		struct core_segment *s = &c->segments.data[i];

		if (areas[i].offset >= bytes || !is_missing(c, i))
			continue;
		s->file = file + areas[i].offset;
		s->file_bytes = bytes - areas[i].offset;
		if (s->file_bytes > s->end - s->start)
			s->file_bytes = s->end - s->start;
	}
}

void
core_map_files(struct core *c)
{
	const struct memmap_area *areas = c->map.areas.data;
	size_t n = c->map.areas.len;

	for (size_t i = 0; i < n;) {
		size_t to = i + 1;

		if (areas[i].inode == 0) {
			i = to;
			continue;
		}
		while (to < n && areas[to].inode != 0 &&
		       strcmp(areas[to].name, areas[i].name) == 0)
			to++;
		map_file(c, i, to);
		i = to;
	}
}
