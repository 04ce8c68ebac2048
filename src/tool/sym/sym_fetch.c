/* SPDX-License-Identifier: MIT */
/* sym_fetch.c -- debug files from the servers of a distribution, by debuginfod.
 *
 * libdebuginfod is loaded when somebody asked for it and not linked: it brings a web
 * client along that most runs have no use for. It keeps what it got in a cache of its
 * own. It knows its servers from DEBUGINFOD_URLS; without that nothing is asked and the
 * reason says so. */
#include <errno.h>
#include <stdlib.h>

#include "shared/compiler.h"
#include "tool/sym/sym_priv.h"
#include "tool/util/dynlib.h"

/* libdebuginfod's functions as they have been since 0.178. */
struct sym_debuginfod {
	void *(*begin)(void);
	void (*end)(void *client);
	int (*find[2])(void *client, const unsigned char *id, int id_len,
		       char **ret_path);
};

static int
sym_debuginfod_load(struct sym_debuginfod *ret, struct err *e)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	static const char *const names[] = {"libdebuginfod.so.1", NULL};
	const struct dynlib_symbol symbols[] = {
		{"debuginfod_begin", &ret->begin},
		{"debuginfod_end", &ret->end},
		{"debuginfod_find_debuginfo", &ret->find[SYM_FETCH_DEBUG]},
		{"debuginfod_find_executable", &ret->find[SYM_FETCH_BINARY]},
	};

	if (urls == NULL || urls[0] == '\0')
		return err_set(e, -ENOTCONN,
			       "debuginfod has no servers: set DEBUGINFOD_URLS");
	return dynlib_load(names, symbols, ARRAY_LEN(symbols),
			   "libdebuginfod is not installed", e);
}

int
sym_fetch(enum sym_fetch what, const unsigned char *id, size_t id_len,
	  struct sym_file *ret, struct err *e)
{
	struct sym_debuginfod d = {0};
	const unsigned char *have = NULL;
	struct sym_file f = {.fd = -1};
	char *path = NULL;
	void *client;
	int fd = -ENOMEM, r = sym_debuginfod_load(&d, e);

	if (r < 0)
		return r;
	client = d.begin();
	if (client != NULL) {
		fd = d.find[what](client, id, (int)id_len, &path);
		d.end(client);
	}
	if (fd >= 0)
		r = sym_file_open_fd(fd, path != NULL ? path : "debuginfod", &f, e);
	else if (fd == -ENOENT)
		r = err_set(e, fd, "debuginfod does not have it");
	else
		r = err_sys(e, fd, "debuginfod");
	free(path);
	if (r < 0)
		return r;
	/* a server may say anything */
	if (sym_file_build_id(&f, &have) != id_len || memcmp(have, id, id_len) != 0) {
		sym_file_close(&f);
		return err_set(e, -ESTALE, "debuginfod sent a file of another build");
	}
	*ret = f;
	return 0;
}
