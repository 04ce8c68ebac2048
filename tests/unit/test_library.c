/* SPDX-License-Identifier: MIT */
/* test_library.c -- which frames are a standard library's, and names that are cut. */
#include "t.h"
#include "tool/analyze/sites/library.h"
#include "tool/render/figure.h"
#include "tool/util/buf.h"

T_TEST(sources_of_rust)
{
	T_CHECK(library_file(
		"/rustc/90b35a6239c3d8bdabc530a6a0816f7ff89a0aaf/library/alloc/"
		"src/vec/mod.rs"));
	T_CHECK(library_file("/opt/rustup/toolchains/stable/lib/rustlib/src/rust/library/"
			     "core/src/ops/function.rs"));
	T_CHECK(library_file("/usr/src/rustc-1.63.0/library/alloc/src/raw_vec.rs"));
	T_CHECK(!library_file("/usr/src/rustc-1.63.0/src/tools/cargo/main.rs"));
	T_CHECK(!library_file("/opt/me/rust/library/main.rs"));
}

T_TEST(one_ellipsis)
{
	struct buf b = {0};

	buf_add_str(&b, "alloc::raw_vec::RawVec<\xe2\x80\xa6>::with_capacity_in");
	T_CHECK(figure_cut_middle(&b, 0, 31));
	T_STR(buf_str(&b), "alloc::raw\xe2\x80\xa6>::with_capacity_in");
	buf_clear(&b);
	buf_add_str(&b, "abcdefghijklmnop");
	T_CHECK(figure_cut_middle(&b, 0, 7));
	T_STR(buf_str(&b), "ab\xe2\x80\xa6mnop");
	buf_done(&b);
}

T_MAIN()
