/* SPDX-License-Identifier: MIT */
/* recording.h -- the live recording: a mapped file that *is* the recorder's state.
 *
 * The recorder inside the target writes it, the tool reads it at any moment, also after
 * the target was killed. Both sides include this header, which brings its parts along
 * (recording_*.h).
 *
 *   0       struct rec_head            one page: identity, settings, control, counters
 *   1 KiB   struct rec_moment[127]     when the live bytes of every site are known
 *   4 KiB   text page                  executable, directory, arguments, a NUL after each
 *   8 KiB   struct rec_hold            where it stands while the tool looks for leaks
 *   8.5 KiB struct rec_column[…]       the directory of columns (recording_columns.h)
 *   12 KiB  what seep attach did, and has to undo (shared/inject.h)
 *   64 KiB  struct rec_point[4096]     timeline
 *   128 KiB uint32_t root[32768]       top of the tree that finds live blocks by address
 *   256 KiB chunks of 64 KiB           each starts with struct rec_chunk and holds one kind
 *
 * Objects are named by a `ref`: their offset in the file divided by 8, 0 = none. All
 * chunks have the same size, so a chunk whose header was never written can be stepped
 * over.
 *
 * Torn state: every event of a thread first writes (offset, old value) of each word it is
 * going to change into its journal, publishes the number of entries, changes the words,
 * and sets the number to 0. A reader that finds entries in a dead or stopped process's
 * journal puts the old values back: the recording then shows the state before that call.
 * Cells have one writer each, so that is always right; what the process and a site hold
 * is the sum of their cells. head's and site's live_bytes serve only to notice peaks:
 * they are kept from the moment there is a second thread, and a peak is never less than
 * what the cells add up to.
 *
 * Little-endian, 8-byte alignment; a word is never written by halves. */
#ifndef SEEP_RECORDING_H
#define SEEP_RECORDING_H

#include <stdint.h>

#include "shared/rec_enums.h"
#include "shared/recording_frames.h"
#include "shared/recording_hold.h"
#include "shared/recording_wrong.h"

#define REC_MAGIC "SEEPLIVE"
#define REC_VERSION 6u

enum {
	REC_PAGE_BYTES = 4096,
	REC_MOMENTS_OFF = 1024,
	REC_MOMENTS_MAX = 127, /* and what is live at the end makes 128 */
	REC_TEXT_OFF = 4096,   /* the text page */
	REC_TEXT_BYTES = 4096,
	REC_HOLD_OFF = 8192,
	/* as this seep writes it; head.columns_off is what counts */
	REC_COLUMNS_OFF = 8704,
	REC_UNSEEN_OFF =
		12 << 10, /* struct rec_unseen; of seep attach: shared/inject.h */
	REC_UNSEEN_MAX = 64,
	/* u32: the recorder's own KiB, one for REC_OWN_EVERY timeline points */
	REC_POINT_OWN_OFF = 62 << 10,
	REC_OWN_EVERY = 8,
	REC_POINTS_OFF = 64 << 10,
	REC_POINTS_MAX = 4096,
	REC_ROOT_OFF = 128 << 10,
	REC_CHUNKS_OFF = 256 << 10,
	REC_CHUNK_BYTES = 64 << 10,
	REC_POPULATE_BYTES = 256 << 10, /* made present at once, before it is used */
};

enum rec_arch {
	REC_ARCH_X86_64 = 62, /* the ELF machine numbers */
	REC_ARCH_AARCH64 = 183,
};

/* How far the process got, as the recorder saw it. */
enum rec_life {
	REC_LIFE_RUNNING = 0,
	REC_LIFE_EXITING = 1, /* exit() was entered or main returned: @exit */
	REC_LIFE_EXITED = 2,  /* _exit() or the last exit handler */
	REC_LIFE_EXEC = 3,    /* replaced by exec, with a new recording */
};

