/* SPDX-License-Identifier: MIT */
/* test_chain.c -- chains of managed frames: what is read of them, whatever happened since
 * the last time; and how they are put together with native frames.
 *
 * A chain of frames in an array is pushed, popped, relinked and changed at random. What
 * chain_read gives is compared with a walk that remembers nothing, by names; equal chains
 * must have equal hashes, and others different ones. */
/* sources: src/guest/lang/chain.c src/guest/lang/peek.c */
/* libs: pthread */
/* tsan */
#include "t.h"

#include "guest/lang/chain.h"
#include "guest/record/mixed/rec_names.h"
#include "guest/record/stacks.h"

#include "recorder_harness.h"

#include <stddef.h>
#include <sys/mman.h>

enum {
	FRAMES = 4000,
	CODES = 5,
	ROUNDS = 60000,
	SEEN = 1 << 16,
};

struct code {
	const char *name, *file;
};

struct frame {
	struct frame *prev;
	const struct code *code;
	int line;
	unsigned char entry;
	const char *type;
};

static const struct chain_layout layout = {
	.prev = offsetof(struct frame, prev),
	.code = offsetof(struct frame, code),
	.function = offsetof(struct code, name),
	.file = offsetof(struct code, file),
	.line = offsetof(struct frame, line),
	.entry = offsetof(struct frame, entry),
	.type = offsetof(struct frame, type),
	.span = sizeof(struct frame),
	.language = REC_LANGUAGE_PYTHON,
};

static struct code codes[CODES] = {
	{"main", "/srv/main.py"}, {"load", "/srv/load.py"}, {"load", "/srv/other.py"},
	{"<lambda>", NULL},	  {"work", "/srv/main.py"},
};
static struct frame frames[FRAMES];
static struct chain chain;

static const char *
text_of(uint32_t ref)
{
	return ref == 0 ? "" : ((const struct rec_string *)rec_at(&rh, ref))->text;
}

/* "main:3 /srv/main.py" of a name in the recording. */
static void
name_text(uint32_t ref, char *to, size_t room)
{
	const struct rec_name *n = rec_at(&rh, ref);

	if (ref == 0)
		snprintf(to, room, "?");
	else
		snprintf(to, room, "%s:%u %s %u", text_of(n->function), n->line,
			 text_of(n->file), n->language);
}

/* Is what chain_read gave the chain that begins at `head`? */
static bool
right(const struct frame *head, const struct mixed_chain *got)
{
	uint32_t i = got->n;

	for (const struct frame *f = head; f != NULL; f = f->prev) {
		char want[128], is[128];

		if (i-- == 0)
			return got->cut;
		snprintf(want, sizeof want, "%s:%d %s 1", f->code->name, f->line,
			 f->code->file != NULL ? f->code->file : "");
		name_text(got->frames[i].name, is, sizeof is);
		if (strcmp(want, is) != 0 || got->frames[i].entry != (f->entry != 0)) {
			T_FAIL("level %u is %s, not %s", i, is, want);
			return false;
		}
	}
	return i == 0 && !got->cut;
}

/* Chains seen, by a hash of our own over names; what chain_read's hash was. */
static struct {
	uint64_t ours, theirs;
} seen[SEEN];

static bool
hash_fits(const struct mixed_chain *got)
{
	uint64_t h = 14695981039346656037u;
	size_t at;

	for (uint32_t i = 0; i < got->n; i++)
		h = (h ^ ((uint64_t)got->frames[i].name << 1 | got->frames[i].entry)) *
		    1099511628211u * 31;
	h |= 1;
	for (at = h % SEEN; seen[at].ours != 0; at = (at + 1) % SEEN) {
		if (seen[at].ours == h)
			return seen[at].theirs == got->hash;
	}
	seen[at].ours = h;
	seen[at].theirs = got->hash;
	return true;
}

static struct thread *
begin(void)
{
	struct thread *t = rh_start(REC_MODE_EXACT, 256 << 20, 0, true);

	chain = (struct chain){0};
	return t;
}

