/* SPDX-License-Identifier: MIT */
/* source_text.h -- the text of a source line, for showing beside a frame.
 *
 * Source files are read whole and kept, each once. A file that was written after the
 * binary is not shown: its lines are probably not the ones that were compiled. One thread
 * at a time. */
#ifndef SEEP_SYM_SOURCE_TEXT_H
#define SEEP_SYM_SOURCE_TEXT_H

#include <stdint.h>
#include <time.h>

struct src;

struct src *src_new(void);
void src_free(struct src *s);

/* Line `line` (from 1) of the file `path`, without the blanks around it and with tabs and
 * other control characters made harmless. NULL when there is none; then *ret_reason, if
 * given, is set to why: "source file is gone", "source is newer than the binary", …
 * `built` is the binary's modification time; NULL leaves that unchecked. Both strings are
 * borrowed until src_free. */
const char *src_line(struct src *s, const char *path, uint32_t line,
		     const struct timespec *built, const char **ret_reason);

#endif
