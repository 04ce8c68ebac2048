/* SPDX-License-Identifier: MIT */
/* names.h -- fills the names into a profile: function, file, line, inlined calls, source
 * text.
 *
 * Joins src/tool/model and src/sym. Each binary is opened once, and one that is not the
 * recorded build is not used: a wrong name is worse than none. Why a module has no names
 * or lines is left in its row, for the report to say. Nothing is printed. What was read
 * from large binaries is kept in the user's cache folder for the next time (SEEP_CACHE,
 * XDG_CACHE_HOME); binaries are also looked for where PPROF_BINARY_PATH says. The network
 * is asked only when told to. */
#ifndef SEEP_SESSION_NAMES_H
#define SEEP_SESSION_NAMES_H

#include "tool/model/prof.h"
#include "tool/util/cmdline/opt.h"
#include "tool/util/err.h"

/* A file that is open already. */
struct names_file {
	char *path; /* as in the recording */
	int fd;
};

struct names_opts {
	/* a process that runs this code: its files are used when ours differ; 0 = none */
	int pid;
	const char *sysroot; /* put before every path; NULL = none */
	char *debug_dirs;    /* as in sym.h, looked into before the usual; NULL = none */
	const char *exe; /* the program, wherever it was when it ran; NULL = not told */
	bool debuginfod; /* ask the servers in DEBUGINFOD_URLS */
	bool no_cache;
	bool no_source;			/* leave the text of source lines out */
	const struct names_file *files; /* these are tried first; borrowed */
	unsigned nfiles;
};

/* Resolves every location that has no frames yet and sets has_names. A profile that has
 * its names keeps them, but for mangled ones in pprof files: those become linkage names,
 * with short ones for people. `o` may be NULL. Cannot fail: what is not found has its
 * reason. */
void names_resolve(struct prof *p, const struct names_opts *o);

/* Afterwards, for formats of other tools: names of C++ and Rust functions with their
 * parameters, but for those inlined. Frames then have names that places are not to be
 * told apart by. */
void names_full(struct prof *p);

/* --debug-dir may be given several times; `to` is a struct names_opts. */
int names_add_debug_dir(void *to, const struct opt *o, const struct opt_value *v,
			struct err *e);

/* --exe must be there: `to` is the member. */
int names_set_exe(void *to, const struct opt *o, const struct opt_value *v,
		  struct err *e);

/* Frees what the options below left in it. */
void names_opts_done(struct names_opts *o);

/* Rows for the option table of a command that resolves names, whose struct has a struct
 * names_opts at the offset `base`; it copies that to add the pid. */
/* clang-format off */
#define NAMES_OPT_DEBUGINFOD(base)                                               \
	{"debuginfod", 0, OPT_NONE, .at = (base) + offsetof(struct names_opts, debuginfod),             \
	 .help = "Download missing debug files from the servers in DEBUGINFOD_URLS."}
#define NAMES_OPTS(base)                                                                     \
	{"debug-dir", 0, OPT_STRING, .at = (base),                       \
	 .set = names_add_debug_dir, .metavar = "DIR",                                   \
	 .help = "Search DIR, too, for debug files, by build-id and by name."},           \
	{"sysroot", 0, OPT_STRING, .at = (base) + offsetof(struct names_opts, sysroot),                 \
	 .metavar = "DIR",                                                               \
	 .help = "Search for binaries and debug files below DIR."},                        \
	{"exe", 0, OPT_STRING, .at = (base) + offsetof(struct names_opts, exe),                         \
	 .set = names_set_exe, .metavar = "FILE",                                                              \
	 .help = "Read the program's symbols from FILE."},                   \
	NAMES_OPT_DEBUGINFOD(base),                                                          \
	{"no-cache", 0, OPT_NONE, .at = (base) + offsetof(struct names_opts, no_cache),                 \
	 .help = "Do not read or write symbol indexes in the cache folder."}
/* clang-format on */

#endif
