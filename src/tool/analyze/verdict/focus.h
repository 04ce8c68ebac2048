/* SPDX-License-Identifier: MIT */
/* focus.h -- which processes of a run a report is about.
 *
 * A build or a script starts dozens of programs that nobody asked about. The headline and
 * the list of sites are about the program that was named and those that belong to it:
 * built in the same tree, or of the same package of the system. Where the named one is a
 * shell, an interpreter or a build tool of the system, every program belongs to it that
 * the system did not bring. The others are summed up, never left out, and can be asked
 * for by name. */
#ifndef SEEP_ANALYZE_FOCUS_H
#define SEEP_ANALYZE_FOCUS_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/model/prof.h"

/* Sets focus[i] for the processes among `chosen` (NULL = all) that the report is about;
 * room for p->nprocesses. All of them when there is no difference to make. Returns how
 * many. */
uint32_t focus_of(const struct prof *p, const bool *chosen, bool *ret_focus);

/* The tables, each ends with NULL: folders of programs that belong to the system, and
 * names of programs that do nothing but start others. */
extern const char *const focus_system_folders[];
extern const char *const focus_launchers[];

#endif
