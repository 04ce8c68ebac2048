/* SPDX-License-Identifier: MIT */
/* cells.c -- cells: the totals of one thread at one site.
 *
 * The first thread at a site takes the cell inside it, others find theirs through a
 * private hash; a miss makes a cell and links it into the site's list, where readers find
 * it. Only the owner writes a cell, so counting needs no locked instruction and a torn
 * event is undone from the owner's journal.
 *
 * Most sites of a large program see a handful of blocks. Sizes and ages of the first 16
 * are therefore listed in the cell; with the next it gets a histogram, made from the
 * lists first and then put in their place with one store.
 *
 * When the thread ends its cells are folded, site by site, so that a hundred thousand
 * short threads leave nothing behind. A process may die in the middle of that too: the
 * sum is made in a fresh cell that names the one it has `absorbed`; one store of
 * site->ended then makes the new sum valid and the old cell void in the same moment. Only
 * afterwards is the old cell unlinked. */
#include "guest/record/cells.h"

#include "guest/record/cell_series.h"
#include "guest/record/file/space.h"
#include "guest/rt/rt_map.h"

#include <string.h>

enum { CELL_SLOTS_FIRST = 256 };

static uint64_t *
slot_of(uint64_t *slots, uint32_t mask, uint32_t site)
{
	uint32_t i = cells_slot(mask, site);

	while (slots[i] != 0 && slots[i] >> 32 != site)
		i = (i + 1) & mask;
	return &slots[i];
}

/* Twice the slots, or a first set of them. false: no memory, and the old ones stay. A
 * longjmp may leave us anywhere; if that was between two sets, all cells are entered in
 * the next. */
static bool
grow(struct recorder *r, struct thread *t)
{
	uint64_t *old = t->cell_slots, *slots;
	uint32_t old_count = old == NULL ? 0 : t->cell_mask + 1;
	uint32_t count = old == NULL ? CELL_SLOTS_FIRST : old_count * 2;

	while (count / 2 < t->cell_count)
		count *= 2;
	slots = rt_map(count * sizeof(*slots));
	if (slots == NULL)
		return false;
	for (uint32_t ref = t->cells; ref != 0;) {
		const struct rec_cell *c = rec_at(r, ref);

		if (ref != c->site)
			*slot_of(slots, count - 1, c->site) =
				(uint64_t)c->site << 32 | ref;
		ref = c->thread_next;
	}
	t->cell_slots = NULL;
	COMPILER_BARRIER();
	t->cell_mask = count - 1;
	COMPILER_BARRIER();
	t->cell_slots = slots;
	COMPILER_BARRIER();
	if (old != NULL)
		rt_unmap(old, old_count * sizeof(*old));
	return true;
}

/* Is the cell inside the site free? Then it is the caller's. */
static bool
take_own(struct recorder *r, struct rec_site *site, uint32_t site_ref, uint32_t me)
{
	bool free;

	if (__atomic_load_n(&site->own.site, __ATOMIC_RELAXED) != 0)
		return false;
	if (!lock_take(&site->lock, me)) {
		rec_lost(r, REC_LOST_LOCK);
		return false;
	}
	free = site->own.site == 0;
	if (free)
		__atomic_store_n(&site->own.site, site_ref, __ATOMIC_RELAXED);
	lock_drop(&site->lock);
	return free;
}

/* A cell for this thread, not in any list yet; NULL: no room. */
static struct rec_cell *
claim(struct recorder *r, struct thread *t, struct rec_site *site, uint32_t site_ref)
{
	struct rec_cell *c = &site->own;

	if (!take_own(r, site, site_ref, t->me)) {
		if ((t->cell_slots == NULL || t->cell_count * 2 >= t->cell_mask) &&
		    !grow(r, t) &&
		    (t->cell_slots == NULL || t->cell_count >= t->cell_mask))
			return NULL;
		c = space_cell(r, t->me);
		if (c == NULL)
			return NULL;
		c->site = site_ref;
	}
	/* Its lists are other words where it is sampled. */
	if (r->head->mode == REC_MODE_SAMPLE || r->mode_changes) {
		const struct rec_hist *hist = space_hist(r, t->me);

		if (hist == NULL) {
			space_cell_free(r, c, t->me);
			return NULL;
		}
		c->hist = rec_ref(r, hist);
	}
	return c;
}