enum rec_chunk_kind {
	REC_CHUNK_NONE = 0,
	REC_CHUNK_NODE = 1,
	REC_CHUNK_SITE = 2,
	REC_CHUNK_CELL = 3,
	REC_CHUNK_BUCKET = 4,
	REC_CHUNK_LEAF = 5,
	REC_CHUNK_MID = 6,
	REC_CHUNK_THREAD = 7,
	REC_CHUNK_MODULE = 8,
	REC_CHUNK_STRING = 9,
	REC_CHUNK_MARK = 10,
	REC_CHUNK_ERROR = 11,
	REC_CHUNK_HIST = 12,
	REC_CHUNK_NAME = 13,
	REC_CHUNK_SERIES = 14,
	REC_CHUNK_LAST = REC_CHUNK_SERIES,
};

/* Head of every chunk. Objects follow it back to back, threads from the first multiple of
 * their size on; `used` counts bytes including this head and may run past the chunk's end
 * when threads raced for the last room. */
struct rec_chunk {
	uint32_t kind; /* enum rec_chunk_kind */
	uint32_t used;
	uint32_t next;	 /* newest-first list of chunks of the kind, as index; 0 = end */
	uint32_t absent; /* bytes at its end that are not present yet */
	uint32_t reserved[12];
};

enum {
	REC_SIZE_BUCKETS = 16, /* <= 16, 32, 64 … 256 KiB, 512 KiB, larger */
	REC_LIFE_BUCKETS =
		28, /* < 1 ms, 2, 4, 8 … 512 ms, 1, 2 … 65 s … 18.6 h, longer */
	/* One more, for blocks freed by their own thread before its next but one
	 * allocation: they are counted here instead of by their age. */
	REC_LIFE_TEMPORARY = REC_LIFE_BUCKETS,
	/* So many allocations and frees of a cell are listed one by one; then it has a
	 * histogram. */
	REC_FEW = 16,
	REC_CELL_BYTES = 192, /* room for one that is in no site: whole cache lines */
};

/* What a cell allocated, by size, and freed, by age. */
struct rec_hist {
	uint64_t sizes[REC_SIZE_BUCKETS];
	uint64_t lifetimes[REC_LIFE_BUCKETS + 1];
	uint64_t reserved[3];
};

/* What one thread did at one site. One writer: that thread. The sums over a site's cells
 * are the site's totals. In sampled recordings allocs, frees and the histograms count
 * samples, *_bytes are weighted estimates, and est_* say how many calls. */
struct rec_cell {
	uint32_t site;	 /* 0 = not in use */
	uint32_t thread; /* ref of struct rec_thread, 0 = ended and other threads */
	uint32_t hist;	 /* ref of struct rec_hist; 0 = few_* list what it would count */
	uint32_t series; /* ref of struct rec_series: what was live when; 0 = see there */
	uint64_t allocs;
	uint64_t frees;
	uint64_t alloc_bytes;
	uint64_t free_bytes;
	uint64_t temp_bytes; /* of the blocks whose lifetime is REC_LIFE_TEMPORARY */
	uint64_t stamp; /* head.stamp when peak_*, exit_* and `series` were up to date */

	int64_t peak_live_bytes; /* at the global peak, if stamp's epoch equals head's; */
	int64_t peak_live_blocks; /* else unchanged since: use what is live */
	int64_t exit_live_bytes;  /* when exit began, if stamp's exit bit is set; */
	int64_t exit_live_blocks; /* else unchanged since */
	int64_t shown_bytes; /* with threads: what of its live bytes is in the site's */
	uint32_t next;
	union {
		/* the same thread's next cell, of no use to readers */
		uint32_t thread_next;
		/* in an `ended` cell: ref of a cell already counted in here */
		uint32_t absorbed;
	};
	union {
		struct {		     /* sampled */
			uint64_t est_allocs; /* estimated calls, in 1/1024 */
			uint64_t est_frees;
			uint64_t
				var_allocs; /* variance of alloc_bytes, in (64 bytes)^2 */
			uint64_t var_frees; /* what of it has been freed */
		};
		struct { /* exact, while hist is 0: buckets, of the first call lowest */
			uint64_t few_sizes;    /* 4 bits each */
			uint64_t few_lives[2]; /* 8 bits each */
		};
	};
};

/* A stack at which something was allocated: the cell of the first thread that came here,
 * and what all threads share. What is exact is in the cells. The ref of a site is also
 * that of `own`. */
