/* SPDX-License-Identifier: MIT */
/* filter_tag.c -- --tagfocus and --tagignore: stacks chosen by their labels, as pprof
 * does.
 *
 * [KEY=]RANGE asks numbers: "32kb" equals, ":64kb" and "4mb:" are open, "12kb:64mb" has
 * both ends. A range without a unit only fits numbers without a unit of size or time.
 * Anything else is [KEY=]RE[,RE…] and asks texts: with a key one expression must match
 * one of its texts, without one each expression must match some "key:text". */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shared/compiler.h"
#include "tool/analyze/graph/filter_impl.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

struct filter_tag {
	char *key; /* NULL = any */
	bool range, has_min, has_max;
	double min, max; /* in the base unit of the family */
	double factor;	 /* of the unit that the first number had */
	int family;	 /* 0: no unit that is known */
	VEC(struct re *) res;
};

/* Units by family: 1 bytes, 2 seconds. pprof takes an s at the end off, and case does not
 * count. */
static const struct {
	const char *name;
	int family;
	double factor;
} filter_units[] = {
	{"b", 1, 1},
	{"byte", 1, 1},
	{"kb", 1, 1024.0},
	{"kbyte", 1, 1024.0},
	{"kilobyte", 1, 1024.0},
	{"mb", 1, 1048576.0},
	{"mbyte", 1, 1048576.0},
	{"megabyte", 1, 1048576.0},
	{"gb", 1, 1073741824.0},
	{"gbyte", 1, 1073741824.0},
	{"gigabyte", 1, 1073741824.0},
	{"tb", 1, 1099511627776.0},
	{"tbyte", 1, 1099511627776.0},
	{"terabyte", 1, 1099511627776.0},
	{"pb", 1, 1125899906842624.0},
	{"pbyte", 1, 1125899906842624.0},
	{"petabyte", 1, 1125899906842624.0},
	{"ns", 2, 1e-9},
	{"nanosecond", 2, 1e-9},
	{"us", 2, 1e-6},
	{"\xce\xbcs", 2, 1e-6},
	{"microsecond", 2, 1e-6},
	{"ms", 2, 1e-3},
	{"millisecond", 2, 1e-3},
	{"s", 2, 1},
	{"sec", 2, 1},
	{"second", 2, 1},
	{"hour", 2, 3600},
	{"hr", 2, 3600},
};

static int
filter_family(const char *unit, double *ret_factor)
{
	size_t n = strlen(unit);

	*ret_factor = 1;
	if (n > 2 && unit[n - 1] == 's')
		n--;
	for (size_t i = 0; i < ARRAY_LEN(filter_units); i++) {
		if (strlen(filter_units[i].name) == n &&
		    strncasecmp(unit, filter_units[i].name, n) == 0) {
			*ret_factor = filter_units[i].factor;
			return filter_units[i].family;
		}
	}
	return 0;
}

/* A number and letters behind it; NULL when there is none. */
static const char *
filter_number(const char *s, double *ret_number, char **ret_unit)
{
	const char *digits = s + (*s == '+' || *s == '-');
	char *end;
	size_t n = 0;

	if (*digits < '0' || *digits > '9')
		return NULL;
	*ret_number = (double)strtoll(s, &end, 10);
	while ((end[n] >= 'a' && end[n] <= 'z') || (end[n] >= 'A' && end[n] <= 'Z'))
		n++;
	*ret_unit = xmemdup0(end, n);
	return end + n;
}

/* Reads a range into `t`; false when the text is none. */
static bool
filter_tag_range(struct filter_tag *t, const char *text)
{
	char *unit = NULL, *unit2 = NULL;
	double factor, n = 0, n2 = 0;
	bool open_low = text[0] == ':', ok = true;
	const char *s = filter_number(text + open_low, &n, &unit);
	int family2;

	if (s == NULL)
		return false;
	t->family = filter_family(unit, &factor);
	t->factor = factor;
	t->min = t->max = n * factor;
	t->has_min = !open_low;
	t->has_max = true;
	if (!open_low && s[0] == ':' && s[1] == '\0') {
		t->has_max = false;
	} else if (!open_low && s[0] == ':') {
		s = filter_number(s + 1, &n2, &unit2);
		family2 = s != NULL ? filter_family(unit2, &factor) : 0;
		/* "12:64mb" is not one range but two, and so an expression. */
		ok = s != NULL && *s == '\0' && family2 == t->family &&
		     (family2 != 0 || strcmp(unit, unit2) == 0);
		t->max = n2 * factor;
	} else {
		ok = *s == '\0';
	}
	t->range = ok;
	free(unit);
	free(unit2);
	return ok;
}

