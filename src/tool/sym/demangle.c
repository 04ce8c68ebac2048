/* SPDX-License-Identifier: MIT */
/* demangle.c -- libiberty's demanglers behind two calls.
 *
 * A legacy Rust name is also a valid C++ name and would come out with its hash as a
 * function, so names that look like it go to the Rust reader. What optimizers hang behind
 * a name is no part of either scheme: marks of clones (".cold") are kept aside,
 * ".llvm.123" of ThinLTO is dropped.
 *
 * This file must not include tool/util/x.h: libiberty declares functions of the same
 * names. */
#include "tool/sym/demangle.h"

#include <libiberty/demangle.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Longer names than this are shown as they are: the demangler's stack use grows with
 * them. */
#define DEMANGLE_LONGEST 16384
#define DEMANGLE_HASH_DIGITS 16

/* The name taken apart: what the demangler gets, and what was behind it. */
struct demangle_parts {
	size_t core_len;
	size_t suffix_len; /* right behind the core */
	bool rust;
};

/* Length of "_ZN…17h0123456789abcdefE" at the beginning of `name`, 0 when it is none.
 * Such a name may have dots inside. */
static size_t
demangle_legacy_rust(const char *name)
{
	const char *p = name;
	const char *end;

	while ((p = strstr(p, "17h")) != NULL) {
		p += 3;
		if (strspn(p, "0123456789abcdef") < DEMANGLE_HASH_DIGITS)
			continue;
		end = p + DEMANGLE_HASH_DIGITS;
		if (end[0] == 'E' && (end[1] == '\0' || end[1] == '.'))
			return (size_t)(end + 1 - name);
	}
	return 0;
}

/* False when it cannot be a mangled name. */
static bool
demangle_split(const char *name, struct demangle_parts *ret)
{
	const char *suffix, *llvm;

	if (name[0] != '_' || (name[1] != 'Z' && name[1] != 'R') ||
	    strnlen(name, DEMANGLE_LONGEST + 1) > DEMANGLE_LONGEST)
		return false;
	ret->rust = name[1] == 'R';
	ret->core_len = name[2] == 'N' && !ret->rust ? demangle_legacy_rust(name) : 0;
	if (ret->core_len != 0)
		ret->rust = true;
	else
		ret->core_len = strcspn(name, ".");
	suffix = name + ret->core_len;
	llvm = strstr(suffix, ".llvm.");
	ret->suffix_len = llvm != NULL ? (size_t)(llvm - suffix) : strlen(suffix);
	return true;
}

/* `text` with the first `n` bytes of `suffix` behind it; frees `text`. NULL stays
 * NULL. */
static char *
demangle_append(char *text, const char *suffix, size_t n)
{
	size_t len;
	char *longer;

	if (text == NULL || n == 0)
		return text;
	len = strlen(text);
	longer = realloc(text, len + n + 1);
	if (longer == NULL)
		return text; /* good enough */
	memcpy(longer + len, suffix, n);
	longer[len + n] = '\0';
	return longer;
}

char *
demangle_full(const char *name)
{
	struct demangle_parts parts;
	char *core, *text;

	if (!demangle_split(name, &parts))
		return NULL;
	/* C++ gets the suffix too and says "[clone .cold]" */
	core = strndup(name, parts.core_len + (parts.rust ? 0 : parts.suffix_len));
	if (core == NULL)
		return NULL; /* the mangled name will do */
	if (parts.rust)
		text = demangle_append(rust_demangle(core, 0), name + parts.core_len,
				       parts.suffix_len);
	else
		text = cplus_demangle_v3(core, DMGL_PARAMS | DMGL_ANSI);
	free(core);
	return text;
}

char *
demangle_short(const char *name)
{
	struct demangle_parts parts;
	char *core, *text;

	if (!demangle_split(name, &parts))
		return NULL;
	core = strndup(name, parts.core_len);
	if (core == NULL)
		return NULL;
	/* Without parameters there is no return type either. DMGL_RET_DROP would drop
	 * those of function pointers among the template's arguments too. */
	text = parts.rust ? rust_demangle(core, 0) : cplus_demangle_v3(core, DMGL_ANSI);
	free(core);
	return demangle_append(text, name + parts.core_len, parts.suffix_len);
}
