/* SPDX-License-Identifier: MIT */
/* loss_watch.c -- see loss_watch.h.
 *
 * An interval is never made narrower than what is certain. A block that was possibly lost
 * first and definitely later keeps its beginning, because the word that pointed to its
 * middle may have been there by chance; and so does one that was found again and is lost
 * once more. What the search takes for a pointer by chance can only make a loss look
 * later than it was: docs/internals/leakcheck.md. */
#include "tool/session/leaks/loss_watch.h"

#include <stdlib.h>

#include "tool/util/clock.h"
#include "tool/util/x.h"

void
loss_watch_done(struct loss_watch *w)
{
	for (size_t i = 0; i < w->rounds.len; i++)
		free(w->rounds.data[i].why);
	vec_done(&w->rounds);
	vec_done(&w->blocks);
	vec_done(&w->found);
	map_done(&w->rows);
	*w = (struct loss_watch){0};
}

/* ---- one check ---- */

void
loss_watch_begin(struct loss_watch *w)
{
	w->found.len = 0;
	w->unfollowed = 0;
}

void
loss_watch_add(struct loss_watch *w, const struct scan_block *b, uint32_t birth_ms)
{
	struct loss_watch_block *to;

	if (w->found.len >= LOSS_WATCH_BLOCKS) {
		w->unfollowed++;
		return;
	}
	to = vec_add(&w->found);
	*to = (struct loss_watch_block){.addr = b->addr,
					.bytes = b->bytes,
					.site = b->site,
					.birth_ms = birth_ms,
					.kind = b->state};
}

static bool
is_same(const struct loss_watch *w, const struct loss_watch_block *a,
	const struct loss_watch_block *b)
{
	return a->bytes == b->bytes &&
	       (w->by_address || (a->site == b->site && a->birth_ms == b->birth_ms));
}

/* Forgets blocks that were found again, for the room. */
static void
drop_found_again(struct loss_watch *w)
{
	size_t n = 0;

	map_done(&w->rows);
	for (size_t i = 0; i < w->blocks.len; i++) {
		if (w->blocks.data[i].again)
			continue;
		w->blocks.data[n++] = w->blocks.data[i];
		*map_add(&w->rows, w->blocks.data[n - 1].addr) = n;
	}
	w->blocks.len = n;
}

/* The block with that address, or a new one; NULL: there is no room. */
static struct loss_watch_block *
block_at(struct loss_watch *w, uint64_t addr, bool *ret_new)
{
	uint64_t *row = map_find(&w->rows, addr);

	*ret_new = row == NULL;
	if (row != NULL)
		return &w->blocks.data[*row - 1];
	if (w->blocks.len >= LOSS_WATCH_BLOCKS)
		return NULL;
	vec_add(&w->blocks);
	*map_add(&w->rows, addr) = w->blocks.len;
	return vec_last(&w->blocks);
}

/* Possibly lost is what may be found again. */
static void
count_again(struct prof_round *r, const struct loss_watch_block *b)
{
	if (b->kind == CLASSIFY_POSSIBLE)
		return;
	r->again_blocks++;
	r->again_bytes += b->bytes;
}

/* A lost block of this check, at which `to_ms` was the time. */
static void
take_block(struct loss_watch *w, const struct loss_watch_block *b, uint64_t to_ms,
	   struct map *news, struct prof_round *r)
{
	bool is_new;
	struct loss_watch_block *at = block_at(w, b->addr, &is_new);
	uint64_t from;

	if (at == NULL) {
		r->unfollowed_blocks++;
		return;
	}
	if (!is_new && is_same(w, at, b)) {
		/* The word that held it may have been one by chance. */
		if (at->again ||
		    (at->kind == CLASSIFY_POSSIBLE && b->kind != CLASSIFY_POSSIBLE))
			at->to_ms = to_ms;
		at->again = false;
		at->kind = b->kind;
		at->site = b->site;
		at->round = w->made;
		return;
	}
	if (!is_new && !at->again)
		count_again(r, at); /* it was freed */
	from = b->birth_ms > w->last_ms ? b->birth_ms : w->last_ms;
	*at = *b;
	at->from_ms = from < to_ms ? from : to_ms;
	at->to_ms = to_ms;
	at->round = w->made;
	w->new_blocks++;
	w->new_bytes += b->bytes;
	*map_add(news, b->site) += b->bytes;
}

