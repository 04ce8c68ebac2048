/* SPDX-License-Identifier: MIT */
/* test_unwind_edge.c -- where stacks end badly, change under us, or are very deep.
 *
 * The truth is what the test built: so many levels of recursion, machine code without
 * tables, a library that took the place of another. */
#include "t.h"

#include <setjmp.h>
#include <unistd.h>
#include <unwind.h>

#include "guest/unwind/unwind_fast.h"
#include "unwind_harness.h"

#define EDGE_MAX 32768

static struct unw_thread *edge_thread;
static uintptr_t edge_pcs[EDGE_MAX], edge_path[EDGE_MAX];
static unsigned edge_pseudo[3];
/* Volatile because the compiler does not see who calls edge_leaf(). */
static volatile uint32_t edge_id;
static volatile bool edge_hit;
static volatile unsigned edge_n, edge_path_n, edge_sink;

static void
edge_setup(bool bounds)
{
	h_shared = h_shared_new(&h_ops);
	edge_thread = h_thread_new(h_shared, bounds);
	h_room(H_NODES);
}

/* The hook: the stack's id with and without memo, and its addresses by rules. */
static NOINLINE void
edge_leaf(void)
{
	struct unw_start start = H_START();

	edge_id = unw_hit(edge_thread, &start);
	edge_hit = edge_id != 0;
	if (!edge_hit)
		edge_id = unw_walk(edge_thread, &start);
	memset(edge_pseudo, 0, sizeof edge_pseudo);
	edge_path_n = h_path(edge_id, edge_path, EDGE_MAX, edge_pseudo);
	edge_n = unw_addresses(edge_thread, &start, edge_pcs, EDGE_MAX, false);
	edge_sink++;
}

static bool
edge_path_is_addresses(void)
{
	return edge_path_n == edge_n &&
	       memcmp(edge_path, edge_pcs, edge_n * sizeof edge_pcs[0]) == 0;
}

/* Recursion goes by a pointer that may change for all the compiler knows: else it may put
 * several levels into one frame. */
static void edge_recurse(unsigned depth, void (*leaf)(void));
static void (*volatile edge_recurse_again)(unsigned, void (*)(void)) = edge_recurse;

static NOINLINE void
edge_recurse(unsigned depth, void (*leaf)(void))
{
	if (depth > 1)
		edge_recurse_again(depth - 1, leaf);
	else
		leaf();
	edge_sink++;
}

/* ---- depth ---- */

T_TEST(stacks_to_1024_frames_are_exact)
{
	unsigned around;

	edge_setup(true);
	edge_recurse(1, edge_leaf);
	around = edge_n - 1;
	edge_recurse(UNW_EXACT_MAX - around, edge_leaf);
	T_EQ(edge_n, UNW_EXACT_MAX);
	T_CHECK(edge_path_is_addresses());
	T_EQ(edge_pseudo[UNW_NODE_ELIDED], 0);
	edge_recurse(UNW_EXACT_MAX - around + 1, edge_leaf);
	T_EQ(edge_n, UNW_EXACT_MAX + 1);
	T_EQ(edge_path_n, UNW_KEEP_INNER + UNW_KEEP_OUTER);
	T_EQ(edge_pseudo[UNW_NODE_ELIDED], 1);
}

/* Ids come and go right while a stack grows beyond the limit and shrinks again. */
static unsigned edge_around, edge_wrong;

static void edge_up_and_down(unsigned depth);
static void (*volatile edge_up_again)(unsigned) = edge_up_and_down;

static NOINLINE void
edge_up_and_down(unsigned depth)
{
	if (depth < 1100)
		edge_up_again(depth + 1);
	if (depth < 1000)
		return;
	edge_leaf();
	if (edge_n != depth + edge_around)
		edge_wrong++;
	if (edge_n <= UNW_EXACT_MAX && !edge_path_is_addresses())
		edge_wrong++;
	if (edge_n > UNW_EXACT_MAX &&
	    (edge_path_n != UNW_KEEP_INNER + UNW_KEEP_OUTER ||
	     memcmp(edge_path, edge_pcs, UNW_KEEP_INNER * sizeof edge_pcs[0]) != 0 ||
	     memcmp(edge_path + UNW_KEEP_INNER, edge_pcs + edge_n - UNW_KEEP_OUTER,
		    UNW_KEEP_OUTER * sizeof edge_pcs[0]) != 0))
		edge_wrong++;
	edge_sink++;
}

