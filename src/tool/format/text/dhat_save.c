/* SPDX-License-Identifier: MIT */
/* dhat_save.c -- a profile as DHAT's JSON, for dh_view.html and its kin: see dhat.c.
 *
 * Time is in microseconds from the start. Bytes and blocks are the profile's: in all, at
 * the peak, at the end, and a site's own largest. Two figures are estimates: how many
 * blocks there were at a site's own largest (mbk), unless that was at the peak, from the
 * mean size; and lifetimes (tl), from a histogram in powers of two. Lifetimes that a
 * profile does not know are left out, and so are reads and writes, which no recorder of
 * calls can see: "bkacc" is false. A profile of several processes has them summed up,
 * each at its own peak. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/format/emit_frame.h"
#include "tool/format/format_save.h"
#include "tool/model/named.h"
#include "tool/model/prof.h"
#include "tool/util/buf.h"
#include "tool/util/err.h"
#include "tool/util/json.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

enum { DHAT_TEMPORARY_US = 10 }; /* shorter lives are marked as short: tuth */

struct dhat_out {
	const struct prof *p;
	const struct format_save_opts *o;
	struct json j;
	struct strtab frames; /* texts; 0 is none: "[root]" has its place */
	int64_t *age_us;      /* of the live blocks of a site, summed up */
	bool lifetimes;
};

/* ---- frames ---- */

static uint32_t
dhat_out_frame(struct dhat_out *w, uint32_t loc, uint32_t inl)
{
	const struct prof_loc *l = &w->p->locs[loc];
	const struct prof_frame *f =
		inl < l->nframes ? &w->p->frames[l->frames + inl] : NULL;
	const char *module = prof_text(w->p, w->p->modules[l->module].path);
	struct buf b = {0};
	uint32_t id;

	if (l->kind == PROF_LOC_CODE && !named_is(w->p, loc))
		buf_printf(&b, "0x%" PRIX64 ": ", prof_loc_address(l));
	if (f != NULL && f->function != 0)
		buf_add_str(&b, prof_text(w->p, f->function));
	else if (l->kind != PROF_LOC_CODE)
		emit_frame_unnamed(w->p, l, &b);
	else
		buf_add_str(&b, "???");
	if (f != NULL && f->file != 0)
		buf_printf(&b, " (%s:%u)", prof_text(w->p, f->file), f->line);
	else if (*module != '\0')
		buf_printf(&b, " (in %s)", module);
	id = strtab_addn(&w->frames, b.data, b.len);
	buf_done(&b);
	return id;
}

/* Innermost first, without the allocator's own. */
static void
dhat_out_stack(struct dhat_out *w, uint32_t site)
{
	struct emit_start at = emit_start_of(w->p, w->o, site);

	json_member_arr(&w->j, "fs");
	if (at.node == 0)
		json_u64(&w->j, strtab_add(&w->frames, "(no stack)"));
	for (; at.node != 0; at.node = emit_caller(w->p, w->o, at.node), at.inl = 0) {
		uint32_t loc = w->p->nodes[at.node].loc, n = w->p->locs[loc].nframes;

		for (uint32_t i = at.inl; i < (n > 0 ? n : 1); i++)
			json_u64(&w->j, dhat_out_frame(w, loc, i));
	}
	json_arr_end(&w->j);
}

/* ---- figures ---- */

/* What the blocks of a site lived, all together, in microseconds. */
static uint64_t
dhat_out_lives(const struct dhat_out *w, uint32_t site)
{
	struct prof_hist h = prof_hist(w->p, site);
	double sum = (double)w->age_us[site];

	for (unsigned i = 0; i < PROF_LIFE_BUCKETS; i++)
		sum += (double)h.lifetimes[i] *
		       (i == 0 ? 500.0 : 750.0 * (double)(UINT64_C(1) << i));
	return sum < 9e18 ? (uint64_t)sum : UINT64_MAX / 2;
}

/* Blocks at the site's own largest. */
static int64_t
dhat_out_most(const struct prof_site *s)
{
	double mean;

	if (s->peak_bytes == s->at_peak_bytes)
		return s->at_peak_blocks;
	if (s->peak_bytes == s->live_bytes)
		return s->live_blocks;
	mean = s->allocs > 0 ? (double)s->alloc_bytes / (double)s->allocs : 0;
	return mean > 0 ? (int64_t)((double)s->peak_bytes / mean + 0.5) : 0;
}

