/* SPDX-License-Identifier: MIT */
/* complete.c -- see complete.h. All of it is in the flags that the recorder, or the tool
 * that attached it, has set. */
#include "tool/model/complete.h"

#include <stddef.h>

#include "shared/compiler.h"

bool
complete_ended_early(const struct prof_process *pr)
{
	return (pr->flags & REC_FLAG_ENDED) != 0;
}

const char *
complete_cut_why(const struct prof_process *pr)
{
	if (complete_ended_early(pr))
		return "the program ran out of address space (ulimit -v), so seep gave its own "
		       "back; raise the limit";
	if ((pr->flags & REC_FLAG_FULL) == 0 && pr->lost[REC_LOST_SPACE] == 0)
		return NULL;
	if ((pr->flags & REC_FLAG_SEALED) != 0)
		return "no room, and a seccomp filter keeps the recording from growing";
	if ((pr->flags & REC_FLAG_NO_PAGES) != 0)
		return "no room: the file system of the recording is full";
	if ((pr->flags & REC_FLAG_LIMIT_SPACE) != 0)
		return "no room within the address space limit (ulimit -v); raise it";
	if ((pr->flags & REC_FLAG_LIMIT_FILE) != 0)
		return "no room within the file size limit (ulimit -f); raise it";
	return "no room: raise --max-size";
}

const char *
complete_hooks_partial(const struct prof_process *pr)
{
	if ((pr->flags & REC_FLAG_DIRECT_CALLS) == 0)
		return NULL;
	return "the program has a malloc of its own and calls it directly, where seep cannot "
	       "hook it; move that malloc into a shared library, or build without it";
}

bool
complete_went_past(const struct prof_process *pr)
{
	return pr->lost[REC_LOST_PAST] > 0 || pr->lost[REC_LOST_LIBC] > 0 ||
	       (pr->flags & REC_FLAG_PAST) != 0;
}

const char *
complete_unseen_why(unsigned why)
{
	static const char *const words[REC_UNSEEN_WHYS] = {
		[REC_UNSEEN_STATIC] =
			"statically linked; start it with seep run to record it",
		[REC_UNSEEN_MACHINE] = "a 32-bit program, or one for another processor",
		[REC_UNSEEN_LOADER] =
			"not linked with glibc; start it with seep run to record it",
		[REC_UNSEEN_SANITIZER] =
			"built with a sanitizer; build it without -fsanitize",
		[REC_UNSEEN_RIGHTS] =
			"setuid, setgid or with capabilities, so the loader "
			"ignores LD_PRELOAD",
		[REC_UNSEEN_SEALED] = "started under a seccomp filter",
		[REC_UNSEEN_LIBRARY] =
			"libseep.so cannot be read where it was started (another root "
			"folder, or another user)",
		[REC_UNSEEN_ENVIRONMENT] =
			"started with an environment without LD_PRELOAD and SEEP",
	};

	return why < ARRAY_LEN(words) && words[why] != NULL ? words[why]
							    : "unknown reason";
}
