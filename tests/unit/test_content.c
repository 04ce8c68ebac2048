/* SPDX-License-Identifier: MIT */
/* test_content.c -- what memory holds, and how it is printed. */
#include "t.h"
#include "tool/analyze/process/content.h"
#include "tool/render/heap/dump.h"

static struct memmap map;
static struct regions regions;

static void
area(uint64_t start, uint64_t end, const char *perms, const char *name)
{
	struct memmap_area *a = vec_add(&map.areas);

	a->start = start;
	a->end = end;
	a->name = name;
	a->inode = name[0] == '/' ? 7 : 0;
	memcpy(a->perms, perms, 5);
}

static void
begin(void)
{
	struct region_facts f = {0};

	area(0x10000, 0x20000, "r--p", "/lib/x.so");
	area(0x20000, 0x30000, "r-xp", "/lib/x.so");
	area(0x40000, 0x50000, "rw-p", "[heap]");
	regions_init(&regions, &map, &f);
}

static void
end(void)
{
	regions_done(&regions);
	memmap_done(&map);
}

T_TEST(words)
{
	double x = 3.25;
	uint64_t word;

	begin();
	T_EQ(content_word(&map, 0), CONTENT_ZERO);
	T_EQ(content_word(&map, 0x40010), CONTENT_POINTER);
	T_EQ(content_word(&map, 0x30010), CONTENT_OTHER); /* between mappings */
	T_EQ(content_word(&map, 4711), CONTENT_SMALL);
	T_EQ(content_word(&map, (uint64_t)-3), CONTENT_SMALL);
	memcpy(&word, "Hello, w", 8);
	T_EQ(content_word(&map, word), CONTENT_TEXT);
	memcpy(&word, "abcd\0\0\0\0", 8);
	T_EQ(content_word(&map, word), CONTENT_TEXT);
	memcpy(&word, "abc\0\0\0\0\0", 8);
	T_EQ(content_word(&map, word), CONTENT_OTHER);
	T_EQ(content_word(&map, 1700000000), CONTENT_TIME);
	T_EQ(content_word(&map, 1700000000123456789), CONTENT_TIME);
	memcpy(&word, &x, 8);
	T_EQ(content_word(&map, word), CONTENT_DOUBLE);
	T_EQ(content_word(NULL, 0x7f1234567890), CONTENT_POINTER);
	end();
}

T_TEST(objects_that_repeat)
{
	uint64_t data[5 * 101] = {0};
	struct content c = {.map = &map, .regions = &regions, .shapes = true};

	begin();
	for (unsigned i = 0; i < 101; i++) {
		data[5 * i] = 0x10040;		   /* into the library's constants */
		data[5 * i + 1] = 0x20008;	   /* into its code */
		data[5 * i + 2] = 0x40000 + 8 * i; /* into the heap */
	}
	content_add(&c, 0x40000, data, sizeof data);
	for (unsigned i = 0; i < 7; i++)
		content_add_block(&c, &data[5 * i], 40, true);
	content_add_block(&c, data, 40, false);
	content_add_block(&c, &data[4], 24, true);
	content_finish(&c);
	T_EQ(c.words[CONTENT_POINTER], 303);
	T_EQ(c.words[CONTENT_ZERO], 202);
	T_EQ(c.pointers[REGION_HEAP], 101);
	T_EQ(c.pointers[REGION_FILE], 202);
	T_EQ(c.code_pointers, 101);
	T_EQ(c.signs.len, 2);
	T_EQ(c.signs.data[0].value, 0x10040);
	T_EQ(c.signs.data[0].count, 101);
	T_EQ(c.signs.data[0].distance, 40);
	T_EQ(c.blocks.len, 3);
	T_EQ(c.blocks.data[0].size, 40);
	T_EQ(c.blocks.data[0].used, 7);
	T_EQ(c.blocks.data[0].sign, 0x10040);
	T_EQ(c.blocks.data[1].size, 24);
	T_EQ(c.blocks.data[1].sign, 0);
	T_EQ(c.blocks.data[1].first, CONTENT_ZERO);
	T_EQ(c.blocks.data[2].freed, 1);
	content_done(&c);
	end();
}

