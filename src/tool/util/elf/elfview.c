/* SPDX-License-Identifier: MIT */
/* elfview.c -- see elfview.h. */
#include "tool/util/elf/elfview.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "shared/cursor.h"
#include "tool/util/x.h"

enum { NOTES_MAX = 4096 };

bool
elfview_is_elf(const void *ident)
{
	return memcmp(ident, ELFMAG, SELFMAG) == 0;
}

bool
elfview_is_ours(const void *ident)
{
	const unsigned char *i = ident;

	return elfview_is_elf(i) && i[EI_CLASS] == ELFCLASS64 &&
	       i[EI_DATA] == ELFDATA2LSB;
}

bool
elfview_of_bytes(const void *ctx, uint64_t off, void *to, size_t n)
{
	const struct elfview_bytes *b = ctx;

	if (off > b->n || b->n - off < n)
		return false;
	memcpy(to, (const char *)b->data + off, n);
	return true;
}

bool
elfview_of_fd(const void *ctx, uint64_t off, void *to, size_t n)
{
	int fd = *(const int *)ctx;
	char *at = to;

	while (n > 0) {
		ssize_t got =
			off <= INT64_MAX ? pread(fd, at, n, (off_t)off) : (ssize_t)-1;

		if (got < 0 && off <= INT64_MAX && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		off += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

bool
elfview_open(struct elfview *ret_view, elfview_reader *read, const void *ctx)
{
	struct elfview v = {.read = read, .ctx = ctx};
	size_t bytes;

	if (!read(ctx, 0, &v.head, sizeof v.head) || !elfview_is_ours(v.head.e_ident) ||
	    (v.head.e_phnum > 0 && v.head.e_phentsize != sizeof *v.segments) ||
	    v.head.e_phnum > ELFVIEW_SEGMENTS_MAX)
		return false;
	v.nsegments = v.head.e_phnum;
	bytes = v.nsegments * sizeof *v.segments;
	v.segments = xcalloc(v.nsegments + 1, sizeof *v.segments);
	if (!read(ctx, v.head.e_phoff, v.segments, bytes)) {
		free(v.segments);
		return false;
	}
	*ret_view = v;
	return true;
}

void
elfview_close(struct elfview *v)
{
	free(v->segments);
	*v = (struct elfview){0};
}

const Elf64_Phdr *
elfview_segment(const struct elfview *v, unsigned type, unsigned nth)
{
	for (unsigned i = 0; i < v->nsegments; i++) {
		if (v->segments[i].p_type == type && nth-- == 0)
			return &v->segments[i];
	}
	return NULL;
}

static bool
id_in_notes(const unsigned char *data, size_t bytes, struct elfview_id *ret)
{
	struct cur n = cur_init(data, bytes);

	while (cur_left(&n) >= sizeof(Elf64_Nhdr)) {
		uint32_t name_bytes = cur_u32(&n), id_bytes = cur_u32(&n);
		uint32_t type = cur_u32(&n);
		const unsigned char *name = cur_take(&n, name_bytes), *id;

		cur_align(&n, 4);
		id = cur_take(&n, id_bytes);
		if (id == NULL || name == NULL)
			return false;
		if (type == NT_GNU_BUILD_ID && name_bytes == 4 &&
		    memcmp(name, "GNU", 4) == 0 && id_bytes > 0 &&
		    id_bytes <= sizeof ret->data) {
			memcpy(ret->data, id, id_bytes);
			ret->bytes = id_bytes;
			return true;
		}
		cur_align(&n, 4);
	}
	return false;
}

/* Notes lie in the first page, which is at the same place in file and memory. */
bool
elfview_build_id(const struct elfview *v, struct elfview_id *ret_id)
{
	unsigned char notes[NOTES_MAX];
	const Elf64_Phdr *p;

	ret_id->bytes = 0;
	for (unsigned i = 0; (p = elfview_segment(v, PT_NOTE, i)) != NULL; i++) {
		if (p->p_filesz > 0 && p->p_filesz <= sizeof notes &&
		    v->read(v->ctx, p->p_offset, notes, (size_t)p->p_filesz) &&
		    id_in_notes(notes, (size_t)p->p_filesz, ret_id))
			return true;
	}
	return false;
}

Elf64_Shdr *
elfview_sections(const struct elfview *v, unsigned most, unsigned *ret_n)
{
	unsigned n = v->head.e_shnum;
	Elf64_Shdr *all;

	if (n == 0 || n > most || v->head.e_shentsize != sizeof *all)
		return NULL;
	all = xcalloc(n, sizeof *all);
	if (!v->read(v->ctx, v->head.e_shoff, all, n * sizeof *all)) {
		free(all);
		return NULL;
	}
	*ret_n = n;
	return all;
}