int
filter_tag_new(const char *text, struct filter_tag **ret_tag, struct err *e)
{
	struct filter_tag *t = xcalloc(1, sizeof *t);
	const char *equals = strchr(text, '=');
	char *words, *word, *rest;
	int r = 0;

	if (equals != NULL) {
		t->key = xmemdup0(text, (size_t)(equals - text));
		text = equals + 1;
	}
	if (!filter_tag_range(t, text)) {
		words = rest = xstrdup(text);
		while (r == 0 && (word = strsep(&rest, ",")) != NULL) {
			struct re *re = NULL;

			r = re_new(word, &re, e);
			if (r == 0)
				vec_push(&t->res, re);
		}
		free(words);
	}
	if (r == 0)
		*ret_tag = TAKE(t);
	filter_tag_free(t);
	return r;
}

void
filter_tag_free(struct filter_tag *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->res.len; i++)
		re_free(t->res.data[i]);
	vec_done(&t->res);
	free(t->key);
	free(t);
}

/* pprof's guess at the unit of a number that has none. */
static const char *
filter_unit(const struct prof *p, const struct prof_label *l)
{
	const char *key = prof_text(p, l->key);

	if (l->unit != 0)
		return prof_text(p, l->unit);
	return strcmp(key, "alignment") == 0 || strcmp(key, "request") == 0 ? "bytes"
									    : key;
}

static bool
filter_in_range(const struct filter_tag *t, const struct prof *p,
		const struct prof_label *l)
{
	double factor, n;
	int family = filter_family(filter_unit(p, l), &factor);

	if (family != 0 && family != t->family)
		return false;
	/* What is of no family is taken to be in the unit that was asked for. */
	n = (double)l->number * (family != 0 ? factor : t->factor);
	return (!t->has_min || n >= t->min) && (!t->has_max || n <= t->max);
}

static bool
filter_label_text(const struct re *re, const struct prof *p, const struct prof_label *l,
		  bool with_key)
{
	char *both;
	bool met;

	if (!with_key)
		return re_matches(re, prof_text(p, l->text));
	both = xasprintf("%s:%s", prof_text(p, l->key), prof_text(p, l->text));
	met = re_matches(re, both);
	free(both);
	return met;
}

/* The labels of one site against one of the options. */
static bool
filter_tag_matches(const struct filter_tag *t, const struct prof *p,
		   const uint32_t *labels, size_t n)
{
	size_t met = 0;

	for (size_t k = 0; k < n && t->range; k++) {
		const struct prof_label *l = &p->labels[labels[k]];

		if (l->text == 0 &&
		    (t->key == NULL || strcmp(t->key, prof_text(p, l->key)) == 0) &&
		    filter_in_range(t, p, l))
			return true;
	}
	for (size_t i = 0; i < t->res.len; i++) {
		bool found = false;

		for (size_t k = 0; k < n && !found; k++) {
			const struct prof_label *l = &p->labels[labels[k]];

			if (l->text == 0 ||
			    (t->key != NULL && strcmp(t->key, prof_text(p, l->key)) != 0))
				continue;
			found = filter_label_text(t->res.data[i], p, l, t->key == NULL);
		}
		met += found;
	}
	if (t->range)
		return false;
	return t->key != NULL ? met > 0 : met == t->res.len;
}

/* Labels in the order of their sites; starts has one entry more than there are sites. */
static uint32_t *
filter_labels_by_site(const struct prof *p, uint32_t **ret_starts)
{
	uint32_t *starts = xcalloc((size_t)p->nsites + 2, sizeof *starts);
	uint32_t *order = xcalloc(p->nlabels, sizeof *order);

	for (uint32_t i = 0; i < p->nlabels; i++)
		starts[p->labels[i].site + 2]++;
	for (uint32_t i = 2; i < p->nsites + 2; i++)
		starts[i] += starts[i - 1];
	for (uint32_t i = 0; i < p->nlabels; i++)
		order[starts[p->labels[i].site + 1]++] = i;
	*ret_starts = starts;
	return order;
}

void
filter_run_tags(struct filter_run *r, const struct graph_filter *f, const struct prof *p)
{
	const struct filter_tag *focus = f->tags[0], *ignore = f->tags[1];
	bool focused = false, ignored = false;
	uint32_t *starts, *order;

	if (focus == NULL && ignore == NULL)
		return;
	order = filter_labels_by_site(p, &starts);
	r->sites = xcalloc(p->nsites, sizeof *r->sites);
	for (uint32_t i = 1; i < p->nsites; i++) {
		const uint32_t *labels = order + starts[i];
		size_t n = starts[i + 1] - starts[i];
		bool in = focus == NULL || filter_tag_matches(focus, p, labels, n);
		bool out = ignore != NULL && filter_tag_matches(ignore, p, labels, n);

		focused = focused || in;
		ignored = ignored || out;
		r->sites[i] = in && !out;
	}
	if (focus != NULL && !focused)
		r->unmatched |= 1u << FILTER_TAGFOCUS;
	if (ignore != NULL && !ignored)
		r->unmatched |= 1u << FILTER_TAGIGNORE;
	free(order);
	free(starts);
}