T_TEST(any_change_is_seen)
{
	struct thread *t = begin();
	struct frame *top = NULL, *other = NULL;
	uint64_t random = 7919;
	uint32_t depth = 0;
	unsigned changes = 0;

	memset(seen, 0, sizeof seen);
	for (unsigned round = 0; round < ROUNDS; round++) {
		uint64_t r = rh_random(&random);
		struct frame *f = top;
		struct mixed_chain got;

		for (uint64_t up = r >> 8 & 15; f != NULL && f->prev != NULL && up > 0;
		     up--)
			f = f->prev;
		switch (r & 7) {
		case 0: /* pushes a few */
		case 1:
			for (uint64_t n = r >> 16 & 7; n > 0 && depth < 200; n--) {
				struct frame *x = &frames[rh_random(&random) % FRAMES];

				if (x->code != NULL)
					continue; /* in use */
				*x = (struct frame){top, &codes[r >> 20 & 3], 1,
						    r >> 24 & 1, NULL};
				top = x;
				depth++;
			}
			break;
		case 2: /* pops a few */
		case 3:
			for (uint64_t n = r >> 16 & 7; n > 0 && top != NULL; n--) {
				f = top;
				top = top->prev;
				f->code = NULL; /* its prev stays: a trap */
				depth--;
			}
			break;
		case 4: /* another line somewhere near */
			if (f != NULL)
				f->line = (int)(r >> 32 & 7);
			break;
		case 5: /* the outermost goes on: nothing else tells */
			for (f = top; f != NULL && f->prev != NULL;)
				f = f->prev;
			if (f != NULL)
				f->line = (int)(r >> 32 & 3);
			break;
		case 6: /* a frame is replaced in the middle of the chain */
			other = &frames[r >> 32 & 1023];
			if (f != NULL && f->prev != NULL && other->code == NULL) {
				struct frame *gone = f->prev;

				*other = *gone;
				other->line ^= 1;
				f->prev = other;
				gone->code = NULL;
			}
			break;
		default: /* other code at the same address */
			if ((r >> 16 & 15) == 0) {
				codes[3].name = r >> 24 & 1 ? "<lambda>" : "<module>";
				changes++;
			}
			if (f != NULL)
				f->entry ^= 1;
			break;
		}
		chain_read(&chain, &layout, &rh, t, (uintptr_t)top, changes, &got);
		if (!right(top, &got) || !hash_fits(&got)) {
			T_FAIL("round %u", round);
			break;
		}
	}
	T_EQ(rh_lost(), 0);
	memset(frames, 0, sizeof frames);
}

/* What is not read any more may be gone. */
T_TEST(frames_that_went_are_not_touched)
{
	struct thread *t = begin();
	struct frame *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct frame outer = {.code = &codes[0], .line = 1, .entry = 1};
	struct mixed_chain got;

	page[0] = (struct frame){&outer, &codes[1], 2, 0, NULL};
	page[1] = (struct frame){&page[0], &codes[2], 3, 0, NULL};
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&page[1], 0, &got);
	T_EQ(got.n, 3);
	munmap(page, 8192);
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&outer, 0, &got);
	T_CHECK(right(&outer, &got));
	T_EQ(got.n, 1);
}

/* Circles, and links to nothing, to odd addresses, to the end of what is mapped. */
T_TEST(damaged_chains_are_cut)
{
	struct thread *t = begin();
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	struct frame inner = {.code = &codes[0], .line = 5, .entry = 1};
	const struct {
		uintptr_t prev;
		uint32_t n;
	} cases[] = {
		{(uintptr_t)&inner, CHAIN_MAX},
		{8, 1},
		{0x7ffffffff000, 1},
		{UINTPTR_MAX - 7, 1},
		{(uintptr_t)1 << 60, 1},
		{(uintptr_t)&inner + 1, 1},
		{(uintptr_t)map + 4096, 1},
		{(uintptr_t)map + 4096 - 8, 1}, /* its end is not there */
		{(uintptr_t)map + 4096 - sizeof(struct frame), 2},
	};

	munmap(map + 4096, 4096);
	*(struct frame *)(void *)(map + 4096 - sizeof(struct frame)) =
		(struct frame){(struct frame *)8, &codes[1], 1, 1, NULL};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint64_t hash = 0;

		for (unsigned again = 0; again < 3; again++) {
			struct mixed_chain got;

			inner.prev = (struct frame *)cases[i].prev;
			chain_read(&chain, &layout, &rh, t, (uintptr_t)&inner, 0, &got);
			T_EQ(got.n, cases[i].n);
			T_CHECK(got.cut);
			T_CHECK(again == 0 || got.hash == hash);
			hash = got.hash;
		}
	}
	inner.prev = NULL;
	for (unsigned again = 0; again < 2; again++) {
		struct mixed_chain got;

		chain_read(&chain, &layout, &rh, t, (uintptr_t)&inner, 0, &got);
		T_EQ(got.n, 1);
		T_CHECK(!got.cut);
	}
	munmap(map, 4096);
}

