/* SPDX-License-Identifier: MIT */
/* leak_plan.c -- see leak_plan.h.
 *
 * The speeds are those of a slow machine: rather too long a pause foretold than too short
 * a one. */
#include "tool/session/leaks/leak_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/target/proc/cgroup.h"
#include "tool/target/proc/procstatus.h"
#include "tool/target/trace/freeze.h"
#include "tool/util/clock.h"
#include "tool/util/file.h"
#include "tool/util/fmt.h"
#include "tool/util/json.h"

enum {
	MEASURE_MS = 100,
	STOP_US = 1000,		  /* to stop and to let go, */
	THREAD_US = 150,	  /* and for each thread */
	TABLES_US_PER_GB = 30000, /* to copy page tables, */
	COPY_US_PER_GB = 250000,  /* and bytes, */
	READ_US_PER_GB = 500000,  /* and to look through them */
	BLOCK_NS = 400,		  /* to follow, each */
	BLOCK_BYTES = 40,	  /* what a block takes in the table */
	SLACK_BYTES = 16 << 20,
};

#define GB UINT64_C(1000000000)

static uint64_t
share_ns(uint64_t bytes, uint64_t us_per_gb)
{
	return (uint64_t)((double)bytes / (double)GB * (double)us_per_gb * 1000);
}

/* Pages that are shared with others, or with a file, and may be written to. */
static uint64_t
shared_bytes(struct freeze *z, uint64_t inode)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < z->map.areas.len; i++) {
		const struct memmap_area *a = &z->map.areas.data[i];
		struct pagescan_run run;

		if (a->perms[0] != 'r' || a->perms[1] != 'w' || a->perms[3] != 's' ||
		    (inode != 0 && a->inode == inode) || freeze_is_device(a->name))
			continue;
		for (uint64_t at = a->start; pagescan_next(&z->pages, at, a->end, &run);
		     at = run.end)
			sum += run.end - run.start;
	}
	return sum;
}

/* What it touches in a second, by the processor's own marks in its page tables: at least
 * as much as it writes. */
static uint64_t
measure_touched(const struct procmem *m)
{
	struct buf b = {0};
	char path[64];
	uint64_t kib = 0;
	const char *at;
	uint64_t until = clock_ms() + MEASURE_MS;

	if (procmem_clear_refs(m, NULL) < 0)
		return UINT64_MAX;
	/* A timer's signal ends a nap early. */
	while (!freeze_interrupted() && clock_ms() < until)
		clock_nap(10000000);
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", file_proc_task(m->pid));
	if (buf_read_file(&b, path, NULL) == 0) {
		at = strstr(buf_str(&b), "\nReferenced:");
		kib = at != NULL ? strtoull(at + 12, NULL, 10) : 0;
	}
	buf_done(&b);
	return kib * 1024 * (1000 / MEASURE_MS) + 1;
}

/* Whether a copy is small enough; measures how fast it would grow only if that
 * matters. */
static void
choose(struct leak_plan *p, const struct procmem *m)
{
	uint64_t kept = p->shared_bytes + p->table_bytes + SLACK_BYTES;
	uint64_t most = p->private_bytes + kept, grows;

	p->way = LEAKCHECK_COPY;
	if (most <= p->headroom_bytes / 2) {
		snprintf(p->why, sizeof p->why, "a copy needs at most %s of the %s free",
			 fmt_size(most).s, fmt_size(p->headroom_bytes).s);
		return;
	}
	p->touched_bytes = measure_touched(m);
	grows = p->touched_bytes == UINT64_MAX
			? p->private_bytes
			: (uint64_t)((double)p->touched_bytes * (double)p->look_ns / 1e9);
	if (grows > p->private_bytes)
		grows = p->private_bytes;
	grows += kept;
	if (grows > p->headroom_bytes / 2)
		p->way = LEAKCHECK_STOP;
	snprintf(p->why, sizeof p->why, "a copy may need %s, but only %s is free",
		 fmt_size(grows).s, fmt_size(p->headroom_bytes).s);
}

void
leak_plan_expect(struct leak_plan *p)
{
	p->pause_ns = (STOP_US + p->threads * THREAD_US) * 1000;
	if (p->way == LEAKCHECK_COPY)
		p->pause_ns += share_ns(p->private_bytes, TABLES_US_PER_GB) +
			       share_ns(p->shared_bytes + p->table_bytes, COPY_US_PER_GB);
	else
		p->pause_ns += p->look_ns + share_ns(p->shared_bytes, READ_US_PER_GB);
}

