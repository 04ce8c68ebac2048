/* SPDX-License-Identifier: MIT */
/* test_loaded.c -- the table that takes the place of _dl_find_object says the same. */
/* sources: src/guest/hooks/loaded.c */
#include "t.h"

#include <link.h>
#include <stdint.h>
#include <unistd.h>

#include "guest/hooks/loaded.h"

/* One that no test is linked with. */
static const char late_name[] = "libresolv.so.2";

static bool
same(const void *at)
{
	struct dl_find_object theirs, ours;

	if (!loaded_in_table(at, &ours) ||
	    _dl_find_object((void *)(uintptr_t)at, &theirs) != 0)
		return false;
	/* glibc may know each segment of the program by itself. */
	return ours.dlfo_link_map == theirs.dlfo_link_map &&
	       ours.dlfo_eh_frame == theirs.dlfo_eh_frame &&
	       ours.dlfo_map_start <= theirs.dlfo_map_start &&
	       ours.dlfo_map_end >= theirs.dlfo_map_end;
}

T_TEST(nothing_before_the_first_refresh)
{
	struct dl_find_object o;

	T_CHECK(!loaded_in_table((const void *)(uintptr_t)same, &o));
}

T_TEST(the_objects_of_the_start)
{
	struct dl_find_object o;
	int local;

	loaded_refresh();
	T_CHECK(same((const void *)(uintptr_t)same));
	T_CHECK(same((const void *)(uintptr_t)late_name));
	T_CHECK(same(dlsym(RTLD_DEFAULT, "getpid")));
	T_CHECK(same((const void *)_r_debug.r_ldbase));
	T_CHECK(!loaded_in_table(&local, &o));
	T_CHECK(!loaded_in_table(NULL, &o));
	T_CHECK(!loaded_in_table((const void *)UINTPTR_MAX, &o));
}

T_TEST(one_that_comes_and_goes)
{
	struct dl_find_object o;
	void *lib = dlopen(late_name, RTLD_NOW);
	const char *at = lib == NULL ? NULL : dlsym(lib, "ns_get16");

	if (at == NULL)
		T_SKIP("no libresolv here");
	T_CHECK(!loaded_in_table(at, &o));
	loaded_refresh();
	T_CHECK(same(at));
	T_EQ(loaded_in_table(at, &o) ? o.dlfo_link_map->l_addr : 0,
	     ((struct link_map *)lib)->l_addr);
	loaded_closing(true);
	T_CHECK(!loaded_in_table(at, &o)); /* it may be gone any moment */
	T_CHECK(same((const void *)(uintptr_t)same));
	dlclose(lib);
	loaded_closing(false);
	T_CHECK(!loaded_in_table(at, &o));
	T_CHECK(same((const void *)(uintptr_t)same));
}

/* A fork in the middle of dlclose: the child's own call goes on and ends. */
T_TEST(forked_while_one_is_closed)
{
	struct dl_find_object o;
	void *lib = dlopen(late_name, RTLD_NOW);
	const char *at = lib == NULL ? NULL : dlsym(lib, "ns_get16");

	if (at == NULL)
		T_SKIP("no libresolv here");
	loaded_closing(true);
	loaded_forked();
	loaded_closing(false);
	T_CHECK(loaded_in_table(at, &o));
	dlclose(lib);
}

T_MAIN()
