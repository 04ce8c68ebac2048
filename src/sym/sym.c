/* SPDX-License-Identifier: MIT */
/* sym.c -- the answers: opening a binary with its debug file, and frames for an address.
 *
 * The unit gives the innermost function at the address and the line there; each inlined
 * call gives the line of the call for the frame around it. Where the debug information
 * says nothing, the symbol table gives at least a name. Demangled names are kept by
 * mangled name. */
#include "sym/sym.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sym/demangle.h"
#include "sym/sym_priv.h"

static void
sym_hex(char *ret, const unsigned char *id, size_t len)
{
	ret[0] = '\0';
	for (size_t i = 0; i < len; i++)
		snprintf(ret + 2 * i, 3, "%02x", id[i]);
	if (len == 0)
		memcpy(ret, "none", sizeof "none");
}

static int
sym_check_id(const struct sym *s, const unsigned char *id, size_t len, struct err *e)
{
	char want[2 * SYM_BUILD_ID_MAX + 8], have[2 * SYM_BUILD_ID_MAX + 8];

	if (len == 0)
		return 0;
	if (len == s->build_id_len && memcmp(id, s->build_id, len) == 0)
		return 0;
	sym_hex(want, id, len);
	sym_hex(have, s->build_id, s->build_id_len);
	return err_set(e, -ESTALE, "%s: build-id differs: recorded %s, file has %s",
		       s->file.path, want, have);
}

/* The binary itself, or in its absence the debug file of that id. */
static int
sym_open_file(struct sym *s, const char *path, const unsigned char *id, size_t len,
	      struct err *e)
{
	const unsigned char *have;
	int r = sym_file_open(path, &s->file, e);

	if (r == -ENOENT && len > 0 && !s->opts.no_debug_files &&
	    sym_debug_by_id(id, len, &s->opts, &s->file, NULL) == 0)
		r = 0;
	if (r < 0)
		return r;
	s->build_id_len = sym_file_build_id(&s->file, &have);
	if (s->build_id_len > 0)
		memcpy(s->build_id, have, s->build_id_len);
	return sym_check_id(s, id, len, e);
}

static bool
sym_file_has_dwarf(const struct sym_file *f)
{
	return sym_file_has_section(f, ".debug_info") ||
	       sym_file_has_section(f, ".zdebug_info");
}

/* Are there more names than those that the loader needs? */
static bool
sym_has_symtab(struct sym *s)
{
	if (sym_file_has_symtab(&s->file))
		return true;
	sym_debug_open(s);
	return sym_file_has_symtab(&s->debug);
}

/* Opens the debug information where it is, once, or says why there is none. Left until
 * the first question: sections that are packed are all unpacked here. */
static void
sym_dwarf_open(struct sym *s)
{
	struct sym_file *f = &s->file;

	if (s->dwarf_tried)
		return;
	s->dwarf_tried = true;
	if (s->opts.names_only) {
		if (!sym_has_symtab(s))
			snprintf(s->reason, sizeof s->reason, "stripped");
		return;
	}
	if (!sym_file_has_dwarf(f)) {
		sym_debug_open(s);
		f = &s->debug;
	}
	if (sym_file_has_dwarf(f)) {
		s->dwarf = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
		if (s->dwarf == NULL)
			snprintf(s->reason, sizeof s->reason,
				 "debug information is broken: %s", dwarf_errmsg(-1));
		return;
	}
	if (s->reason[0] != '\0')
		return; /* a debug file was found and refused */
	if (sym_has_symtab(s))
		snprintf(s->reason, sizeof s->reason, "built without -g");
	else
		snprintf(s->reason, sizeof s->reason, "stripped");
}

static void
sym_opts_copy(struct sym *s, const struct sym_opts *o)
{
	if (o == NULL)
		return;
	s->opts = *o;
	s->opts.sysroot = xstrdup(o->sysroot);
	s->opts.debug_dirs = xstrdup(o->debug_dirs);
	s->opts.real_path = xstrdup(o->real_path);
}

struct sym *
sym_open(const char *path, const unsigned char *build_id, size_t build_id_len,
	 const struct sym_opts *o, struct err *e)
{
	struct sym *s = xcalloc(1, sizeof *s);
	int r;

	s->file.fd = s->debug.fd = s->mini.fd = -1;
	sym_opts_copy(s, o);
	if (build_id_len > SYM_BUILD_ID_MAX)
		r = err_set(e, -EINVAL, "%s: a build-id of %zu bytes", path,
			    build_id_len);
	else
		r = sym_open_file(s, path, build_id, build_id_len, e);
	if (r < 0) {
		sym_close(s);
		return NULL;
	}
	sym_code_load(s);
	return s;
}

