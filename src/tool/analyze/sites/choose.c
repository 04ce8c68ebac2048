/* SPDX-License-Identifier: MIT */
/* choose.c -- what the user's words pick out of a profile. */
#include "tool/analyze/sites/choose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tool/util/buf.h"
#include "tool/util/file.h"
#include "tool/util/x.h"

/* How many names a refusal lists. */
enum { CHOOSE_NAMES_MAX = 12 };

struct choose_name
choose_process_name(const struct prof *p, uint32_t process)
{
	const char *exe = prof_text(p, p->processes[process].exe);
	const char *line = prof_text(p, p->processes[process].cmdline);
	const char *base = file_base(exe), *from = line;
	struct choose_name name = {"?"};
	size_t n = strcspn(line, " "), len = strlen(exe);

	if (len > 0 && strncmp(line, exe, len) == 0)
		n = len; /* a path with spaces in it */
	for (size_t i = 0; i < n; i++) {
		if (line[i] == '/' && i + 1 < n)
			from = line + i + 1;
	}
	n -= (size_t)(from - line);
	if (n > 1 && from[0] == '-') /* a login shell */
		from++, n--;
	if (n > 1 && from[n - 1] == ':') /* "nginx: worker process" */
		n--;
	if (n == 0 || n >= sizeof name.s) {
		from = base;
		n = strlen(base);
	}
	if (n > 0 && n < sizeof name.s) {
		memcpy(name.s, from, n);
		name.s[n] = '\0';
	}
	return name;
}

bool
choose_is_replaced(const struct prof *p, uint32_t process)
{
	const struct prof_process *a = &p->processes[process];

	if (a->end == PROF_END_EXEC)
		return true;
	/* The recorder may have had no time to say so: exec keeps the process's start
	 * time. */
	for (uint32_t i = 1; i < p->nprocesses && a->process_ticks != 0; i++) {
		const struct prof_process *b = &p->processes[i];

		if (b->pid == a->pid && b->process_ticks == a->process_ticks &&
		    b->run_id == a->run_id && b->start_ns > a->start_ns)
			return true;
	}
	return false;
}

/* A whole positive number, else 0. */
static unsigned long
choose_number(const char *word)
{
	char *end;
	unsigned long n;

	if (word[0] < '0' || word[0] > '9')
		return 0;
	n = strtoul(word, &end, 10);
	return *end == '\0' ? n : 0;
}

/* By any name that people may know it by. */
static bool
choose_is_called(const struct prof *p, uint32_t process, const char *name)
{
	const char *exe = prof_text(p, p->processes[process].exe);

	return strcmp(name, choose_process_name(p, process).s) == 0 ||
	       strcmp(name, exe) == 0 || strcmp(name, file_base(exe)) == 0;
}

static bool
choose_is_all(const char *which)
{
	return which != NULL && strcmp(which, "all") == 0;
}

int
choose_processes(const struct prof *p, const char *which, bool *chosen, struct err *e)
{
	struct buf names = {0};
	unsigned found = 0;
	int r;

	for (uint32_t i = 0; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		chosen[i] = i > 0 && (which == NULL || choose_is_all(which) ||
				      choose_number(which) == pr->pid ||
				      choose_is_called(p, i, which));
		found += chosen[i];
		if (i > 0 && i <= CHOOSE_NAMES_MAX)
			buf_printf(&names, "%s%s (%u)", i > 1 ? ", " : "",
				   choose_process_name(p, i).s, pr->pid);
	}
	if (found > 0 || which == NULL) {
		buf_done(&names);
		return 0;
	}
	r = err_set(e, -ENOENT, "no process %s in this recording; it has %s%s", which,
		    names.len > 0 ? buf_str(&names) : "none",
		    p->nprocesses > CHOOSE_NAMES_MAX + 1 ? ", \xe2\x80\xa6" : "");
	buf_done(&names);
	return r;
}

bool
choose_mark_is(const struct prof *p, const struct prof_mark *m, const char *word)
{
	if (strcmp(prof_text(p, m->name), word) == 0)
		return true;
	return m->number != 0 && choose_number(word) == m->number;
}

int
choose_point(const struct prof *p, const bool *chosen, const char *word,
	     struct sites_point *ret_point, struct err *e)
{
	struct sites_point point = {.at = SITES_AT_END};
	struct buf names = {0};
	bool found = false;
	int r = 0;

