/* SPDX-License-Identifier: MIT */
/* peer_jeprof_url.c -- profiles of a server, for the jeprof personality: what stands for
 * a URL, and names that only the server knows.
 *
 * Names are asked for where a profile's own files have none: one POST of all addresses to
 * /pprof/symbol beside the profile, whose answer has a line "0xADDRESS<tab>NAME" for
 * each. A server without it is no error. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tool/compat/compat.h"
#include "tool/compat/jeprof/peer_jeprof.h"
#include "tool/format/input.h"
#include "tool/util/map.h"
#include "tool/util/x.h"

/* "host:port", with or without a path: digits behind the colon. */
static bool
is_server(const char *word)
{
	const char *colon = strchr(word, ':'), *slash = strchr(word, '/');
	size_t digits = colon != NULL ? strspn(colon + 1, "0123456789") : 0;

	return digits > 0 && (slash == NULL || colon < slash) &&
	       (colon[1 + digits] == '\0' || colon[1 + digits] == '/');
}

char *
jeprof_source_of(const char *word)
{
	const char *path;

	if (input_is_url(word) || access(word, F_OK) == 0 || !is_server(word))
		return xstrdup(word);
	path = strchr(word, '/');
	if (path == NULL || path[1] == '\0')
		return xasprintf("http://%.*s/pprof/heap", (int)strcspn(word, "/"), word);
	return xasprintf("http://%s", word);
}

/* Address in the process; inside the call, where the location is one behind it. */
static uint64_t
address_of(const struct prof *p, const struct prof_loc *l)
{
	uint64_t at = l->offset - (l->exact == 0 && l->offset > 0);

	for (uint32_t i = 0; l->module != 0 && i < p->nranges; i++) {
		const struct prof_range *r = &p->ranges[i];

		if (r->module == l->module && at + r->bias >= r->start &&
		    at + r->bias < r->end)
			return at + r->bias;
	}
	return at;
}

static bool
needs_name(const struct prof *p, const struct prof_loc *l)
{
	return l->kind == PROF_LOC_CODE &&
	       (l->nframes == 0 ||
		(l->nframes == 1 && p->frames[l->frames].function == 0));
}

/* Address -> name, from the lines of the answer. */
static void
read_answer(struct prof *p, const char *text, struct map *names)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		char *end, *name;
		uint64_t address = strtoull(text, &end, 16);

		if (end > text && end < text + n && (*end == '\t' || *end == ' ')) {
			name = xmemdup0(end + 1, (size_t)(text + n - end - 1));
			*map_add(names, address) = prof_str(p, name);
			free(name);
		}
		text += n + (text[n] == '\n');
	}
}

static void
give_names(struct prof *p, struct map *names)
{
	for (uint32_t i = 1; i < p->nlocs; i++) {
		uint64_t *name;
		uint32_t row;

		if (!needs_name(p, &p->locs[i]))
			continue;
		name = map_find(names, address_of(p, &p->locs[i]));
		if (name == NULL || *name == 0)
			continue;
		row = prof_add_frame(p);
		p->frames[row].function = (uint32_t)*name;
		p->locs[i].frames = row;
		p->locs[i].nframes = 1;
	}
}

void
jeprof_ask_names(struct prof *p, const char *url)
{
	const char *at = strstr(url, "/pprof/");
	struct buf post = {0}, body = {0};
	struct map names = {0};
	struct err e = {0};
	char *symbol;

	if (!input_is_url(url) || at == NULL)
		return;
	for (uint32_t i = 1; i < p->nlocs; i++) {
		if (needs_name(p, &p->locs[i]))
			buf_printf(&post, "%s0x%" PRIx64, post.len > 0 ? "+" : "",
				   address_of(p, &p->locs[i]));
	}
	symbol = xasprintf("%.*s/pprof/symbol", (int)(at - url), url);
	if (post.len > 0 && input_post(symbol, buf_str(&post), &body, &e) < 0)
		cmd_note("no names from the server: %s", e.msg);
	else if (post.len > 0)
		read_answer(p, buf_str(&body), &names);
	give_names(p, &names);
	free(symbol);
	map_done(&names);
	buf_done(&post);
	buf_done(&body);
}
