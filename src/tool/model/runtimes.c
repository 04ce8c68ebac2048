/* SPDX-License-Identifier: MIT */
/* runtimes.c -- see runtimes.h. */
#include "tool/model/runtimes.h"
#include "tool/util/file.h"

#include <stdlib.h>
#include <string.h>

static const struct runtime_info runtimes[RUNTIMES] = {
	[RUNTIME_GO] =
		{
			.name = "Go",
			.heap = "Go's heap",
			.keeps =
				"Go keeps its objects in a heap of its own; only what C code "
				"allocates is recorded; use its net/http/pprof",
			.alone =
				"written in Go and has no malloc; use its net/http/pprof, "
				"or seep watch",
			.grows = "seep report http://HOST:PORT/debug/pprof/heap",
			.collected = true,
		},
	[RUNTIME_JVM] =
		{
			.name = "Java",
			.libraries = {"libjvm.so", "libjli.so"},
			.heap = "Java's heap",
			.keeps =
				"java keeps its objects in a heap of its own; only native "
				"memory is recorded; use jcmd PID GC.class_histogram",
			.grows = "jcmd %d GC.class_histogram",
			.collected = true,
		},
	[RUNTIME_V8] =
		{
			.name = "V8",
			.programs = {"node"},
			.functions = {"v8::", "_ZN2v8", "_ZNK2v8"},
			.libraries = {"libnode.so"},
			.heap = "V8's heap",
			.keeps =
				"node keeps its objects in V8's heap; only native memory is "
				"recorded; use node --heapsnapshot-signal=SIGUSR2",
			.grows =
				"node --heapsnapshot-signal=SIGUSR2, and kill -USR2 it twice",
			.collected = true,
		},
	[RUNTIME_DOTNET] =
		{
			.name = ".NET",
			.libraries = {"libcoreclr.so"},
			.heap = ".NET's heap",
			.keeps =
				".NET keeps its objects in a heap of its own; only native "
				"memory is recorded; use dotnet-gcdump",
			.grows = "dotnet-gcdump collect -p %d",
			.collected = true,
		},
	[RUNTIME_PYTHON] =
		{
			.name = "Python",
			.programs = {"python"},
			.libraries = {"libpython"},
			.heap = "pymalloc's arenas",
			.keeps = "python keeps its objects in pymalloc; run: "
				 "PYTHONMALLOC=malloc seep run …",
			.run = "PYTHONMALLOC=malloc seep run python3 ...",
			.variable = "PYTHONMALLOC",
			.value = "malloc",
			.grows = "PYTHONMALLOC=malloc seep run python3 ...",
		},
	[RUNTIME_PHP] =
		{
			.name = "PHP",
			.programs = {"php", "php-fpm"},
			.libraries = {"libphp"},
			.heap = "PHP's heap",
			.keeps = "php keeps its objects in an allocator of its own; run: "
				 "USE_ZEND_ALLOC=0 seep run …",
			.run = "USE_ZEND_ALLOC=0 seep run php ...",
			.variable = "USE_ZEND_ALLOC",
			.value = "0",
			.grows = "USE_ZEND_ALLOC=0 seep run php ...",
		},
	[RUNTIME_RUBY] =
		{
			.name = "Ruby",
			.programs = {"ruby"},
			.functions = {"rb_", "ruby_"},
			.libraries = {"libruby"},
			.heap = "Ruby's heap",
			.keeps =
				"ruby keeps its objects in a heap of its own; only their "
				"buffers and native memory are recorded; use "
				"ObjectSpace.dump_all",
			.grows = "ObjectSpace.dump_all, twice, in the program",
			.collected = true,
		},
	[RUNTIME_BEAM] =
		{
			.name = "Erlang",
			.programs = {"beam.smp", "beam"},
			.functions = {"erts_", "enif_", "beam_"},
			.heap = "Erlang's heaps",
			.keeps =
				"erlang keeps its processes in allocators of its own; run: "
				"seep run erl +Mea min …",
			.run = "seep run erl +Mea min ...",
			.grows = "recon_alloc:memory(allocated) in its shell",
			.collected = true,
		},
	[RUNTIME_LUAJIT] =
		{
			.name = "LuaJIT",
			.programs = {"luajit"},
			.functions = {"lj_", "lua_", "luaL_"},
			.libraries = {"libluajit"},
			.heap = "LuaJIT's heap",
			.keeps =
				"LuaJIT keeps its objects in an allocator of its own; only "
				"native memory is recorded; use collectgarbage(\"count\")",
			.grows = "collectgarbage(\"count\") in the program",
			.collected = true,
		},
	[RUNTIME_LUA] =
		{
			.name = "Lua",
			.programs = {"lua"},
			.functions = {"lua_", "luaL_", "luaV_"},
			.libraries = {"liblua5", "liblua.so"},
			.collected = true,
		},
	[RUNTIME_PERL] =
		{
			.name = "Perl",
			.programs = {"perl"},
			.functions = {"Perl_", "perl_"},
			.libraries = {"libperl"},
			.collected =
				true, /* it leaves its objects to the kernel at exit */
		},
};

