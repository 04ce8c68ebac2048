/* SPDX-License-Identifier: MIT */
/* objects.c -- see objects.h.
 *
 * The process may be hostile, and we may be root: every number that comes out of its
 * memory is bounded before it is used, lists are followed for so many steps only, files
 * are opened through its mappings with device and inode compared, and read by elfsyms.c,
 * which believes nothing. */
#include "tool/target/proc/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "tool/target/proc/elfsyms.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/buf.h"
#include "tool/util/elf/elfview.h"
#include "tool/util/file.h"

enum {
	DYNAMIC_MAX = 512,
	LINKS_MAX = 4096,
	RELOCS_MAX = 4 << 20,
	IMAGE_MAX = 64 << 10, /* of the vDSO */
	NAME_MAX_BYTES = 64,
	GAP_MARGIN = 1 << 20, /* left beside what may grow */
	SPARE_CODE = 1024,    /* bytes at the end of code that are not ours to take */
};

/* ---- mappings ---- */

struct mapped {
	const struct tracee *t;
	uint64_t start;
};

static bool
read_mapped(const void *ctx, uint64_t off, void *to, size_t n)
{
	const struct mapped *m = ctx;

	return tracee_read(m->t, m->start + off, to, n, NULL) == 0;
}

/* Program headers of what is mapped at `o->start`. */
static int
read_headers(const struct tracee *t, struct object *o)
{
	const struct mapped at = {t, o->start};
	const Elf64_Phdr *p;
	struct elfview v;
	bool loads;

	if (!elfview_open(&v, read_mapped, &at))
		return -ENOEXEC;
	p = elfview_segment(&v, PT_LOAD, 0);
	loads = p != NULL;
	if (loads)
		o->bias = o->start - ALIGN_DOWN(p->p_vaddr, UINT64_C(4096));
	for (unsigned i = 0; (p = elfview_segment(&v, PT_LOAD, i)) != NULL; i++) {
		uint64_t end = o->bias + p->p_vaddr + p->p_memsz;

		if (end > o->end && end - o->start < 1u << 31)
			o->end = end;
		if (o->nloads < ARRAY_LEN(o->loads))
			o->loads[o->nloads++] =
				(struct tracee_span){o->bias + p->p_vaddr, end};
	}
	if ((p = elfview_segment(&v, PT_GNU_EH_FRAME, 0)) != NULL)
		o->eh_hdr = o->bias + p->p_vaddr;
	if ((p = elfview_segment(&v, PT_DYNAMIC, 0)) != NULL)
		o->dynamic = o->bias + p->p_vaddr;
	o->interpreted = elfview_segment(&v, PT_INTERP, 0) != NULL;
	elfview_close(&v);
	return loads ? 0 : -ENOEXEC;
}

/* Whether the program can know of any of these bytes. */
static bool
is_loaded(const struct object *o, uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < o->nloads; i++) {
		if (at < o->loads[i].end && at + bytes > o->loads[i].start)
			return true;
	}
	return o->nloads == ARRAY_LEN(o->loads);
}

/* The end of the last page of constants is usually not used, nor that of the code: there,
 * what lies in front of the place where system calls are made from (tracee_call.c). */
static void
find_spare(const struct tracee *t, struct object *o, const struct procfs_map *m)
{
	static const uint64_t zeros[(SPARE_CODE + 8) / 8];
	uint64_t words[(SPARE_CODE + 8) / 8];
	bool code = strncmp(m->perms, "r-xp", 4) == 0;
	size_t n = code ? sizeof words : sizeof *words;
	uint64_t at = m->end - n;

	if ((!code && strncmp(m->perms, "r--p", 4) != 0) || (code && o->spare != 0) ||
	    at >= o->end || is_loaded(o, at, sizeof *words) ||
	    tracee_read(t, at, words, n, NULL) < 0 || memcmp(words, zeros, n) != 0)
		return;
	o->spare = at;
}

