/* SPDX-License-Identifier: MIT */
/* loader.h -- what the recorder asks of a process that libseep.so was loaded into. */
#ifndef SEEP_LOADER_H
#define SEEP_LOADER_H

#include "guest/record/file/recorder.h"

extern const struct host loader_host;

#endif
