/* SPDX-License-Identifier: MIT */
/* filter.h -- which stacks and frames a view shows: pprof's filters, and three of our
 * own.
 *
 * Expressions are searched for (re.h) in the function's name, its file and its module's
 * path. In this order, as pprof has it: a stack needs one frame of `focus` and none of
 * `ignore`; `hide` takes frames out and `show` all others; `show_from` drops the callers
 * above the outermost frame that matches, and stacks without one; `tagfocus` and
 * `tagignore` choose by label; `prune_from` (names only) drops what is called by the
 * innermost frame that matches. A stack that loses all its frames is gone. `thread`,
 * `size` and `age` choose single blocks (value.h).
 *
 * A filter is compiled once and used on any number of profiles. Pure but for re.h. */
#ifndef SEEP_ANALYZE_FILTER_H
#define SEEP_ANALYZE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"
#include "tool/util/err.h"

struct graph_filter;

/* Order of enum and options alike. */
enum filter_option {
	FILTER_FOCUS = 0,
	FILTER_IGNORE,
	FILTER_HIDE,
	FILTER_SHOW,
	FILTER_SHOW_FROM,
	FILTER_PRUNE_FROM,
	FILTER_TAGFOCUS, /* [KEY=]RE[,RE…] or [KEY=]RANGE, as pprof's */
	FILTER_TAGIGNORE,
	FILTER_TAGSHOW, /* names of labels that views of labels show */
	FILTER_TAGHIDE,
	FILTER_THREAD, /* number, or expression for the name */
	FILTER_SIZE,   /* "4096", "1K:", ":64K", "1K:64K", both ends included */
	FILTER_AGE,    /* "10s" or "10s:" at least, ":1m" at most, "10s:1m" */
	/* These two choose nothing, and are done before (tagframes.h); here to be named
	 * in reports. */
	FILTER_TAGROOT,
	FILTER_TAGLEAF,
	FILTER_OPTIONS,
};

extern const char *const filter_names[FILTER_OPTIONS]; /* "focus" … */

struct filter_opts {
	const char *of[FILTER_OPTIONS]; /* NULL = not asked for */
};

/* Compiles. *ret_filter is NULL when nothing is asked for; free with filter_free. -EINVAL
 * names the option. */
int filter_new(const struct filter_opts *o, struct graph_filter **ret_filter,
	       struct err *e);
void filter_free(struct graph_filter *f); /* NULL is fine */

/* The choice of single blocks; NULL when there is none, or no filter. */
struct filter_blocks {
	const char *thread;
	bool has_size, has_age;
	uint64_t min_bytes, max_bytes;
	uint64_t min_age_ms, max_age_ms;
};
const struct filter_blocks *filter_blocks(const struct graph_filter *f);

/* Does --thread mean this one? */
bool filter_thread_is(const struct graph_filter *f, uint32_t tid, const char *name);

/* Is a label of this name to be shown? True for all without a filter. */
bool filter_shows_tag(const struct graph_filter *f, const char *key);

/* Frames have slots: those of a location follow one another, innermost first; a location
 * without names has one. The first slot of every location and, behind the last, how many
 * there are; to be freed. */
uint32_t *filter_slots(const struct prof *p);

/* What a filter says about every slot and site of a profile. */
enum filter_flags {
	FILTER_IS_FOCUSED = 1,
	FILTER_IS_IGNORED = 2,
	FILTER_IS_HIDDEN = 4,  /* not part of any stack */
	FILTER_IS_FROM = 8,    /* stacks begin with it at the latest */
	FILTER_IS_PRUNED = 16, /* stacks end with it at the latest */
	FILTER_IS_DROPPED =
		32, /* the profile itself asks to leave it out, and what it calls */
};

struct filter_run {
	uint8_t *slots; /* enum filter_flags; NULL: nothing to be said about frames */
	bool *sites;	/* its labels pass; NULL: all do */
	bool stacks; /* there are filters for stacks: one without frames does not pass */
	bool drops;  /* the profile has frames to drop */
	bool needs_focus, needs_from;
	uint32_t unmatched; /* bit (1 << enum filter_option): given and never met */
};

/* `f` may be NULL. `slots` as filter_slots gave them. `drop` asks to obey the profile's
 * own drop_frames and keep_frames, as far as they can be understood. Free with
 * filter_run_done. */
void filter_run_init(struct filter_run *ret_run, const struct graph_filter *f,
		     const struct prof *p, const uint32_t *slots, bool drop);
void filter_run_done(struct filter_run *r);

#endif
