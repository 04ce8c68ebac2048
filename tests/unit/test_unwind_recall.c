/* SPDX-License-Identifier: MIT */
/* test_unwind_recall.c -- every short cut to a stack's id against the long way.
 *
 * Besides the stack before, the unwinder knows a few more by heart (spares), recognises
 * stacks by their hash (recall and learn), and in its back-off does so without writing
 * anything down. Here each id it gives is compared with the one that a thread state made
 * just now gives, whose operations have no recall: that one asks node() for every frame.
 * The addresses behind the id are compared as well, with those of a walk by rules, so no
 * two stacks can share an id. Modules go and come back with another id, bounds change,
 * the table of known stacks forgets at random. UNWIND_STACKS sets the number of
 * stacks. */
#include "t.h"

#include "guest/unwind/arch.h"
#include "guest/unwind/memo.h"
#include "guest/unwind/unwind_fast.h"

#include "unwind_harness.h"
#include "unwind_stacks.h"

#define KNOWN_BITS 13 /* too few for all stacks met: many are overwritten */
#define STATES 3
#define POOL 512
#define PC_BITS 48

struct known {
	uint64_t hash;
	uint32_t id;
};

struct state {
	struct unw_thread *t;
	uintptr_t lo, hi;
};

/* A stack to be built again: alternating ones, or those never the same twice running. */
struct stored {
	unsigned char choice[STACKS_LEVELS + 1];
	unsigned levels;
};

/* By what way an id came. */
struct ways {
	unsigned long stacks, hits, spares, hashes, walks, recalled;
};

static struct known known[1 << KNOWN_BITS];
static struct state states[STATES]; /* bounds known, not known, changing */
static struct unw_shared *plain_shared;
static struct unw_thread *plain;
static uintptr_t stack_lo, stack_hi, libc_start, libc_end;
static uint32_t epoch; /* how often libc was "loaded" */
static struct ways ways;
static unsigned long differences, truncated, elided, forgotten, rebounded;
static uint64_t recalled;
static unsigned forget_every, rebound_every; /* 0: never */
static struct stored pool[POOL];

static unsigned long
wanted_stacks(void)
{
	const char *wanted = getenv("UNWIND_STACKS");

	return wanted != NULL ? strtoul(wanted, NULL, 10) : 150000;
}

/* libc has another id each time it was forgotten, as after dlclose and dlopen. */
static bool
find(uintptr_t pc, struct unw_module *ret_module)
{
	if (!h_find(pc, ret_module))
		return false;
	if (ret_module->start == libc_start)
		ret_module->id = 300 + epoch % 60000;
	return true;
}

/* The module is part of what makes a node. */
static uint32_t
node(void *arg, uint32_t parent, uintptr_t pc, uint32_t module_id, unsigned kind)
{
	return h_node(arg, parent, pc | (uint64_t)module_id << PC_BITS, module_id, kind);
}

static uint32_t
recall(void *arg, uint64_t hash)
{
	const struct known *k = &known[hash >> (64 - KNOWN_BITS)];

	(void)arg;
	if (k->id == 0 || k->hash != hash)
		return 0;
	recalled++;
	return k->id;
}

static void
learn(void *arg, uint64_t hash, uint32_t id)
{
	(void)arg;
	if (stacks_random() % 16 != 0)
		known[hash >> (64 - KNOWN_BITS)] = (struct known){hash, id};
}

static const struct unw_ops quick_ops = {
	.find = find, .node = node, .recall = recall, .learn = learn};
static const struct unw_ops plain_ops = {.find = find, .node = node};

static void
start_anew(void)
{
	static const char in_libc[] = "qsort";
	struct unw_module m;
	pthread_attr_t attr;
	void *lo;
	size_t bytes;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &lo, &bytes);
	pthread_attr_destroy(&attr);
	stack_lo = (uintptr_t)lo;
	stack_hi = stack_lo + bytes;
	if (h_find((uintptr_t)dlsym(RTLD_DEFAULT, in_libc), &m)) {
		libc_start = m.start;
		libc_end = m.end;
	}
	h_shared = h_shared_new(&quick_ops);
	plain_shared = h_shared_new(&plain_ops);
	plain = h_thread_new(plain_shared, false);
	for (unsigned i = 0; i < STATES; i++)
		states[i] = (struct state){.t = h_thread_new(h_shared, false)};
	states[0].lo = states[2].lo = stack_lo;
	states[0].hi = states[2].hi = stack_hi;
	for (unsigned i = 0; i < STATES; i++)
		unw_thread_bounds(states[i].t, states[i].lo, states[i].hi);
	memset(known, 0, sizeof known);
	memset(h_index, 0, sizeof h_index);
	h_count = 0;
	ways = (struct ways){0};
	differences = truncated = elided = forgotten = rebounded = 0;
	forget_every = rebound_every = 0;
	stacks_init();
}

