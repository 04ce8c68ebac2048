/* SPDX-License-Identifier: MIT */
/* sym_priv.h -- what the files of src/tool/sym share: the open ELF files, the units, the
 * painting of ranges. Nobody outside includes it. */
#ifndef SEEP_SYM_PRIV_H
#define SEEP_SYM_PRIV_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "tool/sym/sym.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/map.h"
#include "tool/util/vec.h"

#define SYM_BUILD_ID_MAX 64
#define SYM_NONE UINT32_MAX
/* Code that begins this far behind the first is not believed. */
#define SYM_FARTHEST UINT32_MAX

/* An ELF file held open; `= {.fd = -1}` is an empty one. */
struct sym_file {
	int fd;
	Elf *elf;
	char *path;
	struct buf image; /* the bytes, when unpacked into memory */
	struct timespec mtime;
	uid_t uid; /* whose it is */
};

/* [lo, hi) belongs to `id`. Addresses in here count from sym.base. */
struct sym_range {
	uint64_t lo, hi;
	uint32_t id;
};

/* From lo up to the next one's lo: `id`, or SYM_NONE for a gap. */
struct sym_span {
	uint32_t lo;
	uint32_t id;
};

struct sym_ranges VEC_BODY(struct sym_range);
struct sym_spans VEC_BODY(struct sym_span);

/* A line table row: from lo on. line 0: unknown, or nothing here. */
struct sym_row {
	uint32_t lo;
	uint32_t file; /* text */
	uint32_t line;
};

/* A function, or a place where one was inlined. */
struct sym_node {
	/* inlined into that node, which comes before; SYM_NONE: into none */
	uint32_t parent;
	uint32_t
		name; /* text, mangled where the language does; SYM_NONE: not yet asked */
	uint32_t file; /* text: where it was called */
	uint32_t line;
	uint32_t entry; /* where it begins */
};

struct sym_symbol {
	uint32_t lo, hi;
	uint32_t name; /* text */
};

/* Sorted arrays that answer questions, either made here or lying in a cache file. In the
 * former, text is an id in sym.strings, in the latter an offset into `text`. */
struct sym_part {
	const struct sym_row *rows;
	const struct sym_span *spans; /* ids are nodes */
	const struct sym_node *nodes;
	const struct sym_symbol *symbols;
	const char *text; /* NULL: sym.strings; else ends with a NUL */
	uint32_t nrows, nspans, nnodes, nsymbols, text_bytes;
};

/* A DIE that names may be inside of: from it to the last one inside, in the bytes of
 * their section. */
struct sym_scope {
	Dwarf_Die die;
	const void *last;
	uint32_t parent; /* SYM_NONE: the unit */
};

struct sym_unit {
	Dwarf_Die die;	/* compile or skeleton unit */
	Dwarf_Die full; /* the same, or the split unit with the functions */
	bool loaded;	/* part is filled in */
	bool mangles;	/* its language mangles names */
	Dwarf_Files *files;
	size_t files_len;
	struct sym_part part;
	/* What part points to when it was read from DWARF, and what names need. */
	VEC(struct sym_row) rows;
	VEC(struct sym_node) nodes;
	VEC(Dwarf_Die) dies; /* of the nodes */
	VEC(struct sym_scope) scopes;
	struct map paths;   /* file index -> text id + 1 */
	struct map origins; /* name by DIE that nodes are instances of */
	struct sym_spans spans;
};

struct sym_units {
	VEC(struct sym_unit) all;
	VEC(uint32_t) blind; /* have functions, but do not say where */
	struct sym_spans spans;
};

