/* SPDX-License-Identifier: MIT */
/* save.h -- from a run folder to the one file that stays.
 *
 * All live recordings of the folder become one profile, names are looked up, and the file
 * is replaced by rename. Used at the end of a run, at its checkpoints, and for folders
 * that a killed seep left behind. */
#ifndef SEEP_SESSION_SAVE_H
#define SEEP_SESSION_SAVE_H

#include <stdbool.h>

#include "tool/model/prof.h"
#include "tool/target/run/livefile.h"
#include "tool/target/run/looks.h"
#include "tool/target/run/rundir.h"
#include "tool/util/err.h"

/* Adds every recording of the folder to `p`, each as a process. One that cannot be read
 * is told as damage. Returns how many were read. The names of all that were tried are
 * added to `ret_names` unless that is NULL. */
unsigned save_load(const struct rundir *d, struct prof *p,
		   struct rundir_names *ret_names);

/* Adds the recording behind `f` as a process, which need not have a name any more. */
int save_load_file(const struct livefile *f, struct prof *p, struct err *e);

/* Adds what was seen of the process in row `process` of `p` while it ran, which was read
 * from the same recording. */
void save_looks(struct prof *p, uint32_t process, const struct looks *l);

/* Says of each process where its memory may hide (prof_process.coverage), from its
 * program and its modules. */
void save_coverage(struct prof *p);

/* Saves every folder of this user that no process records into any more and that no seep
 * owns, to where its run meant to save it, and removes the folder. Tells each by cmd_note
 * if `tell`, and what cannot be saved. Returns how many were saved. */
unsigned save_orphans(bool tell);

/* Before the recording at `path` is read: puts into it what ended after it was saved, as
 * daemons of its run do. Nothing is told, and @last stays as it is. */
void save_rest_of(const char *path);

/* Keeps the file of a run that cannot be saved elsewhere in its folder: the leak check is
 * in no other. */
int save_in_folder(const struct rundir *d, const struct prof *p, struct err *e);

/* `p`, read from the folder, and what was saved of the same run; takes `p`. */
struct prof *save_joined(const struct rundir *d, struct prof *p);

/* Whether nobody owns the folder nor records into it any more. */
bool save_is_left_over(const struct rundir *d);

/* Saves a left-over folder by its name (rundir_find), to `output` or where its run meant
 * to, and removes it; or only removes it. */
int save_left_over(const char *name, const char *output, struct err *e);
int save_discard(const char *name, struct err *e);

#endif
