/* SPDX-License-Identifier: MIT */
/* rules.c -- the rule cache: filled one return address at a time, read without locks.
 *
 * A program has as many entries as call sites its stacks pass through: hundreds in a
 * small one, more than 100,000 in a compiler. Two open-addressed tables share the load:
 * one that every program uses, of 512 places at first and 16,384 at last, and one of
 * 262,144 whose pages stay untouched until the first is three quarters full. When the
 * second is full as well, rules are worked out each time.
 *
 * The small one grows where it is: twice as many places come into use, and what belongs
 * into the upper half is moved there. Any entry found with an address is right, wherever
 * it is, so nobody need be told.
 *
 * An entry is claimed by compare-and-swap, then filled, then published by storing its
 * address with release. Two threads may publish the same address twice; both are right.
 * Forgetting turns entries into tombstones, which the next newcomer may take. A thread
 * that dies between claim and publication costs one entry.
 *
 * What lies outside all modules is not kept, unless its table was registered: nobody
 * would tell us when it goes. */
#include "guest/unwind/rules.h"

static bool
rules_room(const struct rules_table *t)
{
	return __atomic_load_n(&t->used, __ATOMIC_RELAXED) < 3u << (t->bits - 2);
}

/* The place of `addr` in a table that is as large as `mask` says. */
static unsigned
rules_home(const struct rules_table *t, uint32_t mask, uintptr_t addr)
{
	return rules_hash(addr, t->bits) & mask;
}

