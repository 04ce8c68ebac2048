/* SPDX-License-Identifier: MIT */
/* test_unwind_libgcc.c -- our unwinder against libgcc's, on random stacks.
 *
 * libgcc keeps nothing between two stacks and runs on every processor, so this is the
 * test for aarch64; on x86-64 it is a second opinion. libgcc is slow, hence fewer stacks:
 * UNWIND_STACKS / 20, or 3,000. */
#include "t.h"

#include <unwind.h>

#include "unwind_harness.h"
#include "unwind_stacks.h"

static struct unw_thread *with_bounds, *without_bounds;
static unsigned long checked, differences, truncated;

struct trace {
	uintptr_t pcs[H_DEPTH];
	unsigned n;
};

static _Unwind_Reason_Code
trace_step(struct _Unwind_Context *context, void *arg)
{
	struct trace *t = arg;
	int interrupted = 0;
	uintptr_t pc = _Unwind_GetIPInfo(context, &interrupted);

	if (pc == 0 || t->n >= H_DEPTH)
		return _URC_END_OF_STACK;
	t->pcs[t->n++] = pc + (interrupted != 0);
	return _URC_NO_REASON;
}

static NOINLINE void
stacks_leaf(void)
{
	static struct trace trace;
	static uintptr_t memo[H_DEPTH], rules[H_DEPTH];
	struct unw_start start = H_START();
	struct unw_thread *t = stacks_random() % 8 != 0 ? with_bounds : without_bounds;
	unsigned pseudo[3] = {0}, in_memo, in_rules, n;
	const uintptr_t *truth = trace.pcs + 1; /* without the frame we are in */

	h_room(H_DEPTH);
	trace.n = 0;
	_Unwind_Backtrace(trace_step, &trace);
	n = trace.n - 1;
	in_memo = h_path(unw_stack(t, &start), memo, H_DEPTH, pseudo);
	in_rules = unw_addresses(t, &start, rules, H_DEPTH, false);
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
		h_print("libgcc", truth, n, at);
		h_print("memo", memo, in_memo, at);
		h_print("rules", rules, in_rules, at);
	}
}

T_TEST(random_stacks_as_libgcc)
{
	const char *wanted = getenv("UNWIND_STACKS");
	unsigned long stacks = wanted != NULL ? strtoul(wanted, NULL, 10) / 20 : 3000;
	struct unw_stats stats;

	h_shared = h_shared_new(&h_ops);
	with_bounds = h_thread_new(h_shared, true);
	without_bounds = h_thread_new(h_shared, false);
	stacks_init();
	while (checked < stacks)
		stacks_next(20);
	unw_thread_stats(with_bounds, &stats);
	printf("    %lu stacks, %lu differences; %lu hits, %lu frames reused, %lu fresh, "
	       "%lu stacks with all registers\n",
	       checked, differences, (unsigned long)stats.hits,
	       (unsigned long)stats.frames_reused, (unsigned long)stats.frames_fresh,
	       (unsigned long)stats.full);
	T_EQ(differences, 0);
	T_EQ(truncated, 0);
	for (unsigned i = 0; i < STACKS_SHAPES; i++)
		T_CHECK(stacks_met[i] > stacks / 1000);
	T_CHECK(stats.frames_reused > stats.frames_fresh);
	T_CHECK(stats.full > stacks / 100);
}

T_MAIN()