void
sym_close(struct sym *s)
{
	if (s == NULL)
		return;
	sym_units_done(s);
	vec_done(&s->symbols);
	vec_done(&s->code);
	if (s->dwarf != NULL)
		dwarf_end(s->dwarf);
	sym_file_close(&s->mini);
	sym_file_close(&s->debug);
	sym_file_close(&s->file);
	map_done(&s->demangled);
	strtab_done(&s->strings);
	free((char *)s->opts.sysroot);
	free((char *)s->opts.debug_dirs);
	free((char *)s->opts.real_path);
	free(s);
}

/* Fills in the three forms of a name. */
static void
sym_frame_name(struct sym *s, struct sym_frame *f, uint32_t linkage)
{
	uint64_t *both = map_add(&s->demangled, linkage);
	const char *name = strtab_str(&s->strings, linkage);
	char *full, *brief;
	uint32_t full_id, brief_id;

	if (*both == 0 && linkage != 0) {
		full = demangle_full(name);
		brief = demangle_short(name);
		full_id = full != NULL ? strtab_add(&s->strings, full) : linkage;
		brief_id = brief != NULL ? strtab_add(&s->strings, brief) : linkage;
		free(full);
		free(brief);
		*both = (uint64_t)full_id << 32 | brief_id;
	}
	f->linkage = name;
	f->name = strtab_str(&s->strings, (uint32_t)(*both >> 32));
	f->short_name = strtab_str(&s->strings, (uint32_t)*both);
}

/* Path of the unit's file number `index`, as in DW_AT_call_file. */
static const char *
sym_call_file(struct sym *s, struct sym_unit *u, uint32_t index)
{
	const char *path;

	if (u->files == NULL || index >= u->files_len)
		return "";
	path = dwarf_filesrc(u->files, index, NULL, NULL);
	return strtab_str(&s->strings, sym_path_id(s, u, path));
}

/* How many nodes from `node` out to the real function. */
static unsigned
sym_depth(const struct sym_unit *u, uint32_t node)
{
	unsigned n = 0;

	for (; node != SYM_NONE; node = u->nodes.data[node].parent)
		n++;
	return n;
}

/* Frames of the unit's tree from `node` outwards, without the innermost line. */
static unsigned
sym_find_inlined(struct sym *s, struct sym_unit *u, uint32_t node, uint64_t vaddr,
		 struct sym_frame *ret, unsigned max)
{
	unsigned deep = sym_depth(u, node);
	unsigned skip = deep > max ? deep - max : 0; /* this many, before the last */
	unsigned n = 0;
	const struct sym_node *x;
	const char *file = "";
	uint32_t line = 0;

	for (unsigned i = 0; node != SYM_NONE; i++, node = x->parent) {
		x = &u->nodes.data[node];
		if (i < max - 1 || i >= max - 1 + skip) {
			ret[n] = (struct sym_frame){.file = file,
						    .line = line,
						    .inlined = x->parent != SYM_NONE};
			sym_frame_name(s, &ret[n], sym_node_name(s, u, node));
			if (x->parent == SYM_NONE && vaddr >= x->entry)
				ret[n].offset = vaddr - x->entry;
			n++;
		}
		file = sym_call_file(s, u, x->call_file);
		line = x->call_line;
	}
	return n;
}

unsigned
sym_find(struct sym *s, uint64_t vaddr, struct sym_frame *ret_frames, unsigned max)
{
	struct sym_unit *u;
	const struct sym_symbol *symbol;
	const struct sym_row *row = NULL;
	uint32_t node = SYM_NONE;
	unsigned n = 0;

	if (max == 0)
		return 0;
	sym_dwarf_open(s);
	u = sym_unit_find(s, vaddr);
	if (u != NULL) {
		node = sym_tree_find(u, vaddr);
		row = sym_row_find(u, vaddr);
	}
	if (node != SYM_NONE)
		n = sym_find_inlined(s, u, node, vaddr, ret_frames, max);
	if (n == 0 || ret_frames[n - 1].linkage[0] == '\0') {
		symbol = sym_symbol_find(s, vaddr);
		if (symbol == NULL && n == 0 && row == NULL)
			return 0;
		if (n == 0)
			ret_frames[n++] = (struct sym_frame){.file = ""};
		sym_frame_name(s, &ret_frames[n - 1], symbol != NULL ? symbol->name : 0);
		if (symbol != NULL)
			ret_frames[n - 1].offset = vaddr - symbol->lo;
	}
	if (row != NULL) {
		ret_frames[0].file = strtab_str(&s->strings, row->file);
		ret_frames[0].line = row->line;
	}
	if (n == 1 && ret_frames[0].linkage[0] == '\0' && ret_frames[0].line == 0)
		return 0;
	return n;
}

const char *
sym_reason(struct sym *s)
{
	sym_dwarf_open(s);
	return s->reason[0] != '\0' ? s->reason : NULL;
}

size_t
sym_build_id(const struct sym *s, const unsigned char **ret_id)
{
	*ret_id = s->build_id;
	return s->build_id_len;
}

struct timespec
sym_mtime(const struct sym *s)
{
	return s->file.mtime;
}

const char *
sym_debug_path(struct sym *s)
{
	sym_debug_open(s);
	return s->debug.path;
}
