/* SPDX-License-Identifier: MIT */
/* log_name.h -- names of report files with what differs from process to process in them,
 * as valgrind has them: %p the pid, %n a number from 0 on, %q{NAME} a variable of the
 * environment, %% a percent sign. */
#ifndef SEEP_SESSION_LOG_NAME_H
#define SEEP_SESSION_LOG_NAME_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/util/err.h"

/* The name for a process; the caller frees it. -EINVAL says what is wrong with the
 * pattern. */
int log_name(const char *pattern, uint32_t pid, uint32_t number, char **ret_name,
	     struct err *e);

/* Whether processes have files of their own by it. */
bool log_name_differs(const char *pattern);

#endif
