/* SPDX-License-Identifier: MIT */
/* cells.h -- what a thread did at a site: one writer each, folded when the thread ends. */
#ifndef SEEP_CELLS_H
#define SEEP_CELLS_H

#include "record/recorder.h"

/* The thread's cell at a site, made when new; NULL when there is no room. */
struct rec_cell *cells_get(struct recorder *r, struct thread *t, struct rec_site *site);

/* Add every cell of an ending thread to its site's "ended threads" cell and free it. */
void cells_fold(struct recorder *r, struct thread *t);

#endif
