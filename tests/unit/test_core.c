/* SPDX-License-Identifier: MIT */
/* test_core.c -- core files: one made by hand, cut at every length, and spoilt in ways
 * that are told. */
#include "core_image.h"
#include "t.h"
#include "tool/format/core/core.h"

static unsigned char file[CORE_IMAGE_ROOM];

static size_t
make(struct heap_image *h)
{
	*h = heap_image_versions[2];
	heap_image_begin(h);
	heap_image_block(h, 64, true);
	heap_image_end(h);
	return core_image_make(file, h);
}

T_TEST(what_is_in_it)
{
	static struct heap_image h;
	size_t bytes = make(&h);
	struct core *c = NULL;
	struct err e = {0};
	uint64_t word = 0, n;

	T_CHECK(core_detect(file, bytes));
	T_EQ(core_parse(file, bytes, "x", &c, &e), 0);
	T_EQ(c->pid, CORE_IMAGE_PID);
	T_STR(c->name, "service");
	T_STR(c->exe, "/bin/service");
	T_EQ(c->threads.len, 2);
	T_EQ(c->threads.data[1].tid, CORE_IMAGE_PID + 1);
	T_EQ(c->threads.data[1].sp, CORE_IMAGE_STACK + 2048 + 512);
	T_EQ(c->threads.data[1].pc, CORE_IMAGE_EXE + 101);
	T_EQ(c->threads.data[0].nwords, CORE_REGS + CORE_IMAGE_XSTATE_BYTES / 8);
	T_EQ(c->threads.data[0].words[CORE_REGS + 1], 1);
	T_EQ(c->threads.data[1].words[CORE_REGS + 1], 2);
	T_EQ(c->map.areas.len, CORE_IMAGE_SEGMENTS);
	T_STR(c->map.areas.data[0].name, "/bin/service");
	T_STR(c->map.areas.data[0].perms, "r-xp");
	T_STR(c->map.areas.data[2].name, "/lib/libc.so.6");
	T_EQ(c->map.areas.data[2].offset, 3 * 4096);
	T_STR(c->map.areas.data[3].name, "[stack]");
	T_STR(c->map.areas.data[4].name, "[vsyscall]");
	T_EQ(c->cut_bytes, 0);
	T_EQ(c->absent_bytes, 4096);
	T_CHECK(core_read(c, HEAP_IMAGE_AT + 8, &word, sizeof word));
	T_EQ(word, h.cache_size | 1);
	T_CHECK(!core_read(c, CORE_IMAGE_EXE, &word, sizeof word));
	T_CHECK(!core_read(c, HEAP_IMAGE_AT + HEAP_IMAGE_BYTES - 4, &word, sizeof word));
	T_CHECK(core_look(c, 0x1000, 8, &n) == NULL);
	T_EQ(n, CORE_IMAGE_EXE - 0x1000);
	T_CHECK(core_look(c, HEAP_IMAGE_AT + 16, 8, &n) != NULL);
	T_EQ(n, HEAP_IMAGE_BYTES - 16);
	core_close(c);
}

/* Refused, or read as far as it goes, with what is missing counted. */
T_TEST(cut_anywhere)
{
	static struct heap_image h;
	size_t bytes = make(&h);
	uint64_t wrong = 0, told = 0, refused = 0;

	for (size_t n = 0; n < bytes; n += n < 8192 ? 1 : 509) {
		unsigned char *copy = malloc(n + 1);
		struct core *c = NULL;
		struct err e = {0};

		memcpy(copy, file, n);
		if (core_parse(copy, n, "x", &c, &e) == 0) {
			wrong += n < bytes && c->cut_bytes == 0;
			told++;
		} else {
			wrong += e.msg[0] == '\0' || strchr(e.msg, '\n') != NULL;
			refused++;
		}
		core_close(c);
		free(copy);
	}
	T_EQ(wrong, 0);
	T_EQ(refused,
	     sizeof(Elf64_Ehdr) + (CORE_IMAGE_SEGMENTS + 1) * sizeof(Elf64_Phdr));
	T_CHECK(told > 1000);
}

static void
expect_error(size_t bytes, const char *message)
{
	struct core *c = NULL;
	struct err e = {0};

	T_CHECK(core_parse(file, bytes, "x", &c, &e) < 0);
	T_STR(e.msg, message);
	core_close(c);
}

T_TEST(spoilt)
{
	static struct heap_image h;
	size_t bytes = make(&h);

	file[EI_CLASS] = ELFCLASS32;
	expect_error(bytes, "x: a core of a 32-bit program; seep reads 64-bit ones");
	bytes = make(&h);
	file[18] = EM_AARCH64;
	expect_error(bytes,
		     "x: a core of another processor (ELF machine 183); seep reads those "
		     "of x86-64");
	bytes = make(&h);
	file[16] = ET_DYN;
	expect_error(bytes, "x: not a core file");
	bytes = make(&h);
	file[56] = file[57] = 0xff; /* PN_XNUM, and no section header */
	file[40] = 0xff;
	file[47] = 0x7f;
	expect_error(bytes, "x: its number of segments lies behind its end, at "
			    "9151314442816848127 of 49152 bytes");
	bytes = make(&h);
	file[56] = 0;
	expect_error(bytes,
		     "x: its 0 segment headers do not fit into 49152 bytes: cut off too "
		     "soon?");
}

T_MAIN()
