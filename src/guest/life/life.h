/* SPDX-License-Identifier: MIT */
/* life.h -- the life of the process and its threads, as far as recording depends on
 * it. */
#ifndef SEEP_LIFE_H
#define SEEP_LIFE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is something being recorded? Begins it when it is time: at the first call of a process,
 * and at the first call of a forked child. Called busy, so nothing it does is
 * recorded. */
bool life_begun(void);

/* Has the program ever called malloc_usable_size? */
bool hooks_usable_asked(void);

/* True: a function of ours comes last of all that quick_exit calls. */
bool life_quick_exit_told(void);

struct peer;
struct recorder_settings;

/* A peer's profiler is switched on while the program runs: begin to record into private
 * memory, as `fill` says. The calling thread is looked at from now on, others when they
 * come by the slow way (gperf_wake.c). false when something is recorded already, was, or
 * cannot be. */
bool life_begin_late(const struct peer *who, void (*fill)(struct recorder_settings *));

/* Is there a recording, and is it this process's? Not so for a child of vfork, which uses
 * our memory; under a seccomp filter nobody can be asked, and it counts as us. */
bool life_is_ours(void);

/* A thread has attached: be told when it ends. */
void life_thread_began(void);

/* exit() was entered or main has returned, with this status. */
void life_exit_begins(int status);

/* `n` bytes were refused: give back what address space we can. true: ask again. */
bool life_give_back(size_t n);

/* Where the recording is mapped, NULL when there is none; and: it is broken, stop. For
 * guard.c. */
void life_mapped(unsigned char **ret_base, uint64_t *ret_bytes);
/* The recording is mapped with another size from now on. */
void life_resized(uint64_t bytes);
void life_broken(void);

/* Head of the recording in which is counted what this process starts: its own, or, in a
 * forked child that has none yet, its parent's. NULL when there is none. `ret_whole`:
 * more of it is mapped than the head. */
struct rec_head;
struct rec_head *life_notes(bool *ret_whole);

#endif
