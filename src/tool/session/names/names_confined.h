/* SPDX-License-Identifier: MIT */
/* names_confined.h -- names out of another user's files, read by somebody who can do no
 * harm.
 *
 * Debug information is read by a large library, and who attaches to a process as root
 * reads files that belong to others. So a child does it, which has become the owner of
 * the process, has no network and may not become anybody else, and hands the finished
 * profile back in a file. That one is read like any other that came from outside. */
#ifndef SEEP_SESSION_NAMES_CONFINED_H
#define SEEP_SESSION_NAMES_CONFINED_H

#include <sys/types.h>

#include "tool/model/prof.h"
#include "tool/session/names/names.h"

/* As names_resolve(*p, o), for the process `o->pid` of that user. *p may be replaced.
 * Where there are no rights to give up it is done here. Cannot fail: without names the
 * profile says why. */
void names_resolve_confined(struct prof **p, const struct names_opts *o, uid_t uid,
			    gid_t gid);

#endif