static COLD struct rec_cell *
make(struct recorder *r, struct thread *t, struct rec_site *site, uint32_t site_ref)
{
	struct rec_cell *c = claim(r, t, site, site_ref);
	uint32_t ref, first;

	if (c == NULL)
		return NULL;
	ref = rec_ref(r, c);
	c->stamp = __atomic_load_n(&r->head->stamp, __ATOMIC_RELAXED);
	c->thread_next = t->cells;
	/* Under the lock, because folding unlinks from the middle of this list. */
	if (!lock_take(&site->lock, t->me)) {
		rec_lost(r, REC_LOST_LOCK);
		space_cell_free(r, c, t->me);
		return NULL;
	}
	first = site->cells;
	c->next = first;
	__atomic_store_n(&site->cells, ref, __ATOMIC_RELEASE);
	lock_drop(&site->lock);
	t->cells = ref;
	if (ref != site_ref) {
		t->cell_count++;
		*slot_of(t->cell_slots, t->cell_mask, site_ref) =
			(uint64_t)site_ref << 32 | ref;
	}
	/* Last: left by longjmp before, the cell stays in the lists, empty. By this word
	 * alone the thread finds the cell inside a site again, and what it counts there
	 * has to be in the site's list. */
	COMPILER_BARRIER();
	__atomic_store_n(&c->thread, t->row_ref, __ATOMIC_RELAXED);
	return c;
}

struct rec_cell *
cells_get_far(struct recorder *r, struct thread *t, uint32_t site_ref)
{
	if (LIKELY(t->cell_slots != NULL)) {
		uint64_t *at = slot_of(t->cell_slots, t->cell_mask, site_ref);
		uint64_t *first = &t->cell_slots[cells_slot(t->cell_mask, site_ref)];
		uint64_t found = *at;

		if (LIKELY(found != 0)) {
			/* Busy sites are few: they move to the slot where their search
			 * begins. All slots up to here are taken, so the entry that was
			 * there is found here too. A longjmp between the two stores drops
			 * this entry, and the site gets a second cell. */
			*at = *first;
			*first = found;
			return rec_at(r, (uint32_t)found);
		}
	}
	return make(r, t, rec_at(r, site_ref), site_ref);
}

/* ---- sizes and ages ---- */

static void
add_hist(const struct recorder *r, struct rec_hist *into, const struct rec_cell *c)
{
	const struct rec_hist *hist = rec_at(r, c->hist);

	if (c->hist == 0) {
		rec_add_few(c, into->sizes, into->lifetimes);
		return;
	}
	for (unsigned i = 0; i < REC_SIZE_BUCKETS; i++)
		into->sizes[i] += hist->sizes[i];
	for (unsigned i = 0; i < REC_LIFE_BUCKETS + 1; i++)
		into->lifetimes[i] += hist->lifetimes[i];
}

void
cells_make_hist(struct recorder *r, struct rec_cell *c, uint32_t me)
{
	struct rec_hist *hist;

	if (c->hist != 0 || (c->allocs < REC_FEW && c->frees < REC_FEW))
		return;
	hist = space_hist(r, me);
	/* no room: what is listed stays, the rest is not counted by size and age */
	if (hist == NULL)
		return;
	add_hist(r, hist, c);
	__atomic_store_n(&c->hist, rec_ref(r, hist), __ATOMIC_RELEASE);
}

COLD struct cell_word
cells_few_size(struct recorder *r, struct rec_cell *c, unsigned bucket, uint32_t me)
{
	struct cell_word w = {&c->few_sizes, 0};

	cells_make_hist(r, c, me);
	if (c->hist != 0)
		return cells_size(r, c, bucket, me);
	if (c->allocs < REC_FEW)
		w.add = (uint64_t)bucket << c->allocs * 4;
	return w;
}

COLD struct cell_word
cells_few_life(struct recorder *r, struct rec_cell *c, unsigned bucket, uint32_t me)
{
	struct cell_word w = {&c->few_lives[c->frees / 8 % 2], 0};

	cells_make_hist(r, c, me);
	if (c->hist != 0)
		return cells_life(r, c, bucket, me);
	if (c->frees < REC_FEW)
		w.add = (uint64_t)bucket << c->frees % 8 * 8;
	return w;
}

/* ---- threads that end ---- */

/* Lists or histogram of `sum`, which has the counts of `old` still, for what it and `c`
 * have together. false: no room. */
static bool
join_hists(struct recorder *r, struct rec_cell *sum, const struct rec_cell *old,
	   const struct rec_cell *c, uint32_t me)
{
	struct rec_hist *hist;

	sum->hist = 0;
	if ((old == NULL || old->hist == 0) && c->hist == 0 &&
	    sum->allocs + c->allocs <= REC_FEW && sum->frees + c->frees <= REC_FEW) {
		if (c->allocs > 0)
			sum->few_sizes |= c->few_sizes << sum->allocs * 4;
		for (uint64_t i = 0; i < c->frees; i++) {
			uint64_t life = c->few_lives[i / 8] >> i % 8 * 8 & 255;
			uint64_t at = sum->frees + i;

			sum->few_lives[at / 8] |= life << at % 8 * 8;
		}
		return true;
	}
	hist = space_hist(r, me);
	if (hist == NULL)
		return false;
	add_hist(r, hist, c);
	if (old != NULL)
		add_hist(r, hist, old);
	sum->hist = rec_ref(r, hist);
	return true;
}