struct rec_site {
	struct rec_cell own;
	uint32_t node;
	uint32_t cells; /* list of struct rec_cell, one per thread seen */
	uint32_t ended; /* the cell of ended threads, 0 = none yet */
	uint32_t lock;
	int64_t live_bytes; /* about, and only once there are threads, see above */
	int64_t peak_bytes; /* largest sum seen */
	uint64_t peak_ms;
	uint64_t first_ms;
};

/* Adds what a cell without a histogram lists to the figures of one. */
static inline void
rec_add_few(const struct rec_cell *c, uint64_t *sizes, uint64_t *lifetimes)
{
	for (uint64_t i = 0; i < c->allocs && i < REC_FEW; i++)
		sizes[c->few_sizes >> i * 4 & 15]++;
	for (uint64_t i = 0; i < c->frees && i < REC_FEW; i++) {
		unsigned life = c->few_lives[i / 8] >> i % 8 * 8 & 255;

		if (life <= REC_LIFE_TEMPORARY)
			lifetimes[life]++;
	}
}

/* stamp: bits 0-47 peak epoch, bits 48-59 number of the last moment, bit 63 exit has
 * begun */
#define REC_STAMP_EXIT (UINT64_C(1) << 63)
enum { REC_STAMP_MOMENT_SHIFT = 48, REC_MOMENT_LAST = (1 << 12) - 1 };
#define REC_STAMP_EPOCH ((UINT64_C(1) << REC_STAMP_MOMENT_SHIFT) - 1)
#define REC_STAMP_MOMENT ((uint64_t)REC_MOMENT_LAST << REC_STAMP_MOMENT_SHIFT)

/* Number of the last moment that a stamp knows of; 0 = none. */
static inline unsigned
rec_stamp_moment(uint64_t stamp)
{
	return (unsigned)(stamp >> REC_STAMP_MOMENT_SHIFT) & REC_MOMENT_LAST;
}

/* A moment at which the live bytes of every site are known. In no order; `when` 0 = not
 * in use. */
struct rec_moment {
	uint64_t when;	    /* bits 0-47 ms, 48-59 its number */
	int64_t live_bytes; /* of the process, as it was known then */
};

/* What a cell had live at past moments: up to eight rows, and the ref of the piece before
 * in four bits of each. From the newest piece on backwards, and in each from its last
 * row, numbers fall. A row says what was live at the moment of its number, and at all
 * moments between it and the row before. A row whose number is above that of the cell's
 * stamp counts as if it had that: it was put there by a call that was undone. Moments
 * after the stamp's: what is live now. Moments before the first row: its figure. No
 * series: nothing was live up to the stamp's moment. */
enum {
	REC_SERIES_ROWS = 8,
	REC_SERIES_BITS = 48,	    /* of the figure, which has a sign */
	REC_SERIES_LINK_SHIFT = 60, /* bits of the ref, of the first row the lowest */
	REC_SERIES_LOST = 1, /* in place of a ref: not known up to the stamp's moment */
};

struct rec_series {
	/* bits 0-47 bytes, 48-59 number of the moment; both 0 = no row */
	uint64_t rows[REC_SERIES_ROWS];
};

/* A figure that found no room. */
#define REC_SERIES_UNKNOWN (-(INT64_C(1) << (REC_SERIES_BITS - 1)))

static inline int64_t
rec_series_bytes(uint64_t row)
{
	return (int64_t)(row << (64 - REC_SERIES_BITS)) >> (64 - REC_SERIES_BITS);
}

static inline unsigned
rec_series_moment(uint64_t row)
{
	return (unsigned)(row >> REC_SERIES_BITS) & REC_MOMENT_LAST;
}

/* Ref of the piece before; 0 = none. */
static inline uint32_t
rec_series_before(const struct rec_series *s)
{
	uint32_t ref = 0;

	for (unsigned i = 0; i < REC_SERIES_ROWS; i++)
		ref |= (uint32_t)(s->rows[i] >> REC_SERIES_LINK_SHIFT) << 4 * i;
	return ref;
}

/* Live blocks, found by address: root[bits 33-47] -> mid[bits 21-32] -> leaf[bits 12-20]
 * -> first bucket of that 4 KiB page -> chain of buckets. root, mid and leaf hold
 * refs. */
