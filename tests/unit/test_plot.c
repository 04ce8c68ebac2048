/* SPDX-License-Identifier: MIT */
/* test_plot.c -- the plot of --timeline, letter for letter: of seven places whose steps
 * are at known times, with two marks and RSS (tests/golden/plot). With PLOT_WRITE=1 the
 * goldens are written anew. */
#include <libgen.h>
#include <limits.h>
#include <unistd.h>

#include "shared/compiler.h"
#include "t.h"
#include "t_prof.h"
#include "tool/model/series.h"
#include "tool/render/views/view.h"
#include "tool/util/file.h"

/* 1,000 ms with a moment every 100. Each place has something from one moment on, and
 * from another one on something else. */
static const struct {
	const char *frame;
	uint32_t from, then;
	int64_t had, has;
} places[] = {
	{"parse parse.c:120 prog", 1, 8, 40 << 20, 2 << 20},
	{"cache cache.c:17 prog", 2, 10, 24 << 20, 24 << 20},
	{"std::vector<int>::push_back(int&&) vector.h:1287 prog", 0, 5, 1 << 20,
	 16 << 20},
	{"index index.c:33 prog", 4, 6, 12 << 20, 0},
	{"names names.c:7 prog", 3, 9, 8 << 20, 9 << 20},
	{"small small.c:1 prog", 0, 10, 3 << 20, 3 << 20},
	{"tiny tiny.c:2 prog", 6, 10, 2 << 20, 1000003},
};

static int64_t
had(unsigned place, uint32_t moment)
{
	return moment < places[place].from   ? 0
	       : moment < places[place].then ? places[place].had
					     : places[place].has;
}

static struct prof *
sample(void)
{
	struct prof *p = prof_new();
	uint32_t pr = tp_process(p, "/opt/prog", 11, 1000);
	static const char *const marks[] = {"loaded", "half"};

	for (uint32_t m = 0; m <= 10; m++) {
		uint32_t row = prof_add_tick(p);
		int64_t sum = 0;

		for (unsigned i = 0; i < ARRAY_LEN(places); i++)
			sum += had(i, m);
		p->ticks[row] = (struct prof_tick){pr, m * 100, sum};
		row = prof_add_point(p);
		p->points[row] = (struct prof_point){.process = pr,
						     .ms = m * 100,
						     .rss_kib = (m * 13 + 5) << 10,
						     .live_bytes = sum};
	}
	for (unsigned i = 0; i < ARRAY_LEN(places); i++) {
		uint32_t site = p->nsites;

		tp_site(p, pr,
			tp_stack(p, (const char *const[]){places[i].frame,
							  "main a.c:90 prog", NULL}),
			3, 2, (uint64_t)(places[i].had + places[i].has),
			(uint64_t)places[i].had);
		for (uint32_t m = 0; m <= 10; m++) {
			if (had(i, m) != (m > 0 ? had(i, m - 1) : 0)) {
				uint32_t row = prof_add_step(p);

				p->steps[row] = (struct prof_step){site, m, had(i, m)};
			}
		}
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t row = prof_add_mark(p);

		p->marks[row] = (struct prof_mark){.process = pr,
						   .number = i + 1,
						   .name = prof_str(p, marks[i]),
						   .ms = 210 + i * 300,
						   .live_bytes = 1009 + i};
	}
	return p;
}

/* __FILE__ is as the build folder, two above this binary, sees it. */
static const char *
golden(const char *name)
{
	static char path[3 * PATH_MAX];
	char exe[PATH_MAX] = "", file[] = __FILE__;

	if (file[0] != '/' && readlink("/proc/self/exe", exe, sizeof exe - 1) > 0)
		snprintf(path, sizeof path, "%s/../../%s/../golden/plot/%s", dirname(exe),
			 dirname(file), name);
	else
		snprintf(path, sizeof path, "%s/../golden/plot/%s", dirname(file), name);
	return path;
}

static void
check(const char *name, const struct view_opts *o, bool svg)
{
	struct graph_query q = {.grain = GRAPH_LINES};
	struct prof *p = sample();
	struct view v = {.p = p, .q = &q, .o = o};
	struct buf is = {0}, should = {0};
	struct err e = {0};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	v.g = &g;
	if (svg)
		T_CHECK(plot_svg(&is, &v));
	else
		view_text(&is, VIEW_TIMELINE, &v);
	if (getenv("PLOT_WRITE") != NULL)
		T_EQ(file_write(golden(name), is.data, is.len, &e), 0);
	if (buf_read_file(&should, golden(name), &e) < 0)
		T_FAIL("%s", e.msg);
	T_STR(buf_str(&is), buf_str(&should));
	graph_done(&g);
	buf_done(&is);
	buf_done(&should);
	prof_free(p);
}

T_TEST(braille)
{
	check("braille.txt", &(struct view_opts){.node_fraction = -1}, false);
}

T_TEST(ascii)
{
	check("ascii.txt", &(struct view_opts){.node_fraction = -1, .ascii = true},
	      false);
}

T_TEST(colour)
{
	struct term term = {.tty = true, .colour = true, .columns = 60};

	check("colour.txt", &(struct view_opts){.node_fraction = -1, .term = &term},
	      false);
}

T_TEST(bytes)
{
	struct term term = {.columns = 100};

	check("bytes.txt",
	      &(struct view_opts){.node_fraction = -1, .bytes = true, .term = &term},
	      false);
}

T_TEST(svg)
{
	check("plot.svg", &(struct view_opts){.node_fraction = -1, .title = "a <b> & c"},
	      true);
}

/* JSON has the same figures. */
T_TEST(json)
{
	struct graph_query q = {.grain = GRAPH_LINES};
	struct view_opts o = {.node_fraction = -1, .rows = 2};
	struct prof *p = sample();
	struct view v = {.p = p, .q = &q, .o = &o};
	struct buf is = {0};
	struct graph g;

	graph_init(&g, p, &q, NULL, NULL);
	v.g = &g;
	view_json(&is, VIEW_TIMELINE, &v);
	T_CHECK(strstr(buf_str(&is),
		       "\"ms\":[0,100,200,300,400,500,600,700,800,900,1000]") != NULL);
	T_CHECK(strstr(buf_str(&is), "\"highest_bytes\":41943040,\"live_bytes\":[0,"
				     "41943040,41943040") != NULL);
	T_CHECK(strstr(buf_str(&is), "\"rows_not_listed\":5") != NULL);
	T_CHECK(strstr(buf_str(&is), "{\"name\":\"half\",\"pid\":11,\"ms\":510,"
				     "\"live_bytes\":1010}") != NULL);
	graph_done(&g);
	buf_done(&is);
	prof_free(p);
}

T_MAIN()
