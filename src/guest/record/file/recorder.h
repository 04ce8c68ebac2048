/* SPDX-License-Identifier: MIT */
/* recorder.h -- the recorder's own state, around the recording that it maps.
 *
 * What has to survive the process is in the recording (shared/recording.h). Here is what
 * need not: where it is mapped, the hash over its stack nodes, the unwinder's rules, and
 * per thread the memo, small caches and the way to its cells.
 *
 * struct recorder lives on a page that fork wipes: a child finds `base` NULL and starts a
 * recording of its own. Nothing here takes memory from the program's heap, waits without
 * a bound, or fails in a way that the program could notice. */
#ifndef SEEP_RECORDER_H
#define SEEP_RECORDER_H

#include "guest/record/file/naming.h"
#include "guest/rt/lock_once.h"
#include "guest/unwind/unwind.h"
#include "shared/compiler.h"
#include "shared/recording.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A mapped object, as the loader knows it. */
struct host_module {
	uintptr_t start, end;
	uintptr_t bias;
	const unsigned char *eh_hdr;
	const char *path;
};

/* What the recorder needs of its surroundings; preload and injected code fill it
 * differently. */
struct host {
	/* Module covering pc: mapped range, .eh_frame_hdr, path (may be "" for the
	 * executable). false when none. Lock-free. */
	bool (*module_find)(uintptr_t pc, struct host_module *ret);
	/* Was the module that covers pc not there when the program began? Then it may go
	 * again. NULL: nobody asks. */
	bool (*module_late)(uintptr_t pc);
	/* The table registered for code made at run time that covers pc, as struct
	 * unw_module has it; until table_done() it stays. false when there is none.
	 * Lock-free. Both may be NULL. */
	bool (*table_find)(uintptr_t pc, struct unw_module *ret);
	void (*table_done)(void);
	/* Upper end of the stack that `sp` lies on, or 0 when that is not known. */
	uintptr_t (*stack_top)(uintptr_t sp);
	/* The program's file where /proc/self/exe is another one; its length, or 0. May
	 * be NULL. */
	long (*program_path)(char *to, size_t cap);
	/* Coarse monotonic clock in ns. */
	uint64_t (*clock_ns)(void);
	/* Resident memory in KiB, asked about once a second while no tool looks at it; 0
	 * = not known. NULL: nobody asks. */
	uint64_t (*rss_kib)(void);
	/* Not 0 while modules come or go (the loader's r_state). */
	const volatile int *loader_busy;
	/* Code of ours that called main: stacks end there. Equal: none. */
	const char *root_start, *root_end;
	/* 0 as soon as a second thread may exist. NULL: not known. */
	const volatile char *single_threaded;
};

struct recorder_settings {
	enum rec_mode mode;
	uint64_t rate_bytes;
	uint64_t max_bytes;
	uint64_t run_id;
	bool mmap_class;
	bool children;
	bool forked;		 /* this is a forked child */
	uint32_t forked_threads; /* of a process whose threads were up to so many more */
	bool own_memory; /* no file: memory of this process alone, copied by fork */
	/* where recordings go; "" = private memory, for as long as we live */
	char dir[512];
	/* Of the file in `dir`; "" = <pid>.<random>.live. */
	char name[NAMING_PATTERN_BYTES];
	/* How many recordings of dead processes stay in `dir`; KEEP_ALL = all. */
	uint32_t keep;
};

enum {
	RECORDER_NODE_HEADS = 1 << 18,
	RECORDER_MODULES_MAX = 4096,
	RECORDER_SCRATCH_BYTES = 8192,
};

/* A module as the unwinder asks for it: private twin of struct rec_module. */
struct known_module {
	uintptr_t start, end;
	const unsigned char *eh_hdr;
	struct rec_module *row;
	uint32_t id;
	bool gone;
	bool late; /* as the host says */
};