	if (word == NULL || word[0] == '\0')
		found = true;
	else if (strcmp(word, "peak") == 0)
		found = true, point.at = SITES_AT_PEAK;
	else if (strcmp(word, "exit") == 0)
		found = true, point.at = SITES_AT_EXIT;
	for (uint32_t i = 0; !found && i < p->nmarks; i++) {
		const struct prof_mark *m = &p->marks[i];

		if ((m->number == 0 && m->name == 0) ||
		    (chosen != NULL && !chosen[m->process]))
			continue;
		found = choose_mark_is(p, m, word);
		if (p->nsnapshots == 0)
			buf_printf(&names, " @%u%s%s", m->number,
				   m->name != 0 ? " or @" : "", prof_text(p, m->name));
	}
	if (found && point.at == SITES_AT_END && word != NULL && word[0] != '\0') {
		point.at = SITES_AT_MARK;
		strncpy(point.mark, word, sizeof point.mark - 1);
	}
	if (!found && p->nsnapshots > 0)
		buf_printf(&names, ", and @N for each of the %u snapshots",
			   (unsigned)p->nsnapshots);
	if (found)
		*ret_point = point;
	else
		r = err_set(e, -ENOENT, "no mark @%s here; there is @peak @exit%s", word,
			    buf_str(&names));
	buf_done(&names);
	return r;
}

/* The snapshot of a process that a point in time means; NULL when there is none. */
static const struct prof_snapshot *
choose_snapshot(const struct prof *p, uint32_t process, const struct sites_point *point)
{
	const struct prof_snapshot *found = NULL;

	for (uint32_t i = 0; i < p->nsnapshots; i++) {
		const struct prof_snapshot *x = &p->snapshots[i];

		if (x->process != process)
			continue;
		if (point->at == SITES_AT_MARK
			    ? x->number == strtoul(point->mark, NULL, 10)
		    : point->at == SITES_AT_EXIT ? true
						 : found == NULL || x->tree > found->tree)
			found = x;
	}
	return found;
}

bool
choose_is_sum(const struct prof *p, const bool *chosen, const struct sites_point *point)
{
	for (uint32_t i = 1; i < p->nprocesses && p->nsnapshots > 0; i++) {
		const struct prof_snapshot *x = choose_snapshot(p, i, point);

		if (chosen[i] && x != NULL && x->tree == PROF_TREE_NONE &&
		    x->heap_bytes > 0)
			return true;
	}
	return false;
}

/* "@6, @15 and 3 more" */
void
choose_trees(const struct prof *p, struct buf *out)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < p->nsnapshots; i++) {
		if (p->snapshots[i].tree != PROF_TREE_NONE && n++ < CHOOSE_NAMES_MAX)
			buf_printf(out, "%s@%" PRIu64, n > 1 ? ", " : "",
				   p->snapshots[i].number);
	}
	if (n > CHOOSE_NAMES_MAX)
		buf_printf(out, " and %u more", n - CHOOSE_NAMES_MAX);
}

int
choose_by(const char *word, enum sites_by *ret_by, struct err *e)
{
	for (unsigned i = 0; i < SITES_LOST;
	     i++) { /* what is lost has a command of its own */
		if (strcmp(word, sites_by_names[i]) == 0) {
			*ret_by = i;
			return 0;
		}
	}
	return err_set(e, -EINVAL,
		       "--by %s: must be live, peak, count, allocated or temporary",
		       word);
}

void
choose_mark_figures(const struct prof *p, const char *mark, int64_t **ret_bytes,
		    int64_t **ret_blocks)
{
	int64_t *bytes = xcalloc(p->nsites, sizeof *bytes);
	int64_t *blocks = xcalloc(p->nsites, sizeof *blocks);
	uint32_t *last = xcalloc(p->nprocesses, sizeof *last); /* mark + 1 */

	/* The last mark of that name wins, also where it has nothing. */
	for (uint32_t i = 0; i < p->nmarks; i++) {
		if (choose_mark_is(p, &p->marks[i], mark))
			last[p->marks[i].process] = i + 1;
	}
	for (uint32_t i = 0; i < p->nmarks; i++) {
		const struct prof_mark *m = &p->marks[i];

		if (last[m->process] != i + 1)
			continue;
		for (uint32_t k = m->rows; k < m->rows + m->nrows; k++) {
			const struct prof_mark_row *r = &p->mark_rows[k];

			bytes[r->site] = r->live_bytes;
			blocks[r->site] = r->live_blocks;
		}
	}
	free(last);
	*ret_bytes = bytes;
	*ret_blocks = blocks;
}
