/* SPDX-License-Identifier: MIT */
/* cmd_scan.c -- `seep scan`, which is also what `seep report` does with a process that
 * nobody recorded and with a core: what is in its heap, who holds it, what malloc keeps,
 * and what grew since an earlier look. */
#include "tool/cli/cmd_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/analyze/process/scan_growth.h"
#include "tool/cli/commands.h"
#include "tool/cli/term/interrupt.h"
#include "tool/cli/term/pager.h"
#include "tool/cli/unrecorded.h"
#include "tool/format/format.h"
#include "tool/format/text/scan_file.h"
#include "tool/render/about_line.h"
#include "tool/render/heap/scan_report.h"
#include "tool/render/report/report.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/session/load.h"
#include "tool/session/out_file.h"
#include "tool/target/proc/procfs.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

#define AT(member) .at = offsetof(struct scan_args, member)

static const struct opt scan_table_opts[] = {
	SCAN_OPTS(0),
	UNRECORDED_OPTS(offsetof(struct scan_args, heap)),
	{"rows", 'n', OPT_U64, AT(rows), .metavar = "N",
	 .help = "Print at most N rows of each table."},
	{"all", 0, OPT_NONE, AT(heap.all), .help = "Print every row."},
	{"bytes", 0, OPT_NONE, AT(heap.bytes),
	 .help = "Print bytes instead of KiB, MiB and GiB."},
	{"json", 0, OPT_NONE, AT(heap.json), .help = "Print the report as JSON."},
	CMD_COLOR_OPT,
	{"no-pager", 0, OPT_NONE, AT(no_pager), .help = "Print without a pager."},
	{0},
};

/* One look, wherever it comes from; the caller ends it with heapcheck_done. */
static int
load(const struct unrecorded_opts *asked, const char *word, struct heapcheck *ret,
     struct err *e)
{
	struct heapcheck_opts o = {.holders = true, .program = asked->program};
	const struct unrecorded_opts how = {0};
	struct unrecorded u;
	int r;

	if (scan_file_is_one(word))
		return scan_file_load(word, &ret->scan, e);
	if (!unrecorded_find(asked, word, UNRECORDED_ANY, &u)) {
		r = procfs_find_one(word, &u.pid, e);
		if (r == -ESRCH && format_is_program(word))
			return load_refuse_program(word, e);
		return r == -ENOTUNIQ
			       ? r
			       : err_set(e, -ESRCH,
					 "%s: neither a process, a core nor a file "
					 "of seep scan --save",
					 word);
	}
	if (u.core != NULL)
		return heapcheck_core(ret, u.core, &o, e);
	interrupt_begin();
	r = image_open_process(u.pid, &ret->image, e);
	if (r == 0)
		r = unrecorded_plan(u.pid, &how, &o.copy, e);
	if (r == 0)
		r = heapcheck_process(ret, &o, e);
	interrupt_end();
	return r;
}

static int
save(const struct scan_args *o, const struct heapscan *s, struct err *e)
{
	struct buf b = {0};
	int r = out_check(o->save, "scan", e);

	scan_file_write(&b, s);
	if (r == 0)
		r = file_write(o->save, b.data, b.len, e);
	buf_done(&b);
	if (r == 0 && !o->heap.json)
		cmd_note("saved %s; later: --since %s", o->save, o->save);
	return r;
}

static struct scan_opts
opts_of(const struct scan_args *o, const struct heapcheck *after, const char *word,
	struct term *term)
{
	term_init(term, STDOUT_FILENO);
	return (struct scan_opts){
		.term = term,
		.ascii = !report_locale_is_utf8(),
		.bytes = o->heap.bytes,
		.all = o->heap.all,
		.attached = after->scan.core == 0 && after->image.name != NULL &&
			    unrecorded_is_attached(after->scan.pid),
		.rows = o->rows > UINT32_MAX ? UINT32_MAX : (uint32_t)o->rows,
		.target = after->image.name != NULL ? word : NULL};
}

