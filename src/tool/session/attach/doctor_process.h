/* SPDX-License-Identifier: MIT */
/* doctor_process.h -- what is in the way of watching a process, and of attaching to
 * it. */
#ifndef SEEP_SESSION_DOCTOR_PROCESS_H
#define SEEP_SESSION_DOCTOR_PROCESS_H

#include <stdbool.h>

#include "tool/target/attach/refusal.h"

enum doctor_mark { DOCTOR_OK, DOCTOR_NOTE, DOCTOR_BAD };

/* Gets one line for each check: a word for what was checked, and a sentence that ends
 * with what helps. */
typedef void doctor_sayer(enum doctor_mark mark, const char *what, const char *text);

/* `cannot`: it has no malloc, so neither seep leaks nor seep attach is recommended. */
void doctor_process(int pid, bool cannot, doctor_sayer *say);

/* Why /proc/PID/smaps, or with `contents` the memory itself, may not be read, and what
 * helps; of facts alone. The text is good until the next call. */
const char *doctor_no_access(const struct refusal_facts *f, bool contents);

#endif
