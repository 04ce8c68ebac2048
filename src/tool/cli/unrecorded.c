/* SPDX-License-Identifier: MIT */
/* unrecorded.c -- see unrecorded.h. */
#include "tool/cli/unrecorded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool/cli/commands.h"
#include "tool/format/core/core.h"
#include "tool/format/format.h"
#include "tool/render/about_line.h"
#include "tool/render/heap/scan_report.h"
#include "tool/render/heap/who_blocks.h"
#include "tool/render/heap/who_text.h"
#include "tool/render/report/report.h"
#include "tool/render/wrap.h"
#include "tool/session/heap/heapcheck.h"
#include "tool/session/heap/who.h"
#include "tool/session/leaks/leak_plan.h"
#include "tool/target/attach/refusal.h"
#include "tool/target/proc/procfs.h"
#include "tool/target/run/find.h"
#include "tool/util/x.h"

enum { BLOCKS_SHOWN = 4 };

/* More than this is worth a word beforehand. */
#define PAUSE_TOLD_NS UINT64_C(100000000)

static bool
is_number(const char *word)
{
	return word[0] != '\0' && word[strspn(word, "0123456789")] == '\0';
}

/* Whether the recording of a process lists all of its blocks. */
static bool
is_complete(const struct livefile *f)
{
	return f->head != NULL && livefile_head(f).mode == REC_MODE_EXACT;
}

int
unrecorded_words(struct unrecorded_opts *o, int argc, char **argv)
{
	for (int i = 0; argc == 2 && i < 2; i++) {
		char *program = argv[i], *other = argv[1 - i];

		if (!format_is_program(program) ||
		    (!core_is_one(other) && !is_number(other)))
			continue;
		o->program = argv[1] = program;
		argv[0] = other;
		return 1;
	}
	return argc;
}

bool
unrecorded_find(const struct unrecorded_opts *o, const char *word,
		enum unrecorded_which which, struct unrecorded *ret)
{
	struct livefile f = {.fd = -1};
	struct stat st;
	int pid = 0, r;

	if (core_is_one(word)) {
		*ret = (struct unrecorded){.core = word};
		return true;
	}
	/* A number is a process. Else a file is what it is called; but a program often
	 * lies where it was started. */
	if (!is_number(word) && !format_is_program(word) &&
	    (strchr(word, '/') != NULL || strcmp(word, "-") == 0 || word[0] == '@' ||
	     (stat(word, &st) == 0 && S_ISREG(st.st_mode))))
		return false;
	r = target_find(word, &f, NULL);
	if (o->who != NULL || o->blocks > 0)
		which = UNRECORDED_ANY;
	if (r == 0 && (which == UNRECORDED_ANY ||
		       (which == UNRECORDED_NOT_ALL && !is_complete(&f))))
		pid = f.pid;
	livefile_close(&f);
	if (r != 0 && r != -ENOENT)
		return false; /* no such process */
	if (r == -ENOENT && procfs_find_one(word, &pid, NULL) < 0)
		return false;
	*ret = (struct unrecorded){.pid = pid};
	return pid > 0;
}

/* ---- how ---- */

int
unrecorded_plan(int pid, const struct unrecorded_opts *o, bool *ret_copy, struct err *e)
{
	struct leak_plan p;
	struct buf b = {0};
	int r = leak_plan_make(NULL, pid, &p, e);

	if (r < 0)
		return r;
	if (o->way != NULL) {
		p.way = strcmp(o->way, "copy") == 0 ? LEAKCHECK_COPY : LEAKCHECK_STOP;
		snprintf(p.why, sizeof p.why, "--way=%s", o->way);
		leak_plan_expect(&p);
	}
	*ret_copy = p.way == LEAKCHECK_COPY;
	if (!o->dry_run && leak_plan_check(&p, o->max_stop_ns, e) < 0)
		return -EBUSY;
	if (o->dry_run && o->json)
		leak_plan_json(&p, pid, &b);
	else if (o->dry_run)
		leak_plan_text(&p, pid, &b);
	else if (p.pause_ns > PAUSE_TOLD_NS)
		leak_plan_line(&p, pid, &b);
	fputs(buf_str(&b), o->dry_run ? stdout : stderr);
	fflush(o->dry_run ? stdout : stderr);
	buf_done(&b);
	return 0;
}

/* ---- one look ---- */

/* What is asked, and what came of it. */
struct question {
	const struct unrecorded_opts *o;
	struct scan_opts show;
	uint64_t address;
	struct buf out;
	struct err e;
	int r;
};

static unsigned
kinds_of(const struct unrecorded_opts *o)
{
	return o->kinds != 0 ? o->kinds : 1u << HEAPSCAN_DEFINITE;
}