static void
forget(uintptr_t start, uintptr_t end)
{
	unw_forget(h_shared, start, end);
	unw_forget(plain_shared, start, end);
	forgotten++;
}

/* The tree starts anew when it is full, and with it everything that knows an id of it. */
static void
room(uint32_t more)
{
	if (h_count + more < H_NODES)
		return;
	h_room(more);
	memset(known, 0, sizeof known);
}

/* dlclose and dlopen, or only a dlopen elsewhere. */
static void
maybe_forget(void)
{
	if (forget_every == 0 || stacks_random() % forget_every != 0)
		return;
	if (stacks_random() % 2 == 0) {
		epoch++;
		forget(libc_start, libc_end);
	} else {
		forget(0, 0);
	}
}

/* Bounds of a stack that ends too early, or at the frame itself, or are not known. */
static void
maybe_rebound(struct state *s, uintptr_t sp)
{
	if (rebound_every == 0 || stacks_random() % rebound_every != 0)
		return;
	s->lo = stack_lo;
	switch (stacks_random() % 4) {
	case 0:
		s->lo = s->hi = 0;
		break;
	case 1:
		s->hi = stack_hi;
		break;
	case 2:
		s->hi = sp + stacks_random() % 64 * 8;
		break;
	default:
		s->hi = sp + stacks_random() % 1024 * 8;
	}
	unw_thread_bounds(s->t, s->lo, s->hi);
	rebounded++;
}

/* Which way did the last stack go? */
static void
count_way(const struct unw_stats *before, const struct unw_stats *after, bool hit,
	  bool was_recalled)
{
	ways.stacks++;
	if (hit)
		ways.hits++;
	else if (after->hits != before->hits)
		ways.spares++;
	else if (after->frames_fresh == before->frames_fresh &&
		 after->frames_reused == before->frames_reused)
		ways.hashes++;
	else
		ways.walks++;
	ways.recalled += was_recalled;
}

static uint32_t
quick_id(struct unw_thread *t, const struct unw_start *start)
{
	bool hit = unw_same((const struct unw_hot *)t, start);
	uint64_t recalled_before = recalled;
	struct unw_stats before, after;
	uint32_t id;

	unw_thread_stats(t, &before);
	id = unw_stack(t, start);
	unw_thread_stats(t, &after);
	count_way(&before, &after, hit, recalled != recalled_before);
	if (after.stacks != before.stacks + 1)
		differences++;
	return id;
}

static void
complain(const char *what, uint32_t id, uint32_t truth, const uintptr_t *pcs, unsigned n)
{
	static uintptr_t path[H_DEPTH];
	unsigned in_path = h_path(id, path, H_DEPTH, NULL), at = 0;

	if (differences++ >= 4)
		return;
	for (unsigned i = 0; i < in_path; i++)
		path[i] &= ((uintptr_t)1 << PC_BITS) - 1;
	while (at < n && at < in_path && path[at] == pcs[at])
		at++;
	printf("    %s: id %u, by each frame %u\n", what, id, truth);
	h_print("rules", pcs, n, at);
	h_print("id", path, in_path, at);
}

/* Are the addresses behind `id` those of a walk by rules? */
static void
check_path(const struct state *s, const struct unw_start *start, uint32_t id,
	   uint32_t truth)
{
	static uintptr_t pcs[H_DEPTH], path[H_DEPTH];
	unsigned pseudo[3] = {0}, n, in_path;

	unw_thread_init(plain, plain_shared, NULL);
	unw_thread_bounds(plain, s->lo, s->hi);
	n = unw_addresses(plain, start, pcs, H_DEPTH, false);
	in_path = h_path(id, path, H_DEPTH, pseudo);
	truncated += pseudo[UNW_NODE_TRUNCATED];
	elided += pseudo[UNW_NODE_ELIDED];
	if (id != truth) {
		complain("another id", id, truth, pcs, n);
		return;
	}
	if (pseudo[UNW_NODE_ELIDED] != 0) {
		if (in_path != UNW_KEEP_INNER + UNW_KEEP_OUTER)
			complain("elided", id, truth, pcs, n);
		in_path = n = UNW_KEEP_INNER; /* outer ones were shifted */
	}
	for (unsigned i = 0; i < in_path; i++)
		path[i] &= ((uintptr_t)1 << PC_BITS) - 1;
	if (n != in_path || memcmp(pcs, path, n * sizeof *pcs) != 0)
		complain("another path", id, truth, pcs, n);
}

