/* SPDX-License-Identifier: MIT */
/* elfscan.c -- what an ELF file is: inspect_elf of inspect.h.
 *
 * Read with pread in small pieces, each range checked against the size the file had when
 * it was opened; counts are bounded before they are believed. Program headers and the
 * dynamic section decide whether it can be recorded, as they do for the kernel and the
 * loader. Section headers only add what they can: a file without them, or with nonsense
 * in them, is none the worse. */
#include "tool/target/proc/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/hiding.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/x.h"

#if defined(__x86_64__)
enum { OWN_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = EM_AARCH64 };
#else
#	error "seep does not know this machine"
#endif

enum {
	SHDRS_MAX = 4096,
	DYNAMIC_MAX = 1024,
	NEEDED_MAX = 512,
	HITS_MAX = 64,
	NAMES_BYTES_MAX = 64 << 20, /* larger string tables are not searched */
	NAMES_AT_ONCE = 64 << 10,
	NAMES_OVERLAP = 32, /* longer than any name that is looked for */
	SYMS_AT_ONCE = 2048,
};

struct elf {
	int fd;
	uint64_t size;
	struct elfview v;
	struct inspect_elf *out;
	/* runtimes that it may be by its name: a symbol has to confirm it */
	uint32_t named;
};

static bool
elf_read(const struct elf *f, uint64_t off, void *to, uint64_t n)
{
	return off <= f->size && n <= f->size - off && elfview_of_fd(&f->fd, off, to, n);
}

/* File offset of a virtual address that the file backs, or UINT64_MAX. */
static uint64_t
elf_offset(const struct elf *f, uint64_t vaddr)
{
	for (unsigned i = 0; i < f->v.nsegments; i++) {
		const Elf64_Phdr *p = &f->v.segments[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr &&
		    vaddr - p->p_vaddr < p->p_filesz)
			return vaddr - p->p_vaddr + p->p_offset;
	}
	return UINT64_MAX;
}

/* ---- the dynamic section ---- */

/* Copies the string at `off` of a table at strtab (file offset) into a small buffer. */
static bool
dyn_string(const struct elf *f, uint64_t strtab, uint64_t strsz, uint64_t off, char *text,
	   size_t size)
{
	uint64_t n;

	if (strtab == UINT64_MAX || off >= strsz)
		return false;
	n = strsz - off < size - 1 ? strsz - off : size - 1;
	if (!elf_read(f, strtab + off, text, n))
		return false;
	text[n] = '\0';
	return true;
}

static void
scan_needed(struct elf *f, const char *name)
{
	static const char *const sanitizers[] = {"libasan.so", "libtsan.so", "libmsan.so",
						 "liblsan.so", "libhwasan.so"};

	for (size_t i = 0; i < ARRAY_LEN(sanitizers); i++) {
		if (strncmp(name, sanitizers[i], strlen(sanitizers[i])) == 0)
			f->out->traits |= INSPECT_SANITIZER;
	}
	f->out->traits |= inspect_module_traits(name);
}

/* Looks at DT_NEEDED and DT_SONAME. True when this is the loader itself, which has no
 * PT_INTERP and preloads all the same. */
static bool
scan_dynamic(struct elf *f, const Elf64_Phdr *p)
{
	uint64_t n = p->p_filesz / sizeof(Elf64_Dyn), strtab = UINT64_MAX, strsz = 0;
	uint64_t needed[NEEDED_MAX], soname = UINT64_MAX;
	unsigned nneeded = 0;
	char name[256];
	bool is_loader = false;
	Elf64_Dyn *d;

	if (n > DYNAMIC_MAX)
		n = DYNAMIC_MAX;
	d = xcalloc(n, sizeof *d);
	if (!elf_read(f, p->p_offset, d, n * sizeof *d))
		n = 0;
	for (uint64_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_STRTAB)
			strtab = elf_offset(f, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRSZ)
			strsz = d[i].d_un.d_val;
		else if (d[i].d_tag == DT_SONAME)
			soname = d[i].d_un.d_val;
		else if (d[i].d_tag == DT_NEEDED && nneeded < NEEDED_MAX)
			needed[nneeded++] = d[i].d_un.d_val;
	}
	for (unsigned i = 0; i < nneeded; i++) {
		if (dyn_string(f, strtab, strsz, needed[i], name, sizeof name))
			scan_needed(f, name);
	}
	if (dyn_string(f, strtab, strsz, soname, name, sizeof name))
		is_loader = strncmp(name, "ld-linux", 8) == 0;
	free(d);
	return is_loader;
}

