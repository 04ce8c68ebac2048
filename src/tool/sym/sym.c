/* SPDX-License-Identifier: MIT */
/* sym.c -- the answers: opening a binary with its debug file, and frames for an address.
 *
 * The unit gives the innermost function at the address and the line there; each inlined
 * call gives the line of the call for the frame around it. Where the debug information
 * says nothing, the symbol table gives at least a name. Demangled names are kept by
 * mangled name. */
#include "tool/sym/sym.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tool/sym/demangle.h"
#include "tool/sym/sym_priv.h"

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
sym_check_id(const struct sym_file *f, const unsigned char *id, size_t len, struct err *e)
{
	char want[2 * SYM_BUILD_ID_MAX + 8], have[2 * SYM_BUILD_ID_MAX + 8];
	const unsigned char *found = NULL;
	size_t found_len = sym_file_build_id(f, &found);

	if (len == 0 || (len == found_len && memcmp(id, found, len) == 0))
		return 0;
	sym_hex(want, id, len);
	sym_hex(have, found, found_len);
	return err_set(e, -ESTALE, "%s: build-id differs: recorded %s, file has %s",
		       f->path, want, have);
}

/* The binary itself, or another file that answers for that id. */
static int
sym_open_file(struct sym *s, const char *path, const unsigned char *id, size_t len,
	      struct err *e)
{
	const unsigned char *have;
	int r = sym_file_open(s->opts.sysroot, path, &s->file, e);

	if (r == 0)
		r = sym_check_id(&s->file, id, len, e);
	if (r == -ESTALE)
		sym_file_close(&s->file);
	if ((r == -ENOENT || r == -ESTALE) && !s->opts.here_only &&
	    sym_binary_find(&s->opts, path, id, len, &s->file) == 0)
		r = 0;
	if (r == 0) {
		s->build_id_len = sym_file_build_id(&s->file, &have);
		if (s->build_id_len > 0)
			memcpy(s->build_id, have, s->build_id_len);
		sym_code_load(s);
		return 0;
	}
	if ((r == -ENOENT || r == -ESTALE) && !s->opts.here_only && len > 0) {
		memcpy(s->build_id, id, len);
		s->build_id_len = len;
		if (sym_cache_gone(s))
			r = 0;
	}
	return r;
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
	s->opts.binary_dirs = xstrdup(o->binary_dirs);
	s->opts.cache_dir = xstrdup(o->cache_dir);
}

struct sym *
sym_open(const char *path, const unsigned char *build_id, size_t build_id_len,
	 const struct sym_opts *o, struct err *e)
{
	struct sym *s = xcalloc(1, sizeof *s);
	int r;

	s->file.fd = s->debug.fd = s->alt.fd = s->mini.fd = s->plain.fd = -1;
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
	return s;
}

void
sym_close(struct sym *s)
{
	if (s == NULL)
		return;
	sym_cache_save(s);
	sym_units_done(&s->units);
	vec_done(&s->own_symbols);
	vec_done(&s->code);
	if (s->dwarf != NULL)
		dwarf_end(s->dwarf);
	if (s->alt_dwarf != NULL)
		dwarf_end(s->alt_dwarf);
	sym_file_close(&s->plain);
	sym_file_close(&s->mini);
	sym_file_close(&s->alt);
	sym_file_close(&s->debug);
	sym_file_close(&s->file);
	sym_cache_close(s);
	map_done(&s->demangled);
	map_done(&s->slots);
	strtab_done(&s->strings);
	free((char *)s->opts.sysroot);
	free((char *)s->opts.debug_dirs);
	free((char *)s->opts.real_path);
	free((char *)s->opts.binary_dirs);
	free((char *)s->opts.cache_dir);
	free(s);
}

const char *
sym_part_text(const struct sym *s, const struct sym_part *part, uint32_t at)
{
	if (part->text == NULL)
		return strtab_str(&s->strings, at);
	return at < part->text_bytes ? part->text + at : "";
}

