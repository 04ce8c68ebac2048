/* SPDX-License-Identifier: MIT */
/* attach_plan_impl.h -- what attach_plan.c and attach_config.c share. */
#ifndef SEEP_TARGET_ATTACH_PLAN_IMPL_H
#define SEEP_TARGET_ATTACH_PLAN_IMPL_H

#include "tool/target/attach/attach_plan.h"

enum {
	PLAN_FUNCTION_MAX = 4096, /* bytes of a function that are looked at */
};

#define PLAN_REACH (UINT64_C(0x7f000000)) /* of a jump, with room to spare */

void plan_add_patch(struct plan *p, uint64_t at, const void *before, const void *after,
		    unsigned n);

/* The rest of the config, once hooks are chosen. */
void plan_fill_config(const struct tracee *t, struct plan *p);

#endif