const struct runtime_info *
runtime_info(enum runtime r)
{
	return &runtimes[r];
}

/* "python3.11" and "python" are meant, "pythonic" is not. */
static bool
is_program(const char *name, const char *program)
{
	size_t n = strlen(program);

	return strncmp(name, program, n) == 0 &&
	       name[n + strspn(name + n, "0123456789.-")] == '\0';
}

uint32_t
runtimes_of_program(const char *path)
{
	const char *name = file_base(path);
	uint32_t found = 0;

	for (unsigned r = 0; r < RUNTIMES; r++) {
		for (unsigned i = 0; i < RUNTIME_NAMES_MAX; i++) {
			const char *program = runtimes[r].programs[i];

			if (program != NULL && is_program(name, program))
				found |= RUNTIME_BIT(r);
		}
	}
	return found;
}

/* "libruby-3.1.so.3.1", "libpython3.7m.so.1.0" and "liblua5.3-c++.so.0" are meant,
 * "librubyist.so" is not. */
static bool
is_library(const char *name, const char *library)
{
	size_t n = strlen(library);
	const char *so = strstr(name, ".so");

	if (strncmp(name, library, n) != 0 || so == NULL)
		return false;
	if (so > name + n && so != name + n + strspn(name + n, "0123456789.-cdmu+") - 1)
		return false;
	return so[3 + strspn(so + 3, "0123456789.")] == '\0';
}

uint32_t
runtimes_of_module(const char *path)
{
	const char *name = file_base(path);
	uint32_t found = 0;

	for (unsigned r = 0; r < RUNTIMES; r++) {
		for (unsigned i = 0; i < RUNTIME_NAMES_MAX; i++) {
			const char *library = runtimes[r].libraries[i];

			if (library != NULL && is_library(name, library))
				found |= RUNTIME_BIT(r);
		}
	}
	return found;
}

/* Whether the user has already made the runtime use malloc. */
static bool
is_redirected(const struct runtime_info *r)
{
	const char *v = r->variable != NULL ? getenv(r->variable) : NULL;

	return v != NULL && strncmp(v, r->value, strlen(r->value)) == 0;
}

uint32_t
runtimes_redirected(const char *environment, size_t bytes)
{
	uint32_t found = 0;

	for (size_t at = 0, n; at < bytes; at += n + 1) {
		const char *word = environment + at;

		n = strnlen(word, bytes - at);
		for (unsigned r = 0; r < RUNTIMES; r++) {
			const struct runtime_info *x = &runtimes[r];
			size_t name = x->variable != NULL ? strlen(x->variable) : n;

			if (name < n && word[name] == '=' &&
			    n - name - 1 >= strlen(x->value) &&
			    memcmp(word, x->variable, name) == 0 &&
			    memcmp(word + name + 1, x->value, strlen(x->value)) == 0)
				found |= RUNTIME_BIT(r);
		}
	}
	return found;
}

const struct runtime_info *
runtime_with_heap(uint32_t bits)
{
	for (unsigned r = 0; r < RUNTIMES; r++) {
		if ((bits & RUNTIME_BIT(r)) != 0 && runtimes[r].heap != NULL &&
		    !is_redirected(&runtimes[r]))
			return &runtimes[r];
	}
	return NULL;
}

const char *
runtimes_coverage(uint32_t bits)
{
	for (unsigned r = 0; r < RUNTIMES; r++) {
		if ((bits & RUNTIME_BIT(r)) != 0 && runtimes[r].keeps != NULL &&
		    !is_redirected(&runtimes[r]))
			return runtimes[r].keeps;
	}
	return NULL;
}

const struct runtime_info *
runtime_collecting(uint32_t bits)
{
	for (unsigned r = 0; r < RUNTIMES; r++) {
		if ((bits & RUNTIME_BIT(r)) != 0 && runtimes[r].collected)
			return &runtimes[r];
	}
	return NULL;
}

bool
runtime_has_function(const struct runtime_info *r, const char *function)
{
	for (unsigned i = 0; i < RUNTIME_NAMES_MAX; i++) {
		const char *begin = r->functions[i];

		if (begin != NULL && strncmp(function, begin, strlen(begin)) == 0)
			return true;
	}
	return false;
}

void
runtime_add_grows(struct buf *out, enum runtime r, int pid)
{
	const char *text = runtimes[r].grows, *at = strstr(text, "%d");

	if (at == NULL)
		buf_add_str(out, text);
	else
		buf_printf(out, "%.*s%d%s", (int)(at - text), text, pid, at + 2);
}
