/* SPDX-License-Identifier: MIT */
/* test_screen.c -- the screen of `seep top` without a terminal: what is where at several
 * sizes, names that would harm a terminal, order, filter, and what keys do. */
#include "tool/render/screen/screen.h"

#include "t.h"

static const int64_t series[] = {0, 10 << 20, 20 << 20, 40 << 20};

static struct top_row *
add_row(struct top_view *v, uint64_t id, const char *name, const char *where)
{
	struct top_row *r = vec_add(&v->rows);

	*r = (struct top_row){.id = id,
			      .name = name,
			      .where = where,
			      .caller = "",
			      .verdict = VERDICT_STEADY,
			      .age_ms = TOP_AGE_UNKNOWN};
	return r;
}

/* Three sites, that each come first in one order. */
static struct top_view
a_view(void)
{
	struct top_view v = {.kind = TOP_LIVE,
			     .name = "server",
			     .pid = 4711,
			     .processes = 1,
			     .recorded_ms = 90000,
			     .word = VERDICT_GROWING,
			     .verdict = "GROWING  1 site: +39.2 MiB/min\n",
			     .exact = "exact, nothing missed",
			     .end = "",
			     .live_bytes = 40 << 20,
			     .live_blocks = 12345,
			     .allocs = 20000,
			     .frees = 7655,
			     .rss_kib = 81920,
			     .anon_kib = 61440,
			     .stack_kib = 1024,
			     .static_kib = 512,
			     .own_kib = 2048,
			     .live = series,
			     .nseries = 4};
	struct top_row *r = add_row(&v, 11, "cache_put", "grow.c:5");

	r->caller = "main grow.c:7";
	r->verdict = VERDICT_GROWING;
	r->has_rate = true;
	r->slope = 39.2 * (1 << 20) / 60;
	r->error = 1.7 * (1 << 20) / 60;
	r->live_bytes = 6 << 20;
	r->live_blocks = 12288;
	r->allocs = 12288;
	r = add_row(&v, 22, "lru_insert", "lru.c:88");
	r->live_bytes = 34 << 20;
	r->live_blocks = 50;
	r->allocs = r->frees = 5000;
	r->age_ms = 5000;
	r->mark_bytes = 30 << 20;
	r = add_row(&v, 33, "parse", "http.c:201");
	r->allocs_per_s = 2712;
	r->age_ms = 90000;
	r->mark_bytes = 1 << 20;
	return v;
}

static const char *
drawn(const struct top_view *v, const struct screen_ui *ui, unsigned width,
      unsigned height)
{
	static struct buf out;
	struct cells s;

	screen_draw(v, ui, width, height, &s);
	buf_clear(&out);
	cells_text(&out, &s);
	cells_done(&s);
	return buf_str(&out);
}

/* The line that contains a text; "" for none. */
static const char *
line_with(const char *screen, const char *text)
{
	static char line[512];
	const char *at = strstr(screen, text), *end;

	line[0] = '\0';
	if (at == NULL)
		return line;
	while (at > screen && at[-1] != '\n')
		at--;
	end = strchr(at, '\n');
	snprintf(line, sizeof line, "%.*s", (int)(end - at), at);
	return line;
}

T_TEST(a_narrow_screen)
{
	struct top_view v = a_view();
	struct screen_ui ui = {0};

	T_STR(drawn(&v, &ui, 80, 12),
	      "seep top  server (4711)  recorded for 90 s  exact, nothing missed\n"
	      "GROWING  1 site: +39.2 MiB/min\n"
	      "live 40.0 MiB \xe2\x96\x81\xe2\x96\x82\xe2\x96\x84\xe2\x96\x88  RSS 80.0 MiB\n"
	      "in 12,345 blocks \xc2\xb7 peak 0 B \xc2\xb7 20,000 allocs (0/s), 7,655 frees\n"
	      "RSS = live 40.0 MiB + freed or mapped 18.5 MiB + stacks 1.00 MiB + static 512 "
	      "K\xe2\x80\xa6\n"
	      "                                                                    sort: growth\n"
	      "          GROWTH/MIN      LIVE    BLOCKS  FREED  SITE\n"
	      "\xe2\x97\x90    +39.2 \xc2\xb1 1.7 MiB  6.00 MiB    12,288    0 %  cache_put "
	      "grow.c:5 \xe2\x86\x90 main grow\xe2\x80\xa6\n"
	      "\xe2\x97\x8b                     34.0 MiB        50  100 %  lru_insert lru.c:88\n"
	      "\xe2\x97\x8b                          0 B         0      \xe2\x80\x93  parse "
	      "http.c:201\n"
	      "\n\n");
	top_view_done(&v);
}

