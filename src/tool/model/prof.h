/* SPDX-License-Identifier: MIT */
/* prof.h -- the profile in memory: what every reader fills and every report asks.
 *
 * One profile is one recording: all processes of a run, their modules, stacks, totals,
 * marks and timelines. Tables are flat arrays, rows are named by index, and row 0 of
 * processes, modules, locs, nodes, sites and threads is a blank that stands for "none".
 * Strings are ids in one table (0 = ""). A profile owns an arena and is freed whole;
 * nothing in here does I/O.
 *
 * Frames are keyed by (module, offset): modules of different processes with the same
 * build-id (or, without one, the same path) are one row, so the same code in two
 * processes, or under two load addresses, is one location. Totals are int64/uint64
 * columns of a site; in a sampled profile they are estimates and var_* hold the
 * variances; only histograms count samples then. */
#ifndef SEEP_PROF_H
#define SEEP_PROF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shared/rec_enums.h"
#include "tool/model/rounds.h"
#include "tool/model/snapshot.h"

enum {
	PROF_SIZE_BUCKETS = 16, /* as REC_SIZE_BUCKETS */
	PROF_LIFE_BUCKETS = 28, /* as REC_LIFE_BUCKETS */
	PROF_LOST_MAX = 24,
	PROF_BUILD_ID_MAX = 32,
	PROF_HEURISTICS = 4,
};

/* The tables, in the order of a packed file: what reports cannot do without comes first,
 * and a table stands behind those that its rows name. The numbers are in files. */
enum prof_tab_id {
	PROF_TAB_META = 1,
	PROF_TAB_STRINGS,
	PROF_TAB_PROCESSES,
	PROF_TAB_MODULES,
	PROF_TAB_LOCS,
	PROF_TAB_NODES,
	PROF_TAB_SITES,
	PROF_TAB_FRAMES,
	PROF_TAB_THREADS,
	PROF_TAB_CELLS,
	PROF_TAB_MARKS,
	PROF_TAB_MARK_ROWS,
	PROF_TAB_POINTS,
	PROF_TAB_RANGES,
	PROF_TAB_DAMAGES,
	PROF_TAB_BLOCKS,
	PROF_TAB_LOOKS,
	PROF_TAB_LOOK_ROWS,
	PROF_TAB_CHECKS,
	PROF_TAB_LOSSES,
	PROF_TAB_OLDS,
	PROF_TAB_ERRORS,
	PROF_TAB_HOLDERS,
	PROF_TAB_MEMORIES,
	PROF_TAB_BUCKETS,
	PROF_TAB_ROUNDS,
	PROF_TAB_MOMENTS,
	PROF_TAB_TICKS,
	PROF_TAB_STEPS,
	PROF_TABS_STORED, /* those from here on are in no file */
	PROF_TAB_LABELS = PROF_TABS_STORED,
	PROF_TAB_SNAPSHOTS,
	PROF_TABS,
};

enum prof_mode { PROF_EXACT = 1, PROF_SAMPLED = 2 };

/* What a frame was written in, as enum rec_language says it. Frames of another language
 * than PROF_NATIVE have names and no address: see named.h. */
enum prof_lang {
	PROF_NATIVE = REC_LANGUAGE_NATIVE,
	PROF_PYTHON = REC_LANGUAGE_PYTHON,
	PROF_JAVA = REC_LANGUAGE_JAVA,
	PROF_GO = REC_LANGUAGE_GO,
	PROF_JS = REC_LANGUAGE_JAVASCRIPT,
	PROF_OTHER = REC_LANGUAGE_OTHER,
	PROF_LANGS = REC_LANGUAGES,
};

enum prof_loc_kind {
	PROF_LOC_CODE = 0,
	PROF_LOC_TRUNCATED, /* the stack goes on, but could not be followed */
	PROF_LOC_ELIDED,    /* offset = about how many frames were left out */
	PROF_LOC_CLASS, /* offset = enum rec_class: memory that malloc did not hand out */
};

struct prof_module {
	uint32_t path; /* string */
	uint8_t build_id_bytes;
	uint8_t build_id[PROF_BUILD_ID_MAX];
	/* string: a build-id that is not hexadecimal, of a pprof file */
	uint32_t other_id;
	/* string: set by whoever tried to read the symbols; 0 = fine */
	uint32_t why_no_names;
};

/* One resolved function at a location; a location has several when code was inlined
 * there. */
