/* SPDX-License-Identifier: MIT */
/* test_pmap.c -- smaps and pmap's tables, whole, cut off and made up. */
#include <errno.h>

#include "t.h"
#include "tool/format/text/pmap.h"

static const char pmap_x[] =
	"2244:   sleep 300\n"
	"Address           Kbytes     RSS   Dirty Mode  Mapping\n"
	"0000563061584000       8       8       0 r---- sleep\n"
	"0000563061590000     132      60      60 rw---   [ anon ]\n"
	"00007f746c600000    1024     512      12 rw-s- with a blank in it\n"
	"00007fff746c9000     132      12      12 rw---   [ stack ]\n"
	"---------------- ------- ------- ------- \n"
	"total kB            1296     592      84\n";

static const char pmap_big_x[] =
	"2244:   sleep 300\n"
	"         Address Perm   Offset Device  Inode Size  Rss Pss Referenced Swap Mapping\n"
	"    563061584000 r--p 00002000  fe:00 248056    8    8   8          4    1 sleep\n"
	"    563061590000 rw-p 00000000  00:00      0  132   60  60         30    0 [heap]\n"
	"                                             ==== ==== === ========== ==== \n"
	"                                              140   68  68         34    1 KB \n";

static const char smaps[] =
	"55e0a1a00000-55e0a1a02000 r-xp 00001000 fe:00 247134      /usr/bin/my cat\n"
	"Size:                  8 kB\n"
	"Rss:                   4 kB\n"
	"Shared_Dirty:          3 kB\n"
	"Private_Dirty:         1 kB\n"
	"THPeligible:           0\n"
	"VmFlags: rd ex mr mw me \n"
	"7ffe1000-7ffe3000 rw-p 00000000 00:00 0 \n"
	"Size:                  8 kB\n"
	"Rss:                   8 kB\n"
	"Swap:                 12 kB\n"
	"ProtectionKey:         0\n";

T_TEST(pmap_x_is_read)
{
	struct memmap m = {0};
	struct err e = {0};

	T_CHECK(pmap_detect(pmap_x, sizeof pmap_x - 1));
	T_EQ(pmap_parse(pmap_x, sizeof pmap_x - 1, &m, &e), 0);
	T_STR(m.form, "pmap -x");
	T_STR(m.command, "sleep 300");
	T_EQ(m.pid, 2244);
	T_EQ(m.cut_lines, 0);
	T_EQ(m.areas.len, 4);
	T_EQ(memmap_total_kib(&m, MEMMAP_SIZE), 1296);
	T_EQ(memmap_total_kib(&m, MEMMAP_RSS), 592);
	T_EQ(memmap_total_kib(&m, MEMMAP_DIRTY), 84);
	T_EQ(m.areas.data[1].start, 0x563061590000);
	T_EQ(m.areas.data[1].end, 0x563061590000 + 132 * 1024);
	T_STR(m.areas.data[1].name, "");
	T_STR(m.areas.data[1].perms, "rw-p");
	T_STR(m.areas.data[2].name, "with a blank in it");
	T_STR(m.areas.data[2].perms, "rw-s");
	T_STR(m.areas.data[3].name, "[stack]");
	memmap_done(&m);
}

T_TEST(pmap_big_x_is_read)
{
	struct memmap m = {0};
	struct err e = {0};

	T_CHECK(pmap_detect(pmap_big_x, sizeof pmap_big_x - 1));
	T_EQ(pmap_parse(pmap_big_x, sizeof pmap_big_x - 1, &m, &e), 0);
	T_STR(m.form, "pmap -X");
	T_EQ(m.areas.len, 2);
	T_EQ(m.areas.data[0].offset, 0x2000);
	T_EQ(m.areas.data[0].inode, 248056);
	T_EQ(m.areas.data[0].kib[MEMMAP_SWAP], 1);
	T_STR(m.areas.data[1].name, "[heap]");
	T_EQ(m.areas.data[1].kib[MEMMAP_REFERENCED], 30);
	T_CHECK((m.known & 1U << MEMMAP_DIRTY) == 0);
	memmap_done(&m);
}

