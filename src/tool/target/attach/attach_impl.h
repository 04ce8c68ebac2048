/* SPDX-License-Identifier: MIT */
/* attach_impl.h -- what attach.c, attach_begin.c and attach_keep.c share. */
#ifndef SEEP_TARGET_ATTACH_IMPL_H
#define SEEP_TARGET_ATTACH_IMPL_H

#include "shared/recording.h"
#include "tool/target/attach/attach.h"

/* Head and text page, made before the process is stopped. */
struct attach_beginning {
	union {
		struct rec_head head;
		char page[REC_TEXT_OFF];
	};
	char text[REC_TEXT_BYTES];
};

/* Fills all of it that does not depend on the moment. */
void attach_begin(int pid, struct attach_beginning *b, const struct attach_settings *s);

/* Opens the memfd that the process has made as its `fd`, makes a recording of it and maps
 * it here. */
int attach_recording(struct attach *a, uint64_t fd, const struct attach_settings *s,
		     const struct attach_beginning *begin, struct err *e);

/* Where libc keeps a thread's id: at the same distance from the thread pointer in all of
 * them. 0: not known. The threads are stopped. */
uint32_t attach_tid_off(const struct tracee *t);

#endif
