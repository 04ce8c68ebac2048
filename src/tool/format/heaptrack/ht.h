/* SPDX-License-Identifier: MIT */
/* ht.h -- a data file of heaptrack as it is: its tables, and what its events add up to.
 *
 * heaptrack writes text, one record a line, numbers hexadecimal; a record may name only
 * those before it. It comes in two kinds: raw (addresses as the process wrote them) and
 * interpreted, with names, which is the one that is read here, versions 1 to 3:
 *
 *	v HEAPTRACK-VERSION FILE-VERSION
 *	X COMMAND LINE | I PAGE-BYTES PAGES | A (attached) | S SUPPRESSION | # remark
 *	s LENGTH TEXT                  string; versions 1 and 2 have no LENGTH
 *	i IP MODULE [FUNCTION [FILE LINE (FUNCTION FILE LINE)*]]   innermost first
 *	t IP PARENT                    stack: a frame and the stack that called it
 *	a SIZE STACK                   a kind of allocation
 *	+ KIND | - KIND                it happened; a block of this kind was freed
 *	c MS | R RSS-PAGES             time since the beginning
 *
 * Strings, addresses and stacks are counted from 1 (0 = none), kinds from 0. A free says
 * which kind of block, not which block: lifetimes are not in the file, and a temporary
 * allocation is one whose kind is freed next, whichever thread does it. */
#ifndef SEEP_FORMAT_HT_H
#define SEEP_FORMAT_HT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tool/util/map.h"
#include "tool/util/vec.h"

struct err;
struct prof;
struct stream;

enum { HT_VERSION_MAX = 3 };

struct ht_frame {
	uint32_t function, file; /* strings of the file */
	uint32_t line;
};

struct ht_ip {
	uint64_t address;
	uint32_t module; /* string of the file */
	struct ht_frame frame;
	uint32_t inlined, ninlined; /* in ht.inlined: the functions it is inlined into */
	bool skipped;		    /* operator new: stacks go on with its caller */
};

struct ht_trace {
	uint32_t ip, parent;
};

struct ht_kind {
	uint64_t bytes;
	uint32_t row;
	uint64_t allocs;
};

/* What a stack did. */
struct ht_row {
	uint32_t trace;
	uint32_t epoch; /* of the last change: see ht_read.c */
	uint64_t allocs, frees, alloc_bytes, free_bytes, temps, temp_bytes;
	int64_t live_bytes, live_blocks;
	int64_t most_bytes; /* its own largest live_bytes */
	uint64_t most_ms, first_ms;
	int64_t peak_bytes, peak_blocks; /* live when all of them had their peak */
};

struct ht_point {
	uint64_t ms;
	int64_t live_bytes;
	uint64_t rss_pages;
};

struct ht_total {
	uint64_t allocs, temps;
	int64_t live_bytes, peak_bytes;
};

struct ht {
	uint32_t version;
	struct strtab texts;
	VEC(uint32_t) strings; /* ids in `texts`; string N of the file is N - 1 here */
	VEC(struct ht_ip) ips;
	VEC(struct ht_frame) inlined;
	VEC(struct ht_trace) traces;
	VEC(struct ht_kind) kinds;
	VEC(struct ht_row) rows; /* in the order of the file */
	VEC(struct ht_point) points;
	VEC(uint32_t) suppressions; /* ids in `texts` */
	uint32_t command;	    /* id in `texts` */
	bool attached;
	uint64_t page_bytes;
	struct ht_total total;
	uint64_t peak_ms, last_ms, rss_peak_pages;
	/* Called at every time stamp, and with `last` at the end of the file; or NULL. */
	void (*stamp)(void *ctx, const struct ht *h, uint64_t ms, bool last);
	void *ctx;
	/* lines that could not be read, and the first of them */
	uint64_t bad, bad_line, bad_off;
	uint64_t too_long;
	const char *damage; /* a string constant: how it ends too early; or NULL */
	uint64_t damage_off;
	/* private to the readers */
	struct map row_of_trace;
	uint32_t epoch;
	uint64_t last_kind; /* number + 1 of the kind allocated last; 0 = none */
	uint64_t points_every_ms, rss_pages;
	uint64_t table_bytes, table_limit;
};

/* Whether a file that begins so is one, of either kind. */
bool ht_detect(const void *head, size_t bytes);

/* Reads all of it into `h`, which is zeroed but for `stamp` and `ctx`. Refuses files that
 * are raw or of another version; of all others, what can be read. ht_done in any case. */
int ht_read(struct ht *h, struct stream *in, struct err *e);
void ht_done(struct ht *h);

/* The file at a path, or "-"; false of *ret_is: it is none of heaptrack's, and nothing
 * was read. */
int ht_read_path(struct ht *h, const char *path, bool *ret_is, struct err *e);

/* The same tables from a profile of any kind. */
void ht_from_prof(struct ht *h, const struct prof *p);

/* Text of a string of the file; "" for 0. */
const char *ht_text(const struct ht *h, uint32_t string);

/* Stack with operator new left out at its beginning; number 0 when nothing is left. */
struct ht_trace ht_trace(const struct ht *h, uint32_t trace);
/* An address of the file; a blank one for 0. */
const struct ht_ip *ht_ip(const struct ht *h, uint32_t ip);

/* Row of a stack, added when new. */
uint32_t ht_row(struct ht *h, uint32_t trace);

#endif
