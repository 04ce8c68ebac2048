/* SPDX-License-Identifier: MIT */
/* sym_priv.h -- what the files of src/sym share: the open ELF files, the units, the
 * painting of ranges. Nobody outside includes it. */
#ifndef SEEP_SYM_PRIV_H
#define SEEP_SYM_PRIV_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sym/sym.h"
#include "util/buf.h"
#include "util/err.h"
#include "util/map.h"
#include "util/vec.h"

#define SYM_BUILD_ID_MAX 64
#define SYM_NONE UINT32_MAX

/* An ELF file held open; `= {.fd = -1}` is an empty one. */
struct sym_file {
	int fd;
	Elf *elf;
	char *path;
	struct buf image; /* the bytes, when unpacked into memory */
	struct timespec mtime;
};

/* [lo, hi) belongs to `id`. */
struct sym_range {
	uint64_t lo, hi;
	uint32_t id;
};

/* From lo up to the next one's lo: `id`, or SYM_NONE for a gap. */
struct sym_span {
	uint64_t lo;
	uint32_t id;
};

struct sym_ranges VEC_BODY(struct sym_range);
struct sym_spans VEC_BODY(struct sym_span);

/* A line table row: from addr on. line 0: unknown, or nothing here. */
struct sym_row {
	uint64_t addr;
	uint32_t file; /* string id */
	uint32_t line;
};

/* A function, or a place where one was inlined. */
struct sym_node {
	Dwarf_Die die;
	uint32_t parent;    /* inlined into that node; SYM_NONE for a real function */
	uint32_t call_file; /* index into the unit's files */
	uint32_t call_line;
	uint64_t entry;	  /* where it begins */
	uint32_t linkage; /* string id once named */
	bool named;
};

struct sym_unit {
	Dwarf_Die die;	/* compile or skeleton unit */
	Dwarf_Die full; /* the same, or the split unit with the functions */
	bool loaded;
	bool mangles; /* its language mangles names */
	Dwarf_Files *files;
	size_t files_len;
	VEC(struct sym_row) rows;
	VEC(struct sym_node) nodes;
	struct sym_spans spans; /* ids are nodes */
};

struct sym_symbol {
	uint64_t lo, hi;
	uint32_t name; /* string id */
	uint8_t rank;  /* smaller is the better name for the same place */
};

struct sym {
	struct sym_opts opts;  /* strings are ours */
	struct sym_file file;  /* the binary */
	struct sym_file debug; /* its debug file; elf is NULL when there is none */
	struct sym_file mini;  /* symbols unpacked from .gnu_debugdata */
	bool debug_tried, dwarf_tried;
	Dwarf *dwarf; /* of file or debug; NULL when there is none */
	unsigned char build_id[SYM_BUILD_ID_MAX];
	size_t build_id_len;
	char reason[512];

	struct strtab strings;
	struct map demangled; /* linkage id -> full id << 32 | short id */

	struct sym_ranges code; /* executable segments; empty: unknown */

	bool symbols_loaded;
	VEC(struct sym_symbol) symbols; /* by lo */

	bool units_loaded;
	VEC(struct sym_unit) units;
	VEC(uint32_t) blind_units; /* have functions, but do not say where */
	struct sym_spans unit_spans;
};

/* ---- sym_elf.c ---- */

/* Opens an ELF file. `ret` must be empty and stays so on failure. */
int sym_file_open(const char *path, struct sym_file *ret, struct err *e);

/* The same for bytes in memory, which it takes over; `ret` is empty on failure. */
int sym_file_open_image(struct buf *bytes, struct sym_file *ret);
void sym_file_close(struct sym_file *f);

/* Contents of the first section of that name, or NULL. */
Elf_Data *sym_file_section(const struct sym_file *f, const char *name);
bool sym_file_has_section(const struct sym_file *f, const char *name);
bool sym_file_has_symtab(const struct sym_file *f);

/* Build-id bytes inside `f`; 0 when there is none. */
size_t sym_file_build_id(const struct sym_file *f, const unsigned char **ret_id);

/* Fills s->code from the program headers. */
void sym_code_load(struct sym *s);

/* Whether code can be at `addr` at all: what the linker threw away is left at 0 or -1. */
bool sym_is_code(const struct sym *s, uint64_t addr);

/* ---- sym_table.c ---- */

/* The symbol that covers `addr`, or NULL; reads the tables at first. Good until
 * sym_close. */
const struct sym_symbol *sym_symbol_find(struct sym *s, uint64_t addr);

/* ---- sym_debug.c ---- */

/* Finds and opens the debug file of s->file into s->debug, if there is one and it was not
 * tried before. What stood in the way is told in s->reason. */
void sym_debug_open(struct sym *s);

/* The same by build-id alone, for a binary that is gone. */
int sym_debug_by_id(const unsigned char *id, size_t len, const struct sym_opts *o,
		    struct sym_file *ret, struct err *e);

/* Unpacks .gnu_debugdata into s->mini when there is one and liblzma is at hand. */
void sym_mini_open(struct sym *s);

/* ---- sym_units.c ---- */

/* The unit covering `addr`, loaded, or NULL. Good until the next call. */
struct sym_unit *sym_unit_find(struct sym *s, uint64_t addr);
void sym_units_done(struct sym *s);

/* ---- sym_tree.c, sym_lines.c ---- */

/* Reads functions and inlined calls of one unit into nodes and spans. */
void sym_tree_load(struct sym *s, struct sym_unit *u);

/* The node whose range around `addr` is the smallest, or SYM_NONE. */
uint32_t sym_tree_find(const struct sym_unit *u, uint64_t addr);

/* Linkage name of a node as a string id, 0 when it has none. */
uint32_t sym_node_name(struct sym *s, struct sym_unit *u, uint32_t node);

void sym_lines_load(struct sym *s, struct sym_unit *u);
const struct sym_row *sym_row_find(const struct sym_unit *u, uint64_t addr);

/* String id of a source path, made absolute with the unit's folder. */
uint32_t sym_path_id(struct sym *s, const struct sym_unit *u, const char *path);

/* ---- sym_paint.c ---- */

/* Turns ranges, which may nest and overlap, into spans: at every address the shortest
 * range that covers it wins, of equals the one with the largest id. Sorts `r`. Appends to
 * nothing: `ret` must be empty. */
void sym_paint(struct sym_ranges *r, struct sym_spans *ret);

/* Id at `addr`, or SYM_NONE. */
uint32_t sym_span_find(const struct sym_spans *spans, uint64_t addr);

#endif