struct prof_frame {
	uint32_t function; /* string, demangled and short; 0 = unknown */
	uint32_t linkage;  /* string, as in the symbol table; 0 = same */
	uint32_t file;	   /* string, absolute where known; 0 = unknown */
	uint32_t line;	   /* 0 = unknown */
	uint32_t source;   /* string: the text of that line, trimmed; 0 = not available */
	uint32_t symbol_off; /* bytes into the function, for `name +0x1c` */
	uint8_t inlined;     /* 1: inlined into the frame after it */
	uint8_t lang;	     /* enum prof_lang */
};

struct prof_loc {
	uint32_t module; /* 0 = in no known module */
	uint8_t kind;	 /* enum prof_loc_kind */
	uint8_t exact;	 /* 1: offset is the instruction itself, else one past it */
	/* ELF virtual address in the module; raw address when there is none */
	uint64_t offset;
	uint32_t frames;  /* first of `nframes` rows in prof.frames, innermost first */
	uint32_t nframes; /* 0 = not resolved */
};

struct prof_node {
	uint32_t parent; /* 0 = outermost */
	uint32_t loc;
};

struct prof_site {
	uint32_t process;
	uint32_t node; /* the innermost frame of its stack */
	uint64_t allocs, frees, alloc_bytes, free_bytes;
	int64_t live_blocks, live_bytes;
	uint64_t temps, temp_bytes;
	int64_t peak_bytes; /* its own largest live_bytes */
	uint64_t peak_ms, first_ms;
	int64_t at_peak_bytes, at_peak_blocks; /* when the process had its peak */
	int64_t at_exit_bytes,
		at_exit_blocks;		/* when exit began; it never did: what is live */
	uint32_t buckets, nbuckets;	/* rows in prof.buckets: see prof_hist */
	uint64_t samples, live_samples; /* sampled: how many stand behind the estimates */
	double var_alloc_bytes, var_live_bytes; /* sampled: variances; exact: 0 */
	uint32_t type; /* string: of the blocks made here ("list"); 0 = not known */
	/* of a live recording, not kept in a file: ref of its struct rec_site */
	uint32_t origin;
};

/* Histogram of a site's blocks: by size, and freed ones, without the temporary, by
 * lifetime. */
struct prof_hist {
	uint64_t sizes[PROF_SIZE_BUCKETS];
	uint64_t lifetimes[PROF_LIFE_BUCKETS];
};

/* One bucket of a site's histogram that is not 0. Most sites have two or three. */
struct prof_bucket {
	uint64_t count;
	uint8_t number; /* of the value in struct prof_hist */
};

/* What a thread did at a site; thread 0 = ended and other threads. */
struct prof_cell {
	uint32_t site, thread;
	uint64_t allocs, frees, alloc_bytes, free_bytes;
};

struct prof_thread {
	uint32_t process;
	uint32_t tid, serial;
	uint32_t name; /* string */
	bool ended;
};

struct prof_block {
	uint64_t addr, bytes;
	uint32_t site;
	uint32_t ms; /* allocated at, since the process's recording began */
	uint16_t thread_serial;
	uint8_t kind; /* enum rec_kind; inherited ones are not listed */
	uint32_t process;
};

struct prof_point {
	uint32_t process;
	uint32_t ms;
	uint32_t rss_kib, own_kib; /* RSS, and the recorder's share of it; 0 = unknown */
	int64_t live_bytes;
};

struct prof_mark {
	uint32_t process, number;
	uint32_t name; /* string */
	uint64_t ms;
	int64_t live_bytes;
	uint32_t rows, nrows; /* rows in prof.mark_rows */
};

struct prof_mark_row {
	uint32_t site;
	int64_t live_bytes, live_blocks;
};

/* A look at all totals of a process while it ran. Looks of a process stand in the order
 * of time. */
struct prof_look {
	uint32_t process;
	uint32_t rows, nrows; /* rows in prof.look_rows */
	uint64_t ms;
};

/* What a site did since its row before, or for the first since its beginning. A look has
 * no row for a site that has as much live as before. Sampled: samples, and weighted
 * bytes. Less than 0 when an earlier look fell into the middle of an event. */
struct prof_look_row {
	uint32_t site;
	int64_t allocs, frees, alloc_bytes, free_bytes;
};

