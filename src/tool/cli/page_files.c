/* SPDX-License-Identifier: MIT */
/* page_files.c -- see page_files.h. */
#include "tool/cli/page_files.h"

#include <string.h>

#include "tool/cli/term/pager.h"
#include "tool/session/out_file.h"
#include "tool/util/cmdline/cmd.h"
#include "tool/util/file.h"

/* Writes a file that was made in memory. */
static int
pages_save(const struct buf *out, const char *path, struct err *e)
{
	int r;

	if (strcmp(path, "-") == 0)
		return pager_print(out, true, e);
	r = file_write(path, out->data, out->len, e);
	if (r == 0)
		cmd_wrote(path);
	return r;
}

int
pages_check(const char *flame, const char *html, struct err *e)
{
	int r = flame != NULL ? out_check(flame, "flame", e) : 0;

	return r == 0 && html != NULL ? out_check(html, "html", e) : r;
}

int
pages_write(const struct pages *pg, const struct prof *p, const struct graph_query *q,
	    const struct prof *base, const struct graph_query *base_q, struct err *e)
{
	struct buf out = {0};
	int r = 0;

	if (pg->flame != NULL) {
		pages_flame(&out, pg, p, q, base, base_q);
		r = pages_save(&out, pg->flame, e);
		buf_clear(&out);
	}
	if (pg->html != NULL && r == 0) {
		pages_html(&out, pg, p, q, base, base_q);
		r = pages_save(&out, pg->html, e);
	}
	buf_done(&out);
	return r;
}
