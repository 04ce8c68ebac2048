/* SPDX-License-Identifier: MIT */
/* test_marks.c -- marks and the timeline: what was live at a moment, against what was
 * then. */
#include "t.h"

#include "guest/record/marks.h"
#include "guest/record/timeline.h"

#include "recorder_harness.h"
#include "recorder_model.h"

#define MARKS 40
#define SITES 1024

static struct rm model;
static uint64_t seed = 15485863;
static const uintptr_t heap = UINT64_C(0x7f6600000000);

/* What each site held when a mark was taken. */
struct moment {
	int64_t bytes[SITES], blocks[SITES], live;
	uint64_t ms;
};

static struct moment moments[MARKS + 1];

static void
some_event(struct thread *t)
{
	uintptr_t addr = heap + rh_random(&seed) % 3001 * 16;

	if (rm_block(&model, addr) == NULL)
		rm_alloc(&model, t, addr, rh_random(&seed) % 1009,
			 (unsigned)rh_random(&seed) % SITES);
	else
		rm_free(&model, t, addr);
}

static void
keep_moment(struct moment *m)
{
	m->live = model.live;
	m->ms = model.now_ms;
	for (unsigned i = 0; i < SITES; i++) {
		const struct rm_site *s = &model.sites[i];

		m->bytes[i] = (int64_t)(s->alloc_bytes - s->free_bytes);
		m->blocks[i] = (int64_t)(s->allocs - s->frees);
	}
}

static unsigned
site_number(uint32_t ref)
{
	for (unsigned i = 0; i < SITES; i++)
		if (rm_refs[i] == ref)
			return i;
	return SITES;
}

/* Takes the rows of one record off the moment it belongs to. */
static unsigned
check_record(const struct rec_mark *mark)
{
	const struct rec_mark_row *row = (const void *)(mark + 1);
	struct moment *m = &moments[mark->number];
	unsigned wrong = 0;
	char name[40];

	snprintf(name, sizeof name, "mark %u", mark->number);
	wrong += mark->number > MARKS || strcmp(mark->name, name) != 0;
	wrong += mark->live_bytes != m->live || mark->ms != m->ms;
	wrong += mark->sites > REC_MARK_ROWS;
	for (unsigned i = 0; i < mark->sites; i++, row++) {
		unsigned site = site_number(row->site);

		if (site == SITES || row->live_blocks == 0) {
			wrong++;
			continue;
		}
		m->bytes[site] -= row->live_bytes;
		m->blocks[site] -= row->live_blocks;
	}
	return wrong;
}

/* Every finished record; returns how many there are. */
static unsigned
check_records(unsigned *ret_wrong)
{
	size_t bytes =
		sizeof(struct rec_mark) + REC_MARK_ROWS * sizeof(struct rec_mark_row);
	unsigned records = 0;

	*ret_wrong = 0;
	for (uint32_t index = rh.head->chunk_lists[REC_CHUNK_MARK]; index != 0;) {
		const unsigned char *c = rh.base + REC_CHUNKS_OFF +
					 (uint64_t)(index - 1) * REC_CHUNK_BYTES;
		size_t at = sizeof(struct rec_chunk);

		for (; at + bytes <= REC_CHUNK_BYTES; at += bytes) {
			const struct rec_mark *mark = (const void *)(c + at);

			if (mark->number == 0)
				continue;
			records++;
			*ret_wrong += check_record(mark);
		}
		index = ((const struct rec_chunk *)(const void *)c)->next;
	}
	return records;
}

static unsigned
left_over(void)
{
	unsigned wrong = 0;

	for (unsigned i = 1; i <= MARKS; i++)
		for (unsigned k = 0; k < SITES; k++)
			wrong += moments[i].bytes[k] != 0 || moments[i].blocks[k] != 0;
	return wrong;
}

/* Marks of nothing, of some, and of more sites than one record has room for. */
static void
marks_of(bool single)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, single);
	unsigned wrong, records;
	char name[40];

	rm_reset(&model, 10);
	rm_tick(&model, 1);
	/* the clock is looked at by events; the first mark has none before it */
	rm_alloc(&model, t, heap, 1, 0);
	rm_free(&model, t, heap);
	for (unsigned i = 1; i <= MARKS; i++) {
		/* flushed, so that the shared figure is the true one */
		if (!single)
			flush_live(&rh, t);
		keep_moment(&moments[i]);
		snprintf(name, sizeof name, "mark %u", i);
		marks_take(&rh, t, name);
		rm_tick(&model, 7);
		for (unsigned k = 0; k < i * 40; k++)
			some_event(t);
	}
	records = check_records(&wrong);
	T_EQ(wrong, 0);
	T_EQ(left_over(), 0);
	T_CHECK(records > MARKS);
	T_EQ(rh.head->marks, MARKS);
	T_EQ(rh_lost(), 0);
	T_EQ(rm_mixed, 0);
}

