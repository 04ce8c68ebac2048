/* SPDX-License-Identifier: MIT */
/* inspect.h -- looks at a program before it is started: can it be recorded, and how much
 * of it?
 *
 * The name is looked up in PATH as execvp would, `#!` scripts and env are followed to the
 * program that really runs, and its ELF headers are read, a few KiB at a time and every
 * offset checked against the file's size. What cannot be recorded is told before it
 * starts, with the reason and a remedy in one line. Nothing is run, mapped or written. */
#ifndef SEEP_TARGET_INSPECT_H
#define SEEP_TARGET_INSPECT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/runtimes.h"
#include "tool/util/err.h"

/* Exit statuses that shells use for programs that did not start. */
enum {
	INSPECT_FAILED = 3, /* can run, but not be recorded */
	INSPECT_NOT_EXECUTABLE = 126,
	INSPECT_NOT_FOUND = 127,
};

/* What an ELF file is. */
enum inspect_traits {
	INSPECT_STATIC = 1 << 0,
	INSPECT_CLASS32 = 1 << 1,
	INSPECT_OTHER_MACHINE = 1 << 2,
	INSPECT_MUSL = 1 << 3,
	INSPECT_SANITIZER = 1 << 4,
	INSPECT_OWN_MALLOC =
		1 << 6, /* defines malloc itself: that one wins over any preload */
	INSPECT_JEMALLOC =
		1 << 7, /* prefixed jemalloc linked in: je_malloc, _rjem_malloc */
	INSPECT_TCMALLOC = 1 << 8,
	INSPECT_MIMALLOC = 1 << 9,
	/* Runtimes (runtimes.h), one bit each from here on. */
	INSPECT_RUNTIMES = 10,
	INSPECT_GO = 1 << (INSPECT_RUNTIMES + RUNTIME_GO),
};

#define INSPECT_RUNTIME(r) (RUNTIME_BIT(r) << INSPECT_RUNTIMES)

struct inspect_elf {
	uint32_t traits;  /* enum inspect_traits */
	char interp[128]; /* the loader, "" for none */
};

/* Reads the ELF file `path`. -ENOEXEC when it is none or is cut off or damaged. */
int inspect_elf(const char *path, struct inspect_elf *ret_elf, struct err *e);

/* The same from an open file; `path` is for messages and for what the file's name
 * tells. */
int inspect_elf_fd(int fd, const char *path, struct inspect_elf *ret_elf, struct err *e);

struct inspect {
	char *path;	 /* what to execute */
	char *binary;	 /* the ELF file that runs in the end: `path` but for scripts */
	bool by_shell;	 /* text without #!: /bin/sh runs it, as execvp does */
	int exit_status; /* after a failure: INSPECT_* */
	bool inject;	 /* libseep.so would not be loaded, or not be asked: see held.h */
	struct inspect_elf elf;
};

/* Looks up and examines the program `name`. On failure ret_inspect->exit_status says what
 * to exit with and `e` why: not found, not executable, or not recordable. Always end with
 * inspect_done. */
int inspect_program(const char *name, struct inspect *ret_inspect, struct err *e);
void inspect_done(struct inspect *in);

/* Where memory of a program with these traits hides from malloc's hooks, as half a
 * sentence with a remedy: "python3 keeps its objects in pymalloc; run: …". NULL when
 * nothing is known. Static. */
const char *inspect_coverage(uint32_t traits);

/* Those of the traits that still count for process `pid`: not a runtime that its
 * environment makes use malloc. */
uint32_t inspect_not_redirected(uint32_t traits, int pid);

/* Why a program with these traits has no malloc that could be recorded, as the end of
 * "PROGRAM is …" with a remedy: a program written in Go without C. NULL for all others.
 * Static. */
const char *inspect_without_malloc(uint32_t traits);

/* Traits that only a module's file name shows (libpython3.11.so, libjvm.so), or 0. */
uint32_t inspect_module_traits(const char *path);

#endif