/* ---- symbols ---- */

struct symbol_row {
	const char *name;
	uint32_t trait;
	bool undefined_too; /* an import of it tells as much */
	bool global_only;
};

static const struct symbol_row symbol_rows[] = {
	{"malloc", INSPECT_OWN_MALLOC, false, true},
	{"je_malloc", INSPECT_JEMALLOC, false, false},
	{"_rjem_malloc", INSPECT_JEMALLOC, false, false},
	{"tc_malloc", INSPECT_TCMALLOC, false, false},
	{"mi_malloc", INSPECT_MIMALLOC, false, false},
	{"__asan_init", INSPECT_SANITIZER, true, false},
	{"__tsan_init", INSPECT_SANITIZER, true, false},
	{"__msan_init", INSPECT_SANITIZER, true, false},
	{"__lsan_init", INSPECT_SANITIZER, true, false},
	{"__hwasan_init", INSPECT_SANITIZER, true, false},
};

/* Of runtimes, in programs that have the name of one. */
static const struct symbol_row runtime_rows[] = {
	{"napi_create_object", INSPECT_RUNTIME(RUNTIME_V8), false, false},
	{"PyObject_Init", INSPECT_RUNTIME(RUNTIME_PYTHON), true, false},
	{"Py_BytesMain", INSPECT_RUNTIME(RUNTIME_PYTHON), true, false},
	{"php_module_startup", INSPECT_RUNTIME(RUNTIME_PHP), true, false},
	{"ruby_run_node", INSPECT_RUNTIME(RUNTIME_RUBY), true, false},
	{"enif_alloc", INSPECT_RUNTIME(RUNTIME_BEAM), false, false},
	{"luaJIT_setmode", INSPECT_RUNTIME(RUNTIME_LUAJIT), true, false},
	{"luaL_newstate", INSPECT_RUNTIME(RUNTIME_LUA), true, false},
	{"perl_alloc", INSPECT_RUNTIME(RUNTIME_PERL), true, false},
};

/* Places in a string table at which one of the names above begins. Linkers store a name
 * that is the end of another one only once, so every fitting end counts. */
struct hits {
	uint64_t off[HITS_MAX];
	const struct symbol_row *row[HITS_MAX];
	unsigned n;
};

/* `names` is a piece of the table, from its byte `base` on; what ends within the first
 * `seen` bytes was found in the piece before. */
static void
find_endings(const char *names, uint64_t bytes, uint64_t base, uint64_t seen,
	     const char *ending, const struct symbol_row *rows, size_t nrows,
	     struct hits *h)
{
	size_t len = strlen(ending) + 1; /* with its NUL */
	const char *at = names;

	while ((at = memmem(at, bytes - (uint64_t)(at - names), ending, len)) != NULL) {
		uint64_t end = (uint64_t)(at - names) + len - 1;

		for (size_t i = 0; i < nrows && end >= seen; i++) {
			size_t n = strlen(rows[i].name);

			if (n <= end && h->n < HITS_MAX &&
			    memcmp(names + end - n, rows[i].name, n) == 0) {
				h->off[h->n] = base + end - n;
				h->row[h->n++] = &rows[i];
			}
		}
		at++;
	}
}

/* Looks through a string table in pieces: one large buffer would cost more to get than to
 * search. */
