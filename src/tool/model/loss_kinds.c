/* SPDX-License-Identifier: MIT */
/* loss_kinds.c -- see loss_kinds.h: names of the kinds, and reading sets of them. */
#include "tool/model/loss_kinds.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

const char *const loss_kind_names[PROF_LOSS_KINDS] = {
	[PROF_LOSS_DEFINITE] = "definite",     [PROF_LOSS_INDIRECT] = "indirect",
	[PROF_LOSS_POSSIBLE] = "possible",     [PROF_LOSS_REACHABLE] = "reachable",
	[PROF_LOSS_SUPPRESSED] = "suppressed",
};

const char *const loss_kind_words[PROF_LOSS_KINDS] = {
	[PROF_LOSS_DEFINITE] = "definitely lost",
	[PROF_LOSS_INDIRECT] = "indirectly lost",
	[PROF_LOSS_POSSIBLE] = "possibly lost",
	[PROF_LOSS_REACHABLE] = "still reachable",
	[PROF_LOSS_SUPPRESSED] = "suppressed",
};

static bool
loss_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One word of the set. */
static int
loss_kind_read(const char *at, size_t n, unsigned *kinds)
{
	while (n > 0 && loss_is_blank(at[0])) {
		at++;
		n--;
	}
	while (n > 0 && loss_is_blank(at[n - 1]))
		n--;
	if (n == 3 && memcmp(at, "all", 3) == 0) {
		*kinds |= LOSS_KINDS_ALL;
		return 0;
	}
	for (unsigned i = 0; i < PROF_LOSS_SUPPRESSED; i++) {
		if (strlen(loss_kind_names[i]) == n &&
		    memcmp(at, loss_kind_names[i], n) == 0) {
			*kinds |= 1u << i;
			return 0;
		}
	}
	return n == 4 && memcmp(at, "none", 4) == 0 && *kinds == 0 ? 0 : -EINVAL;
}

int
loss_kinds_read(const char *text, size_t bytes, unsigned *ret_kinds)
{
	const char *end = text + bytes;
	unsigned kinds = 0;

	for (;;) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		const char *stop = comma != NULL ? comma : end;

		if (loss_kind_read(text, (size_t)(stop - text), &kinds) < 0)
			return -EINVAL;
		if (comma == NULL)
			break;
		text = comma + 1;
	}
	*ret_kinds = kinds;
	return 0;
}
