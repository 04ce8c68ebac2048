/* SPDX-License-Identifier: MIT */
/* report.h -- a profile as people and programs read it.
 *
 * The text has the answer first, the evidence next and one next step last; what was lost,
 * cut or estimated has a line of its own. The JSON has everything (docs/json.md). Both
 * are made from the same analysis. Nothing is printed or looked up here: names must be in
 * the profile already, and text goes to a buffer. */
#ifndef SEEP_RENDER_REPORT_H
#define SEEP_RENDER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/term.h"

struct judge;
struct report_data;
struct suppress_set;

enum {
	REPORT_ROWS = 10,      /* sites listed by default, */
	REPORT_MINOR_ROWS = 3, /* and of a minor leak or of growth */
	REPORT_TABLE_ROWS = 5, /* in the short tables by peak and count; an odd number */
	REPORT_JSON_SITES = 1000, /* sites that JSON lists, */
	REPORT_FRAMES = 8, /* frames shown of a stack, and by which places differ */
};

/* A zeroed one gives the report of `seep run`: plain, all processes, no tables. */
struct report_opts {
	const struct term *term; /* colours and width; NULL = plain */
	bool ascii;		 /* the locale is not UTF-8 */
	bool bytes;		 /* whole numbers instead of KiB, MiB */
	bool top;		 /* one place a line and nothing else */
	bool opening;		 /* the answer only, see report_text() */
	bool tables;		 /* also by peak and by count: `seep report` */
	bool all;		 /* list every place, every process and whole stacks */
	bool everyone; /* the verdict is about every process chosen, see focus.h */
	/* bits 1 << enum prof_loss_kind to list; 0 = SITES_LOSS_KINDS */
	unsigned leak_kinds;
	uint32_t rows; /* places listed; 0 = REPORT_ROWS */
	bool by_given; /* one list, ranked by `by` */
	enum sites_by by;
	struct sites_point point;     /* which moment the live columns are of */
	const bool *chosen;	      /* processes; NULL = all */
	const struct skip_opts *skip; /* NULL = the usual frames are left out */
	const char *saved; /* file the recording was saved to; NULL = no such line */
	bool saved_names;  /* with names inside */
	const char *next;  /* command to try next; NULL = none */
	const struct judge *judged; /* JSON: conditions, see leak_json.h; NULL = none */
	const struct suppress_set *suppressions;
	bool baseline; /* what is known from one is left out */
	/* JSON: takes what is in the buffer and empties it, called whenever that is much;
	 * NULL = all stays there. */
	void (*drain)(void *ctx, struct buf *b);
	void *drain_ctx;
};

/* Appends the report; with `opening`, lines of a label, a tab and a text: the verdict,
 * leak figures, command, date, how it ended and libc's own memory, as far as known.
 * Returns 0 when it found nothing, 1 when something was not freed: what a caller may turn
 * into an exit status. */
int report_text(struct buf *out, const struct prof *p, const struct report_opts *o);

/* The first lines alone, from an analysis that was made already: sites of REPORT_FRAMES
 * frames, library frames folded, all processes. Buffers are appended to. */
struct report_headline {
	struct buf verdict; /* lines: the verdict and further words */
	struct buf exact;   /* "exact, nothing missed" */
	struct buf end;	    /* "exited 0 after 0.02 s" */
};
void report_headline(const struct prof *p, struct skip *s, const struct report_data *d,
		     struct report_headline *ret);

/* Appends one JSON object and a newline. Uses of `o` chosen, point, skip, by, saved and
 * drain, and of the sites lists the first `rows`, REPORT_JSON_SITES if that is 0, or
 * `all`. Returns as report_text. */
int report_json(struct buf *out, const struct prof *p, const struct report_opts *o);

/* Appends what a table of the profile must not keep silent about: too little of the
 * memory was seen, what was lost, cut, or could not be read. One line each, beginning
 * with "# ". Uses of `o` only chosen and bytes. */
void report_remarks(struct buf *out, const struct prof *p, const struct report_opts *o);

/* True when LC_ALL, LC_CTYPE or LANG ask for UTF-8, in that order; for
 * report_opts.ascii. */
bool report_locale_is_utf8(void);

#endif
