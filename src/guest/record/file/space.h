/* SPDX-License-Identifier: MIT */
/* space.h -- room in the recording: chunks made present before use, objects inside
 * them. */
#ifndef SEEP_SPACE_H
#define SEEP_SPACE_H

#include "guest/record/file/recorder.h"

/* `bytes` of zeroed room in a chunk of `kind`, or NULL when the recording is full
 * (counted by the caller). Objects of one kind all have sizes that keep their alignment.
 * `me` is the caller's lock id. Never faults later: the pages are present. */
void *space_alloc(struct recorder *r, enum rec_chunk_kind kind, uint32_t bytes,
		  uint32_t me);

/* The same under the lock, from a list of used ones first. */
struct rec_cell *space_cell(struct recorder *r, uint32_t me);
struct rec_hist *space_hist(struct recorder *r, uint32_t me);
/* A piece of a series, from those that were given back or a new one; NULL: no room, or
 * series have all that they may take. */
struct rec_series *space_series(struct recorder *r, uint32_t me);
/* All pieces of the series that `ref` names. */
void space_series_free(struct recorder *r, uint32_t ref, uint32_t me);
/* With its histogram and series. A site's own cell stays there, to be taken again. */
void space_cell_free(struct recorder *r, struct rec_cell *cell, uint32_t me);

/* Copy of a string in the recording; 0 when there is no room. */
uint32_t space_string(struct recorder *r, const char *s, uint32_t me);

/* Room for point `n` of the timeline, when all before it are there; false: there is
 * none. */
bool space_points(struct recorder *r, uint32_t n);

/* Make `bytes` more present now, because the kernel will not be asked again. */
void space_reserve(struct recorder *r, uint64_t bytes, uint32_t me);

/* No more chunks from now on: notes when that was, and these flags. */
void space_cut(struct recorder *r, uint32_t flags);

/* The recording shall not grow any more: unmap what no thread can have touched. false
 * when that is nothing. The file stays as it is. */
bool space_give_back(struct recorder *r, uint32_t me);

/* For the moment in which the program locks all of its memory (mlockall): unmaps what is
 * not in use yet, so that it is neither counted nor filled with pages. Meanwhile events
 * that need room are counted as lost. */
void space_withdraw(struct recorder *r, uint32_t me);
/* The end of that: unlocks the recording and maps the rest again, if its addresses are
 * still free. */
void space_return(struct recorder *r, uint32_t me);

#endif
