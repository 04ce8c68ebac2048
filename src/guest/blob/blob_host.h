/* SPDX-License-Identifier: MIT */
/* blob_host.h -- what the recorder asks of a process that it was injected into. */
#ifndef SEEP_BLOB_HOST_H
#define SEEP_BLOB_HOST_H

#include "guest/record/file/recorder.h"

/* Its words are filled in when recording begins. */
extern struct host blob_host;

#endif
