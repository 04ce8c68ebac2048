/* SPDX-License-Identifier: MIT */
/* rules.h -- how to leave a frame, by return address, in one word; for the whole process.
 *
 * Looking one up is one probe in a hash table. Inside the unwinder only. */
#ifndef SEEP_UNWIND_RULES_H
#define SEEP_UNWIND_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/unwind/cfi.h"
#include "shared/compiler.h"

/* Low four bits of a rule. Then 20 bits of module id, then offsets as arch_*.h packs
 * them. */
enum rule_kind {
	RULE_NONE,  /* not known yet */
	RULE_SP,    /* CFA = sp + cfa */
	RULE_BP,    /* CFA = bp + cfa */
	RULE_STOP,  /* the outermost frame */
	RULE_CHAIN, /* no table: bp may point to a saved bp and a return address */
	RULE_DRAP,  /* CFA = *(bp + cfa), bp saved at bp + bp: a realigned stack */
	RULE_HARD,  /* needs all registers */
};

/* Small numbers instead of an address: no code lives in the first page. */
#define RULES_TOMB 1 /* was forgotten; may be taken again */
#define RULES_BUSY 2 /* being written; for good if the writer died */

#define RULES_FIRST_BITS 9 /* of the small table, at first */
#define RULES_SMALL_BITS 14
#define RULES_BEFORE_BITS 11
#define RULES_LARGE_BITS 18
#define RULES_PROBES 64

struct rules_entry {
	uintptr_t addr; /* 0: free. Written last, with release */
	uint64_t rule;
};

struct rules_table {
	struct rules_entry *entries;
	unsigned bits;
	uint32_t mask; /* places in use, less 1: grows up to 2^bits - 1 */
	uint32_t used; /* entries that are not free; about */
};

struct unw_shared {
	uint32_t generation; /* goes up with each unw_forget(); never 0 */
	uint32_t sweeping;   /* so many of them are under way */
	const struct unw_ops *ops;
	uintptr_t root_start, root_end; /* see unw_shared_root() */
	struct rules_table small, large;
	ALIGNED_CACHE struct rules_entry small_entries[1 << RULES_SMALL_BITS];
	/* For each place in it, that of the caller met last: a guess, to be checked. */
	uint16_t callers[1 << RULES_SMALL_BITS];
	struct rules_entry large_entries[1 << RULES_LARGE_BITS];
};

static inline enum rule_kind
rule_kind(uint64_t rule)
{
	return (enum rule_kind)(rule & 15);
}

static inline uint32_t
rule_module(uint64_t rule)
{
	return (uint32_t)(rule >> 4) & UNW_MODULE_MAX;
}

static inline uint64_t
rule_make(enum rule_kind kind, uint32_t module_id)
{
	return (uint64_t)kind | (uint64_t)(module_id & UNW_MODULE_MAX) << 4;
}

/* A frame record is the saved frame pointer and above it the return address. */
static inline uint64_t
rule_chain(uint32_t module_id)
{
	return rule_make(RULE_CHAIN, module_id) | arch_rule_offsets(16, -16, -8);
}

static ALWAYS_INLINE unsigned
rules_hash(uintptr_t addr, unsigned bits)
{
	return (unsigned)(addr * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));
}

/* The place of `addr` in the small table as large as it is now. */
static ALWAYS_INLINE unsigned
rules_place(const struct unw_shared *s, uintptr_t addr)
{
	return rules_hash(addr, RULES_SMALL_BITS) &
	       __atomic_load_n(&s->small.mask, __ATOMIC_RELAXED);
}

/* The rule in `e` if it is that of `addr`, else RULE_NONE. The address is read once more
 * after the rule: in between the entry may have been forgotten and taken for another
 * address. */
static ALWAYS_INLINE uint64_t
rules_read(const struct rules_entry *e, uintptr_t addr)
{
	uint64_t rule;

	if (UNLIKELY(__atomic_load_n(&e->addr, __ATOMIC_ACQUIRE) != addr))
		return RULE_NONE;
	rule = __atomic_load_n(&e->rule, __ATOMIC_ACQUIRE);
	if (UNLIKELY(__atomic_load_n(&e->addr, __ATOMIC_RELAXED) != addr))
		return RULE_NONE;
	return rule;
}

/* The same when it is not at its very place in the small table: looks further, into the
 * large one too, else works it out and keeps it. */
uint64_t rules_miss(struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr);

/* How to leave the frame with return address `addr`. Never RULE_NONE. */
static ALWAYS_INLINE uint64_t
rules_get(struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr)
{
	unsigned h = rules_place(s, addr);
	uint64_t rule = rules_read(&s->small_entries[h], addr);

	return LIKELY(rule != RULE_NONE) ? rule : rules_miss(s, scratch, addr);
}

/* What takes the place of the frame before where a walk begins: any of the first, so that
 * they are on one page. */
static ALWAYS_INLINE unsigned
rules_before(uintptr_t addr)
{
	return rules_hash(addr, RULES_BEFORE_BITS);
}

/* The same, in a walk outwards: *at is the place of the frame before, and becomes that of
 * this one. The guess does not depend on the stack, so the processor need not wait for
 * the return address to know the rule: it takes 17 cycles to get from one frame to the
 * next by the hash of the address, and about half of that by a guess that is right. */
static ALWAYS_INLINE uint64_t
rules_get_next(struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr,
	       unsigned *at)
{
	unsigned guess = __atomic_load_n(&s->callers[*at], __ATOMIC_RELAXED);
	uint64_t rule = rules_read(&s->small_entries[guess], addr);

	if (LIKELY(rule != RULE_NONE)) {
		*at = guess;
		return rule;
	}
	guess = rules_place(s, addr);
	__atomic_store_n(&s->callers[*at], (uint16_t)guess, __ATOMIC_RELAXED);
	*at = guess;
	rule = rules_read(&s->small_entries[guess], addr);
	return LIKELY(rule != RULE_NONE) ? rule : rules_miss(s, scratch, addr);
}

/* The tables' row for return address `addr` goes to scratch->row and its module to
 * *ret_module. Without a row, *ret_module is set if it returns ROW_NO_TABLE. */
enum rules_found { ROW_FOUND, ROW_NO_TABLE, ROW_NO_MODULE };
enum rules_found rules_row(const struct unw_shared *s, struct cfi_scratch *scratch,
			   uintptr_t addr, struct unw_module *ret_module);

/* scratch->row as a rule. */
uint64_t rules_from_row(const struct cfi_row *row, uint32_t module_id);

#endif