static NOINLINE void
edge_up_from_here(void)
{
	edge_leaf();
	edge_around = edge_n;
	edge_up_again(1);
	edge_sink++;
}

T_TEST(ids_follow_a_stack_across_the_limit)
{
	struct unw_stats stats;

	edge_setup(true);
	edge_wrong = 0;
	edge_up_from_here();
	T_EQ(edge_wrong, 0);
	unw_thread_stats(edge_thread, &stats);
	T_CHECK(stats.elided > 70 && stats.elided < 110);
	T_EQ(stats.truncated, 0);
}

T_TEST(deep_stacks_share_their_nodes)
{
	struct unw_stats stats;
	uint32_t before = 0;
	unsigned left_out;

	edge_setup(true);
	for (volatile unsigned depth = 5000; depth < 5101; depth++) {
		edge_recurse(depth, edge_leaf);
		before = depth == 5000 ? h_count : before;
	}
	T_EQ(h_count, before);
	T_EQ(edge_pseudo[UNW_NODE_ELIDED], 1);
	T_EQ(edge_path_n, UNW_KEEP_INNER + UNW_KEEP_OUTER);
	left_out = edge_n - UNW_KEEP_INNER - UNW_KEEP_OUTER;
	T_CHECK(left_out > 4096 && left_out < 8192);
	for (uint32_t id = edge_id; id != 0; id = h_nodes[id].parent) {
		if (h_nodes[id].kind == UNW_NODE_ELIDED)
			T_EQ(h_nodes[id].pc, 4096);
	}
	/* more than the memo holds */
	edge_recurse(20000, edge_leaf);
	T_EQ(edge_pseudo[UNW_NODE_ELIDED], 1);
	T_EQ(edge_path_n, UNW_KEEP_INNER + UNW_KEEP_OUTER);
	T_EQ(edge_n, UNW_KEEP_INNER);
	T_CHECK(memcmp(edge_path, edge_pcs, edge_n * sizeof edge_pcs[0]) == 0);
	T_CHECK(h_count - before <= 1 + UNW_KEEP_INNER + UNW_KEEP_OUTER);
	edge_recurse(3, edge_leaf);
	T_CHECK(edge_path_is_addresses());
	unw_thread_stats(edge_thread, &stats);
	T_EQ(stats.elided, 102);
}

/* ---- the memo ---- */

static NOINLINE void
edge_twice(void)
{
	for (volatile int i = 0; i < 2; i++) /* one call, not two */
		edge_leaf();
	edge_sink++;
}

static NOINLINE void
edge_thrice(void)
{
	for (volatile int i = 0; i < 3; i++)
		edge_leaf();
	edge_sink++;
}

T_TEST(the_same_stack_is_a_hit)
{
	struct unw_stats stats;

	edge_setup(true);
	edge_recurse(23, edge_twice);
	T_EQ(edge_hit, true);
	T_CHECK(edge_path_is_addresses());
	unw_forget(h_shared, 0, 0);
	edge_recurse(23, edge_leaf);
	T_EQ(edge_hit, false);
	unw_thread_stats(edge_thread, &stats);
	T_EQ(stats.hits, 1);
	T_EQ(stats.stacks, 3);
	T_EQ(stats.full, 0);
}

static NOINLINE void
edge_shifted(unsigned turn)
{
	volatile char *room = __builtin_alloca(16 + 16 * (turn % 2));

	room[0] = 1;
	edge_recurse(97, edge_leaf);
	edge_sink += (unsigned char)room[0];
}

T_TEST(a_useless_memo_is_left_alone_for_a_while)
{
	struct unw_stats before, after;

	edge_setup(true);
	for (unsigned i = 0; i < 140; i++)
		edge_shifted(i);
	unw_thread_stats(edge_thread, &before);
	for (unsigned i = 0; i < 400; i++)
		edge_shifted(0);
	unw_thread_stats(edge_thread, &after);
	T_EQ(after.frames_reused - before.frames_reused, 0);
	T_CHECK(edge_path_is_addresses());
	for (unsigned i = 0; i < 200; i++)
		edge_shifted(0);
	unw_thread_stats(edge_thread, &after);
	T_CHECK(after.hits > 50);
	T_CHECK(edge_path_is_addresses());
}

static jmp_buf edge_jump;
static unsigned edge_nodes_until_jump;

