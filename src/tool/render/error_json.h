/* SPDX-License-Identifier: MIT */
/* error_json.h -- a wrong use of the heap as members of a JSON object (docs/json.md). */
#ifndef SEEP_RENDER_ERROR_JSON_H
#define SEEP_RENDER_ERROR_JSON_H

#include "tool/model/prof.h"
#include "tool/util/json.h"

/* Everything but the stacks, which the caller adds; inside of an open object. */
void error_json(struct json *j, const struct prof *p, const struct prof_error *e);

#endif
