/* SPDX-License-Identifier: MIT */
/* skip_asked.c -- the part of skip.h that asks for names alone: which frames of other
 * languages the user wants to skip.
 *
 * The tables of skip.c are about functions of C, C++ and Rust. A Python function may be
 * called `malloc` or `clone` and is none of these: of frames in other languages only what
 * the user's own patterns name is skipped, by function or by file. */
#include <fnmatch.h>
#include <string.h>

#include "tool/analyze/sites/skip.h"
#include "tool/util/file.h"

bool
skip_asked(const struct skip_opts *o, const struct prof *p, const struct prof_frame *f)
{
	for (size_t i = 0; o != NULL && i < o->nmore; i++) {
		if (fnmatch(o->more[i], prof_text(p, f->function), 0) == 0 ||
		    fnmatch(o->more[i], file_base(prof_text(p, f->file)), 0) == 0)
			return true;
	}
	return false;
}