/* A look for leaks at the end of a process, or while it stood still. */
struct prof_check {
	uint32_t process;
	bool done;
	/* not all blocks were known: what lies between them was taken for roots */
	bool loose;
	uint32_t why; /* string: it was not done */
	uint32_t threads;
	uint64_t stop_ns, pause_ns; /* until all stood still; and from then on */
	/* Reachable only because a pointer into their middle was taken for one to their
	 * beginning; by number of the bit in enum classify_heuristic. */
	uint64_t heuristic_blocks[PROF_HEURISTICS], heuristic_bytes[PROF_HEURISTICS];
	/* Of a process that went on: live blocks that were not judged, because they are
	 * younger than the check. */
	uint64_t younger_blocks, younger_bytes;
};

/* How blocks are lost, as memcheck tells them apart (tool/leak/classify.h); the numbers
 * are in files, but for those that the user does not want to hear of (suppress.h). */
enum prof_loss_kind {
	PROF_LOSS_DEFINITE = 0,
	PROF_LOSS_INDIRECT = 1,
	PROF_LOSS_POSSIBLE = 2,
	PROF_LOSS_REACHABLE = 3,
	PROF_LOSS_SUPPRESSED = 4,
	PROF_LOSS_KINDS = 5,
};

/* What of a site's blocks was of one kind then. */
struct prof_loss {
	uint32_t site;
	uint8_t kind; /* enum prof_loss_kind */
	/* of a suppressed one: the kind that was found; not kept in a file */
	uint8_t was;
	bool known; /* suppressed because a baseline has it; not kept in a file */
	/* string: the function that handed them out ("calloc"), as symbol tables
	 * have it; 0 = not known */
	uint32_t called;
	uint64_t blocks, bytes;
	uint64_t indirect_bytes; /* definite: lost because of these */
	/* possible: held only by words that malloc may have left in memory that is used
	 * again */
	uint64_t leftover_blocks, leftover_bytes;
};

enum { PROF_OLD_PARTS = 4 };

/* Blocks that were there before the recording began, of one size class (sizeclass.h):
 * some were watched, and what became of them says how fast such blocks go. The row of
 * class 0 is there for every process that was recorded from later on than its start, and
 * has the sums of all; when nothing could be watched it has only zeroes. */
struct prof_old {
	uint32_t process, size_class;
	uint64_t watched, blocks, bytes; /* estimates but for `watched` */
	/* By quarters of the recording: watched ones that were freed, and the bytes they
	 * stand for. */
	uint64_t died[PROF_OLD_PARTS], died_bytes[PROF_OLD_PARTS];
};

/* Who holds the reachable blocks of a site, as a leak check of a running process found
 * it: the root that leads to most of them. */
struct prof_holder {
	uint32_t site;
	uint32_t name; /* string: "cache+0x10 in app" */
	uint64_t blocks,
		of; /* blocks, or samples, that it holds; and all that are held */
};

/* Memory of one kind over time, as the kernel counts it: for every kind that was looked
 * at, and in the row without a name for the process as a whole. */
struct prof_memory {
	uint32_t process;
	uint32_t kind; /* string: "thread stacks" …; 0 = all of it */
	uint64_t first_kib, last_kib;
	double slope, error; /* bytes a second */
	uint32_t grew, intervals;
	/* all the time and to the end; what malloc handed out does not explain it; of a
	 * runtime's heap, false: it only became larger */
	bool grows;
	uint32_t remedy; /* string: what may help, or 0 */
	/* Of the process as a whole: the limit that it would meet first, what is taken of
	 * it by all that share it, and whether that is the machine's memory; 0 = not
	 * known. */
	uint64_t limit_bytes, used_bytes;
	bool limit_machine;
	uint64_t
		before_kib; /* of heap, resident when it was attached to; 0 = not known */
};

/* A wrong use of the heap, or several alike. Stacks are nodes, 0 = not known. */
struct prof_error {
	uint32_t process;
	uint8_t kind;	    /* enum rec_error_kind */
	uint8_t func;	    /* enum rec_func: what was called */
	uint8_t where;	    /* enum rec_where: what `addr` is */
	uint8_t block_kind; /* enum rec_kind */
	uint8_t freed_func; /* enum rec_func: what freed the block; 0 = not known */
	bool suppressed;    /* the user does not want to hear of it */
	uint32_t at, alloc, freed;
	uint32_t thread; /* serial */
	uint32_t where_thread, where_module;
	uint32_t symbol; /* string: of REC_WHERE_MODULE, the variable it is in or at */
	uint64_t symbol_off;
	uint64_t count;
	uint64_t addr, given, source, block, block_bytes;
	uint64_t where_off; /* of REC_WHERE_MODULE: ELF virtual address */
	uint64_t ms;
};

