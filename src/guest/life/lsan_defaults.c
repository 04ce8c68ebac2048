/* SPDX-License-Identifier: MIT */
/* lsan_defaults.c -- see lsan_defaults.h.
 *
 * A program that is built for LeakSanitizer may define three functions. The loader binds
 * our weak references to them if the program exports them (-rdynamic). They are called at
 * the last step of the process, and only if the report is to be in LeakSanitizer's
 * format; the tool reads the strings out of the process's memory while it looks. */
#include "guest/life/lsan_defaults.h"

#include "shared/compiler.h"

#include <stddef.h>
#include <stdint.h>

#define PROGRAMS __attribute__((weak, visibility("default")))

PROGRAMS const char *__lsan_default_options(void);
PROGRAMS const char *__lsan_default_suppressions(void);
PROGRAMS int __lsan_is_turned_off(void);

static bool wanted;

void
lsan_defaults_wanted(bool on)
{
	wanted = on;
}

static uint64_t
string_of(const char *(*function)(void))
{
	return function != NULL ? (uintptr_t)function() : 0;
}

void
lsan_defaults_tell(struct rec_hold *d, bool asked)
{
	if (!wanted && !asked)
		return;
	d->lsan_options = string_of(__lsan_default_options);
	d->lsan_suppressions = string_of(__lsan_default_suppressions);
	/* LeakSanitizer asks this one at exit alone. */
	if (!asked && __lsan_is_turned_off != NULL)
		d->lsan_off = __lsan_is_turned_off() != 0;
}
