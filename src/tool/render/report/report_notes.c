/* SPDX-License-Identifier: MIT */
/* report_notes.c -- how far a report can be trusted: coverage, memory, and what is
 * missing.
 *
 * Every counter of the recorder has one sentence here. A counter of 0 has no line, so
 * that a complete recording has no notes at all. */
#include "tool/render/report/report_impl.h"

#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/choose.h"
#include "tool/model/complete.h"
#include "tool/render/figure.h"
#include "tool/util/fmt.h"

/* "12 allocations …": the words before and after the number, for one and for many. */
struct report_note {
	const char *before, *one, *many;
};

static const struct report_note report_lost[REC_LOST_MAX] = {
	[REC_LOST_REENTRY] = {"not recorded: ",
			      "call from a signal handler that interrupted the recorder",
			      "calls from signal handlers that interrupted the recorder"},
	[REC_LOST_LOCK] = {"not recorded: ", "event (a lock stayed taken)",
			   "events (a lock stayed taken)"},
	[REC_LOST_ADDRESS] = {"not recorded: ",
			      "block above the addresses that the table covers",
			      "blocks above the addresses that the table covers"},
	[REC_LOST_TRUNCATED] = {"", "stack could not be unwound to main",
				"stacks could not be unwound to main"},
	[REC_LOST_ELIDED] = {"", "stack was too deep: its middle frames are omitted",
			     "stacks were too deep: their middle frames are omitted"},
	[REC_LOST_CHILD] = {"not recorded: ", "forked child", "forked children"},
	[REC_LOST_BOOT] = {"not recorded: ",
			   "block from before the real allocator was known",
			   "blocks from before the real allocator was known"},
	[REC_LOST_MARK] = {"", "mark found no room", "marks found no room"},
	[REC_LOST_MODULE] = {"", "module found no room: its frames have no names",
			     "modules found no room: their frames have no names"},
	[REC_LOST_THREAD] = {"", "thread is counted under \"other threads\"",
			     "threads are counted under \"other threads\""},
	[REC_LOST_EXEC] = {"not recorded: ",
			   "program that was started and cannot be recorded",
			   "programs that were started and cannot be recorded"},
	[REC_LOST_NAME] = {"", "frame of another language has no name: it found no room",
			   "frames of other languages have no name: they found no room"},
	[REC_LOST_MIXED] =
		{"", "stack has the frames of its interpreter in a place that is a guess",
		 "stacks have the frames of their interpreter in a place that is a guess"},
	[REC_LOST_MOMENT] = {"", "figure of the past found no room (--timeline)",
			     "figures of the past found no room (--timeline)"},
	[REC_LOST_PAST] =
		{"not recorded: ",
		 "block of the heap was allocated or freed past the hooks (RTLD_DEEPBIND, or libc's malloc by its address), or malloc's lists were overwritten (--quarantine 1M would find a write to freed memory)",
		 "blocks of the heap were allocated or freed past the hooks (RTLD_DEEPBIND, or libc's malloc by its address), or malloc's lists were overwritten (--quarantine 1M would find a write to freed memory)"},
	[REC_LOST_LIBC] = {"not recorded: calls of ",
			   "copy of libc that dlmopen has loaded",
			   "copies of libc that dlmopen has loaded"},
	[REC_LOST_MISSED] =
		{"not recorded: ",
		 "forked child that allocated memory and ended before it could be attached to",
		 "forked children that allocated memory and ended before they could be attached to"},
};

static void
report_note(struct report *r, const char *prefix, const struct report_note *n,
	    uint64_t count)
{
	if (count == 0)
		return;
	buf_printf(r->out, "%s%s%s %s\n", prefix, n->before, fmt_count(count).s,
		   count == 1 ? n->one : n->many);
}

static uint64_t
report_sum_lost(const struct report *r, unsigned reason)
{
	uint64_t n = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i))
			n += r->p->processes[i].lost[reason];
	}
	return n;
}

/* Programs that were started and are not among the processes. */
static uint64_t
report_unlisted(const struct report *r)
{
	uint64_t n = report_sum_lost(r, REC_LOST_EXEC), listed = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++)
		listed += report_chose(r, i) &&
			  (r->p->processes[i].flags & REC_FLAG_UNSEEN) != 0;
	return n > listed ? n - listed : 0;
}