struct recorder {
	unsigned char *base; /* the recording; NULL: nothing is recorded */
	struct rec_head *head;
	/* Never the same twice in a process: what tls.owner is compared with. The upper
	 * half counts: threads of another count forget what they remember, and go on. */
	uint64_t id;
	bool exact;  /* mode, at hand */
	bool hot;    /* exact, and nobody else looks at events: hot.h will do */
	bool single; /* one thread so far, as far as we have seen */
	bool full;   /* no more chunks */
	/* the process had a limit on its address space from the start */
	bool space_limited;
	/* kernel without MADV_POPULATE_WRITE: all pages were made at the start */
	bool prefilled;
	bool own_memory; /* no file behind it: no store can fail */
	bool by_use;	 /* pages of the first chunks are made present as they fill up */
	uint32_t begins; /* after a fork, which wipes it: a thread has come (life.c) */
	uint32_t overflow_node; /* stands in for stacks that found no room */
	/* The host's words, at hand, and not volatile: each is read once an event, and
	 * compared where it is. While modules have to be checked the first points to a
	 * word that is never 0; once a thread came that the host did not announce, the
	 * second to one that is. */
	const int *loader_busy;
	const char *single_threaded;
	const struct host *host;
	uint64_t bytes; /* size of the mapping */
	/* its size before and after space_withdraw; 0: not at this moment */
	uint64_t withdrawn;
	uint32_t *node_heads;
	struct stacks_index *stack_index;
	uint64_t index_mask; /* places of it in use, less 1 */
	uint64_t index_used; /* taken, about */
	struct unw_shared *unw;
	struct known_module *modules;
	uint32_t nmodules;
	struct rec_module *module_row; /* the next one's, begun */
	char *scratch;		       /* under the lock of the modules */
	uint32_t idle_lock;
	struct thread *idle; /* private states of ended threads, to use again */
	uint64_t next_point_ms;
	uint64_t next_moment_ms;
	/* by number: moments that have not been left out */
	uint64_t moments[(REC_MOMENT_LAST + 1) / 64];
	uint64_t next_rss_ms, next_own_ms; /* timeline.c: when to measure again */
	bool inherited_whole; /* forked: all that the parent had is in the table */
	/* may become exact or sampled: a cell does not list its first blocks */
	bool mode_changes;
	bool tag_threads;     /* sampled blocks carry their thread's serial too */
	uint32_t rate_number; /* of the rate now, in head->rates */
	struct sample_filter *sample;
	struct lock_once errors_lock;
	bool modules_late; /* some of them are */
	uint64_t *names;   /* private tables of rec_names.c */
	/* Managed runtimes (mixed.h). NULL = none; else no thread remembers native nodes
	 * in `places` and `last_node`, so that every event comes by hot_place. */
	const struct mixed_sources *mixed;
	/* Exact, ended early: still mapped, to count what comes after. NULL in a forked
	 * child. */
	struct rec_head *ended;
};

/* A slot of the block table. `first` carries the page's lock. */
struct live_slot {
	struct rec_bucket *first;
	struct rec_bucket *bucket;
	struct rec_block *block;
	uint64_t bit; /* of the slot, in bucket->used */
};

/* The leaf of the block table for one 2 MiB region. */
enum { LIVE_LEAVES = 8 };
struct live_leaf {
	uintptr_t region; /* its number plus 1; 0 = none */
	uint32_t *leaf;
};

/* An allocation just made: most are freed soon, and then need not be searched for. */
struct recent {
	uintptr_t addr; /* 0 = none */
	uint64_t a;	/* the entry's word, to see that it is still the same block */
	struct live_slot slot;
};

/* The cell of an allocating stack, found by its node without a search. */
enum { THREAD_PLACES = 256 };
struct thread_place {
	uint32_t node; /* 0 = none */
	uint32_t cell;
};

/* A block that is being freed, when its stack is wanted (guest/misuse/wrong_freed.c). */
struct freeing {
	uintptr_t addr; /* 0 = none */
	uint32_t site, node;
	enum rec_func func;
	enum rec_kind kind;
};

