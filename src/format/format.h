/* SPDX-License-Identifier: MIT */
/* format.h -- which file formats seep reads, and the one way to read any of them.
 *
 * A format is a row of the table in format.c. A file is told by its content, never by
 * its name; the first format that knows it reads it. */
#ifndef SEEP_FORMAT_H
#define SEEP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct prof;

enum { FORMAT_HEAD_BYTES = 4096 };

struct format {
	const char *name; /* short, for options and messages */
	const char *what; /* for people */
	/* Whether a file that begins with these bytes (at most FORMAT_HEAD_BYTES) is
	 * one. */
	bool (*detect)(const void *head, size_t bytes);
	/* Reads the whole file into `p`, which is empty, from a descriptor that may stand
	 * anywhere. Messages do not name the file. */
	int (*load)(int fd, struct prof *p, struct err *e);
};

extern const struct format format_live, format_pack;

/* Reads a file of any known format; the caller frees *ret with prof_free. A message
 * names the file and says what was found. */
int format_load(const char *path, struct prof **ret, struct err *e);

/* The same from an open descriptor of a regular file, which stays open; its position
 * is not used. `name` is for messages. */
int format_load_fd(int fd, const char *name, struct prof **ret, struct err *e);

/* The format of a file that begins with these bytes, or NULL. */
const struct format *format_find(const void *head, size_t bytes);

#endif