int
leak_plan_make(struct livefile *f, int pid, struct leak_plan *ret_plan, struct err *e)
{
	struct freeze z = FREEZE_NONE;
	struct cgroup_memory memory;
	struct leak_plan p = {0};
	int64_t anon, rss;
	int r = f != NULL ? livefile_map_all(f, e) : 0;

	if (r == 0)
		r = freeze_open(pid, &z, e);
	if (r < 0)
		return r;
	anon = procstatus_number(pid, "Threads");
	p.threads = anon > 0 ? (uint64_t)anon : 1;
	anon = procstatus_number(pid, "RssAnon");
	rss = procstatus_number(pid, "VmRSS");
	p.private_bytes = anon > 0  ? (uint64_t)anon << 10
			  : rss > 0 ? (uint64_t)rss << 10
				    : 0;
	p.shared_bytes = shared_bytes(&z, f != NULL ? f->inode : 0);
	if (f != NULL)
		p.table_bytes = livefile_used_bytes(f);
	cgroup_memory(pid, &memory);
	p.headroom_bytes = memory.limit_bytes > memory.used_bytes
				   ? memory.limit_bytes - memory.used_bytes
				   : 0;
	p.look_ns = share_ns(p.private_bytes, READ_US_PER_GB) +
		    p.table_bytes / BLOCK_BYTES * BLOCK_NS;
	choose(&p, &z.mem);
	leak_plan_expect(&p);
	freeze_close(&z);
	*ret_plan = p;
	return 0;
}

/* In milliseconds, so that a stop slightly over the limit does not look the same as the
 * limit. */
static struct fmt_str
stop_text(uint64_t ns)
{
	struct fmt_str f = fmt_duration(ns);

	if (ns >= 10 * 1000 * 1000 && ns < 1000 * 1000 * 1000)
		snprintf(f.s, sizeof f.s, "%.1f ms", (double)ns / 1e6);
	return f;
}

int
leak_plan_check(const struct leak_plan *p, uint64_t max_ns, struct err *e)
{
	if (max_ns == 0 || p->pause_ns <= max_ns)
		return 0;
	return err_set(e, -EBUSY,
		       "it would stop the process for about %s, more than --max-stop "
		       "allows (%s)",
		       stop_text(p->pause_ns).s, stop_text(max_ns).s);
}

static const char *
way_words(enum leakcheck_way way)
{
	return way == LEAKCHECK_COPY ? "is copied, and the copy is searched"
				     : "is stopped while its memory is searched";
}

void
leak_plan_line(const struct leak_plan *p, int pid, struct buf *out)
{
	buf_printf(out, "%d %s: expect a pause of up to about %s (%s)\n", pid,
		   way_words(p->way), fmt_duration(p->pause_ns).s, p->why);
}

void
leak_plan_text(const struct leak_plan *p, int pid, struct buf *out)
{
	leak_plan_line(p, pid, out);
	buf_printf(
		out,
		"memory of its own %s · shared %s · recording %s · free below the limit %s",
		fmt_size(p->private_bytes).s, fmt_size(p->shared_bytes).s,
		fmt_size(p->table_bytes).s, fmt_size(p->headroom_bytes).s);
	if (p->touched_bytes == UINT64_MAX)
		buf_printf(out, " · how much it writes is not known");
	else if (p->touched_bytes > 0)
		buf_printf(out, " · touches %s/s", fmt_size(p->touched_bytes).s);
	buf_printf(out, "\nthe search takes about %s; nothing was stopped (--dry-run)\n",
		   fmt_duration(p->look_ns).s);
}

void
leak_plan_json(const struct leak_plan *p, int pid, struct buf *out)
{
	struct json j;

	json_init(&j, out);
	json_obj(&j);
#define MEMBER(key, n) (json_key(&j, key), json_u64(&j, n))
	MEMBER("seep_json", JSON_SCHEMA);
	MEMBER("pid", (uint64_t)pid);
	json_member_str(&j, "way", leakcheck_way_name(p->way));
	MEMBER("expected_pause_ns", p->pause_ns);
	MEMBER("expected_look_ns", p->look_ns);
	MEMBER("private_bytes", p->private_bytes);
	MEMBER("shared_bytes", p->shared_bytes);
	MEMBER("recording_bytes", p->table_bytes);
	MEMBER("free_bytes", p->headroom_bytes);
	json_member_u64_if(&j, "touched_bytes_per_second",
			   p->touched_bytes != 0 && p->touched_bytes != UINT64_MAX,
			   p->touched_bytes);
#undef MEMBER
	json_member_str(&j, "why", p->why);
	json_obj_end(&j);
	buf_add_char(out, '\n');
}