static void
find_names(const struct elf *f, const Elf64_Shdr *strings, struct hits *h)
{
	char *names = xmalloc(NAMES_AT_ONCE);
	uint64_t base = 0, seen = 0, n;

	for (; base + seen < strings->sh_size; base += n - seen) {
		n = strings->sh_size - base;
		if (n > NAMES_AT_ONCE)
			n = NAMES_AT_ONCE;
		if (!elf_read(f, strings->sh_offset + base, names, n))
			break;
		find_endings(names, n, base, seen, "malloc", symbol_rows,
			     ARRAY_LEN(symbol_rows), h);
		find_endings(names, n, base, seen, "san_init", symbol_rows,
			     ARRAY_LEN(symbol_rows), h);
		for (size_t i = 0; i < ARRAY_LEN(runtime_rows); i++) {
			if ((f->named & runtime_rows[i].trait) != 0)
				find_endings(names, n, base, seen, runtime_rows[i].name,
					     &runtime_rows[i], 1, h);
		}
		seen = NAMES_OVERLAP;
	}
	free(names);
}

static void
match_symbol(struct elf *f, const Elf64_Sym *s, const struct hits *h)
{
	for (unsigned i = 0; i < h->n; i++) {
		if (s->st_name != h->off[i])
			continue;
		if (s->st_shndx == SHN_UNDEF && !h->row[i]->undefined_too)
			continue;
		if (h->row[i]->global_only && ELF64_ST_BIND(s->st_info) == STB_LOCAL)
			continue;
		f->out->traits |= h->row[i]->trait;
	}
}

static void
scan_symbols(struct elf *f, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	struct hits h = {.n = 0};
	Elf64_Sym *syms;
	uint64_t left = table->sh_size / sizeof *syms, off = table->sh_offset;

	if (strings->sh_size == 0 || strings->sh_size > NAMES_BYTES_MAX ||
	    strings->sh_size > f->size || table->sh_size > f->size)
		return;
	find_names(f, strings, &h);
	if (h.n == 0)
		return;
	syms = xcalloc(SYMS_AT_ONCE, sizeof *syms);
	while (left > 0) {
		uint64_t n = left < SYMS_AT_ONCE ? left : SYMS_AT_ONCE;

		if (!elf_read(f, off, syms, n * sizeof *syms))
			break;
		for (uint64_t i = 0; i < n; i++)
			match_symbol(f, &syms[i], &h);
		off += n * sizeof *syms;
		left -= n;
	}
	free(syms);
}

static void
scan_sections(struct elf *f)
{
	unsigned n = 0;
	Elf64_Shdr *sh = elfview_sections(&f->v, SHDRS_MAX, &n);
	char name[24];

	for (unsigned i = 0; i < n; i++) {
		const Elf64_Shdr *s = &sh[i];

		if (f->v.head.e_shstrndx < n &&
		    dyn_string(f, sh[f->v.head.e_shstrndx].sh_offset,
			       sh[f->v.head.e_shstrndx].sh_size, s->sh_name, name,
			       sizeof name) &&
		    (strcmp(name, ".go.buildinfo") == 0 ||
		     strcmp(name, ".note.go.buildid") == 0))
			f->out->traits |= INSPECT_GO;
		if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) &&
		    s->sh_link < n && s->sh_entsize == sizeof(Elf64_Sym))
			scan_symbols(f, s, &sh[s->sh_link]);
	}
	free(sh);
}

/* ---- headers ---- */

