/* SPDX-License-Identifier: MIT */
/* top_view.h -- one moment of a process as `seep top` shows it: plain figures and clean
 * text, without a pointer into a profile.
 *
 * The screen is a pure function of this and of what the user chose (render/screen). */
#ifndef SEEP_SESSION_TOP_VIEW_H
#define SEEP_SESSION_TOP_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/analyze/verdict/verdict_rules.h"
#include "tool/util/arena.h"
#include "tool/util/vec.h"

enum {
	TOP_FRAMES = 8,	 /* that sites are told apart by, as in reports */
	TOP_TREND = 32,	 /* values of a site's trend, at most */
	TOP_SERIES = 64, /* and of the process's */
	TOP_STACKS = 64, /* of an open site */
};

#define TOP_AGE_UNKNOWN UINT64_MAX

enum top_kind {
	TOP_LIVE,    /* the recording of a process, which may have ended meanwhile */
	TOP_FILE,    /* a finished recording */
	TOP_REGIONS, /* a process that nobody records: its memory by region */
};

/* A site; or a region, which has a name, live_bytes (resident), a rate, and as
 * mark_bytes what was resident at first. */
struct top_row {
	uint64_t id;		   /* stays the same from view to view; never 0 */
	const char *name;	   /* function */
	const char *where;	   /* "grow.c:5", "+0x1c in prog" or "" */
	const char *caller;	   /* "main grow.c:7", or "" */
	bool kept;		   /* by libc itself, on purpose */
	enum verdict_word verdict; /* NO_VERDICT: nothing can be said of its growth */
	bool has_rate;
	double slope, error; /* bytes a second */
	int64_t live_bytes, live_blocks;
	double var_live_bytes, var_live_blocks; /* sampled: variances */
	uint64_t allocs, frees;
	double allocs_per_s; /* since the last view; at first over the whole time */
	int64_t mark_bytes, mark_blocks; /* live at the mark, if one is chosen */
	uint64_t age_ms;		 /* of the oldest live block */
	const int64_t *trend;		 /* live bytes, oldest first */
	unsigned ntrend;
};

struct top_frame {
	const char *name, *where;
	const char *source; /* text of the line, or "" */
};

/* One of the stacks of the open site. */
struct top_stack {
	int64_t live_bytes, live_blocks;
	double var_live_bytes; /* sampled: its variance */
	uint64_t allocs, frees;
	const struct top_frame *frames; /* innermost first */
	unsigned nframes;
};

struct top_mark {
	const char *name; /* or its number */
	uint64_t ms;
};

struct top_view {
	struct arena text; /* everything that is pointed to */
	enum top_kind kind;
	const char *name; /* of the process, or of the file */
	int pid;	  /* 0 = a file of several processes */
	unsigned processes;
	bool ended;
	bool paused; /* recording was paused with seep pause */
	bool sampled;
	uint64_t recorded_ms;
	uint64_t time_s;    /* of day, when the view was made; 0 = not said */
	uint64_t period_ms; /* between views; 0 = there is only one */
	uint64_t mark_ms;
	const char *mark; /* that rows are compared with; NULL = none */

	/* Words of reports (render/screen/screen_words.c). */
	enum verdict_word word;
	const char *verdict; /* lines, the first one begins with the word; NULL = none */
	const char *exact;   /* "exact, nothing missed" */
	const char *end;     /* "exited 0 after 3 s", "" while it runs */

	/* Of all sites. */
	int64_t live_bytes, live_blocks, peak_bytes;
	double var_live_bytes, var_live_blocks;
	uint64_t allocs, frees;
	double allocs_per_s, live_per_s; /* since the last view; the latter in bytes */
	uint64_t rss_kib, anon_kib, stack_kib, static_kib, own_kib; /* 0 = not known */
	const int64_t *live, *rss; /* bytes over time, oldest first; rss may be NULL */
	unsigned nseries;

	VEC(struct top_row) rows; /* by live bytes */
	VEC(struct top_mark) marks;
	VEC(int) children; /* processes that it started and that run */

	uint64_t open;		      /* id of the row that the stacks are of; 0 = none */
	VEC(struct top_stack) stacks; /* most live bytes first */
	unsigned stacks_left_out;
};

void top_view_done(struct top_view *v); /* legal on a zeroed one */

#endif
