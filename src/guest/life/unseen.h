/* SPDX-License-Identifier: MIT */
/* unseen.h -- programs that are started and not recorded: counted, and named as long as
 * there is room. */
#ifndef SEEP_UNSEEN_H
#define SEEP_UNSEEN_H

#include "shared/recording.h"

/* What was noted, to be taken back when exec fails. */
struct unseen {
	struct rec_head *head;	/* NULL: nothing */
	struct rec_unseen *row; /* NULL: only counted */
};

/* Note in the recording of this process, or of the one that it was forked from, that
 * `path` (NULL: not known) is started as process `pid` and will not be recorded.
 * Lock-free, and only raw system calls: fit for the child of a vfork and for signal
 * handlers. */
struct unseen unseen_note(enum rec_unseen_why why, uint32_t pid, const char *path,
			  char *const *argv);
void unseen_take_back(const struct unseen *u);

#endif