static void
add_row(const struct tracee *t, struct objects *os, const struct procfs_map *m)
{
	struct object o = {
		.start = m->start,
		.end = m->end,
		.map_start = m->start,
		.map_end = m->end,
		.inode = m->inode,
		.dev_major = m->dev_major,
		.dev_minor = m->dev_minor,
		.order = -1,
	};
	struct object *last = os->all.len > 0 ? vec_last(&os->all) : NULL;

	if (m->path[0] != '/' && strcmp(m->path, "[vdso]") != 0)
		return;
	if (last != NULL && last->inode == m->inode && m->inode != 0 &&
	    strcmp(last->path, m->path) == 0 && m->offset != 0) {
		if (m->end > last->end)
			last->end = m->end;
		find_spare(t, last, m);
		return;
	}
	if (m->offset != 0 || m->perms[0] != 'r' || read_headers(t, &o) < 0)
		return;
	o.path = xstrdup(m->path);
	find_spare(t, &o, m);
	vec_push(&os->all, o);
}

/* Where something may be put: not where the heap or a stack will want to grow. */
static void
add_gap(struct objects *os, uint64_t start, uint64_t end, bool heap_below,
	bool stack_above)
{
	if (heap_below)
		start += (end - start) / 2;
	if (stack_above)
		end -= (end - start) / 2;
	if (end > start + 2 * GAP_MARGIN)
		vec_push(&os->gaps,
			 (struct tracee_span){ALIGN_UP(start, UINT64_C(65536)),
					      ALIGN_DOWN(end, UINT64_C(65536))});
}

static int
read_maps(const struct tracee *t, struct objects *os, struct err *e)
{
	struct procfs_maps maps;
	struct procfs_map m;
	uint64_t end = 65536; /* mmap_min_addr */
	bool heap = false;
	int r = procfs_maps_open(&maps, t->pid, e);

	while (procfs_maps_next(&maps, &m)) {
		bool stack = strcmp(m.path, "[stack]") == 0;

		if (m.start >= UINT64_C(1) << 47) /* the kernel's */
			break;
		if (m.start > end)
			add_gap(os, end, m.start, heap, stack);
		end = m.end;
		heap = strcmp(m.path, "[heap]") == 0;
		if (stack)
			os->stack_end = m.end;
		add_row(t, os, &m);
	}
	procfs_maps_close(&maps);
	return r;
}

/* ---- the loader's list ---- */

static struct object *
find_at(struct objects *os, uint64_t addr)
{
	for (size_t i = 0; i < os->all.len; i++) {
		if (addr >= os->all.data[i].start && addr < os->all.data[i].end)
			return &os->all.data[i];
	}
	return NULL;
}

static uint64_t
dynamic_value(const struct tracee *t, const struct object *o, int64_t tag)
{
	Elf64_Dyn d;

	for (unsigned i = 0; o->dynamic != 0 && i < DYNAMIC_MAX; i++) {
		if (tracee_read(t, o->dynamic + i * sizeof d, &d, sizeof d, NULL) < 0 ||
		    d.d_tag == DT_NULL)
			return 0;
		if (d.d_tag == tag)
			return d.d_un.d_val;
	}
	return 0;
}

/* The order in which the loader looks symbols up: that of its list. */
static void
read_links(const struct tracee *t, struct objects *os, const struct object *program)
{
	uint64_t at = dynamic_value(t, program, DT_DEBUG);
	struct r_debug debug;
	struct link_map link;
	int order = 0;

	if (at == 0 || tracee_read(t, at, &debug, sizeof debug, NULL) < 0)
		return;
	os->loader_state = at + offsetof(struct r_debug, r_state);
	at = (uint64_t)(uintptr_t)debug.r_map;
	for (int i = 0; at != 0 && i < LINKS_MAX; i++) {
		struct object *o;

		if (tracee_read(t, at, &link, sizeof link, NULL) < 0)
			return;
		o = find_at(os, (uint64_t)(uintptr_t)link.l_ld);
		if (o != NULL && o->order < 0)
			o->order = order++;
		at = (uint64_t)(uintptr_t)link.l_next;
	}
}

