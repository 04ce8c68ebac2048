/* SPDX-License-Identifier: MIT */
/* report_impl.h -- between the files of report.h: the report being written. */
#ifndef SEEP_RENDER_REPORT_IMPL_H
#define SEEP_RENDER_REPORT_IMPL_H

#include "tool/analyze/growth/growth_places.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"
#include "tool/analyze/sites/types.h"
#include "tool/analyze/verdict/report_data.h"
#include "tool/analyze/verdict/verdict.h"
#include "tool/render/report/report.h"
#include "tool/util/map.h"

#define REPORT_DOT " \xc2\xb7 "
#define REPORT_ARROW " \xe2\x86\x90 "
#define REPORT_MORE "\xe2\x80\xa6"

struct contrast;

/* How long the lists of sites are, unless -n or --all. */
struct report_plan {
	uint32_t rows;	      /* sites of the list that the verdict is about */
	uint32_t first, rest; /* frames of its first site and of others; 0 = as usual */
	uint32_t growing;     /* sites that grow besides */
	bool bare;	      /* without what tells lost blocks from freed ones */
};

struct report {
	struct buf *out;
	const struct prof *p;
	const struct report_opts *o;
	struct skip *skip;
	struct sites sites; /* of the moment and processes asked for */
	struct verdict v;
	bool *focus;  /* for every process: the verdict is about it (focus.h) */
	bool *found;  /* for every process: its places are listed */
	uint32_t one; /* the only process chosen, 0 = there are several or none */
	bool sampled;
	const char *list_head;	/* the line above a list that has rows; NULL = none */
	struct report_plan fit; /* the one that is tried just now */
	const struct report_plan *plan;
	uint32_t most_frames; /* shown of a stack unless --all; 0 = REPORT_FRAMES */
	size_t callers_left;  /* frames that the stacks of a short list do not show */
	struct contrast *contrast; /* of the list of losses; else NULL */
	bool *hidden;		   /* likewise, for every row of it; hidden.h */
	bool *told; /* for every module: why it has no lines was said; NULL = of none */
	bool same;  /* what is being listed is all of one process, which has been named */
	unsigned depth;
	/* What grew, of the processes in focus; empty when nothing can be said of it. */
	struct growth_places growth;
	struct sites growth_sites; /* its rows */
	bool *growth_told;	   /* for every row: it was shown in a list */
};

/* Is process `i` among those asked for? */
bool report_chose(const struct report *r, uint32_t i);

/* Appends a word in its colour. */
void report_coloured(struct report *r, const char *word, enum term_style style);

/* ---- report.c ---- */

/* All of the analysis is the report's from here on. */
void report_take(struct report *r, const struct report_data *d);

/* Which processes the report is about, once the verdict is known. */
void report_find(struct report *r);

/* Appends "exact, nothing missed", or what was. */
void report_exactness(struct report *r);

/* ---- report_verdict.c ---- */

/* The first lines: the verdict and further words that match, or the sum at another
 * moment. */
void report_verdict(struct report *r);

/* The word that decides which sites are listed: the first one that is about sites. */
enum verdict_word report_lead(const struct report *r);

/* Is it known that nothing of what is left is lost? */
bool report_all_reachable(const struct report *r);

/* ---- report_growth.c ---- */

/* At the end of a report. */
void report_growth_done(struct report *r);

/* For each of the first rows of `ss` its row in r->growth if it grows, else
 * UINT32_MAX. */
void report_growth_rows(struct report *r, const struct sites *ss, uint32_t rows,
			uint32_t *ret_rows);

/* A line that says so under a listed place; nothing for UINT32_MAX. */
void report_growth_mark(struct report *r, uint32_t row);

/* Growth of the places with that word, in bytes a second with its standard error. */
struct report_rate {
	uint64_t sites;
	double slope, error;
};
struct report_rate report_growth_rate(const struct report *r, enum verdict_word word);

/* The rate of all losses: that of their sites, where each has one, as the list shows it;
 * else the average since the start. 0: they did not come evenly. */
struct report_rate report_leak_rate(const struct report *r);

/* Appends `between` and "1 site: +1.0 ± 0.2 MiB/min" of the places with that word; false:
 * there are none. */
bool report_growth_amount(struct report *r, enum verdict_word word, const char *between);

/* Appends when the process reaches its memory limit, and which part of its growth the
 * sites with that word explain; nothing where that is not in sight. */
void report_growth_forecast(struct report *r, enum verdict_word word);

/* The line under the first, when something grows. */
void report_growth_first(struct report *r);

/* Growing places that no list has shown, or that none was seen. */
void report_growth(struct report *r);

/* ---- report_errors.c ---- */

/* Wrong uses of the heap: a line that counts them, and each with its stacks; nothing for
 * none. */
void report_errors(struct report *r);

/* ---- report_losses.c ---- */

/* "6.13 MiB in 120 blocks lost at 2 sites, 120 times". */
void report_leak(struct report *r);

/* "known 41.0 KiB, new 0": beside a baseline. */
void report_known(struct report *r);

/* "definitely lost 0 · possibly lost 0 · …" without an end of line; or why that is
 * unknown. False: no process had a leak check. */
bool report_losses(struct report *r);