/* The process that missed most allocations for lack of room; 0 = none did. */
static uint32_t
report_missed_most(const struct report *r)
{
	uint64_t most = 0;
	uint32_t found = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (!report_chose(r, i) || pr->lost[REC_LOST_SPACE] <= most)
			continue;
		most = pr->lost[REC_LOST_SPACE];
		found = i;
	}
	return found;
}

/* Why allocations found no room, in the process with most of them. */
static void
report_no_room(struct report *r, const char *prefix)
{
	uint64_t n = report_sum_lost(r, REC_LOST_SPACE);
	const struct prof_process *pr = &r->p->processes[report_missed_most(r)];

	if (n > 0)
		buf_printf(r->out, "%snot recorded: %s (%s)\n", prefix,
			   figure_things((int64_t)n, 0, "allocation").s,
			   complete_ended_early(pr) ? "after the recording ended"
						    : complete_cut_why(pr));
}

/* What keeps recordings from being complete: a line for each process, as long as they are
 * few. */
static void
report_incomplete(struct report *r, const char *prefix)
{
	enum { LINES_MAX = 3 };
	uint32_t lines = 0, more = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];
		const char *partial = complete_hooks_partial(pr);
		struct choose_name name = choose_process_name(r->p, i);

		if (!report_chose(r, i) || (partial == NULL && !complete_ended_early(pr)))
			continue;
		if (lines++ >= LINES_MAX) {
			more++;
			continue;
		}
		if (partial != NULL) {
			buf_printf(r->out, "%snot recorded: calls of ", prefix);
			clean_text(r->out, name.s);
			buf_printf(r->out, ": %s\n", partial);
		}
		if (!complete_ended_early(pr))
			continue;
		buf_printf(r->out, "%sthe recording of ", prefix);
		clean_text(r->out, name.s);
		buf_add_str(r->out, " ended early");
		if (pr->cut_ms > 0)
			buf_printf(r->out, ", after %s",
				   fmt_duration(pr->cut_ms * 1000000).s);
		buf_printf(r->out, ": %s\n", complete_cut_why(pr));
	}
	if (more > 0)
		buf_printf(r->out, "%sthe same of %s more process%s\n", prefix,
			   fmt_count(more).s, more == 1 ? "" : "es");
}

void
report_cut_short(struct report *r)
{
	uint64_t missed = report_sum_lost(r, REC_LOST_SPACE), seen = 0;

	for (uint32_t i = 1; i < r->p->nsites; i++) {
		const struct prof_site *s = &r->p->sites[i];

		if (report_chose(r, s->process))
			seen += s->samples > 0 ? s->samples : s->allocs;
	}
	buf_printf(r->out, "recorded %s of %s allocations (%s); %s", fmt_count(seen).s,
		   fmt_count(seen + missed).s, fmt_percent(seen, seen + missed).s,
		   complete_cut_why(&r->p->processes[report_missed_most(r)]));
}

uint64_t
report_unrecorded(const struct report *r)
{
	return report_sum_lost(r, REC_LOST_CHILD) + report_sum_lost(r, REC_LOST_MISSED) +
	       report_unlisted(r);
}

uint64_t
report_lost_children(const struct report *r)
{
	return report_sum_lost(r, REC_LOST_CHILD);
}

uint64_t
report_quiet(const struct report *r)
{
	return report_sum_lost(r, REC_LOST_QUIET);
}

uint64_t
report_cut_stacks(const struct report *r)
{
	return report_sum_lost(r, REC_LOST_TRUNCATED) +
	       report_sum_lost(r, REC_LOST_ELIDED);
}

uint64_t
report_past(const struct report *r, uint64_t *ret_libcs)
{
	uint64_t libcs = report_sum_lost(r, REC_LOST_LIBC);

	if (ret_libcs != NULL)
		*ret_libcs = libcs;
	return report_sum_lost(r, REC_LOST_PAST) + (ret_libcs == NULL ? libcs : 0);
}