T_TEST(a_wide_screen_has_all_columns)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.interactive = true};
	const char *s;

	v.mark = "first";
	v.mark_ms = 60000;
	s = drawn(&v, &ui, 200, 50);
	T_STR(line_with(s, "VERDICT"),
	      "  VERDICT             GROWTH/MIN      SINCE      LIVE    BLOCKS  FREED   OLDEST"
	      "   ALLOC/S TREND         SITE");
	T_STR(line_with(s, "lru_insert"),
	      "\xe2\x97\x8b STEADY                          +4.00 MiB  34.0 MiB        50  100 %"
	      "   5.00 s         0               lru_insert lru.c:88");
	T_CHECK(strstr(s, "since mark \"first\" at 60 s") != NULL);
	T_CHECK(strstr(s, "+ files 18.0 MiB + seep 2.00 MiB\n") != NULL);
	T_CHECK(strstr(s, "Enter:stacks") != NULL);
	top_view_done(&v);
}

/* Every size is filled and none overrun, also those that are too small for anything. */
T_TEST(any_size)
{
	struct top_view v = a_view();
	struct top_frame frame = {"f", "a.c:1", "x = y;"};

	v.open = 11;
	vec_push(&v.stacks, (struct top_stack){.frames = &frame, .nframes = 1});
	for (unsigned width = 1; width < 220; width += 7) {
		for (unsigned height = 1; height < 60; height += 3) {
			for (unsigned how = 0; how < 4; how++) {
				struct screen_ui ui = {.interactive = how & 1,
						       .help = how & 2,
						       .asking = how == 3};
				struct cells s;

				screen_draw(&v, &ui, width, height, &s);
				T_EQ(s.width, width);
				T_EQ(s.height, height);
				cells_done(&s);
			}
		}
	}
	top_view_done(&v);
}

T_TEST(orders)
{
	struct top_view v = a_view();
	static const struct {
		enum screen_sort sort;
		uint32_t first;
	} want[] = {{SCREEN_GROWTH, 0},
		    {SCREEN_LIVE, 1},
		    {SCREEN_RATE, 2},
		    {SCREEN_AGE, 2},
		    {SCREEN_SINCE, 0}};
	uint32_t *order;

	for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
		struct screen_ui ui = {.sort = want[i].sort};

		T_EQ(screen_order(&v, &ui, &order), 3);
		T_EQ(order[0], want[i].first);
		free(order);
	}
	/* what libc keeps is last, however large */
	v.rows.data[1].kept = true;
	T_EQ(screen_order(&v, &(struct screen_ui){.sort = SCREEN_LIVE}, &order), 3);
	T_EQ(order[2], 1);
	free(order);
	/* the caller counts, case does not */
	T_EQ(screen_order(&v, &(struct screen_ui){.filter = "MAIN"}, &order), 1);
	T_EQ(order[0], 0);
	free(order);
	top_view_done(&v);
}

/* Columns of rate and age are there when rows are sorted by them. */
T_TEST(narrow_columns_follow_the_order)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.sort = SCREEN_RATE};

	T_CHECK(strstr(line_with(drawn(&v, &ui, 80, 24), "parse"), "2,712") != NULL);
	ui.sort = SCREEN_AGE;
	T_CHECK(strstr(line_with(drawn(&v, &ui, 80, 24), "parse"), "90 s") != NULL);
	top_view_done(&v);
}