T_TEST(smaps_is_read)
{
	struct memmap m = {0};
	struct err e = {0};

	T_CHECK(pmap_detect(smaps, sizeof smaps - 1));
	T_EQ(pmap_parse(smaps, sizeof smaps - 1, &m, &e), 0);
	T_STR(m.form, "smaps");
	/* Ascending, whatever the file's order. */
	T_EQ(m.areas.len, 2);
	T_EQ(m.areas.data[0].start, 0x7ffe1000);
	T_EQ(m.areas.data[0].kib[MEMMAP_RSS], 8);
	T_EQ(m.areas.data[0].kib[MEMMAP_SWAP], 12);
	T_STR(m.areas.data[1].name, "/usr/bin/my cat");
	T_EQ(m.areas.data[1].offset, 0x1000);
	T_EQ(m.areas.data[1].kib[MEMMAP_SHARED_DIRTY], 3);
	T_CHECK(memmap_find(&m, 0x7ffe2fff) == &m.areas.data[0]);
	T_CHECK(memmap_find(&m, 0x7ffe3000) == NULL);
	memmap_done(&m);
}

/* Cut anywhere, each is read as far as it goes or refused. */
static void
cut_everywhere(const char *text, size_t bytes)
{
	for (size_t n = 0; n <= bytes; n++) {
		char *copy = malloc(n + 1);
		struct memmap m = {0};
		struct err e = {0};
		int r;

		memcpy(copy, text, n);
		r = pmap_parse(copy, n, &m, &e);
		T_CHECK(r == 0 || e.msg[0] != '\0');
		memmap_done(&m);
		free(copy);
	}
}

T_TEST(cut_off)
{
	struct memmap m = {0};
	struct err e = {0};
	size_t n = (size_t)(strstr(pmap_x, "00007fff") - pmap_x) + 20;

	cut_everywhere(pmap_x, sizeof pmap_x - 1);
	cut_everywhere(pmap_big_x, sizeof pmap_big_x - 1);
	cut_everywhere(smaps, sizeof smaps - 1);
	T_EQ(pmap_parse(pmap_x, n, &m, &e), 0);
	T_EQ(m.areas.len, 3);
	T_EQ(m.cut_lines, 1);
	memmap_done(&m);
}

static void
refused(const char *text, const char *why)
{
	struct memmap m = {0};
	struct err e = {0};

	T_CHECK(pmap_parse(text, strlen(text), &m, &e) < 0);
	T_STR(e.msg, why);
	memmap_done(&m);
}

T_TEST(refused_with_the_reason)
{
	refused("", "is empty");
	refused("12:  x\n0000563061584000      8K r---- sleep\n total 8K\n",
		"has no resident sizes; save pmap -x PID");
	refused("12:  x\nAddress           Kbytes Mode  Offset           Device    "
		"Mapping\n0000563061584000       8 r---- 0000000000000000 0fe:00000 sleep\n",
		"has no resident sizes; save pmap -x PID");
	refused("12:  x\nAddress           Kbytes     RSS   Dirty Mode  Mapping\n"
		"hello world\n",
		"line 3: not a line of pmap -x");
	refused("12:  x\nAddress           Kbytes     RSS   Dirty Mode  Mapping\n"
		"0000563061584000 99999999999999999999 8 0 r---- sleep\n",
		"line 3: not a line of pmap -x");
	refused("1000-2000 r--p 00000000 00:00 0 \n1000-2000 r--p 00000000 00:00 0 \n",
		"has mappings but no sizes: this is maps, save smaps instead");
	refused("1000-2000 r--p 00000000 00:00 0 \nRss: much\n",
		"line 2: not a line of smaps");
	refused("12:  x\nAddress           Kbytes     RSS   Dirty Mode  Mapping\n"
		"0000000000001000       8       8       0 r---- a\n13: y\n",
		"line 4: holds more than one process; save one a file");
}

T_TEST(one_that_grew_while_it_was_read)
{
	static const char twice[] = "1000-3000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
				    "2000-4000 rw-p 00000000 00:00 0 \nRss: 8 kB\n"
				    "4000-5000 rw-p 00000000 00:00 0 \nRss: 4 kB\n";
	struct memmap m = {0};
	struct err e = {0};

	T_EQ(pmap_parse(twice, sizeof twice - 1, &m, &e), 0);
	T_EQ(m.areas.len, 2);
	T_EQ(m.areas.data[0].end, 0x3000);
	T_EQ(memmap_total_kib(&m, MEMMAP_RSS), 12);
	T_EQ(memmap_total_kib(&m, MEMMAP_SIZE), 12);
	memmap_done(&m);
}

T_TEST(other_texts_are_not_taken)
{
	static const char heap[] = "heap profile: 1: 2 [ 3: 4] @ heap_v2/1\n";
	static const char folded[] = "main;f 12\n";

	T_CHECK(!pmap_detect(heap, sizeof heap - 1));
	T_CHECK(!pmap_detect(folded, sizeof folded - 1));
	T_CHECK(!pmap_detect("", 0));
	T_CHECK(!pmap_detect("12:", 3));
}

T_MAIN()
