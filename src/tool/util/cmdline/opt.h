/* SPDX-License-Identifier: MIT */
/* opt.h -- command-line options as a table: one row an option, one reader, one usage
 * text.
 *
 *	#define AT(member) .at = offsetof(struct run_args, member)
 *	static const struct opt run_opts[] = {
 *		{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE", .help = "..."},
 *		{"sample", 0, OPT_SIZE_OPTIONAL, AT(sample), .help = "..."},
 *		{0},
 *	};
 *
 * Understood: --name, --name=value, --name value, -x, -xVALUE, -x VALUE, and -abc for
 * several short options without arguments. Reading stops at the first word that is no
 * option, or behind "--". Long names are never abbreviated. Later options win over
 * earlier ones. Nothing is printed; the table is also what man pages and completions are
 * checked against. */
#ifndef SEEP_UTIL_OPT_H
#define SEEP_UTIL_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/buf.h"
#include "tool/util/err.h"

/* Argument of an option, and what is at its place. */
enum opt_kind {
	OPT_NONE,	   /* bool, set to true */
	OPT_STRING,	   /* const char *, borrowed from argv */
	OPT_SIZE,	   /* uint64_t, bytes: see opt_size */
	OPT_DURATION,	   /* uint64_t, nanoseconds: see opt_duration */
	OPT_U64,	   /* uint64_t: decimal, or hexadecimal with 0x */
	OPT_SIZE_OPTIONAL, /* struct opt_optional; takes the next word only if a size */
	OPT_FLOAT,	   /* double, finite */
};

struct opt_optional {
	bool given;	/* the option was there */
	bool has_value; /* and had a size */
	uint64_t value;
};

/* What a setter gets; only the field of the option's kind is set. */
struct opt_value {
	const char *text; /* as written, NULL when there was no argument */
	uint64_t u64;	  /* size, duration in ns, or number */
	double f64;
};

struct opt;

/* Called instead of storing; `to` is where the value would go. Returns 0, or a negative
 * errno with the message set. */
typedef int opt_setter(void *to, const struct opt *o, const struct opt_value *v,
		       struct err *e);

struct opt {
	const char *name; /* long, without dashes; NULL ends the table */
	char short_name;  /* or 0 */
	enum opt_kind kind;
	size_t at;	     /* of the value, in the struct that opt_parse is given */
	opt_setter *set;     /* NULL: the value is stored as the kind has it */
	const char *metavar; /* "FILE"; NULL: a word that suits the kind */
	const char *help;    /* one sentence; NULL hides the option from the usage text */
};

/* Setter of an option that is accepted and changes nothing. */
int opt_ignore(void *to, const struct opt *o, const struct opt_value *v, struct err *e);

/* Stores a value where the row wants it, in the struct `given`. */
int opt_put(const struct opt *o, const struct opt_value *v, void *given, struct err *e);

/* Reads options from argv[*at] on and leaves *at at the first word that is not one.
 * Returns 0, or -EINVAL with a message that names the word, what was wrong and, for an
 * unknown option, the nearest known one; then *at is the offending word and earlier
 * options have been stored. */
int opt_parse(const struct opt *table, int argc, char *const *argv, int *at, void *given,
	      struct err *e);

/* Appends the options' lines, wrapped to `columns` (0: 80). */
void opt_usage(const struct opt *table, unsigned columns, struct buf *ret_text);

/* Row of the long name, or NULL. */
const struct opt *opt_find(const struct opt *table, const char *name);

/* Number of single-character edits, neighbours swapped counting one, between two words;
 * for "did you mean". Words over 63 characters are infinitely far (UINT_MAX). */
unsigned opt_distance(const char *a, const char *b);

/* Whether `word` is near enough to `known` to be suggested: at most one edit in three
 * characters, or `word` is the beginning of `known`. */
bool opt_is_near(const char *word, const char *known);

/* "512", "512K", "1.5M", "2GiB", "100 kB": bytes. K, M, G, T, P are powers of 1024 with
 * or without "B" or "iB", in either case; a fraction is rounded down to a byte. Returns 0
 * or -EINVAL, -ERANGE, touching *ret_bytes only on success. */
int opt_size(const char *text, uint64_t *ret_bytes);

/* "60s", "10m", "500ms", "1.5h", "1m30s", "2d"; units ns us ms s m min h d; a bare number
 * is in seconds. Returns as opt_size. */
int opt_duration(const char *text, uint64_t *ret_ns);

#endif
