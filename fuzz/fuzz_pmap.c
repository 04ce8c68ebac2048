/* SPDX-License-Identifier: MIT */
/* fuzz_pmap.c -- maps of processes under arbitrary bytes: smaps, pmap -x and -X, and all
 * that is made of a map; and the same bytes as memory, with blocks of malloc and strings
 * in it.
 *
 * What is accepted has mappings in order that do not overlap; every one belongs to a
 * region, the account adds up, and a second look at the same map finds every region
 * again. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tool/analyze/process/account.h"
#include "tool/analyze/process/content.h"
#include "tool/analyze/process/regions.h"
#include "tool/analyze/process/track.h"
#include "tool/format/text/pmap.h"
#include "tool/target/heap/heapwalk.h"
#include "tool/util/err.h"

static const char *const seeds[] = {
	"55e0a1a00000-55e0a1a02000 rw-p 00001000 fe:00 247134      /usr/bin/my cat\n"
	"Size:                  8 kB\nRss:                   4 kB\nReferenced: 4 kB\n"
	"VmFlags: rd ex mr mw me \n55e0a1a02000-55e0a1a03000 rw-p 00000000 00:00 0 \nRss: 4 kB\n"
	"55e0a2a00000-55e0a2a22000 rw-p 00000000 00:00 0 [heap]\nRss: 40 kB\nSwap: 8 kB\n"
	"7f0004000000-7f0004021000 rw-p 00000000 00:00 0 \nRss: 132 kB\n"
	"7f0004021000-7f0008000000 ---p 00000000 00:00 0 \nRss: 0 kB\n"
	"7f0010000000-7f0010001000 ---p 00000000 00:00 0 \nRss: 0 kB\n"
	"7f0010001000-7f0010801000 rw-p 00000000 00:00 0 \nRss: 12 kB\n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]\nRss: 12 kB\n",
	"2244:   sleep 300\nAddress           Kbytes     RSS   Dirty Mode  Mapping\n"
	"0000563061584000       8       8       0 rw--- libpython3.11.so\n"
	"0000563061590000     132      60      60 rw---   [ anon ]\n"
	"00007fff746c9000     132      12      12 rw---   [ stack ]\n"
	"---------------- ------- ------- ------- \ntotal kB  272  80  72\n",
	"2244:   x\n Address Perm   Offset Device  Inode Size  Rss Pss VmFlags Mapping\n"
	" 563061584000 r--p 00000000  fe:00 248056    8    8   8 rd mr mw me sleep\n"
	" 563061590000 rw-p 00000000  00:00 0    132    60   60 rd wr [heap]\n"
	"  ==== === \n 140 68 68 KB \n",
	"12:  x\n0000563061584000      8K r---- sleep\n total 8K\n",
};

static void
must(bool held)
{
	if (!held)
		abort();
}

static void
check_map(const struct memmap *m)
{
	static const uint64_t stacks[] = {0x7f0010001100};
	struct region_facts f = {.program = regions_program(m, true),
				 .stacks = stacks,
				 .nstacks = 1,
				 .guess_heap = m->pid != 0};
	struct account_recording rec = {.there = true, .live_bytes = 12345};
	struct heapmap none = {0};
	struct track_verdict v;
	struct track t = {0};
	struct regions rs;
	struct account a;
	uint64_t sum = 0;
	size_t rows;

	for (size_t i = 0; i < m->areas.len; i++) {
		must(m->areas.data[i].start < m->areas.data[i].end);
		must(i == 0 || m->areas.data[i - 1].end <= m->areas.data[i].start);
	}
	regions_init(&rs, m, &f);
	for (size_t i = 0; i < m->areas.len; i++)
		must(rs.of_area[i] < rs.list.len);
	account_init(&a, m, &rs, &none, &rec, 0);
	for (unsigned i = 0; i < ACCOUNT_PARTS; i++)
		sum += a.kib[i];
	must(sum == a.rss_kib && sum == memmap_total_kib(m, MEMMAP_RSS));
	track_add(&t, 0, &rs);
	rows = t.rows.len;
	track_add(&t, 1, &rs);
	track_add(&t, 2, &rs);
	must(t.rows.len == rows && rows == rs.list.len);
	track_judge(&t, &v);
	must(v.word == TRACK_STEADY);
	free(track_order(&t));
	track_done(&t);
	regions_done(&rs);
}

static void
count_block(void *ctx, size_t off, size_t size, bool used)
{
	size_t bytes = *(size_t *)ctx;

	(void)used;
	must(off >= 16 && size >= 24 && off - 16 + size + 8 <= bytes);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct content c = {.shapes = bytes % 2 != 0};
	struct memmap m = {0};
	struct err e = {0};

	pmap_detect(data, bytes < 4096 ? bytes : 4096);
	if (pmap_parse(data, bytes, &m, &e) == 0)
		check_map(&m);
	else
		must(e.msg[0] != '\0');
	memmap_done(&m);
	heapwalk_blocks(data, bytes, 0x7f0000000000, count_block, &bytes);
	content_add(&c, 0x7f0000000000, data, bytes);
	content_finish(&c);
	content_done(&c);
	return 0;
}

size_t
fuzz_seed(unsigned n, uint8_t *to, size_t room)
{
	return n < ARRAY_LEN(seeds) ? fuzz_text_seed(seeds[n], to, room) : 0;
}