/* Fills in the two forms of a name, which has to stay where it is. */
static void
sym_frame_name(struct sym *s, struct sym_frame *f, const char *linkage)
{
	uint64_t *id = map_add(&s->demangled, (uintptr_t)linkage);
	char *brief;

	if (*id == 0 && linkage[0] != '\0') {
		brief = demangle_short(linkage);
		*id = brief != NULL ? strtab_add(&s->strings, brief) : SYM_NONE;
		free(brief);
	}
	f->linkage = linkage;
	f->short_name = *id == 0 || *id == SYM_NONE
				? linkage
				: strtab_str(&s->strings, (uint32_t)*id);
}

/* What a node is inlined into; SYM_NONE also where a broken cache file goes in
 * circles. */
static uint32_t
sym_parent(const struct sym_part *p, uint32_t node)
{
	return p->nodes[node].parent < node ? p->nodes[node].parent : SYM_NONE;
}

/* How many nodes from `node` out to the real function. */
static unsigned
sym_depth(const struct sym_part *p, uint32_t node)
{
	unsigned n = 0;

	for (; node != SYM_NONE; node = sym_parent(p, node))
		n++;
	return n;
}

/* Frames of the unit's tree from `node` outwards, without the innermost line. */
static unsigned
sym_find_inlined(struct sym *s, struct sym_unit *u, uint32_t node, uint64_t at,
		 struct sym_frame *ret, unsigned max)
{
	const struct sym_part *p = &u->part;
	unsigned deep = sym_depth(p, node);
	unsigned skip = deep > max ? deep - max : 0; /* this many, before the last */
	uint32_t file = 0, line = 0, parent;
	unsigned n = 0;

	for (unsigned i = 0; node != SYM_NONE; i++, node = parent) {
		parent = sym_parent(p, node);
		if (i < max - 1 || i >= max - 1 + skip) {
			ret[n] = (struct sym_frame){.file = sym_part_text(s, p, file),
						    .line = line,
						    .inlined = parent != SYM_NONE};
			sym_frame_name(s, &ret[n],
				       sym_part_text(s, p, sym_node_name(s, u, node)));
			if (parent == SYM_NONE && at >= p->nodes[node].entry)
				ret[n].offset = at - p->nodes[node].entry;
			n++;
		}
		file = p->nodes[node].file;
		line = p->nodes[node].line;
	}
	return n;
}

/* What the symbol table says: the name of the last frame, or the only one. */
static unsigned
sym_find_symbol(struct sym *s, uint64_t at, struct sym_frame *ret, unsigned n)
{
	const struct sym_symbol *x = sym_symbol_find(s, at);

	if (n == 0)
		ret[n++] = (struct sym_frame){.file = ""};
	sym_frame_name(s, &ret[n - 1],
		       x != NULL ? sym_part_text(s, &s->symbols, x->name) : "");
	if (x != NULL)
		ret[n - 1].offset = at - x->lo;
	return n;
}

unsigned
sym_find(struct sym *s, uint64_t vaddr, struct sym_frame *ret_frames, unsigned max)
{
	uint64_t at = vaddr - s->base;
	struct sym_unit *u;
	const struct sym_row *row = NULL;
	uint32_t node = SYM_NONE;
	unsigned n = 0;

	if (max == 0)
		return 0;
	u = sym_unit_find(s, vaddr);
	if (u != NULL) {
		node = sym_span_find(u->part.spans, u->part.nspans, at);
		row = sym_row_find(&u->part, at);
	}
	if (node < (u != NULL ? u->part.nnodes : 0))
		n = sym_find_inlined(s, u, node, at, ret_frames, max);
	if (n == 0 || ret_frames[n - 1].linkage[0] == '\0')
		n = sym_find_symbol(s, at, ret_frames, n);
	if (row != NULL) {
		ret_frames[0].file = sym_part_text(s, &u->part, row->file);
		ret_frames[0].line = row->line;
	}
	if (n == 1 && ret_frames[0].linkage[0] == '\0' && ret_frames[0].line == 0)
		return 0;
	return n;
}

const char *
sym_reason(struct sym *s)
{
	if (!s->units_loaded && !sym_cache_units(s, &s->units))
		sym_dwarf_open(s);
	else
		s->units_loaded = true;
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
