/* SPDX-License-Identifier: MIT */
/* exec_check.c -- may libseep.so be preloaded into this program?
 *
 * LD_PRELOAD is inherited by everything a program starts. A 32-bit loader prints a
 * warning for a 64-bit library, musl's refuses to start, AddressSanitizer's runtime stops
 * the program when it is not the first library. Each would be a change of behaviour, so
 * exec.c asks here first. Programs that ignore LD_PRELOAD are told apart as well: static
 * ones, and those that gain rights. The file is foreign: every offset is checked against
 * what was read. */
#include "guest/life/exec_check.h"

#include "guest/lang/peek.h"
#include "guest/rt/rt_text.h"
#include "guest/rt/sys.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/* All buffers are small: this runs on whatever stack the program calls exec from. */
enum {
	SCRIPT_LEVELS = 6, /* the kernel follows five */
	PHDRS_MAX = 64,
	DYNS_MAX = 256,
	LINE_BYTES = 256, /* the kernel reads no more of a script either */
};

struct image {
	int fd;
	Elf64_Ehdr eh;
};

static bool
read_at(int fd, void *buf, size_t bytes, uint64_t off)
{
	return SYS4(SYS_pread64, fd, buf, bytes, off) == (long)bytes;
}

static bool
read_some(int fd, char *buf, size_t cap, uint64_t off)
{
	long n = SYS4(SYS_pread64, fd, buf, cap - 1, off);

	if (n <= 0)
		return false;
	buf[n] = '\0';
	return true;
}

static bool
begins(const char *s, const char *with)
{
	while (*with != '\0')
		if (*s++ != *with++)
			return false;
	return true;
}

static bool
contains(const char *s, const char *what)
{
	for (; *s != '\0'; s++)
		if (begins(s, what))
			return true;
	return false;
}

static bool
read_phdr(const struct image *im, unsigned i, Elf64_Phdr *ret)
{
	return i < im->eh.e_phnum && i < PHDRS_MAX &&
	       read_at(im->fd, ret, sizeof(*ret), im->eh.e_phoff + i * sizeof(*ret));
}

/* File offset of a virtual address, by the program headers; 0 when none covers it. */
static uint64_t
offset_of(const struct image *im, uint64_t vaddr)
{
	Elf64_Phdr p;

	for (unsigned i = 0; read_phdr(im, i, &p); i++)
		if (p.p_type == PT_LOAD && vaddr >= p.p_vaddr &&
		    vaddr - p.p_vaddr < p.p_filesz)
			return vaddr - p.p_vaddr + p.p_offset;
	return 0;
}

static bool
is_sanitizer(const char *needed)
{
	static const char *const runtimes[] = {"libasan.so",   "libtsan.so",
					       "liblsan.so",   "libmsan.so",
					       "libhwasan.so", "libclang_rt."};

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (begins(needed, runtimes[i]))
			return true;
	return false;
}

/* Does it need a sanitizer's runtime? */
static bool
sanitized(const struct image *im, const Elf64_Phdr *dynamic)
{
	uint64_t strtab = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < DYNS_MAX; i++) {
			Elf64_Dyn d;
			char name[32];

			if ((i + 1) * sizeof(d) > dynamic->p_filesz ||
			    !read_at(im->fd, &d, sizeof(d),
				     dynamic->p_offset + i * sizeof(d)) ||
			    d.d_tag == DT_NULL)
				break;
			if (d.d_tag == DT_STRTAB)
				strtab = offset_of(im, d.d_un.d_ptr);
			if (pass == 1 && d.d_tag == DT_NEEDED && strtab != 0 &&
			    read_some(im->fd, name, sizeof(name),
				      strtab + d.d_un.d_val) &&
			    is_sanitizer(name))
				return true;
		}
	}
	return false;
}

