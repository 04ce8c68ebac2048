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
struct input;
struct prof;
struct stream;

enum { FORMAT_HEAD_BYTES = 4096 };

/* What the user said about a file that the file itself may not say. */
struct format;

struct format_opts {
	/* the program it is of: replaces the main binary's path, or stands in
	 * for all that a file without a memory map leaves open; NULL = as the
	 * file has it */
	const char *exe;
	const struct format
		*otherwise; /* the format of text that is in none; NULL = refuse */
};

struct format {
	const char *name; /* short, for options and messages */
	const char *what; /* for people */
	/* Whether a file that begins with these bytes (at most FORMAT_HEAD_BYTES) is
	 * one. */
	bool (*detect)(const void *head, size_t bytes);
	/* Reads the whole file into `p`, which is empty, from the descriptor of a regular
	 * file, standing anywhere. NULL: only `parse` is needed. Messages do not name the
	 * file. */
	int (*load)(int fd, struct prof *p, struct err *e);
	/* The same from bytes in memory (input.h), which may have been unpacked or come
	 * through a pipe. `o` is never NULL. What cannot be read is counted with
	 * prof_add_damage; fails only when nothing is left. */
	int (*parse)(struct input *in, const struct format_opts *o, struct prof *p,
		     struct err *e);
	/* Instead of both: reads it line by line (stream.h), for files that may be larger
	 * than memory. */
	int (*stream)(struct stream *in, const struct format_opts *o, struct prof *p,
		      struct err *e);
};

extern const struct format format_live, format_pack, format_pprof;
extern const struct format format_dhat, format_folded, format_gperf, format_heaptrack,
	format_jemalloc, format_massif, format_mtrace, format_symbolized;

/* Reads a file of any known format; the caller frees *ret with prof_free. A message
 * names the file and says what was found. `source` is a path, "-" for standard input or
 * an http URL; plain, gzip or zstd. `o` may be NULL. */
int format_load_with(const char *source, const struct format_opts *o, struct prof **ret,
		     struct err *e);
int format_load(const char *source, struct prof **ret, struct err *e);

/* The same from an open descriptor, which stays open. Of a regular file the position is
 * not used. `name` is for messages. */
int format_load_fd(int fd, const char *name, struct prof **ret, struct err *e);

/* The same from bytes in memory, which may be packed; they are only read. */
int format_load_bytes(const void *data, size_t bytes, const char *name,
		      const struct format_opts *o, struct prof **ret, struct err *e);

/* The format of a file that begins with these bytes, or NULL. */
const struct format *format_find(const void *head, size_t bytes);

/* Whether this is an ELF file, but no core: among files to read, it names the program
 * (format_opts). */
bool format_is_program(const char *path);

#endif
