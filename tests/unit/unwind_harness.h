/* SPDX-License-Identifier: MIT */
/* unwind_harness.h -- what every test of the unwinder needs around it: modules from the
 * loader, a prefix tree of its own, and the way back from an id to its addresses.
 *
 * The tree is a hash table that starts anew when it is full; then all memos are forgotten
 * too, because the ids in them mean nothing any more. Include after t.h. */
#ifndef SEEP_TESTS_UNWIND_HARNESS_H
#define SEEP_TESTS_UNWIND_HARNESS_H

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

#include "guest/unwind/unwind.h"
#include "shared/compiler.h"

#define H_NODES (1u << 20)
#define H_DEPTH 4096

struct h_node {
	uint32_t parent, module;
	uintptr_t pc;
	unsigned kind;
};

static struct h_node h_nodes[H_NODES]; /* by id; 0 is not used */
static uint32_t h_index[4 * H_NODES], h_count;
static struct unw_shared *h_shared;

/* The hooked function's caller: use in a function that is never inlined. A frame record
 * is below the CFA on x86-64; on aarch64 only the compiler knows. */
#if defined(__x86_64__)
#	define H_EMULATED false
#	define H_START()                                                                \
		(struct unw_start)                                                       \
		{                                                                        \
			.pc = (uintptr_t)__builtin_return_address(0),                    \
			.sp = (uintptr_t)__builtin_frame_address(0) + 16,                \
			.bp = *(uintptr_t *)__builtin_frame_address(0),                  \
		}
#else
#	define H_EMULATED true
#	define H_START()                                                                \
		(struct unw_start)                                                       \
		{                                                                        \
			.pc = (uintptr_t)__builtin_return_address(0),                    \
			.sp = (uintptr_t)__builtin_dwarf_cfa(),                          \
			.bp = *(uintptr_t *)__builtin_frame_address(0),                  \
		}
#endif

/* Calls go(arg) with `bp` in the frame pointer register. In assembly, because a compiler
 * that keeps frame pointers would not have it. */
void h_call_with_bp(uintptr_t arg, uintptr_t bp, uintptr_t go);

#if defined(__x86_64__)
__asm__(".text\n.type h_call_with_bp, @function\n"
	"h_call_with_bp:\n\t.cfi_startproc\n\t"
	"pushq %rbp\n\t.cfi_adjust_cfa_offset 8\n\t.cfi_offset %rbp, -16\n\t"
	"movq %rsi, %rbp\n\tcall *%rdx\n\t"
	"popq %rbp\n\t.cfi_adjust_cfa_offset -8\n\t.cfi_restore %rbp\n\t"
	"ret\n\t.cfi_endproc\n");
#else
__asm__(".text\n.type h_call_with_bp, @function\n"
	"h_call_with_bp:\n\t.cfi_startproc\n\t"
	"stp x29, x30, [sp, #-32]!\n\t.cfi_adjust_cfa_offset 32\n\t"
	".cfi_offset x29, -32\n\t.cfi_offset x30, -24\n\t"
	"mov x29, x1\n\tblr x2\n\t"
	"ldp x29, x30, [sp], #32\n\t.cfi_adjust_cfa_offset -32\n\t"
	".cfi_restore x29\n\t.cfi_restore x30\n\tret\n\t.cfi_endproc\n");
#endif

/* Modules get ids by the order in which they are met. */
static uint32_t
h_module_id(uintptr_t start)
{
	static uintptr_t starts[256];

	for (uint32_t i = 1; i < 256; i++) {
		uintptr_t seen = 0;

		if (__atomic_compare_exchange_n(&starts[i], &seen, start, false,
						__ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		    seen == start)
			return i;
	}
	return 256;
}

/* The emulator's signal trampoline is in no module; the kernel's is. */
static bool
h_find_trampoline(uintptr_t after, struct unw_module *ret_module)
{
	static const uint32_t code[] = {0xd2801168, 0xd4000001};
	uintptr_t pc = after + 1;

	if (!H_EMULATED || (pc & 3) != 0 || pc < 4096 ||
	    memcmp((const void *)pc, code, sizeof code) != 0)
		return false;
	*ret_module =
		(struct unw_module){.start = pc, .end = pc + sizeof code, .id = 255};
	return true;
}

static bool
h_find(uintptr_t pc, struct unw_module *ret_module)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)pc, &found) != 0)
		return h_find_trampoline(pc, ret_module);
	*ret_module =
		(struct unw_module){.start = (uintptr_t)found.dlfo_map_start,
				    .end = (uintptr_t)found.dlfo_map_end,
				    .eh_hdr = found.dlfo_eh_frame,
				    .id = h_module_id((uintptr_t)found.dlfo_map_start)};
	return true;
}

