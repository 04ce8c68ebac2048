/* SPDX-License-Identifier: MIT */
/* marks.c -- marks. See marks.h.
 *
 * The rows are cut into records of 16 KiB; each carries the mark's number, written last,
 * so one that was not finished is not seen. */
#include "guest/record/marks.h"

#include "guest/record/file/space.h"
#include "guest/record/sample.h"
#include "guest/record/timeline.h"
#include "guest/rt/rt_text.h"

#include <string.h>

_Static_assert(sizeof(struct rec_mark) + REC_MARK_ROWS * sizeof(struct rec_mark_row) <=
		       REC_CHUNK_BYTES / 4,
	       "a chunk holds at least three");

static void
add_cell(const struct recorder *r, const struct rec_cell *c, struct rec_mark_row *row)
{
	row->live_bytes += (int64_t)(c->alloc_bytes - c->free_bytes);
	if (r->head->mode == REC_MODE_SAMPLE) /* in 1/1024 until all are added up */
		row->live_blocks += (int64_t)(c->est_allocs - c->est_frees);
	else
		row->live_blocks += (int64_t)(c->allocs - c->frees);
}

static void
add_up(const struct recorder *r, const struct rec_site *s, struct rec_mark_row *row)
{
	uint32_t ref = __atomic_load_n(&s->ended, __ATOMIC_ACQUIRE);
	uint32_t absorbed = 0;

	if (ref != 0) {
		const struct rec_cell *ended = rec_checked(r, ref, sizeof(*ended));

		if (ended == NULL)
			return;
		absorbed = ended->absorbed;
		add_cell(r, ended, row);
	}
	for (ref = __atomic_load_n(&s->cells, __ATOMIC_ACQUIRE); ref != 0;) {
		const struct rec_cell *c = rec_checked(r, ref, sizeof(*c));

		if (c == NULL || c->site != row->site)
			break; /* its thread has just ended, and it leads elsewhere now */
		if (ref != absorbed)
			add_cell(r, c, row);
		ref = c->next;
	}
	if (r->head->mode == REC_MODE_SAMPLE) {
		row->live_blocks /= SAMPLE_COUNT_ONE;
		row->estimated = 1;
	}
}

struct writer {
	struct recorder *r;
	struct thread *t;
	const char *name;
	uint32_t number;
	struct rec_mark *record; /* being filled */
};

static void
finish(struct writer *w)
{
	if (w->record != NULL)
		__atomic_store_n(&w->record->number, w->number, __ATOMIC_RELEASE);
	w->record = NULL;
}

static bool
start(struct writer *w)
{
	struct rec_mark *m = space_alloc(
		w->r, REC_CHUNK_MARK,
		sizeof(*m) + REC_MARK_ROWS * sizeof(struct rec_mark_row), w->t->me);
	struct text name;

	if (m == NULL) {
		rec_lost(w->r, REC_LOST_MARK);
		return false;
	}
	name = text_on(m->name, sizeof(m->name));
	text_add(&name, w->name);
	m->ms = w->t->now_ms;
	if (w->t->alone)
		timeline_show_live(w->r, w->t);
	m->live_bytes = w->r->head->live_bytes;
	w->record = m;
	return true;
}

static bool
add_site(struct writer *w, const struct rec_site *s)
{
	struct rec_mark_row row = {.site = rec_ref(w->r, s)};

	add_up(w->r, s, &row);
	if (row.live_bytes == 0 && row.live_blocks == 0)
		return true;
	if (w->record != NULL && w->record->sites >= REC_MARK_ROWS)
		finish(w);
	if (w->record == NULL && !start(w))
		return false;
	memcpy((struct rec_mark_row *)(void *)(w->record + 1) + w->record->sites, &row,
	       sizeof(row));
	w->record->sites++;
	return true;
}

void
marks_take(struct recorder *r, struct thread *t, const char *name)
{
	struct rec_head *h = r->head;
	struct writer w = {.r = r, .t = t, .name = name};
	uint32_t index = h->chunk_lists[REC_CHUNK_SITE];

	w.number = __atomic_add_fetch(&h->marks, 1, __ATOMIC_RELAXED);
	if (!start(&w)) /* so that a mark with nothing live is there too */
		return;
	for (uint64_t n = r->bytes / REC_CHUNK_BYTES; /* no more than there can be */
	     index != 0 && n-- > 0 &&
	     index <= (r->bytes - REC_CHUNKS_OFF) / REC_CHUNK_BYTES;) {
		const struct rec_chunk *c =
			(const void *)(r->base + REC_CHUNKS_OFF +
				       (uint64_t)(index - 1) * REC_CHUNK_BYTES);
		uint32_t used = c->used < REC_CHUNK_BYTES ? c->used : REC_CHUNK_BYTES;
		const struct rec_site *s = (const void *)(c + 1);

		for (; (const unsigned char *)(s + 1) <= (const unsigned char *)c + used;
		     s++)
			if (s->node != 0 && !add_site(&w, s))
				return;
		index = c->next;
	}
	finish(&w);
}
