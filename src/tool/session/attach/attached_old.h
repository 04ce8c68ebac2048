/* SPDX-License-Identifier: MIT */
/* attached_old.h -- blocks that are older than a recording, from the process into the
 * profile. */
#ifndef SEEP_SESSION_ATTACHED_OLD_H
#define SEEP_SESSION_ATTACHED_OLD_H

#include "tool/model/prof.h"
#include "tool/target/attach/oldblocks.h"

/* Picks blocks to be watched; none where malloc is not glibc's or nothing may be read. */
void attached_old_choose(int pid, struct oldblocks *ret);

/* Adds what became of them to the profile: at least the row that says that the process
 * was recorded from later on than its start. */
void attached_old_save(struct prof *p, uint32_t process, const struct oldblocks *o);

/* The same for the last process of the profile, which was read from this recording, if it
 * is one of `seep attach`. */
void attached_old_load(struct prof *p, uint32_t process, struct livefile *f);

#endif
