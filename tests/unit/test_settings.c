/* SPDX-License-Identifier: MIT */
/* test_settings.c -- the SEEP variable: every key, its limits, and what is not
 * understood. */
/* sources: src/guest/life/settings.c */
#include "t.h"

#include <stdint.h>

#include "guest/life/settings.h"
#include "guest/record/file/keep.h"

static struct settings s;
static const char *bad;

/* Understood? When not, what is complained about begins with `complaint`. */
static bool
refused(const char *text, const char *complaint)
{
	bad = NULL;
	memset(&s, 0xa5, sizeof s);
	if (settings_parse(text, &s, &bad) || bad == NULL ||
	    s.recorder.mode != REC_MODE_OFF)
		return false;
	return bad >= text && bad < text + strlen(text) + 1 &&
	       strcmp(bad, complaint) == 0;
}

static bool
taken(const char *text)
{
	bad = "";
	memset(&s, 0xa5, sizeof s);
	return settings_parse(text, &s, &bad) && bad == NULL;
}

T_TEST(defaults)
{
	static const char *const nothing[] = {NULL, ""};

	for (unsigned i = 0; i < 2; i++) {
		T_CHECK(taken(nothing[i]));
		T_EQ(s.recorder.mode, REC_MODE_OFF);
		T_EQ(s.recorder.rate_bytes, 524288);
		T_EQ(s.recorder.max_bytes, UINT64_C(1) << 30);
		T_EQ(s.recorder.run_id, 0);
		T_EQ(s.recorder.mmap_class, false);
		T_EQ(s.recorder.children, true);
		T_EQ(s.recorder.forked, false);
		T_STR(s.recorder.dir, "");
		T_STR(s.recorder.name, "");
		T_EQ(s.recorder.keep, KEEP_ALL);
		T_EQ(s.parent, 0);
	}
}

T_TEST(all_at_once)
{
	T_CHECK(taken("mode=sample,rate=64K,max=257M,dir=/dev/shm/seep-0-1,"
		      "run=00c0ffee12345678,parent=4711,mmap=1,children=0,"
		      "name=%e.%p,keep=17"));
	T_EQ(s.recorder.mode, REC_MODE_SAMPLE);
	T_EQ(s.recorder.rate_bytes, 65536);
	T_EQ(s.recorder.max_bytes, UINT64_C(257) << 20);
	T_STR(s.recorder.dir, "/dev/shm/seep-0-1");
	T_EQ(s.recorder.run_id, UINT64_C(0x00c0ffee12345678));
	T_EQ(s.parent, 4711);
	T_EQ(s.recorder.mmap_class, true);
	T_EQ(s.recorder.children, false);
	T_STR(s.recorder.name, "%e.%p");
	T_EQ(s.recorder.keep, 17);
}

T_TEST(names_of_the_options)
{
	T_CHECK(taken("mode=sample,sample=64K,max-size=257M"));
	T_EQ(s.recorder.mode, REC_MODE_SAMPLE);
	T_EQ(s.recorder.rate_bytes, 65536);
	T_EQ(s.recorder.max_bytes, UINT64_C(257) << 20);
	T_CHECK(taken("sample=64K"));
	T_EQ(s.recorder.mode, REC_MODE_OFF);
	T_CHECK(refused("mode=sample,sample=0", "sample=0"));
	T_CHECK(refused("mode=sample,samples=1K", "samples=1K"));
}

T_TEST(wrong_use_of_the_heap)
{
	T_CHECK(taken("mode=exact"));
	T_EQ(s.redzone, 0);
	T_EQ(s.quarantine, 0);
	T_EQ(s.guard, 0);
	T_CHECK(!s.free_stacks);
	T_CHECK(!s.keep_going);
	T_CHECK(!s.lsan);
	T_CHECK(taken("mode=exact,redzone=4K,quarantine=17M,guard=1009,free-stacks=1,"
		      "keep-going=yes"));
	T_EQ(s.redzone, 4096);
	T_EQ(s.quarantine, 17 << 20);
	T_EQ(s.guard, 1009);
	T_CHECK(s.free_stacks);
	T_CHECK(s.keep_going);
	T_CHECK(refused("mode=exact,redzone=4097", "redzone=4097"));
	T_CHECK(refused("quarantine=", "quarantine="));
	T_CHECK(refused("guard=5G", "guard=5G"));
	T_CHECK(refused("keep-going=2", "keep-going=2"));
}

