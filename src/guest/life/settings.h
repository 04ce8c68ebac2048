/* SPDX-License-Identifier: MIT */
/* settings.h -- the SEEP variable: key=value,key=value. */
#ifndef SEEP_SETTINGS_H
#define SEEP_SETTINGS_H

#include "guest/record/file/recorder.h"

struct settings {
	struct recorder_settings recorder;
	uint32_t parent;     /* record only the child of this process; 0 = everybody */
	uint32_t hold;	     /* stand still at the end for this tool's look; 0 = do not */
	bool lsan;	     /* the report will be in LeakSanitizer's format */
	bool free_stacks;    /* frees are unwound too */
	uint64_t redzone;    /* bytes before and behind each block; 0 = none */
	uint64_t quarantine; /* bytes of freed blocks held back; 0 = none */
	uint64_t guard;	     /* every so many blocks is on fenced pages; 0 = none */
	bool keep_going;     /* wrong frees are left out instead of passed on */
	char compat[16]; /* whose settings to follow, even over a real one; "" = none */
};

/* Defaults, then what `text` (NULL: nothing) says. Returns false, and mode off, when a
 * key or value is not understood; `ret_bad` then points at it. */
bool settings_parse(const char *text, struct settings *ret, const char **ret_bad);

#endif