/* Of a deep chain the innermost frames, and the same ones after a frame came and went. */
T_TEST(deep_chains_are_cut_outside)
{
	struct thread *t = begin();
	struct mixed_chain got;
	uint64_t hash;

	for (unsigned i = 0; i < 3000; i++)
		frames[i] = (struct frame){i > 0 ? &frames[i - 1] : NULL, &codes[i % 3],
					   (int)i, i == 0, NULL};
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&frames[2990], 0, &got);
	T_EQ(got.n, CHAIN_MAX);
	T_CHECK(got.cut && right(&frames[2990], &got));
	hash = got.hash;
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&frames[2991], 0, &got);
	T_EQ(got.n, CHAIN_MAX);
	T_CHECK(got.cut && right(&frames[2991], &got) && got.hash != hash);
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&frames[900], 0, &got);
	T_EQ(got.n, 901);
	T_CHECK(!got.cut && right(&frames[900], &got));
	memset(frames, 0, sizeof frames);
}

/* Texts without an end, and at addresses that cannot be read. */
T_TEST(texts_are_read_with_care)
{
	struct thread *t = begin();
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
	struct code code = {map + 4096 - 5, (const char *)8};
	struct frame f = {.code = &code, .line = 3, .entry = 1};
	struct mixed_chain got;
	const struct rec_name *n;

	munmap(map + 4096, 4096);
	memcpy(map + 4096 - 5, "right", 5);
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&f, 0, &got);
	n = rec_at(&rh, got.frames[0].name);
	T_STR(text_of(n->function), "right");
	T_STR(text_of(n->file), "");
	memset(map, 'x', 4096);
	code.name = map;
	code.file = NULL;
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&f, 1, &got);
	n = rec_at(&rh, got.frames[0].name);
	T_EQ(strlen(text_of(n->function)), REC_NAME_MAX);
	f.code = (const struct code *)16;
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&f, 1, &got);
	n = rec_at(&rh, got.frames[0].name);
	T_STR(text_of(n->function), "");
	T_EQ(n->line, 3);
	munmap(map, 4096);
}

T_TEST(types_are_the_innermost_frames)
{
	struct thread *t = begin();
	struct frame outer = {.code = &codes[0], .line = 1, .entry = 1, .type = "outer"};
	struct frame inner = {&outer, &codes[1], 2, 0, "list"};
	struct mixed_chain got;
	uint32_t list;

	chain_read(&chain, &layout, &rh, t, (uintptr_t)&inner, 0, &got);
	T_STR(text_of(got.type), "list");
	list = got.type;
	inner.type = NULL;
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&inner, 0, &got);
	T_EQ(got.type, 0);
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&outer, 0, &got);
	T_STR(text_of(got.type), "outer");
	inner.type = "list";
	chain_read(&chain, &layout, &rh, t, (uintptr_t)&inner, 0, &got);
	T_EQ(got.type, list);
}

/* ---- put together ---- */

/* Two runtimes; code at 1000 to 1999 runs the frames of one, at 2000 to 2999 the
 * other's. */
static struct mixed_chain given[2];
static unsigned forgotten;

static void
give(const struct mixed_source *s, struct recorder *r, struct thread *t, void **state,
     struct mixed_chain *ret)
{
	static int states[2];
	size_t which = (size_t)(uintptr_t)s->arg;

	(void)r;
	(void)t;
	*state = &states[which];
	*ret = given[which];
}

static void
forget(void *state)
{
	(void)state;
	forgotten++;
}

static bool
runs(const struct mixed_source *s, uintptr_t pc)
{
	return pc / 1000 == 1 + (uintptr_t)s->arg;
}

static const struct mixed_sources sources = {
	.n = 2,
	.of = {{.read = give, .forget = forget, .free = forget, .runs = runs},
	       {.read = give,
		.forget = forget,
		.free = forget,
		.runs = runs,
		.arg = (const void *)(uintptr_t)1}},
};

