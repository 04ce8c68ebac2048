/* SPDX-License-Identifier: MIT */
/* starts.h -- which frames of each stack are written to a file. */
#ifndef SEEP_SESSION_STARTS_H
#define SEEP_SESSION_STARTS_H

#include <stdbool.h>

struct emit_start;
struct prof;
struct skip_opts;

/* Where each site's stack begins and which nodes end one, once the frames of allocators
 * and start code are left out, as in reports: for format_save_opts. Names must be in
 * place; `o` may be NULL. Both arrays are the caller's to free. */
struct emit_start *starts_of(const struct prof *p, const struct skip_opts *o,
			     bool **ret_tails);

#endif
