/* SPDX-License-Identifier: MIT */
/* test_peer_names.c -- short names as jeprof makes them, and figures as google/pprof
 * writes them. */
#include "t.h"
#include "tool/compat/jeprof/jeprof_frames.h"
#include "tool/compat/jeprof/peer_tables.h"
#include "tool/compat/pprof/peer_pprof_graph.h"

static const char *
shortened(const char *full)
{
	static struct buf b;

	buf_clear(&b);
	jeprof_short_name(&b, full);
	return buf_str(&b);
}

T_TEST(short_names)
{
	T_STR(shortened("main"), "main");
	T_STR(shortened("app::chain(int)"), "app::chain");
	T_STR(shortened("app::Box<int>* app::make<int>(int)"), "app::make");
	T_STR(shortened("std::map<int, std::pair<int, int> >::find(int const&) const"),
	      "std::map::find");
	T_STR(shortened("void f(void (*)(int))"), "void f");
	T_STR(shortened("A::operator->()"), "A::operator->");
	T_STR(shortened("main::<lambda()>::operator()"), "main::<lambda>::operator");
	T_STR(shortened(")("), ")(");
	T_STR(shortened(""), "");
}

static const char *
figure(double v, const char *unit, bool in_bytes)
{
	static struct buf b;
	struct pprof_opts o = {.unit = unit, .in_bytes = in_bytes};

	buf_clear(&b);
	pprof_figure(&b, &o, v);
	return buf_str(&b);
}

T_TEST(pprof_figures)
{
	T_STR(figure(0, "auto", true), "0");
	T_STR(figure(1023, "auto", true), "1023B");
	T_STR(figure(1024, "auto", true), "1kB");
	T_STR(figure(1803264, "auto", true), "1.72MB");
	T_STR(figure(1803264, "kb", true), "1761kB");
	T_STR(figure(-2048, "auto", true), "-2kB");
	T_STR(figure(748, "auto", false), "748");
}

static const char *
percent(double v, double total)
{
	static struct buf b;

	buf_clear(&b);
	pprof_percent(&b, v, total);
	return buf_str(&b);
}

T_TEST(percents)
{
	T_STR(percent(99.96, 100), "  100%");
	T_STR(percent(98.08, 100), "98.08%");
	T_STR(percent(0.069, 100), "0.069%");
	T_STR(percent(0, 100), "    0%");
	T_STR(percent(5, 0), "    0%");
}

T_TEST(jeprof_figures)
{
	struct peer_unit mb = {0}, bytes = {.bytes = true};
	struct buf b = {0};

	peer_figure(&b, &mb, 7008272, false);
	peer_figure(&b, &bytes, 7008272.9, false); /* cut, as Perl's %d does */
	peer_figure(&b, &bytes, 0, true);
	T_STR(buf_str(&b), "6.77008272.");
	buf_clear(&b);
	peer_percent(&b, 1, 0);
	peer_percent(&b, 0, 0);
	peer_percent(&b, 1, 3);
	T_STR(buf_str(&b), "+infnan33.3%");
	buf_done(&b);
}

T_MAIN()
