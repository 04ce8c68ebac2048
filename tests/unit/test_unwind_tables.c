/* SPDX-License-Identifier: MIT */
/* test_unwind_tables.c -- .eh_frame as it should be, without its index, and damaged; and
 * the rules made from it while threads read, add and forget them. Reaches into the
 * unwinder. */
/* tsan */
#include "t.h"

#include "guest/unwind/rules.h"
#include "unwind_harness.h"

/* memcpy() that no sanitizer looks at: it reads over all there is. */
__attribute__((no_sanitize("address"))) static void
tables_copy_bytes(char *to, const volatile char *from, size_t n)
{
	while (n-- > 0)
		*to++ = *from++;
}

/* A copy of this program's own image, against pages that must not be touched. */
static struct unw_module
tables_copy_module(uintptr_t *ret_shift)
{
	struct unw_module m;
	size_t bytes;
	char *room;

	if (!h_find((uintptr_t)tables_copy_module, &m))
		abort();
	bytes = ALIGN_UP(m.end - m.start, (uintptr_t)4096);
	room = h_map(bytes + 2 * 4096);
	mprotect(room, 4096, PROT_NONE);
	mprotect(room + 4096 + bytes, 4096, PROT_NONE);
	room += 4096 + bytes - (m.end - m.start); /* ends at the guard */
	tables_copy_bytes(room, (const volatile char *)m.start, m.end - m.start);
	*ret_shift = (uintptr_t)room - m.start;
	m.start += *ret_shift;
	m.end += *ret_shift;
	m.eh_hdr += *ret_shift;
	return m;
}

static struct cfi_scratch tables_scratch;

static uint64_t
tables_rule(const struct unw_module *m, uintptr_t addr)
{
	struct eh_fde fde;

	if (!eh_find(m, addr, &fde) || !cfi_row(&tables_scratch, m, &fde, addr))
		return RULE_NONE;
	return rules_from_row(&tables_scratch.row, m->id);
}

T_TEST(without_a_search_table_the_same_rules)
{
	uintptr_t shift, at = (uintptr_t)tables_copy_module & ~(uintptr_t)4095;
	struct unw_module m = tables_copy_module(&shift), original;
	unsigned same = 0, differ = 0;

	h_find((uintptr_t)tables_copy_module, &original);
	((unsigned char *)(uintptr_t)m.eh_hdr)[3] = 0xff; /* no table */
	for (unsigned i = 0; i < 4096; i++) {
		uint64_t with = tables_rule(&original, at + i);

		same += with != RULE_NONE && with == tables_rule(&m, at + i + shift);
		differ += with != tables_rule(&m, at + i + shift);
	}
	T_CHECK(same > 2000);
	T_EQ(differ, 0);
}

T_TEST(damaged_tables_are_survived)
{
	uintptr_t shift, at = (uintptr_t)tables_copy_module & ~(uintptr_t)4095;
	struct unw_module m = tables_copy_module(&shift);
	unsigned char *hdr = (unsigned char *)(uintptr_t)m.eh_hdr;
	size_t bytes = m.end - (uintptr_t)hdr;
	unsigned long seed = 12345, found = 0;

	bytes = bytes < 8192 ? bytes : 8192; /* the header and .eh_frame after it */
	for (unsigned round = 0; round < 30000; round++) {
		size_t where;
		unsigned char was;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		where = (seed >> 33) % (round % 4 == 0 ? 16 : bytes);
		was = hdr[where];
		hdr[where] = (unsigned char)(seed >> 25);
		found += tables_rule(&m, at + shift + (seed >> 40) % 4096) != RULE_NONE;
		if (round % 512 != 511)
			hdr[where] = was; /* else the damage stays and adds up */
	}
	T_CHECK(found > 1000);
}

#define TABLES_RULES 150000

static uint64_t tables_rules[TABLES_RULES];
static unsigned tables_rules_wrong;
static bool tables_forgetting;
static uintptr_t tables_text;

static void *
tables_read_rules(void *arg)
{
	struct cfi_scratch *scratch = h_map(sizeof *scratch);

	for (unsigned i = 0; i < TABLES_RULES; i++) {
		unsigned k = arg != NULL ? i : TABLES_RULES - 1 - i;

		if (rules_get(h_shared, scratch, tables_text + k) != tables_rules[k])
			__atomic_fetch_add(&tables_rules_wrong, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *
tables_forget_rules(void *arg)
{
	(void)arg;
	for (unsigned i = 0; __atomic_load_n(&tables_forgetting, __ATOMIC_RELAXED); i++)
		unw_forget(h_shared, tables_text + i % 8 * 16384,
			   tables_text + (i % 8 + 1) * 16384);
	return NULL;
}

/* Every byte of libc's text taken for a return address: more than both tables hold
 * well. */
T_TEST(rules_stay_right_while_others_forget_them)
{
	pthread_t readers[2], forgetter;
	struct unw_module libc;

	h_shared = h_shared_new(&h_ops);
	h_find((uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), &libc);
	tables_text = (uintptr_t)dlsym(RTLD_DEFAULT, "qsort") - TABLES_RULES / 2;
	for (unsigned i = 0; i < TABLES_RULES; i++) {
		bool table = rules_row(h_shared, &tables_scratch, tables_text + i,
				       &libc) == ROW_FOUND;

		tables_rules[i] = table ? rules_from_row(&tables_scratch.row, libc.id)
					: rule_chain(libc.id);
	}
	tables_read_rules(NULL);
	tables_read_rules(NULL);
	T_EQ(tables_rules_wrong, 0);
	T_CHECK(h_shared->small.used >= 3u << (RULES_SMALL_BITS - 2));
	T_EQ(h_shared->small.mask, (1u << RULES_SMALL_BITS) - 1);
	T_CHECK(h_shared->large.used > 100000);
	tables_forgetting = true;
	pthread_create(&forgetter, NULL, tables_forget_rules, NULL);
	pthread_create(&readers[0], NULL, tables_read_rules, NULL);
	pthread_create(&readers[1], NULL, tables_read_rules, &tables_text);
	pthread_join(readers[0], NULL);
	pthread_join(readers[1], NULL);
	__atomic_store_n(&tables_forgetting, false, __ATOMIC_RELAXED);
	pthread_join(forgetter, NULL);
	T_EQ(tables_rules_wrong, 0);
	T_CHECK(h_shared->large.used < 3u << (RULES_LARGE_BITS - 2));
}

T_MAIN()