/* Address range of a module in a process, over time. */
struct prof_range {
	uint32_t process, module;
	uint64_t start, end, bias;
	uint64_t loaded_ms, unloaded_ms; /* 0 = still there */
};

enum prof_end {
	PROF_END_UNKNOWN = 0, /* gone without a word, how is not known */
	PROF_END_RUNNING,
	PROF_END_EXITED, /* status */
	PROF_END_SIGNAL, /* status = signal number */
	PROF_END_EXEC,	 /* replaced by another program under the same pid */
};

/* Whether it was the kernel's out-of-memory killer. */
enum prof_oom {
	PROF_OOM_NO = 0, /* or nobody knows */
	PROF_OOM_LIKELY, /* SIGKILL, and its memory was at the limit */
	PROF_OOM_SURE,	 /* the kernel counted or logged the kill */
};

struct prof_process {
	uint32_t pid, ppid, uid;
	uint32_t exe, cmdline, host, cwd, allocator; /* strings */
	uint32_t not_recorded; /* string: why there is nothing, 0 = it was recorded */
	uint32_t flags;	       /* enum rec_flags */
	uint8_t mode;	       /* enum prof_mode */
	uint8_t end;	       /* enum prof_end */
	uint16_t arch;	       /* enum rec_arch: ELF machine number, 0 = unknown */
	int32_t status;	       /* of PROF_END_EXITED: -1 = not known */
	uint32_t replaced_by;  /* string: of PROF_END_EXEC, the program; 0 = not known */
	uint32_t oom; /* enum prof_oom; `end` is PROF_END_SIGNAL, `status` 9 then */
	uint64_t rate_bytes, run_id, process_ticks;
	uint64_t start_ns, duration_ms;
	uint64_t exit_ms; /* 0: exit never began */
	int64_t live_bytes, peak_bytes;
	uint64_t peak_ms;
	/* sampled: its standard error, see peaks.h; 0 = exact, or not known */
	uint64_t peak_error_bytes;
	uint64_t lost[PROF_LOST_MAX];
	uint64_t frees_inherited, frees_unknown, paused_allocs;
	/* Blocks from before the fork that the recording knows; in no site, nor in live
	 * and peak. */
	uint64_t inherited_blocks, inherited_bytes;
	uint64_t inherited_frees, inherited_free_bytes; /* what of them went here */
	int64_t inherited_at_peak_bytes, inherited_at_peak_blocks;
	/* blocks whose address was handed out again: freed behind us */
	uint64_t frees_unseen;
	uint64_t threads_seen, threads_ended;
	uint64_t recorder_kib;			  /* memory held by the recorder itself */
	uint64_t rss_kib, rss_peak_kib, anon_kib; /* as the tool saw them; 0 = unknown */
	/* Shares of anon_kib, which has nothing of the recorder's: stacks of threads, and
	 * static data (.data, .bss) of program and libraries. Both 0: not known. */
	uint64_t stack_kib, static_kib;
	/* The most that its allocator had; how long memory outside malloc was watched.
	 * String: what of that grew by too little to be named, and KiB a minute. */
	uint64_t malloc_kib, outside_ms;
	uint32_t outside_little, outside_little_kib;
	uint64_t threads_most; /* at the same time; 0 = not known */
	/* Memory limit that it ran under, and what was used of it shortly before its end,
	 * as far as the tool saw; 0 = no limit, or not known. */
	uint64_t limit_bytes, usage_bytes;
	uint32_t coverage; /* string: where memory hides ("pymalloc" …), 0 = none found */
	/* Of the process that was started: how many of the run went on when it was saved,
	 * recorded or not. */
	uint32_t going_on;
	bool paused;
	/* When the recording ended before the process did, or first found no room; 0 =
	 * neither, or not known. Why: tool/model/complete.h. */
	uint64_t cut_ms;
};

/* A site's figures before they were rounded, where the format's own tools sum fractions.
 * Row i is of site i. */
struct prof_real {
	double live_blocks, live_bytes, allocs, alloc_bytes;
};

