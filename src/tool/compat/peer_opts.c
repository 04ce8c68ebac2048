/* SPDX-License-Identifier: MIT */
/* peer_opts.c -- see peer_opts.h. */
#include "tool/compat/peer_opts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- values ---- */

static int
peer_number(const struct opt *o, const char *text, struct opt_value *v, struct err *e)
{
	char *end;

	errno = 0;
	if (o->kind == OPT_FLOAT) {
		v->f64 = strtod(text, &end);
		if (end == text || *end != '\0' || !isfinite(v->f64))
			return err_set(e, -EINVAL, "-%s: \"%s\" is not a number", o->name,
				       text);
		return 0;
	}
	/* A negative count is how pprof says "no limit" (-nodecount=-1). */
	if (text[0] == '-' && strspn(text + 1, "0123456789") == strlen(text + 1) &&
	    text[1] != '\0') {
		v->u64 = 0;
		return 0;
	}
	v->u64 = strtoull(text, &end, 10);
	if (end == text || *end != '\0' || errno != 0 || text[0] == '-')
		return err_set(e, -EINVAL, "-%s: \"%s\" is not a number", o->name, text);
	return 0;
}

static int
peer_switch(const struct opt *o, const char *text, bool *ret_on, struct err *e)
{
	static const char *const yes[] = {"true", "t", "1", "yes", "y", "on"};
	static const char *const no[] = {"false", "f", "0", "no", "n", "off"};

	*ret_on = true;
	for (size_t i = 0; text != NULL; i++) {
		if (i == sizeof yes / sizeof *yes)
			return err_set(e, -EINVAL,
				       "-%s: \"%s\" is neither true nor false", o->name,
				       text);
		if (strcasecmp(text, yes[i]) == 0)
			return 0;
		if (strcasecmp(text, no[i]) == 0) {
			*ret_on = false;
			return 0;
		}
	}
	return 0;
}

int
peer_opt_set(const struct opt *o, const char *text, void *given, struct err *e)
{
	struct opt_value v = {.text = text};
	bool on = true;
	int r = 0;

	if (o->kind == OPT_NONE) {
		r = peer_switch(o, text, &on, e);
		v.text = on ? NULL : "false";
	} else if (text == NULL) {
		return err_set(e, -EINVAL, "-%s needs an argument", o->name);
	} else if (o->kind != OPT_STRING) {
		r = peer_number(o, text, &v, e);
	}
	return r < 0 ? r : opt_put(o, &v, given, e);
}

/* ---- names ---- */

/* The row that `name` of `n` characters means. Several beginnings are as good as none,
 * unless they are one option under two names. */
static int
peer_find(enum peer_style style, const struct opt *table, const char *name, size_t n,
	  const struct opt **ret, struct err *e)
{
	const struct opt *found = NULL, *other = NULL;

	for (const struct opt *o = table; o->name != NULL && n > 0; o++) {
		bool same = style == PEER_PERL ? strncasecmp(o->name, name, n) == 0
					       : strncmp(o->name, name, n) == 0;

		if (!same || (style == PEER_GO && o->name[n] != '\0'))
			continue;
		if (o->name[n] == '\0') {
			*ret = o;
			return 0;
		}
		other = found;
		found = o;
		if (other != NULL)
			break;
	}
	if (found == NULL)
		return -ENOENT;
	if (other != NULL)
		return err_set(e, -EINVAL, "--%.*s could be --%s or --%s", (int)n, name,
			       other->name, found->name);
	*ret = found;
	return 0;
}

static const struct opt *
peer_find_off(enum peer_style style, const struct opt *table, const char *name, size_t n)
{
	const struct opt *o = NULL;
	struct err e;

	if (n < 3 || strncasecmp(name, "no", 2) != 0)
		return NULL;
	name += 2;
	n -= 2;
	if (*name == '-' && n > 1) {
		name++;
		n--;
	}
	if (peer_find(style, table, name, n, &o, &e) < 0 || o->kind != OPT_NONE)
		return NULL;
	return o;
}

/* One option, at argv[*at]; moves on behind it. */
static int
peer_option(enum peer_style style, const struct opt *table, int argc, char **argv,
	    int *at, void *given, struct err *e)
{
	const char *name = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
	const char *value = strchr(name, '=');
	size_t n = value != NULL ? (size_t)(value - name) : strlen(name);
	const struct opt *o = NULL, *off = NULL;
	int r = peer_find(style, table, name, n, &o, e);

	if (value != NULL)
		value++;
	if (r == -ENOENT)
		off = peer_find_off(style, table, name, n);
	if (off != NULL) {
		++*at;
		return peer_opt_set(off, "false", given, e);
	}
	if (r == -ENOENT)
		return err_set(e, -EINVAL, "unknown option %s", argv[*at]);
	if (r < 0)
		return r;
	++*at;
	if (o->kind != OPT_NONE && value == NULL) {
		if (*at == argc)
			return err_set(e, -EINVAL, "--%s needs an argument", o->name);
		value = argv[(*at)++];
	}
	return peer_opt_set(o, value, given, e);
}

int
peer_opts(enum peer_style style, const struct opt *table, int argc, char **argv,
	  void *given, struct peer_words *ret_words, struct err *e)
{
	int r = 0;

	for (int at = 0; at < argc && r == 0;) {
		const char *word = argv[at];

		if (strcmp(word, "--") == 0) {
			for (at++; at < argc; at++)
				vec_push(ret_words, argv[at]);
			break;
		}
		if (word[0] != '-' || word[1] == '\0')
			vec_push(ret_words, argv[at++]);
		else
			r = peer_option(style, table, argc, argv, &at, given, e);
	}
	return r;
}
