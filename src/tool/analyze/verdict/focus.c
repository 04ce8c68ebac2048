/* SPDX-License-Identifier: MIT */
/* focus.c -- see focus.h. Goes by paths and names alone, so that the same run always
 * gives the same report, however much or little each process left. */
#include "tool/analyze/verdict/focus.h"

#include <ctype.h>
#include <string.h>

#include "shared/compiler.h"
#include "tool/analyze/sites/choose.h"
#include "tool/analyze/sites/skip.h"
#include "tool/util/file.h"

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
		if (strcmp(file_base(exe), focus_launchers[i]) == 0)
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

/* ---- relatives ---- */

/* Length of the folder that both paths have in common, and how many levels deep it is. */
static size_t
focus_common(const char *a, const char *b, unsigned *ret_levels)
{
	size_t last = 0;

	*ret_levels = 0;
	for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
		if (a[i] == '/' && i > 0) {
			++*ret_levels;
			last = i;
		}
	}
	return last;
}

/* Are the two built in one tree? What lies side by side in a folder that many share is
 * not: /home/me, /opt, /usr/local/bin. */
static bool
focus_same_tree(const char *a, const char *b)
{
	static const char *const shared[] = {"/home/", "/usr/", "/var/"};
	unsigned levels, need = 2;

	focus_common(a, b, &levels);
	for (size_t i = 0; i < ARRAY_LEN(shared); i++) {
		if (strncmp(a, shared[i], strlen(shared[i])) == 0)
			need = 3;
	}
	if (strncmp(a, "/usr/local/bin/", 15) == 0)
		return false;
	return levels >= need;
}

/* The next word of a path: letters, at least three of them; NULL at its end. */
static const char *
focus_word(const char *at, size_t *ret_len)
{
	for (; *at != '\0'; at += *ret_len > 0 ? *ret_len : 1) {
		*ret_len = 0;
		while (isalpha((unsigned char)at[*ret_len]))
			++*ret_len;
		if (*ret_len >= 3)
			return at;
	}
	return NULL;
}

/* Do two programs of the system come in one package, by the words of their paths? As gcc
 * and /usr/lib/gcc/…/cc1, git and /usr/lib/git-core/…. */
static bool
focus_same_package(const char *first, const char *exe)
{
	static const char *const common[] = {"usr",	"bin",	 "sbin", "lib",
					     "libexec", "linux", "gnu",	 "core"};
	const char *name = file_base(first), *a, *b;
	size_t na, nb;

	for (a = focus_word(name, &na); a != NULL; a = focus_word(a + na, &na)) {
		bool is_common = false;

		for (size_t i = 0; i < ARRAY_LEN(common); i++)
			is_common = is_common || (strlen(common[i]) == na &&
						  strncmp(common[i], a, na) == 0);
		for (b = focus_word(exe, &nb); !is_common && b != NULL;
		     b = focus_word(b + nb, &nb)) {
			if (na == nb && strncmp(a, b, na) == 0)
				return true;
		}
	}
	return false;
}

/* Under its pid, or its program again: it may have forked, or become another by exec. */
static bool
focus_is_started(const struct prof *p, uint32_t process, uint32_t first)
{
	const struct prof_process *a = &p->processes[process];
	const struct prof_process *b = &p->processes[first];

	return a->pid == b->pid || (a->exe == b->exe && !choose_is_replaced(p, first));
}

/* The program that was named: the first one, or what it became by exec. */
static const char *
focus_named(const struct prof *p, const bool *chosen, uint32_t first)
{
	uint32_t last = first;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		if ((chosen == NULL || chosen[i]) &&
		    p->processes[i].pid == p->processes[first].pid &&
		    p->processes[i].start_ns > p->processes[last].start_ns)
			last = i;
	}
	return prof_text(p, p->processes[last].exe);
}

/* Is this program the user's, too, when `named` was started? Of a script, an interpreter
 * or a build that belongs to the system, every program is that the system did not
 * bring. */
static bool
focus_is_own(const char *named, const char *exe)
{
	if (focus_is_system(named))
		return !focus_is_system(exe) ||
		       (!focus_is_launcher(named) && focus_same_package(named, exe));
	return !focus_is_system(exe) && focus_same_tree(named, exe);
}

uint32_t
focus_of(const struct prof *p, const bool *chosen, bool *ret_focus)
{
	uint32_t first = focus_first(p, chosen), n = 0, recorded = 0;
	const char *named = first != 0 ? focus_named(p, chosen, first) : "";
	bool own = false; /* is there a program that the system did not bring? */

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		if ((chosen == NULL || chosen[i]) && pr->not_recorded == 0)
			own = own || !focus_is_system(prof_text(p, pr->exe));
	}
	ret_focus[0] = false;
	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const char *exe = prof_text(p, p->processes[i].exe);
		/* Nobody knows what a shell has started that was not recorded. */
		bool hides = p->processes[i].not_recorded != 0 && focus_is_launcher(exe);

		ret_focus[i] = (chosen == NULL || chosen[i]) &&
			       (focus_is_own(named, exe) || hides ||
				(focus_is_started(p, i, first) &&
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