T_TEST(strings_across_parts)
{
	static const char text[] =
		"\0user-17@example.com\0abc\0user-23@example.com\0tab\there\0";
	struct content c = {.shapes = true};

	/* In two parts, the cut in the middle of a string. */
	content_add(&c, 0x1000, text, 9);
	content_add(&c, 0x1009, text + 9, sizeof text - 9);
	content_finish(&c);
	T_EQ(c.strings, 3); /* "abc" is too short */
	T_EQ(c.string_bytes, 19 + 19 + 8);
	T_EQ(c.texts_by.len, 2);
	T_EQ(c.texts_by.data[0].count, 2);
	T_STR(strtab_str(&c.texts, c.texts_by.data[0].text), "xxxx-99@xxxxxxx.xxx");
	content_done(&c);
	c.shapes = false;
	content_add(&c, 0x1000, text, sizeof text);
	content_finish(&c);
	T_EQ(c.texts_by.len, 3);
	T_STR(strtab_str(&c.texts, c.texts_by.data[0].text), "user-17@example.com");
	content_done(&c);
}

T_TEST(random_pages_are_dense)
{
	static unsigned char page[8192];
	struct content c = {0};
	uint64_t x = 88172645463325252;

	for (unsigned i = 0; i < 4096; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		page[i] = (unsigned char)x;
		page[4096 + i] = (unsigned char)('a' + i % 26);
	}
	content_add(&c, 0, page, sizeof page);
	T_EQ(c.pages, 2);
	T_EQ(c.dense_pages, 1);
	content_done(&c);
}

T_TEST(hex_as_hexdump)
{
	static const char bytes[] =
		"0123456789abcdef0123456789abcdef0123456789abcdefXYZ\001";
	struct dump_hex d = {.show_content = true};
	struct buf out = {0};

	dump_hex_add(&out, &d, 0, bytes, 10);
	dump_hex_add(&out, &d, 10, bytes + 10, sizeof bytes - 1 - 10);
	dump_hex_end(&out, &d);
	T_STR(buf_str(&out),
	      "00000000  30 31 32 33 34 35 36 37  38 39 61 62 63 64 65 66  "
	      "|0123456789abcdef|\n*\n"
	      "00000030  58 59 5a 01                                       |XYZ.|\n"
	      "00000034\n");
	buf_done(&out);
}

T_TEST(hex_masked)
{
	unsigned char bytes[32] = "secret42";
	uint64_t pointer = 0x40010;
	struct dump_hex d = {.map = &map};
	struct buf out = {0};

	begin();
	memcpy(bytes + 16, &pointer, 8);
	bytes[24] = 9;
	dump_hex_add(&out, &d, 0x40000, bytes, sizeof bytes);
	dump_hex_end(&out, &d);
	T_STR(buf_str(&out),
	      "00040000  .. .. .. .. .. .. .. ..  00 00 00 00 00 00 00 00  "
	      "|xxxxxx99........|\n"
	      "00040010  10 00 04 00 00 00 00 00  .. 00 00 00 00 00 00 00  "
	      "|................|\n"
	      "00040020\n");
	buf_done(&out);
	end();
}

T_TEST(strings_as_strings)
{
	struct dump_strings d = {.least = 4, .show_content = true};
	struct buf out = {0};

	dump_strings_add(&out, &d, 0x10, "ab\0hello wo", 11);
	dump_strings_add(&out, &d, 0x1b, "rld\0", 4);
	/* What is elsewhere does not go on with it. */
	dump_strings_add(&out, &d, 0x1f, "tail", 4);
	dump_strings_add(&out, &d, 0x1000, "head", 4);
	dump_strings_end(&out, &d);
	T_STR(buf_str(&out), "     13 hello world\n     1f tail\n   1000 head\n");
	buf_done(&out);
}

T_MAIN()
