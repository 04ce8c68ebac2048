/* SPDX-License-Identifier: MIT */
/* fuzz_suppress.c -- the reader of suppressions under arbitrary bytes, and their matching
 * with a stack.
 *
 * What is accepted must be whole: every entry has a name and the frames that its kind
 * asks for, patterns are not empty, and reading it twice gives the same. Matching must
 * come to an end. */
#include "fuzz.h"

#include "fuzz_check.h"
#include "tool/analyze/verdict/suppress_match.h"
#include "tool/format/text/suppress_read.h"
#include "tool/model/loss_kinds.h"

static const char *const seeds[] = {
	"# c\n{\n   name\n   Memcheck:Leak\n   match-leak-kinds: definite, possible\n"
	"   fun:mallo?\n   ...\n   obj:*/lib*.so*\n   src:a.c:12\n   fun:main\n}\n",
	"{\n\tx y\n\tHelgrind,Memcheck:Param\n\twrite(buf)\n\t...\n\tfun:*\n}\n{\nq\n"
	"Helgrind:Race\nanything\n}\nleak:^main$\nleak:*li*b\n",
	"{\nall\nMemcheck:Leak\n...\nfun:*\n...\nfun:*a*\n...\nfun:*main*\n...\n}\n",
	"{\na\nMemcheck:Addr8\nfun:a*a*a*a*b\n}\n",
	"{\na\nMemcheck:Leak\nmatch-leak-kinds: none\nfun:malloc\n}\r\nleak:$\n",
};

static const struct loss_frame frames[] = {
	{.function = "malloc", .linkage = "malloc", .module = "/usr/lib/libseep.so"},
	{.function = "ns::f(int)",
	 .linkage = "_ZN2ns1fEi",
	 .whole = "ns::f(int)",
	 .file = "/src/a.c",
	 .module = "/opt/a",
	 .line = 12},
	{.module = "/opt/lib/libx.so.1"},
	{.function = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaac",
	 .linkage = "aaaaaaaaaaaaaaaaaaaaaaaaac"},
	{.function = "main", .linkage = "main", .file = "main.c", .line = 3},
};

static void
check(const struct suppress_set *s)
{
	FUZZ_CHECK(s->order.len == s->all.len && s->files.len == 1);
	for (size_t i = 0; i < s->all.len; i++) {
		const struct suppress *x = &s->all.data[i];
		bool some = false;

		FUZZ_CHECK(x->name != NULL && x->name[0] != '\0' && x->line > 0);
		FUZZ_CHECK(x->frames.len <= SUPPRESS_FRAMES_MAX);
		FUZZ_CHECK((x->kinds & ~(unsigned)LOSS_KINDS_ALL) == 0);
		for (size_t k = 0; k < x->frames.len; k++) {
			const struct suppress_frame *f = &x->frames.data[k];

			FUZZ_CHECK((f->pattern == NULL) == (f->part == SUPPRESS_FRAMES));
			FUZZ_CHECK(f->pattern == NULL || f->pattern[0] != '\0');
			some = some || f->pattern != NULL;
		}
		FUZZ_CHECK(some || x->about == SUPPRESS_LSAN ||
			   x->about == SUPPRESS_OTHER);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct suppress_set s = {0}, again = {0};
	struct loss_stack stack = {.shown = sizeof frames / sizeof *frames};
	struct err e = {0};
	int r;

	for (size_t i = 0; i < sizeof frames / sizeof *frames; i++)
		vec_push(&stack.frames, frames[i]);
	r = suppress_read(&s, "x", data, bytes, &e);
	FUZZ_CHECK(r == 0 || strncmp(e.msg, "x:", 2) == 0);
	if (r == 0) {
		check(&s);
		for (unsigned kind = 0; kind < PROF_LOSS_SUPPRESSED; kind++) {
			size_t at = suppress_find(&s, SUPPRESS_LEAK, 1u << kind, &stack);

			FUZZ_CHECK(at == SIZE_MAX || at < s.order.len);
			if (at != SIZE_MAX)
				suppress_used(&s, at);
		}
		suppress_find(&s, SUPPRESS_ADDRESS, 0, &stack);
	}
	FUZZ_CHECK(suppress_read(&again, "x", data, bytes, NULL) == r);
	FUZZ_CHECK(s.all.len == again.all.len);
	suppress_done(&s);
	suppress_done(&again);
	loss_stack_done(&stack);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < ARRAY_LEN(seeds) ? fuzz_text_seed(seeds[n], to, room) : 0;
}
