/* SPDX-License-Identifier: MIT */
/* test_livetable.c -- the table of live blocks against a plain map.
 *
 * Addresses are random, but as heaps have them: 16-aligned in dense pages, pairs 8 bytes
 * apart which share a note of the page, lone ones in far regions, some above what the
 * table covers. A block's words are made from its address, so a look-up that finds
 * another's entry is noticed. */
/* tsan */
#include "t.h"

#include "guest/record/livetable.h"

#include "recorder_harness.h"

#define MAP_BITS 20
#define ADDRESSES 300000u

/* The reference: open addressing, never shrinks; gone entries stay as such. */
struct entry {
	uintptr_t addr;
	bool live;
};

static struct entry map[1 << MAP_BITS];
static uintptr_t addresses[ADDRESSES];
static uint64_t seed = 20250611;

static struct entry *
entry_of(uintptr_t addr)
{
	uint64_t h = addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - MAP_BITS);

	while (map[h].addr != 0 && map[h].addr != addr)
		h = (h + 1) % (1 << MAP_BITS);
	map[h].addr = addr;
	return &map[h];
}

static uint64_t
word_b(uintptr_t addr)
{
	return (addr * UINT64_C(0xd6e8feb86659fd93)) | 1;
}

static void
fill(struct live_slot *s, uintptr_t addr)
{
	uint64_t a = (addr >> 4 & 0xffffffff) | (uint64_t)(addr & 15)
							<< REC_BLOCK_LOW_SHIFT;

	__atomic_store_n(&s->block->a, a, __ATOMIC_RELAXED);
	__atomic_store_n(&s->block->b, word_b(addr), __ATOMIC_RELAXED);
}

/* Is it found if it must be, and with its own words? Leaves it there. */
static bool
agrees(struct thread *t, uintptr_t addr, bool live)
{
	struct live_slot s;
	bool same;

	if (live_find(&rh, t, addr, &s) != LIVE_OK)
		return !live;
	same = s.block->b == word_b(addr);
	live_unlock(t, &s);
	return live && same;
}

static enum live_result
put(struct thread *t, uintptr_t addr)
{
	struct live_slot s;
	enum live_result got = live_put(&rh, t, addr, &s);

	if (got == LIVE_OK)
		fill(&s, addr);
	return got;
}

static enum live_result
take(struct thread *t, uintptr_t addr)
{
	struct live_slot s;
	enum live_result got = live_find(&rh, t, addr, &s);

	if (got == LIVE_OK) {
		__atomic_store_n(&s.block->b, 0, __ATOMIC_RELAXED);
		live_clear_unlock(t, &s, addr);
	}
	return got;
}

/* Of 16 addresses 8 are in 64 dense pages, 3 in pairs 8 bytes apart, 4 anywhere, 1 too
 * high. */
static void
choose_addresses(uintptr_t base)
{
	for (unsigned i = 0; i < ADDRESSES; i++) {
		uint64_t r = rh_random(&seed);

		switch (i % 16) {
		case 0:
		case 1:
		case 2:
			addresses[i] = base + (UINT64_C(1) << 30) + r % (1 << 24) / 8 * 8;
			break;
		case 3:
		case 4:
		case 5:
		case 6:
			/* 16 ranges of 8 GiB, 512 regions in each: these cost memory */
			addresses[i] = r & UINT64_C(0x1e3ffffff0);
			break;
		case 7:
			addresses[i] = (r | UINT64_C(1) << 48) / 16 * 16;
			break;
		default:
			addresses[i] = base + r % (64 << 12) / 16 * 16;
		}
		if (addresses[i] == 0)
			addresses[i] = 16;
	}
}

/* One random operation on one address, in both; false when they disagree. */
static bool
both(struct thread *t, uintptr_t addr, unsigned long *ret_count)
{
	bool high = addr >> REC_ADDRESS_BITS != 0;
	struct entry *e = entry_of(addr);

	switch (rh_random(&seed) % 4) {
	case 0:
		ret_count[0]++;
		return agrees(t, addr, e->live);
	case 1:
		ret_count[1] += e->live;
		if (take(t, addr) != (e->live ? LIVE_OK : LIVE_NONE))
			return false;
		e->live = false;
		return true;
	default:
		ret_count[2] += !e->live;
		ret_count[3] += e->live;
		if (put(t, addr) != (high ? LIVE_RANGE : e->live ? LIVE_STALE : LIVE_OK))
			return false;
		e->live = !high;
		return true;
	}
}

