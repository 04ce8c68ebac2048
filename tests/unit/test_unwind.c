/* SPDX-License-Identifier: MIT */
/* test_unwind.c -- our unwinder against libunwind, on random stacks.
 *
 * Each stack is unwound four ways: as a recorder does (memo and ids), by rules alone, and
 * by libunwind's two ways. All must give the same return addresses. UNWIND_STACKS sets
 * how many stacks (60,000 unless told). libunwind gives the address at which a signal
 * interrupted a frame; ours is one higher, as unwind.h says. */
/* libs: unwind */
#include "t.h"

#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <sys/time.h>

#include "unwind_harness.h"
#include "unwind_stacks.h"

static struct unw_thread *with_bounds, *without_bounds;
static volatile unsigned long checked;
static unsigned long differences, truncated;

/* libunwind step by step, from the caller of the caller on; says which were
 * interrupted. */
static NOINLINE unsigned
reference_steps(uintptr_t *ret_pcs, unsigned max)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc;
	unsigned n = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	unw_step(&cursor); /* to our caller */
	while (n < max && unw_step(&cursor) > 0) {
		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (pc == 0)
			break;
		ret_pcs[n++] = pc + (unw_is_signal_frame(&cursor) > 0);
	}
	return n;
}

static NOINLINE void
compare(struct unw_thread *t, const struct unw_start *start, const uintptr_t *truth,
	unsigned n)
{
	static uintptr_t memo[H_DEPTH], rules[H_DEPTH];
	unsigned pseudo[3] = {0}, in_memo, in_rules;
	uint32_t id = unw_stack(t, start);

	in_memo = h_path(id, memo, H_DEPTH, pseudo);
	in_rules = unw_addresses(t, start, rules, H_DEPTH, false);
	checked++;
	truncated += pseudo[UNW_NODE_TRUNCATED];
	if (in_memo == n && in_rules == n && memcmp(memo, truth, n * sizeof *memo) == 0 &&
	    memcmp(rules, truth, n * sizeof *rules) == 0)
		return;
	if (differences++ < 4) {
		unsigned at = 0;

		while (at < n && at < in_memo && at < in_rules && memo[at] == truth[at] &&
		       rules[at] == truth[at])
			at++;
		h_print("libunwind", truth, n, at);
		h_print("memo", memo, in_memo, at);
		h_print("rules", rules, in_rules, at);
	}
}

/* Interrupted anywhere: in prologues and epilogues, in linkage tables, in libc. */
static NOINLINE void
interrupted_leaf(void)
{
	static uintptr_t steps[H_DEPTH];
	struct unw_start start = H_START();
	unsigned n = reference_steps(steps, H_DEPTH);

	h_room(H_DEPTH);
	compare(with_bounds, &start, steps, n);
}

static volatile bool interrupting;

/* Once, a little later. A timer that went on by itself would let a slow machine do
 * nothing but handle it. */
static void
interrupt_soon(void)
{
	struct itimerval once = {.it_value = {.tv_usec = 97}};

	setitimer(ITIMER_REAL, &once, NULL);
}

static void
interrupted(int sig)
{
	(void)sig;
	if (!interrupting)
		return;
	interrupted_leaf();
	interrupt_soon();
}

static NOINLINE void
stacks_leaf(void)
{
	static void *trace[H_DEPTH];
	static uintptr_t steps[H_DEPTH];
	struct unw_start start = H_START();
	struct unw_thread *t = stacks_random() % 8 != 0 ? with_bounds : without_bounds;
	int n;

	if (interrupting)
		return;
	h_room(H_DEPTH);
	/* The trace does not say what was interrupted, and steps are slow. */
	if (stacks_signals == 0 && stacks_random() % 256 != 0) {
		n = unw_backtrace(trace, H_DEPTH);
		compare(t, &start, (uintptr_t *)trace + 1, (unsigned)n - 1);
	} else {
		n = (int)reference_steps(steps, H_DEPTH);
		compare(t, &start, steps, (unsigned)n);
	}
}

static unsigned long
stacks_wanted(void)
{
	const char *wanted = getenv("UNWIND_STACKS");

	if (wanted != NULL)
		return strtoul(wanted, NULL, 10);
	return getenv("SEEP_SOAK") != NULL ? 3000000 : 60000;
}

T_TEST(random_stacks_as_libunwind)
{
	unsigned long stacks = stacks_wanted();
	struct unw_stats stats;

	h_shared = h_shared_new(&h_ops);
	with_bounds = h_thread_new(h_shared, true);
	without_bounds = h_thread_new(h_shared, false);
	unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
	stacks_init();
	while (checked < stacks)
		stacks_next(8);
	unw_thread_stats(with_bounds, &stats);
	printf("    %lu stacks, %lu differences; %lu hits, %lu frames reused, %lu fresh, "
	       "%lu stacks with all registers\n",
	       checked, differences, (unsigned long)stats.hits,
	       (unsigned long)stats.frames_reused, (unsigned long)stats.frames_fresh,
	       (unsigned long)stats.full);
	T_EQ(differences, 0);
	T_EQ(truncated, 0);
	/* it tested what it claims to */
	for (unsigned i = 0; i < STACKS_SHAPES; i++)
		T_CHECK(stacks_met[i] > stacks / 10000);
	T_CHECK(stats.frames_reused > stats.frames_fresh);
	T_CHECK(stats.full > stacks / 1000);
}

static void
interrupt_for(unsigned long stacks, int flags)
{
	struct sigaction sa = {.sa_handler = interrupted, .sa_flags = SA_RESTART | flags};

	checked = differences = truncated = 0;
	sigaction(SIGALRM, &sa, NULL);
	interrupting = true;
	interrupt_soon();
	while (checked < stacks)
		stacks_next(0);
	interrupting = false;
	T_EQ(differences, 0);
	T_EQ(truncated, 0);
}

T_TEST(interrupted_anywhere_as_libunwind)
{
	unsigned long stacks = stacks_wanted() < 600000 ? 1500 : stacks_wanted() / 400;
	struct unw_stats stats;

	h_shared = h_shared_new(&h_ops);
	with_bounds = h_thread_new(h_shared, true);
	stacks_init();
	/* At the last instructions of such a function gcc's table has a wrong rbp, and
	 * nobody can unwind it. */
	stacks_no_drap = true;
	interrupt_for(stacks, 0);
	interrupt_for(stacks, SA_ONSTACK);
	stacks_no_drap = false;
	unw_thread_stats(with_bounds, &stats);
	T_CHECK(stats.full >= 2 * stacks);
	T_CHECK(stats.frames_reused > 0);
}

T_MAIN()
