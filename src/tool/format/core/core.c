/* SPDX-License-Identifier: MIT */
/* core.c -- see core.h. */
#include "tool/format/core/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_impl.h"
#include "shared/compiler.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

enum {
	SEGMENTS_MAX = 1 << 20,
	/* bytes of memory that may be searched although the core has them not */
	ABSENT_MOST = 64 << 20,
};

/* ---- headers ---- */

bool
core_detect(const void *head, size_t bytes)
{
	const unsigned char *h = head;

	return bytes >= sizeof(Elf64_Ehdr) && memcmp(h, ELFMAG, SELFMAG) == 0 &&
	       (h[EI_DATA] == ELFDATA2LSB ? mem_get_u16(h + 16) == ET_CORE
					  : h[16] == 0 && h[17] == ET_CORE);
}

bool
core_is_one(const char *path)
{
	unsigned char head[sizeof(Elf64_Ehdr)];

	return file_head(path, head, sizeof head) && core_detect(head, sizeof head);
}

/* Checks the file's head; *ret_off and *ret_n are its program headers. */
static int
read_head(const struct core *c, uint64_t *ret_off, uint64_t *ret_n, struct err *e)
{
	Elf64_Ehdr h;

	if (!core_detect(c->data, c->bytes))
		return err_set(e, -EINVAL, "not a core file");
	memcpy(&h, c->data, sizeof h);
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(e, -EINVAL,
			       "a core of a 32-bit program; seep reads 64-bit ones");
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_X86_64)
		return err_set(e, -EINVAL,
			       "a core of another processor (ELF machine %u); seep reads "
			       "those of x86-64",
			       h.e_machine);
	*ret_off = h.e_phoff;
	*ret_n = h.e_phnum;
	/* Too many for the head: the number is in the first section header. */
	if (h.e_phnum == PN_XNUM) {
		Elf64_Shdr s;

		if (h.e_shoff > c->bytes || c->bytes - h.e_shoff < sizeof s)
			return err_set(e, -EINVAL,
				       "its number of segments lies behind its end, at "
				       "%" PRIu64 " of %zu bytes",
				       (uint64_t)h.e_shoff, c->bytes);
		memcpy(&s, c->data + h.e_shoff, sizeof s);
		*ret_n = s.sh_info;
	}
	if (h.e_phentsize != sizeof(Elf64_Phdr) || *ret_n == 0 || *ret_n > SEGMENTS_MAX ||
	    *ret_off > c->bytes || (c->bytes - *ret_off) / sizeof(Elf64_Phdr) < *ret_n)
		return err_set(e, -EINVAL,
			       "its %" PRIu64 " segment headers do not fit "
			       "into %zu bytes: cut off too soon?",
			       *ret_n, c->bytes);
	return 0;
}

/* ---- segments ---- */

static void
add_segment(struct core *c, const Elf64_Phdr *p)
{
	struct core_segment s = {.start = p->p_vaddr, .end = p->p_vaddr + p->p_memsz};
	uint64_t bytes = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;

	if (p->p_memsz == 0 || s.end < s.start)
		return;
	if (p->p_offset < c->bytes) {
		s.data = c->data + p->p_offset;
		s.bytes = c->bytes - p->p_offset;
		s.bytes = s.bytes < bytes ? s.bytes : bytes;
	}
	c->cut_bytes += bytes - s.bytes;
	memcpy(s.perms, "---p", 5);
	if ((p->p_flags & PF_R) != 0)
		s.perms[0] = 'r';
	if ((p->p_flags & PF_W) != 0)
		s.perms[1] = 'w';
	if ((p->p_flags & PF_X) != 0)
		s.perms[2] = 'x';
	vec_push(&c->segments, s);
}

static void
keep_segment(struct core *c, struct core_segment_vec *kept, const struct core_segment *s)
{
	struct memmap_area *a = vec_add(&c->map.areas);

	a->start = s->start;
	a->end = s->end;
	a->name = "";
	a->kib[MEMMAP_RSS] = 1; /* not known: look and see */
	memcpy(a->perms, s->perms, sizeof a->perms);
	vec_push(kept, *s);
}