static void
against_map(bool single, unsigned operations)
{
	struct thread *t = rh_start(REC_MODE_EXACT, UINT64_C(1) << 30, 0, single);
	unsigned long count[4] = {0}, differences = 0, wrong = 0, live = 0;

	T_EQ(t->alone, single);
	memset(map, 0, sizeof map);
	choose_addresses(UINT64_C(0x7f3a00000000));
	for (unsigned i = 0; i < operations; i++)
		differences += !both(t, addresses[rh_random(&seed) % ADDRESSES], count);
	T_EQ(differences, 0);
	for (unsigned i = 0; i < 1 << MAP_BITS; i++) {
		live += map[i].live;
		if (map[i].addr != 0)
			wrong += !agrees(t, map[i].addr, map[i].live);
	}
	T_EQ(wrong, 0);
	printf("    %lu looked up, %lu taken, %lu put, %lu stale; %lu live at the end\n",
	       count[0], count[1], count[2], count[3], live);
	for (unsigned i = 0; i < 4; i++)
		T_CHECK(count[i] > operations / 16);
	T_CHECK(live > ADDRESSES / 8);
	T_EQ(rh_lost(), 0);
}

T_TEST(lone_thread_as_a_map)
{
	against_map(true, 1200000);
}

T_TEST(locked_as_a_map)
{
	against_map(false, 600000);
}

/* Two blocks 8 bytes apart share a note: one goes, the other must still be seen as
 * there. */
T_TEST(stale_with_a_neighbour_gone)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 16 << 20, 0, true);
	uintptr_t at = UINT64_C(0x7f3a00001230);

	T_EQ(put(t, at), LIVE_OK);
	T_EQ(put(t, at), LIVE_STALE);
	T_EQ(put(t, at + 8), LIVE_OK);
	T_EQ(take(t, at), LIVE_OK);
	T_EQ(put(t, at + 8), LIVE_STALE);
	T_EQ(take(t, at + 8), LIVE_OK);
	T_EQ(take(t, at + 8), LIVE_NONE);
	T_EQ(put(t, at), LIVE_OK);
	T_EQ(put(t, at + 8), LIVE_OK);
	T_EQ(take(t, at + 8), LIVE_OK);
	T_EQ(put(t, at), LIVE_STALE);
	T_EQ(put(t, at + 8), LIVE_OK);
	T_EQ(put(t, at + 8), LIVE_STALE);
	T_EQ(take(t, at), LIVE_OK);
	T_EQ(take(t, at), LIVE_NONE);
	T_EQ(take(t, at + 8), LIVE_OK);
	T_EQ(put(t, at), LIVE_OK);
}

/* Puts and takes in every order at neighbouring addresses. */
static void
neighbours(bool single)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 16 << 20, 0, single);
	uintptr_t at = UINT64_C(0x7f3a00003000);
	bool live[8] = {false};
	unsigned wrong = 0;

	for (unsigned i = 0; i < 100000; i++) {
		unsigned k = (unsigned)rh_random(&seed) % 8;

		if (rh_random(&seed) % 2 == 0) {
			wrong += put(t, at + k * 8) != (live[k] ? LIVE_STALE : LIVE_OK);
			live[k] = true;
		} else {
			wrong += take(t, at + k * 8) != (live[k] ? LIVE_OK : LIVE_NONE);
			live[k] = false;
		}
	}
	T_EQ(wrong, 0);
}

T_TEST(neighbours_eight_bytes_apart)
{
	neighbours(true);
	neighbours(false);
}

/* A page can hold 512 blocks 8 bytes apart, each found again. */
T_TEST(full_page)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 16 << 20, 0, true);
	uintptr_t page = UINT64_C(0x55aa0000f000);
	unsigned wrong = 0;

	for (unsigned i = 0; i < 512; i++)
		wrong += put(t, page + i * 8) != LIVE_OK;
	for (unsigned i = 0; i < 512; i++)
		wrong += !agrees(t, page + i * 8, true);
	for (unsigned i = 0; i < 512; i += 3)
		wrong += take(t, page + i * 8) != LIVE_OK;
	for (unsigned i = 0; i < 512; i++)
		wrong += !agrees(t, page + i * 8, i % 3 != 0);
	T_EQ(wrong, 0);
}

