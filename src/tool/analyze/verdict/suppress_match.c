/* SPDX-License-Identifier: MIT */
/* suppress_match.c -- see suppress_match.h.
 *
 * Frames of a suppression are matched with those of a stack from the inside out. What the
 * stack has left over at its outer end does not matter. "..." tries every number of
 * frames, but each (frame, pattern) pair is tried once at most: a row of bits for each
 * pattern, so that no file makes it slow. */
#include "tool/analyze/verdict/suppress_match.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/model/loss_kinds.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

bool
suppress_glob(const char *pattern, const char *text)
{
	const char *star = NULL,
		   *from = NULL; /* behind the last *, and what it ate up to */

	while (*text != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

bool
suppress_template(const char *pattern, const char *text)
{
	bool start = pattern[0] == '^';
	size_t n = strlen(pattern += start);
	bool end = n > 0 && pattern[n - 1] == '$';
	char *glob;
	bool matches;

	if (text[0] == '\0')
		return false;
	glob = xasprintf("%s%.*s%s", start ? "" : "*", (int)(n - end), pattern,
			 end ? "" : "*");
	matches = suppress_glob(glob, text);
	free(glob);
	return matches;
}

static const char *
suppress_known(const char *text)
{
	return text != NULL ? text : "???";
}

/* "file.c", "dir/file.c" or either with ":12". */
static bool
suppress_is_source(const char *pattern, const struct loss_frame *f)
{
	const char *base;
	char *with_line;
	bool matches;

	if (f->file == NULL)
		return suppress_glob(pattern, "???");
	base = file_base(f->file);
	with_line = xasprintf("%s:%u", f->file, f->line);
	matches = suppress_glob(pattern, f->file) || suppress_glob(pattern, base) ||
		  suppress_glob(pattern, with_line) ||
		  suppress_glob(pattern, file_base(with_line));
	free(with_line);
	return matches;
}

/* The same with `pattern` cut off before `end`, and anything behind it if `more`. */
static bool
suppress_cut_glob(const char *pattern, const char *end, bool more, const char *text)
{
	char *cut = xasprintf("%.*s%s", (int)(end - pattern), pattern, more ? "*" : "");
	bool matches = suppress_glob(cut, text);

	free(cut);
	return matches;
}

/* A function by its name. valgrind's own suppressions name some things differently:
 * copies that the optimizer made ("f.isra.0") where we know the original, arguments of
 * templates of inlined functions, which debug information spells otherwise, functions
 * that lead to others in valgrind, and the system call that threads begin with. */
static bool
suppress_is_function(const char *pattern, const struct loss_frame *f)
{
	static const char *const copies[] = {".isra.", ".part.", ".constprop.", ".cold"};
	static const char *const others[][2] = {
		{"clone3", "clone"},	       {"realloc", "malloc"},
		{"reallocarray", "malloc"},    {"reallocarray", "realloc"},
		{"aligned_alloc", "memalign"}, {"posix_memalign", "memalign"},
		{"valloc", "memalign"},	       {"pvalloc", "memalign"},
	};
	const char *name = suppress_known(f->linkage), *at;

	if (suppress_glob(pattern, name) ||
	    (f->function != NULL && suppress_glob(pattern, f->function)))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(copies); i++) {
		at = strstr(pattern, copies[i]);
		if (at != NULL && suppress_cut_glob(pattern, at, false, name))
			return true;
	}
	at = strchr(pattern, '<');
	if (f->inlined && at != NULL && at > pattern &&
	    suppress_cut_glob(pattern, at + 1, true, name))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		if (strcmp(name, others[i][0]) == 0 &&
		    suppress_glob(pattern, others[i][1]))
			return true;
	}
	return false;
}

static bool
suppress_is_frame(const struct suppress_frame *x, const struct loss_frame *f)
{
	switch (x->part) {
	case SUPPRESS_FUNCTION:
		return suppress_is_function(x->pattern, f);
	case SUPPRESS_OBJECT:
		return suppress_glob(x->pattern, suppress_known(f->module));
	case SUPPRESS_SOURCE:
		return suppress_is_source(x->pattern, f);
	case SUPPRESS_FRAMES:
		break;
	}
	return true;
}

/* at[i]: the patterns so far can have used up i frames. */
static bool
suppress_is_stack(const struct suppress *x, const struct loss_stack *s, bool *at)
{
	size_t n = s->frames.len;
	bool any = true;

	memset(at, 0, n + 1);
	at[0] = true;
	for (size_t k = 0; any && k < x->frames.len; k++) {
		const struct suppress_frame *p = &x->frames.data[k];

		any = false;
		if (p->part == SUPPRESS_FRAMES) {
			for (size_t i = 1; i <= n; i++)
				at[i] = at[i] || at[i - 1];
			any = at[n];
			continue;
		}
		for (size_t i = n; i > 0; i--) {
			at[i] = at[i - 1] && suppress_is_frame(p, &s->frames.data[i - 1]);
			any = any || at[i];
		}
		at[0] = false;
	}
	return any;
}

static bool
suppress_is_lsan(const struct suppress *x, const struct loss_stack *s)
{
	for (size_t i = 0; i < s->frames.len; i++) {
		const struct loss_frame *f = &s->frames.data[i];

		if ((f->module != NULL && suppress_template(x->name, f->module)) ||
		    (f->whole != NULL && suppress_template(x->name, f->whole)) ||
		    (f->function != NULL && suppress_template(x->name, f->function)) ||
		    (f->file != NULL && suppress_template(x->name, f->file)))
			return true;
	}
	return false;
}

size_t
suppress_find(const struct suppress_set *set, enum suppress_about about, unsigned kinds,
	      const struct loss_stack *stack)
{
	bool *at = xcalloc(stack->frames.len + 1, sizeof *at);
	size_t found = SIZE_MAX;

	for (size_t i = set->order.len; i > 0 && found == SIZE_MAX; i--) {
		const struct suppress *x = &set->all.data[set->order.data[i - 1]];
		bool leak = about == SUPPRESS_LEAK;

		if (leak && x->about == SUPPRESS_LSAN) {
			/* LSan knows no others to hide. */
			if ((kinds & 1u << PROF_LOSS_REACHABLE) == 0 &&
			    suppress_is_lsan(x, stack))
				found = i - 1;
		} else if (x->about == about && (!leak || (x->kinds & kinds) != 0) &&
			   suppress_is_stack(x, stack, at)) {
			found = i - 1;
		}
	}
	free(at);
	return found;
}
