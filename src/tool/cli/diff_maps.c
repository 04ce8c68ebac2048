/* SPDX-License-Identifier: MIT */
/* diff_maps.c -- see diff_maps.h.
 *
 * The files do not say when they were made; if the times of the files themselves go up
 * from one to the next, they are taken for it, and said to be so. */
#include "tool/cli/diff_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "tool/analyze/process/regions.h"
#include "tool/analyze/process/track.h"
#include "tool/cli/commands.h"
#include "tool/cli/term/pager.h"
#include "tool/format/text/pmap.h"
#include "tool/render/heap/mapdiff.h"
#include "tool/render/report/report.h"
#include "tool/util/x.h"

static double
written_seconds(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return (double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / 1e9;
}

/* Times of the files if they go up, else their numbers. */
static bool
take_times(int argc, char **argv, double *seconds)
{
	bool timed = true;

	for (int i = 0; i < argc; i++) {
		seconds[i] = written_seconds(argv[i]);
		/* Closer than that they were copied, not made one after the other. */
		if (i > 0 && seconds[i] - seconds[i - 1] < 0.5)
			timed = false;
	}
	for (int i = 0; i < argc && !timed; i++)
		seconds[i] = i;
	return timed;
}

static void
add_map(struct track *t, const struct memmap *m, double seconds)
{
	struct region_facts facts = {.program = regions_program(m, true),
				     .guess_heap =
					     m->form[0] == 'p' && m->form[6] == 'x'};
	struct regions rs = {0};

	regions_init(&rs, m, &facts);
	track_add(t, seconds, &rs);
	regions_done(&rs);
}

static int
compare(int argc, char **argv, struct memmap *maps, const struct diff_maps_opts *opts,
	struct err *e)
{
	struct mapdiff_opts o = {.maps = maps,
				 .n = (size_t)argc,
				 .names = (const char *const *)argv,
				 .all = opts->all,
				 .ascii = !report_locale_is_utf8(),
				 .rows = opts->rows > UINT32_MAX ? UINT32_MAX
								 : (uint32_t)opts->rows};
	double *seconds = xcalloc((size_t)argc, sizeof *seconds);
	struct track t = {0};
	struct buf out = {0};
	int r;

	o.timed = take_times(argc, argv, seconds);
	for (int i = 0; i < argc; i++)
		add_map(&t, &maps[i], seconds[i]);
	if (opts->json)
		mapdiff_json(&out, &t, &o);
	else
		mapdiff_text(&out, &t, &o);
	r = pager_print(&out, opts->no_pager || opts->json, e);
	track_done(&t);
	buf_done(&out);
	free(seconds);
	return r;
}

bool
diff_maps(int argc, char **argv, const struct diff_maps_opts *o, int *ret_status)
{
	struct memmap *maps;
	struct err e = {0};
	int r;

	if (argc < 1)
		return false;
	maps = xcalloc((size_t)argc, sizeof *maps);
	r = pmap_load(argv[0], &maps[0], &e);
	if (r == -ENOMSG) {
		free(maps);
		return false;
	}
	for (int i = 1; r == 0 && i < argc; i++) {
		r = pmap_load(argv[i], &maps[i], &e);
		if (r == -ENOMSG)
			r = err_set(&e, r,
				    "%s: not a memory map, as %s is (pmap -x, pmap "
				    "-X or smaps)",
				    argv[i], argv[0]);
	}
	if (r == 0 && argc == 1)
		*ret_status = cmd_usage(
			&cmd_diff,
			"%s: a second recording, or a point such as OLD@peak, is missing",
			argv[0]);
	else if (r == 0 && (r = compare(argc, argv, maps, o, &e)) == 0)
		*ret_status = CMD_OK;
	if (r < 0)
		*ret_status = cmd_fail(&e);
	for (int i = 0; i < argc; i++)
		memmap_done(&maps[i]);
	free(maps);
	return true;
}