/* "grow<load<main": native frames by number, others by name, innermost first. */
static const char *
stack_text(uint32_t node)
{
	static char text[512];
	size_t n = 0;

	for (text[0] = '\0'; node != 0 && n < 400;) {
		const struct rec_node *x = rec_at(&rh, node);
		const char *sep = n > 0 ? " " : "";

		switch (x->module >> 24) {
		case REC_NODE_NAMED:
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", sep,
					      text_of(((const struct rec_name *)rec_at(
							       &rh, (uint32_t)x->pc))
							      ->function));
			break;
		case REC_NODE_TYPE:
			n += (size_t)snprintf(text + n, sizeof text - n, "%s{%s}", sep,
					      text_of((uint32_t)x->pc));
			break;
		case REC_NODE_TRUNCATED:
			n += (size_t)snprintf(text + n, sizeof text - n, "%s...", sep);
			break;
		case REC_NODE_ELIDED:
			n += (size_t)snprintf(text + n, sizeof text - n, "%s--", sep);
			break;
		default:
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%d", sep,
					      (int)x->pc);
			break;
		}
		node = x->parent;
	}
	return text;
}

/* A chain from words, outermost first, "name" or "name!" for an entry. */
static struct mixed_chain
chain_of(struct thread *t, const char *words, struct mixed_frame *room)
{
	struct mixed_chain c = {.frames = room, .hash = 77};
	char name[16];
	int n;

	for (; sscanf(words, "%15s%n", name, &n) == 1; words += n) {
		size_t len = strlen(name);

		room[c.n].entry = name[len - 1] == '!';
		if (room[c.n].entry)
			name[len - 1] = '\0';
		room[c.n].name = rec_name(&rh, name, "", 1, REC_LANGUAGE_JAVA, t->me);
		c.hash = c.hash * 31 + room[c.n].name * 2 + room[c.n].entry;
		c.n++;
	}
	return c;
}

T_TEST(chains_take_the_place_of_what_runs_them)
{
	static const struct {
		const char *native; /* innermost first; -1: elided */
		const char *chain, *other;
		bool cut;
		const char *want;
		bool guessed;
	} cases[] = {
		/* each in the place of its own */
		{"1 1007 2 3", "main!", "", false, "1 main 2 3", false},
		{"1 1007 2 3", "main! load work", "", false, "1 work load main 2 3",
		 false},
		{"1 1007 2 1008 3", "main! load! work", "", false, "1 work load 2 main 3",
		 false},
		{"1007 1008 3", "main! load!", "", false, "load main 3", false},
		{"1 2007 2 1008 3", "main! load", "x! y", false, "1 y x 2 load main 3",
		 false},
		/* nothing runs */
		{"1 1007 2", "", "", false, "1 1007 2", false},
		/* called, and has no frame yet */
		{"1 1009 2 1008 3", "main! load", "", false, "1 1009 2 load main 3",
		 false},
		/* does not fit: all of it at the innermost */
		{"1 1007 2 3", "main! load!", "", false, "1 load main 2 3", true},
		{"1 1007 2 1008 3 1009 4", "main! load", "", false,
		 "1 load main 2 1008 3 1009 4", true},
		{"1 1007 2 3", "main! load", "", true, "1 load main ... 2 3", true},
		{"1 1007 2 3", "main load!", "", false, "1 load main 2 3", true},
		{"1 2 3", "main! load", "", false, "1 2 3 load main", true},
		{"1 2 3", "main! load", "", true, "1 2 3 load main ...", true},
		{"1 1007 -1 3", "main!", "", false, "1 main -- 3", true},
	};
	struct thread *t = begin();
	struct mixed_frame room[2][8];

	rh.mixed = &sources;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *words = cases[i].native;
		int pcs[8], n = 0, used;
		uint32_t native = 0, node, again;
		uint64_t lost = rh.head->lost[REC_LOST_MIXED];

		for (; sscanf(words, "%d%n", &pcs[n], &used) == 1; words += used)
			n++;
		while (n-- > 0)
			native = pcs[n] < 0 ? stacks_node(&rh, native, 16, 0,
							  REC_NODE_ELIDED, t->me)
					    : stacks_node(&rh, native, (uint64_t)pcs[n],
							  1, REC_NODE_PC, t->me);
		given[0] = chain_of(t, cases[i].chain, room[0]);
		given[0].hash += 1000003 * (given[0].cut = cases[i].cut);
		given[1] = chain_of(t, cases[i].other, room[1]);
		node = mixed_node(&rh, t, native, true);
		T_STR(stack_text(node), cases[i].want);
		T_EQ(rh.head->lost[REC_LOST_MIXED] - lost, cases[i].guessed);
		/* by what was learnt, and by what is remembered */
		given[0].n = given[1].n = 0;
		mixed_node(&rh, t, native, true);
		given[0] = chain_of(t, cases[i].chain, room[0]);
		given[0].hash += 1000003 * (given[0].cut = cases[i].cut);
		given[1] = chain_of(t, cases[i].other, room[1]);
		again = mixed_node(&rh, t, native, true);
		T_EQ(again, node);
		T_EQ(mixed_node(&rh, t, native, true), node);
	}
	mixed_free(t);
	rh.mixed = NULL;
}

