/* SPDX-License-Identifier: MIT */
/* hiding.h -- between the files of inspect.h: what names of files tell. */
#ifndef SEEP_TARGET_HIDING_H
#define SEEP_TARGET_HIDING_H

#include <stdint.h>

/* Traits that an executable's file name shows (python3.11, java), or 0. */
uint32_t inspect_program_traits(const char *path);

/* RUNTIME_BITs (runtimes.h) of traits. */
uint32_t inspect_runtimes(uint32_t traits);

#endif
