/* SPDX-License-Identifier: MIT */
/* error_json.c -- see error_json.h. */
#include "tool/render/error_json.h"

#include "tool/render/error_words.h"

/* null where there is none. */
static void
add_known(struct json *j, const char *key, uint64_t n)
{
	json_member_u64_if(j, key, n != 0, n);
}

void
error_json(struct json *j, const struct prof *p, const struct prof_error *e)
{
	static const char *const wheres[REC_WHERES] = {
		[REC_WHERE_UNKNOWN] = "unknown", [REC_WHERE_BLOCK] = "block",
		[REC_WHERE_FREED] = "freed",	 [REC_WHERE_STACK] = "stack",
		[REC_WHERE_MODULE] = "module",
	};
	struct buf title = {0};

	error_title(&title, p, e);
	json_member_str(j, "kind", error_kind_name(e));
	json_member_str(j, "text", buf_str(&title));
	buf_done(&title);
	json_member_u64(j, "count", e->count);
	json_member_bool(j, "suppressed", e->suppressed);
	json_member_str(j, "function",
			e->func != REC_FUNC_NONE ? error_func_name(e->func) : NULL);
	json_member_u64(j, "pid", p->processes[e->process].pid);
	json_member_u64(j, "thread", e->thread);
	json_member_u64(j, "ms", e->ms);
	json_member_u64(j, "address", e->addr);
	json_member_u64(j, "given", e->given);
	add_known(j, "source", e->source);
	json_member_str(j, "where", wheres[e->where < REC_WHERES ? e->where : 0]);
	add_known(j, "where_thread", e->where_thread);
	json_member_u64_if(j, "where_module", e->where_module != 0, e->where_module - 1);
	json_member_str(j, "symbol", e->symbol != 0 ? prof_text(p, e->symbol) : NULL);
	add_known(j, "block", e->block);
	json_member_u64(j, "block_bytes", e->block_bytes);
	json_member_str(j, "allocated_by",
			e->block != 0 && e->block_kind <= REC_KIND_NEW_ARRAY
				? error_family_name(e->block_kind)
				: NULL);
	json_member_str(j, "freed_by",
			e->freed_func != REC_FUNC_NONE ? error_func_name(e->freed_func)
						       : NULL);
}