/* One stack, blocks of two types; a type alone makes no stack of two halves. */
T_TEST(types_stand_innermost)
{
	struct thread *t = begin();
	uint32_t native = stacks_node(&rh, 0, 1007, 1, REC_NODE_PC, t->me), plain, list;
	struct mixed_frame room[8];

	rh.mixed = &sources;
	native = stacks_node(&rh, native, 5, 1, REC_NODE_PC, t->me);
	given[0] = chain_of(t, "main!", room);
	given[1] = (struct mixed_chain){0};
	plain = mixed_node(&rh, t, native, true);
	given[0].type = rec_name_text(&rh, "list", t->me);
	list = mixed_node(&rh, t, native, true);
	T_STR(stack_text(list), "{list} 5 main");
	T_EQ(((const struct rec_node *)rec_at(&rh, list))->parent, plain);
	T_EQ(mixed_node(&rh, t, native, false), plain);
	forgotten = 0;
	threads_forget(t);
	T_EQ(forgotten, 2);
	T_EQ(mixed_node(&rh, t, native, true), list);
	mixed_free(t);
	T_EQ(forgotten, 4);
	rh.mixed = NULL;
}

/* ---- names ---- */

enum { NAMES = 5003, NAMES_THREADS = 3 };

static uint32_t refs[NAMES_THREADS][NAMES];

static void *
name_all(void *which)
{
	uint32_t *to = which;

	for (unsigned i = 0; i < NAMES; i++) {
		char function[16];

		snprintf(function, sizeof function, "f%u", i % 1009);
		to[i] = rec_name(&rh, function, i % 2 ? "/a" : "/b", i % 7,
				 REC_LANGUAGE_PYTHON, 1 + (uint32_t)(to - refs[0]));
	}
	return NULL;
}

/* Several threads that meet the same names agree on what they are. */
T_TEST(a_name_is_in_the_recording_once)
{
	pthread_t threads[NAMES_THREADS];
	uint32_t differ = 0, wrong = 0;

	begin();
	for (unsigned i = 0; i < NAMES_THREADS; i++)
		pthread_create(&threads[i], NULL, name_all, refs[i]);
	for (unsigned i = 0; i < NAMES_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < NAMES; i++) {
		char want[64], is[64];

		snprintf(want, sizeof want, "f%u:%u %s 1", i % 1009, i % 7,
			 i % 2 ? "/a" : "/b");
		name_text(refs[0][i], is, sizeof is);
		wrong += strcmp(want, is) != 0;
		for (unsigned k = 1; k < NAMES_THREADS; k++)
			differ += refs[k][i] != refs[0][i];
	}
	T_EQ(differ, 0);
	T_EQ(wrong, 0);
	T_EQ(rh_lost(), 0);
}

/* More than there are places for: counted, and those that were there are found still. */
T_TEST(names_without_room_are_counted)
{
	struct thread *t = begin();
	uint32_t first = rec_name(&rh, "first", "/f", 1, REC_LANGUAGE_PYTHON, t->me);
	uint64_t lost = 0;

	for (unsigned i = 0; i < 200000 && lost == 0; i++) {
		char function[16];

		snprintf(function, sizeof function, "n%u", i);
		rec_name(&rh, function, "/f", i, REC_LANGUAGE_PYTHON, t->me);
		lost = rh.head->lost[REC_LOST_NAME];
		if (i == 60000)
			T_EQ(lost, 0);
	}
	T_CHECK(lost > 0);
	T_EQ(rec_name(&rh, "first", "/f", 1, REC_LANGUAGE_PYTHON, t->me), first);
}

T_MAIN()
