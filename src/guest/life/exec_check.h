/* SPDX-License-Identifier: MIT */
/* exec_check.h -- may libseep.so be preloaded into this program? */
#ifndef SEEP_EXEC_CHECK_H
#define SEEP_EXEC_CHECK_H

#include "shared/recording.h"

#include <stdbool.h>

/* Why it will not be recorded, or REC_UNSEEN_NONE. Scripts are judged by their
 * interpreter. What cannot be read counts as recorded: exec itself will say what is
 * wrong. Only raw system calls and the stack: fit for the child of a vfork. */
enum rec_unseen_why exec_check(const char *path);

/* May a list of arguments or variables be read, to its end and with all of its texts?
 * What the kernel would refuse with EFAULT must not be read by us. */
bool exec_can_read(char *const *list);

/* Must it be started without LD_PRELOAD? Its loader would complain, or it would refuse to
 * run. The others take no notice of it. */
bool exec_refuses(enum rec_unseen_why why);

#endif
