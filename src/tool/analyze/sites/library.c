/* SPDX-License-Identifier: MIT */
/* library.c -- see library.h. */
#include "tool/analyze/sites/library.h"

#include <fnmatch.h>
#include <string.h>

const char *const library_modules[] = {
	"libstdc++.so*", "libc++.so*",	"libc++abi.so*",
	"libgcc_s.so*",	 "libstd-*.so", NULL,
};

const char *const library_files[] = {
	"*/include/c++/[0-9]*", /* libstdc++, by version */
	"*/include/c++/v1/*",	/* libc++ */
	"*/libstdc++-v3/*",
	"*/libcxx/*",
	"*/libcxxabi/*",
	"*/rustc/*/library/*", /* as rustc's own builds name them */
	"*/rustlib/src/rust/library/*",
	"/usr/src/rustc-[0-9]*/library/*", /* Debian */
	"*/rust/deps/*",		   /* crates that std is built from */
	NULL,
};

static const char *const library_cxx_names[] = {
	"std::",
	"__gnu_cxx::",
	"__cxxabiv1::",
	NULL,
};

static const char *const library_rust_names[] = {
	"core::", "alloc::", "std::", "<core::", "<alloc::", "<std::", NULL,
};

/* Not mangled at all, and of Rust's runtime. */
static const char *const library_plain_names[] = {
	"__rust_",
	"rust_begin_unwind",
	"rust_panic",
	NULL,
};

static bool
library_in(const char *const *patterns, const char *text)
{
	for (; *patterns != NULL; patterns++) {
		if (fnmatch(*patterns, text, 0) == 0)
			return true;
	}
	return false;
}

static bool
library_begins(const char *const *names, const char *text)
{
	for (; *names != NULL; names++) {
		if (strncmp(text, *names, strlen(*names)) == 0)
			return true;
	}
	return false;
}

/* The last part of a legacy Rust name is a hash: 17h and 16 digits. */
static bool
library_is_rust(const char *linkage)
{
	const char *hash = linkage;

	if (strncmp(linkage, "_R", 2) == 0)
		return true;
	while (strncmp(linkage, "_ZN", 3) == 0 && (hash = strstr(hash, "17h")) != NULL) {
		hash += 3;
		if (strspn(hash, "0123456789abcdef") == 16 && hash[16] == 'E')
			return true;
	}
	return false;
}

bool
library_module(const char *module)
{
	return strncmp(module, "lib", 3) == 0 && library_in(library_modules, module);
}

bool
library_file(const char *path)
{
	/* nearly every path of a program's own has neither */
	if (strstr(path, "c++") == NULL && strstr(path, "cxx") == NULL &&
	    strstr(path, "rust") == NULL)
		return false;
	return library_in(library_files, path);
}

bool
library_function(const char *function, const char *linkage)
{
	return library_begins(library_plain_names, function) ||
	       library_begins(library_is_rust(linkage) ? library_rust_names
						       : library_cxx_names,
			      function);
}