static uint32_t
edge_jumping_node(void *arg, uint32_t parent, uintptr_t pc, uint32_t module,
		  unsigned kind)
{
	if (edge_nodes_until_jump > 0 && --edge_nodes_until_jump == 0)
		longjmp(edge_jump, 1);
	return h_node(arg, parent, pc, module, kind);
}

T_TEST(longjmp_out_of_the_middle_does_no_harm)
{
	static const struct unw_ops ops = {.find = h_find, .node = edge_jumping_node};
	volatile unsigned wrong = 0;

	edge_setup(true);
	h_shared = h_shared_new(&ops);
	edge_thread = h_thread_new(h_shared, true);
	for (volatile unsigned i = 1; i < 60; i++) {
		edge_nodes_until_jump = i;
		if (setjmp(edge_jump) == 0)
			edge_recurse(40 + i % 7, edge_leaf);
		edge_nodes_until_jump = 0;
		/* A third time, because one kept aside counts as the last when it came
		 * twice. */
		edge_recurse(40 + i % 5, edge_thrice);
		wrong += !edge_path_is_addresses() || !edge_hit;
	}
	T_EQ(wrong, 0);
}

/* ---- code without tables ---- */

static void (*edge_code(const void *bytes, size_t n))(void (*)(void))
{
	char *page = h_map(4096);
	void (*go)(void (*)(void));

	memcpy(page, bytes, n);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache(page, page + n);
	memcpy(&go, &page, sizeof go);
	return go;
}

/* Makes a frame record, calls its argument, returns. */
#if defined(__x86_64__)
#	define EDGE_RETURN 6
/* push %rbp; mov %rsp, %rbp; call *%rdi; pop %rbp; ret */
static const unsigned char edge_with_record[] = {0x55, 0x48, 0x89, 0xe5,
						 0xff, 0xd7, 0x5d, 0xc3};
#else
#	define EDGE_RETURN 12
/* stp x29, x30, [sp, #-16]!; mov x29, sp; blr x0; ldp x29, x30, [sp], #16; ret */
static const uint32_t edge_with_record[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0000,
					    0xa8c17bfd, 0xd65f03c0};
#endif

T_TEST(generated_code_is_left_by_its_frame_record)
{
	void (*go)(void (*)(void)) = edge_code(edge_with_record, sizeof edge_with_record);
	unsigned around;

	edge_setup(true);
	edge_leaf();
	around = edge_n;
	go(edge_leaf);
	T_EQ(edge_n, around + 1);
	T_EQ(edge_pcs[0] - (uintptr_t)go, EDGE_RETURN);
	T_CHECK(edge_path_is_addresses());
	T_EQ(edge_pseudo[UNW_NODE_TRUNCATED], 0);
	T_EQ(h_nodes[edge_id].module, 0);
	go(edge_twice);
	T_EQ(edge_hit, true);
	/* on a stack of unknown bounds it is not followed */
	edge_setup(false);
	go(edge_leaf);
	T_EQ(edge_n, 1);
	T_EQ(edge_pseudo[UNW_NODE_TRUNCATED], 1);
}

/* From here on in this processor's own code. */
#if defined(__x86_64__)

/* ---- a library in the place of another ---- */

/* Assembles a library with one function `go` that calls its argument from a frame of so
 * many bytes. All have the same length, so that one fits where another was. */
static void *
edge_load(unsigned frame_bytes)
{
	FILE *f = fopen("go.s", "w");

	if (f == NULL)
		return NULL;
	fprintf(f,
		".globl go\n.type go, @function\ngo:\n\t.cfi_startproc\n"
		"\tsubq $%u, %%rsp\n\t.cfi_adjust_cfa_offset %u\n\tcall *%%rdi\n"
		"\taddq $%u, %%rsp\n\t.cfi_adjust_cfa_offset -%u\n\tret\n\t.cfi_endproc\n"
		".section .note.GNU-stack,\"\",@progbits\n",
		frame_bytes, frame_bytes, frame_bytes, frame_bytes);
	fclose(f);
	if (system("cc -shared -nostdlib -o go.so go.s") != 0)
		return NULL;
	return dlopen("./go.so", RTLD_NOW);
}

static _Unwind_Reason_Code
edge_trace_step(struct _Unwind_Context *context, void *arg)
{
	unsigned *n = arg;

	if (*n < EDGE_MAX)
		edge_path[(*n)++] = _Unwind_GetIP(context);
	return _URC_NO_REASON;
}