enum {
	REC_ROOT_SHIFT = 33,
	REC_ROOT_SLOTS = 1 << 15,
	REC_MID_SHIFT = 21,
	REC_MID_SLOTS = 1 << 12,
	REC_LEAF_SHIFT = 12,
	REC_LEAF_SLOTS = 1 << 9,
	REC_ADDRESS_BITS = 48,
	REC_PAGE_FREED_SHIFT = 52, /* a page's offset above, a return address below */
};

/* Stands right in front of a page's first bucket: the recorder's notes on the page, of no
 * use to readers. */
struct rec_page {
	uint64_t present[4]; /* bit n: a block lives at 16 n, about */
	uint32_t room; /* ref of a bucket that may have a free slot, 0 = the first */
	/* 1: blocks not at multiples of 16 were here, so bits are never cleared */
	uint32_t odd;
	/* the last one freed: its offset << REC_PAGE_FREED_SHIFT, by whom */
	uint64_t freed;
};

/* head | offs[cap rounded up to 16] | struct rec_block[cap]. An entry is live when its
 * `b` is not 0, whatever `used` says; offs[i] = bits 4-11 of the address. */
struct rec_bucket {
	uint32_t lock; /* only the first bucket's: guards the page's whole chain */
	uint32_t next;
	uint64_t used; /* bits 0-47: slots taken; bits 48-63: capacity */
};

enum {
	REC_BUCKET_CAP_SHIFT = 48,
	REC_BUCKET_CAP_MAX = 48,
};

/* a: bits 0-39 size, 40-43 low bits of the address, 44-47 kind, 48-63 thread serial
 *    (sampled: number of the rate in head.rates)
 * b: bits 0-31 ref of the site, 32-63 milliseconds since the start. 0 = empty slot */
struct rec_block {
	uint64_t a;
	uint64_t b;
};

#define REC_BLOCK_SIZE_MASK ((UINT64_C(1) << 40) - 1)
enum {
	REC_BLOCK_LOW_SHIFT = 40,
	REC_BLOCK_KIND_SHIFT = 44,
	REC_BLOCK_THREAD_SHIFT = 48,
};

enum { REC_JOURNAL_MAX = 48 };

struct rec_undo {
	uint64_t off; /* byte offset of a 64-bit word */
	uint64_t old;
};

enum rec_thread_state {
	REC_THREAD_FREE = 0,
	REC_THREAD_LIVE = 1,
};

struct rec_thread {
	uint32_t state; /* enum rec_thread_state; a free record may be taken again */
	uint32_t tid;
	uint32_t serial; /* 1 = the first thread of the process, counts up */
	uint32_t next_free;
	char name[16];
	int64_t unflushed; /* live bytes not yet in head.live_bytes */
	uint64_t started_ms;
	uint64_t stack_low; /* its stack, as far down as it was seen; 0 = not known */
	uint64_t stack_top;
	uint32_t journal_count; /* > 0: undo these, last first */
	uint32_t journal_pad;
	struct rec_undo journal[REC_JOURNAL_MAX];
	uint64_t reserved2[23];
};

enum { REC_BUILD_ID_MAX = 32 };

/* A mapped ELF object. Numbered from 1 in the order of the table. */
struct rec_module {
	uint64_t start; /* mapped range [start, end) */
	uint64_t end;
	uint64_t bias; /* address = ELF virtual address + bias */
	uint64_t loaded_ms;
	uint64_t unloaded_ms; /* 0 = still there */
	uint32_t path;	      /* ref of struct rec_string, 0 = unknown */
	uint32_t build_id_bytes;
	unsigned char build_id[REC_BUILD_ID_MAX];
	uint64_t reserved[6];
};

struct rec_string {
	uint32_t bytes; /* without the NUL that follows */
	char text[];
};

/* A named snapshot of every site's live totals: this head, then room for REC_MARK_ROWS
 * rows, of which `sites` are used. A mark with more goes on in another record with the
 * same number. */
enum { REC_MARK_ROWS = 677 };

struct rec_mark {
	uint32_t number; /* 1, 2, … ; 0 = not finished, ignore */
	uint32_t sites;
	uint64_t ms;
	int64_t live_bytes;
	char name[40];
};

