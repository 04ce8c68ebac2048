/* SPDX-License-Identifier: MIT */
/* exec_env.h -- the two variables of ours in the environment of a program that is
 * started. */
#ifndef SEEP_EXEC_ENV_H
#define SEEP_EXEC_ENV_H

#include "shared/recording.h"

#include <stdbool.h>
#include <stddef.h>

/* Remember the two variables as they are now, to add them where they are missing (`add`),
 * or only to notice where they are. Called once, when the first recording begins; without
 * it nobody is followed. */
void exec_env_keep(bool add);
bool exec_env_follows(void);

/* Did our parent add them to the environment that this program was to have? Then take
 * them out of it: the program finds what it was given. */
void exec_env_hide(void);

/* Would a program with this environment be recorded? */
bool exec_env_is_whole(char *const *env);

/* Why they cannot be added to one that lacks them; REC_UNSEEN_NONE: they can. */
enum rec_unseen_why exec_env_cannot_add(void);

/* An environment made of `env`: with what is missing, or without both variables. It is
 * put into `room`, which has exec_env_bytes(env) bytes, aligned for pointers, and its
 * texts are those of `env` or in there. */
size_t exec_env_bytes(char *const *env);
char *const *exec_env_with(char *const *env, void *room);
char *const *exec_env_without(char *const *env, void *room);

#endif
