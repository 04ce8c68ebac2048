/* SPDX-License-Identifier: MIT */
/* mallctl.h -- mallctl() and its kin, jemalloc's way to ask and tell at run time. */
#ifndef SEEP_MALLCTL_H
#define SEEP_MALLCTL_H

#include <stdbool.h>
#include <stddef.h>

/* Does the process have a real one behind us? */
bool mallctl_is_real(void);
/* From now on the profiling names are answered here, even if there is a real one. */
void mallctl_is_ours(void);

/* One call, as the functions of the table see it. */
struct ctl_call {
	void *old;
	size_t *old_bytes;
	const void *new;
	size_t new_bytes;
	size_t index; /* where the name has a number in it */
};

/* A name, "#" in it for a number. `run` returns 0 or an error number. */
struct ctl_row {
	const char *name;
	int (*run)(const struct ctl_row *row, const struct ctl_call *c);
	const void *value; /* read only: where the value is */
	size_t value_bytes;
	size_t index_end; /* numbers are below this */
	bool general;	  /* not about profiling: a real one behind us knows better */
};

extern const struct ctl_row ctl_rows[];
extern const size_t ctl_row_count;

/* Names with numbers in them are there only then. */
bool ctl_has_stats(void);

#endif