struct rec_mark_row {
	uint32_t site;
	/* sampled: 1 = live_blocks estimates blocks, 0 = it counts samples */
	uint32_t estimated;
	int64_t live_bytes;
	int64_t live_blocks;
};

struct rec_point {
	uint32_t ms;
	uint32_t rss_kib; /* 0 = not known */
	int64_t live_bytes;
};

enum {
	REC_RATES_MAX = 16,
	REC_HOST_BYTES = 64,
	REC_ABI_BYTES = 32,
};

struct rec_head {
	/* 0: identity, never changes */
	char magic[8];
	uint32_t version;
	uint32_t arch;
	uint32_t head_bytes;  /* sizeof(struct rec_head) */
	uint32_t chunk_bytes; /* REC_CHUNK_BYTES */
	uint64_t file_bytes;  /* how far it may grow */
	uint32_t pid;
	uint32_t ppid;
	uint32_t uid;
	uint32_t mode;	   /* enum rec_mode */
	uint64_t start_ns; /* wall clock, when recording began */
	/* CLOCK_MONOTONIC then: `ms` everywhere counts from here */
	uint64_t start_mono_ns;
	/* field 22 of /proc/PID/stat: tells a recycled pid; 0 = unknown */
	uint64_t process_ticks;
	uint64_t rate_bytes; /* mean distance of samples now */
	uint64_t run_id;     /* same in all processes of one run */
	char host[REC_HOST_BYTES];
	char libc[REC_ABI_BYTES];      /* which allocator is underneath, for people */
	uint64_t rates[REC_RATES_MAX]; /* every rate used so far, in order */
	uint32_t columns_off;	       /* where the directory of columns is */
	uint32_t columns;	       /* and how many struct rec_column it has */
	uint64_t reserved0[8];

	/* 384: written by the tool, range-checked by the recorder */
	uint64_t clock_ms; /* milliseconds since start_mono_ns; 0 = nobody advances it */
	uint64_t rss_kib;  /* last seen by the tool, or without one by the recorder */
	uint32_t paused;   /* 1 = record no new allocations; 2 = do, and heed each */
	uint32_t tool_pid; /* who advances the clock */
	uint32_t hold;	   /* enum rec_hold_state; a futex, written by both sides */
	uint32_t oom_before;  /* kills that its control group had counted when it began */
	uint64_t limit_bytes; /* of its control group; 0 = none, or not known */
	uint64_t usage_bytes; /* of that limit, when last looked at */
	/* of heap when it was attached to; 0 = it was not, or not known */
	uint32_t before_kib;
	uint32_t reserved1[3];

	/* 448: changes rarely */
	uint32_t flags;		  /* enum rec_flags */
	uint32_t life;		  /* enum rec_life */
	uint32_t chunks;	  /* chunks given out */
	uint32_t populated;	  /* chunks made present */
	uint32_t forked_threads;  /* forked: other threads that its parents had at most */
	uint32_t moment_every_ms; /* between moments; doubled when there are 127 */
	uint32_t free_series;	  /* ref list, as free_cells */
	uint32_t series;	  /* pieces that were ever made */
	uint32_t reserved4[8];

	/* 512: the process's live bytes and its peak, without what was inherited */
	/* about: one thread shows it now and then, several flush theirs */
	int64_t live_bytes;
	int64_t peak_bytes;
	uint64_t stamp; /* peak epoch, moment and exit bit, see REC_STAMP_* */
	uint64_t peak_ms;
	uint64_t exit_ms; /* when exit began; 0 = it has not */
	uint64_t cut_ms;  /* when it ended or found no room, at least 1; 0 = neither */
	uint32_t unseen;  /* entries at REC_UNSEEN_OFF begun; may be more than fit */
	uint32_t reserved2[3];