T_TEST(order_and_repetition)
{
	T_CHECK(taken("rate=7,mode=exact"));
	T_EQ(s.recorder.mode, REC_MODE_EXACT);
	T_EQ(s.recorder.rate_bytes, 7);
	T_CHECK(taken("mode=exact,mode=sample,rate=3,rate=5")); /* the last one counts */
	T_EQ(s.recorder.mode, REC_MODE_SAMPLE);
	T_EQ(s.recorder.rate_bytes, 5);
	T_CHECK(taken("mode=exact,")); /* one comma too many at the end is no key */
	T_EQ(s.recorder.mode, REC_MODE_EXACT);
	T_CHECK(taken("mode=exact,mode=off"));
	T_EQ(s.recorder.mode, REC_MODE_OFF);
}

T_TEST(words_not_understood)
{
	T_CHECK(refused("mode", "mode"));
	T_CHECK(refused("=", "="));
	T_CHECK(refused(",", ","));
	T_CHECK(refused("mode=exact,,rate=1", ",rate=1"));
	T_CHECK(refused("mode=exact,colour=red,rate=1", "colour=red,rate=1"));
	T_CHECK(refused("Mode=exact", "Mode=exact"));
	T_CHECK(refused("mod=exact", "mod=exact"));
	T_CHECK(refused("modes=exact", "modes=exact"));
	T_CHECK(refused(" mode=exact", " mode=exact"));
	T_CHECK(refused("mode=", "mode="));
	T_CHECK(refused("mode=Exact", "mode=Exact"));
	T_CHECK(refused("mode=exac", "mode=exac"));
	T_CHECK(refused("mode=exact ", "mode=exact "));
	T_CHECK(refused("mode=exact=", "mode=exact="));
	T_CHECK(refused("mode=sample,mode=wrong", "mode=wrong"));
	T_CHECK(refused("mmap=2", "mmap=2"));
	T_CHECK(refused("mmap=", "mmap="));
	T_CHECK(refused("children=true", "children=true"));
}

T_TEST(yes_and_no)
{
	static const char *const yes[] = {"mmap=1,children=1", "mmap=on,children=on",
					  "mmap=yes,children=yes"};
	static const char *const no[] = {"mmap=0,children=0", "mmap=off,children=off",
					 "mmap=no,children=no"};

	for (unsigned i = 0; i < 3; i++) {
		T_CHECK(taken(yes[i]) && s.recorder.mmap_class && s.recorder.children);
		T_CHECK(taken(no[i]) && !s.recorder.mmap_class && !s.recorder.children);
	}
}

T_TEST(sizes)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {{"max=0", 0},
		    {"max=1", 1},
		    {"max=4k", 4096},
		    {"max=4K", 4096},
		    {"max=3m", 3 << 20},
		    {"max=3M", 3 << 20},
		    {"max=2g", UINT64_C(2) << 30},
		    {"max=007G", UINT64_C(7) << 30},
		    {"max=1152921504606846975", UINT64_C(1152921504606846975)}};
	static const char *const wrong[] = {"max=",
					    "max=K",
					    "max=-1",
					    "max=+1",
					    "max= 1",
					    "max=1 ",
					    "max=1KB",
					    "max=1T",
					    "max=1.5G",
					    "max=0x10",
					    "max=1KK",
					    "max=1K1",
					    "max=18446744073709551616",
					    "max=99999999999999999999999",
					    "max=18446744073709551615G",
					    "max=18014398509481985K"};

	for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++) {
		T_CHECK(taken(good[i].text));
		T_EQ(s.recorder.max_bytes, good[i].bytes);
	}
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
		if (!refused(wrong[i], wrong[i]))
			T_FAIL("taken: %s as %llu", wrong[i],
			       (unsigned long long)s.recorder.max_bytes);
}

T_TEST(rates)
{
	T_CHECK(taken("rate=1"));
	T_EQ(s.recorder.rate_bytes, 1);
	T_CHECK(taken("rate=1G"));
	T_EQ(s.recorder.rate_bytes, 1 << 30);
	T_CHECK(refused("rate=0", "rate=0"));
	T_CHECK(refused("rate=1073741825", "rate=1073741825"));
	T_CHECK(refused("rate=2G", "rate=2G"));
}

