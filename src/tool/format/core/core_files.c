/* SPDX-License-Identifier: MIT */
/* core_files.c -- what a core leaves out because it is in a file: code, constants, data that was never
 * written to.
 *
 * A file is used only when it is the one that was mapped then: the build-id in the core's copy of its first page must
 * be that of the file. Files without one are left alone: wrong bytes are worse than none. Paths come from
 * the core, which anyone may have made, so only regular files are opened, and nothing is
 * waited for. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_impl.h"
#include "shared/compiler.h"
#include "tool/util/x.h"

enum { BUILD_ID_MAX = 64, HEADERS_MAX = 64, NOTES_MAX = 4096 };

struct build_id {
	unsigned char data[BUILD_ID_MAX];
	size_t bytes;
};

/* Bytes of an ELF file: in the core at `base`, or in `file`. */
struct elf_bytes {
	const struct core *c;
	uint64_t base;
	const unsigned char *file;
	size_t bytes;
};

static bool
elf_read(const struct elf_bytes *b, uint64_t off, void *to, size_t n)
{
	if (b->file == NULL)
		return off < UINT64_C(1) << 40 && core_read(b->c, b->base + off, to, n);
	if (off > b->bytes || b->bytes - off < n)
		return false;
	memcpy(to, b->file + off, n);
	return true;
}

static bool
id_in_notes(const unsigned char *data, size_t bytes, struct build_id *ret)
{
	struct cur n = cur_init(data, bytes);

	while (cur_left(&n) >= 12) {
		uint32_t name_bytes = cur_u32(&n), id_bytes = cur_u32(&n);
		uint32_t type = cur_u32(&n);
		const unsigned char *name = cur_take(&n, name_bytes), *id;

		cur_align(&n, 4);
		id = cur_take(&n, id_bytes);
		if (id == NULL || name == NULL)
			return false;
		if (type == NT_GNU_BUILD_ID && name_bytes == 4 &&
		    memcmp(name, "GNU", 4) == 0 && id_bytes > 0 &&
		    id_bytes <= BUILD_ID_MAX) {
			memcpy(ret->data, id, id_bytes);
			ret->bytes = id_bytes;
			return true;
		}
		cur_align(&n, 4);
	}
	return false;
}

/* The same place in file and memory, as notes lie in the first page. */
static bool
read_build_id(const struct elf_bytes *b, struct build_id *ret)
{
	unsigned char notes[NOTES_MAX];
	Elf64_Ehdr h;

	if (!elf_read(b, 0, &h, sizeof h) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
	    h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (unsigned i = 0; i < h.e_phnum && i < HEADERS_MAX; i++) {
		Elf64_Phdr p;

		if (!elf_read(b, h.e_phoff + i * sizeof p, &p, sizeof p))
			return false;
		if (p.p_type != PT_NOTE || p.p_filesz == 0 || p.p_filesz > sizeof notes)
			continue;
		if (elf_read(b, p.p_offset, notes, (size_t)p.p_filesz) &&
		    id_in_notes(notes, (size_t)p.p_filesz, ret))
			return true;
	}
	return false;
}

static bool
same_id(const struct build_id *a, const struct build_id *b)
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
	struct build_id then = {0}, now = {0};
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
	struct build_id then = {0}, now = {0};
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