uint64_t
report_missed(const struct report *r)
{
	static const unsigned reasons[] = {REC_LOST_SPACE, REC_LOST_REENTRY,
					   REC_LOST_LOCK, REC_LOST_ADDRESS,
					   REC_LOST_BOOT};
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
		n += report_sum_lost(r, reasons[i]);
	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		if (report_chose(r, i))
			n += r->p->processes[i].paused_allocs;
	}
	return n;
}

static void
report_note_counters(struct report *r, const char *prefix)
{
	static const struct report_note
		inherited = {"", "free of a block from before the fork",
			     "frees of blocks from before the fork"},
		unknown =
			{"",
			 "free of a block never seen (allocated before or beside the recording)",
			 "frees of blocks never seen (allocated before or beside the recording)"},
		unseen =
			{"",
			 "block was freed without our seeing it: its address came again",
			 "blocks were freed without our seeing it: their addresses came again"},
		paused = {"not recorded: ", "allocation while paused",
			  "allocations while paused"},
		sealed = {
			"",
			"process installed a seccomp filter: the recording could not grow after it",
			"processes installed a seccomp filter: their recordings could not grow after it"};
	uint64_t ninherited = 0, nunknown = 0, npaused = 0, nsealed = 0, nunseen = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (!report_chose(r, i))
			continue;
		/* What is known of them has a line of its own if there is one process. */
		ninherited += pr->frees_inherited;
		if (r->one == 0)
			ninherited += pr->inherited_frees;
		nunknown += pr->frees_unknown;
		nunseen += pr->frees_unseen;
		npaused += pr->paused_allocs;
		nsealed += (pr->flags & REC_FLAG_SEALED) != 0;
	}
	report_note(r, prefix, &paused, npaused);
	report_note(r, prefix, &inherited, ninherited);
	report_note(r, prefix, &unknown, nunknown);
	report_note(r, prefix, &unseen, nunseen);
	report_note(r, prefix, &sealed, nsealed);
}

void
report_notes(struct report *r, const char *prefix)
{
	static const struct report_note dropped = {
		"", "live block is only in the totals, not listed by address",
		"live blocks are only in the totals, not listed by address"};
	static const struct report_note other = {
		"not recorded: ", "event (other reasons)", "events (other reasons)"};

	report_incomplete(r, prefix);
	report_no_room(r, prefix);
	for (unsigned i = REC_LOST_SPACE + 1; i < REC_LOST_MAX; i++)
		if (i != REC_LOST_QUIET)
			report_note(r, prefix,
				    report_lost[i].one != NULL ? &report_lost[i] : &other,
				    i == REC_LOST_EXEC ? report_unlisted(r)
						       : report_sum_lost(r, i));
	report_note_counters(r, prefix);
	report_note(r, prefix, &dropped, r->p->blocks_dropped);
	for (uint32_t i = 0; i < r->p->ndamages; i++) {
		buf_printf(r->out, "%sdamaged file: ", prefix);
		clean_text(r->out, prof_text(r->p, r->p->damages[i].what));
		if (r->p->damages[i].count > 1)
			buf_printf(r->out, " (%s times)",
				   fmt_count(r->p->damages[i].count).s);
		buf_add_char(r->out, '\n');
	}
}

void
report_coverage(struct report *r)
{
	const struct coverage *c = &r->v.coverage;
	const char *where = "";

	if (c->before_bytes > 0) {
		buf_printf(r->out, "allocated before the attach: %s resident",
			   figure_bytes((int64_t)c->before_bytes, 0, r->o->bytes).s);
		return;
	}
	if (c->anon_bytes == 0)
		buf_add_str(r->out, "nothing was recorded");
	else
		buf_printf(r->out, "recorded %s%s of %s anonymous memory (%s)",
			   r->sampled ? "about " : "",
			   figure_bytes((int64_t)c->recorded_bytes, 0, r->o->bytes).s,
			   figure_bytes((int64_t)c->anon_bytes, 0, r->o->bytes).s,
			   fmt_percent(c->recorded_bytes, c->anon_bytes).s);
	if (c->kept_bytes > 0 && !c->partial)
		buf_printf(r->out, ", %s of it freed or padding that malloc keeps",
			   figure_bytes((int64_t)c->kept_bytes, 0, r->o->bytes).s);
	if (c->process != 0)
		where = prof_text(r->p, r->p->processes[c->process].coverage);
	if (where[0] == '\0') {
		if (c->partial)
			buf_add_str(r->out,
				    ": the rest did not come from malloc (mmap, static "
				    "data, or an allocator of its own); --mmap records "
				    "mappings too");
		return;
	}
	buf_add_str(r->out, ": ");
	if (strchr(where, ' ') == NULL) {
		clean_text(r->out, choose_process_name(r->p, c->process).s);
		buf_add_str(r->out, " keeps memory in ");
	}
	clean_text(r->out, where);
}