T_TEST(more_rows_than_lines)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.sort = SCREEN_LIVE, .selected = 1000 + 57};
	static char names[100][8];
	const char *s;

	for (unsigned i = 0; i < 100; i++) {
		snprintf(names[i], sizeof names[i], "f%u", i);
		add_row(&v, 1000 + i, names[i], "")->live_bytes = 1000 - i;
	}
	T_EQ(screen_height(&v, &ui, 80, 5), 6 + 1 + 5 + 1);
	s = drawn(&v, &ui, 80, 24);
	/* the page that the selected row is on, and what comes after it */
	T_CHECK(strstr(s, "  f57\n") != NULL);
	T_CHECK(strstr(s, "  f56\n") != NULL);
	T_CHECK(strstr(s, "lru_insert") == NULL);
	T_STR(line_with(s, "more sites"), "  39 more sites");
	top_view_done(&v);
}

T_TEST(names_do_no_harm)
{
	struct top_view v = a_view();
	struct screen_ui ui = {0};

	v.rows.data[0].name = "a\033[2Jb\xe2\x80\xae"
			      "c\xff"
			      "d\xcc\x81";
	v.rows.data[0].where = "";
	v.rows.data[1].name = "\xe4\xb8\xad\xe6\x96\x87"; /* two columns each */
	T_CHECK(strstr(drawn(&v, &ui, 80, 24), "  a?[2Jb?c?d? \xe2\x86\x90 main") !=
		NULL);
	T_EQ(cells_width(v.rows.data[1].name), 4);
	T_CHECK(strstr(drawn(&v, &ui, 80, 24), "  \xe4\xb8\xad\xe6\x96\x87 lru.c:88") !=
		NULL);
	ui.ascii = true;
	for (const char *c = drawn(&v, &ui, 80, 24); *c != '\0'; c++)
		T_CHECK(*c == '\n' || (*c >= ' ' && *c < 0x7f));
	top_view_done(&v);
}

T_TEST(an_ended_process)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.interactive = true};
	const char *s;

	v.ended = true;
	v.end = "killed by SIGKILL after 90 s";
	s = drawn(&v, &ui, 80, 24);
	T_CHECK(strstr(s, "server (4711)  killed by SIGKILL after 90 s") != NULL);
	T_CHECK(strstr(s, "the process has ended: this is its last state") != NULL);
	T_CHECK(strstr(s, "RSS = ") == NULL);
	top_view_done(&v);
}

T_TEST(keys)
{
	struct top_view v = a_view();
	struct screen_ui ui = {0};

	T_EQ(screen_key(&ui, &v, 'q', 24), SCREEN_QUIT);
	T_EQ(screen_key(&ui, &v, SCREEN_DOWN, 24), SCREEN_NOTHING);
	T_EQ(ui.selected, 22);
	screen_key(&ui, &v, 'j', 24);
	screen_key(&ui, &v, 'j', 24);
	T_EQ(ui.selected, 33);
	screen_key(&ui, &v, SCREEN_HOME, 24);
	T_EQ(ui.selected, 11);
	screen_key(&ui, &v, SCREEN_ENTER, 24);
	T_EQ(ui.open, 11);
	screen_key(&ui, &v, 'j', 24);
	T_EQ(ui.open, 22);
	screen_key(&ui, &v, SCREEN_ESCAPE, 24);
	T_EQ(ui.open, 0);
	/* without a mark there is no change since one */
	for (int i = 0; i < 4; i++)
		screen_key(&ui, &v, 's', 24);
	T_EQ(ui.sort, SCREEN_GROWTH);
	T_EQ(screen_key(&ui, &v, 'm', 24), SCREEN_MARK);
	T_EQ(screen_key(&ui, &v, 'd', 24), SCREEN_NOTHING);
	T_STR(ui.message, "there is no mark; m sets one");
	T_EQ(screen_key(&ui, &v, 'p', 24), SCREEN_NOTHING);
	T_CHECK(ui.frozen);
	T_EQ(screen_key(&ui, &v, 'p', 24), SCREEN_LOOK);
	T_CHECK(!ui.frozen);
	screen_key(&ui, &v, '?', 24);
	T_CHECK(ui.help);
	T_EQ(screen_key(&ui, &v, 'm', 24), SCREEN_NOTHING);
	T_CHECK(!ui.help);
	top_view_done(&v);
}

