/* SPDX-License-Identifier: MIT */
/* sigbus.h -- files that are cut off while the tool has them mapped.
 *
 * Live recordings and binaries are mapped, and anyone who may write them may also
 * truncate them: the kernel answers the next touch with SIGBUS. */
#ifndef SEEP_CLI_SIGBUS_H
#define SEEP_CLI_SIGBUS_H

/* From now on a mapped page whose file is gone from under it reads as zeros, and what is
 * written there is lost; every other SIGBUS ends us as before. Readers check what they
 * read in any case. A program that is started finds the signal as it was. */
void sigbus_survive(void);

#endif