/* One thread's private state. Only that thread touches it. */
struct thread {
	struct rec_thread *row;
	uint32_t row_ref;
	uint32_t me; /* its id in locks: lock_id() */
	uint32_t serial;
	uint64_t clock_seen, clock_same, now_ms;
	struct live_leaf leaves[LIVE_LEAVES]; /* used last; place by region */
	struct rec_bucket *page_before; /* the first bucket it made last; NULL = none */
	uint32_t pages_made,
		/* so many first buckets of late, and how many were too small */
		pages_grown;
	struct recent recent[2]; /* its last two allocations, the older one at `turn` */
	unsigned turn;
	bool alone; /* no other thread exists: nothing to lock out, nothing shared */
	bool late;  /* its end was seen: attached for one event */
	int64_t live_bytes; /* while alone: the process's */
	/* while alone: what of it head->live_bytes says, now and then */
	int64_t live_shown;
	int64_t flushed; /* else: what of its cells' live bytes is in head->live_bytes */
	struct thread_place places[THREAD_PLACES];
	uint32_t last_node;
	uint32_t last_site;
	struct rec_cell *last_cell;
	uint32_t cells; /* ref list through rec_cell.thread_next */
	/* hash of those outside of sites: site ref << 32 | cell ref */
	uint64_t *cell_slots;
	uint32_t cell_count; /* of these */
	uint32_t cell_mask;
	struct rec_block *pending_block; /* resize under way: where the old block was */
	struct live_slot pending;
	uint64_t pending_b;
	bool pending_temporary;
	uintptr_t pending_addr;
	uintptr_t stack_low, stack_top; /* its stack, as far as it is known */
	uint64_t random;		/* sampling */
	uint64_t drawn;			/* the distance that is being counted down */
	uint64_t left; /* of it, where tls.left has to stay 0: every call is looked at */
	bool silent;   /* a peer's profiler leaves this thread out */
	struct freeing freeing;
	struct recorder *recorder;
	struct thread *next_idle;
	struct unw_thread *unw;
	size_t mapped_bytes;
	struct mixed_thread *mixed; /* mixed.c; NULL = it has met no managed runtime */
};

static ALWAYS_INLINE void *
rec_at(const struct recorder *r, uint32_t ref)
{
	return r->base + (uint64_t)ref * 8;
}

/* The same off the hot path, where a word is not believed that others can write: NULL
 * unless so many bytes lie within the chunks. */
static inline void *
rec_checked(const struct recorder *r, uint32_t ref, uint64_t bytes)
{
	uint64_t off = (uint64_t)ref * 8;

	return off >= REC_CHUNKS_OFF && off <= r->bytes && bytes <= r->bytes - off
		       ? r->base + off
		       : NULL;
}

static ALWAYS_INLINE uint32_t
rec_ref(const struct recorder *r, const void *p)
{
	return (uint32_t)((uint64_t)((const unsigned char *)p - r->base) / 8);
}

/* Chunk number `index`, from 1. */
static inline struct rec_chunk *
rec_chunk_at(const struct recorder *r, uint32_t index)
{
	return (struct rec_chunk *)(void *)(r->base + REC_CHUNKS_OFF +
					    (uint64_t)(index - 1) * REC_CHUNK_BYTES);
}

/* Which of the process's recordings it is: its id without the count in the upper half. */
static inline uint32_t
recorder_number(const struct recorder *r)
{
	return (uint32_t)r->id;
}

/* Count what was not recorded. */
static inline void
rec_lost(struct recorder *r, enum rec_lost why)
{
	__atomic_fetch_add(&r->head->lost[why], 1, __ATOMIC_RELAXED);
}

/* The process's one recorder. A global, because the unwinder asks for modules without an
 * argument. On a page that fork wipes; never NULL once the hooks work. */
extern SEEP_OWN struct recorder *recorder_now;

/* Map a recording and fill its head; on success r->base is set, last of all. Returns 0 or
 * -errno, and then r is as before. The caller has checked that no other thread starts
 * one. */
int recorder_start(struct recorder *r, const struct recorder_settings *s,
		   const struct host *host, uint64_t id);
/* The second half of it, for a recording that somebody else has mapped and whose head is
 * filled: `fresh` has base, head, bytes, host and id. The private tables are made, and *r
 * becomes *fresh. */
int recorder_begin(struct recorder *r, struct recorder *fresh, uint32_t me);
/* Give the mappings of a recorder back without touching the recording's contents: what a
 * forked child does with its parent's. `base` and `bytes` are passed because fork wiped
 * `r`. */
void recorder_forget(unsigned char *base, uint64_t bytes);
/* Anonymous memory of the process now, by the kernel's account, without the recorder's
 * own, which is measured too (head.own_kib); 0 when it cannot be asked. */
uint64_t recorder_anon_kib(void);
/* Resident memory of the process now; 0 when it cannot be asked. */
uint64_t recorder_rss_kib(void);
/* How much address space the process may have; UINT64_MAX: any, or it cannot be asked. */
uint64_t recorder_space_limit(void);
/* Give the private tables back too. Nobody may be using them. */
void recorder_forget_private(struct recorder *r);

#endif
