/* SPDX-License-Identifier: MIT */
/* verdict_colour.c -- see verdict_colour.h. */
#include "tool/render/verdict_colour.h"

#include <stddef.h>

void
verdict_colour(struct buf *out, enum verdict_word word, const struct term *t)
{
	static const enum term_style styles[] = {
		[VERDICT_SEVERITY_OK] = TERM_GOOD,
		[VERDICT_SEVERITY_UNKNOWN] = TERM_WARN,
		[VERDICT_SEVERITY_WARNING] = TERM_WARN,
		[VERDICT_SEVERITY_ERROR] = TERM_BAD,
	};

	if (t == NULL) {
		buf_add_str(out, verdict_word_name(word));
		return;
	}
	buf_printf(out, "%s%s%s%s", term_on(t, TERM_BOLD),
		   term_on(t, styles[verdict_severity(word)]), verdict_word_name(word),
		   term_off(t));
}