static enum rec_unseen_why
check_elf(struct image *im)
{
	bool is_static = true;
	unsigned i;
	char interp[256];
	Elf64_Phdr p;

#if defined(__x86_64__)
	const unsigned machine = EM_X86_64;
#else
	const unsigned machine = EM_AARCH64;
#endif
	if (im->eh.e_ident[EI_CLASS] != ELFCLASS64 || im->eh.e_machine != machine)
		return REC_UNSEEN_MACHINE;
	if (im->eh.e_phentsize != sizeof(Elf64_Phdr))
		return REC_UNSEEN_NONE;
	for (i = 0; read_phdr(im, i, &p); i++) {
		is_static &= p.p_type != PT_INTERP;
		if (p.p_type == PT_INTERP &&
		    read_some(im->fd, interp, sizeof(interp), p.p_offset) &&
		    !contains(interp, "ld-linux"))
			return REC_UNSEEN_LOADER;
		if (p.p_type == PT_DYNAMIC && sanitized(im, &p))
			return REC_UNSEEN_SANITIZER;
	}
	return is_static && i > 0 && i == im->eh.e_phnum ? REC_UNSEEN_STATIC
							 : REC_UNSEEN_NONE;
}

/* Does it gain rights by being executed? Then the loader ignores LD_PRELOAD. */
static bool
gains_rights(int fd)
{
	const unsigned group = S_ISGID | S_IXGRP;
	struct stat st;
	struct statfs fs;

	if (SYS2(SYS_fstat, fd, &st) < 0)
		return false;
	if (!((st.st_mode & S_ISUID) != 0 && st.st_uid != SYS0(SYS_getuid)) &&
	    !((st.st_mode & group) == group && st.st_gid != SYS0(SYS_getgid)) &&
	    !(SYS4(SYS_fgetxattr, fd, "security.capability", 0, 0) > 0 &&
	      SYS0(SYS_getuid) != 0))
		return false;
	return SYS1(SYS_prctl, PR_GET_NO_NEW_PRIVS) != 1 &&
	       !(SYS2(SYS_fstatfs, fd, &fs) == 0 && (fs.f_flags & ST_NOSUID) != 0);
}

/* The interpreter named after `#!`. */
static bool
interpreter(const char *line, char *ret)
{
	struct text t = text_on(ret, LINE_BYTES);
	const char *s = line + 2;

	while (*s == ' ' || *s == '\t')
		s++;
	while (*s != '\0' && *s != ' ' && *s != '\t' && *s != '\n')
		text_addn(&t, s++, 1);
	return t.len > 0 && !t.cut;
}

/* One file: 0 and `next` filled when it is a script. */
static enum rec_unseen_why
check_file(int fd, char *next, bool *ret_script)
{
	struct image im = {.fd = fd};
	char line[LINE_BYTES];
	enum rec_unseen_why why;

	if (read_at(fd, &im.eh, sizeof(im.eh), 0) &&
	    memcmp(im.eh.e_ident, ELFMAG, SELFMAG) == 0) {
		why = check_elf(&im);
		return why == REC_UNSEEN_NONE && gains_rights(fd) ? REC_UNSEEN_RIGHTS
								  : why;
	}
	*ret_script = read_some(fd, line, sizeof(line), 0) && begins(line, "#!") &&
		      interpreter(line, next);
	return REC_UNSEEN_NONE;
}

enum rec_unseen_why
exec_check(const char *path)
{
	char next[LINE_BYTES];

	for (int level = 0; level < SCRIPT_LEVELS; level++) {
		enum rec_unseen_why why;
		bool script = false;
		long fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);

		if (fd < 0)
			return REC_UNSEEN_NONE;
		why = check_file((int)fd, next, &script);
		sys_close((int)fd);
		if (!script)
			return why;
		path = next;
	}
	return REC_UNSEEN_NONE;
}

bool
exec_refuses(enum rec_unseen_why why)
{
	return why == REC_UNSEEN_MACHINE || why == REC_UNSEEN_LOADER ||
	       why == REC_UNSEEN_SANITIZER || why == REC_UNSEEN_SEALED;
}

/* ---- what it is started with ---- */

bool
exec_can_read(char *const *list)
{
	struct peek k = {0};

	for (; list != NULL && peek_may(&k, (uintptr_t)list, sizeof(*list)); list++) {
		if (*list == NULL)
			return true;
		if (!peek_may_text(&k, (uintptr_t)*list))
			return false;
	}
	return list == NULL;
}
