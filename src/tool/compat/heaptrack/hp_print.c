/* SPDX-License-Identifier: MIT */
/* hp_print.c -- the sections of heaptrack_print: see hp.h.
 *
 * A figure of bytes has two decimal places and one letter, and steps of 1,000. Which
 * figures have decimal places depends on what was printed before them, as it does there:
 * the running time is the one that shows it. */
#include <inttypes.h>
#include <string.h>

#include "hp.h"

/* ---- figures and names ---- */

static void
hp_bytes(struct hp *p, int64_t bytes, bool wide)
{
	static const char *const units[] = {"B", "KB", "MB", "GB", "TB"};
	double v = (double)bytes;
	size_t i = 0;

	p->two_digits = true;
	for (; i < 4 && (v > 1000 || v < -1000); i++)
		v /= 1000;
	if (wide && i == 0)
		buf_printf(&p->out, "%15" PRId64 "B", bytes);
	else if (wide)
		buf_printf(&p->out, "%14.2f%s", v, units[i]);
	else if (i == 0)
		buf_printf(&p->out, "%" PRId64 "B", bytes);
	else
		buf_printf(&p->out, "%.2f%c", v, units[i][0]);
}

/* Whether the name up to here is an operator whose own sign follows: <, <<, <=, ->. */
static bool
hp_is_operator(const char *name, const char *at)
{
	static const char word[] = "operator";
	size_t n = sizeof word - 1;

	while (at > name && strchr("<>-", at[-1]) != NULL)
		at--;
	return (size_t)(at - name) >= n && memcmp(at - n, word, n) == 0;
}

void
hp_add_name(struct hp *p, const char *name)
{
	unsigned depth = 0;

	if (!p->shorten) {
		buf_add_str(&p->out, name);
		return;
	}
	for (const char *at = name; *at != '\0'; at++) {
		if ((*at != '<' && *at != '>') ||
		    (depth == 0 && hp_is_operator(name, at))) {
			if (depth == 0)
				buf_add_char(&p->out, *at);
		} else if (*at == '<') {
			if (depth++ == 0)
				buf_add_char(&p->out, *at);
		} else if (depth > 0 && --depth == 0) {
			buf_add_char(&p->out, *at);
		}
	}
}

static void
hp_indent(struct hp *p, unsigned indent)
{
	buf_printf(&p->out, "%*s", (int)(2 * indent), "");
}

static void
hp_source(struct hp *p, const struct ht_frame *f)
{
	buf_printf(&p->out, "at %s:%u\n", ht_text(&p->h, f->file), f->line);
}

static void
hp_print_ip(struct hp *p, uint32_t number, unsigned indent)
{
	const struct ht_ip *ip = ht_ip(&p->h, number);

	hp_indent(p, indent);
	if (ip->frame.function != 0)
		hp_add_name(p, ht_text(&p->h, ip->frame.function));
	else
		buf_printf(&p->out, "0x%" PRIx64, ip->address);
	buf_add_char(&p->out, '\n');
	hp_indent(p, indent + 1);
	if (ip->frame.file != 0) {
		hp_source(p, &ip->frame);
		hp_indent(p, indent + 1);
	}
	buf_printf(&p->out, "in %s\n",
		   ip->module != 0 ? ht_text(&p->h, ip->module) : "??");
	for (uint32_t i = 0; i < ip->ninlined; i++) {
		const struct ht_frame *f = &p->h.inlined.data[ip->inlined + i];

		hp_indent(p, indent);
		hp_add_name(p, ht_text(&p->h, f->function));
		buf_add_char(&p->out, '\n');
		hp_indent(p, indent + 1);
		hp_source(p, f);
	}
}

/* The frames of a stack up to main; without the first one, which was printed before. */
static void
hp_print_stack(struct hp *p, uint32_t trace, unsigned indent, bool skip)
{
	struct ht_trace t;

	if (trace == 0)
		buf_add_str(&p->out, "  ??");
	for (t = ht_trace(&p->h, trace); t.ip != 0; t = ht_trace(&p->h, t.parent)) {
		if (!skip)
			hp_print_ip(p, t.ip, indent);
		skip = false;
		if (hp_is_stop(&p->h, ht_ip(&p->h, t.ip)->frame.function))
			break;
	}
}

/* ---- sections ---- */