/* While the process stands still. */
static void
answer(struct heapcheck *c, void *ctx)
{
	struct question *q = ctx;
	struct who w = {0};
	uint32_t *order;
	size_t n;

	if (q->o->who != NULL) {
		who_find(c, q->address, &w);
		if (q->o->json)
			who_json(&q->out, &w);
		else
			who_text(&q->out, &w);
		who_done(&w);
		return;
	}
	order = scan_order(&c->scan, kinds_of(q->o), &n);
	if (q->o->blocks > n) {
		q->r = err_set(&q->e, -EINVAL, "--blocks: there are only %zu rows", n);
	} else {
		struct who_choice choice = {.group = order[q->o->blocks - 1],
					    .kinds = kinds_of(q->o),
					    .most = q->o->all ? UINT32_MAX : BLOCKS_SHOWN,
					    .show = q->o->show_content};

		if (q->o->json)
			who_blocks_json(c, &choice, &q->out);
		else
			who_blocks(c, &choice, &q->out);
	}
	free(order);
}

/* Returns 1 when only the way was asked for. */
static int
look(const struct unrecorded *u, const struct unrecorded_opts *how,
     struct heapcheck_opts *o, struct heapcheck *c, struct err *e)
{
	int r;

	if (u->core != NULL)
		return heapcheck_core(c, u->core, o, e);
	if (how->rounds != NULL)
		return unrecorded_rounds(u->pid, how, o, c, e);
	r = image_open_process(u->pid, &c->image, e);
	if (r == 0)
		r = unrecorded_plan(u->pid, how, &o->copy, e);
	if (r < 0 || how->dry_run)
		return r < 0 ? r : 1;
	return heapcheck_process(c, o, e);
}

bool
unrecorded_is_attached(int pid)
{
	struct refusal_facts f = {0};

	if (pid > 0)
		refusal_read(pid, &f);
	return f.attached_here;
}

int
unrecorded_unreadable(const struct heapscan *s, const char *word,
		      const struct scan_opts *show, bool json)
{
	struct buf out = {0};

	if (json) {
		scan_json(&out, s, NULL);
	} else {
		about_line_scan(&out, s, word, show->term);
		scan_unreadable(&out, s, show);
		wrap_term(&out, 0, show->term);
	}
	fputs(buf_str(&out), stdout);
	buf_done(&out);
	return CMD_FAILED;
}

int
unrecorded_leaks(const struct unrecorded *u, const char *word,
		 const struct unrecorded_opts *o)
{
	struct question q = {.o = o,
			     .show = {.ascii = !report_locale_is_utf8(),
				      .bytes = o->bytes,
				      .all = o->all,
				      .kinds = o->kinds,
				      .attached = unrecorded_is_attached(u->pid),
				      .target = word}};
	struct heapcheck_opts how = {.ctx = &q,
				     .program = o->program,
				     /* what is definitely lost is held by nobody */
				     .held = kinds_of(o) & ~(1u << HEAPSCAN_DEFINITE)};
	struct heapcheck c = HEAPCHECK_NONE;
	bool found = false;
	int status = CMD_OK, r;
	struct term term;

	term_init(&term, STDOUT_FILENO);
	q.show.term = &term;
	if (o->who != NULL && !who_address(o->who, &q.address))
		return cmd_usage(&cmd_leaks, "--who: %s is not an address", o->who);
	if (o->who != NULL || o->blocks > 0)
		how.then = answer;
	r = look(u, o, &how, &c, &q.e);
	q.r = r != 0 ? r : q.r;
	if (q.r == 0 && how.then == NULL) {
		if (o->json)
			scan_json(&q.out, &c.scan, NULL);
		else {
			about_line_scan(&q.out, &c.scan, word, &term);
			scan_leaks_text(&q.out, &c.scan, &q.show);
		}
		found = c.scan.sums[HEAPSCAN_DEFINITE].blocks > 0;
	} else if (q.r == 0 && !o->json) {
		scan_about(&q.out, &c.scan);
	}
	if (q.r == 0)
		fputs(buf_str(&q.out), stdout);
	else if (q.r == -ENOTSUP && c.scan.unreadable != 0 && how.then == NULL)
		status = unrecorded_unreadable(&c.scan, word, &q.show, o->json);
	else if (q.r < 0)
		status = cmd_fail(&q.e);
	if (found && o->error_exitcode != 0)
		status = (int)o->error_exitcode;
	buf_done(&q.out);
	heapcheck_done(&c);
	return status;
}

int
unrecorded_load(const struct unrecorded *u, const char *word,
		const struct unrecorded_opts *o, struct prof *p, struct buf *text,
		struct leakcheck *ret_check, struct err *e)
{
	struct scan_opts show = {.ascii = !report_locale_is_utf8(),
				 .bytes = o->bytes,
				 .all = o->all,
				 .kinds = o->kinds,
				 .attached = unrecorded_is_attached(u->pid),
				 .target = word};
	struct heapcheck_opts how = {.held = kinds_of(o) & ~(1u << HEAPSCAN_DEFINITE),
				     .program = o->program};
	struct heapcheck c = HEAPCHECK_NONE;
	int r = look(u, o, &how, &c, e);

	if (r == 0) {
		heap_prof(&c.scan, p, ret_check);
		about_line_scan(text, &c.scan, word, NULL);
		scan_leaks_text(text, &c.scan, &show);
	}
	heapcheck_done(&c);
	return r;
}
