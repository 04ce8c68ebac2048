/* SPDX-License-Identifier: MIT */
/* opt.c -- reads command lines by a table and prints the table as help.
 *
 * One pass over argv. Each word gives a row and perhaps an argument text; the text is
 * turned into a value by the row's kind, and stored or handed to the row's setter. */
#include "tool/util/cmdline/opt.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define OPT_WORD_MAX 63
#define OPT_HELP_COLUMN 26
#define OPT_DEFAULT_COLUMNS 80
#define OPT_LEAST_HELP 20

const struct opt *
opt_find(const struct opt *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

static const struct opt *
opt_find_n(const struct opt *table, const char *name, size_t n)
{
	for (; table->name != NULL; table++)
		if (strncmp(table->name, name, n) == 0 && table->name[n] == '\0')
			return table;
	return NULL;
}

static const struct opt *
opt_find_short(const struct opt *table, char c)
{
	for (; table->name != NULL; table++)
		if (table->short_name != 0 && table->short_name == c)
			return table;
	return NULL;
}

static unsigned
opt_min(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned
opt_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned rows[3][OPT_WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *now = rows[2], *spare;

	if (na > OPT_WORD_MAX || nb > OPT_WORD_MAX)
		return UINT_MAX;
	memset(rows, 0, sizeof rows);
	for (size_t j = 0; j <= nb; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= nb; j++) {
			now[j] = opt_min(last[j] + 1, now[j - 1] + 1);
			now[j] = opt_min(now[j], last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = opt_min(now[j], before[j - 2] + 1);
		}
		spare = before;
		before = last;
		last = now;
		now = spare;
	}
	return last[nb];
}

bool
opt_is_near(const char *word, const char *known)
{
	size_t n = strlen(word);

	if (n >= 2 && strncmp(word, known, n) == 0)
		return true;
	return n >= 2 && opt_distance(word, known) <= (n + 2) / 3;
}

static int
opt_unknown(const struct opt *table, const char *name, size_t n, struct err *e)
{
	const struct opt *best = NULL;
	unsigned best_distance = UINT_MAX, d;
	char word[OPT_WORD_MAX + 1];

	if (n <= OPT_WORD_MAX) {
		memcpy(word, name, n);
		word[n] = '\0';
		for (const struct opt *o = table; o->name != NULL; o++) {
			d = opt_distance(word, o->name);
			if (!opt_is_near(word, o->name) || d >= best_distance)
				continue;
			best = o;
			best_distance = d;
		}
	}
	if (best == NULL)
		return err_set(e, -EINVAL, "unknown option '--%.*s'",
			       (int)opt_min((unsigned)n, 200), name);
	return err_set(e, -EINVAL, "unknown option '--%s'; did you mean '--%s'?", word,
		       best->name);
}

static const char *
opt_metavar(const struct opt *o)
{
	static const char *const words[] = {
		[OPT_NONE] = "",     [OPT_STRING] = "TEXT",
		[OPT_SIZE] = "SIZE", [OPT_DURATION] = "TIME",
		[OPT_U64] = "N",     [OPT_SIZE_OPTIONAL] = "SIZE",
		[OPT_FLOAT] = "X",
	};

	return o->metavar != NULL ? o->metavar : words[o->kind];
}

static int
opt_u64(const char *text, uint64_t *ret)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *digits = hex ? text + 2 : text;
	unsigned long long x;
	char *end;

	/* strtoull would take blanks and signs */
	if (strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") !=
		    strlen(digits) ||
	    digits[0] == '\0')
		return -EINVAL;
	errno = 0;
	x = strtoull(digits, &end, hex ? 16 : 10);
	if (errno != 0)
		return -errno;
	*ret = x;
	return 0;
}

static int
opt_f64(const char *text, double *ret)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end != '\0' || !isfinite(x))
		return -EINVAL;
	*ret = x;
	return 0;
}

/* Turns the text into the kind's value. */
static int
opt_convert(const struct opt *o, struct opt_value *v, struct err *e)
{
	static const char *const wants[] = {
		[OPT_SIZE] = "a size such as 512K, 1.5M or 2GiB",
		[OPT_SIZE_OPTIONAL] = "a size such as 512K, 1.5M or 2GiB",
		[OPT_DURATION] = "a time such as 500ms, 60s, 10m or 2h",
		[OPT_U64] = "a whole number",
		[OPT_FLOAT] = "a number",
	};
	int r = 0;

	if (v->text == NULL)
		return 0;
	switch (o->kind) {
	case OPT_SIZE:
	case OPT_SIZE_OPTIONAL:
		r = opt_size(v->text, &v->u64);
		break;
	case OPT_DURATION:
		r = opt_duration(v->text, &v->u64);
		break;
	case OPT_U64:
		r = opt_u64(v->text, &v->u64);
		break;
	case OPT_FLOAT:
		r = opt_f64(v->text, &v->f64);
		break;
	case OPT_NONE:
	case OPT_STRING:
		break;
	}
	if (r == -ERANGE)
		return err_set(e, -EINVAL, "--%s: '%.100s' is too large", o->name,
			       v->text);
	if (r < 0)
		return err_set(e, -EINVAL, "--%s: '%.100s' is not %s", o->name, v->text,
			       wants[o->kind]);
	return 0;
}

int
opt_ignore(void *to, const struct opt *o, const struct opt_value *v, struct err *e)
{
	(void)to, (void)o, (void)v, (void)e;
	return 0;
}

