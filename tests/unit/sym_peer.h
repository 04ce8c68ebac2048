/* SPDX-License-Identifier: MIT */
/* sym_peer.h -- what addr2line -aif says, read and compared with what src/tool/sym says.
 *
 * Include it once, in the test's own .c, behind t.h. */
#ifndef SEEP_TESTS_SYM_PEER_H
#define SEEP_TESTS_SYM_PEER_H

#include "tool/sym/sym.h"
#include "tool/util/buf.h"
#include "tool/util/vec.h"
#include "tool/util/x.h"

/* What the peer says of one address. */
struct said {
	uint64_t addr;
	size_t first, count; /* of its frames */
};

struct said_frame {
	char *function, *file;
	unsigned line;
};

struct peer {
	VEC(struct said) all;
	VEC(struct said_frame) frames;
};

/* Drops "/./" and "//", as src/tool/sym does. */
static void
tidy(char *path)
{
	char *p;

	while ((p = strstr(path, "/./")) != NULL)
		memmove(p, p + 2, strlen(p + 2) + 1);
	while ((p = strstr(path, "//")) != NULL)
		memmove(p, p + 1, strlen(p + 1) + 1);
}

/* "file:12 (discriminator 3)", "file:?", "??:0" */
static void
parse_place(char *text, struct said_frame *f)
{
	char *paren = strstr(text, " (discriminator");
	char *colon;

	if (paren != NULL)
		*paren = '\0';
	colon = strrchr(text, ':');
	f->line = colon != NULL ? (unsigned)strtoul(colon + 1, NULL, 10) : 0;
	if (colon != NULL)
		*colon = '\0';
	tidy(text);
	f->file = xstrdup(text);
}

/* Adds the answers in a file of addr2line's output. */
static int
peer_read(struct peer *p, const char *path)
{
	struct buf text = {0};
	char *line, *rest, *second;
	int r = buf_read_file(&text, path, NULL);

	rest = text.data;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
		if (strncmp(line, "0x0", 3) == 0) {
			vec_push(&p->all, (struct said){strtoull(line, NULL, 16),
							p->frames.len, 0});
			continue;
		}
		second = strsep(&rest, "\n");
		if (second == NULL || p->all.len == 0)
			break;
		struct said_frame *f = vec_add(&p->frames);
		f->function = xstrdup(line);
		parse_place(second, f);
		vec_last(&p->all)->count++;
	}
	buf_done(&text);
	return r;
}

static void
peer_done(struct peer *p)
{
	for (size_t i = 0; i < p->frames.len; i++) {
		free(p->frames.data[i].function);
		free(p->frames.data[i].file);
	}
	vec_done(&p->frames);
	vec_done(&p->all);
}

#endif
