/* SPDX-License-Identifier: MIT */
/* sym.h -- from an address in a binary to function, file and line, inlined calls
 * included.
 *
 * One struct sym answers for one ELF file and its separate debug file. Nothing is read
 * before it is needed: opening looks at headers only, the first question sorts the
 * compilation units by address, and each unit that is asked about gets its lines and its
 * functions read once into sorted arrays. After that a question is two binary searches.
 * If a folder is named for it, the arrays of a binary with a build-id are kept there, and
 * found there the next time. Questions fill caches: one thread at a time for each struct
 * sym.
 *
 * It does not relocate and does not read memory. The network is asked only when told
 * to. */
#ifndef SEEP_SYM_H
#define SEEP_SYM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "tool/util/err.h"

struct sym;

struct sym_opts {
	/* Put before the paths of debug files; NULL for none. The binary's own path is
	 * used as given, so real_path has to say where it is inside. Links inside do not
	 * lead out of it. Debug files are also looked for outside by build-id. */
	const char *sysroot;
	/* Folders of debug files, separated by ':'; NULL: "/usr/lib/debug". */
	const char *debug_dirs;
	/* Where the binary was when it ran, if `path` is another name for it such as
	 * /proc/PID/exe: debug files are looked for beside it. NULL: `path`. */
	const char *real_path;
	/* Folders with binaries and debug files laid out as pprof wants them
	 * (PPROF_BINARY_PATH), separated by ':'; NULL: none. */
	const char *binary_dirs;
	bool no_debug_files; /* look at the binary alone */
	/* the binary is at `path` or nowhere; debug files may be elsewhere */
	bool here_only;
	/* Ask the servers in DEBUGINFOD_URLS for what is found nowhere else. */
	bool debuginfod;
	/* Functions from the symbol tables, no lines and no inlined frames: for libraries
	 * whose inside is of no interest. Debug files with packed sections, as
	 * distributions ship them, cost tens of milliseconds to open; their symbol tables
	 * do not. Lines that were not asked for are no gap for sym_reason. */
	bool names_only;
	/* Folder of indexes by build-id, made when needed; NULL: none is used. One that
	 * somebody else can write to is left alone. */
	const char *cache_dir;
	uint64_t cache_most_bytes; /* of all files in there; 0: 512 MiB */
	bool cache_all;		   /* keep also what is read in no time: for tests */
};

struct sym_frame {
	/* Name in the symbol table. A function that has none there (inlined everywhere,
	 * and not visible outside of its file) has its name with all that it is inside
	 * of. "" when unknown. With parameters it can be had from demangle_full. */
	const char *linkage;
	const char *short_name; /* demangled, without parameters */
	const char *file; /* absolute where the compiler said enough; "" when unknown */
	uint32_t line;	  /* 0 when unknown; for callers: the line of the call */
	uint64_t offset;  /* bytes from the function's beginning; 0 for inlined ones */
	bool inlined;	  /* into the frame after it */
};

/* Opens the binary `path`. With a `build_id` (len 0: none) a file that has another or
 * none is refused with -ESTALE and both ids in the message. Instead of a file that is
 * refused or gone, one of that id is taken wherever it is found: the binary, its debug
 * file, or what the cache knows of it. `o` may be NULL. NULL on failure: -ENOENT "file is
 * gone", -ENOEXEC not an ELF file, or another errno; e->msg says it in words. A broken
 * file gives an error or as much as can be read. Free with sym_close. */
struct sym *sym_open(const char *path, const unsigned char *build_id, size_t build_id_len,
		     const struct sym_opts *o, struct err *e);
void sym_close(struct sym *s);

/* Frames at `vaddr`, an address as in the ELF file's own program headers (for a return
 * address pass it minus 1), innermost first, the real function last. Returns how many
 * were filled in, at most `max`; 0 when nothing is known. When there are more than `max`,
 * those next to the real function are left out. Strings are borrowed until sym_close. */
unsigned sym_find(struct sym *s, uint64_t vaddr, struct sym_frame *ret_frames,
		  unsigned max);

/* Name, as in the symbol table, of the function that is called by the instruction before
 * the return address `vaddr`, if that goes through the linkage table; NULL when nothing
 * is known. Borrowed until sym_close. */
const char *sym_callee(struct sym *s, uint64_t vaddr);

/* Name of the variable that holds `vaddr`, and how far into it that is; NULL when no
 * symbol table has it. Borrowed until sym_close. */
const char *sym_data(struct sym *s, uint64_t vaddr, uint64_t *ret_off);

/* Why there are no lines, or no names either: "built without -g", "stripped", "debug file
 * … is for another build", "split debug file x.dwo is missing". NULL while nothing is
 * missing: a frame without a line then belongs to a part built without -g. Borrowed until
 * sym_close; it may change with questions. */
const char *sym_reason(struct sym *s);

/* The file's build-id; returns its length, 0 when it has none. Borrowed. */
size_t sym_build_id(const struct sym *s, const unsigned char **ret_id);

/* When the binary was last written: for src_line. */
struct timespec sym_mtime(const struct sym *s);

/* Path of the separate debug file that goes with the binary, or NULL. Borrowed. */
const char *sym_debug_path(struct sym *s);

#endif