/* The auxiliary vector knows where the program's headers are. */
static struct object *
find_program(const struct tracee *t, struct objects *os)
{
	struct buf b = {0};
	struct object *o = NULL;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/auxv", file_proc_task(t->pid));
	if (buf_read_file(&b, path, NULL) == 0) {
		for (size_t i = 0; i + 16 <= b.len; i += 16) {
			uint64_t pair[2];

			memcpy(pair, b.data + i, sizeof pair);
			if (pair[0] == AT_PHDR)
				o = find_at(os, pair[1]);
		}
	}
	buf_done(&b);
	return o;
}

int
objects_read(const struct tracee *t, struct objects *ret, struct err *e)
{
	struct objects os = {0};
	struct object *program;
	int r = read_maps(t, &os, e);

	if (r == 0 && (program = find_program(t, &os)) != NULL) {
		program->program = true;
		read_links(t, &os, program);
		if (program->order < 0)
			program->order = 0;
	} else if (r == 0) {
		r = err_set(e, -ENOEXEC, "%d: no 64-bit ELF program found in its memory",
			    t->pid);
	}
	if (r < 0)
		objects_done(&os);
	else
		*ret = os;
	return r;
}

void
objects_done(struct objects *o)
{
	for (size_t i = 0; i < o->all.len; i++)
		free(o->all.data[i].path);
	vec_done(&o->all);
	vec_done(&o->gaps);
}

/* ---- symbols ---- */

/* The file behind an object's mapping; map_files cannot be fooled, the path is
 * compared. */
static int
open_file(const struct tracee *t, const struct object *o, struct err *e)
{
	char path[4200];
	struct stat st;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx",
		 file_proc_task(t->pid), (unsigned long long)o->map_start,
		 (unsigned long long)o->map_end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0) {
		snprintf(path, sizeof path, "/proc/%d/root%s", file_proc_task(t->pid),
			 o->path);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	if (fd < 0)
		return err_sys(e, -errno, "%s: cannot open", o->path);
	if (fstat(fd, &st) < 0 || st.st_ino != o->inode ||
	    makedev(o->dev_major, o->dev_minor) != st.st_dev) {
		/* Overlays show other numbers in maps than the file has: name and size
		 * must do. */
		if (!S_ISREG(st.st_mode) || strstr(o->path, " (deleted)") != NULL) {
			close(fd);
			return err_set(e, -ESTALE, "%s: replaced on disk since", o->path);
		}
	}
	return fd;
}

struct symbol_visit {
	const struct object *o;
	object_visitor *each;
	void *ctx;
};

static void
see_symbol(void *ctx, const struct elfsyms_symbol *y)
{
	const struct symbol_visit *v = ctx;
	struct object_symbol s = {
		.name = y->name,
		.addr = v->o->bias + y->value,
		.bytes = y->bytes,
		.exported = y->dynamic && y->bind != STB_LOCAL,
		.function = y->type == STT_FUNC,
	};

	if (y->section == SHN_UNDEF || y->section == SHN_ABS ||
	    (y->type != STT_FUNC && y->type != STT_OBJECT && y->type != STT_NOTYPE))
		return;
	if (s.addr >= v->o->start && s.addr < v->o->end)
		v->each(v->ctx, &s);
}

