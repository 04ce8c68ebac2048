/* SPDX-License-Identifier: MIT */
/* sym_elf.c -- opening ELF files and asking their headers.
 *
 * libelf maps the file, so that a debug file of hundreds of megabytes costs only the
 * pages that are looked at. Only regular files are opened: a path out of a recording may
 * name anything. */
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tool/sym/sym_priv.h"

/* More segments than this is no program but a broken header. */
#define SYM_MOST_SEGMENTS 1024
#define SYM_OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* Opens `path` below `root` as if that were "/". */
static int
sym_open_in(const char *root, const char *path)
{
	struct open_how how = {.flags = SYM_OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};
	int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd, saved;

	if (dir < 0)
		return -1;
	fd = (int)syscall(__NR_openat2, dir, path, &how, sizeof how);
	saved = errno;
	close(dir);
	errno = saved;
	return fd;
}

static int
sym_open_path(const char *root, const char *path)
{
	size_t n = root != NULL ? strlen(root) : 0;
	int fd;

	if (n > 0 && strncmp(path, root, n) == 0 && path[n] == '/') {
		fd = sym_open_in(root, path + n + 1);
		/* before Linux 5.6, or under a filter that knows of no such call */
		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
	}
	return open(path, SYM_OPEN_FLAGS);
}

static int
sym_file_begin(struct sym_file *f, const char *path, struct err *e)
{
	struct stat st;

	if (fstat(f->fd, &st) != 0)
		return err_sys(e, -errno, "%s: cannot examine it", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, -ENOEXEC, "%s: not a regular file", path);
	f->mtime = st.st_mtim;
	f->uid = st.st_uid;
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (f->elf == NULL)
		return err_set(e, -ENOEXEC, "%s: cannot be read as ELF: %s", path,
			       elf_errmsg(-1));
	if (elf_kind(f->elf) != ELF_K_ELF)
		return err_set(e, -ENOEXEC, "%s: not an ELF file", path);
	return 0;
}

int
sym_file_open_fd(int fd, const char *path, struct sym_file *ret, struct err *e)
{
	struct sym_file f = {.fd = fd};
	int r = sym_file_begin(&f, path, e);

	if (r < 0) {
		sym_file_close(&f);
		return r;
	}
	f.path = xstrdup(path);
	*ret = f;
	return 0;
}

int
sym_file_open(const char *root, const char *path, struct sym_file *ret, struct err *e)
{
	int fd = sym_open_path(root, path);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return err_set(e, -ENOENT, "%s: file is gone", path);
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", path);
	return sym_file_open_fd(fd, path, ret, e);
}

int
sym_file_open_image(struct buf *bytes, struct sym_file *ret)
{
	struct sym_file f = {.fd = -1, .image = *bytes};

	*bytes = (struct buf){0};
	elf_version(EV_CURRENT);
	if (f.image.len > 0)
		f.elf = elf_memory(f.image.data, f.image.len);
	if (f.elf == NULL || elf_kind(f.elf) != ELF_K_ELF) {
		sym_file_close(&f);
		return -ENOEXEC;
	}
	*ret = f;
	return 0;
}

void
sym_file_close(struct sym_file *f)
{
	if (f->elf != NULL)
		elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	buf_done(&f->image);
	*f = (struct sym_file){.fd = -1};
}

static Elf_Scn *
sym_file_scn(const struct sym_file *f, const char *name, GElf_Shdr *ret_shdr)
{
	Elf_Scn *scn = NULL;
	const char *found;
	size_t names;

	if (f->elf == NULL || elf_getshdrstrndx(f->elf, &names) != 0)
		return NULL;
	while ((scn = elf_nextscn(f->elf, scn)) != NULL) {
		if (gelf_getshdr(scn, ret_shdr) == NULL)
			continue;
		found = elf_strptr(f->elf, names, ret_shdr->sh_name);
		if (found != NULL && strcmp(found, name) == 0)
			return scn;
	}
	return NULL;
}

Elf_Data *
sym_file_section(const struct sym_file *f, const char *name)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = sym_file_scn(f, name, &shdr);
	Elf_Data *data;

	if (scn == NULL || shdr.sh_type == SHT_NOBITS)
		return NULL;
	data = elf_rawdata(scn, NULL);
	return data != NULL && data->d_buf != NULL && data->d_size > 0 ? data : NULL;
}

bool
sym_file_has_section(const struct sym_file *f, const char *name)
{
	GElf_Shdr shdr;

	return sym_file_scn(f, name, &shdr) != NULL && shdr.sh_type != SHT_NOBITS;
}

bool
sym_file_has_symtab(const struct sym_file *f)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = NULL;

	if (f->elf == NULL)
		return false;
	while ((scn = elf_nextscn(f->elf, scn)) != NULL)
		if (gelf_getshdr(scn, &shdr) != NULL && shdr.sh_type == SHT_SYMTAB)
			return true;
	return false;
}

bool
sym_file_has_dwarf(const struct sym_file *f)
{
	return sym_file_has_section(f, ".debug_info") ||
	       sym_file_has_section(f, ".zdebug_info");
}

size_t
sym_file_build_id(const struct sym_file *f, const unsigned char **ret_id)
{
	const void *id = NULL;
	ssize_t n = f->elf != NULL ? dwelf_elf_gnu_build_id(f->elf, &id) : 0;

	if (n <= 0 || n > SYM_BUILD_ID_MAX)
		return 0;
	*ret_id = id;
	return (size_t)n;
}

void
sym_code_load(struct sym *s)
{
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(s->file.elf, &n) != 0 || n > SYM_MOST_SEGMENTS)
		return;
	for (size_t i = 0; i < n; i++) {
		if (gelf_getphdr(s->file.elf, (int)i, &p) == NULL)
			return;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || p.p_memsz == 0 ||
		    p.p_vaddr > UINT64_MAX - p.p_memsz)
			continue;
		if (s->code.len == 0 || p.p_vaddr < s->base)
			s->base = p.p_vaddr;
		vec_push(&s->code,
			 (struct sym_range){p.p_vaddr, p.p_vaddr + p.p_memsz, 0});
	}
}

bool
sym_is_code(const struct sym *s, uint64_t addr)
{
	for (size_t i = 0; i < s->code.len; i++)
		if (addr >= s->code.data[i].lo && addr < s->code.data[i].hi)
			return true;
	return s->code.len == 0;
}

bool
sym_range_add(const struct sym *s, struct sym_ranges *r, uint64_t lo, uint64_t hi,
	      uint32_t id)
{
	if (lo >= hi || !sym_is_code(s, lo) || lo - s->base >= SYM_FARTHEST)
		return false;
	hi -= s->base;
	vec_push(r, (struct sym_range){lo - s->base,
				       hi < SYM_FARTHEST ? hi : SYM_FARTHEST, id});
	return true;
}