static void
count_kinds(const struct loss_watch *w, struct prof_round *r)
{
	for (size_t i = 0; i < w->found.len; i++) {
		const struct loss_watch_block *b = &w->found.data[i];

		if (b->kind == CLASSIFY_POSSIBLE) {
			r->possible_blocks++;
			r->possible_bytes += b->bytes;
		} else {
			r->lost_blocks++;
			r->lost_bytes += b->bytes;
		}
	}
}

static void
find_new_site(struct loss_watch *w, const struct map *news)
{
	uint64_t site, bytes;
	size_t pos = 0;

	w->new_site = 0;
	w->new_site_bytes = 0;
	while (map_next(news, &pos, &site, &bytes)) {
		if (w->new_site_bytes == 0 || bytes > w->new_site_bytes ||
		    (bytes == w->new_site_bytes && site < w->new_site)) {
			w->new_site = (uint32_t)site;
			w->new_site_bytes = bytes;
		}
	}
}

/* ---- checks, one after the other ---- */

/* Half as many: each takes in the one before it, but for failures, which stay what they
 * are. */
static void
thin_rounds(struct loss_watch *w)
{
	struct loss_watch_round *all = w->rounds.data;
	size_t n = 0;

	for (size_t i = 0; all != NULL && i < w->rounds.len; i++) {
		struct loss_watch_round *a = &all[i], *b = a + 1;

		if (i % 2 == 0 && i + 1 < w->rounds.len && a->why == NULL &&
		    b->why == NULL) {
			b->row.again_blocks += a->row.again_blocks;
			b->row.again_bytes += a->row.again_bytes;
			b->row.checks += a->row.checks;
			b->row.late += a->row.late;
			if (b->row.stop_ns < a->row.stop_ns)
				b->row.stop_ns = a->row.stop_ns;
			continue;
		}
		all[n++] = *a;
	}
	w->rounds.len = n;
}

static struct loss_watch_round *
add_round(struct loss_watch *w)
{
	if (w->rounds.len >= LOSS_WATCH_ROUNDS)
		thin_rounds(w);
	return vec_add(&w->rounds);
}

void
loss_watch_made(struct loss_watch *w, uint64_t at_us, uint64_t stop_ns, bool late)
{
	struct prof_round r = {.ms = at_us / 1000,
			       .stop_ns = stop_ns,
			       .checks = 1,
			       .late = late,
			       .unfollowed_blocks = w->unfollowed};
	uint64_t to_ms = (at_us + 999) / 1000;
	struct map news = {0}; /* site -> bytes */

	w->made++;
	w->new_blocks = w->new_bytes = 0;
	if (w->blocks.len + w->found.len > LOSS_WATCH_BLOCKS)
		drop_found_again(w);
	for (size_t i = 0; i < w->found.len; i++)
		take_block(w, &w->found.data[i], to_ms, &news, &r);
	for (size_t i = 0; i < w->blocks.len; i++) {
		struct loss_watch_block *b = &w->blocks.data[i];

		if (b->round == w->made || b->again)
			continue;
		b->again = true;
		count_again(&r, b);
	}
	count_kinds(w, &r);
	find_new_site(w, &news);
	map_done(&news);
	w->last_ms = r.ms;
	*add_round(w) = (struct loss_watch_round){.row = r};
	w->found.len = 0;
}

void
loss_watch_failed(struct loss_watch *w, uint64_t at_ms, const char *why)
{
	struct loss_watch_round *last = w->rounds.len > 0 ? vec_last(&w->rounds) : NULL;

	w->found.len = 0;
	if (last != NULL && last->why != NULL) {
		/* Again and again: one row, with the last reason. */
		free(last->why);
		last->why = xstrdup(why);
		last->row.ms = at_ms;
		last->row.checks++;
		return;
	}
	last = add_round(w);
	*last = (struct loss_watch_round){.row = {.ms = at_ms, .checks = 1},
					  .why = xstrdup(why)};
}

void
loss_watch_lost(void *watch, const struct scan_block *b, uint32_t birth_ms)
{
	loss_watch_add(watch, b, birth_ms);
}