/* A label of a site, from formats that have them: text, or a number with its unit. */
struct prof_label {
	uint32_t site;
	uint32_t key, text; /* strings; text 0: it is a number */
	int64_t number;
	uint32_t unit; /* string */
};

/* Which columns of the sites mean something; seep's own recordings have all of them. */
enum prof_columns {
	PROF_HAS_LIVE = 1,
	PROF_HAS_ALLOCS = 2, /* allocs, alloc_bytes */
	PROF_HAS_PEAK = 4,   /* at_peak_bytes, at_peak_blocks */
	PROF_HAS_TEMPS = 8,  /* temps, temp_bytes */
	PROF_HAS_ALL = -1,
};

/* Which figure of a site is counted: the sample index. */
enum prof_value { PROF_LIVE = 0, PROF_PEAK, PROF_ALLOCATED, PROF_TEMPORARY, PROF_VALUES };

struct prof;
/* Whether the profile has the figure at all. */
bool prof_has_value(const struct prof *p, enum prof_value value);
/* The figure of a site as it is stored, in bytes or blocks. */
int64_t prof_figure(const struct prof_site *s, enum prof_value value, bool objects);

/* What a reader could not read, in words and numbers; shown in every report. */
struct prof_damage {
	uint32_t what; /* string */
	uint64_t count;
};

#define PROF_TABLE(type, name)                                                           \
	struct type *name;                                                               \
	uint32_t n##name, cap##name

struct prof {
	struct strtab *strings;
	PROF_TABLE(prof_process, processes);
	PROF_TABLE(prof_module, modules);
	PROF_TABLE(prof_range, ranges);
	PROF_TABLE(prof_frame, frames);
	PROF_TABLE(prof_loc, locs);
	PROF_TABLE(prof_node, nodes);
	PROF_TABLE(prof_site, sites);
	PROF_TABLE(prof_bucket, buckets);
	PROF_TABLE(prof_cell, cells);
	PROF_TABLE(prof_thread, threads);
	PROF_TABLE(prof_block, blocks);
	PROF_TABLE(prof_point, points);
	PROF_TABLE(prof_tick, ticks);
	PROF_TABLE(prof_step, steps);
	PROF_TABLE(prof_mark, marks);
	PROF_TABLE(prof_mark_row, mark_rows);
	PROF_TABLE(prof_look, looks);
	PROF_TABLE(prof_look_row, look_rows);
	PROF_TABLE(prof_check, checks);
	uint32_t inherited_sites; /* rows from here on were; in no file; 0 = none */
	PROF_TABLE(prof_loss, losses);
	PROF_TABLE(prof_round, rounds);
	PROF_TABLE(prof_moment, moments);
	PROF_TABLE(prof_old, olds);
	PROF_TABLE(prof_error, errors);
	PROF_TABLE(prof_holder, holders);
	PROF_TABLE(prof_memory, memories);
	PROF_TABLE(prof_damage, damages);
	PROF_TABLE(prof_label, labels);
	PROF_TABLE(prof_snapshot, snapshots);
	PROF_TABLE(prof_real, reals); /* none, or one for every site */
	int columns;		      /* enum prof_columns */
	/* string: of the file it was read from ("heap_v2" …); 0 = seep's own */
	uint32_t format;
	uint64_t time_ns; /* when it was taken, from formats that say so; 0 = unknown */
	/* Strings, from formats that have them: remarks, a line each; frames to leave out
	 * and to keep all the same, as regular expressions; and which column to show
	 * first ("alloc_space"). */
	uint32_t comments, drop_frames, keep_frames, default_type;
	uint64_t blocks_dropped; /* live blocks that were not kept one by one */
	bool has_names;		 /* frames were resolved by whoever wrote it */
	/* interning maps, private to prof.c */
	struct prof_index *index;
};

/* An empty profile with the blank rows in place. Never NULL; free with prof_free. */
struct prof *prof_new(void);
void prof_free(struct prof *p); /* NULL is fine */

/* Gives back what only finds rows that are there already; it is made anew for the next
 * one. */
void prof_forget_index(struct prof *p);

/* Id of a string (NULL and "" are 0) and back; the text lives as long as the profile. */
uint32_t prof_str(struct prof *p, const char *text);
uint32_t prof_strn(struct prof *p, const char *text, size_t bytes);
const char *prof_text(const struct prof *p, uint32_t id);

/* Append a zeroed row and return its index. The table may move: keep the index in a
 * variable and take the address afterwards, never `&p->sites[prof_add_site(p)]`. */