/* Claims an entry near `addr`'s place; NULL when there is none. */
static struct rules_entry *
rules_claim(struct rules_table *t, uintptr_t addr)
{
	uint32_t mask = __atomic_load_n(&t->mask, __ATOMIC_RELAXED);
	unsigned h = rules_home(t, mask, addr);
	bool room = rules_room(t);

	for (unsigned i = 0; i < RULES_PROBES; i++) {
		struct rules_entry *e = &t->entries[(h + i) & mask];
		uintptr_t found = __atomic_load_n(&e->addr, __ATOMIC_RELAXED);

		if (found > RULES_TOMB)
			continue;
		if (found == 0 && !room)
			return NULL;
		if (!__atomic_compare_exchange_n(&e->addr, &found, (uintptr_t)RULES_BUSY,
						 false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		if (found == 0)
			__atomic_fetch_add(&t->used, 1, __ATOMIC_RELAXED);
		return e;
	}
	return NULL;
}

/* Forgets the entry if it is still that of `addr`. */
static void
rules_bury(struct rules_entry *e, uintptr_t addr)
{
	__atomic_compare_exchange_n(&e->addr, &addr, (uintptr_t)RULES_TOMB, false,
				    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void
rules_keep(struct unw_shared *s, uintptr_t addr, uint64_t rule, uint32_t generation)
{
	struct rules_entry *e = rules_claim(&s->small, addr);

	if (e == NULL)
		e = rules_claim(&s->large, addr);
	if (e == NULL)
		return;
	__atomic_store_n(&e->rule, rule, __ATOMIC_RELAXED);
	__atomic_store_n(&e->addr, addr, __ATOMIC_RELEASE);
	/* If the module went while we read its tables, unw_forget() may have passed by
	 * before the entry was there. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->generation, __ATOMIC_RELAXED) != generation)
		rules_bury(e, addr);
}

/* Twice as many places when an eighth of them are taken: a rule that is not at its very
 * place costs a call. One thread gets to do it; what others enter meanwhile by the old
 * size is worked out again when it is not found. So is everything, if rules are being
 * forgotten: a copy could land behind the sweep. */
static void
rules_grow(struct unw_shared *s, uint32_t generation)
{
	struct rules_table *t = &s->small;
	uint32_t mask = __atomic_load_n(&t->mask, __ATOMIC_RELAXED);

	if (mask == (1u << RULES_SMALL_BITS) - 1 ||
	    __atomic_load_n(&t->used, __ATOMIC_RELAXED) <= mask / 8 ||
	    !__atomic_compare_exchange_n(&t->mask, &mask, mask * 2 + 1, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED) ||
	    __atomic_load_n(&s->sweeping, __ATOMIC_SEQ_CST) != 0)
		return;
	for (uint32_t i = 0; i <= mask; i++) {
		struct rules_entry *e = &t->entries[i];
		uintptr_t addr = __atomic_load_n(&e->addr, __ATOMIC_ACQUIRE);
		uint64_t rule = addr > RULES_BUSY ? rules_read(e, addr) : RULE_NONE;

		if (rule != RULE_NONE && rules_home(t, mask * 2 + 1, addr) > mask) {
			rules_keep(s, addr, rule, generation);
			rules_bury(e, addr);
		}
	}
}

uint64_t
rules_from_row(const struct cfi_row *row, uint32_t module_id)
{
	struct cfi_reg ra = row->regs[row->ra], fp = row->regs[ARCH_REG_FP];
	uint64_t hard = rule_make(RULE_HARD, module_id), special;
	enum rule_kind kind;

	if (row->signal)
		return hard;
	if (ra.how == CFI_UNDEFINED)
		return rule_make(RULE_STOP, module_id);
	special = arch_special_rule(row, module_id);
	if (special != RULE_NONE)
		return special;
	if (row->cfa.how != CFI_REGISTER || ra.how != CFI_OFFSET ||
	    row->regs[ARCH_REG_SP].how != CFI_UNSAID)
		return hard;
	if (row->cfa.value == ARCH_REG_SP)
		kind = RULE_SP;
	else if (row->cfa.value == ARCH_REG_FP)
		kind = RULE_BP;
	else
		return hard;
	if (fp.how == CFI_UNSAID || fp.how == CFI_SAME)
		fp.value = 0;
	else if (fp.how != CFI_OFFSET || fp.value == 0)
		return hard;
	if (!arch_rule_fits(row->cfa_offset, fp.value, ra.value))
		return hard;
	return rule_make(kind, module_id) |
	       arch_rule_offsets(row->cfa_offset, fp.value, ra.value);
}

/* The row of code made at run time. Its table can go at any time once `done` was said,
 * and with it the expressions in it; such a row is none. */
static enum rules_found
rules_row_copied(const struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr,
		 const struct unw_module *m)
{
	const struct cfi_row *row = &scratch->row;
	struct eh_fde fde;
	bool found = eh_find(m, addr - 1, &fde) && cfi_row(scratch, m, &fde, addr - 1) &&
		     row->cfa.how == CFI_REGISTER;

	for (unsigned i = 0; found && i < ARCH_REGS; i++)
		found = row->regs[i].how != CFI_EXPR && row->regs[i].how != CFI_VAL_EXPR;
	s->ops->done();
	return found ? ROW_FOUND : ROW_NO_MODULE;
}

enum rules_found
rules_row(const struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr,
	  struct unw_module *ret_module)
{
	struct cfi_row *row = &scratch->row;
	struct eh_fde fde;

	ret_module->copy = NULL;
	ret_module->shift = 0;
	if (!s->ops->find(addr - 1, ret_module))
		return ROW_NO_MODULE;
	if (UNLIKELY(ret_module->copy != NULL))
		return rules_row_copied(s, scratch, addr, ret_module);
	if (eh_find(ret_module, addr - 1, &fde) &&
	    cfi_row(scratch, ret_module, &fde, addr - 1))
		return ROW_FOUND;
	/* Code that nobody called: what a coroutine's or a signal handler's first
	 * function returns to is put on the stack by hand, as the beginning of a
	 * function. If that is not a signal frame, nothing is outside of it. */
	if (eh_find(ret_module, addr, &fde) && fde.start == addr &&
	    cfi_row(scratch, ret_module, &fde, addr)) {
		if (!row->signal)
			row->regs[row->ra].how = CFI_UNDEFINED;
		return ROW_FOUND;
	}
	return ROW_NO_TABLE;
}

/* Works the rule out; *ret_keep says whether it may be kept. */
static uint64_t
rules_compute(struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr,
	      bool *ret_keep)
{
	struct unw_module m;

	*ret_keep = true;
	switch (rules_row(s, scratch, addr, &m)) {
	case ROW_FOUND:
		if (addr - s->root_start < s->root_end - s->root_start)
			return rule_make(RULE_STOP, m.id);
		return rules_from_row(&scratch->row, m.id);
	case ROW_NO_TABLE:
		return arch_is_sigreturn(addr) ? rule_make(RULE_HARD, m.id)
					       : rule_chain(m.id);
	default:
		*ret_keep = false;
		return rule_chain(0);
	}
}

static uint64_t
rules_probe(const struct rules_table *t, uintptr_t addr)
{
	uint32_t mask = __atomic_load_n(&t->mask, __ATOMIC_RELAXED);
	unsigned h = rules_home(t, mask, addr);

	for (unsigned i = 0; i < RULES_PROBES; i++) {
		const struct rules_entry *e = &t->entries[(h + i) & mask];
		uint64_t rule = rules_read(e, addr);

		if (rule != RULE_NONE)
			return rule;
		if (__atomic_load_n(&e->addr, __ATOMIC_RELAXED) == 0)
			break;
	}
	return RULE_NONE;
}

NOINLINE uint64_t
rules_miss(struct unw_shared *s, struct cfi_scratch *scratch, uintptr_t addr)
{
	uint32_t generation = __atomic_load_n(&s->generation, __ATOMIC_ACQUIRE);
	uint64_t rule = rules_probe(&s->small, addr);
	bool keep;

	if (rule == RULE_NONE && __atomic_load_n(&s->large.used, __ATOMIC_RELAXED) > 0)
		rule = rules_probe(&s->large, addr);
	if (rule != RULE_NONE)
		return rule;
	rule = rules_compute(s, scratch, addr, &keep);
	if (keep && addr > RULES_BUSY) {
		rules_grow(s, generation);
		rules_keep(s, addr, rule, generation);
	}
	return rule;
}

static void
rules_forget(struct rules_table *t, uintptr_t start, uintptr_t end)
{
	for (unsigned i = 0; i <= __atomic_load_n(&t->mask, __ATOMIC_RELAXED); i++) {
		struct rules_entry *e = &t->entries[i];
		uintptr_t addr = __atomic_load_n(&e->addr, __ATOMIC_RELAXED);

		/* A return address may lie just past the end, after a call that never
		 * returns. */
		if (addr > RULES_BUSY && addr - 1 >= start && addr - 1 < end)
			rules_bury(e, addr);
	}
}

void
unw_forget(struct unw_shared *s, uintptr_t start, uintptr_t end)
{
	__atomic_add_fetch(&s->sweeping, 1, __ATOMIC_SEQ_CST);
	/* Before the sweep, so that a thread that publishes behind it sees the change.
	 * Zero is left out: it is the generation of a memo that is not there. */
	if (__atomic_add_fetch(&s->generation, 1, __ATOMIC_SEQ_CST) == 0)
		__atomic_add_fetch(&s->generation, 1, __ATOMIC_SEQ_CST);
	if (start < end) {
		rules_forget(&s->small, start, end);
		if (__atomic_load_n(&s->large.used, __ATOMIC_RELAXED) > 0)
			rules_forget(&s->large, start, end);
	}
	/* After it, so that no memo made of a rule swept away is believed. */
	if (__atomic_add_fetch(&s->generation, 1, __ATOMIC_SEQ_CST) == 0)
		__atomic_add_fetch(&s->generation, 1, __ATOMIC_SEQ_CST);
	__atomic_sub_fetch(&s->sweeping, 1, __ATOMIC_SEQ_CST);
}

void
unw_shared_root(struct unw_shared *s, uintptr_t start, uintptr_t end)
{
	s->root_start = start;
	s->root_end = end;
}

size_t
unw_shared_bytes(void)
{
	return sizeof(struct unw_shared);
}

void
unw_shared_init(struct unw_shared *s, const struct unw_ops *ops)
{
	s->ops = ops;
	s->small = (struct rules_table){.entries = s->small_entries,
					.bits = RULES_SMALL_BITS,
					.mask = (1u << RULES_FIRST_BITS) - 1};
	s->large = (struct rules_table){.entries = s->large_entries,
					.bits = RULES_LARGE_BITS,
					.mask = (1u << RULES_LARGE_BITS) - 1};
	__atomic_store_n(&s->generation, 1, __ATOMIC_RELEASE);
}
