/* SPDX-License-Identifier: MIT */
/* settings.h -- the SEEP variable: key=value,key=value. */
#ifndef SEEP_SETTINGS_H
#define SEEP_SETTINGS_H

#include "record/recorder.h"

struct settings {
	struct recorder_settings recorder;
	uint32_t parent; /* record only the child of this process; 0 = everybody */
	uint32_t hold;	 /* stand still at the end for this tool's look; 0 = do not */
	char compat[16]; /* whose settings to follow, even over a real one; "" = none */
};

/* Defaults, then what `text` (NULL: nothing) says. Returns false, and mode off, when a key or
 * value is not understood; `ret_bad` then points at it. */
bool settings_parse(const char *text, struct settings *ret, const char **ret_bad);

#endif
