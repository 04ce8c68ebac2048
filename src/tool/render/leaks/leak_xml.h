/* SPDX-License-Identifier: MIT */
/* leak_xml.h -- what was lost, as valgrind's XML: protocol 4 of memcheck, for the many
 * programs that read it. */
#ifndef SEEP_RENDER_LEAK_XML_H
#define SEEP_RENDER_LEAK_XML_H

#include "tool/render/leaks/memcheck.h"

/* Words of command lines, each ended by NULL. */
struct leak_xml_args {
	const char *const *tool;    /* ours */
	const char *const *program; /* NULL = as the process has it, split at blanks */
};

/* Appends one document about one process. Records are listed whatever `o->level` says. */
void leak_xml(struct buf *out, const struct prof *p, const struct skip *s,
	      uint32_t process, const struct memcheck_opts *o,
	      const struct leak_xml_args *args);

/* Appends text with what is special in XML replaced, and control characters by '?'. */
void leak_xml_text(struct buf *out, const char *text);

#endif
