/* SPDX-License-Identifier: MIT */
/* naming.c -- SEEP=name=%e.%p: the file name of a recording. See naming.h.
 *
 * The tool knows live recordings by the ending, so that is there whatever the pattern
 * says. Nothing is opened here; that no two recordings get one name is up to O_EXCL. */
#include "guest/record/file/naming.h"

#include "guest/rt/rt_text.h"

#include <string.h>

static const char ending[] = ".live";
static const char deleted[] = " (deleted)"; /* the kernel's word behind a path */

enum { PROGRAM_BYTES = 64 }; /* of the program's name; more is cut off */

static bool
ends_with(const char *s, size_t n, const char *with)
{
	size_t m = text_len(with);

	return n >= m && memcmp(s + n - m, with, m) == 0;
}

bool
naming_valid(const char *pattern)
{
	if (pattern[0] == '\0' || text_same(pattern, ending))
		return false;
	for (const char *s = pattern; *s != '\0'; s++) {
		if (*s == '/' || (unsigned char)*s < ' ' || *s == 0x7f)
			return false;
		if (*s != '%')
			continue;
		s++;
		if (*s != 'e' && *s != 'p' && *s != 'n' && *s != '%')
			return false;
	}
	return true;
}

/* Last part of the path; what could hide in a listing is shown as '_'. */
static void
add_program(struct text *t, const char *path)
{
	size_t n = text_len(path), from;

	if (ends_with(path, n, deleted))
		n -= sizeof(deleted) - 1;
	for (from = n; from > 0 && path[from - 1] != '/';)
		from--;
	if (n - from > PROGRAM_BYTES)
		n = from + PROGRAM_BYTES;
	if (n == from)
		text_add(t, "unknown");
	for (; from < n; from++) {
		unsigned char c = (unsigned char)path[from];

		text_addn(t, c < ' ' || c == 0x7f ? "_" : &path[from], 1);
	}
}

bool
naming_expand(const char *pattern, const struct naming *n, char *ret)
{
	struct text t = text_on(ret, NAMING_FILE_BYTES);
	size_t length = text_len(pattern);
	bool numbered = false;

	if (ends_with(pattern, length, ending))
		length -= sizeof(ending) - 1;
	for (size_t i = 0; i < length; i++) {
		if (pattern[i] != '%' || i + 1 == length) {
			text_addn(&t, &pattern[i], 1);
			continue;
		}
		i++;
		if (pattern[i] == 'e')
			add_program(&t, n->program);
		else if (pattern[i] == 'p')
			text_dec(&t, n->pid);
		else if (pattern[i] == 'n')
			text_dec(&t, n->number);
		else
			text_addn(&t, "%", 1);
		numbered = numbered || pattern[i] == 'n';
	}
	if (!numbered && n->number != 0) {
		text_add(&t, ".");
		text_dec(&t, n->number);
	}
	text_add(&t, ending);
	return !t.cut;
}
