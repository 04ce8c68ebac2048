/* SPDX-License-Identifier: MIT */
/* runtimes.h -- language runtimes: how each is recognised, where it keeps its objects,
 * whether these may be called lost, and what helps.
 *
 * The one table behind every sentence about a runtime, whichever command says it. Pure:
 * file names in, text out. */
#ifndef SEEP_MODEL_RUNTIMES_H
#define SEEP_MODEL_RUNTIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/buf.h"

/* In order of what explains most, where there are several in a process. */
enum runtime {
	RUNTIME_GO = 0,
	RUNTIME_JVM,
	RUNTIME_V8,
	RUNTIME_DOTNET,
	RUNTIME_PYTHON,
	RUNTIME_PHP,
	RUNTIME_RUBY,
	RUNTIME_BEAM,
	RUNTIME_LUAJIT,
	RUNTIME_LUA,
	RUNTIME_PERL,
	RUNTIMES,
};

#define RUNTIME_BIT(r) (UINT32_C(1) << (r))

enum { RUNTIME_NAMES_MAX = 3 };

struct runtime_info {
	const char *name; /* "Ruby" */
	/* Names of files: of the program and of libraries, which a version may follow. A
	 * program's name alone proves nothing: anybody may call a server `node`. */
	const char *programs[RUNTIME_NAMES_MAX], *libraries[RUNTIME_NAMES_MAX];
	/* What functions in such a program begin with; only of those with a collector. */
	const char *functions[RUNTIME_NAMES_MAX];
	const char *
		heap; /* its own heap, "V8's heap"; NULL = its objects come from malloc */
	/* "node keeps its objects in V8's heap; only native memory is recorded" */
	const char *keeps;
	const char
		*run; /* how to make it use malloc, as a command line; NULL = it cannot */
	const char *variable,
		*value; /* environment that does so: beginning of its value */
	const char
		*alone; /* a program without any C: "PROGRAM is ALONE", with a remedy */
	const char
		*grows; /* shell command for a process whose heap grows; %d is its pid */
	/* a collector frees its objects, or it leaves them to the kernel at exit: blocks
	 * that its own code allocated are never called lost */
	bool collected;
};

const struct runtime_info *runtime_info(enum runtime r);

/* RUNTIME_BITs that a program of that file name may be, and those whose library a module
 * of that name is. */
uint32_t runtimes_of_program(const char *path);
uint32_t runtimes_of_module(const char *path);

/* Where memory of a program with these runtimes hides from malloc, with a remedy if there
 * is one: half a sentence. NULL when nothing does, or the environment of seep itself has
 * redirected it. Static. */
const char *runtimes_coverage(uint32_t runtimes);

/* RUNTIME_BITs of those that an environment (NAME=VALUE, each ended by a NUL) makes use
 * malloc for their objects. */
uint32_t runtimes_redirected(const char *environment, size_t bytes);

/* The runtime among these that has a heap of its own, which blocks of malloc may be held
 * by; NULL = none. Static. */
const struct runtime_info *runtime_with_heap(uint32_t bits);

/* The runtime among these whose objects a collector frees; NULL = none. Static. */
const struct runtime_info *runtime_collecting(uint32_t bits);

/* Whether a function of that name, as people or symbol tables write it, is the runtime's
 * own. */
bool runtime_has_function(const struct runtime_info *r, const char *function);

/* Appends the command that explains growth of its heap in process `pid`. */
void runtime_add_grows(struct buf *out, enum runtime r, int pid);

#endif