/* The smallest recording: soon there is no room, and what is there stays right. */
static void
out_of_room(uint64_t spread)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 2 << 20, 0, true);
	unsigned n = 0, refused = 0, wrong = 0;
	static uintptr_t held[60000];

	for (unsigned i = 0; i < 60000; i++) {
		uintptr_t addr = 16 + rh_random(&seed) % spread / 16 * 16;
		enum live_result got = put(t, addr);

		if (got == LIVE_OK)
			held[n++] = addr;
		else if (got == LIVE_ROOM)
			refused++;
		else
			wrong += got != LIVE_STALE;
	}
	for (unsigned i = 0; i < n; i++)
		wrong += !agrees(t, held[i], true);
	T_EQ(wrong, 0);
	T_CHECK(n > 60);
	T_CHECK(refused > 1000);
	T_CHECK((rh.head->flags & REC_FLAG_FULL) != 0);
	T_CHECK(rh.head->chunks <= ((2 << 20) - REC_CHUNKS_OFF) / REC_CHUNK_BYTES);
	/* a slot that was handed back can be had again, without room for anything new */
	for (unsigned i = 0; i < n; i++) {
		wrong += take(t, held[i]) != LIVE_OK;
		wrong += put(t, held[i]) != LIVE_OK;
		wrong += !agrees(t, held[i], true);
	}
	T_EQ(wrong, 0);
	printf("    %u fit, %u refused\n", n, refused);
}

T_TEST(out_of_room_dense)
{
	out_of_room(32 << 20);
}

T_TEST(out_of_room_sparse)
{
	out_of_room(UINT64_C(1) << 47);
}

/* ---- several threads in the same pages ---- */

#define THREADS 4
#define OWN 700u
#define ROUNDS 40000

struct worker {
	pthread_t pthread;
	unsigned number;
	unsigned long wrong, put, taken, raced;
	bool live[OWN];
};

static struct worker workers[THREADS];
static const uintptr_t common = UINT64_C(0x7f0000000000);
static unsigned long races_won, races_put;

/* Addresses of different threads alternate, so every page is everybody's. */
static uintptr_t
own_address(const struct worker *w, unsigned i)
{
	return common + (i * THREADS + w->number) * 16;
}

static void
own_turn(struct worker *w, struct thread *t, unsigned i)
{
	uintptr_t addr = own_address(w, i);

	if (!agrees(t, addr, w->live[i]))
		w->wrong++;
	if (w->live[i]) {
		w->wrong += take(t, addr) != LIVE_OK;
		w->taken++;
	} else {
		w->wrong += put(t, addr) != LIVE_OK;
		w->put++;
	}
	w->live[i] = !w->live[i];
}

/* All take one block: one of them may get it. */
static void
race_turn(struct worker *w, struct thread *t)
{
	uintptr_t addr = common + (1 << 20);

	if (w->number == 0 && put(t, addr) == LIVE_OK)
		__atomic_fetch_add(&races_put, 1, __ATOMIC_RELAXED);
	w->raced++;
	if (take(t, addr) == LIVE_OK)
		__atomic_fetch_add(&races_won, 1, __ATOMIC_RELAXED);
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct thread *t = threads_attach(&rh, false);
	uint64_t mine = 7919 + w->number;

	for (unsigned i = 0; i < ROUNDS; i++) {
		own_turn(w, t, (unsigned)(rh_random(&mine) % OWN));
		if (i % 4 == 0)
			race_turn(w, t);
	}
	threads_detach(&rh, t);
	return NULL;
}

T_TEST(threads_in_the_same_pages)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 64 << 20, 0, false);
	unsigned long wrong = 0, live = 0, counted = 0;

	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.number = i};
		pthread_create(&workers[i].pthread, NULL, work, &workers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].pthread, NULL);
	while (take(t, common + (1 << 20)) == LIVE_OK)
		races_won++;
	for (unsigned i = 0; i < THREADS; i++) {
		wrong += workers[i].wrong;
		live += workers[i].put - workers[i].taken;
		for (unsigned k = 0; k < OWN; k++) {
			counted += workers[i].live[k];
			wrong += !agrees(t, own_address(&workers[i], k),
					 workers[i].live[k]);
		}
	}
	T_EQ(wrong, 0);
	T_EQ(live, counted);
	T_EQ(races_won, races_put);
	T_CHECK(races_put > 100);
	T_EQ(rh_lost(), 0);
}

T_MAIN()