T_TEST(long_messages_have_several_lines)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.interactive = true};
	const char *s;

	snprintf(
		ui.message, sizeof ui.message,
		"4711: its memory belongs to another user, who alone may look at it; run "
		"seep top as that user, or as root: sudo seep top 4711");
	s = drawn(&v, &ui, 80, 12);
	T_CHECK(strstr(s, "\n4711: its memory belongs") != NULL);
	T_CHECK(strstr(s, "sudo seep top 4711\n") != NULL);
	T_CHECK(strstr(s, "lru_insert") != NULL);
	top_view_done(&v);
}

T_TEST(typing_a_filter)
{
	struct top_view v = a_view();
	struct screen_ui ui = {0};

	screen_key(&ui, &v, '/', 24);
	for (const char *c = "quit"; *c != '\0'; c++)
		T_EQ(screen_key(&ui, &v, (uint32_t)*c, 24), SCREEN_NOTHING);
	screen_key(&ui, &v, SCREEN_BACKSPACE, 24);
	T_STR(ui.filter, "qui");
	for (int i = 0; i < 200; i++)
		screen_key(&ui, &v, 'x', 24);
	T_EQ(strlen(ui.filter), SCREEN_TEXT - 1);
	screen_key(&ui, &v, SCREEN_ENTER, 24);
	T_CHECK(!ui.typing);
	T_CHECK(strstr(drawn(&v, &ui, 80, 24), "no site passes the filter") != NULL);
	screen_key(&ui, &v, SCREEN_ESCAPE, 24);
	T_STR(ui.filter, "");
	top_view_done(&v);
}

T_TEST(marks_from_the_newest_to_none)
{
	struct top_view v = a_view();

	vec_push(&v.marks, (struct top_mark){.name = "first"});
	vec_push(&v.marks, (struct top_mark){.name = "second"});
	T_STR(screen_next_mark(&v), "second");
	v.mark = "second";
	T_STR(screen_next_mark(&v), "first");
	v.mark = "first";
	T_STR(screen_next_mark(&v), NULL);
	top_view_done(&v);
}

T_TEST(attaching_asks_first)
{
	struct top_view v = a_view();
	struct screen_ui ui = {.interactive = true};

	T_EQ(screen_key(&ui, &v, 'a', 24), SCREEN_NOTHING);
	T_STR(ui.message, "the process is recorded already");
	v.kind = TOP_REGIONS;
	T_EQ(screen_key(&ui, &v, 'a', 24), SCREEN_ASK);
	ui.asking = true;
	ui.attach_ms = 3;
	T_CHECK(strstr(drawn(&v, &ui, 80, 24),
		       "Inject the recorder into 4711? 2 stops of ~3 ms; removed on quit. y/n") !=
		NULL);
	T_EQ(screen_key(&ui, &v, 'q', 24), SCREEN_NOTHING);
	T_CHECK(!ui.asking);
	ui.asking = true;
	T_EQ(screen_key(&ui, &v, 'y', 24), SCREEN_ATTACH);
	top_view_done(&v);
}

T_TEST(json)
{
	struct top_view v = a_view();
	struct buf b = {0};

	screen_json(&b, &v, &(struct screen_ui){.sort = SCREEN_LIVE}, 1);
	T_CHECK(strstr(buf_str(&b), "\"live_bytes\":41943040,") != NULL);
	T_CHECK(strstr(buf_str(&b), "\"rows\":[{\"function\":\"lru_insert\",") != NULL);
	T_CHECK(strstr(buf_str(&b), "\"rows_not_listed\":2}") != NULL);
	T_CHECK(strstr(buf_str(&b), "\"change_bytes\":null") != NULL);
	buf_done(&b);
	top_view_done(&v);
}

T_MAIN()