static unsigned edge_forget_wrong;

/* libgcc keeps nothing between stacks, so it is the truth here. */
static NOINLINE void
edge_leaf_as_libgcc(void)
{
	struct unw_start start = H_START();
	unsigned n = 0,
		 ours = unw_addresses(edge_thread, &start, edge_pcs, EDGE_MAX, true);

	_Unwind_Backtrace(edge_trace_step, &n);
	n--; /* the first is here; the last, where the process begins, may be 0 */
	if (edge_path[n] == 0)
		n--;
	if (ours != n || memcmp(edge_pcs, edge_path + 1, n * sizeof edge_pcs[0]) != 0)
		edge_forget_wrong++;
	edge_sink++;
}

static NOINLINE void
edge_call(void (*go)(void (*)(void)))
{
	go(edge_leaf_as_libgcc);
	edge_sink++;
}

T_TEST(a_library_that_took_anothers_place)
{
	char dir[] = "/tmp/seep-unwind.XXXXXX";
	void (*go)(void (*)(void)), (*before)(void (*)(void)) = NULL;
	struct unw_module m = {0};
	unsigned same_place = 0;

	edge_setup(true);
	edge_forget_wrong = 0;
	if (mkdtemp(dir) == NULL || chdir(dir) != 0)
		T_SKIP("no folder below /tmp");
	for (unsigned round = 0; round < 6; round++) {
		void *lib = edge_load(round % 2 ? 24 : 56);

		if (lib == NULL)
			break;
		*(void **)&go = dlsym(lib, "go");
		same_place += go == before;
		before = go;
		edge_call(go);
		edge_call(go);
		h_find((uintptr_t)go, &m);
		dlclose(lib);
		unlink("go.so"); /* the loader knows a file by its inode */
		unw_forget(h_shared, m.start, m.end);
	}
	unlink("go.s");
	if (chdir("/") != 0 || rmdir(dir) != 0)
		T_FAIL("cannot remove %s", dir);
	if (before == NULL)
		T_SKIP("no compiler here");
	T_EQ(edge_forget_wrong, 0);
	T_EQ(same_place, 5);
}

/* sub $8, %rsp; call *%rdi; add $8, %rsp; ret */
static const unsigned char edge_without[] = {0x48, 0x83, 0xec, 0x08, 0xff, 0xd7,
					     0x48, 0x83, 0xc4, 0x08, 0xc3};

T_TEST(generated_code_without_one_ends_the_stack)
{
	void (*go)(void (*)(void)) = edge_code(edge_without, sizeof edge_without);
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uintptr_t bad[] = {0, 8, 3, here - 65536, here + 3, UINTPTR_MAX & ~(uintptr_t)7};
	struct unw_stats stats;

	edge_setup(true);
	for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
		h_call_with_bp((uintptr_t)edge_leaf, bad[i], (uintptr_t)go);
		T_EQ(edge_n, 1);
		T_CHECK(edge_path_is_addresses());
		T_EQ(edge_pseudo[UNW_NODE_TRUNCATED], 1);
	}
	unw_thread_stats(edge_thread, &stats);
	T_EQ(stats.truncated, 6);
}

T_TEST(a_return_address_of_zero_is_the_end)
{
	void (*go)(void (*)(void)) = edge_code(edge_without, sizeof edge_without);
	volatile uintptr_t record[2] = {0, 0};

	edge_setup(true);
	h_call_with_bp((uintptr_t)edge_leaf, (uintptr_t)record, (uintptr_t)go);
	T_EQ(edge_n, 1);
	T_EQ(edge_pseudo[UNW_NODE_TRUNCATED], 0);
	h_call_with_bp((uintptr_t)edge_leaf, (uintptr_t)record, (uintptr_t)go);
	T_EQ(edge_hit, true);
	/* and when there is one after all, the memo sees it */
	record[1] = (uintptr_t)go + 5;
	h_call_with_bp((uintptr_t)edge_leaf, (uintptr_t)record, (uintptr_t)go);
	T_EQ(edge_hit, false);
	T_EQ(edge_n, 2);
	T_EQ(edge_pcs[1], (uintptr_t)go + 5);
	T_EQ(edge_pseudo[UNW_NODE_TRUNCATED], 1);
}

#endif

T_MAIN()