static void
hp_label(struct hp *p, enum hp_figure by, const struct hp_alloc *a, bool stack)
{
	struct buf *o = &p->out;
	const char *end = stack ? "from:" : "from";

	switch (by) {
	case HP_ALLOCATIONS:
		buf_printf(o, "%" PRId64 " calls%s with ", a->v[HP_ALLOCATIONS],
			   stack ? "" : " to allocation functions");
		hp_bytes(p, a->v[HP_PEAK], false);
		buf_printf(o, " peak consumption %s\n", end);
		break;
	case HP_TEMPORARY:
		p->two_digits = true;
		buf_printf(o,
			   "%" PRId64 " temporary allocations of %" PRId64
			   " allocations in total (%.2f%%) %s\n",
			   a->v[HP_TEMPORARY], a->v[HP_ALLOCATIONS],
			   (double)((float)a->v[HP_TEMPORARY] * 100.f /
				    (float)a->v[HP_ALLOCATIONS]),
			   end);
		break;
	case HP_LEAKED:
	case HP_PEAK:
	default:
		hp_bytes(p, a->v[by], false);
		buf_printf(o, " %s%s over %" PRId64 " calls %s\n",
			   by == HP_PEAK && !stack ? "peak memory " : "",
			   by == HP_PEAK ? "consumed" : "leaked", a->v[HP_ALLOCATIONS],
			   end);
		break;
	}
}

static void
hp_place(struct hp *p, enum hp_figure by, const struct hp_alloc *place)
{
	struct hp_alloc *stacks = &p->traces.data[place->first];
	int64_t shown = 0;

	hp_sort(stacks, place->n, by);
	for (size_t i = 0; i < place->n && i < p->sub_limit && stacks[i].v[by] != 0;
	     i++) {
		hp_label(p, by, &stacks[i], true);
		shown += stacks[i].v[by];
		hp_print_stack(p, stacks[i].trace, 2, true);
	}
	if (place->n > p->sub_limit) {
		buf_add_str(&p->out, "  and ");
		if (by == HP_ALLOCATIONS)
			buf_printf(&p->out, "%" PRId64, place->v[by] - shown);
		else
			hp_bytes(p, place->v[by] - shown, false);
		buf_printf(&p->out, " from %" PRIu64 " other places\n",
			   place->n - p->sub_limit);
	}
	buf_add_char(&p->out, '\n');
}

void
hp_print_section(struct hp *p, enum hp_figure by)
{
	static const char *const titles[] = {
		[HP_ALLOCATIONS] = "MOST CALLS TO ALLOCATION FUNCTIONS",
		[HP_TEMPORARY] = "MOST TEMPORARY ALLOCATIONS",
		[HP_LEAKED] = "MEMORY LEAKS",
		[HP_PEAK] = "PEAK MEMORY CONSUMERS",
	};
	struct hp_allocs *all = p->merge ? &p->places : &p->stacks;

	buf_printf(&p->out, "%s\n", titles[by]);
	hp_sort(all->data, all->len, by);
	for (size_t i = 0; i < all->len && i < p->limit; i++) {
		const struct hp_alloc *a = &all->data[i];

		if (a->v[by] == 0)
			break;
		hp_label(p, by, a, false);
		if (!p->merge) {
			hp_print_stack(p, a->trace, 1, false);
			buf_add_char(&p->out, '\n');
			continue;
		}
		hp_print_ip(p, a->ip, 0);
		if (a->ip != 0)
			hp_place(p, by, a);
	}
	buf_add_str(&p->out, p->merge ? "\n" : "\n\n");
}

void
hp_print_totals(struct hp *p, bool suppressions)
{
	struct buf *o = &p->out;
	double a_second = p->total_ms != 0 ? 1000.0 / (double)p->total_ms : 1;

	buf_printf(o, "total runtime: %.*fs.\n", p->two_digits ? 2 : 6,
		   (double)p->total_ms / 1000);
	buf_printf(o,
		   "calls to allocation functions: %" PRId64 " (%" PRId64 "/s)\n"
		   "temporary memory allocations: %" PRId64 " (%" PRId64 "/s)\n",
		   p->total[HP_ALLOCATIONS],
		   (int64_t)((double)p->total[HP_ALLOCATIONS] * a_second),
		   p->total[HP_TEMPORARY],
		   (int64_t)((double)p->total[HP_TEMPORARY] * a_second));
	buf_add_str(o, "peak heap memory consumption: ");
	hp_bytes(p, p->total[HP_PEAK], false);
	buf_add_str(o, "\npeak RSS (including heaptrack overhead): ");
	hp_bytes(p, p->rss_bytes, false);
	buf_add_str(o, "\ntotal memory leaked: ");
	hp_bytes(p, p->total[HP_LEAKED], false);
	buf_add_char(o, '\n');
	if (p->suppressed == 0)
		return;
	buf_add_str(o, "suppressed leaks: ");
	hp_bytes(p, p->suppressed, false);
	buf_add_char(o, '\n');
	if (!suppressions)
		return;
	buf_printf(o, "Suppressions used:\n%16s %16s pattern\n", "matches", "leaked");
	for (size_t i = 0; i < p->suppressions.len; i++) {
		const struct hp_suppression *s = &p->suppressions.data[i];

		if (s->matches == 0)
			continue;
		buf_printf(o, "%16" PRIu64 " ", s->matches);
		hp_bytes(p, s->leaked, true);
		buf_printf(o, " %s\n", s->pattern);
	}
}