/* into += c, with both brought to the stamp `now` first. */
static void
add(struct rec_cell *into, const struct rec_cell *c, uint64_t now, bool sampled)
{
	int64_t live_bytes = (int64_t)(c->alloc_bytes - c->free_bytes);
	int64_t live_blocks = (int64_t)(c->allocs - c->frees);
	int64_t into_bytes = (int64_t)(into->alloc_bytes - into->free_bytes);
	int64_t into_blocks = (int64_t)(into->allocs - into->frees);
	uint64_t epoch = now & REC_STAMP_EPOCH;
	bool mine = (c->stamp & REC_STAMP_EPOCH) == epoch;
	bool its = (into->stamp & REC_STAMP_EPOCH) == epoch;

	into->peak_live_bytes = (its ? into->peak_live_bytes : into_bytes) +
				(mine ? c->peak_live_bytes : live_bytes);
	into->peak_live_blocks = (its ? into->peak_live_blocks : into_blocks) +
				 (mine ? c->peak_live_blocks : live_blocks);
	if ((now & REC_STAMP_EXIT) != 0) {
		mine = (c->stamp & REC_STAMP_EXIT) != 0;
		its = (into->stamp & REC_STAMP_EXIT) != 0;
		into->exit_live_bytes = (its ? into->exit_live_bytes : into_bytes) +
					(mine ? c->exit_live_bytes : live_bytes);
		into->exit_live_blocks = (its ? into->exit_live_blocks : into_blocks) +
					 (mine ? c->exit_live_blocks : live_blocks);
	}
	into->stamp = now;
	into->allocs += c->allocs;
	into->frees += c->frees;
	into->alloc_bytes += c->alloc_bytes;
	into->free_bytes += c->free_bytes;
	into->temp_bytes += c->temp_bytes;
	if (!sampled)
		return;
	into->est_allocs += c->est_allocs;
	into->est_frees += c->est_frees;
	into->var_allocs += c->var_allocs;
	into->var_frees += c->var_frees;
}

static void
unlink_cell(struct recorder *r, struct rec_site *site, struct rec_cell *c)
{
	uint32_t ref = rec_ref(r, c);
	uint32_t *at = &site->cells;

	while (*at != 0 && *at != ref)
		at = &((struct rec_cell *)rec_at(r, *at))->next;
	if (*at == ref)
		__atomic_store_n(at, c->next, __ATOMIC_RELEASE);
}

/* One cell into its site's ended cell. Lock of the site held. false: no room for the new
 * sum. */
static bool
fold_one(struct recorder *r, struct rec_site *site, struct rec_cell *c, uint32_t me)
{
	struct rec_cell *old = site->ended == 0 ? NULL : rec_at(r, site->ended);
	struct rec_cell *sum = space_cell(r, me);
	uint64_t now = __atomic_load_n(&r->head->stamp, __ATOMIC_RELAXED);

	if (sum == NULL)
		return false;
	if (old != NULL)
		memcpy(sum, old, sizeof(*sum));
	else
		sum->stamp = now;
	sum->series = 0;
	sum->site = c->site;
	sum->thread = 0;
	sum->next = 0;
	if (!join_hists(r, sum, old, c, me)) {
		space_cell_free(r, sum, me);
		return false;
	}
	sum->series = series_fold(r, old, c, now, me);
	add(sum, c, now, r->head->mode == REC_MODE_SAMPLE);
	sum->absorbed = rec_ref(r, c);
	__atomic_store_n(&site->ended, rec_ref(r, sum), __ATOMIC_RELEASE);
	unlink_cell(r, site, c);
	sum->absorbed = 0;
	if (old != NULL && old->series == sum->series)
		old->series = 0;
	if (c->series == sum->series)
		c->series = 0;
	__atomic_fetch_add(&site->live_bytes,
			   (int64_t)(c->alloc_bytes - c->free_bytes) - c->shown_bytes,
			   __ATOMIC_RELAXED);
	if (old != NULL)
		space_cell_free(r, old, me);
	space_cell_free(r, c, me);
	return true;
}

void
cells_fold(struct recorder *r, struct thread *t)
{
	uint32_t ref = t->cells;

	while (ref != 0) {
		struct rec_cell *c = rec_at(r, ref);
		struct rec_site *site = rec_at(r, c->site);

		ref = c->thread_next;
		if (!lock_take(&site->lock, t->me)) {
			/* the cell stays, its figures with it */
			__atomic_store_n(&c->thread, 0, __ATOMIC_RELAXED);
			rec_lost(r, REC_LOST_LOCK);
			continue;
		}
		if (!fold_one(r, site, c, t->me)) /* no room: it is counted as it is */
			__atomic_store_n(&c->thread, 0, __ATOMIC_RELAXED);
		lock_drop(&site->lock);
	}
	t->cells = 0;
	t->cell_count = 0;
	if (t->cell_slots != NULL)
		memset(t->cell_slots, 0, (t->cell_mask + 1) * sizeof(*t->cell_slots));
}