static int
show(const struct scan_args *a, const struct heapcheck *before,
     const struct heapcheck *after, const char *word, struct err *e)
{
	struct term term;
	struct scan_opts o = opts_of(a, after, word, &term);
	struct scan_growth g = {0};
	struct buf out = {0};
	int r;

	if (before != NULL)
		scan_growth_init(&g, &before->scan, &after->scan);
	if (!a->heap.json)
		about_line_scan(&out, &after->scan, word, &term);
	if (a->heap.json)
		scan_json(&out, &after->scan, before != NULL ? &g : NULL);
	else
		scan_heap_text(&out, &after->scan, before != NULL ? &g : NULL, &o);
	r = pager_print(&out, a->no_pager || a->heap.json, e);
	scan_growth_done(&g);
	buf_done(&out);
	return r;
}

/* --who and --blocks: rows are those of all blocks, whatever became of them. */
static int
one_block(const struct scan_args *a, int argc, char **argv)
{
	struct unrecorded_opts o = a->heap;
	struct unrecorded u;

	o.kinds = 15;
	if (argc == 2 || scan_file_is_one(argv[0]) ||
	    !unrecorded_find(&o, argv[0], UNRECORDED_ANY, &u))
		return cmd_usage(&cmd_scan, "--who and --blocks: of a process or a core");
	return unrecorded_leaks(&u, argv[0], &o);
}

int
scan_report(struct scan_args *o, int argc, char **argv)
{
	struct heapcheck before = HEAPCHECK_NONE, after = HEAPCHECK_NONE;
	const char *old, *new;
	struct err e = {0};
	int r = 0, status = CMD_OK;

	argc = unrecorded_words(&o->heap, argc, argv);
	old = argc == 2 ? argv[0] : o->since;
	new = argv[argc - 1];
	if (o->heap.who != NULL || o->heap.blocks > 0)
		return one_block(o, argc, argv);
	if (argc == 2 && o->since != NULL)
		return cmd_usage(&cmd_scan,
				 "--since and two words: one of them is enough");
	if (old != NULL)
		r = load(&o->heap, old, &before, &e);
	if (r == 0)
		r = load(&o->heap, new, &after, &e);
	if (r == 0 && old != NULL &&
	    strcmp(heapscan_text(&before.scan, before.scan.program),
		   heapscan_text(&after.scan, after.scan.program)) != 0)
		cmd_note("%s is of another program than %s", old, new);
	if (r == 0)
		r = show(o, old != NULL ? &before : NULL, &after, new, &e);
	if (r == 0 && o->save != NULL)
		r = save(o, &after.scan, &e);
	if (r == -ENOTSUP && after.scan.unreadable != 0) {
		struct term term;
		struct scan_opts how = opts_of(o, &after, new, &term);

		status = unrecorded_unreadable(&after.scan, new, &how, o->heap.json);
	} else if (r < 0) {
		status = cmd_fail(&e);
	}
	heapcheck_done(&before);
	heapcheck_done(&after);
	return status;
}

bool
scan_wanted(struct scan_args *o, int argc, char **argv)
{
	struct unrecorded u;

	argc = unrecorded_words(&o->heap, argc, argv);
	if (argc < 1 || argc > 2)
		return false;
	for (int i = 0; i < argc; i++) {
		if (!scan_file_is_one(argv[i]) &&
		    !unrecorded_find(&o->heap, argv[i],
				     o->save != NULL || o->since != NULL
					     ? UNRECORDED_ANY
					     : UNRECORDED_NOT_AT_ALL,
				     &u))
			return false;
	}
	return true;
}

static int
scan_run(void *opts, int argc, char **argv)
{
	return scan_report(opts, argc, argv);
}

const struct cmd cmd_scan = {
	.name = "scan",
	.args = "[OLD] PID|CORE|FILE [PROGRAM]",
	.help = "inspect the heap of an unrecorded process or core",
	.man = "seep-scan",
	.opts = scan_table_opts,
	.opts_bytes = sizeof(struct scan_args),
	.min_args = 1,
	.max_args = 2,
	.run = scan_run,
};