static NOINLINE void
check(struct state *s, const struct unw_start *start)
{
	uint32_t id, truth;

	room(2 * H_DEPTH);
	maybe_forget();
	if (s == &states[2])
		maybe_rebound(s, start->sp);
	id = quick_id(s->t, start);
	unw_thread_init(plain, plain_shared, NULL);
	unw_thread_bounds(plain, s->lo, s->hi);
	truth = unw_stack(plain, start);
	check_path(s, start, id, truth);
}

static NOINLINE void
stacks_leaf(void)
{
	struct unw_start start = H_START();

	check(&states[stacks_random() % 8 < 6 ? 0 : 1 + stacks_random() % 2], &start);
}

static void
fill_pool(unsigned count, unsigned least, unsigned most, unsigned rare)
{
	for (unsigned i = 0; i < count; i++) {
		pool[i].levels = least + stacks_random() % (most - least + 1);
		for (unsigned k = 0; k <= STACKS_LEVELS; k++)
			pool[i].choice[k] = stacks_choose(rare);
	}
}

static NOINLINE void
build(const struct stored *s)
{
	memcpy(stacks_choice, s->choice, sizeof stacks_choice);
	stacks_descend(s->levels);
	stacks_sink++;
}

static void
say(const char *what)
{
	printf("    %s: %lu stacks, %lu differences; %lu the one before, %lu spares, "
	       "%lu by hash alone, %lu walked; %lu recalled, %lu truncated, %lu elided, "
	       "%lu forgets, %lu bounds\n",
	       what, ways.stacks, differences, ways.hits, ways.spares, ways.hashes,
	       ways.walks, ways.recalled, truncated, elided, forgotten, rebounded);
}

T_TEST(alternating_stacks)
{
	unsigned long stacks = wanted_stacks() / 3;

	start_anew();
	forget_every = 512;
	rebound_every = 64;
	for (unsigned round = 0; ways.stacks < stacks; round++) {
		if (round % 4096 == 0)
			fill_pool(24, 1, 14, 4);
		for (unsigned i = 0; i <= stacks_random() % 3; i++)
			build(&pool[stacks_random() % 24]);
	}
	say("alternating");
	T_EQ(differences, 0);
	T_CHECK(ways.spares > stacks / 8);
	T_CHECK(ways.recalled > stacks / 32);
	T_CHECK(truncated > stacks / 1000);
	T_CHECK(forgotten > stacks / 1024);
	T_CHECK(rebounded > stacks / 1024);
}

T_TEST(random_stacks)
{
	unsigned long stacks = wanted_stacks() / 3;

	start_anew();
	forget_every = 256;
	rebound_every = 64;
	while (ways.stacks < stacks)
		stacks_next(8);
	say("random");
	T_EQ(differences, 0);
	T_CHECK(ways.recalled > stacks / 64);
	T_CHECK(ways.walks > stacks / 4);
	T_CHECK(truncated > stacks / 1000);
}

/* Nothing is the same twice running, so the memo is left alone, but most of it is
 * known. */
static void
back_off(unsigned count, unsigned rare)
{
	fill_pool(count, 40, 60, rare);
	for (unsigned i = 0; i < count; i++)
		for (unsigned k = 0; k <= STACKS_LEVELS; k++)
			if (pool[i].choice[k] % STACKS_SHAPES == STACKS_LOOP)
				pool[i].choice[k]--; /* would come twice running */
	for (unsigned i = 0; i < 4096; i++)
		build(&pool[stacks_random() % count]);
}

T_TEST(deep_stacks_back_off)
{
	unsigned long stacks = wanted_stacks() / 3;

	start_anew();
	stacks_no_drap = true; /* no hash without a memo for them */
	rebound_every = 128;
	while (ways.stacks < stacks / 2)
		back_off(97, 0);
	/* elsewhere a return address may be in a register, and frames are
	 * walked one by one */
	if (ARCH_RA_FIXED)
		T_CHECK(ways.hashes > stacks / 8);
	forget_every = 700;
	while (ways.stacks < stacks * 3 / 4)
		back_off(POOL, 0);
	stacks_no_drap = false;
	while (ways.stacks < stacks)
		back_off(POOL, 1);
	say("back-off");
	T_EQ(differences, 0);
	T_CHECK(ways.recalled > stacks / 4);
}

static NOINLINE void
down(unsigned frames, unsigned bits)
{
	if (frames == 0)
		build(&pool[bits % 7]);
	else if ((bits >> frames % 5 & 1) != 0)
		down(frames - 1, bits);
	else
		down(frames - 1, bits);
	stacks_sink++;
}

