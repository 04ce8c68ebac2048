/* SPDX-License-Identifier: MIT */
/* heap_in.h -- what the readers of jemalloc's and gperftools' heap profiles share: counts
 * and how they are scaled, sites, names that the file brings, and the account of bad
 * lines.
 *
 * Sampled profiles hold what was sampled; the tools scale each line by its average size.
 * Every site gets both results: jeprof's and google-pprof's fractions in prof.reals, what
 * Go's pprof truncates to whole numbers in the site itself (docs/formats.md). */
#ifndef SEEP_FORMAT_HEAP_IN_H
#define SEEP_FORMAT_HEAP_IN_H

#include "tool/format/format.h"
#include "tool/format/input.h"
#include "tool/format/lines.h"
#include "tool/format/maps.h"
#include "tool/format/stack_text.h"
#include "tool/model/prof.h"

/* `live_blocks: live_bytes [allocs: alloc_bytes]` */
struct heap_counts {
	int64_t live_blocks, live_bytes, allocs, alloc_bytes;
};

enum heap_scaling {
	HEAP_AS_IS = 0,
	HEAP_LINEAR,  /* version 1: samples below the rate count as the rate */
	HEAP_POISSON, /* version 2 */
};

struct heap_rate {
	enum heap_scaling perl; /* as jeprof and google-pprof scale it */
	double perl_bytes;	/* mean bytes between samples */
	int64_t go_bytes;	/* the same for Go's pprof; <= 1: as is */
};

/* Lines that could not be used; told as one damage with the number of the first. */
struct heap_bad {
	const char *what;
	uint64_t count, first;
};

enum heap_bad_kind {
	HEAP_BAD_LINE,
	HEAP_BAD_STACK,
	HEAP_BAD_NO_COUNTS,
	HEAP_BAD_NO_STACK,
	HEAP_BAD_NO_BLOCKS,
	HEAP_BAD_THREAD,
	HEAP_BAD_CUT,
	HEAP_BAD_MAX,
};

struct heap_in {
	struct input *in;
	const struct format_opts *o;
	struct prof *p;
	struct lines lines;
	size_t maps_off; /* where the memory map begins in the input */
	struct maps maps;
	struct stack_text stacks;
	struct heap_rate rate;
	uint32_t process;
	uint32_t label_bytes; /* string "bytes" */
	bool no_reals;	      /* the format's own tool sums whole numbers */
	bool no_map;	      /* the format has none */
	bool has_allocs;      /* the allocation columns mean something */
	int64_t total_bytes;  /* live, as the header says */
	bool total_is_sum;    /* it must be the sum of the lines, or less is missing */
	int64_t raw_bytes;    /* that sum, not scaled */
	char format[24];      /* what prof.format will be */
	struct heap_bad bad[HEAP_BAD_MAX];
};

/* Begins to read the input from `off`, with its map read already, into an empty profile
 * with one process in it. End with heap_in_done in any case. `exe` of the options wins
 * over `binary`, which may be NULL. */
void heap_in_init(struct heap_in *h, struct input *in, size_t off,
		  const struct format_opts *o, const char *binary, struct prof *p);
void heap_in_done(struct heap_in *h);

/* The next line that is not of the memory map; gives back the memory behind it. */
bool heap_in_line(struct heap_in *h, struct line *ret);

/* ` n: bytes [n: bytes]` at `l`, which is left behind it. */
bool heap_in_counts(struct line *l, struct heap_counts *ret);

/* Counts as the tools scale them: whole numbers as Go has them, fractions as jeprof
 * does. */
void heap_in_scale(const struct heap_rate *r, const struct heap_counts *c,
		   struct heap_counts *ret_whole, struct prof_real *ret_real);

/* A site for the stack at `node`; its row. */
uint32_t heap_in_site(struct heap_in *h, uint32_t node, const struct heap_counts *c);

/* The line last read is bad; when the file breaks off in it, that is said instead. */
void heap_in_bad(struct heap_in *h, enum heap_bad_kind kind);

/* Fills in what is known at the end and tells the damages; refuses when the file holds a
 * second profile behind the first. */
int heap_in_finish(struct heap_in *h, struct err *e);

/* Reads from `off` on one of the two kinds of heap profile, whichever begins there;
 * symbolized files hold one. -EINVAL when neither does. `after`, which may be NULL, is
 * called with the addresses at hand. */
int heap_in_read(struct input *in, size_t off, const struct format_opts *o,
		 const char *binary, struct prof *p,
		 void (*after)(struct heap_in *h, void *ctx), void *ctx, struct err *e);

/* Of these two, each reads its kind from the header line on; false = not its header. */
bool heap_je_read(struct heap_in *h, struct line header);
bool heap_gperf_read(struct heap_in *h, struct line header);

/* Whether this is the first line of such a profile. */
bool heap_je_header(struct line l);
bool heap_gperf_header(struct line l);

/* First line of a head that does not begin with `%` (a command to the reader). */
bool heap_in_header(struct lines *in, struct line *ret);

#endif
