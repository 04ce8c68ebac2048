/* SPDX-License-Identifier: MIT */
/* peer_jemalloc.h -- jemalloc's profiler, as mallctl sees it. */
#ifndef SEEP_PEER_JEMALLOC_H
#define SEEP_PEER_JEMALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* prof:true, and it records. The functions below are for then only. */
bool jem_on(void);

/* Switches. Each set gives what it was before. */
bool jem_active(void);
bool jem_set_active(bool on);
bool jem_thread_active_init(void);
bool jem_set_thread_active_init(bool on);
bool jem_gdump(void);
bool jem_set_gdump(bool on);
size_t jem_lg_sample(void); /* 0 when off */

/* The calling thread's. -EAGAIN: it has no state, and no room for one. */
int jem_thread_active(bool *ret);
int jem_set_thread_active(bool on);
/* "" when it has none; lives as long as the process, or until 4,096 others were given. */
const char *jem_thread_name(void);
/* -EFAULT for NULL and for characters that are not for printing. Cut at 63. */
int jem_set_thread_name(const char *name);

/* Write a profile now; NULL: with a name of the series. 0 or -errno. */
int jem_dump(const char *path);
/* Prefix of later names; cut at PATH_MAX. */
void jem_set_prefix(const char *prefix);
/* Forget everything; sample every 2^lg bytes from now on. 0 or -errno. */
int jem_reset(size_t lg_sample);

/* prof.stats.*, by number of the size class. */
struct jem_stats {
	uint64_t req_sum, count;
};
struct jem_stats jem_stats_live(unsigned class);
struct jem_stats jem_stats_accum(unsigned class);

#endif
