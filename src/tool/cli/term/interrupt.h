/* SPDX-License-Identifier: MIT */
/* interrupt.h -- Ctrl-C during a check that has no result before its end.
 *
 * Commands that watch or record stop and report at Ctrl-C (session/loop.h). A leak check
 * that is cut short has seen nothing: it ends early, removes its copy of the process and
 * says so. A second Ctrl-C ends seep at once. */
#ifndef SEEP_CLI_INTERRUPT_H
#define SEEP_CLI_INTERRUPT_H

void interrupt_begin(void);
void interrupt_end(void);

#endif
