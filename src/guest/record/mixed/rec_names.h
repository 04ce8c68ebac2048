/* SPDX-License-Identifier: MIT */
/* rec_names.h -- names of frames and types in the recording, each once. */
#ifndef SEEP_REC_NAMES_H
#define SEEP_REC_NAMES_H

#include "guest/record/file/recorder.h"

enum { REC_NAMES_BITS = 16 }; /* names, and strings, that are found again */

/* Bytes of the private tables that hold them, all zero at first. */
size_t rec_names_bytes(void);

/* A frame by its name; texts end with a NUL, "" = not known, and are cut at REC_NAME_MAX.
 * `line` 0 = not known. The ref of its struct rec_name, 0 and counted when there is no
 * room. Lock-free, any thread. */
uint32_t rec_name(struct recorder *r, const char *function, const char *file,
		  uint32_t line, enum rec_language language, uint32_t me);

/* The ref of a string that says this; 0 for "", and when there is no room. */
uint32_t rec_name_text(struct recorder *r, const char *text, uint32_t me);

#endif
