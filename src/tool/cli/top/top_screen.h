/* SPDX-License-Identifier: MIT */
/* top_screen.h -- `seep top` on a terminal: looks, draws and obeys keys until the user
 * leaves. */
#ifndef SEEP_CLI_TOP_SCREEN_H
#define SEEP_CLI_TOP_SCREEN_H

#include "tool/render/screen/screen.h"
#include "tool/session/top/top.h"
#include "tool/util/err.h"

/* *ui is what the user chose by options. Returns 0 or a negative errno; the terminal is
 * as before. */
int top_screen(struct top *t, struct screen_ui *ui, struct err *e);

#endif