static void
dhat_out_point(struct dhat_out *w, uint32_t site, bool live)
{
	const struct prof_site *s = &w->p->sites[site];
	struct json *j = &w->j;

	json_obj(j);
	json_member_u64(j, "tb", s->alloc_bytes);
	json_member_u64(j, "tbk", s->allocs);
	if (live) {
		if (w->lifetimes)
			json_member_u64(j, "tl", dhat_out_lives(w, site));
		json_member_i64(j, "mb", s->peak_bytes);
		json_member_i64(j, "mbk", dhat_out_most(s));
		json_member_i64(j, "gb", s->at_peak_bytes);
		json_member_i64(j, "gbk", s->at_peak_blocks);
		json_member_i64(j, "eb", s->live_bytes);
		json_member_i64(j, "ebk", s->live_blocks);
	}
	dhat_out_stack(w, site);
	json_obj_end(j);
}

static void
dhat_out_ages(struct dhat_out *w)
{
	const struct prof *p = w->p;

	w->age_us = xcalloc(p->nsites, sizeof *w->age_us);
	w->lifetimes = p->columns == PROF_HAS_ALL && p->blocks_dropped == 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if (p->processes[i].mode == PROF_SAMPLED)
			w->lifetimes = false;
	}
	for (uint32_t i = 0; i < p->nblocks; i++) {
		const struct prof_block *b = &p->blocks[i];
		uint64_t end = p->processes[p->sites[b->site].process].duration_ms;

		if (end > b->ms)
			w->age_us[b->site] += (int64_t)(end - b->ms) * 1000;
	}
}

static void
dhat_out_head(struct dhat_out *w, bool live)
{
	const struct prof *p = w->p;
	const struct prof_process *first = NULL, *largest = NULL;
	struct json *j = &w->j;
	uint64_t end_ms = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		if (first == NULL)
			first = pr;
		if (largest == NULL || pr->peak_bytes > largest->peak_bytes)
			largest = pr;
		if (pr->duration_ms > end_ms)
			end_ms = pr->duration_ms;
	}
	json_member_u64(j, "dhatFileVersion", 2);
	json_member_str(j, "mode", "heap");
	json_member_str(j, "verb", "Allocated");
	json_member_bool(j, "bklt", live);
	json_member_bool(j, "bkacc", false);
	json_member_str(j, "tu", "µs");
	json_member_str(j, "Mtu", "s");
	json_member_u64(j, "tuth", DHAT_TEMPORARY_US);
	json_member_str(j, "cmd",
			first == NULL ? ""
				      : prof_text(p, first->cmdline != 0 ? first->cmdline
									 : first->exe));
	json_member_u64(j, "pid", first != NULL ? first->pid : 0);
	json_member_u64(j, "te", end_ms > 0 ? end_ms * 1000 : 1);
	if (live)
		json_member_u64(j, "tg", largest != NULL ? largest->peak_ms * 1000 : 0);
}

static int
dhat_save(const struct prof *p, const struct format_save_opts *o, struct emit_out *out,
	  struct err *e)
{
	struct dhat_out w = {.p = p, .o = o};
	bool live = prof_has_value(p, PROF_LIVE) && prof_has_value(p, PROF_PEAK);
	int r = 0;

	if (!prof_has_value(p, PROF_ALLOCATED))
		return err_set(
			e, -ENODATA,
			"DHAT's format is about allocated memory, which this profile "
			"does not have");
	dhat_out_ages(&w);
	json_init(&w.j, out->buf);
	json_obj(&w.j);
	dhat_out_head(&w, live);
	json_member_arr(&w.j, "pps");
	for (uint32_t i = 1; i < p->nsites && r == 0; i++) {
		const struct prof_site *s = &p->sites[i];

		/* Figures below 0 are of no profile that was measured. */
		if (s->live_bytes < 0 || s->at_peak_bytes < 0) {
			emit_left_out(o);
			continue;
		}
		if (s->allocs > 0 || s->live_blocks > 0)
			dhat_out_point(&w, i, live);
		r = emit_flush(out, false, e);
	}
	json_arr_end(&w.j);
	json_member_arr(&w.j, "ftbl");
	json_str(&w.j, "[root]");
	for (uint32_t i = 1; i < strtab_count(&w.frames); i++)
		json_str(&w.j, strtab_str(&w.frames, i));
	json_arr_end(&w.j);
	json_obj_end(&w.j);
	buf_add_char(out->buf, '\n');
	strtab_done(&w.frames);
	free(w.age_us);
	return r;
}

const struct format_writer emit_dhat = {
	.name = "dhat",
	.what = "DHAT's JSON, for valgrind's dh_view.html",
	.endings = ".dhat.json .dhat",
	.write = dhat_save,
};
