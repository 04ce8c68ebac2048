/* SPDX-License-Identifier: MIT */
/* hiding.c -- programs that keep memory where malloc's hooks do not see it, and what to
 * say.
 *
 * A row of the table is one such place. How it is recognised: by the executable's file
 * name, by a library's, or by what elfscan.c finds inside. The sentence ends with what
 * helps, if anything does. Nothing is refused here: the program runs, and the report says
 * how much it covers. */
#include "target/inspect.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "target/hiding.h"

struct hiding {
	uint32_t trait;
	const char
		*program; /* file name, may be followed by a version; NULL: not by name */
	const char *library; /* beginning of a library's file name */
	const char *text;
};

/* In order of what explains most: a static jemalloc in a Go program is the smaller
 * matter. */
static const struct hiding hidings[] = {
	{INSPECT_GO, NULL, NULL,
	 "Go keeps its objects in a heap of its own; only what C code allocates is recorded"},
	{INSPECT_JVM, "java", "libjvm.so",
	 "java keeps its objects in a heap of its own; only native memory is recorded"},
	{INSPECT_JVM, NULL, "libjli.so", NULL},
	{INSPECT_NODE, "node", "libnode.so",
	 "node keeps its objects in V8's heap; only native memory is recorded"},
	{INSPECT_DOTNET, "dotnet", "libcoreclr.so",
	 ".NET keeps its objects in a heap of its own; only native memory is recorded"},
	{INSPECT_PYTHON, "python", "libpython",
	 "python keeps its objects in pymalloc; run: PYTHONMALLOC=malloc seep run …"},
	{INSPECT_PHP, "php", "libphp",
	 "php keeps its objects in an allocator of its own; run: USE_ZEND_ALLOC=0 seep run …"},
	{INSPECT_JEMALLOC, NULL, NULL,
	 "jemalloc is linked into the program, where no preload sees it; start it with seep run itself, or seep attach it"},
	{INSPECT_TCMALLOC, NULL, NULL,
	 "tcmalloc is linked into the program, where no preload sees it; start it with seep run itself, or seep attach it"},
	{INSPECT_MIMALLOC, NULL, NULL,
	 "mimalloc is linked into the program, where no preload sees it; start it with seep run itself, or seep attach it"},
	{INSPECT_OWN_MALLOC, NULL, NULL,
	 "the program has a malloc of its own linked in, where no preload sees it; start it with seep run itself, or seep attach it"},
};

/* Whether the user has already told the runtime to use malloc. */
static bool
is_redirected(uint32_t trait)
{
	const char *v;

	if (trait == INSPECT_PYTHON) {
		v = getenv("PYTHONMALLOC");
		return v != NULL && strncmp(v, "malloc", 6) == 0;
	}
	if (trait == INSPECT_PHP) {
		v = getenv("USE_ZEND_ALLOC");
		return v != NULL && strcmp(v, "0") == 0;
	}
	return false;
}

const char *
inspect_coverage(uint32_t traits)
{
	for (size_t i = 0; i < ARRAY_LEN(hidings); i++) {
		const struct hiding *h = &hidings[i];

		if ((traits & h->trait) != 0 && h->text != NULL &&
		    !is_redirected(h->trait))
			return h->text;
	}
	return NULL;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

uint32_t
inspect_module_traits(const char *path)
{
	const char *name = base_name(path);

	for (size_t i = 0; i < ARRAY_LEN(hidings); i++) {
		const char *lib = hidings[i].library;

		if (lib != NULL && strncmp(name, lib, strlen(lib)) == 0)
			return hidings[i].trait;
	}
	return 0;
}

uint32_t
inspect_program_traits(const char *path)
{
	const char *name = base_name(path);

	for (size_t i = 0; i < ARRAY_LEN(hidings); i++) {
		const char *prog = hidings[i].program;

		if (prog == NULL || strncmp(name, prog, strlen(prog)) != 0)
			continue;
		/* "python3.11" and "python" are meant, "pythonic" is not. */
		if (strspn(name + strlen(prog), "0123456789.-") ==
		    strlen(name + strlen(prog)))
			return hidings[i].trait;
	}
	return 0;
}
