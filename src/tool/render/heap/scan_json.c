/* SPDX-License-Identifier: MIT */
/* scan_json.c -- a heap that nobody recorded, as JSON; see scan_report.h and
 * docs/json.md. */
#include <stdio.h>

#include "tool/model/loss_kinds.h"
#include "tool/render/heap/scan_report.h"
#include "tool/render/moment_words.h"
#include "tool/util/json.h"

static const char *const kind_names[HEAPSCAN_KINDS] = {"definite", "indirect", "possible",
						       "reachable"};

static void
text(struct json *j, const char *key, const char *s)
{
	json_key(j, key);
	if (s[0] == '\0')
		json_null(j);
	else
		json_str(j, s);
}

static void
sums(struct json *j, const struct heapscan_sum *s)
{
	for (unsigned i = 0; i < HEAPSCAN_KINDS; i++) {
		char key[32];

		snprintf(key, sizeof key, "%s_bytes", kind_names[i]);
		json_member_u64(j, key, s[i].bytes);
		snprintf(key, sizeof key, "%s_blocks", kind_names[i]);
		json_member_u64(j, key, s[i].blocks);
	}
}

/* The same of all blocks. */
static void
summary_sums(struct json *j, const struct heapscan *s)
{
	sums(j, s->sums);
	json_member_u64(j, "possible_leftover_bytes", s->leftover.bytes);
	json_member_u64(j, "possible_leftover_blocks", s->leftover.blocks);
}

