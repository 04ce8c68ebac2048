/* SPDX-License-Identifier: MIT */
/* cmd_ps.c -- `seep ps`: which processes are being recorded.
 *
 * Found through the mappings of every process that we may look at, so recordings made
 * without `seep run` are there too. Folders that a killed seep left behind are saved
 * first. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/cli/commands.h"
#include "tool/session/out_file.h"
#include "tool/session/run/run_output.h"
#include "tool/session/run/save.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/target/run/rundir.h"
#include "tool/util/buf.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"
#include "tool/util/vec.h"

struct ps_args {
	bool json;
	const char *save, *discard, *output;
};

#define AT(member) .at = offsetof(struct ps_args, member)

static const struct opt ps_opts[] = {
	{"json", 0, OPT_NONE, AT(json), .help = "Print the list as JSON."},
	{"save", 0, OPT_STRING, AT(save), .metavar = "NAME",
	 .help = "Save the recording NAME of a run that ended without saving it, "
		 "under the name that the run was given, or as -o."},
	{"output", 'o', OPT_STRING, AT(output), .metavar = "FILE",
	 .help = "Save it as FILE."},
	{"discard", 0, OPT_STRING, AT(discard), .metavar = "NAME",
	 .help = "Delete the recording NAME of a run that ended without saving it."},
	{0},
};

struct ps_row {
	int pid;
	char name[64];
	const char *mode;
	bool paused;
	uint64_t since_ns;
	uint64_t age_ns;
	uint64_t live_bytes, held_bytes, rss_kib;
	char *folder; /* where its recording is, NULL = not known */
	bool by_run;  /* `seep run` began it; else it was LD_PRELOAD and SEEP */
	bool owned;   /* a `seep run` looks after it */
};

struct ps_rows VEC_BODY(struct ps_row);

static const char *
mode_name(uint32_t mode)
{
	switch (mode) {
	case REC_MODE_EXACT:
		return "exact";
	case REC_MODE_SAMPLE:
		return "sampled";
	default:
		return "off";
	}
}

static void
add_row(struct ps_rows *rows, int pid, struct livefile *f)
{
	struct ps_row *row = vec_add(rows);
	struct procfs_stat st;
	struct livefile_head h = livefile_head(f);
	uint64_t now = clock_ns(CLOCK_MONOTONIC);
	char link[64];

	row->pid = pid;
	if (procfs_stat(pid, &st, NULL) == 0) {
		snprintf(row->name, sizeof row->name, "%s", st.comm);
		row->rss_kib = st.rss_kib;
	}
	row->mode = mode_name(h.mode);
	row->paused = h.paused;
	row->since_ns = h.start_ns;
	row->age_ns = now > h.start_mono_ns ? now - h.start_mono_ns : 0;
	if (livefile_map_all(f, NULL) == 0)
		row->live_bytes = livefile_live_bytes(f);
	row->held_bytes = livefile_held_bytes(f);
	row->by_run = h.run_id != 0;
	row->owned = h.tool_pid != 0 && procfs_alive((int)h.tool_pid, 0);
	target_path(f, link, sizeof link);
	if (file_readlink(link, &row->folder, NULL) == 0 &&
	    strrchr(row->folder, '/') != NULL)
		*strrchr(row->folder, '/') = '\0';
}

