/* SPDX-License-Identifier: MIT */
/* test_skip_fold.c -- frames of language libraries are folded down to the program's own,
 * and a program that only looks like a library keeps its frames. */
#include "t.h"
#include "t_prof.h"
#include "tool/analyze/sites/library.h"
#include "tool/analyze/sites/sites.h"
#include "tool/analyze/sites/skip.h"

#define STL "/usr/include/c++/12/bits/"
#define RUST "/rustc/4a7d/library/"

static const struct skip_opts folding = {.fold = true};

/* The functions shown of the stack at `node`, innermost first, with blanks between. */
static char *
shown(const struct prof *p, const struct skip_opts *o, uint32_t node)
{
	static char text[1024];
	struct skip *s = skip_new(p, o);
	struct skip_stack st = {0};

	text[0] = '\0';
	skip_stack(s, node, &st);
	for (size_t i = 0; i < st.len; i++) {
		const struct prof_frame *f = skip_frame(p, st.data[i]);
		size_t n = strlen(text);

		snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? " " : "",
			 f != NULL ? prof_text(p, f->function) : "?");
	}
	vec_done(&st);
	skip_free(s);
	return text;
}

/* Gives the functions that begin with `prefix` a name in the symbol table. */
static void
link_as(struct prof *p, const char *prefix, const char *linkage)
{
	for (uint32_t i = 0; i < p->nframes; i++) {
		if (strncmp(prof_text(p, p->frames[i].function), prefix,
			    strlen(prefix)) == 0)
			p->frames[i].linkage = prof_str(p, linkage);
	}
}

T_TEST(a_shared_ptr_cycle_shows_its_own_line)
{
	struct prof *p = prof_new();
	uint32_t node = TP_STACK(
		p, "operator___new - libseep.so",
		"<std::__shared_count<2>::__shared_count " STL "shared_ptr_base.h:969 a",
		"<std::make_shared<node> " STL "shared_ptr.h:1010 a",
		"cycle leak.cc:13 a", "std::for_each<int> " STL "stl_algo.h:3820 a",
		"main leak.cc:40 a", "__libc_start_main_impl - libc.so.6", "_start - a");

	T_STR(shown(p, &folding, node), "cycle main");
	T_STR(shown(p, NULL, node),
	      "std::__shared_count<2>::__shared_count std::make_shared<node> cycle "
	      "std::for_each<int> main");
	T_STR(shown(p, &(struct skip_opts){.off = true, .fold = true}, node),
	      "operator new std::__shared_count<2>::__shared_count "
	      "std::make_shared<node> cycle std::for_each<int> main "
	      "__libc_start_main_impl _start");
	prof_free(p);
}

T_TEST(runtimes_around_a_thread_and_a_rust_main_are_folded)
{
	struct prof *p = prof_new();
	uint32_t thread = TP_STACK(
		p, "malloc - libc.so.6", "std::string::_M_construct - libstdc++.so.6",
		"work leak.cc:33 a", "std::thread::_State_impl<0>::_M_run " STL "t.h:1 a",
		"0xd44a3 - libstdc++.so.6", "start_thread - libc.so.6");
	uint32_t once =
		TP_STACK(p, "malloc - libc.so.6", "std::init - libstdc++.so.6",
			 "pthread_once - libc.so.6", "std::call_once " STL "m:1 a",
			 "setup s.cc:3 a", "main s.cc:9 a");
	uint32_t rust = TP_STACK(
		p, "__rdl_alloc - r",
		"<alloc::rc::Rc<T>::new " RUST "alloc/src/rc.rs:420 r",
		"r::cycle r.rs:6 r", "r::main r.rs:17 r",
		"core::ops::function::FnOnce::call_once " RUST "core/src/f.rs:250 r",
		"std::rt::lang_start " RUST "std/src/rt.rs:205 r", "main - r",
		"__libc_start_main_impl - libc.so.6", "_start - r");

	T_STR(shown(p, &folding, thread), "work");
	T_STR(shown(p, &folding, once), "setup main");
	T_STR(shown(p, &folding, rust), "r::cycle r::main");
	prof_free(p);
}

T_TEST(strdup_stays_in_front_of_its_caller)
{
	struct prof *p = prof_new();
	uint32_t node = TP_STACK(p, "malloc - libc.so.6", "strdup - libc.so.6",
				 "copy c.c:4 a", "main c.c:9 a");
	struct skip *s = skip_new(p, &folding);
	struct skip_pos pos = skip_first(s, node);

	T_STR(shown(p, &folding, node), "strdup copy main");
	T_CHECK(!skip_is_own(s, pos));
	T_CHECK(skip_next(s, &pos));
	T_CHECK(skip_is_own(s, pos));
	skip_free(s);
	prof_free(p);
}

