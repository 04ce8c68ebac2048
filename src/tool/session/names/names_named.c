/* SPDX-License-Identifier: MIT */
/* names_named.c -- what is missing of frames that came with their names: the text of the
 * line.
 *
 * Function, file and line of an interpreter's frame are in the recording. The source file
 * is read now, from where the program found it: a relative path counts from the directory
 * in which the program was started. A file that was changed since the recording began is
 * not quoted. */
#include <stdlib.h>
#include <time.h>

#include "tool/model/prof.h"
#include "tool/session/names/names_provider.h"
#include "tool/sym/source_text.h"
#include "tool/util/x.h"

/* When the first process of the recording began, and where it was. */
static const struct prof_process *
named_first(const struct prof *p)
{
	const struct prof_process *first = NULL;

	for (uint32_t i = 1; i < p->nprocesses; i++) {
		const struct prof_process *pr = &p->processes[i];

		if (pr->start_ns != 0 &&
		    (first == NULL || pr->start_ns < first->start_ns))
			first = pr;
	}
	return first;
}

static const char *
named_text(const struct names_job *job, const struct prof_frame *f,
	   const struct prof_process *first)
{
	const char *file = prof_text(job->p, f->file), *cwd, *text;
	struct timespec began = {0};
	char *path;

	if (first == NULL)
		return NULL;
	began.tv_sec = (time_t)(first->start_ns / 1000000000);
	began.tv_nsec = (long)(first->start_ns % 1000000000);
	if (file[0] == '/')
		return src_line(job->src, file, f->line, &began, NULL);
	cwd = prof_text(job->p, first->cwd);
	if (cwd[0] != '/')
		return NULL;
	path = xasprintf("%s/%s", cwd, file);
	text = src_line(job->src, path, f->line, &began, NULL);
	free(path);
	return text;
}

static void
names_named_resolve(const struct names_job *job)
{
	const struct prof_process *first = named_first(job->p);

	for (uint32_t i = 0; i < job->p->nframes && !job->o->no_source; i++) {
		struct prof_frame *f = &job->p->frames[i];

		if (f->lang != PROF_NATIVE && f->file != 0 && f->line != 0 &&
		    f->source == 0)
			f->source = prof_str(job->p, named_text(job, f, first));
	}
}

const struct names_provider names_named = {"frames with names", names_named_resolve};