static int
compare_rows(const void *a, const void *b)
{
	const struct ps_row *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int
find_rows(struct ps_rows *ret_rows, struct err *e)
{
	struct procfs_pids pids = {0};
	int r = procfs_pids(&pids, e);

	for (size_t i = 0; i < pids.len; i++) {
		struct livefile f = {.fd = -1};

		if (target_find_pid(pids.data[i], &f, NULL) < 0)
			continue;
		add_row(ret_rows, pids.data[i], &f);
		livefile_close(&f);
	}
	vec_sort(ret_rows, compare_rows);
	vec_done(&pids);
	return r;
}

static void
print_table(const struct ps_rows *rows)
{
	if (rows->len == 0) {
		puts("nothing is being recorded; start with: seep run PROGRAM");
		return;
	}
	printf("%8s  %-16s %-8s %9s %10s %10s %10s  %s\n", "PID", "NAME", "MODE", "SINCE",
	       "LIVE", "RSS", "SEEP", "FOLDER");
	for (size_t i = 0; i < rows->len; i++) {
		const struct ps_row *r = &rows->data[i];

		printf("%8d  %-16.16s %-8s %9s %10s %10s %10s  %s%s\n", r->pid, r->name,
		       r->paused ? "paused" : r->mode, fmt_duration(r->age_ns).s,
		       fmt_size(r->live_bytes).s, fmt_size(r->rss_kib << 10).s,
		       fmt_size(r->held_bytes).s, r->folder != NULL ? r->folder : "?",
		       r->owned || !r->by_run ? "" : "  (its seep run has ended)");
	}
}

static void
print_json(const struct ps_rows *rows)
{
	struct buf b = {0};
	struct json j;

	json_init(&j, &b);
	json_arr(&j);
	for (size_t i = 0; i < rows->len; i++) {
		const struct ps_row *r = &rows->data[i];

		json_obj(&j);
		json_member_i64(&j, "pid", r->pid);
		json_member_str(&j, "name", r->name);
		json_member_str(&j, "mode", r->mode);
		json_member_bool(&j, "paused", r->paused);
		json_member_u64(&j, "since_ns", r->since_ns);
		json_member_u64(&j, "live_bytes", r->live_bytes);
		json_member_u64(&j, "rss_bytes", r->rss_kib << 10);
		json_member_u64(&j, "recorder_bytes", r->held_bytes);
		json_member_str(&j, "folder", r->folder);
		json_member_bool(&j, "owned", r->owned);
		json_obj_end(&j);
	}
	json_arr_end(&j);
	printf("%s\n", buf_str(&b));
	buf_done(&b);
}

/* Recordings that could not be saved, as on a full disk: what they are and what can be
 * done. */
static void
print_left_over(void)
{
	struct rundir_names paths = {0};
	unsigned n = 0;

	rundir_list(&paths);
	for (size_t i = 0; i < paths.len; i++) {
		struct rundir d = RUNDIR_NONE;

		if (rundir_open(paths.data[i], &d, NULL) < 0)
			continue;
		if (save_is_left_over(&d)) {
			if (n++ == 0)
				puts("recordings of ended runs that were not saved:");
			printf("  %s  %.*s\n", rundir_name(&d),
			       (int)strcspn(d.command, "\n"), d.command);
		}
		rundir_close(&d);
	}
	rundir_names_done(&paths);
	if (n > 0)
		puts("next: seep report NAME (read it) \xc2\xb7 seep ps --save NAME -o FILE "
		     "\xc2\xb7 seep ps --discard NAME");
}

/* --save and --discard. */
static int
ps_left_over(const struct ps_args *o)
{
	struct err e = {0};
	char *folder = NULL, *output = NULL;
	int r = 0;

	if (o->save != NULL && o->discard != NULL)
		return cmd_usage(&cmd_ps, "--save and --discard exclude each other");
	if (o->save == NULL && o->output != NULL)
		return cmd_usage(&cmd_ps, "-o goes with --save NAME");
	if (o->output != NULL)
		r = run_output(o->output, NULL, &folder, &output, &e);
	if (r == 0)
		r = o->save != NULL ? save_left_over(o->save, output, &e)
				    : save_discard(o->discard, &e);
	free(folder);
	free(output);
	return r < 0 ? cmd_fail_output(&e) : CMD_OK;
}

static int
ps_run(void *opts, int argc, char **argv)
{
	const struct ps_args *o = opts;
	struct ps_rows rows = {0};
	struct err e = {0};
	int r;

	(void)argc;
	(void)argv;
	if (o->save != NULL || o->discard != NULL || o->output != NULL)
		return ps_left_over(o);
	save_orphans(true);
	r = find_rows(&rows, &e);
	if (r == 0 && o->json)
		print_json(&rows);
	else if (r == 0) {
		print_table(&rows);
		print_left_over();
	}
	for (size_t i = 0; i < rows.len; i++)
		free(rows.data[i].folder);
	vec_done(&rows);
	return r < 0 ? cmd_fail(&e) : CMD_OK;
}

const struct cmd cmd_ps = {
	.name = "ps",
	.args = "",
	.help = "list recorded processes; saves what ended runs left behind",
	.man = "seep-ps",
	.needs_proc = true,
	.opts = ps_opts,
	.opts_bytes = sizeof(struct ps_args),
	.min_args = 0,
	.max_args = 0,
	.run = ps_run,
};
