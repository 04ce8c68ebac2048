/* SPDX-License-Identifier: MIT */
/* fullscreen.h -- cells on the terminal, and keys from it, until fullscreen_end.
 *
 * Signals that end or stop us must be blocked meanwhile (session/loop.h), so that the
 * terminal can be restored; at a crash, and when memory runs out, it is restored all the
 * same. */
#ifndef SEEP_CLI_FULLSCREEN_H
#define SEEP_CLI_FULLSCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "tool/render/screen/screen_cells.h"
#include "tool/util/err.h"

/* Takes the terminal that standard input and output are. -ENOTTY: they are none, or one
 * that cannot move its cursor. */
int fullscreen_begin(struct err *e);

/* Gives it back; legal at any time. */
void fullscreen_end(void);

/* Columns and lines. */
void fullscreen_size(unsigned *ret_width, unsigned *ret_height);

/* The size has changed, or something else has written to the terminal. */
void fullscreen_renew(void);

/* Gives the terminal back, stops this process as Ctrl-Z does, and takes it again. */
void fullscreen_suspend(void);

void fullscreen_show(const struct cells *s);

/* The next key, as enum screen_special or a character; false when there is none.
 * *ret_gone: there never will be. */
bool fullscreen_key(uint32_t *ret_key, bool *ret_gone);

#endif
