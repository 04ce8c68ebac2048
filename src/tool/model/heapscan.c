/* SPDX-License-Identifier: MIT */
/* heapscan.c -- see heapscan.h. */
#include "tool/model/heapscan.h"

#include <stdarg.h>
#include <stdlib.h>

#include "tool/util/clean.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

struct heapscan_sum
heapscan_total(const struct heapscan *h)
{
	struct heapscan_sum all = {0};

	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		all.blocks += h->sums[i].blocks;
		all.bytes += h->sums[i].bytes;
	}
	return all;
}

struct heapscan_sum
heapscan_group_total(const struct heapscan_group *g)
{
	struct heapscan_sum all = {0};

	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		all.blocks += g->sums[i].blocks;
		all.bytes += g->sums[i].bytes;
	}
	return all;
}

const char *
heapscan_text(const struct heapscan *h, uint32_t id)
{
	return strtab_str(&h->strings, id);
}

void
heapscan_note(struct heapscan *h, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	text = x_vasprintf(fmt, ap);
	va_end(ap);
	vec_push(&h->notes, strtab_add(&h->strings, text));
	free(text);
}

void
heapscan_done(struct heapscan *h)
{
	strtab_done(&h->strings);
	vec_done(&h->groups);
	vec_done(&h->holders);
	vec_done(&h->arenas);
	vec_done(&h->notes);
	vec_done(&h->rounds);
	vec_done(&h->moments);
	*h = (struct heapscan){0};
}

void
heapscan_group_words(struct buf *out, const struct heapscan *s,
		     const struct heapscan_group *g)
{
	const char *type = heapscan_text(s, g->type);
	const char *pattern = heapscan_text(s, g->pattern);

	if (g->least != 0)
		buf_printf(out, "%s to ", fmt_count(g->least).s);
	buf_printf(out, "%s bytes each", fmt_count(g->size).s);
	if (type[0] != '\0') {
		buf_add_str(out, ", ");
		clean_text(out, type);
	} else if (pattern[0] != '\0') {
		buf_add_str(out, ": ");
		clean_text(out, pattern);
	}
}
