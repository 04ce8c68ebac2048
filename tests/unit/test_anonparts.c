/* SPDX-License-Identifier: MIT */
/* test_anonparts.c -- which anonymous memory is the recorder's, a stack or static
 * data. */
#include "t.h"
#include "tool/target/proc/anonparts.h"
#include "tool/util/x.h"

#include <stdlib.h>

static const char smaps[] =
	"55d000000000-55d000001000 r-xp 00000000 08:01 42 /usr/bin/prog\n"
	"Rss:                   4 kB\nAnonymous:             0 kB\nVmFlags: rd ex\n"
	"55d000001000-55d000003000 rw-p 00001000 08:01 42 /usr/bin/prog\n"
	"Rss:                   8 kB\nAnonymous:             8 kB\n"
	"55d000003000-55d000009000 rw-p 00000000 00:00 0 \n"
	"Anonymous:            12 kB\n"
	"55d001000000-55d001021000 rw-p 00000000 00:00 0                          [heap]\n"
	"Anonymous:           100 kB\n"
	"7f0000000000-7f0000800000 rw-p 00000000 00:00 0 \n"
	"Anonymous:          5000 kB\n"
	"7f0001000000-7f0001800000 rw-p 00000000 00:00 0 \n"
	"Anonymous:            16 kB\n"
	"7f0002000000-7f0002800000 rw-p 00000000 00:00 0 \n"
	"Anonymous:           700 kB\n"
	"7f0003000000-7f0003001000 rw-p 00001000 08:01 77                         "
	"/usr/lib/seep/libseep.so\n"
	"Anonymous:             4 kB\n"
	"7f0003001000-7f0003009000 rw-p 00000000 00:00 0 \n"
	"Anonymous:            32 kB\n"
	"7f0004000000-7f0005000000 rw-s 00000000 00:01 99                         "
	"/dev/shm/seep/1.live\n"
	"Anonymous:             0 kB\n"
	"7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0                          [stack]\n"
	"Anonymous:            24 kB\n";

T_TEST(parts)
{
	static const struct anonparts_range own[] = {
		{0}, {0x7f0000000000, 0x400000}, {0x7f0000400000, 0x400000}};
	static const uint64_t stacks[] = {0x7f00017ff000};
	char *text = xstrdup(smaps);
	struct anonparts p;

	anonparts_add_up(text, own, 3, stacks, 1, &p);
	T_EQ(p.own_kib, 5000 + 4 + 32);
	T_EQ(p.stack_kib, 16 + 24);
	T_EQ(p.static_kib, 8 + 12);
	free(text);
}

/* Without a word from the recorder only its library is known. */
T_TEST(nothing_known)
{
	char *text = xstrdup(smaps);
	struct anonparts p;

	anonparts_add_up(text, NULL, 0, NULL, 0, &p);
	T_EQ(p.own_kib, 36);
	T_EQ(p.stack_kib, 24);
	T_EQ(p.static_kib, 20);
	free(text);
	text = xstrdup("");
	anonparts_add_up(text, NULL, 0, NULL, 0, &p);
	T_EQ(p.own_kib + p.stack_kib + p.static_kib, 0);
	free(text);
}

T_MAIN()
