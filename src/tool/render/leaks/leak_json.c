/* SPDX-License-Identifier: MIT */
/* leak_json.c -- see leak_json.h. */
#include "tool/render/leaks/leak_json.h"

static void
lj_conditions(struct json *j, const struct judge *judged)
{
	json_arr(j);
	for (size_t i = 0; i < judged->len; i++) {
		const struct judge_condition *c = &judged->data[i];

		json_obj(j);
		json_member_str(j, "condition", c->text);
		json_member_u64(j, "value", c->value);
		json_member_bool(j, "met", c->met);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
lj_suppressions(struct json *j, const struct suppress_set *set)
{
	json_arr(j);
	for (size_t i = 0; i < set->all.len; i++) {
		const struct suppress *x = &set->all.data[i];

		if (x->count == 0)
			continue;
		json_obj(j);
		json_member_str(j, "name", x->name);
		json_member_str(j, "file", set->files.data[x->file]);
		json_member_u64(j, "line", x->line);
		json_member_u64(j, "records", x->count);
		json_member_u64(j, "blocks", x->blocks);
		json_member_u64(j, "bytes", x->bytes);
		json_obj_end(j);
	}
	json_arr_end(j);
}

void
leak_json(struct json *j, const struct judge *judged, const struct suppress_set *set)
{
	json_key(j, "fail_on");
	if (judged != NULL)
		lj_conditions(j, judged);
	else
		json_null(j);
	json_key(j, "suppressions");
	if (set != NULL)
		lj_suppressions(j, set);
	else
		json_null(j);
}