/* In order and apart, as a kernel writes them; anything else is not believed. Memory that
 * may be written is searched word by word, so a header must not make it larger than the
 * file: what is not there beyond some allowance becomes a segment of its own, which
 * cannot be read. */
static void
tidy_segments(struct core *c)
{
	struct core_segment_vec kept = {0};
	uint64_t absent = 0;

	vec_sort(&c->segments, vec_compare_by(struct core_segment, start));
	for (size_t i = 0; i < c->segments.len; i++) {
		struct core_segment s = c->segments.data[i], rest = s;
		uint64_t has = ALIGN_UP(s.bytes, (uint64_t)CORE_PAGE);

		if (kept.len > 0 && s.start < kept.data[kept.len - 1].end)
			continue;
		if (s.perms[1] != 'w' || has >= s.end - s.start ||
		    s.end - s.start - has <= c->bytes + ABSENT_MOST - absent) {
			if (s.perms[1] == 'w' && has < s.end - s.start)
				absent += s.end - s.start - has;
			keep_segment(c, &kept, &s);
			continue;
		}
		s.end = rest.start = s.start + has;
		rest.data = NULL;
		rest.bytes = 0;
		memcpy(rest.perms, "---p", 5);
		if (has > 0)
			keep_segment(c, &kept, &s);
		keep_segment(c, &kept, &rest);
	}
	vec_done(&c->segments);
	c->segments = kept;
}

/* ---- names ---- */

/* The mapping's inode is not known; the file's number in the core will do to tell files
 * apart. */
static void
name_files(struct core *c, const struct core_file_vec *files)
{
	const struct memmap_area *end = c->map.areas.data + c->map.areas.len;

	for (size_t i = 0; i < files->len; i++) {
		const struct core_file *f = &files->data[i];
		struct memmap_area *a =
			(struct memmap_area *)memmap_find(&c->map, f->start);

		/* Each mapping is of one file, whatever a core may claim. */
		for (; a != NULL && a < end && a->start >= f->start &&
		       a->start < f->end && a->inode == 0;
		     a++) {
			a->name = f->name;
			a->offset = f->off + (a->start - f->start);
			a->inode = i + 1;
			if (c->entry_auxv >= a->start && c->entry_auxv < a->end &&
			    c->exe == NULL)
				c->exe = xstrdup(f->name);
		}
	}
}

static void
name_others(struct core *c)
{
	for (size_t i = 0; i < c->map.areas.len; i++) {
		struct memmap_area *a = &c->map.areas.data[i];

		if (a->inode != 0)
			continue;
		if (c->random_auxv >= a->start && c->random_auxv < a->end)
			a->name = "[stack]";
		else if (c->vdso_auxv == a->start && c->vdso_auxv != 0)
			a->name = "[vdso]";
		else if (a->start >= UINT64_C(1) << 63)
			a->name = "[vsyscall]";
	}
}

static void
count_absent(struct core *c)
{
	for (size_t i = 0; i < c->segments.len; i++) {
		const struct core_segment *s = &c->segments.data[i];
		uint64_t all = s->end - s->start;
		uint64_t had = s->bytes > s->file_bytes ? s->bytes : s->file_bytes;

		if (s->file_bytes > s->bytes)
			c->file_bytes += s->file_bytes - s->bytes;
		if (c->map.areas.data[i].perms[0] == 'r' && had < all)
			c->absent_bytes += all - had;
	}
}

/* ---- opening ---- */

