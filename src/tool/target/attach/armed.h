/* SPDX-License-Identifier: MIT */
/* armed.h -- a process that has libseep.so preloaded and records nothing: it is switched
 * on, not injected into. */
#ifndef SEEP_TARGET_ARMED_H
#define SEEP_TARGET_ARMED_H

#include <stdbool.h>

#include "tool/target/attach/attach.h"
#include "tool/target/run/livefile.h"
#include "tool/util/err.h"

/* Whether libseep.so is loaded into it. */
bool armed_loaded(int pid);

/* Switches recording on, or on again, and opens the recording. -EBUSY: it is being
 * recorded already; -EAGAIN: it did not allocate within some seconds, and begins when it
 * does. */
int armed_switch_on(int pid, const struct attach_settings *s, struct livefile *ret,
		    struct err *e);

#endif