int
object_symbols(const struct tracee *t, const struct object *o, object_visitor *each,
	       void *ctx, struct err *e)
{
	struct symbol_visit v = {o, each, ctx};
	struct elfsyms_file f = {.fd = -1};
	char *image = NULL;
	bool is_elf;

	if (o->path[0] == '[') {
		size_t n = o->end - o->start < IMAGE_MAX ? o->end - o->start : IMAGE_MAX;

		image = xcalloc(1, n);
		f.data = image;
		f.bytes = tracee_read_some(t, o->start, image, n);
	} else {
		int fd = open_file(t, o, e);

		if (fd < 0)
			return fd;
		f = elfsyms_file(fd);
	}
	is_elf = elfsyms_each(&f, see_symbol, &v);
	free(image);
	if (f.fd >= 0)
		close(f.fd);
	return is_elf ? 0 : err_set(e, -ENOEXEC, "%s: not an ELF file", o->path);
}

uint64_t
object_eh_frame(const struct tracee *t, const struct object *o)
{
	int fd = open_file(t, o, NULL);
	struct elfsyms_file f = {.fd = fd};
	uint64_t at;

	if (fd < 0)
		return 0;
	f = elfsyms_file(fd);
	at = elfsyms_section(&f, ".eh_frame") + o->bias;
	close(fd);
	return at > o->start && at < o->end ? at : 0;
}

/* ---- bindings ---- */

struct tables {
	uint64_t sym, str, str_bytes;
	uint64_t rela[2], rela_bytes[2];
};

/* libc has made addresses of them, other loaders leave offsets. */
static uint64_t
as_address(const struct object *o, uint64_t value)
{
	return value >= o->start && value < o->end ? value : value + o->bias;
}

static void
visit_relocs(const struct tracee *t, const struct object *o, const struct tables *tb,
	     unsigned which, object_visitor *each, void *ctx)
{
	uint64_t n = tb->rela_bytes[which] / sizeof(Elf64_Rela);
	Elf64_Rela *r;

	if (tb->rela[which] == 0 || n == 0 || n > RELOCS_MAX)
		return;
	r = xcalloc(n, sizeof *r);
	if (tracee_read(t, tb->rela[which], r, n * sizeof *r, NULL) < 0)
		n = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t type = ELF64_R_TYPE(r[i].r_info),
			 index = ELF64_R_SYM(r[i].r_info);
		char name[NAME_MAX_BYTES] = "";
		struct object_symbol s = {.name = name, .bytes = 8};
		Elf64_Sym sym;

		if (index == 0 ||
		    (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		     (type != R_X86_64_64 || r[i].r_addend != 0)) ||
		    tracee_read(t, tb->sym + index * sizeof sym, &sym, sizeof sym, NULL) <
			    0 ||
		    sym.st_name >= tb->str_bytes)
			continue;
		tracee_read_some(t, tb->str + sym.st_name, name, sizeof name - 1);
		name[sizeof name - 1] = '\0';
		s.addr = o->bias + r[i].r_offset;
		s.exported = type != R_X86_64_JUMP_SLOT; /* not only called through */
		if (s.addr >= o->start && s.addr + 8 <= o->end && s.addr % 8 == 0)
			each(ctx, &s);
	}
	free(r);
}

int
object_bindings(const struct tracee *t, const struct object *o, object_visitor *each,
		void *ctx, struct err *e)
{
	struct tables tb = {
		.sym = dynamic_value(t, o, DT_SYMTAB),
		.str = dynamic_value(t, o, DT_STRTAB),
		.str_bytes = dynamic_value(t, o, DT_STRSZ),
		.rela = {dynamic_value(t, o, DT_RELA), dynamic_value(t, o, DT_JMPREL)},
		.rela_bytes = {dynamic_value(t, o, DT_RELASZ),
			       dynamic_value(t, o, DT_PLTRELSZ)},
	};

	if (tb.sym == 0 || tb.str == 0)
		return err_set(e, -ENOENT, "%s: no dynamic symbols", o->path);
	tb.sym = as_address(o, tb.sym);
	tb.str = as_address(o, tb.str);
	for (unsigned i = 0; i < 2; i++) {
		if (tb.rela[i] != 0)
			tb.rela[i] = as_address(o, tb.rela[i]);
		visit_relocs(t, o, &tb, i, each, ctx);
	}
	return 0;
}
