/* SPDX-License-Identifier: MIT */
/* leak_json.h -- the members of a JSON report about what leaks were held against:
 * conditions and suppressions. docs/json.md has them. */
#ifndef SEEP_RENDER_LEAK_JSON_H
#define SEEP_RENDER_LEAK_JSON_H

#include "tool/analyze/verdict/judge.h"
#include "tool/model/suppress.h"
#include "tool/util/json.h"

/* Adds "fail_on" and "suppressions" to the object that is being written; NULL is null. */
void leak_json(struct json *j, const struct judge *judged,
	       const struct suppress_set *set);

#endif
