/* SPDX-License-Identifier: MIT */
/* attach_plan.h -- everything that will be done to a process, worked out before it is
 * touched.
 *
 * What is hooked and how, where the injected code goes, and every byte that is to be
 * written. The process runs meanwhile: what could have changed since is checked again
 * when it is stopped. */
#ifndef SEEP_TARGET_ATTACH_PLAN_H
#define SEEP_TARGET_ATTACH_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/inject.h"
#include "tool/target/proc/allocators.h"
#include "tool/target/proc/objects.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/vec.h"

struct plan_patches VEC_BODY(struct attach_patch);

/* Jumps that have to be near the functions they lead away from. */
struct plan_island {
	uint64_t at;
	size_t object; /* that it is near to */
	struct buf bytes;
};

/* A jump to the hook of a function, or to that itself. */
struct plan_stub {
	uint64_t fn, at;
};

struct plan_stubs VEC_BODY(struct plan_stub);

struct plan {
	struct objects objects;
	struct allocators allocators;
	struct plan_patches patches;
	/* The first island is in the code range, behind the image. */
	struct plan_island islands[1 + ATTACH_ISLANDS];
	unsigned islands_used;
	struct attach_range code, data, self; /* self: the recording */
	unsigned char *image;		      /* as it will be in memory */
	uint64_t image_bytes;		      /* to the end of its data */
	uint64_t text_bytes;		      /* of it: never written */
	unsigned hooked;		      /* functions */
	unsigned slots[BLOB_SHAPES];
	bool by_words; /* an allocator is hooked by the words that the loader bound */
	/* one of these is the program's own: its own calls are not seen */
	bool direct_calls;
	bool taken; /* one of these is not only called through: it may be copied */
	struct plan_stubs stubs; /* that words lead to */
	struct buf left_out;	 /* functions that are not hooked, for people */
};

/* Start with `= {0}`; plan_done is legal at any time. `data_bytes`: private memory for
 * the recorder, `self_bytes`: the recording. */
int plan_make(const struct tracee *t, uint64_t data_bytes, uint64_t self_bytes,
	      struct plan *ret, struct err *e);
void plan_done(struct plan *p);

/* The injected code's config, in the image. */
struct blob_config *plan_config(struct plan *p);

/* What has to stay when everything else goes; bytes = 0: nothing. May become more by
 * plan_more_words. */
struct attach_range plan_stubs(const struct plan *p);

/* Words bound to the hooked functions since: objects that came later. Adds patches;
 * returns how many. Only where hooks go by words. */
unsigned plan_more_words(const struct tracee *t, struct plan *p);

#endif