T_TEST(marks_of_a_lone_thread)
{
	marks_of(true);
}

T_TEST(marks_with_threads)
{
	marks_of(false);
}

T_TEST(long_names_are_cut)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 4 << 20, 0, true);
	const struct rec_mark *mark;

	marks_take(&rh, t, "0123456789012345678901234567890123456789 and so on");
	mark = (const void *)(rh.base + REC_CHUNKS_OFF +
			      (uint64_t)(rh.head->chunk_lists[REC_CHUNK_MARK] - 1) *
				      REC_CHUNK_BYTES +
			      sizeof(struct rec_chunk));
	T_EQ(mark->number, 1);
	T_STR(mark->name, "012345678901234567890123456789012345678");
}

/* No room: counted, and no half of a mark is seen. */
T_TEST(marks_without_room)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 2 << 20, 0, true);
	unsigned taken = 0;

	for (unsigned i = 0; i < 200; i++) {
		uint64_t before = rh.head->lost[REC_LOST_MARK];

		marks_take(&rh, t, "");
		taken += rh.head->lost[REC_LOST_MARK] == before;
	}
	T_CHECK(taken > 30);
	T_EQ(rh.head->lost[REC_LOST_MARK], 200 - taken);
}

/* ---- timeline ---- */

static int64_t live_at[1 << 18]; /* by ms */

/* Time goes on by `step` ms an event, up to `until`: live bytes are known for each. */
static void
pass_time(struct thread *t, uint64_t until, uint64_t step)
{
	static uintptr_t addr;

	while (model.now_ms + step <= until) {
		rm_tick(&model, step);
		live_at[model.now_ms] =
			model.live; /* a point is made before its event counts */
		addr = heap + rh_random(&seed) % 499 * 16;
		if (rm_block(&model, addr) == NULL)
			rm_alloc(&model, t, addr, rh_random(&seed) % 997,
				 (unsigned)rh_random(&seed) % 4);
		else
			rm_free(&model, t, addr);
	}
}

static void
check_points(uint32_t every)
{
	const struct rec_point *p = (const void *)(rh.base + REC_POINTS_OFF);
	uint32_t n = rh.head->points;
	unsigned wrong = 0;

	T_EQ(rh.head->point_every_ms, every);
	T_CHECK(n > REC_POINTS_MAX / 2 - 1 && n <= REC_POINTS_MAX);
	for (uint32_t i = 0; i < n; i++) {
		wrong += p[i].live_bytes != live_at[p[i].ms];
		if (i > 0)
			wrong += p[i].ms <= p[i - 1].ms || p[i].ms - p[i - 1].ms > every;
	}
	T_EQ(wrong, 0);
	/* no hole at the end either */
	T_CHECK(model.now_ms - p[n - 1].ms <= every);
}

T_TEST(timeline_thins_out)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 4 << 20, 0, true);

	rm_reset(&model, 2);
	rh.head->rss_kib = 4099;
	pass_time(t, 40900, 5);
	check_points(10);
	T_EQ(((const struct rec_point *)(const void *)(rh.base + REC_POINTS_OFF))
		     ->rss_kib,
	     4099);
	pass_time(t, 81000, 5);
	check_points(20);
	pass_time(t, 163000, 5);
	check_points(40);
	pass_time(t, 250000, 5);
	check_points(80);
}

/* The tool goes away: after a while threads read the host's clock. A wild value does no
 * harm. */
T_TEST(clock_without_a_tool)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 4 << 20, 0, true);

	rm_reset(&model, 2);
	rm_tick(&model, 1000);
	rm_alloc(&model, t, heap, 1, 0);
	T_EQ(t->now_ms, 1000);
	rh_clock_ns = UINT64_C(5003) * 1000000;
	for (unsigned i = 0; i < 4096 + 64; i++)
		rm_at(t, RM_ALLOC, heap + 16 + i * 16, 1, 2 << 16);
	T_EQ(t->now_ms, 5003);
	rh_clock_ns = UINT64_C(5009) * 1000000;
	for (unsigned i = 0; i < 64; i++)
		rm_at(t, RM_ALLOC, heap + (1 << 20) + i * 16, 1, 2 << 16);
	T_EQ(t->now_ms, 5009);
	rh.head->clock_ms = UINT64_MAX;
	rm_at(t, RM_ALLOC, heap + (2 << 20), 1, 2 << 16);
	T_EQ(t->now_ms, 5009);
	rh.head->clock_ms = 17; /* never back */
	rm_at(t, RM_ALLOC, heap + (2 << 20) + 16, 1, 2 << 16);
	T_EQ(t->now_ms, 5009);
	rh.head->clock_ms = 6007;
	record_free(&rh, t, heap + (2 << 20));
	T_EQ(t->now_ms, 6007);
}

T_MAIN()
