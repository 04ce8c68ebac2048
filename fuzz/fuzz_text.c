/* SPDX-License-Identifier: MIT */
/* fuzz_text.c -- the readers of text formats under arbitrary bytes: heap profiles of
 * jemalloc, gperftools and Go, symbolized ones, folded stacks, mtrace logs, snapshots of
 * massif, DHAT's JSON; plain or packed.
 *
 * Whatever is accepted must be sound, have fractions for every site or for none, and not
 * be larger than the text warrants. Recordings of our own have fuzzers of their own. */
#include "fuzz.h"

#include "fuzz_check.h"
#include "tool/format/format.h"
#include "tool/format/pprof/pprof.h"
#include "tool/model/prof.h"
#include "tool/util/err.h"

static const char *const seeds[] = {
	"heap_v2/524288\n  t*: 3: 300 [5: 500]\n  t0: 2: 200 [0: 0]\n  t1: 1: 100 [0: 0] a b\n"
	"@ 0x401010 0x401020 0x402030\n  t*: 2: 200 [4: 400]\n  t0: 2: 200 [4: 400]\n"
	"@ 0x401011 0x401020 0x402030\n  t*: 1: 100 [1: 100]\n  t1: 1: 100 [1: 100]\n\n"
	"MAPPED_LIBRARIES:\n00400000-00403000 r-xp 00000000 08:01 7  /none/a b\n",
	"heap profile:    13:   910013 [    14:   980014] @ heapprofile\n"
	"    13:   910013 [    14:   980014] @ 0x401010 0x401020\n\nMAPPED_LIBRARIES:\n"
	"00400000-00403000 r-xp 00000000 00:00 7  /none/prog\n7000-9000: /none/lib.so.2\n",
	"%warn x\nheap profile: 1: 24 [1: 24] @ heap_v2/4096\n1: 24 [1: 24] @ 0x10 0x20\n"
	"--- Memory map: ---\nbuild=/none\nI0 x.cc:3] 0x0-0x80 $build/x (@10) abcdef01\n",
	"heap profile: 2: 96 [3: 144] @ heap/1048576\n2: 96 [3: 144] @ 0x45d3ab 0x45d3ac 0x1\n"
	"#\t0x45d3aa\tmain.in+0x4a\t\t/src/main.go:12\n#\t0x45d3ab\tmain.f+0x4b\t/src/main.go:13\n"
	"\n# runtime.MemStats\n# Alloc = 7\n",
	"--- symbol\nbinary=/none/prog\n0x000000000040100f inl--leak\n0x40101f main\n---\n--- heap\n"
	"heap_v2/1\n  t*: 2: 16 [0: 0]\n@ 0x401010 0x401020\n  t*: 2: 16 [0: 0]\n\n"
	"MAPPED_LIBRARIES:\n",
	"main;load;parse 4096\nmain;load 12.5\n# x\nmain;gone 7 0\n",
	"heap profile: 1: 1 [1: 1] @ growthz\n-1: -8 [1: 8] @ 0x1\n",
	"{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,\"bkacc\":true,"
	"\"tu\":\"ms\",\"Mtu\":\"s\",\"cmd\":\"a b\",\"pid\":7,\"te\":9,\"tg\":5,\"pps\":[{\"tb\":30,\"tbk\":3,"
	"\"tl\":4,\"mb\":20,\"mbk\":2,\"gb\":20,\"gbk\":2,\"eb\":10,\"ebk\":1,\"acc\":[-3,0],\"fs\":[1,2]}],"
	"\"ftbl\":[\"[root]\",\"0x10: f(int) (a.c:3)\",\"0x20: ??? (in /lib/x.so)\"]}\n",
	"= Start\n@ /none/prog:(main+0x12)[0x1234] + 0x55d0 0x10\n@ [0x12] - 0x55d0\n"
	"@ /none/l.so:[0x9] + 0x60 0x40\n@ /none/l.so:[0x9] < 0x60\n@ /none/l.so:[0x9] > 0x70 0x20\n"
	"= End\n",
	"desc: --time-unit=B\ncmd: ./p x\ntime_unit: B\n#-----------\nsnapshot=0\ntime=1\n"
	"mem_heap_B=90\nmem_heap_extra_B=6\nmem_stacks_B=4\nheap_tree=peak\n"
	"n2: 90 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n"
	" n1: 70 0x10: a (x.c:1)\n  n0: 60 0x20: ??? (in /lib/l.so)\n"
	" n0: 20 in 2 places, all below massif's threshold (1.00%)\nsnapshot=1\ntime=2.5\n"
	"mem_heap_B=9\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=empty\n",
};

static void
check(const struct prof *p, size_t bytes)
{
	fuzz_check_ids(p);
	FUZZ_CHECK(p->nreals == 0 || p->nreals == p->nsites);
	FUZZ_CHECK(p->nsites <= bytes + 1 && p->nnodes <= bytes + 1);
	for (uint32_t i = 0; i < p->nlabels; i++)
		FUZZ_CHECK(p->labels[i].site < p->nsites);
	fuzz_check_pack(p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	size_t head = bytes < FORMAT_HEAD_BYTES ? bytes : FORMAT_HEAD_BYTES;
	const struct format *f = format_find(data, head);
	struct format_opts o = {.exe = bytes % 2 != 0 ? "/none/exe" : NULL};
	struct prof *p = NULL;

	if (f == &format_pack || f == &format_live || f == &format_pprof)
		return 0;
	if (format_load_bytes(data, bytes, "x", &o, &p, NULL) == 0 && f != NULL)
		check(p, bytes);
	prof_free(p);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < ARRAY_LEN(seeds) ? fuzz_text_seed(seeds[n], to, room) : 0;
}