/* When blocks of a group were lost. */
static void
moments(struct json *j, const struct heapscan *s, uint32_t group)
{
	json_member_arr(j, "lost_between");
	for (size_t i = 0; i < s->moments.len; i++) {
		const struct prof_moment *m = &s->moments.data[i];

		if (m->site != group)
			continue;
		json_obj(j);
		json_member_str(j, "kind", loss_kind_names[m->kind]);
		json_member_u64(j, "from_ms", m->from_ms);
		json_member_u64(j, "to_ms", m->to_ms);
		json_member_u64(j, "blocks", m->blocks);
		json_member_u64(j, "bytes", m->bytes);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
rounds(struct json *j, const struct heapscan *s)
{
	json_member_arr(j, "loss_checks");
	for (size_t i = 0; i < s->rounds.len; i++) {
		const struct prof_round *x = &s->rounds.data[i];

		json_obj(j);
		round_json(j, x, heapscan_text(s, x->why));
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
groups(struct json *j, const struct heapscan *s)
{
	json_member_arr(j, "groups");
	for (size_t i = 0; i < s->groups.len; i++) {
		const struct heapscan_group *g = &s->groups.data[i];
		char address[32];

		json_obj(j);
		json_member_u64(j, "size", g->size);
		json_member_u64(j, "size_least", g->least != 0 ? g->least : g->size);
		text(j, "type", heapscan_text(s, g->type));
		text(j, "pattern", heapscan_text(s, g->pattern));
		text(j, "held_by", heapscan_text(s, g->holder));
		sums(j, g->sums);
		json_member_u64(j, "through_them_bytes", g->indirect_bytes);
		snprintf(address, sizeof address, "0x%llx",
			 (unsigned long long)g->example);
		text(j, "example", address);
		if (s->rounds.len > 0)
			moments(j, s, (uint32_t)i);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
holders(struct json *j, const struct heapscan *s)
{
	json_member_arr(j, "holders");
	for (size_t i = 0; i < s->holders.len; i++) {
		const struct heapscan_holder *h = &s->holders.data[i];
		char address[32];

		json_obj(j);
		text(j, "name", heapscan_text(s, h->name));
		if (h->address != 0) {
			snprintf(address, sizeof address, "0x%llx",
				 (unsigned long long)h->address);
			text(j, "block", address);
		}
		json_member_u64(j, "stacks", h->stacks);
		json_member_u64(j, "retained_bytes", h->retained.bytes);
		json_member_u64(j, "retained_blocks", h->retained.blocks);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
arenas(struct json *j, const struct heapscan *s)
{
	json_member_arr(j, "arenas");
	for (size_t i = 0; i < s->arenas.len; i++) {
		const struct heapscan_arena *a = &s->arenas.data[i];

		json_obj(j);
		json_member_u64(j, "system_bytes", a->system_bytes);
		json_member_u64(j, "live_bytes", a->used_bytes);
		json_member_u64(j, "live_blocks", a->used_blocks);
		json_member_u64(j, "free_bytes", a->free_bytes);
		json_member_u64(j, "free_blocks", a->free_blocks);
		json_member_u64(j, "largest_free_bytes", a->largest_free);
		json_member_u64(j, "end_bytes", a->top_bytes);
		json_member_u64(j, "cached_bytes", a->cached_bytes);
		json_member_u64(j, "unknown_bytes", a->gap_bytes);
		json_member_u64(j, "heaps", a->heaps);
		json_obj_end(j);
	}
	json_arr_end(j);
}

static void
growth(struct json *j, const struct heapscan *s, const struct scan_growth *g)
{
	json_member_obj(j, "growth");
	json_member_u64(j, "seconds", g->seconds);
	json_member_i64(j, "bytes", g->bytes);
	json_member_i64(j, "blocks", g->blocks);
	json_member_i64(j, "lost_bytes", g->lost_bytes);
	json_member_i64(j, "lost_blocks", g->lost_blocks);
	json_member_i64(j, "kept_bytes", g->kept_bytes);
	json_member_arr(j, "groups");
	for (size_t i = 0; i < g->rows.len; i++) {
		const struct scan_growth_row *r = &g->rows.data[i];
		const struct heapscan_group *group;

		if (r->group == UINT32_MAX || r->bytes == 0)
			continue;
		group = &s->groups.data[r->group];
		json_obj(j);
		json_member_u64(j, "size", group->size);
		text(j, "type", heapscan_text(s, group->type));
		text(j, "pattern", heapscan_text(s, group->pattern));
		text(j, "held_by", heapscan_text(s, group->holder));
		json_member_i64(j, "bytes", r->bytes);
		json_member_i64(j, "blocks",
				(int64_t)(r->after.blocks - r->before.blocks));
		json_member_i64(j, "lost_blocks", r->lost_blocks);
		json_obj_end(j);
	}
	json_arr_end(j);
	json_obj_end(j);
}

static void
verdict(struct json *j, struct verdict_answer a)
{
	text(j, "verdict", verdict_word_name(a.word));
	text(j, "severity", verdict_severity_name(verdict_severity(a.word)));
	json_member_arr(j, "also");
	for (int i = VERDICT_WORDS - 1; i >= 0; i--) {
		if ((a.also >> i & 1) != 0)
			json_str(j, verdict_word_name((enum verdict_word)i));
	}
	json_arr_end(j);
	json_member_str(j, "no_verdict_because", verdict_why_name(a.why));
}

void
scan_json(struct buf *out, const struct heapscan *s, const struct scan_growth *g)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
	json_member_u64(&j, "seep_json", JSON_SCHEMA);
	text(&j, "kind", "heap");
	text(&j, "what", heapscan_text(s, s->what));
	json_member_u64(&j, "pid", (uint64_t)s->pid);
	text(&j, "program", heapscan_text(s, s->program));
	text(&j, "core", heapscan_text(s, s->core));
	verdict(&j, scan_decide(s, g));
	json_member_obj(&j, "summary");
	json_member_obj(&j, "leaks");
	json_member_bool(&j, "done", true);
	summary_sums(&j, s);
	json_obj_end(&j);
	json_obj_end(&j);
	if (s->allocators != 0) {
		json_member_str(&j, "allocators", heapscan_text(s, s->allocators));
	}
	json_member_u64(&j, "threads", s->threads);
	json_member_u64(&j, "stop_ns", s->stop_ns);
	json_member_u64(&j, "pause_ns", s->pause_ns);
	json_member_bool(&j, "snapshot", s->snapshot != 0);
	json_member_u64(&j, "mapped_bytes", s->mapped.bytes);
	json_member_u64(&j, "mapped_blocks", s->mapped.blocks);
	json_member_u64(&j, "anonymous_bytes", s->anon_bytes);
	json_member_bool(&j, "partial", scan_is_partial(s));
	groups(&j, s);
	holders(&j, s);
	arenas(&j, s);
	if (s->rounds.len > 0)
		rounds(&j, s);
	if (g != NULL)
		growth(&j, s, g);
	json_member_arr(&j, "notes");
	for (size_t i = 0; i < s->notes.len; i++)
		json_str(&j, heapscan_text(s, s->notes.data[i]));
	json_arr_end(&j);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