T_TEST(runs_and_parents)
{
	T_CHECK(taken("run=f"));
	T_EQ(s.recorder.run_id, 15);
	T_CHECK(taken("run=ffffffffffffffff"));
	T_EQ(s.recorder.run_id, UINT64_MAX);
	T_CHECK(refused("run=", "run="));
	T_CHECK(refused("run=0ffffffffffffffff", "run=0ffffffffffffffff"));
	T_CHECK(refused("run=xyz", "run=xyz"));
	T_CHECK(refused("run=-1", "run=-1"));
	T_CHECK(taken("parent=4294967295"));
	T_EQ(s.parent, UINT32_MAX);
	T_CHECK(refused("parent=4294967296", "parent=4294967296"));
	T_CHECK(refused("parent=", "parent="));
}

/* As long as fits, and one more; never over the end. */
T_TEST(directories)
{
	char text[2048];
	size_t most = sizeof s.recorder.dir - 1;

	for (size_t n = most - 2; n <= most + 3; n++) {
		memcpy(text, "dir=/", 5);
		memset(text + 5, 'd', n - 1);
		memcpy(text + 4 + n, ",mode=exact", 12);
		if (n <= most) {
			T_CHECK(taken(text));
			T_EQ(strlen(s.recorder.dir), n);
			T_EQ(s.recorder.mode, REC_MODE_EXACT);
		} else {
			T_CHECK(refused(text, text));
		}
	}
	T_CHECK(refused("dir=", "dir="));
	T_CHECK(refused("dir=relative", "dir=relative"));
	T_CHECK(taken("dir=/with=signs and spaces"));
	T_STR(s.recorder.dir, "/with=signs and spaces");
}

/* Which patterns there are is test_naming's; here, that bad ones switch recording off. */
T_TEST(names)
{
	char text[2 * NAMING_PATTERN_BYTES];
	size_t most = sizeof s.recorder.name - 1;

	T_CHECK(taken("mode=exact,name=a=%n"));
	T_STR(s.recorder.name, "a=%n");
	T_CHECK(refused("mode=exact,name=", "name="));
	T_CHECK(refused("mode=exact,name=a/b", "name=a/b"));
	T_CHECK(refused("mode=exact,name=%e.%q", "name=%e.%q"));
	T_CHECK(refused("mode=exact,name=%", "name=%"));
	for (size_t n = most - 1; n <= most + 1; n++) {
		memcpy(text, "name=", 5);
		memset(text + 5, 'n', n);
		text[5 + n] = '\0';
		if (n <= most) {
			T_CHECK(taken(text));
			T_EQ(strlen(s.recorder.name), n);
		} else {
			T_CHECK(refused(text, text));
		}
	}
}

T_TEST(how_many_to_keep)
{
	T_CHECK(taken("keep=0"));
	T_EQ(s.recorder.keep, 0);
	T_CHECK(taken("keep=4294967294"));
	T_EQ(s.recorder.keep, UINT32_MAX - 1);
	T_CHECK(refused("keep=4294967295", "keep=4294967295"));
	T_CHECK(refused("keep=", "keep="));
	T_CHECK(refused("keep=-1", "keep=-1"));
	T_CHECK(refused("keep=all", "keep=all"));
}

T_TEST(whose_settings)
{
	T_CHECK(taken("compat=jemalloc"));
	T_STR(s.compat, "jemalloc");
	T_CHECK(taken("compat=gperftools"));
	T_STR(s.compat, "gperftools");
	T_CHECK(taken("compat=none,mode=exact"));
	T_STR(s.compat, "");
	T_CHECK(refused("compat=tcmalloc", "compat=tcmalloc"));
	T_CHECK(refused("compat=", "compat="));
}

/* Anything at all: an answer, and off unless all of it was understood. */
T_TEST(random_text)
{
	static const char letters[] = "mode=exact,rate=1K,dir=/x\x80\xff ";
	uint64_t x = 2654435761;
	unsigned off = 0, on = 0;

	for (unsigned i = 0; i < 200000; i++) {
		char text[24];
		size_t n;

		x = x * UINT64_C(6364136223846793005) + 1;
		n = (x >> 33) % (sizeof text - 1);
		memcpy(text, letters + (x >> 40) % 4, n);
		text[n] = '\0';
		if (n > 0 && (x >> 50) % 4 != 0)
			text[(x >> 45) % n] = letters[(x >> 55) % (sizeof letters - 1)];
		if (settings_parse(text, &s, &bad)) {
			on++;
			T_CHECK(bad == NULL);
		} else {
			off++;
			T_CHECK(s.recorder.mode == REC_MODE_OFF);
			T_CHECK(bad >= text && bad <= text + n);
		}
	}
	T_CHECK(on > 1000);
	T_CHECK(off > 1000);
}

T_MAIN()
