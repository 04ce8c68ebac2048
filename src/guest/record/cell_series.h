/* SPDX-License-Identifier: MIT */
/* cell_series.h -- live bytes of every site over time, exactly, and without a walk.
 *
 * A moment is a number in head->stamp. A cell that changes for the first time after one
 * holds what it held then: that is noted in the cell's series before the change. So a
 * site that does not change costs nothing, and one that does costs the compare that finds
 * a new peak. What is noted at one moment was live at one moment: each event is either
 * before it, in all cells that it changes, or after it. */
#ifndef SEEP_CELL_SERIES_H
#define SEEP_CELL_SERIES_H

#include "guest/record/file/recorder.h"

/* A moment, now. Twice the distance and half of them when there are as many as may be.
 * The timeline's lock is held. */
void moments_take(struct recorder *r, struct thread *t);

/* The cell is going to change under `stamp`, which knows of later moments than the
 * cell's. */
void series_note(struct recorder *r, struct rec_cell *c, uint64_t stamp, uint32_t me);

/* The series of the sum of both cells, which are brought up to date with `now`; `old` may
 * be NULL. It is new, or one of the two's own. */
uint32_t series_fold(struct recorder *r, struct rec_cell *old, struct rec_cell *c,
		     uint64_t now, uint32_t me);

#endif