static int
scan_program_headers(struct elf *f, const char *path, struct err *e)
{
	const Elf64_Phdr *dynamic = NULL;
	bool loader = false;

	for (unsigned i = 0; i < f->v.nsegments; i++) {
		const Elf64_Phdr *p = &f->v.segments[i];

		if (p->p_type == PT_LOAD &&
		    (p->p_offset > f->size || p->p_filesz > f->size - p->p_offset))
			return err_set(e, -ENOEXEC,
				       "%s: is cut off: %llu bytes are too few", path,
				       (unsigned long long)f->size);
		if (p->p_type == PT_DYNAMIC)
			dynamic = p;
		if (p->p_type == PT_INTERP) {
			uint64_t n = p->p_filesz < sizeof f->out->interp
					     ? p->p_filesz
					     : sizeof f->out->interp - 1;

			if (n == 0 || !elf_read(f, p->p_offset, f->out->interp, n))
				return err_set(e, -ENOEXEC,
					       "%s: its loader's name is damaged", path);
			f->out->interp[n] = '\0';
		}
	}
	if (dynamic != NULL)
		loader = scan_dynamic(f, dynamic);
	if (f->out->interp[0] == '\0' && !loader)
		f->out->traits |= INSPECT_STATIC;
	if (strstr(f->out->interp, "/ld-musl-") != NULL)
		f->out->traits |= INSPECT_MUSL;
	return 0;
}

static int
scan_header(struct elf *f, const char *path, struct err *e)
{
	const Elf64_Ehdr *h = &f->v.head;

	if (!elf_read(f, 0, f->v.head.e_ident, 20) || !elfview_is_elf(h->e_ident))
		return err_set(e, -ENOEXEC, "%s: not an ELF file", path);
	/* Up to here both classes look the same, e_type and e_machine included. */
	if (h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    (h->e_machine != OWN_MACHINE && h->e_ident[EI_CLASS] == ELFCLASS64)) {
		f->out->traits |= INSPECT_OTHER_MACHINE;
		return 1;
	}
	if (h->e_ident[EI_CLASS] != ELFCLASS64) {
		f->out->traits |= INSPECT_CLASS32;
		return 1;
	}
	if (!elf_read(f, 0, &f->v.head, sizeof f->v.head))
		return err_set(e, -ENOEXEC, "%s: is cut off", path);
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return err_set(e, -ENOEXEC, "%s: an ELF file, but not a program", path);
	if (h->e_phnum == 0 || h->e_phnum > ELFVIEW_SEGMENTS_MAX ||
	    h->e_phentsize != sizeof *f->v.segments)
		return err_set(e, -ENOEXEC, "%s: its program headers are damaged", path);
	return 0;
}

/* By the name that it was asked for, which may be a link, and by its own. */
static uint32_t
named_traits(int fd, const char *path)
{
	char link[64], name[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, name, sizeof name - 1);
	name[n > 0 ? n : 0] = '\0';
	return inspect_program_traits(path) | inspect_program_traits(name);
}

int
inspect_elf_fd(int fd, const char *path, struct inspect_elf *ret_elf, struct err *e)
{
	struct inspect_elf out = {0};
	struct elf f = {.fd = fd,
			.v = {.read = elfview_of_fd, .ctx = &fd},
			.out = &out,
			.named = named_traits(fd, path)};
	struct stat st;
	int r;

	if (fstat(fd, &st) < 0)
		return err_sys(e, -errno, "%s: cannot examine it", path);
	f.size = (uint64_t)st.st_size;
	r = scan_header(&f, path, e);
	if (r == 0) {
		f.v.nsegments = f.v.head.e_phnum;
		f.v.segments = xcalloc(f.v.nsegments, sizeof *f.v.segments);
		if (!elf_read(&f, f.v.head.e_phoff, f.v.segments,
			      f.v.nsegments * sizeof *f.v.segments))
			r = err_set(e, -ENOEXEC, "%s: is cut off in its program headers",
				    path);
		else
			r = scan_program_headers(&f, path, e);
		if (r == 0)
			scan_sections(&f);
		free(f.v.segments);
	}
	if (r < 0)
		return r;
	*ret_elf = out;
	return 0;
}

int
inspect_elf(const char *path, struct inspect_elf *ret_elf, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int r;

	if (fd < 0)
		return err_sys(e, -errno, "%s", path);
	r = inspect_elf_fd(fd, path, ret_elf, e);
	close(fd);
	return r;
}
