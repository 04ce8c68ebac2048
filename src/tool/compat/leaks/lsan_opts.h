/* SPDX-License-Identifier: MIT */
/* lsan_opts.h -- LeakSanitizer's options, for reports in its format: from LSAN_OPTIONS,
 * and from what the program returns from __lsan_default_options. The variable counts
 * more. */
#ifndef SEEP_COMPAT_LSAN_OPTS_H
#define SEEP_COMPAT_LSAN_OPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/leak/scan.h"
#include "tool/render/leaks/lsan.h"
#include "tool/session/leaks/leakcheck.h"
#include "tool/target/proc/procmem.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/map.h"

struct lsan_opts {
	bool off;	  /* detect_leaks=0 */
	bool not_at_exit; /* leak_check_at_exit=0 */
	bool help;
	bool exitcode_given;
	bool status_is_theirs; /* exitcode= or its default, not --error-exitcode */
	uint64_t exitcode;
	char *log_path, *suppressions; /* files; NULL = none */
	struct lsan_extra extra;       /* how it is reported */

	char *read_already; /* of these files of suppressions */
	uint64_t ours;	    /* exit status that came from here */
	/* leader's site and a block's site -> row of extra.below + 1 */
	struct map below;
};

struct leak_opts;

/* Reads LSAN_OPTIONS and the suppressions that it names into `l`. */
int lsan_opts_read(struct leak_opts *l, struct err *e);

/* A process stands still: reads what it says by LeakSanitizer's functions. Only for
 * reports in that format. -ECANCELED: it wants no leak check. */
int lsan_opts_heed(void *l, const struct procmem *mem, const struct leakcheck_wishes *w,
		   struct err *e);

/* A leak check of the process begins: drops what an earlier one found. Then one call for
 * each block `b` of the table `all`, once all have their state. */
void lsan_opts_begin(void *l, uint32_t pid);
void lsan_opts_block(void *l, uint32_t pid, const struct scan_block *all,
		     const struct scan_block *b);

/* The report of a process goes to FILE.PID, if log_path=FILE; true: it went there. */
bool lsan_opts_log(const struct lsan_opts *o, uint32_t pid, const struct buf *text);

/* Appends the list of options if help=1, once. */
void lsan_opts_help(struct lsan_opts *o, struct buf *out);

void lsan_opts_done(struct lsan_opts *o);

#endif
