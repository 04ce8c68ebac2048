/* SPDX-License-Identifier: MIT */
/* share.h -- takes out of a profile what is nobody else's business. */
#ifndef SEEP_SESSION_SHARE_H
#define SEEP_SESSION_SHARE_H

#include "tool/model/prof.h"

/* Command lines lose their arguments, texts of labels what they say, files and programs
 * their folders; lines of source, folder and machine of the processes, addresses of
 * blocks and remarks of the file are gone. Names of programs, functions, files, threads
 * and all figures stay. */
void share_mask(struct prof *p);

#endif