struct sym {
	struct sym_opts opts;  /* strings are ours */
	struct sym_file file;  /* the binary; elf is NULL when only the cache knows it */
	struct sym_file debug; /* its debug file; elf is NULL when there is none */
	struct sym_file alt;   /* what dwz moved out of several debug files */
	struct sym_file mini;  /* symbols unpacked from .gnu_debugdata */
	struct sym_file plain; /* file or debug once more, unpacked */
	bool debug_tried, dwarf_tried;
	Dwarf *dwarf; /* of file or debug; NULL when there is none */
	Dwarf *alt_dwarf;
	unsigned char build_id[SYM_BUILD_ID_MAX];
	size_t build_id_len;
	char reason[512];

	struct strtab strings;
	struct map demangled; /* address of a linkage name -> short id */

	bool slots_loaded;
	struct map slots; /* of the linkage table -> name of a symbol */

	struct sym_ranges code; /* executable segments, as in the file; empty: unknown */
	uint64_t base; /* the lowest of them: addresses in arrays count from here */

	bool symbols_loaded;
	struct sym_part symbols; /* by lo */
	VEC(struct sym_symbol) own_symbols;

	bool units_loaded, units_attached; /* known; with their DIEs */
	struct sym_units units;

	struct sym_cache *cache; /* NULL: none is used */
};

/* ---- sym_elf.c ---- */

/* Opens an ELF file. If `path` begins with `root`, which may be NULL, links on the way do
 * not lead out of there. `ret` must be empty and stays so on failure. */
int sym_file_open(const char *root, const char *path, struct sym_file *ret,
		  struct err *e);

/* The same for a descriptor, which it takes over also on failure. */
int sym_file_open_fd(int fd, const char *path, struct sym_file *ret, struct err *e);

/* The same for bytes in memory, which it takes over; `ret` is empty on failure. */
int sym_file_open_image(struct buf *bytes, struct sym_file *ret);
void sym_file_close(struct sym_file *f);

/* Contents of the first section of that name, or NULL. */
Elf_Data *sym_file_section(const struct sym_file *f, const char *name);
bool sym_file_has_section(const struct sym_file *f, const char *name);
bool sym_file_has_symtab(const struct sym_file *f);
bool sym_file_has_dwarf(const struct sym_file *f);

/* Build-id bytes inside `f`; 0 when there is none. */
size_t sym_file_build_id(const struct sym_file *f, const unsigned char **ret_id);

/* Fills s->code from the program headers. */
void sym_code_load(struct sym *s);

/* Whether code can be at `addr` at all: what the linker threw away is left at 0 or -1. */
bool sym_is_code(const struct sym *s, uint64_t addr);

/* Adds [lo, hi) as it stands in the file, if it is code; false when it is not. */
bool sym_range_add(const struct sym *s, struct sym_ranges *r, uint64_t lo, uint64_t hi,
		   uint32_t id);

/* The string behind a number in `part`, "" for one that means nothing. */
const char *sym_part_text(const struct sym *s, const struct sym_part *part, uint32_t at);

/* ---- sym_table.c ---- */

/* The symbol that covers `at`, counted from base, or NULL; reads the tables at first. Its
 * name is text of s->symbols. Good until sym_close. */
const struct sym_symbol *sym_symbol_find(struct sym *s, uint64_t at);

/* ---- sym_debug.c ---- */

/* Finds and opens the debug file of s->file into s->debug, if there is one and it was not
 * tried before. What stood in the way is told in s->reason. */
void sym_debug_open(struct sym *s);

/* A binary that is not where it was, or another one now: by build-id, or by name alone
 * when there is none. It or its debug file goes to `ret`; -ENOENT when nothing was
 * found. */
int sym_binary_find(const struct sym_opts *o, const char *path, const unsigned char *id,
		    size_t id_len, struct sym_file *ret);

/* The file that dwz moved shared parts to, named `name` in s's debug information. */
int sym_alt_find(const struct sym *s, const char *name, const unsigned char *id,
		 size_t id_len, struct sym_file *ret);

/* ---- sym_fetch.c ---- */

enum sym_fetch { SYM_FETCH_DEBUG, SYM_FETCH_BINARY };

/* Asks the servers in DEBUGINFOD_URLS; may take long. -ENOENT when they do not have it,
 * or another reason in words. */
