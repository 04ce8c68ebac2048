/* SPDX-License-Identifier: MIT */
/* peer_series.h -- names of jemalloc's dumps, the thinning of a series, names of
 * threads. */
#ifndef SEEP_PEER_SERIES_H
#define SEEP_PEER_SERIES_H

#include <stdbool.h>
#include <stdint.h>

enum { SERIES_PATH_BYTES = 4097 + 96 };

void series_begin(const char *prefix);
void series_set_prefix(const char *prefix);
void series_forked(void);

/* PREFIX.PID.SEQ.KIND[KINDSEQ].heap, the next one. false: no prefix, so no file. */
bool series_name(char kind, char path[SERIES_PATH_BYTES]);

/* prof_max_dumps. Is it the turn of another .u dump? And: it was written. When there are
 * as many as there may be, every second one is removed, and from then on every second one
 * is due. */
bool series_due(void);
void series_thin(const char *path);

/* Name of a thread as thread.prof.name was given it; NULL when it was not. */
const char *series_thread_name(uint32_t serial);
void series_name_thread(uint32_t serial, const char *name);

#endif