void
loss_watch_take(struct loss_watch *w, const struct leakcheck *c, uint64_t start_ns,
		uint64_t max_ns)
{
	uint64_t at = c->at_ns > 0 ? c->at_ns : clock_ns(CLOCK_MONOTONIC);
	uint64_t us = at > start_ns ? (at - start_ns) / 1000 : 0;
	uint64_t stop_ns = c->way == LEAKCHECK_HELD ? 0 : c->stop_ns + c->pause_ns;

	if (c->done)
		loss_watch_made(w, us, stop_ns, max_ns > 0 && stop_ns > max_ns);
	else
		loss_watch_failed(w, us / 1000, c->why);
}

/* ---- what came of them ---- */

static int
compare_spans(const void *a, const void *b)
{
	const struct prof_moment *x = a, *y = b;

	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->to_ms != y->to_ms)
		return x->to_ms < y->to_ms ? -1 : 1;
	return x->from_ms < y->from_ms ? -1 : x->from_ms > y->from_ms;
}

static void
join_span(struct prof_moment *to, const struct prof_moment *from)
{
	if (from->from_ms < to->from_ms)
		to->from_ms = from->from_ms;
	if (from->to_ms > to->to_ms)
		to->to_ms = from->to_ms;
	to->blocks += from->blocks;
	to->bytes += from->bytes;
}

/* Of the `n` intervals of one site and kind no more than LOSS_WATCH_SPANS: neighbours
 * become one. Returns how many are left. */
static size_t
thin_spans(struct prof_moment *all, size_t n)
{
	size_t each = (n + LOSS_WATCH_SPANS - 1) / LOSS_WATCH_SPANS, left = 0;

	for (size_t i = 0; i < n; i++) {
		if (i % each == 0)
			all[left++] = all[i];
		else
			join_span(&all[left - 1], &all[i]);
	}
	return left;
}

void
loss_watch_spans(const struct loss_watch *w, struct loss_watch_spans *ret)
{
	struct loss_watch_spans s = {0};
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < w->blocks.len; i++) {
		const struct loss_watch_block *b = &w->blocks.data[i];

		if (!b->again)
			vec_push(&s, (struct prof_moment){.site = b->site,
							  .kind = b->kind,
							  .from_ms = b->from_ms,
							  .to_ms = b->to_ms,
							  .blocks = 1,
							  .bytes = b->bytes});
	}
	vec_sort(&s, compare_spans);
	for (size_t i = 0; i < s.len; i++) {
		if (n > 0 && s.data[n - 1].site == s.data[i].site &&
		    s.data[n - 1].kind == s.data[i].kind &&
		    s.data[n - 1].to_ms == s.data[i].to_ms)
			join_span(&s.data[n - 1], &s.data[i]);
		else
			s.data[n++] = s.data[i];
	}
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && s.data[end].site == s.data[i].site &&
			      s.data[end].kind == s.data[i].kind;)
			end++;
		for (size_t k = i; k < end; k++)
			s.data[kept + k - i] = s.data[k];
		kept += thin_spans(s.data + kept, end - i);
	}
	s.len = kept;
	*ret = s;
}

static void
save_rounds(const struct loss_watch *w, struct prof *p, uint32_t process)
{
	for (size_t i = 0; i < w->rounds.len; i++) {
		const struct loss_watch_round *x = &w->rounds.data[i];
		uint32_t row = prof_add_round(p);

		p->rounds[row] = x->row;
		p->rounds[row].process = process;
		p->rounds[row].why = prof_str(p, x->why != NULL ? x->why : "");
	}
}

void
loss_watch_save(const struct loss_watch *w, struct prof *p, uint32_t process)
{
	struct map rows = {0}; /* ref of a site -> its row */
	struct loss_watch_spans spans;

	save_rounds(w, p, process);
	for (uint32_t i = 1; i < p->nsites; i++) {
		if (p->sites[i].process == process)
			*map_add(&rows, p->sites[i].origin) = i;
	}
	loss_watch_spans(w, &spans);
	for (size_t i = 0; i < spans.len; i++) {
		const uint64_t *site = map_find(&rows, spans.data[i].site);
		uint32_t row;

		if (site == NULL)
			continue;
		row = prof_add_moment(p);
		p->moments[row] = spans.data[i];
		p->moments[row].site = (uint32_t)*site;
	}
	vec_done(&spans);
	map_done(&rows);
}