int sym_fetch(enum sym_fetch what, const unsigned char *id, size_t id_len,
	      struct sym_file *ret, struct err *e);

/* ---- sym_zstd.c ---- */

/* If sections of `f` are packed with zstd, opens a copy of it with them unpacked: 1, and
 * `ret` holds it. 0 when there are none, -ENOTSUP when it cannot be done. */
int sym_zstd_open(const struct sym_file *f, struct sym_file *ret);

/* ---- sym_mini.c ---- */

/* Unpacks .gnu_debugdata into s->mini when there is one and liblzma is at hand. */
void sym_mini_open(struct sym *s);

/* ---- sym_units.c ---- */

/* The unit covering `vaddr`, loaded, or NULL. Good until the next call. */
struct sym_unit *sym_unit_find(struct sym *s, uint64_t vaddr);
void sym_units_done(struct sym_units *list);

/* ---- sym_dwarf.c ---- */

/* Opens the debug information where it is, once, or says why there is none. Left until it
 * is needed: sections that are packed are all unpacked here. */
void sym_dwarf_open(struct sym *s);

/* ---- sym_tree.c, sym_lines.c ---- */

/* Reads functions and inlined calls of one unit into nodes and spans. */
void sym_tree_load(struct sym *s, struct sym_unit *u);

/* Name of a node as text of the unit's part, 0 when it has none. */
uint32_t sym_node_name(struct sym *s, struct sym_unit *u, uint32_t node);

/* Text id of the unit's file number `index`, as in DW_AT_call_file. */
uint32_t sym_file_id(struct sym *s, struct sym_unit *u, uint32_t index);

void sym_lines_load(struct sym *s, struct sym_unit *u);
const struct sym_row *sym_row_find(const struct sym_part *p, uint64_t at);

/* String id of a source path, made absolute with the unit's folder. */
uint32_t sym_path_id(struct sym *s, const struct sym_unit *u, const char *path);

/* ---- sym_paint.c ---- */

/* Turns ranges, which may nest and overlap, into spans: at every address the shortest
 * range that covers it wins, of equals the one with the largest id. Sorts `r`. Appends to
 * nothing: `ret` must be empty. */
void sym_paint(struct sym_ranges *r, struct sym_spans *ret);

/* Id at `at`, or SYM_NONE. */
uint32_t sym_span_find(const struct sym_span *spans, size_t n, uint64_t at);

/* ---- sym_scope.c ---- */

/* The DIE that `die` is an instance of, or whose definition it is: what has the name. */
Dwarf_Die sym_scope_origin(Dwarf_Die *die);

/* "ns::(anonymous namespace)::outer::<lambda:22>::operator()", as far as the unit's
 * scopes tell, for a function that has no linkage name. Text id; 0 when it has no
 * name. */
uint32_t sym_scope_name(struct sym *s, const struct sym_unit *u, Dwarf_Die *die);

/* ---- sym_cache.c ---- */

/* Out of the cache file, if there is one: the list of units; the arrays of one of them;
 * the symbols, into s->symbols. False when it does not have them. */
bool sym_cache_units(struct sym *s, struct sym_units *ret);
bool sym_cache_part(struct sym *s, uint32_t unit, struct sym_part *ret);
bool sym_cache_symbols(struct sym *s);

/* What headers say, for a binary that is gone: into s->code, s->base and its time. */
bool sym_cache_gone(struct sym *s);

/* What it says is not asked for any more; strings that were handed out stay. */
void sym_cache_forget(struct sym *s);

/* Counts units read from debug information since `began_ns`, CPU time of this thread:
 * what took long is worth keeping. */
void sym_cache_count(struct sym *s, unsigned units, uint64_t began_ns);

/* Keeps what is new, if that is worthwhile and all of it can be trusted. */
void sym_cache_save(struct sym *s);
void sym_cache_close(struct sym *s);

#endif
