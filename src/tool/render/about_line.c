/* SPDX-License-Identifier: MIT */
/* about_line.c -- see about_line.h. */
#include "tool/render/about_line.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tool/analyze/sites/choose.h"
#include "tool/render/figure.h"
#include "tool/render/wrap.h"
#include "tool/util/clock.h"
#include "tool/util/fmt.h"
#include "tool/util/x.h"

enum { ABOUT_COMMAND_MAX = 60 }; /* bytes of a command line */

static void
about_date(struct buf *out, const char *before, uint64_t ns)
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;
	char when[32];

	if (ns != 0 && localtime_r(&seconds, &tm) != NULL &&
	    strftime(when, sizeof when, "%Y-%m-%d %H:%M", &tm) > 0)
		buf_printf(out, "%s%s", before, when);
}

/* A command line, cut before a character that would not fit. */
static void
about_command(struct buf *out, const char *command)
{
	size_t n = strlen(command);
	char *cut;

	if (n > ABOUT_COMMAND_MAX) {
		n = ABOUT_COMMAND_MAX;
		while (n > 0 && ((unsigned char)command[n] & 0xc0) == 0x80)
			n--;
	}
	cut = xmemdup0(command, n);
	clean_text(out, cut);
	if (command[n] != '\0')
		buf_add_str(out, " ...");
	free(cut);
}

/* Ends the line, which may have begun before, and breaks it if it is too long. */
static void
about_end(struct buf *out, const struct term *t)
{
	const char *last = memrchr(out->data, '\n', out->len);

	buf_add_char(out, '\n');
	wrap_term(out, last != NULL ? (size_t)(last + 1 - out->data) : 0, t);
}

/* The program that was started, or by what exec replaced it; else the first that is
 * there. */
static const struct prof_process *
about_process(const struct prof *p, const bool *chosen, uint32_t *ret_more)
{
	const struct prof_process *pr = NULL;
	uint32_t first_pid = p->nprocesses > 1 ? p->processes[1].pid : 0, n = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen != NULL && !chosen[i]) || choose_is_replaced(p, i))
			continue;
		if (pr == NULL ||
		    (p->processes[i].pid == first_pid && pr->pid != first_pid))
			pr = &p->processes[i];
		n++;
	}
	*ret_more = n > 0 ? n - 1 : 0;
	return pr;
}

void
about_line(struct buf *out, const struct prof *p, const bool *chosen, const char *name,
	   const struct term *t)
{
	uint32_t more = 0;
	const struct prof_process *pr = about_process(p, chosen, &more);

	clean_text(out, name);
	if (p->format != 0) {
		buf_add_str(out, ": ");
		clean_text(out, prof_text(p, p->format));
	} else if (pr != NULL) {
		const char *command =
			prof_text(p, pr->cmdline != 0 ? pr->cmdline : pr->exe);

		buf_add_str(out, ": ");
		about_command(out, command[0] != '\0' ? command : "?");
		if (pr->pid != 0)
			buf_printf(out, ", pid %" PRIu32, pr->pid);
		if (more > 0)
			buf_printf(out, " and %" PRIu32 " more process%s", more,
				   more == 1 ? "" : "es");
	}
	about_date(out, ", ",
		   pr != NULL && pr->start_ns != 0 ? pr->start_ns : p->time_ns);
	about_end(out, t);
}

void
about_line_now(struct buf *out, int pid, const char *command, const struct term *t)
{
	buf_printf(out, "%d: ", pid);
	clean_text(out, command);
	buf_printf(out, ", pid %d", pid);
	about_date(out, ", ", clock_ns(CLOCK_REALTIME));
	about_end(out, t);
}

void
about_line_scan(struct buf *out, const struct heapscan *s, const char *name,
		const struct term *t)
{
	clean_text(out, name);
	buf_add_str(out, ": ");
	clean_text(out, heapscan_text(s, s->program));
	if (s->pid != 0)
		buf_printf(out, ", pid %d", s->pid);
	about_date(out, ", ", s->time_ns);
	about_end(out, t);
}

void
about_run(const struct prof *p, const bool *chosen, struct buf *ret_command,
	  struct buf *ret_date)
{
	uint32_t more = 0;
	const struct prof_process *pr = about_process(p, chosen, &more);

	if (pr != NULL)
		clean_text(ret_command,
			   prof_text(p, pr->cmdline != 0 ? pr->cmdline : pr->exe));
	about_date(ret_date, "",
		   pr != NULL && pr->start_ns != 0 ? pr->start_ns : p->time_ns);
}