static int
read_core(struct core *c, bool other_files, const char *program, struct err *e)
{
	struct core_file_vec files = {0};
	uint64_t off = 0, n = 0;
	int r = read_head(c, &off, &n, e);

	for (uint64_t i = 0; r == 0 && i < n; i++) {
		Elf64_Phdr p;

		memcpy(&p, c->data + off + i * sizeof p, sizeof p);
		if (p.p_type == PT_LOAD) {
			add_segment(c, &p);
		} else if (p.p_type == PT_NOTE && p.p_offset <= c->bytes) {
			uint64_t bytes = c->bytes - p.p_offset;
			struct cur notes;

			if (p.p_filesz < bytes)
				bytes = p.p_filesz;
			notes = cur_init(c->data + p.p_offset, (size_t)bytes);
			core_notes(c, &notes, &files);
		}
	}
	if (r == 0 && c->segments.len == 0)
		r = err_set(e, -EINVAL, "it has no memory in it");
	if (r == 0) {
		if (c->name == NULL)
			c->name = xstrdup("?");
		if (c->pid == 0 && c->threads.len > 0)
			c->pid = c->threads.data[0].tid;
		tidy_segments(c);
		name_files(c, &files);
		name_others(c);
		if (program != NULL)
			r = core_use_program(c, program, e);
		if (r == 0 && other_files)
			core_map_files(c);
		count_absent(c);
	}
	vec_done(&files);
	return r;
}

int
core_parse(const void *data, size_t bytes, const char *name, struct core **ret_core,
	   struct err *e)
{
	struct core *c = xcalloc(1, sizeof *c);
	int r;

	c->data = data;
	c->bytes = bytes;
	r = read_core(c, false, NULL, e);
	if (r < 0)
		r = err_wrap(e, r, "%s", name);
	else
		*ret_core = TAKE(c);
	core_close(c);
	return r;
}

int
core_open(const char *path, const char *program, struct core **ret_core, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), r = 0;
	struct core *c = NULL;
	struct stat st;
	void *at;

	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
		close(fd);
		return err_set(e, -EINVAL, "%s: not a core file", path);
	}
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		r = err_sys(e, -errno, "%s: cannot map", path);
	close(fd);
	if (r < 0)
		return r;
	c = xcalloc(1, sizeof *c);
	c->files = xcalloc(1, sizeof *c->files);
	c->files[c->nfiles++] = (struct core_mapped){at, (size_t)st.st_size};
	c->data = at;
	c->bytes = (size_t)st.st_size;
	r = read_core(c, true, program, e);
	if (r < 0)
		r = err_wrap(e, r, "%s", path);
	else
		*ret_core = TAKE(c);
	core_close(c);
	return r;
}

void
core_close(struct core *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; i < c->nfiles; i++)
		munmap(c->files[i].at, c->files[i].bytes);
	for (size_t i = 0; i < c->threads.len; i++)
		free(c->threads.data[i].words);
	free(c->files);
	free(c->name);
	free(c->exe);
	free(c->program);
	vec_done(&c->threads);
	vec_done(&c->segments);
	memmap_done(&c->map);
	free(c);
}

/* ---- bytes ---- */

/* The segment that holds `addr`, or the first behind it; NULL when there is none. */
static const struct core_segment *
segment_at(const struct core *c, uint64_t addr)
{
	size_t low = 0, high = c->segments.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->segments.data[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->segments.len ? &c->segments.data[low] : NULL;
}

const unsigned char *
core_look(const struct core *c, uint64_t addr, uint64_t bytes, uint64_t *ret_bytes)
{
	const struct core_segment *s = segment_at(c, addr);
	uint64_t off;

	(void)bytes;
	if (s == NULL || addr < s->start) {
		*ret_bytes = (s != NULL ? s->start : UINT64_MAX) - addr;
		return NULL;
	}
	off = addr - s->start;
	if (off < s->bytes) {
		*ret_bytes = s->bytes - off;
		return s->data + off;
	}
	if (off < s->file_bytes) {
		*ret_bytes = s->file_bytes - off;
		return s->file + off;
	}
	*ret_bytes = s->end - addr;
	return NULL;
}

bool
core_read(const struct core *c, uint64_t addr, void *to, size_t bytes)
{
	unsigned char *out = to;

	while (bytes > 0) {
		uint64_t n = 0;
		const unsigned char *p = core_look(c, addr, bytes, &n);

		if (p == NULL || n == 0)
			return false;
		n = n < bytes ? n : bytes;
		memcpy(out, p, (size_t)n);
		out += n;
		addr += n;
		bytes -= (size_t)n;
	}
	return true;
}