int
opt_put(const struct opt *o, const struct opt_value *v, void *given, struct err *e)
{
	void *to = given != NULL ? (char *)given + o->at : NULL;

	if (o->set != NULL)
		return o->set(to, o, v, e);
	if (to == NULL)
		return 0;
	switch (o->kind) {
	case OPT_NONE:
		*(bool *)to = v->text == NULL;
		break;
	case OPT_STRING:
		*(const char **)to = v->text;
		break;
	case OPT_SIZE:
	case OPT_DURATION:
	case OPT_U64:
		*(uint64_t *)to = v->u64;
		break;
	case OPT_SIZE_OPTIONAL:
		*(struct opt_optional *)to =
			(struct opt_optional){true, v->text != NULL, v->u64};
		break;
	case OPT_FLOAT:
		*(double *)to = v->f64;
		break;
	}
	return 0;
}

static int
opt_store(const struct opt *o, const char *text, void *given, struct err *e)
{
	struct opt_value v = {.text = text};
	int r = opt_convert(o, &v, e);

	return r < 0 ? r : opt_put(o, &v, given, e);
}

/* Gives the option its argument: `attached` if there is one, else the next word where the
 * kind wants it; *at moves past every word used. */
static int
opt_take(const struct opt *o, const char *attached, int argc, char *const *argv, int *at,
	 void *given, struct err *e)
{
	const char *text = attached;
	uint64_t ignored;
	int used = 1, r;

	if (o->kind == OPT_NONE && attached != NULL)
		return err_set(e, -EINVAL, "--%s takes no argument ('%.100s')", o->name,
			       attached);
	if (text == NULL && o->kind == OPT_SIZE_OPTIONAL) {
		if (*at + 1 < argc && opt_size(argv[*at + 1], &ignored) == 0)
			text = argv[*at + used++];
	} else if (text == NULL && o->kind != OPT_NONE) {
		if (*at + 1 >= argc)
			return err_set(e, -EINVAL, "--%s needs an argument: %s", o->name,
				       opt_metavar(o));
		text = argv[*at + used++];
	}
	r = opt_store(o, text, given, e);
	if (r == 0)
		*at += used;
	return r;
}

static int
opt_long(const struct opt *table, int argc, char *const *argv, int *at, void *given,
	 struct err *e)
{
	const char *word = argv[*at] + 2;
	size_t n = strcspn(word, "=");
	const struct opt *o = opt_find_n(table, word, n);

	if (o == NULL)
		return opt_unknown(table, word, n, e);
	return opt_take(o, word[n] == '=' ? word + n + 1 : NULL, argc, argv, at, given,
			e);
}

static int
opt_short(const struct opt *table, int argc, char *const *argv, int *at, void *given,
	  struct err *e)
{
	const char *c = argv[*at] + 1;
	const struct opt *o;
	int r;

	for (;; c++) {
		o = opt_find_short(table, *c);
		if (o == NULL)
			return strlen(argv[*at]) == 2
				       ? err_set(e, -EINVAL, "unknown option '%s'",
						 argv[*at])
				       : err_set(e, -EINVAL,
						 "unknown option '-%.1s' in '%.100s'", c,
						 argv[*at]);
		if (o->kind != OPT_NONE || c[1] == '\0')
			break;
		r = opt_store(o, NULL, given, e);
		if (r < 0)
			return r;
	}
	return opt_take(o, c[1] != '\0' ? c + 1 : NULL, argc, argv, at, given, e);
}

int
opt_parse(const struct opt *table, int argc, char *const *argv, int *at, void *given,
	  struct err *e)
{
	const char *word;
	int r;

	while (*at < argc) {
		word = argv[*at];
		if (word[0] != '-' || word[1] == '\0')
			return 0;
		if (strcmp(word, "--") == 0) {
			++*at;
			return 0;
		}
		r = word[1] == '-' ? opt_long(table, argc, argv, at, given, e)
				   : opt_short(table, argc, argv, at, given, e);
		if (r < 0)
			return r;
	}
	return 0;
}

static size_t
opt_pad(struct buf *b, size_t line_start, size_t column)
{
	while (b->len - line_start < column)
		buf_add_char(b, ' ');
	return b->len - line_start;
}

/* Words of `help` from the current column on, wrapped under their first. */
static void
opt_help(struct buf *b, const char *help, size_t line_start, unsigned columns)
{
	size_t n;
	bool first = true;

	for (; *help != '\0'; help += n) {
		while (*help == ' ')
			help++;
		n = strcspn(help, " ");
		if (n == 0)
			break;
		if (!first && b->len - line_start + 1 + n > columns) {
			buf_add_char(b, '\n');
			line_start = b->len;
			opt_pad(b, line_start, OPT_HELP_COLUMN);
		} else if (!first) {
			buf_add_char(b, ' ');
		}
		buf_add(b, help, n);
		first = false;
	}
	buf_add_char(b, '\n');
}

void
opt_usage(const struct opt *table, unsigned columns, struct buf *ret_text)
{
	struct buf *b = ret_text;
	size_t start;

	if (columns == 0)
		columns = OPT_DEFAULT_COLUMNS;
	if (columns < OPT_HELP_COLUMN + OPT_LEAST_HELP)
		columns = OPT_HELP_COLUMN + OPT_LEAST_HELP;
	for (const struct opt *o = table; o->name != NULL; o++) {
		if (o->help == NULL)
			continue;
		start = b->len;
		if (o->short_name != 0)
			buf_printf(b, "  -%c, --%s", o->short_name, o->name);
		else
			buf_printf(b, "      --%s", o->name);
		if (o->kind == OPT_SIZE_OPTIONAL)
			buf_printf(b, " [%s]", opt_metavar(o));
		else if (o->kind != OPT_NONE)
			buf_printf(b, " %s", opt_metavar(o));
		if (b->len - start > OPT_HELP_COLUMN - 2) {
			buf_add_char(b, '\n');
			start = b->len;
		}
		opt_pad(b, start, OPT_HELP_COLUMN);
		opt_help(b, o->help, start, columns);
	}
}