/* A file decides where it is known, the mangling where not. */
T_TEST(a_program_that_looks_like_a_library_keeps_its_frames)
{
	struct prof *p = prof_new();
	uint32_t special =
		TP_STACK(p, "malloc - libc.so.6", "std::hash<Key>::operator() key.h:7 a",
			 "main k.cc:9 a");
	uint32_t own = TP_STACK(p, "malloc - libc.so.6", "core::pool::grow - a",
				"alloc::table - a", "main - a");
	uint32_t like = TP_STACK(p, "malloc - libc.so.6", "stdx::make - a", "main - a");
	uint32_t rust = TP_STACK(p, "malloc - libc.so.6", "alloc::vec::from_elem - r",
				 "<core::iter::Map<I> as F>::next - r", "r::main - r");

	link_as(p, "core::pool", "_ZN4core4pool4growEv");
	link_as(p, "alloc::table", "_ZN5alloc5tableEv");
	link_as(p, "alloc::vec", "_ZN5alloc3vec9from_elem17h0123456789abcdefE");
	link_as(p, "<core::iter", "_RNvXs_NtCsabc_4core4iter");
	link_as(p, "core::iter",
		"_RNvXs_NtCsabc_4core4iter"); /* `<` marks inlined here */
	T_STR(shown(p, &folding, special), "std::hash<Key>::operator() main");
	T_STR(shown(p, &folding, own), "core::pool::grow alloc::table main");
	T_STR(shown(p, &folding, like), "stdx::make main");
	T_STR(shown(p, &folding, rust), "r::main");
	T_CHECK(!library_file("/src/mine/include/c++/mine.h"));
	T_CHECK(library_file("/usr/lib/llvm-14/include/c++/v1/vector"));
	T_CHECK(library_function("__rust_try", ""));
	T_CHECK(!library_function("rust::main", ""));
	prof_free(p);
}

T_TEST(a_stack_without_the_program_is_not_folded)
{
	struct prof *p = prof_new();
	uint32_t all =
		TP_STACK(p, "malloc - libc.so.6", "std::locale::init - libstdc++.so.6",
			 "std::ios_base::Init::Init - libstdc++.so.6",
			 "_dl_init - ld-linux-x86-64.so.2");
	uint32_t gap = TP_STACK(p, "malloc - libc.so.6", "std::deep - libstdc++.so.6",
				"std::deeper - libstdc++.so.6");

	T_STR(shown(p, &folding, all), "std::locale::init std::ios_base::Init::Init");
	T_STR(shown(p, &folding, gap), "std::deep std::deeper");
	T_STR(shown(p, &folding, 0), "");
	prof_free(p);
}

/* Nodes and strings of a map, put in by one line of the program, are one place. */
T_TEST(places_are_the_lines_of_the_program)
{
	struct prof *p = prof_new();
	uint32_t process = tp_process(p, "/bin/a", 9, 5);
	uint32_t nodes = TP_STACK(p, "operator___new - libseep.so",
				  "<std::map<int>::operator[] " STL "stl_map.h:511 a",
				  "fill leak.cc:25 a", "main leak.cc:42 a");
	uint32_t texts = TP_STACK(p, "operator___new - libseep.so",
				  "std::string::_M_construct - libstdc++.so.6",
				  "fill leak.cc:25 a", "main leak.cc:42 a");
	struct skip *s = skip_new(p, &folding), *all = skip_new(p, NULL);
	struct sites ss;

	for (uint32_t i = 0; i < 2; i++) {
		uint32_t site = prof_add_site(p);

		p->sites[site] = (struct prof_site){.process = process,
						    .node = i == 0 ? nodes : texts,
						    .allocs = 17,
						    .live_blocks = 17,
						    .alloc_bytes = 1700,
						    .live_bytes = 1700};
	}
	sites_init(&ss, p, s, &(struct sites_query){.depth = 8});
	T_EQ(ss.nrows, 1);
	T_EQ(ss.rows[0].stacks, 2);
	T_EQ(ss.rows[0].t.live_blocks, 34);
	sites_done(&ss);
	sites_init(&ss, p, all, &(struct sites_query){.depth = 8});
	T_EQ(ss.nrows, 2);
	sites_done(&ss);
	skip_free(s);
	skip_free(all);
	prof_free(p);
}

T_MAIN()