uint32_t prof_append(struct prof *p, enum prof_tab_id tab);

#define PROF_ADD_(row, tab)                                                              \
	static inline uint32_t prof_add_##row(struct prof *p)                            \
	{                                                                                \
		return prof_append(p, PROF_TAB_##tab);                                   \
	}
PROF_ADD_(process, PROCESSES)
PROF_ADD_(frame, FRAMES)
PROF_ADD_(site, SITES)
PROF_ADD_(cell, CELLS)
PROF_ADD_(thread, THREADS)
PROF_ADD_(block, BLOCKS)
PROF_ADD_(point, POINTS)
PROF_ADD_(mark, MARKS)
PROF_ADD_(mark_row, MARK_ROWS)
PROF_ADD_(look, LOOKS)
PROF_ADD_(look_row, LOOK_ROWS)
PROF_ADD_(check, CHECKS)
PROF_ADD_(loss, LOSSES)
PROF_ADD_(old, OLDS)
PROF_ADD_(round, ROUNDS)
PROF_ADD_(moment, MOMENTS)
PROF_ADD_(error, ERRORS)
PROF_ADD_(holder, HOLDERS)
PROF_ADD_(memory, MEMORIES)
PROF_ADD_(range, RANGES)
PROF_ADD_(label, LABELS)
PROF_ADD_(snapshot, SNAPSHOTS)
#undef PROF_ADD_

/* About so many more will come: an array that grows is copied. A figure that cannot be is
 * no harm. */
void prof_expect_blocks(struct prof *p, uint64_t n);
uint32_t prof_add_real(struct prof *p);
/* Histogram of a site; all 0 for a row that does not exist. And to set it. */
struct prof_hist prof_hist(const struct prof *p, uint32_t site);
void prof_set_hist(struct prof *p, uint32_t site, const struct prof_hist *h);
void prof_add_damage(struct prof *p, const char *what, uint64_t count);
/* How far the peak of a process, and that of each of its sites, may be off: several
 * threads add to the common figure in steps of 4 KiB each. 0: it is exact, or an estimate
 * anyway. */
uint64_t prof_peak_error_bytes(const struct prof_process *pr);

/* The timeline of a process ends at `ms` or later, with what is live: adds a point there
 * unless it has one. `rss_kib` 0: not known. */
void prof_end_points(struct prof *p, uint32_t process, uint64_t ms, uint64_t rss_kib);

/* Points in the order of processes and of time; to be called when some were added between
 * others. */
void prof_sort_points(struct prof *p);
/* The look for leaks at a process, or NULL when there was none. The last one counts. */
const struct prof_check *prof_check_of(const struct prof *p, uint32_t process);
/* Memory of a process as a whole, or NULL when nobody looked at it. */
const struct prof_memory *prof_memory_of(const struct prof *p, uint32_t process);

/* Blocks from malloc's own heaps, of a process that nobody recorded: what was freed, and
 * when, is not known. */
static inline bool
prof_is_walked(const struct prof *p)
{
	return p->columns != PROF_HAS_ALL && p->format == 0;
}

/* Row of the module with this build-id, or of this path when it has none; added when
 * new. */
uint32_t prof_module(struct prof *p, const char *path, const uint8_t *build_id,
		     size_t bytes);
/* Row of a location, a node; added when new. */
uint32_t prof_loc(struct prof *p, uint32_t module, uint64_t offset,
		  enum prof_loc_kind kind, bool exact);
uint32_t prof_node(struct prof *p, uint32_t parent, uint32_t loc);

/* The address that a location is of: the call, where it has the address behind it. */
uint64_t prof_loc_address(const struct prof_loc *l);

/* An enum prof_lang in words: "native", "Python" … Static text. */
const char *prof_lang_name(unsigned lang);

/* A PROF_LOC_CLASS in words, by its offset: "[mmap]" … Static text. */
const char *prof_class_name(uint64_t class);

/* Appends everything in `from` to `into`, which shares nothing with it afterwards:
 * processes stay apart, modules, locations and stacks that are the same become one row. A
 * location that had no names gets those of `from`. `from` is only read; the two must be
 * different. */
void prof_merge(struct prof *into, const struct prof *from);

/* The same without the processes of `from` for which without[row] is true, and all that
 * is theirs. */
void prof_merge_without(struct prof *into, const struct prof *from, const bool *without);

#endif