	/* 576: counters */
	uint64_t lost[REC_LOST_MAX];
	/* of blocks from before the fork that are not in the table */
	uint64_t frees_inherited;
	/* of blocks never seen: from before recording, or while paused */
	uint64_t frees_unknown;
	uint64_t frees_unseen;	/* address handed out again: freed behind us */
	uint64_t paused_allocs; /* allocations let through while paused */
	uint64_t threads_seen;
	uint64_t threads_ended;
	uint32_t free_threads; /* ref list of records to use again */
	uint32_t free_cells;
	uint32_t points;	 /* timeline points in use */
	uint32_t point_every_ms; /* between them; doubled when the table is full */
	uint32_t locks[4];	 /* space, modules, threads, timeline */
	uint32_t marks;		 /* last mark's number */
	uint32_t modules;	 /* rows in the module table */
	/* resident memory of the recorder outside this file, as last measured */
	uint64_t own_kib;
	uint64_t exec_ms; /* when it was replaced by exec */
	/* 256 + what exit or _exit was given; 0 = it was not called */
	uint32_t exit_status;
	/* anonymous memory when exit began, without own_kib; 0 = not known */
	uint32_t exit_anon_kib;
	uint64_t errors_more;  /* wrong uses of the heap without a record of their own */
	uint32_t threads_most; /* at the same time */
	uint32_t free_hists;   /* ref list, as free_cells */
	/* 896 */
	uint32_t chunk_lists[16]; /* newest chunk of each kind, as index; 0 = none */
};

/* All memory that the recorder holds, in KiB: this file as far as it was made present,
 * and its own. */
static inline uint64_t
rec_held_kib(const struct rec_head *h)
{
	return __atomic_load_n(&h->own_kib, __ATOMIC_RELAXED) + (REC_CHUNKS_OFF >> 10) +
	       (uint64_t)h->populated * (REC_CHUNK_BYTES >> 10);
}

_Static_assert(__builtin_offsetof(struct rec_head, hold) == 408, "hold word");
_Static_assert(sizeof(struct rec_chunk) == 64, "chunk head");
_Static_assert(sizeof(struct rec_site) == 192, "site");
_Static_assert(sizeof(struct rec_series) == 64, "piece of a series");
_Static_assert(sizeof(struct rec_head) <= REC_MOMENTS_OFF &&
		       REC_MOMENTS_OFF + REC_MOMENTS_MAX * sizeof(struct rec_moment) <=
			       REC_TEXT_OFF,
	       "moments fit");
_Static_assert(sizeof(struct rec_cell) == 144, "cell");
_Static_assert(sizeof(struct rec_hist) == 384, "histogram");
_Static_assert(REC_SIZE_BUCKETS <= 16 && REC_FEW == 16, "few_sizes");
_Static_assert(sizeof(struct rec_page) == 48, "page notes");
_Static_assert(sizeof(struct rec_bucket) == 16, "bucket head");
_Static_assert(sizeof(struct rec_block) == 16, "block");
_Static_assert(sizeof(struct rec_thread) == 1024, "thread");
_Static_assert(sizeof(struct rec_module) == 128, "module");
_Static_assert(sizeof(struct rec_mark) == 64, "mark head");
_Static_assert(sizeof(struct rec_mark_row) == 24, "mark row");
_Static_assert(sizeof(struct rec_point) == 16, "timeline point");
_Static_assert(REC_HOLD_OFF + sizeof(struct rec_hold) <= REC_UNSEEN_OFF &&
		       REC_UNSEEN_OFF + REC_UNSEEN_MAX * sizeof(struct rec_unseen) <=
			       REC_POINT_OWN_OFF,
	       "unrecorded programs fit");
_Static_assert(__builtin_offsetof(struct rec_head, clock_ms) == 384, "control words");
_Static_assert(__builtin_offsetof(struct rec_head, flags) == 448, "rare words");
_Static_assert(__builtin_offsetof(struct rec_head, live_bytes) == 512, "hot words");
_Static_assert(__builtin_offsetof(struct rec_head, lost) == 576, "counters");
_Static_assert(REC_POINTS_OFF + REC_POINTS_MAX * sizeof(struct rec_point) <= REC_ROOT_OFF,
	       "timeline fits");
_Static_assert(REC_HOLD_OFF + sizeof(struct rec_hold) <= REC_POINT_OWN_OFF &&
		       REC_POINT_OWN_OFF + REC_POINTS_MAX / REC_OWN_EVERY * 4 <=
			       REC_POINTS_OFF,
	       "own memory of the points fits");
_Static_assert(REC_ROOT_OFF + REC_ROOT_SLOTS * 4 <= REC_CHUNKS_OFF, "root fits");

#endif
