/* SPDX-License-Identifier: MIT */
/* page_files.h -- writes the files of --flame and --html. */
#ifndef SEEP_CLI_PAGE_FILES_H
#define SEEP_CLI_PAGE_FILES_H

#include "tool/render/flame/pages.h"
#include "tool/util/err.h"

/* Before anything is read: whether these files, or NULL, may be written (out_file.h). */
int pages_check(const char *flame, const char *html, struct err *e);

/* Writes what was asked for, and says so. */
int pages_write(const struct pages *pg, const struct prof *p, const struct graph_query *q,
		const struct prof *base, const struct graph_query *base_q, struct err *e);

#endif
