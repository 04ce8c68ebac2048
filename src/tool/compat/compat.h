/* SPDX-License-Identifier: MIT */
/* compat.h -- commands that take the place of other tools: their options, their
 * output. */
#ifndef SEEP_COMPAT_COMPAT_H
#define SEEP_COMPAT_COMPAT_H

#include "tool/util/cmdline/cmd.h"

extern const struct cmd cmd_jeprof, cmd_pprof, cmd_mtrace, cmd_flamegraph, cmd_memleak,
	cmd_heaptrack_print, cmd_ms_print;

#endif