static uint32_t
h_node(void *arg, uint32_t parent, uintptr_t pc, uint32_t module, unsigned kind)
{
	uint64_t h = (pc ^ (uint64_t)parent << 40 ^ kind) * UINT64_C(0x9e3779b97f4a7c15);

	(void)arg;
	for (h >>= 42;; h = (h + 1) % (4 * H_NODES)) {
		const struct h_node *n = &h_nodes[h_index[h]];

		if (h_index[h] == 0)
			break;
		if (n->parent == parent && n->pc == pc && n->kind == kind)
			return h_index[h];
	}
	if (h_count + 1 >= H_NODES)
		abort();
	h_nodes[++h_count] = (struct h_node){parent, module, pc, kind};
	h_index[h] = h_count;
	return h_count;
}

/* To be called between stacks: the tree has room for `more` further nodes. */
static MAYBE_UNUSED void
h_room(uint32_t more)
{
	if (h_count + more < H_NODES)
		return;
	memset(h_index, 0, sizeof h_index);
	h_count = 0;
	unw_forget(h_shared, 0, 0);
}

/* Addresses of stack `id`, innermost first; pseudo frames are left out of them and
 * counted in ret_pseudo[kind] if that is not NULL. */
static MAYBE_UNUSED unsigned
h_path(uint32_t id, uintptr_t *ret_pcs, unsigned max, unsigned *ret_pseudo)
{
	unsigned n = 0;

	for (; id != 0; id = h_nodes[id].parent) {
		if (h_nodes[id].kind != UNW_NODE_PC) {
			if (ret_pseudo != NULL)
				ret_pseudo[h_nodes[id].kind]++;
		} else if (n < max) {
			ret_pcs[n++] = h_nodes[id].pc;
		}
	}
	return n;
}

static void *
h_map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		abort();
	return p;
}

static const struct unw_ops h_ops = {.find = h_find, .node = h_node};

static MAYBE_UNUSED struct unw_shared *
h_shared_new(const struct unw_ops *ops)
{
	struct unw_shared *s = h_map(unw_shared_bytes());

	unw_shared_init(s, ops);
	return s;
}

/* A thread's state, with the bounds of the calling thread's stack if `bounds`. */
static MAYBE_UNUSED struct unw_thread *
h_thread_new(struct unw_shared *s, bool bounds)
{
	struct unw_thread *t = h_map(unw_thread_bytes());
	pthread_attr_t attr;
	void *lo;
	size_t bytes;

	unw_thread_init(t, s, NULL);
	if (bounds && pthread_getattr_np(pthread_self(), &attr) == 0) {
		pthread_attr_getstack(&attr, &lo, &bytes);
		pthread_attr_destroy(&attr);
		unw_thread_bounds(t, (uintptr_t)lo, (uintptr_t)lo + bytes);
	}
	return t;
}

/* Shows the frames around number `at`. */
static MAYBE_UNUSED void
h_print(const char *who, const uintptr_t *pcs, unsigned n, unsigned at)
{
	printf("    %-10s %u frames, from %u on:", who, n, at);
	for (unsigned i = at < 2 ? 0 : at - 2; i < n && i < at + 4; i++) {
		Dl_info info;

		if (dladdr((void *)(pcs[i] - 1), &info) != 0)
			printf(" %s+%#lx", strrchr(info.dli_fname, '/') + 1,
			       (unsigned long)(pcs[i] - (uintptr_t)info.dli_fbase));
		else
			printf(" %#lx", (unsigned long)pcs[i]);
	}
	putchar('\n');
}

#endif