/* Around the number of frames from which on the middle is left out, and far beyond. */
T_TEST(elided_stacks)
{
	unsigned long far = 0;

	start_anew();
	fill_pool(7, 0, 3, 0);
	forget_every = 64;
	for (unsigned i = 0; i < 1500; i++) {
		unsigned frames = UNW_EXACT_MAX - 24 + stacks_random() % 32;

		if (i % 100 == 99) {
			frames = 16384 + stacks_random() % 4096;
			far++;
		}
		down(frames, stacks_random() % 4);
	}
	say("elided");
	T_EQ(differences, 0);
	T_CHECK(far == 15);
	T_CHECK(elided > 300);
	T_CHECK(elided < 1400);
	T_CHECK(ways.recalled > 30);
}

/* ---- stacks that only one word tells apart ---- */

typedef void hop(unsigned path, uintptr_t target);

static hop *volatile hops[4];

/* The frame's size is such that the leaf is always called at the same stack pointer. What
 * longer ways left on the stack is still there, inside the frame of shorter ones. */
static NOINLINE void
leaf_at(unsigned path, uintptr_t target)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	volatile char *room = __builtin_alloca((here - target) & ~(uintptr_t)15);

	(void)path;
	stacks_leaf();
	stacks_sink += (unsigned char)room[0];
}

static NOINLINE void
hop_on(unsigned path, uintptr_t target)
{
	volatile char buffer[160];

	buffer[159] = (char)path;
	hops[path % 4](path / 4, target);
	stacks_sink += (unsigned char)buffer[159];
}

static NOINLINE void
hop_far(unsigned path, uintptr_t target)
{
	volatile char buffer[352];

	buffer[351] = (char)path;
	hops[path % 4](path / 4, target);
	stacks_sink += (unsigned char)buffer[351];
}

/* Same pc, same sp, and every word of the other stack is where it was, for the first call
 * is made from one place: bp alone tells them apart. */
T_TEST(same_place_other_frames)
{
	uintptr_t target = (uintptr_t)__builtin_frame_address(0) - 8192;

	start_anew();
	hops[0] = leaf_at;
	hops[1] = hops[2] = hop_on;
	hops[3] = hop_far;
	for (unsigned i = 0; i < 20000; i++) {
		unsigned path = stacks_random() % (i < 10000 ? 8 : 256);

		hops[path % 4](path / 4, target);
		stacks_sink++;
	}
	say("same place");
	T_EQ(differences, 0);
	T_CHECK(ways.spares > 1000);
	T_CHECK(ways.walks > 1000);
}

/* Calls go() from code that has no unwind table. Hidden: an address by way of the GOT
 * would not be that of a label in assembly. */
__attribute__((visibility("hidden"))) void no_table(void (*go)(void));

#if defined(__x86_64__)
__asm__(".text\n.type no_table, @function\nno_table:\n\t"
	"subq $8, %rsp\n\tcall *%rdi\n\taddq $8, %rsp\n\tret\n");
#else
__asm__(".text\n.type no_table, @function\nno_table:\n\t"
	"str x30, [sp, #-16]!\n\tblr x0\n\tldr x30, [sp], #16\n\tret\n");
#endif

static unsigned long whole, cut;

/* The stack's upper end is right here, so this was the outermost frame; or far away, then
 * it was not, and could only not be followed. */
static NOINLINE void
end_leaf(void)
{
	struct unw_start start = H_START();
	struct state *s = &states[2];
	unsigned long before = truncated;

	s->lo = stack_lo;
	s->hi = stacks_random() % 2 == 0 ? start.sp + 16 : stack_hi;
	unw_thread_bounds(s->t, s->lo, s->hi);
	check(s, &start);
	whole += truncated == before;
	cut += truncated != before;
}

/* The same addresses, once as all there is and once as all that could be seen. */
T_TEST(ended_or_truncated)
{
	start_anew();
	for (unsigned i = 0; i < 4000; i++)
		h_call_with_bp((uintptr_t)end_leaf, stacks_random() | 1,
			       (uintptr_t)no_table);
	say("ended or truncated");
	T_EQ(differences, 0);
	T_CHECK(ways.recalled > 2000);
	T_CHECK(whole > 1000);
	T_CHECK(cut > 1000);
}

/* Stacks of one function that lie near each other have sets of their own, wherever the
 * stack is. */
T_TEST(sets_of_spares)
{
	enum { SETS = MEMO_SPARES / MEMO_SPARE_WAYS };
	struct unw_thread *t = states[0].t;
	uintptr_t pc = (uintptr_t)end_leaf;

	for (uintptr_t moved = 0; moved < 4096; moved += 16) {
		uint64_t seen = 0;

		for (uintptr_t i = 0; i < SETS; i++) {
			uintptr_t sp = UINT64_C(0x7fffffffc000) - moved - 16 * i;

			seen |= UINT64_C(1) << (memo_spares_of(t, pc, sp) - t->spares) /
						       MEMO_SPARE_WAYS;
		}
		T_EQ(__builtin_popcountll(seen), (long)SETS);
	}
}

T_MAIN()
