/* SPDX-License-Identifier: MIT */
/* focus.c -- see focus.h. Goes by paths and names alone, so that the same run always gives the
 * same report, however much or little each process left. */
#include "analyze/focus.h"

#include <string.h>

#include "analyze/choose.h"
#include "analyze/skip.h"

const char *const focus_system_folders[] = {
	"/bin/",      "/sbin/",	   "/lib/",	  "/lib64/",	   "/usr/bin/",
	"/usr/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/libexec/", NULL,
};

const char *const focus_launchers[] = {
	"sh",	   "dash",  "bash",  "zsh",  "ksh",   "fish",	  "env",
	"make",	   "gmake", "ninja", "nice", "nohup", "sudo",	  "setsid",
	"timeout", "time",  "xargs", "find", "watch", "parallel", NULL,
};

static bool
focus_is_system(const char *exe)
{
	for (size_t i = 0; focus_system_folders[i] != NULL; i++) {
		const char *folder = focus_system_folders[i];

		if (strncmp(exe, folder, strlen(folder)) == 0)
			return true;
	}
	return false;
}

static bool
focus_is_launcher(const char *exe)
{
	for (size_t i = 0; focus_launchers[i] != NULL; i++) {
		if (strcmp(skip_basename(exe), focus_launchers[i]) == 0)
			return focus_is_system(exe);
	}
	return false;
}

/* The first process: the program that was started. */
static uint32_t
focus_first(const struct prof *p, const bool *chosen)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) &&
		    (first == 0 ||
		     p->processes[i].start_ns < p->processes[first].start_ns))
			first = i;
	}
	return first;
}

/* Under its pid, or its program again: it may have forked, or become another by exec. */
static bool
focus_is_started(const struct prof *p, uint32_t process, uint32_t first)
{
	const struct prof_process *a = &p->processes[process];
	const struct prof_process *b = &p->processes[first];

	return a->pid == b->pid || (a->exe == b->exe && !choose_is_replaced(p, first));
}

uint32_t
focus_of(const struct prof *p, const bool *chosen, bool *ret_focus)
{
	uint32_t first = focus_first(p, chosen), n = 0, recorded = 0;
	bool own = false; /* is there a program that the system did not bring? */

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		if ((chosen == NULL || chosen[i]) && pr->not_recorded == 0)
			own = own || !focus_is_system(prof_text(p, pr->exe));
	}
	ret_focus[0] = false;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const char *exe = prof_text(p, p->processes[i].exe);

		ret_focus[i] =
			(chosen == NULL || chosen[i]) &&
			(!focus_is_system(exe) || (focus_is_started(p, i, first) &&
						   !(own && focus_is_launcher(exe))));
		n += ret_focus[i];
		recorded += ret_focus[i] && p->processes[i].not_recorded == 0;
	}
	if (recorded > 0)
		return n;
	n = 0;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		ret_focus[i] = chosen == NULL || chosen[i];
		n += ret_focus[i];
	}
	return n;
}