/* Appends why there was no leak check of this process. */
void report_why_unchecked(struct report *r, uint32_t process);

/* Beside a place: "80 blocks, 0 freed", and how they are lost unless all are so
 * definitely. */
void report_beside_lost(struct report *r, const struct sites_total *t, const char *freed);

/* ---- report_procs.c ---- */

/* Appends "NAME (PID)". */
void report_process(struct report *r, uint32_t process);

/* Appends "6.13 MiB in 120 blocks", and " at 2 sites" if asked. */
void report_amount(struct report *r, const struct verdict_figures *f, bool places);

/* A line for each process with a finding and for each kind without; nothing for only
 * one. */
void report_processes(struct report *r);

/* How the process ended, or the processes, counted; without an end of line. */
void report_ends(struct report *r);

/* ---- report_frames.c ---- */

enum { REPORT_INDENT = 4 }; /* columns before a frame */

/* Columns of a list. */
struct report_widths {
	size_t value, percent, beside, function, where;
};

/* The larger of `a` and `b`, unless `b` is over the limit. */
size_t report_max(size_t a, size_t b, size_t limit);

/* Widens the columns for the stack at `node`, and prints it. */
void report_measure_stack(const struct report *r, uint32_t node, struct report_widths *w);
void report_stack(struct report *r, uint32_t node, const struct report_widths *w);

/* The stack at `node` alone, as under a listed place. */
void report_stack_of(struct report *r, uint32_t node);

/* Appends "function file:line" of one frame. */
void report_frame_short(struct report *r, struct skip_pos pos);

/* Cuts what was added since `from` to the terminal's width. */
void report_cut(struct report *r, size_t from);

/* ---- report_contrast.c ---- */

/* Under row `row`: "lost only when called from …; freed when called from …" if that is
 * clear and was not said of its line before; `told` remembers these. Nothing without
 * r->contrast. */
void report_contrast(struct report *r, uint32_t row, struct map *told);

/* ---- report_moments.c ---- */

/* Under row `row`: "lost between 12.0 and 14.0 s, after mark "reload"". Nothing when that
 * is not known. */
void report_moments(struct report *r, const struct sites *ss, uint32_t row);

/* A line about the leak checks while the processes in focus ran; nothing when there were
 * none. */
void report_rounds(struct report *r);

/* ---- report_types.c ---- */

/* Under row `row`: "type Session" or "types Session 62 %, list 38 %". Nothing when no
 * type is known; `t` may be NULL. */
void report_types(struct report *r, const struct types *t, uint32_t row);

/* ---- report_fit.c ---- */

enum {
	REPORT_SCREEN = 25,	/* lines of a report that must fit, */
	REPORT_SITE_LINES = 9,	/* those of them that sites should have, */
	REPORT_TABLE_LINES = 6, /* and short tables */
};

/* The list that is not shortened. */
extern const struct report_plan *const report_usual;

/* Must the report fit on a screen? Not if the user says how much, or asks for a certain
 * list. */
bool report_must_fit(const struct report *r);

/* Lines that the text takes from that offset on, on the terminal or in a file. */
size_t report_lines(const struct report *r, const struct buf *text, size_t from);

/* Lists the sites that the verdict is about, then others that grow. `other_lines`: those
 * of the rest of the report. */
void report_sites(struct report *r, size_t other_lines);

/* ---- report_places.c ---- */

/* The numbered list with stacks, ranked by `by`, of `ss`. */
void report_list(struct report *r, const struct sites *ss, enum sites_by by);

/* A short table under its heading, one line for each of at most `most` places; nothing
 * when there are none. Leaves r->sites ranked by `by`. */
void report_table(struct report *r, enum sites_by by, const char *head, uint32_t most);

/* One line a place and nothing else, for `--top`, as r->sites is ranked. */
void report_top(struct report *r);

/* Appends "function file:line" of the row's innermost frame. */
void report_place(struct report *r, const struct sites_row *row);

/* ---- report_notes.c ---- */

/* "recorded 4 MiB of 143 MiB …" without an end of line. */
void report_coverage(struct report *r);

/* "recorded 7 of 20 allocations …": why the recording is not complete. */
void report_cut_short(struct report *r);

/* Everything that was lost, cut or estimated, one line each, after `prefix`. */
void report_notes(struct report *r, const char *prefix);

/* Memory as the kernel saw it. */
/* " (to 16 KiB: 4 threads)": how far the peak of a process may be off; nothing when it is
 * exact. */
void report_peak_error(struct report *r, const struct prof_process *pr);
void report_rss(struct report *r);
/* What the one process that the report is about was forked with. */
void report_inherited(struct report *r);

/* Events that are missing from the totals. */
uint64_t report_missed(const struct report *r);
/* Blocks that went past the hooks, and copies of libc beside them. */
uint64_t report_past(const struct report *r, uint64_t *ret_libcs);

/* Programs and children that were started and not recorded; stacks that are not whole. */
uint64_t report_unrecorded(const struct report *r);
uint64_t report_lost_children(const struct report *r);
/* Forked children that have no recording because there was nothing to record. */
uint64_t report_quiet(const struct report *r);
uint64_t report_cut_stacks(const struct report *r);

#endif
