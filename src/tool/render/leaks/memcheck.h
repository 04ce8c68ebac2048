/* SPDX-License-Identifier: MIT */
/* memcheck.h -- leaks in the format of valgrind's memcheck, for programs and people that
 * read it: its text here, its XML in leak_xml.h. */
#ifndef SEEP_RENDER_MEMCHECK_H
#define SEEP_RENDER_MEMCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/sites/skip.h"
#include "tool/analyze/verdict/loss_records.h"
#include "tool/model/prof.h"
#include "tool/model/suppress.h"
#include "tool/util/buf.h"

enum memcheck_level {
	MEMCHECK_NO,	  /* leaks were not looked for */
	MEMCHECK_SUMMARY, /* how much, not where */
	MEMCHECK_FULL,
};

/* A stack, and the function at its inner end when that is not a part of it. */
struct memcheck_stack {
	uint32_t node;	    /* 0 = none */
	const char *called; /* as in the symbol table, or NULL */
};

/* Wrong use of the heap, as it was seen while the program ran. */
struct memcheck_error {
	const char *kind; /* "InvalidFree", "MismatchedFree", "Overlap" … as in the XML */
	const char *what; /* "Invalid free() / delete / delete[] / realloc()" */
	uint32_t process, tid;
	uint64_t count;	 /* times it happened there */
	bool suppressed; /* not to be told */
	struct memcheck_stack at;
	/* "Address 0x… is 0 bytes inside a block of size 16 free'd"; NULL = none */
	const char *about;
	struct memcheck_stack freed; /* or alloc'd, of a block that is in use */
	const char *block;	     /* "Block was alloc'd at"; NULL = none */
	struct memcheck_stack allocated;
};

struct memcheck_opts {
	unsigned show;	 /* bits 1 << enum prof_loss_kind: records to list */
	unsigned errors; /* records that are errors */
	struct loss_opts records;
	enum memcheck_level level;
	const char *const *preamble;	/* lines at the top; NULL = none */
	bool parent;			/* and the parent's pid: the text is in a file */
	bool quiet;			/* errors alone */
	const struct suppress_set *set; /* tell how often each was used; NULL = do not */
	bool generate;			/* a suppression behind each record */
	const struct memcheck_error *wrong;
	size_t nwrong;
};

/* How many errors of how many kinds, and of them hidden. */
struct memcheck_count {
	uint64_t errors, contexts, suppressed, suppressed_contexts;
};

/* Appends HEAP SUMMARY, loss records, LEAK SUMMARY and ERROR SUMMARY of a process that
 * was looked at; of another one why it was not. */
void memcheck_text(struct buf *out, const struct prof *p, const struct skip *s,
		   uint32_t process, const struct memcheck_opts *o);

struct memcheck_count memcheck_count(const struct loss_records *r,
				     const struct memcheck_opts *o, uint32_t process);

/* Appends the record's first line, without an end. */
void memcheck_headline(struct buf *out, const struct loss_records *r, size_t row);

/* Appends a suppression for the record, and an end of line. */
void memcheck_suppression(struct buf *out, const struct loss_record *r,
			  const struct loss_stack *stack);

#endif
