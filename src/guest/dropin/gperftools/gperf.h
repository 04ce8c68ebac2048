/* SPDX-License-Identifier: MIT */
/* gperf.h -- gperftools' heap profiler, by its own variables and functions: what the
 * parts share.
 *
 * gperf.c has the settings and the C functions, gperf_when.c the triggers, gperf_dump.c
 * writes a profile, gperf_files.c names files and removes old ones, gperf_timer.c ticks,
 * gperf_wake.c brings threads in that were there before, gperf_mmap.c logs mappings. All
 * of it runs in the target: no libc that allocates or locks. */
#ifndef SEEP_GPERF_H
#define SEEP_GPERF_H

#include "guest/dropin/peer.h"
#include "guest/record/census/census.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How loud a message is: shown from this PERFTOOLS_VERBOSE on. */
enum gperf_loud {
	GPERF_FATAL = -4,
	GPERF_ERROR = -3,
	GPERF_INFO = -1,
	GPERF_PLAIN = 0,
	GPERF_MUCH = 1,
};

enum { GPERF_PATH_MAX = 4096 };

struct gperf_settings {
	int64_t alloc_interval, dealloc_interval, inuse_interval; /* bytes; <= 0: never */
	int64_t time_interval;					  /* seconds */
	int64_t verbose;
	int64_t signal; /* 0: none */
	bool mmap, only_mmap, mmap_log, cleanup;
};

extern struct gperf_settings gperf_settings;

/* One line on stderr, of all the strings joined, if it is to be shown. Needs no TLS. */
#define gperf_say(loud, ...)                                                             \
	gperf_say_parts((loud), (const char *const[]){__VA_ARGS__, NULL})
void gperf_say_parts(enum gperf_loud loud, const char *const *parts);

/* State of the profiler. `dumping` keeps two from writing at once; the figures of the
 * last dump are the dumping thread's. */
struct gperf_state {
	bool by_variable; /* HEAPPROFILE: start in the constructor */
	bool begun;	  /* the recording has been */
	bool shared; /* it is HEAPCHECK's: never paused, and all of it is in profiles */
	bool on;
	bool forced; /* by SEEP=compat=gperftools */
	bool timed;  /* the timer's task is there */
	bool moved;  /* a forked child: has allocated since */
	uint32_t dumping;
	uint32_t number; /* of the last file; goes on over stop and start */
	uint64_t allocated, last_alloc;
	uint64_t last_free;
	int64_t high_water;
	int64_t doubtful; /* mmap: below this the heap has not grown enough, see in_use */
	int64_t last_time;  /* seconds, wall clock */
	struct census base; /* when it was started again; else empty */
	bool has_base;
	char own[GPERF_PATH_MAX]; /* prefix as it was given */
	char prefix
		[GPERF_PATH_MAX]; /* as it is used: with the number of a forked child */
};

extern struct gperf_state gperf;

/* ---- gperf_when.c ---- */

/* The turn to write a profile, or to change whether there are any: wait for it, not for
 * ever. Signals are held back until it ends. */
bool gperf_turn_wait(void);
void gperf_turn_end(void);

/* Write the next file, having the turn. `ret_total` as for gperf_dump. */
void gperf_write(const char *reason, struct census_count *ret_total);

/* Seconds, wall clock. */
int64_t gperf_now(void);

/* What may make a profile due; the first three and the last as in peer.h. */
void gperf_allocated(size_t usable, size_t bytes, uint64_t passed, bool recorded);
void gperf_freed(size_t usable);
void gperf_ending(enum peer_end how);
void gperf_signalled(int sig);
void gperf_tick(void); /* from the timer's task: uses no TLS */

/* ---- gperf_files.c ---- */

/* Where profiles go: HEAPPROFILE's value, with the process's number behind it for
 * programs that a profiled one has started. false: it does not say. */
bool gperf_prefix_from(const char *value, char *ret, size_t cap);
/* Remove PREFIX.*.heap. */
void gperf_cleanup(const char *prefix);

/* ---- gperf_dump.c ---- */

/* Write the profile to the file `path`; 0 or -errno. `base`: cumulative figures to
 * subtract, or NULL. `ret_total`, if not NULL, gets the sums of the heap. Lock-free but
 * for the file; any thread, signal handlers, and tasks without TLS. */
int gperf_dump(const char *path, const struct census *base,
	       struct census_count *ret_total);
/* The same as text in a mapping of *ret_mapped bytes, NUL-terminated; NULL without
 * memory. */
char *gperf_text(const struct census *base, size_t *ret_mapped, size_t *ret_len);

/* ---- gperf_timer.c ---- */

/* Call `tick` every `seconds` from now on, in a task of our own that has no TLS and takes
 * no signals. It ends with the process's last thread. false: the kernel refused. */
bool gperf_timer_start(int64_t seconds, void (*tick)(void));

/* ---- gperf_wake.c ---- */

/* Recording has begun while the program runs: threads that were let pass without being
 * looked at come to the hooks again with their next allocation. */
void gperf_wake(void);

/* ---- gperf_mmap.c ---- */

/* From now on each mmap, mremap, munmap and sbrk of the program is logged on stderr. */
void gperf_mmap_log(void);

#endif