void
report_inherited(struct report *r)
{
	const struct prof_process *pr = &r->p->processes[r->one];

	if (r->one == 0 || pr->inherited_blocks == 0)
		return;
	buf_printf(r->out, "inherited from its parent: %s, %s",
		   figure_things((int64_t)pr->inherited_blocks, 0, "block").s,
		   figure_bytes((int64_t)pr->inherited_bytes, 0, r->o->bytes).s);
	buf_printf(r->out, ", %s freed here\n", fmt_count(pr->inherited_frees).s);
}

void
report_peak_error(struct report *r, const struct prof_process *pr)
{
	uint64_t bytes = prof_peak_error_bytes(pr);

	if (bytes > 0)
		buf_printf(r->out, " (within %s: 4 KiB for each of %s)",
			   fmt_size(bytes).s,
			   figure_things((int64_t)(bytes / 4096), 0, "thread").s);
}

void
report_rss(struct report *r)
{
	uint64_t rss = 0, peak = 0, anon = 0, own = 0, gone = 0;
	int64_t live = 0;

	for (uint32_t i = 1; i < r->p->nprocesses; i++) {
		const struct prof_process *pr = &r->p->processes[i];

		if (!report_chose(r, i) || choose_is_replaced(r->p, i) ||
		    pr->not_recorded != 0)
			continue;
		gone += pr->rss_kib == 0 && pr->rss_peak_kib == 0;
		rss += pr->rss_kib;
		peak += pr->rss_peak_kib;
		anon += pr->anon_kib;
		own += pr->recorder_kib;
		live += pr->peak_bytes;
	}
	if (rss == 0 && peak == 0)
		return;
	buf_printf(r->out, "RSS %s%s", fmt_size((peak > 0 ? peak : rss) << 10).s,
		   peak > 0 ? " peak" : "");
	if (peak > 0 && rss > 0 && rss != peak)
		buf_printf(r->out, ", %s when last seen", fmt_size(rss << 10).s);
	if (anon > 0)
		buf_printf(r->out, REPORT_DOT "anonymous %s", fmt_size(anon << 10).s);
	buf_printf(r->out, REPORT_DOT "recorded peak %s%s", r->sampled ? "about " : "",
		   figure_bytes(live, 0, false).s);
	/* What PARTIAL has in addition. */
	if (r->v.coverage.partial && r->v.nchosen == 1 &&
	    r->v.coverage.own_bytes > r->v.coverage.recorded_bytes / 100)
		buf_printf(r->out, " + %s for malloc's headers",
			   fmt_size(r->v.coverage.own_bytes).s);
	if (own > 0)
		buf_printf(r->out, REPORT_DOT "seep %s", fmt_size(own << 10).s);
	if (r->v.nchosen > 1)
		buf_add_str(r->out, REPORT_DOT "sums over all processes");
	if (gone > 0)
		buf_printf(r->out, ", %s of which ended before RSS was read",
			   fmt_count(gone).s);
	buf_add_char(r->out, '\n');
}

void
report_remarks(struct buf *out, const struct prof *p, const struct report_opts *o)
{
	struct report r = {.out = out, .p = p, .o = o};

	r.v.coverage = coverage_of(p, o->chosen);
	for (uint32_t i = 1; i < p->nprocesses; i++)
		r.sampled = r.sampled ||
			    (report_chose(&r, i) && p->processes[i].mode == PROF_SAMPLED);
	if (r.v.coverage.partial && p->columns == PROF_HAS_ALL) {
		buf_add_str(out, "# ");
		report_coverage(&r);
		buf_add_char(out, '\n');
	}
	report_notes(&r, "# ");
}
